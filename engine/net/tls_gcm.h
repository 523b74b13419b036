/* AES-128-GCM for records of TLS by libipsec-mb: with the wide AES instructions of newer x86-64
 * processors five times as fast as OpenSSL 3.0's own, which does not use them, and no slower on
 * others. OpenSSL knows it as a cipher of the provider "glint"; the wire sees no difference. */
#ifndef GLINT_NET_TLS_GCM_H
#define GLINT_NET_TLS_GCM_H

/* The property query by which OpenSSL prefers it. NULL, which is no preference: the processor, or
 * what glint was built for, has no such instructions. Any thread. */
const char *tls_gcm_property_query(void);

#endif

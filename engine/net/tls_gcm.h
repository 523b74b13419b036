/* AES-128-GCM for TLS records by libipsec-mb: five times as fast as OpenSSL 3.0 on x86-64
 * processors with vector AES instructions (VAES), which OpenSSL 3.0 does not use, and no slower
 * on others. OpenSSL finds it as a cipher of the provider "glint". The bytes on the network are
 * the same. */
#ifndef GLINT_NET_TLS_GCM_H
#define GLINT_NET_TLS_GCM_H

/* Returns the property query that makes OpenSSL prefer this cipher, or NULL (no preference) if the
 * processor, or the architecture glint was built for, does not support it. The first call loads the
 * provider. Any thread. */
const char *tls_gcm_property_query(void);

#endif

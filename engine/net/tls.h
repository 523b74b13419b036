/* TLS 1.3 with a pre-shared key, over memory: bytes in, bytes out, no sockets.
 *
 * One suite (TLS_AES_128_GCM_SHA256), psk_dhe_ke, no certificates, tickets or early data. The
 * identity says which of several keys is meant. OpenSSL appears in tls.c, tls_gcm.c and secret.c
 * only. */
#ifndef GLINT_NET_TLS_H
#define GLINT_NET_TLS_H

#include "engine/base/mem.h"
#include "engine/net/secret.h"

#define TLS_RECORD_BYTES                                                                           \
    16384u /* at most, of plain bytes: writes of multiples of it fill records */

/* RFC 8446, 5.5: at most 2^24.5 full records with one key. */
#define TLS_KEY_RECORDS (UINT64_C(1) << 23)

struct tls_context; /* outlives its sessions; one thread */
enum tls_option {
    /* For more than messages, by the faster cipher (tls_gcm.h), which takes 4 MB of the program
     * into memory and a third of a millisecond. */
    TLS_BULK_CIPHER = 1,
    /* Whoever dials may also use a client secret, derived from one of `secrets`. */
    TLS_ACCEPT_CLIENT_SECRETS = 2,
};
struct tls_context *tls_context_create(const struct secrets *secrets, unsigned options,
                                       struct glint_error *error);
/* Handshakes that begin from now on use these secrets; open sessions stay. False: OpenSSL failed,
 * and nothing has changed. */
bool tls_context_set_secrets(struct tls_context *c, const struct secrets *secrets);
/* For tests: after how many records a session renews the key that it writes with. */
void tls_context_set_key_records(struct tls_context *c, uint64_t records);
void tls_context_destroy(struct tls_context *c);

struct tls; /* one connection's; one thread */
/* A dialling side has something to send at once: tls_take_output. */
struct tls *tls_open(struct tls_context *c, bool dialling, struct glint_error *error);
void tls_close(struct tls *t);

/* Bytes came from the network. They stay borrowed until tls_read answers 0 or less, which is to be
 * asked for once tls_is_handshake_done, and before the next ones are fed. Before, they are taken
 * whole. 0 or a code (AUTH: the other side has not the secret). */
int tls_feed(struct tls *t, struct glint_slice in, struct glint_error *error);
/* Plain bytes, of one record, at most `capacity`, straight to `out`: how many, 0: all that was fed
 * is taken, negative: a code (PROTOCOL: bytes were changed; CONNECTION: it has ended). */
int64_t tls_read(struct tls *t, void *out, uint64_t capacity, struct glint_error *error);
/* Encrypts, and what is to be sent is in tls_take_output. The key is renewed (KeyUpdate) between
 * two calls, after TLS_KEY_RECORDS, long before AES-GCM's limit. Before the handshake is done
 * nothing may be written. 0 or a code. */
int tls_write(struct tls *t, struct glint_slice in, struct glint_error *error);
/* Bytes that wait in tls_take_output: also answers that OpenSSL gives by itself, to a KeyUpdate. */
uint64_t tls_output_bytes(const struct tls *t);
bool tls_is_handshake_done(const struct tls *t); /* the handshake is done */
/* The side that dials has shown that it knows a key, by a ClientHello; it may be one that somebody
 * has recorded. Of the accepting side, while no call has failed. */
bool tls_has_known_key(const struct tls *t);
/* Which kind of secret the side that dialled has used; tls_is_handshake_done. */
enum secret_kind tls_peer_secret_kind(const struct tls *t);
/* What is to be sent: swapped into *out, which must be empty; its memory is used next. */
void tls_take_output(struct tls *t, struct buffer *out);

#endif

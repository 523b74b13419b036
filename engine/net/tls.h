/* TLS on buffers in memory: it does no I/O. Between nodes it is TLS 1.3 with pre-shared keys; a
 * server for other programs has a certificate.
 *
 * Between nodes: one cipher suite (TLS_AES_128_GCM_SHA256), psk_dhe_ke (forward secrecy), no
 * certificates, tickets or early data. The PSK identity says which of several keys is used. OpenSSL
 * is used in tls.c and secret.c only. */
#ifndef GLINT_NET_TLS_H
#define GLINT_NET_TLS_H

#include "engine/base/mem.h"
#include "engine/net/secret.h"

#define TLS_RECORD_BYTES                                                                           \
    16384u /* maximum plaintext of a record; writing multiples of it fills records completely */

/* RFC 8446, 5.5: at most 2^24.5 full records with one key; a key is renewed earlier. */
#define TLS_KEY_RECORDS (UINT64_C(1) << 23)

struct tls_context; /* keys and settings; must outlive its sessions; one thread */
/* `accept_client_secrets`: a peer that dials may also authenticate with a client secret derived
 * from one of `secrets`. Keys are derived; `secrets` is not needed afterwards; NULL: there are
 * none, and tls_context_set_job_key follows. Returns NULL with *error set (NO_MEMORY, SYSTEM). */
struct tls_context *tls_context_create(const struct secrets *secrets, bool accept_client_secrets,
                                       struct glint_error *error);
/* Later handshakes use these secrets; established sessions are not affected. Returns false, and
 * nothing has changed, if OpenSSL failed. */
bool tls_context_set_secrets(struct tls_context *c, const struct secrets *secrets);
/* Also accepts `key`, the key of a job. Without other secrets it is also used to dial. Returns
 * false, and nothing has changed, if OpenSSL failed. */
bool tls_context_set_job_key(struct tls_context *c, const struct secret *key);
/* Clears all secrets but the key of the job. */
void tls_context_forget_secrets(struct tls_context *c);
/* A server with a certificate, for clients that authenticate by other means than TLS: 1.2 and 1.3,
 * no tickets. Its sessions only accept. Files are PEM; that of the certificate has the whole chain,
 * and the key has no password. Returns NULL with *error set (SECRET: a file cannot be used,
 * NO_MEMORY, SYSTEM). */
struct tls_context *tls_context_create_server(const char *certificate, const char *key,
                                              struct glint_error *error);
/* Later handshakes use these files; established sessions are not affected. Returns 0, or a code,
 * and nothing has changed. */
int tls_context_set_certificate(struct tls_context *c, const char *certificate, const char *key,
                                struct glint_error *error);
/* For tests: a session renews its write key after so many records. */
void tls_context_set_key_records(struct tls_context *c, uint64_t records);
/* NULL is allowed. Clears the keys from memory. */
void tls_context_destroy(struct tls_context *c);

struct tls; /* the session of one connection; one thread */
/* The dialling side's ClientHello is in the output at once: see tls_take_output. Returns NULL with
 * *error set. */
struct tls *tls_open(struct tls_context *c, bool dialling, struct glint_error *error);
/* NULL is allowed. Does not send a close_notify alert. */
void tls_close(struct tls *t);
/* Appends a close_notify alert to the output, after the handshake: the peer sees that the
 * connection ends here, and was not cut. */
void tls_queue_close_notify(struct tls *t);

/* Passes in bytes from the network. Before tls_is_handshake_done they advance the handshake; what
 * remains after it is done, and all bytes later, stay borrowed until tls_read has returned 0 or
 * less, which must be before the next tls_feed. Returns 0 or a code (AUTH: the peer does not have
 * the secret; PROTOCOL: of a server with a certificate, the client does not speak its TLS). */
int tls_feed(struct tls *t, struct glint_slice in, struct glint_error *error);
/* Decrypts the bytes fed, at most one record, to `out`. Returns the number of bytes, at most
 * `capacity`; 0 if more input is needed; or a negative code (PROTOCOL: bytes were modified or are
 * invalid; CONNECTION: the peer ended the session). */
int64_t tls_read(struct tls *t, void *out, uint64_t capacity, struct glint_error *error);
/* Encrypts `in` to the output, see tls_take_output. Only after the handshake. Before a call would
 * exceed TLS_KEY_RECORDS, long before AES-GCM's limit, the key is renewed (KeyUpdate). Returns 0 or
 * a code. */
int tls_write(struct tls *t, struct glint_slice in, struct glint_error *error);
/* Size of the output, including what OpenSSL sends by itself: handshake, alerts, responses
 * to KeyUpdate. */
uint64_t tls_output_bytes(const struct tls *t);
bool tls_is_handshake_done(const struct tls *t); /* application data may be read and written */
/* Accepting side: the ClientHello proved knowledge of one of our keys (a valid PSK binder). This
 * may be a recorded ClientHello that is replayed, so it is no authentication yet. Valid while no
 * call has failed. */
bool tls_has_known_key(const struct tls *t);
/* The kind of secret that the session uses. Only after the handshake. */
enum secret_kind tls_peer_secret_kind(const struct tls *t);
/* Takes the output: swaps it with *out, which must be empty. The memory of *out is reused for
 * later output. */
void tls_take_output(struct tls *t, struct buffer *out);

#endif

/* TLS sessions by OpenSSL, reading from and writing to memory. Authentication between nodes is by
 * pre-shared key only: the handshake fails for a peer without the key, also if it offers a
 * certificate instead. A server with a certificate has no such keys.
 *
 * A custom BIO reads directly from the bytes fed and writes directly to the output buffer, which
 * avoids the copies of OpenSSL's memory BIO. */
#include "engine/net/tls.h"

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/net/crypto_library.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define KEY_BYTES    32u
#define KEYS_MAX     (2 * SECRETS_MAX) /* each secret, and the client secret derived from it */
#define CONTEXT_ID   "glint peer 1"
#define SUITE        "TLS_AES_128_GCM_SHA256"
#define SUITE_BYTES  "\x13\x01"
#define GROUP        "X25519"
#define RECORD_EXTRA (SSL3_RT_HEADER_LENGTH + 1 + EVP_GCM_TLS_TAG_LEN) /* per record, at most */

static_assert(TLS_RECORD_BYTES == SSL3_RT_MAX_PLAIN_LENGTH, "the payload size of a TLS record");

/* A pre-shared key, derived from a secret. */
struct key {
    enum secret_kind kind;
    uint8_t bytes[KEY_BYTES];
    char identity[64]; /* PSK identity: label and fingerprint of the secret, to select the key */
};

struct keys {
    uint32_t count;
    struct key list[KEYS_MAX]; /* the first is used to dial */
};

struct tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *memory;
    bool accept_client_secrets;
    bool certificate; /* a server for other programs */
    uint64_t key_records;
    struct keys keys; /* derived from the cluster's secrets */
    struct keys job;  /* none, or the key of a job */
};

/* A session: `in` is the input of OpenSSL, `out` its output. */
struct tls {
    SSL *ssl;
    enum secret_kind kind; /* of the key last used in the handshake */
    struct glint_slice in; /* fed by tls_feed, not consumed yet */
    struct buffer out;
    uint64_t key_records, key_records_max; /* records written with the current key */
    bool known;                            /* the peer named a key that we have */
    bool certificate;                      /* of a server for other programs */
    bool ready, no_memory; /* ready: handshake done; no_memory: `out` could not grow */
};

/* ---- The BIO */

static int bio_read_input(BIO *bio, char *out, int size)
{
    struct tls *t = crypto.BIO_get_data(bio);
    crypto.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    if (t->in.size == 0) {
        /* Makes the OpenSSL call return SSL_ERROR_WANT_READ instead of EOF. */
        crypto.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
        return -1;
    }
    uint64_t n = t->in.size < (uint64_t)size ? t->in.size : (uint64_t)size;
    memcpy(out, t->in.data, n);
    t->in.data += n;
    t->in.size -= n;
    return (int)n;
}

static int bio_write_output(BIO *bio, const char *in, int size)
{
    struct tls *t = crypto.BIO_get_data(bio);
    assert(size >= 0);
    crypto.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    if (buffer_append(&t->out, in, (uint64_t)size)) return size;
    t->no_memory = true;
    return -1;
}

/* OpenSSL requires that BIO_flush succeeds; no other control is supported. */
static long bio_control(BIO *bio, int what, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method_create(void)
{
    BIO_METHOD *m = crypto.BIO_meth_new(BIO_TYPE_SOURCE_SINK, "glint memory");
    if (m != NULL && crypto.BIO_meth_set_read(m, bio_read_input) &&
        crypto.BIO_meth_set_write(m, bio_write_output) && crypto.BIO_meth_set_ctrl(m, bio_control))
        return m;
    crypto.BIO_meth_free(m);
    return NULL;
}

/* ---- Keys */

static bool derive_tls_key(const struct secret *secret, enum secret_kind kind, struct key *out)
{
    static const char *const labels[] = {[SECRET_PEER] = "glint peer 1",
                                         [SECRET_CLIENT] = "glint client 1",
                                         [SECRET_JOB] = "glint job 1"};
    uint8_t mark[8];
    char info[48];
    text_format(info, sizeof info, "%s fingerprint", labels[kind]);
    out->kind = kind;
    int used = snprintf(out->identity, sizeof out->identity, "%s ", labels[kind]);
    if (!secret_derive_key(secret, labels[kind], out->bytes, sizeof out->bytes) ||
        !secret_derive_key(secret, info, mark, sizeof mark))
        return false;
    text_format_hex(out->identity + used, mark, sizeof mark);
    return true;
}

/* also derive the client secret of each secret */
static bool derive_tls_keys(const struct secrets *secrets, bool clients, struct keys *out)
{
    bool ok = secrets->count > 0;
    out->count = 0;
    for (uint32_t i = 0; i < secrets->count && ok; i++)
        ok = derive_tls_key(&secrets->list[i], secrets->kind, &out->list[out->count++]);
    for (uint32_t i = 0; i < secrets->count && ok && clients; i++) {
        struct secret client;
        ok = secret_derive_client_secret(&secrets->list[i], &client) &&
             derive_tls_key(&client, SECRET_CLIENT, &out->list[out->count++]);
        explicit_bzero(&client, sizeof client);
    }
    return ok;
}

static SSL_SESSION *create_psk_session(SSL *ssl, const struct key *key)
{
    struct tls *t = crypto.SSL_get_ex_data(ssl, 0);
    const SSL_CIPHER *cipher = crypto.SSL_CIPHER_find(ssl, (const unsigned char *)SUITE_BYTES);
    SSL_SESSION *s = crypto.SSL_SESSION_new();
    if (s == NULL || cipher == NULL ||
        !crypto.SSL_SESSION_set1_master_key(s, key->bytes, KEY_BYTES) ||
        !crypto.SSL_SESSION_set_cipher(s, cipher) ||
        !crypto.SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION) ||
        !crypto.SSL_SESSION_set1_id_context(s, (const uint8_t *)CONTEXT_ID, sizeof CONTEXT_ID)) {
        crypto.SSL_SESSION_free(s);
        return NULL;
    }
    t->kind = key->kind;
    /* OpenSSL verifies the PSK binder after this; if it is wrong, SSL_do_handshake fails. */
    t->known = true;
    return s;
}

static int psk_use_session(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *id_size,
                           SSL_SESSION **out)
{
    const struct tls_context *c = crypto.SSL_CTX_get_ex_data(crypto.SSL_get_SSL_CTX(ssl), 0);
    const struct key *key = c->keys.count > 0 ? &c->keys.list[0] : &c->job.list[0];
    (void)md; /* the suite has only one */
    *out = create_psk_session(ssl, key);
    *id = (const unsigned char *)key->identity;
    *id_size = strlen(key->identity);
    return *out != NULL;
}

static int psk_find_session(SSL *ssl, const unsigned char *id, size_t id_size, SSL_SESSION **out)
{
    const struct tls_context *c = crypto.SSL_CTX_get_ex_data(crypto.SSL_get_SSL_CTX(ssl), 0);
    *out = NULL;
    for (uint32_t i = 0; i < c->keys.count + c->job.count; i++) {
        const struct key *key =
            i < c->keys.count ? &c->keys.list[i] : &c->job.list[i - c->keys.count];
        if (id_size != strlen(key->identity) || memcmp(id, key->identity, id_size) != 0) continue;
        *out = create_psk_session(ssl, key);
        return *out != NULL;
    }
    /* An unknown identity is no error here: OpenSSL continues without a PSK, and the handshake
     * fails for lack of a trusted certificate. */
    return 1;
}

bool tls_context_set_secrets(struct tls_context *c, const struct secrets *secrets)
{
    struct keys keys;
    bool ok = derive_tls_keys(secrets, c->accept_client_secrets, &keys);
    if (ok) c->keys = keys;
    explicit_bzero(&keys, sizeof keys);
    return ok;
}

bool tls_context_set_job_key(struct tls_context *c, const struct secret *key)
{
    struct keys job = {.count = 1};
    bool ok = derive_tls_key(key, SECRET_JOB, &job.list[0]);
    if (ok) c->job = job;
    explicit_bzero(&job, sizeof job);
    return ok;
}

void tls_context_forget_secrets(struct tls_context *c)
{
    assert(c->job.count > 0);
    explicit_bzero(&c->keys, sizeof c->keys);
}

static bool tls_context_init(struct tls_context *c, const struct secrets *secrets)
{
    c->ssl = crypto.SSL_CTX_new(crypto.TLS_method());
    c->memory = bio_method_create();
    if (c->ssl == NULL || c->memory == NULL) return false;
    if (secrets != NULL && !tls_context_set_secrets(c, secrets)) return false;
    crypto.SSL_CTX_set_ex_data(c->ssl, 0, c);
    crypto.SSL_CTX_ctrl(c->ssl, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    crypto.SSL_CTX_set_options(c->ssl, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    /* No dummy ChangeCipherSpec records, and no key exchange without Diffie-Hellman, which would
     * have no forward secrecy. */
    crypto.SSL_CTX_clear_options(c->ssl, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
    /* A peer that does not use a PSK needs a certificate, and no certificate is trusted. */
    crypto.SSL_CTX_set_verify(c->ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    crypto.SSL_CTX_set_psk_use_session_callback(c->ssl, psk_use_session);
    crypto.SSL_CTX_set_psk_find_session_callback(c->ssl, psk_find_session);
    /* An idle session keeps no record buffers. */
    crypto.SSL_CTX_ctrl(c->ssl, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
    return crypto.SSL_CTX_ctrl(c->ssl, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL) &&
           crypto.SSL_CTX_ctrl(c->ssl, SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_3_VERSION, NULL) &&
           crypto.SSL_CTX_set_session_id_context(c->ssl, (const uint8_t *)CONTEXT_ID,
                                                 sizeof CONTEXT_ID) &&
           crypto.SSL_CTX_ctrl(c->ssl, SSL_CTRL_SET_GROUPS_LIST, 0, (char *)GROUP) &&
           crypto.SSL_CTX_set_ciphersuites(c->ssl, SUITE) &&
           crypto.SSL_CTX_set_num_tickets(c->ssl, 0) &&
           crypto.SSL_CTX_set_max_early_data(c->ssl, 0);
}

static struct tls_context *tls_context_alloc(struct glint_error *error)
{
    if (crypto_library_load(error) != 0) return NULL;
    struct tls_context *c = mem_zalloc(sizeof *c);
    if (c == NULL)
        error_no_memory(error);
    else
        c->key_records = TLS_KEY_RECORDS;
    return c;
}

struct tls_context *tls_context_create(const struct secrets *secrets, bool accept_client_secrets,
                                       struct glint_error *error)
{
    struct tls_context *c = tls_context_alloc(error);
    if (c == NULL) return NULL;
    c->accept_client_secrets = accept_client_secrets;
    if (tls_context_init(c, secrets)) return c;
    tls_context_destroy(c);
    crypto.ERR_clear_error();
    error_set(error, GLINT_E_SYSTEM, "check the installation of OpenSSL 3", "cannot set up TLS");
    return NULL;
}

/* ---- A server with a certificate */

/* OpenSSL would ask for the key's password on the terminal. */
static int refuse_key_password(char *out, int size, int writes, void *arg)
{
    (void)out, (void)size, (void)writes, (void)arg;
    return -1;
}

static SSL_CTX *server_settings_create(void)
{
    SSL_CTX *s = crypto.SSL_CTX_new(crypto.TLS_server_method());
    if (s == NULL) return NULL;
    crypto.SSL_CTX_ctrl(s, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    crypto.SSL_CTX_set_options(s, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    crypto.SSL_CTX_ctrl(s, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
    crypto.SSL_CTX_set_default_passwd_cb(s, refuse_key_password);
    if (crypto.SSL_CTX_ctrl(s, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL) &&
        crypto.SSL_CTX_set_num_tickets(s, 0))
        return s;
    crypto.SSL_CTX_free(s);
    return NULL;
}

int tls_context_set_certificate(struct tls_context *c, const char *certificate, const char *key,
                                struct glint_error *error)
{
    const char *path = certificate;
    assert(c->certificate);
    SSL_CTX *s = server_settings_create();
    bool valid = s != NULL && crypto.SSL_CTX_use_certificate_chain_file(s, certificate) == 1;
    if (valid) {
        path = key;
        valid = crypto.SSL_CTX_use_PrivateKey_file(s, key, SSL_FILETYPE_PEM) == 1 &&
                crypto.SSL_CTX_check_private_key(s) == 1;
    }
    if (valid) {
        crypto.SSL_CTX_free(c->ssl); /* sessions keep the old one */
        c->ssl = s;
        return 0;
    }
    const char *text = crypto.ERR_reason_error_string(crypto.ERR_peek_error());
    error_set(error, GLINT_E_SECRET,
              "files are PEM: the certificate with its chain, and its key without a password",
              "%s cannot be used for TLS: %s", path, text != NULL ? text : "no reason given");
    crypto.SSL_CTX_free(s);
    crypto.ERR_clear_error();
    return error->code;
}

struct tls_context *tls_context_create_server(const char *certificate, const char *key,
                                              struct glint_error *error)
{
    struct tls_context *c = tls_context_alloc(error);
    if (c == NULL) return NULL;
    c->certificate = true;
    c->memory = bio_method_create();
    if (c->memory == NULL)
        error_no_memory(error);
    else if (tls_context_set_certificate(c, certificate, key, error) == 0)
        return c;
    tls_context_destroy(c);
    return NULL;
}

void tls_context_set_key_records(struct tls_context *c, uint64_t records)
{
    assert(records > 0);
    c->key_records = records;
}

void tls_context_destroy(struct tls_context *c)
{
    if (c == NULL) return;
    crypto.SSL_CTX_free(c->ssl);
    crypto.BIO_meth_free(c->memory);
    explicit_bzero(c, sizeof *c);
    mem_free(c);
}

/* ---- A session */

/* SSL_get_error needs an empty error queue before the call. Called for each record: peeking is
 * cheaper than clearing. */
static void clear_error_queue(void)
{
    if (crypto.ERR_peek_error() != 0) crypto.ERR_clear_error();
}

static bool tls_session_init(struct tls *t, const struct tls_context *c)
{
    t->ssl = crypto.SSL_new(c->ssl);
    BIO *bio = t->ssl != NULL ? crypto.BIO_new(c->memory) : NULL;
    if (bio == NULL) return false;
    t->key_records_max = c->key_records;
    t->certificate = c->certificate;
    crypto.SSL_set_ex_data(t->ssl, 0, t);
    crypto.BIO_set_data(bio, t);
    crypto.BIO_set_init(bio, 1);
    crypto.SSL_set_bio(t->ssl, bio, bio); /* takes ownership of bio */
    return true;
}

static int tls_continue_handshake(struct tls *t, struct glint_error *error);

struct tls *tls_open(struct tls_context *c, bool dialling, struct glint_error *error)
{
    assert(!dialling || !c->certificate);
    struct tls *t = mem_zalloc(sizeof *t);
    clear_error_queue();
    if (t == NULL || !tls_session_init(t, c)) {
        crypto.ERR_clear_error();
        tls_close(t);
        error_no_memory(error);
        return NULL;
    }
    if (!dialling) {
        crypto.SSL_set_accept_state(t->ssl);
        return t;
    }
    crypto.SSL_set_connect_state(t->ssl);
    if (tls_continue_handshake(t, error) == 0) return t;
    tls_close(t);
    return NULL;
}

void tls_close(struct tls *t)
{
    if (t == NULL) return;
    crypto.SSL_free(t->ssl);
    buffer_fini(&t->out);
    mem_free(t);
}

void tls_queue_close_notify(struct tls *t)
{
    assert(t->ready);
    clear_error_queue();
    crypto.SSL_shutdown(t->ssl);
    crypto.ERR_clear_error(); /* the peer may have ended before */
}

/* Translates the result of a failed OpenSSL call. Returns 0 if it only needs more input, else sets
 * *error and returns its code. */
static int translate_ssl_error(struct tls *t, int result, struct glint_error *error)
{
    int why = crypto.SSL_get_error(t->ssl, result);
    if (why == SSL_ERROR_WANT_READ && !t->no_memory) return 0;
    unsigned long code = crypto.ERR_peek_error();
    const char *text = crypto.ERR_reason_error_string(code);
    if (text == NULL) text = "no reason given";
    crypto.ERR_clear_error();
    if (t->no_memory || ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE) return error_no_memory(error);
    if (why == SSL_ERROR_ZERO_RETURN)
        return error_set(error, GLINT_E_CONNECTION, NULL, "the peer closed the connection");
    if (!t->ready && t->certificate)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a TLS handshake failed: %s", text);
    /* Wrong binder, unknown identity, no common suite, not TLS 1.3: all mean that the peer does not
     * use our key. */
    if (!t->ready)
        return error_set(error, GLINT_E_AUTH, "give every node the same secret file",
                         "the peer does not have this side's secret (TLS: %s)", text);
    return error_set(error, GLINT_E_PROTOCOL,
                     "the network may be faulty, or an attacker may modify its data",
                     "received data was changed on the network (TLS: %s)", text);
}

static int tls_continue_handshake(struct tls *t, struct glint_error *error)
{
    int result = crypto.SSL_do_handshake(t->ssl);
    if (result != 1) return translate_ssl_error(t, result, error);
    if (!t->certificate &&
        crypto.SSL_session_reused(t->ssl) != 1) /* the handshake did not use the PSK */
        return error_set(error, GLINT_E_AUTH, "give every node the same secret file",
                         "the peer did not use the secret");
    t->ready = true;
    return 0;
}

int tls_feed(struct tls *t, struct glint_slice in, struct glint_error *error)
{
    assert(t->in.size == 0 && in.size <= INT_MAX);
    t->in = in;
    if (t->ready) return 0;
    clear_error_queue();
    int r = tls_continue_handshake(t, error);
    assert(r != 0 || t->ready || t->in.size == 0);
    return r;
}

int64_t tls_read(struct tls *t, void *out, uint64_t capacity, struct glint_error *error)
{
    assert(t->ready && capacity > 0);
    size_t n = 0;
    clear_error_queue();
    int result = crypto.SSL_read_ex(t->ssl, out, capacity, &n);
    if (result == 1) return (int64_t)n;
    int r = translate_ssl_error(t, result, error);
    assert(r != 0 || t->in.size == 0);
    return r;
}

/* Counts records to be written, and queues a KeyUpdate before them if they would exceed the key's
 * limit. Returns 0 or a code. */
static int count_records_or_renew_key(struct tls *t, uint64_t records, struct glint_error *error)
{
    t->key_records += records;
    if (t->key_records <= t->key_records_max) return 0;
    t->key_records = records;
    if (crypto.SSL_key_update(t->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1) return 0;
    crypto.ERR_clear_error();
    return error_set(error, GLINT_E_SYSTEM, NULL, "cannot renew the TLS key");
}

int tls_write(struct tls *t, struct glint_slice in, struct glint_error *error)
{
    uint64_t records = in.size / TLS_RECORD_BYTES + 1;
    assert(t->ready);
    /* Reserve for all records at once: growing in the BIO would copy the output several times. */
    if (!buffer_reserve(&t->out, in.size + records * RECORD_EXTRA)) return error_no_memory(error);
    clear_error_queue();
    if (count_records_or_renew_key(t, records, error) != 0) return error->code;
    while (in.size > 0) {
        size_t n = 0;
        int result = crypto.SSL_write_ex(t->ssl, in.data, in.size, &n);
        if (result != 1) {
            int r = translate_ssl_error(t, result, error);
            return r != 0 ? r : error_no_memory(error); /* the BIO fails only without memory */
        }
        in.data += n;
        in.size -= n;
    }
    return 0;
}

bool tls_is_handshake_done(const struct tls *t)
{
    return t->ready;
}

bool tls_has_known_key(const struct tls *t)
{
    return t->known;
}

uint64_t tls_output_bytes(const struct tls *t)
{
    return t->out.size;
}

enum secret_kind tls_peer_secret_kind(const struct tls *t)
{
    assert(t->ready);
    return t->kind;
}

void tls_take_output(struct tls *t, struct buffer *out)
{
    assert(out->size == 0);
    struct buffer sent = *out;
    *out = t->out;
    t->out = sent;
}

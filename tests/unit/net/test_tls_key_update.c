/* Key updates during a session: ours after a number of records, the peer's at any time. The peer is
 * plain OpenSSL, which reports each message by a callback. */
#include "engine/net/tls.h"

#include "tests/unit/net/bytes.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <stdlib.h>

enum { SIZE = 40 * 16384 + 5 };

/* The peer. */
static struct {
    SSL_CTX *context;
    SSL *ssl;
    BIO *in, *out;
    uint8_t key[32];
    char identity[64];
    unsigned updates, requests; /* KeyUpdates received: all; with update_requested */
} other;

static struct tls_context *context;
static struct tls *ours;
static uint8_t *sent, *got;

static SSL_SESSION *session(SSL *ssl)
{
    SSL_SESSION *s = SSL_SESSION_new();
    cr_assert(s != NULL && SSL_SESSION_set1_master_key(s, other.key, sizeof other.key) &&
              SSL_SESSION_set_cipher(s, SSL_CIPHER_find(ssl, (const unsigned char *)"\x13\x01")) &&
              SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION));
    return s;
}

static int use_session(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *size,
                       SSL_SESSION **out)
{
    (void)md;
    *out = session(ssl);
    *id = (const unsigned char *)other.identity;
    *size = strlen(other.identity);
    return 1;
}

static int find_session(SSL *ssl, const unsigned char *id, size_t size, SSL_SESSION **out)
{
    cr_assert(size == strlen(other.identity) && memcmp(id, other.identity, size) == 0);
    *out = session(ssl);
    return 1;
}

static void on_message(int written, int version, int type, const void *bytes, size_t size, SSL *ssl,
                       void *arg)
{
    const uint8_t *b = bytes;
    (void)version;
    (void)ssl;
    (void)arg;
    if (written || type != SSL3_RT_HANDSHAKE || b[0] != SSL3_MT_KEY_UPDATE) return;
    cr_assert_eq(size, 5);
    other.updates++;
    other.requests += b[4];
}

/* Delivers the output of each side to the other. */
static void pump(void)
{
    struct buffer out = {NULL, 0, 0};
    uint8_t bytes[4096];
    tls_take_output(ours, &out);
    if (out.size > 0) cr_assert_eq(BIO_write(other.in, out.data, (int)out.size), (int)out.size);
    buffer_fini(&out);
    while (!tls_is_handshake_done(ours) && BIO_ctrl_pending(other.out) > 0) {
        int n = BIO_read(other.out, bytes, sizeof bytes);
        cr_assert_eq(tls_feed(ours, (struct glint_slice){bytes, (uint64_t)n}, &error), 0, "%s",
                     error.cause);
    }
}

static void open_pair(bool we_dial, uint64_t records)
{
    struct secrets secrets = {.count = 1, .list = {{{4, 5, 6}}}};
    uint8_t mark[8];
    begin();
    memset(&other, 0, sizeof other);
    cr_assert(secret_derive_key(&secrets.list[0], "glint peer 1", other.key, sizeof other.key));
    cr_assert(secret_derive_key(&secrets.list[0], "glint peer 1 fingerprint", mark, sizeof mark));
    int used = snprintf(other.identity, sizeof other.identity, "glint peer 1 ");
    for (unsigned i = 0; i < sizeof mark; i++)
        used += snprintf(other.identity + used, 3, "%02x", mark[i]);
    context = tls_context_create(&secrets, false, &error);
    cr_assert_not_null(context);
    if (records > 0) tls_context_set_key_records(context, records);
    ours = tls_open(context, we_dial, &error);
    cr_assert_not_null(ours);
    other.context = SSL_CTX_new(TLS_method());
    SSL_CTX_set_min_proto_version(other.context, TLS1_3_VERSION);
    cr_assert(SSL_CTX_set_ciphersuites(other.context, "TLS_AES_128_GCM_SHA256"));
    SSL_CTX_set_psk_use_session_callback(other.context, use_session);
    SSL_CTX_set_psk_find_session_callback(other.context, find_session);
    SSL_CTX_set_num_tickets(other.context, 0);
    other.ssl = SSL_new(other.context);
    other.in = BIO_new(BIO_s_mem());
    other.out = BIO_new(BIO_s_mem());
    SSL_set_bio(other.ssl, other.in, other.out);
    SSL_set_msg_callback(other.ssl, on_message);
    if (we_dial)
        SSL_set_accept_state(other.ssl);
    else
        SSL_set_connect_state(other.ssl);
    for (int i = 0; i < 4; i++) {
        pump();
        SSL_do_handshake(other.ssl);
    }
    pump();
    cr_assert(tls_is_handshake_done(ours) && SSL_is_init_finished(other.ssl));
    sent = malloc(SIZE);
    got = malloc(SIZE);
    for (uint64_t i = 0; i < SIZE; i++) sent[i] = (uint8_t)(i * 13 + (i >> 9));
}

static void close_pair(void)
{
    tls_close(ours);
    tls_context_destroy(context);
    SSL_free(other.ssl);
    SSL_CTX_free(other.context);
    free(sent);
    free(got);
    end();
}

/* Sends `size` bytes to the peer, `step` bytes at a time. */
static void send_out(uint64_t size, uint64_t step)
{
    size_t at = 0, n;
    for (uint64_t from = 0; from < size; from += step) {
        uint64_t part = size - from < step ? size - from : step;
        cr_assert_eq(tls_write(ours, (struct glint_slice){sent + from, part}, &error), 0);
        pump();
        while (SSL_read_ex(other.ssl, got + at, SIZE - at, &n) == 1) at += n;
    }
    cr_assert_eq(at, size);
    cr_assert_eq(memcmp(sent, got, size), 0);
}

/* Receives `size` bytes from the peer. */
static void receive_from_peer(uint64_t size)
{
    static uint8_t bytes[20000];
    size_t n;
    uint64_t at = 0;
    cr_assert(SSL_write_ex(other.ssl, sent, size, &n) == 1 && n == size);
    while (BIO_ctrl_pending(other.out) > 0) {
        int fed = BIO_read(other.out, bytes, sizeof bytes);
        cr_assert_eq(tls_feed(ours, (struct glint_slice){bytes, (uint64_t)fed}, &error), 0);
        int64_t read = 1;
        for (; read > 0; at += read > 0 ? (uint64_t)read : 0)
            read = tls_read(ours, got + at, SIZE - at > 0 ? SIZE - at : 1, &error);
        cr_assert_eq(read, 0, "%s", error.cause);
    }
    cr_assert_eq(at, size);
    cr_assert_eq(memcmp(sent, got, size), 0);
}

Test(tls_key_update, keys_are_updated_at_the_record_limit)
{
    static const uint64_t steps[] = {16384, 65536, 1000, SIZE};
    for (unsigned we_dial = 0; we_dial < 2; we_dial++) {
        for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            open_pair(we_dial, 4);
            unsigned records = (unsigned)(SIZE / (steps[i] < 16384 ? steps[i] : 16384));
            send_out(SIZE, steps[i]);
            if (steps[i] < SIZE)
                cr_expect_geq(other.updates, records / 5, "%u of %u", other.updates, records);
            else
                cr_expect_eq(other.updates, 1, "one write uses one key");
            cr_expect_eq(other.requests, 0);
            receive_from_peer(SIZE); /* the other direction has a different key */
            close_pair();
        }
    }
}

Test(tls_key_update, keys_are_not_updated_before_the_limit)
{
    open_pair(false, 0);
    send_out(SIZE, 16384);
    cr_expect_eq(other.updates, 0);
    cr_expect_eq(TLS_KEY_RECORDS, 8388608);
    close_pair();
}

Test(tls_key_update, peer_may_update_and_request_updates)
{
    for (unsigned we_dial = 0; we_dial < 2; we_dial++) {
        for (int wants = 0; wants < 2; wants++) {
            open_pair(we_dial, 0);
            for (unsigned i = 1; i <= 60; i++) {
                cr_assert(SSL_key_update(other.ssl, wants ? SSL_KEY_UPDATE_REQUESTED
                                                          : SSL_KEY_UPDATE_NOT_REQUESTED));
                receive_from_peer(i * 700);
                send_out(i * 900, 16384);
                cr_assert_eq(other.updates, wants ? i : 0, "round %u", i);
                cr_assert_eq(other.requests, 0);
            }
            close_pair();
        }
    }
}

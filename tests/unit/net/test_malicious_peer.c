/* Peers that are not glint, on threads with blocking sockets: TLS clients without our key, and
 * authenticated peers that send malicious frames. */
#include "engine/base/hash.h"
#include "tests/support/conn_fixture.h"

#include <criterion/criterion.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define FOR_BOTH(secrets) for (unsigned secrets = 0; secrets < 2; secrets++)

static struct side *const server = &fixture.server, *const client = &fixture.client;

static int dial_listener(void)
{
    struct sockaddr_in to;
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uv_ip4_addr("127.0.0.1", listener_port(fixture.listener), &to);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (s < 0 || connect(s, (struct sockaddr *)&to, sizeof to) != 0) abort();
    return s;
}

/* ---- TLS without the key */

struct tls_peer {
    int max_version;
    const char *suite; /* NULL: any */
    bool key;          /* uses a wrong key with the right identity */
    bool handshake_done; /* the handshake succeeded */
};

static int use_wrong_key(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *id_size,
                         SSL_SESSION **out)
{
    static const unsigned char suite[2] = {0x13, 0x01}, key[32] = {1, 2, 3};
    SSL_SESSION *s = SSL_SESSION_new();
    (void)md;
    SSL_SESSION_set1_master_key(s, key, sizeof key);
    SSL_SESSION_set_cipher(s, SSL_CIPHER_find(ssl, suite));
    SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION);
    *out = s;
    *id = SSL_get_app_data(ssl);
    *id_size = strlen(SSL_get_app_data(ssl));
    return 1;
}

static char key_name[64]; /* the PSK identity is not encrypted */

static void *tls_peer_main(void *arg)
{
    struct tls_peer *o = arg;
    char byte;
    int s = dial_listener();
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, o->max_version);
    if (o->suite != NULL) SSL_CTX_set_ciphersuites(context, o->suite);
    if (o->key) SSL_CTX_set_psk_use_session_callback(context, use_wrong_key);
    SSL *ssl = SSL_new(context);
    SSL_set_app_data(ssl, key_name);
    SSL_set_fd(ssl, s);
    o->handshake_done = SSL_connect(ssl) == 1;
    if (o->handshake_done) SSL_write(ssl, "GLNT", 4);
    while (o->handshake_done && SSL_read(ssl, &byte, 1) == 1) continue;
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(s);
    return NULL;
}

/* Reads the PSK identity from a ClientHello. */
static void learn_key_name(void)
{
    struct glint_error error = {.code = GLINT_OK};
    struct buffer hello = {NULL, 0, 0};
    static const char label[] = "glint peer 1 ";
    struct tls *t = tls_open(fixture.client_tls, true, &error);
    cr_assert_not_null(t);
    tls_take_output(t, &hello);
    uint8_t *at = memmem(hello.data, hello.size, label, sizeof label - 1);
    cr_assert_not_null(at);
    memcpy(key_name, at, sizeof label - 1 + 16);
    buffer_fini(&hello);
    tls_close(t);
}

Test(malicious_peer, tls_without_the_key_is_rejected)
{
    struct tls_peer others[] = {{.max_version = TLS1_3_VERSION},
                                {.max_version = TLS1_2_VERSION},
                                {.max_version = TLS1_3_VERSION, .key = true},
                                {.max_version = TLS1_3_VERSION,
                                 .suite = "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"}};
    conn_fixture_open(1);
    signal(SIGPIPE, SIG_IGN);
    learn_key_name();
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, tls_peer_main, &others[i]), 0);
        CONN_FIXTURE_WAIT(server->net.rejected == i + 1);
        cr_assert_not(fixture.late, "%u", i);
        pthread_join(thread, NULL);
        cr_expect_not(others[i].handshake_done, "%u", i);
    }
    cr_expect_eq(fixture.accepted, 0);
    conn_fixture_connect(); /* a peer with the key is accepted */
    conn_fixture_close();
}

/* ---- Authenticated peers */

struct malicious_peer {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t step;    /* bytes per TLS record; 0: all in one */
    struct tls *tls;  /* NULL: without TLS */
    bool key_rejected; /* TLS rejected the key */
};

static void put(int s, const uint8_t *bytes, uint64_t size)
{
    while (size > 0) {
        ssize_t n = send(s, bytes, size, MSG_NOSIGNAL);
        if (n <= 0) return;
        bytes += n;
        size -= (uint64_t)n;
    }
}

static void send_part(int s, struct malicious_peer *i, struct glint_slice part)
{
    struct glint_error error = {.code = GLINT_OK};
    struct buffer out = {NULL, 0, 0};
    if (i->tls == NULL) {
        put(s, part.data, part.size);
        return;
    }
    if (part.size > 0 && tls_write(i->tls, part, &error) != 0) abort();
    tls_take_output(i->tls, &out);
    put(s, out.data, out.size);
    buffer_fini(&out);
}

static void send_all_parts(int s, struct malicious_peer *i)
{
    uint64_t n;
    for (uint64_t at = 0; at < i->size; at += n) {
        n = i->step > 0 && i->step < i->size - at ? i->step : i->size - at;
        send_part(s, i, (struct glint_slice){i->bytes + at, n});
    }
}

static void *malicious_peer_main(void *arg)
{
    struct malicious_peer *i = arg;
    struct glint_error error = {.code = GLINT_OK};
    uint8_t in[4096], plain[4096];
    int s = dial_listener();
    bool sent = i->tls == NULL;
    if (sent) send_all_parts(s, i);
    if (!sent) send_part(s, i, (struct glint_slice){NULL, 0});
    for (;;) {
        ssize_t n = recv(s, in, sizeof in, 0);
        if (n <= 0) break;
        if (i->tls == NULL) continue;
        i->key_rejected |= tls_feed(i->tls, (struct glint_slice){in, (uint64_t)n}, &error) != 0;
        if (i->key_rejected) break;
        if (!tls_is_handshake_done(i->tls)) continue;
        send_part(s, i, (struct glint_slice){NULL, 0});
        if (!sent) send_all_parts(s, i);
        sent = true;
        while (tls_read(i->tls, plain, sizeof plain, &error) > 0) continue;
    }
    close(s);
    return NULL;
}

static pthread_t malicious_peer_start(struct malicious_peer *i, const void *bytes, uint64_t size,
                                      uint64_t step)
{
    struct glint_error error = {.code = GLINT_OK};
    pthread_t thread;
    *i = (struct malicious_peer){.bytes = bytes, .size = size, .step = step};
    if (fixture.client_tls != NULL) i->tls = tls_open(fixture.client_tls, true, &error);
    cr_assert_eq(error.code, GLINT_OK);
    cr_assert_eq(pthread_create(&thread, NULL, malicious_peer_main, i), 0);
    return thread;
}

static void malicious_peer_end(struct malicious_peer *i, pthread_t thread)
{
    pthread_join(thread, NULL);
    cr_expect_not(i->key_rejected);
    tls_close(i->tls);
}

/* Writes a header of any type and length, with a valid checksum for an empty payload. */
static void forge(uint8_t out[FRAME_HEADER_BYTES], uint8_t type, uint32_t length)
{
    struct frame f = {.type = FRAME_PING};
    frame_encode(&f, NULL, out);
    out[5] = type;
    memcpy(out + 8, &length, sizeof length); /* little-endian */
    if (type != FRAME_DATA) memcpy(out + 12, &length, sizeof length);
    uint64_t sum = XXH3_64bits(out, 24);
    memcpy(out + 24, &sum, sizeof sum);
}

static uint64_t hello_bytes(uint8_t *out)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    struct hello h = client->net.self;
    h.channel = CHANNEL_DATA;
    cr_assert_eq(hello_encode(&h, &payload, &error), 0);
    uint32_t size = (uint32_t)payload.size;
    frame_encode(&(struct frame){FRAME_HELLO, size, size, 0}, payload.data, out);
    memcpy(out + FRAME_HEADER_BYTES, payload.data, size);
    buffer_fini(&payload);
    return FRAME_HEADER_BYTES + size;
}

Test(malicious_peer, frames_before_hello_are_rejected)
{
    static const uint32_t lengths[] = {0, 8, HELLO_BYTES_MAX + 1, UINT32_MAX};
    uint8_t bytes[FRAME_HEADER_BYTES + 8] = {0};
    struct malicious_peer in;
    FOR_BOTH(secrets)
    {
        for (unsigned type = 0; type < FRAME_TYPES_END + 2; type++) {
            for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                if ((type == FRAME_HELLO || type == FRAME_REJECT) && i < 2) continue;
                conn_fixture_open(secrets);
                forge(bytes, (uint8_t)type, lengths[i]);
                pthread_t thread = malicious_peer_start(&in, bytes, sizeof bytes, i % 2 ? 0 : 7);
                CONN_FIXTURE_WAIT(server->net.rejected == 1);
                cr_assert_not(fixture.late, "type %u, length %u", type, lengths[i]);
                malicious_peer_end(&in, thread);
                cr_expect_eq(fixture.accepted, 0);
                conn_fixture_close();
            }
        }
    }
}

/* A frame over the limit of its type is rejected before memory is allocated for it. */
Test(malicious_peer, bad_type_or_length_closes_the_connection)
{
    static uint8_t bytes[FRAME_HEADER_BYTES * 2 + HELLO_BYTES_MAX];
    struct malicious_peer in;
    FOR_BOTH(secrets)
    {
        for (unsigned type = 0; type < FRAME_TYPES_END + 2; type++) {
            bool known = type > FRAME_HELLO && type < FRAME_TYPES_END;
            uint32_t most = known ? frame_payload_bytes_max((enum frame_type)type) : 0;
            for (unsigned i = 0; i < 2; i++) {
                conn_fixture_open(secrets);
                server->wants_data = true;
                uint64_t size = hello_bytes(bytes);
                forge(bytes + size, (uint8_t)type, i == 0 ? most + 1 : UINT32_MAX);
                pthread_t thread = malicious_peer_start(&in, bytes, size + FRAME_HEADER_BYTES, 0);
                CONN_FIXTURE_WAIT(server->closed);
                cr_assert_not(fixture.late, "type %u", type);
                malicious_peer_end(&in, thread);
                cr_expect_eq(server->why.code, GLINT_E_PROTOCOL, "%s", server->why.cause);
                cr_expect_eq(server->frames + server->datas, 0);
                conn_fixture_close();
            }
        }
    }
}

Test(malicious_peer, empty_frames_in_tiny_records_are_accepted)
{
    enum { MANY = 100 };
    static uint8_t bytes[FRAME_HEADER_BYTES * (MANY + 1) + HELLO_BYTES_MAX];
    struct malicious_peer in;
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        server->wants_data = true;
        uint64_t size = hello_bytes(bytes);
        for (unsigned i = 0; i < MANY; i++, size += FRAME_HEADER_BYTES)
            forge(bytes + size, i % 2 ? FRAME_GET : FRAME_DATA, 0);
        pthread_t thread = malicious_peer_start(&in, bytes, size, 1);
        CONN_FIXTURE_WAIT(server->frames == MANY / 2 && server->datas == MANY / 2);
        cr_expect_not(fixture.late);
        conn_close(server->conn, false);
        CONN_FIXTURE_WAIT(server->closed);
        malicious_peer_end(&in, thread);
        conn_fixture_close();
    }
}

Test(malicious_peer, peer_without_hello_times_out)
{
    struct malicious_peer in;
    FOR_BOTH(secrets)
    {
        for (uint64_t size = 0; size < 40; size += 13) {
            uint8_t bytes[FRAME_HEADER_BYTES + HELLO_BYTES_MAX];
            conn_fixture_open(secrets);
            server->net.connect_ms = 100;
            hello_bytes(bytes);
            pthread_t thread = malicious_peer_start(&in, bytes, size, 0);
            CONN_FIXTURE_WAIT(server->net.rejected == 1);
            cr_assert_not(fixture.late);
            malicious_peer_end(&in, thread);
            cr_expect_eq(fixture.accepted, 0);
            conn_fixture_close();
        }
    }
}

/* ---- A plain OpenSSL client with our key */

static int use_right_key(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *id_size,
                         SSL_SESSION **out)
{
    uint8_t key[32];
    struct secret secret;
    for (unsigned i = 0; i < SECRET_BYTES; i++)
        secret.bytes[i] = (uint8_t)(i * 7); /* conn_fixture's */
    use_wrong_key(ssl, md, id, id_size, out);
    return secret_derive_key(&secret, "glint peer 1", key, sizeof key) &&
           SSL_SESSION_set1_master_key(*out, key, sizeof key);
}

/* Sends KeyUpdate requests for as long as it can, and reads nothing. */
static void *asks_for_keys_main(void *arg)
{
    uint8_t hello[FRAME_HEADER_BYTES + HELLO_BYTES_MAX];
    int s = dial_listener();
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_psk_use_session_callback(context, use_right_key);
    SSL *ssl = SSL_new(context);
    (void)arg;
    SSL_set_app_data(ssl, key_name);
    SSL_set_fd(ssl, s);
    if (SSL_connect(ssl) != 1 || SSL_write(ssl, hello, (int)hello_bytes(hello)) <= 0) abort();
    while (SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(ssl) == 1)
        continue;
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(s);
    return NULL;
}

Test(malicious_peer, endless_key_update_requests_are_cut_off)
{
    pthread_t thread;
    conn_fixture_open(1);
    signal(SIGPIPE, SIG_IGN);
    learn_key_name();
    cr_assert_eq(pthread_create(&thread, NULL, asks_for_keys_main, NULL), 0);
    CONN_FIXTURE_WAIT(server->closed);
    cr_assert_not(fixture.late);
    cr_expect_eq(server->why.code, GLINT_E_PROTOCOL);
    cr_expect_not_null(strstr(server->why.cause, "KeyUpdate requests"), "%s", server->why.cause);
    pthread_join(thread, NULL);
    conn_fixture_close();
}

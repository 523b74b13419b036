/* Two sides of a connection in one loop of one thread, over real sockets of loopback: a gate and
 * whoever it lets in (`server`), and one who dials (`client`). And strangers, who send what they
 * like, or nothing.
 *
 * Its own memory comes from the C library, so that a test may let the n-th mem_alloc fail. */
#ifndef TESTS_SUPPORT_CONN_FIXTURE_H
#define TESTS_SUPPORT_CONN_FIXTURE_H

#include "engine/net/conn.h"
#include "engine/net/listener.h"

#define CONN_FIXTURE_LAST_MAX (512 * KIB) /* bytes kept of the last frame */
#define CONN_FIXTURE_INTO_MAX DATA_FRAME_BYTES_MAX
#define CONN_FIXTURE_LIMIT_MS 60000u /* a test that takes longer hangs */

enum moment { AT_OPENED, AT_FRAME, AT_INTO, AT_DATA, AT_SENT, AT_CLOSED, MOMENTS };

struct side {
    struct net net;
    struct conn *conn; /* NULL: none yet, or closed */
    unsigned opened, frames, datas, sent, unsent, closed;
    struct glint_error why; /* of `closed` */
    bool wants_data;        /* else DATA is passed over */
    uint64_t data_bytes;
    uint64_t last_request;
    uint64_t last_size;
    uint8_t *last, *into;
    /* Called last in each callback; c may be NULL (AT_SENT). */
    void (*hook)(struct side *s, struct conn *c, enum moment at);
    bool refuse_frames; /* `frame` answers an error */
};

struct conn_fixture {
    uv_loop_t loop;
    uv_timer_t limit;
    bool late;
    struct side server, client;
    struct listener *listener;
    struct tls_context *server_tls, *client_tls;
    const char *refusal; /* of `accepted`; NULL: none */
    unsigned accepted;
    int64_t live;
};

extern struct conn_fixture fixture;

/* Aborts where the system lacks something. `secrets`: 0: no TLS, 1: both have one, 2: another. */
void conn_fixture_open(unsigned secrets);
/* Everything is closed, and nothing leaked, or it aborts. */
void conn_fixture_close(void);
/* The gate may be closed before the world. */
void conn_fixture_close_listener(void);
/* False: *error says why. */
bool conn_fixture_dial(enum channel channel, const uint8_t *expected_incarnation,
                       struct glint_error *error);
/* One turn of the loop; false when the test takes too long. Start with conn_fixture_begin_wait. */
bool conn_fixture_run_once(void);
void conn_fixture_begin_wait(void);
/* Turns until `done`, which is false afterwards if that took too long. */
#define CONN_FIXTURE_WAIT(done)                                                                    \
    do {                                                                                           \
        conn_fixture_begin_wait();                                                                 \
        while (!(done) && conn_fixture_run_once()) continue;                                       \
    } while (0)
/* Dials and waits until both sides are open. */
void conn_fixture_connect(void);

extern const struct conn_events conn_fixture_events;
/* conn_send_data's `sent`, with a side. */
void conn_fixture_on_sent(void *arg, bool ok);
/* Bytes that tell where they belong. */
void conn_fixture_fill(uint8_t *out, uint64_t size, uint64_t seed);
bool conn_fixture_is_filled(const uint8_t *bytes, uint64_t size, uint64_t seed);
/* A GET of so many bytes, which is what both sides take; what conn_send returns. */
bool conn_fixture_send(struct side *s, uint64_t size, uint64_t request);

struct raw_client {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    uv_timer_t pace;
    const uint8_t *bytes;
    uint64_t size, at;
    uint64_t step; /* bytes at a time; 0: all */
    bool stays;    /* reads nothing */
    bool connected, ended;
    uint64_t got;
};
/* From 127.0.0.2. Sends `bytes`, which stay borrowed, and reads until it is shown out. */
void raw_client_dial(struct raw_client *s, const void *bytes, uint64_t size, uint64_t step);
/* Goes, without a word or (reset) with an RST. */
void raw_client_close(struct raw_client *s, bool reset);

#endif

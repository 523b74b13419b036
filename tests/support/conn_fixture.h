/* Both sides of a connection in one loop and one thread, over real loopback sockets: a listener
 * with its accepted connection (`server`), and the dialling side (`client`). Also raw clients,
 * which send arbitrary bytes or none.
 *
 * Uses malloc for its own memory, so that a test can make the n-th mem_alloc fail. */
#ifndef TESTS_SUPPORT_CONN_FIXTURE_H
#define TESTS_SUPPORT_CONN_FIXTURE_H

#include "engine/net/conn.h"
#include "engine/net/listener.h"

#define CONN_FIXTURE_LAST_MAX (512 * KIB) /* bytes kept of the last frame */
#define CONN_FIXTURE_INTO_MAX DATA_FRAME_BYTES_MAX
#define CONN_FIXTURE_LIMIT_MS 60000u /* a test that takes longer has failed */

enum moment { AT_OPENED, AT_FRAME, AT_INTO, AT_DATA, AT_SENT, AT_CLOSED, MOMENTS };

struct side {
    struct net net;
    struct conn *conn; /* NULL: none yet, or closed */
    unsigned opened, frames, datas, sent, unsent, closed;
    struct glint_error why; /* passed to `closed` */
    bool wants_data;        /* else DATA is discarded */
    uint64_t data_bytes;
    uint64_t last_request;
    uint64_t last_size;
    uint8_t *last, *into;
    /* Called last in each callback; c may be NULL (AT_SENT). */
    void (*hook)(struct side *s, struct conn *c, enum moment at);
    bool reject_frames; /* `frame` returns an error */
};

struct conn_fixture {
    uv_loop_t loop;
    uv_timer_t limit;
    bool late;
    struct side server, client;
    struct listener *listener;
    struct tls_context *server_tls, *client_tls;
    const char *reject_cause; /* if set, `accepted` rejects with this cause */
    unsigned accepted;
    int64_t live;
};

extern struct conn_fixture fixture;

/* Aborts if a system call fails. `secrets`: 0: no TLS, 1: the same secret, 2: different secrets. */
void conn_fixture_open(unsigned secrets);
/* Closes everything; aborts if memory leaked. */
void conn_fixture_close(void);
/* Closes the listener before the rest. */
void conn_fixture_close_listener(void);
/* Returns false with *error set. */
bool conn_fixture_dial(enum channel channel, const uint8_t *expected_incarnation,
                       struct glint_error *error);
/* The same, to any address. */
bool conn_fixture_dial_to(const char *host, uint16_t port, enum channel channel,
                          const uint8_t *expected_incarnation, struct glint_error *error);
/* Runs one iteration of the loop. Returns false if the test takes too long. Call
 * conn_fixture_begin_wait before the first. */
bool conn_fixture_run_once(void);
void conn_fixture_begin_wait(void);
/* Runs the loop until `done`, or until the time limit: `done` is false then. */
#define CONN_FIXTURE_WAIT(done)                                                                    \
    do {                                                                                           \
        conn_fixture_begin_wait();                                                                 \
        while (!(done) && conn_fixture_run_once()) continue;                                       \
    } while (0)
/* Dials, and waits until both sides are open. */
void conn_fixture_connect(void);

extern const struct conn_events conn_fixture_events;
/* `sent` callback for conn_send_data; `arg` is a side. */
void conn_fixture_on_sent(void *arg, bool ok);
/* Fills `out` with a pattern that depends on position and seed. */
void conn_fixture_fill(uint8_t *out, uint64_t size, uint64_t seed);
bool conn_fixture_is_filled(const uint8_t *bytes, uint64_t size, uint64_t seed);
/* Sends a GET frame with `size` bytes, the only control frame both sides accept. Returns
 * conn_send's result. */
bool conn_fixture_send(struct side *s, uint64_t size, uint64_t request);

struct raw_client {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    uv_timer_t pace;
    const uint8_t *bytes;
    uint64_t size, at;
    uint64_t step; /* bytes per write; 0: all */
    bool never_reads;
    bool connected, ended;
    uint64_t got;
};
/* Connects from 127.0.0.2, sends `bytes`, which stay borrowed, and reads until the connection
 * is closed. */
void raw_client_dial(struct raw_client *s, const void *bytes, uint64_t size, uint64_t step);
/* Closes, with a FIN or (reset) a RST. */
void raw_client_close(struct raw_client *s, bool reset);

#endif

/* Two sides of a connection in one loop of one thread, over real sockets of loopback: a gate and
 * whoever it lets in (`server`), and one who dials (`client`). And strangers, who send what they
 * like, or nothing.
 *
 * Its own memory comes from the C library, so that a test may let the n-th mem_alloc fail. */
#ifndef TESTS_SUPPORT_CONN_WORLD_H
#define TESTS_SUPPORT_CONN_WORLD_H

#include "engine/net/conn.h"
#include "engine/net/gate.h"

#define WORLD_LAST_MAX (512 * KIB) /* bytes kept of the last frame */
#define WORLD_INTO_MAX DATA_FRAME_BYTES_MAX
#define WORLD_LIMIT_MS 60000u /* a test that takes longer hangs */

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

struct world {
    uv_loop_t loop;
    uv_timer_t limit;
    bool late;
    struct side server, client;
    struct gate *gate;
    struct tls_context *server_tls, *client_tls;
    const char *refusal; /* of `accepted`; NULL: none */
    unsigned accepted;
    int64_t live;
};

extern struct world world;

/* Aborts where the system lacks something. `secrets`: 0: no TLS, 1: both have one, 2: another. */
void world_open(unsigned secrets);
/* Everything is closed, and nothing leaked, or it aborts. */
void world_close(void);
/* The gate may be closed before the world. */
void world_close_gate(void);
/* False: *error says why. */
bool world_dial(enum channel channel, const uint8_t *wanted, struct glint_error *error);
/* One turn of the loop; false when the test takes too long. Start with world_begin_wait. */
bool world_turn(void);
void world_begin_wait(void);
/* Turns until `done`, which is false afterwards if that took too long. */
#define WORLD_WAIT(done)                                                                           \
    do {                                                                                           \
        world_begin_wait();                                                                        \
        while (!(done) && world_turn()) continue;                                                  \
    } while (0)
/* Dials and waits until both sides are open. */
void world_connect(void);

extern const struct conn_events world_events;
/* conn_send_data's `sent`, with a side. */
void world_on_sent(void *arg, bool ok);
/* Bytes that tell where they belong. */
void world_fill(uint8_t *out, uint64_t size, uint64_t seed);
bool world_is_filled(const uint8_t *bytes, uint64_t size, uint64_t seed);
/* A GET of so many bytes, which is what both sides take; what conn_send returns. */
bool world_send(struct side *s, uint64_t size, uint64_t request);

struct stranger {
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
void stranger_dial(struct stranger *s, const void *bytes, uint64_t size, uint64_t step);
/* Goes, without a word or (reset) with an RST. */
void stranger_leave(struct stranger *s, bool reset);

#endif

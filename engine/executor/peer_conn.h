/* A peer, another executor from which this one fetches: its queued requests, its requests in
 * flight, and the connection they use. Internal to peers.c.
 *
 *    IDLE -> DIALLING          [peer_conn_connect: a request, or in advance]
 *    DIALLING -> OPEN          [peer_conn_on_opened]
 *    DIALLING, OPEN -> BACKOFF [peer_conn_on_closed: requests are left, and a redial]
 *    DIALLING, OPEN -> IDLE    [peer_conn_on_closed: no request is left, or they fail]
 *    BACKOFF -> DIALLING       [peer_conn_on_timer]
 *
 * An external peer uses a connection that the caller owns (the driver's). It is OPEN or IDLE; while
 * IDLE its requests wait for peers_add_open_conn. Loop thread only. */
#ifndef GLINT_EXECUTOR_PEER_CONN_H
#define GLINT_EXECUTOR_PEER_CONN_H

#include "engine/executor/peers.h"

#define PEER_CONN_REQUESTS_MAX 64u /* in flight at a time; a power of two */
#define PEER_CONN_LANES        16u /* one task's requests share a lane */

enum peer_conn_state { PEER_CONN_IDLE, PEER_CONN_DIALLING, PEER_CONN_OPEN, PEER_CONN_BACKOFF };

/* A GET that was sent and has no complete response yet. */
struct in_flight {
    uint64_t id;                   /* request id of the frame; 0: free slot */
    struct fetch_request *request; /* NULL: cancelled; its response is ignored */
    uint64_t bytes;                /* counted against PEER_WINDOW_BYTES */
    bool arriving;                 /* the connection is writing into the request's buffer */
};

struct peer_conn {
    struct net *net;
    uint64_t fetch_ms;
    struct executor_address address;
    /* The caller owns the connection; never dial. */
    bool external;
    bool ended;                 /* peer_conn_shutdown was called */
    void (*on_idle)(void *arg); /* after that: the connection has closed */
    void *on_idle_arg;
    enum peer_conn_state state;
    struct conn *conn;
    uint32_t redials_left;
    uint64_t progress_ns;  /* last data received, or start of the wait */
    uint64_t redial_at_ns; /* BACKOFF: dial at */
    /* Why this side closed the connection: timeout or shutdown. */
    struct glint_error why;
    struct lane {
        struct fetch_request *first, *last;
    } lanes[PEER_CONN_LANES];
    uint32_t waiting;   /* requests in all lanes */
    uint32_t next_lane; /* round-robin: to serve next */
    struct in_flight in_flight_requests[PEER_CONN_REQUESTS_MAX];
    uint32_t in_flight_count;
    uint64_t in_flight_bytes, sequence;
};

void peer_conn_init(struct peer_conn *l, struct net *net, uint64_t fetch_ms,
                    const struct executor_address *address, bool external);
/* Queues a request; `r` is borrowed until its `done`. */
void peer_conn_add_request(struct peer_conn *l, struct fetch_request *r);
/* Ends the requests of `owner` with INTERRUPTED, except one whose response is arriving. */
void peer_conn_cancel(struct peer_conn *l, uint64_t owner);
/* Sends queued requests while the window has room; dials if necessary. */
void peer_conn_send_waiting(struct peer_conn *l);
/* Dials. The peer has no connection and is not external. */
void peer_conn_connect(struct peer_conn *l);
/* Redials after a backoff, and ends requests that made no progress for fetch_ms. Returns false if
 * the timer is not needed. */
bool peer_conn_on_timer(struct peer_conn *l);
/* Ends all requests with *why. A request whose response is arriving ends only when that has arrived
 * or the connection has closed, because the connection writes into its buffer. */
void peer_conn_shutdown(struct peer_conn *l, const struct glint_error *why);
/* After peer_conn_shutdown: no connection or response uses the peer; it may be freed. */
bool peer_conn_is_idle(const struct peer_conn *l);

/* Connection events (net/conn.h: frame, buffer_for, data, opened, closed). */
int peer_conn_on_frame(struct peer_conn *l, const struct frame *f, struct glint_slice payload,
                       struct glint_error *error);
uint8_t *peer_conn_buffer_for(struct peer_conn *l, const struct frame *f);
void peer_conn_on_data(struct peer_conn *l, const struct frame *f);
void peer_conn_on_opened(struct peer_conn *l);
void peer_conn_on_closed(struct peer_conn *l, const struct glint_error *why);

/* Calls the request's `done`; `why` NULL: the bytes have arrived. */
void fetch_request_end(struct fetch_request *r, const struct glint_error *why);

#endif

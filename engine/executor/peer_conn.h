/* One other executor as this one fetches from it: requests that wait, requests that are out, and
 * the connection they go through. Internal to peers.c.
 *
 *   IDLE -> DIALLING [a request]               DIALLING -> OPEN   [opened]
 *   DIALLING, OPEN -> BACKOFF [closed, once]    BACKOFF -> DIALLING [peer_conn_on_timer]
 *   DIALLING, OPEN -> IDLE   [closed: its requests fail, or there are none]
 *
 * A link over a connection that somebody else owns (the driver's) is OPEN or IDLE; while it is IDLE
 * requests wait for the connection. Loop thread only. */
#ifndef GLINT_EXECUTOR_PEER_CONN_H
#define GLINT_EXECUTOR_PEER_CONN_H

#include "engine/executor/peers.h"

#define PEER_CONN_REQUESTS_MAX 64u /* out at a time; a power of two */
#define PEER_CONN_LANES        16u /* requests of one task are in one lane; lanes take turns */

enum peer_conn_state { PEER_CONN_IDLE, PEER_CONN_DIALLING, PEER_CONN_OPEN, PEER_CONN_BACKOFF };

struct in_flight {
    uint64_t id;                   /* of the frame; 0: free */
    struct fetch_request *request; /* NULL: cancelled; its answer is passed over */
    uint64_t bytes;                /* of the window */
    bool arriving;                 /* the connection writes to the request's memory */
};

struct peer_conn {
    struct net *net;
    uint64_t fetch_ms;
    struct executor_address address;
    bool external;
    bool ended;                 /* peers_close was called */
    void (*on_idle)(void *arg); /* its connection has closed after that; the link may be freed */
    void *on_idle_arg;
    enum peer_conn_state state;
    struct conn *conn;
    uint32_t redials_left;
    uint64_t progress_ns;  /* when something came last, or the wait began */
    uint64_t redial_at_ns; /* BACKOFF: when to dial */
    struct glint_error why;
    struct lane {
        struct fetch_request *first, *last;
    } lanes[PEER_CONN_LANES];
    uint32_t waiting;   /* requests in lanes */
    uint32_t next_lane; /* whose turn it is */
    struct in_flight in_flight_requests[PEER_CONN_REQUESTS_MAX];
    uint32_t in_flight_count;
    uint64_t in_flight_bytes, sequence;
};

void peer_conn_init(struct peer_conn *l, struct net *net, uint64_t fetch_ms,
                    const struct executor_address *address, bool external);
void peer_conn_add_request(struct peer_conn *l, struct fetch_request *r);
void peer_conn_cancel(struct peer_conn *l, uint64_t owner);
/* Sends what may be sent; dials if need be. */
void peer_conn_send_waiting(struct peer_conn *l);
/* Of a link that has no connection, and is not another's. */
void peer_conn_connect(struct peer_conn *l);
/* The clock: dials again, or gives up. False: nothing is to be waited for. */
bool peer_conn_on_timer(struct peer_conn *l);
/* All requests end with *why, but for what is arriving: that ends when it has, or the connection
 * has. */
void peer_conn_shutdown(struct peer_conn *l, const struct glint_error *why);
/* Nothing can come back any more. */
bool peer_conn_is_idle(const struct peer_conn *l);

int peer_conn_on_frame(struct peer_conn *l, const struct frame *f, struct glint_slice payload,
                       struct glint_error *error);
uint8_t *peer_conn_buffer_for(struct peer_conn *l, const struct frame *f);
void peer_conn_on_data(struct peer_conn *l, const struct frame *f);
void peer_conn_on_opened(struct peer_conn *l);
void peer_conn_on_closed(struct peer_conn *l, const struct glint_error *why);

/* Ends a request; `why` NULL: its bytes are there. */
void fetch_request_end(struct fetch_request *r, const struct glint_error *why);

#endif

/* One other executor as this one fetches from it: requests that wait, requests that are out, and
 * the connection they go through. Internal to peers.c.
 *
 *   IDLE -> DIALLING [a request]               DIALLING -> OPEN   [opened]
 *   DIALLING, OPEN -> PAUSED [closed, once]    PAUSED -> DIALLING [link_tick]
 *   DIALLING, OPEN -> IDLE   [closed: its requests fail, or there are none]
 *
 * A link over a connection that somebody else owns (the driver's) is OPEN or IDLE; while it is IDLE
 * requests wait for the connection. Loop thread only. */
#ifndef GLINT_EXECUTOR_PEER_LINK_H
#define GLINT_EXECUTOR_PEER_LINK_H

#include "engine/executor/peers.h"

#define LINK_REQUESTS_MAX 64u /* out at a time; a power of two */
#define LINK_LANES        16u /* requests of one task are in one lane; lanes take turns */

enum link_state { LINK_IDLE, LINK_DIALLING, LINK_OPEN, LINK_PAUSED };

struct flight {
    uint64_t id;                   /* of the frame; 0: free */
    struct fetch_request *request; /* NULL: cancelled; its answer is passed over */
    uint64_t bytes;                /* of the window */
    bool arriving;                 /* the connection writes to the request's memory */
};

struct peer_link {
    struct net *net;
    uint64_t fetch_ms;
    struct peer where;
    bool external;
    bool ended;               /* peers_close was called */
    void (*quiet)(void *arg); /* its connection has closed after that; the link may be freed */
    void *quiet_arg;
    enum link_state state;
    struct conn *conn;
    uint32_t redials_left;
    uint64_t progress_ns; /* when something came last, or the wait began */
    uint64_t again_ns;    /* PAUSED: when to dial */
    struct glint_error why;
    struct lane {
        struct fetch_request *first, *last;
    } lanes[LINK_LANES];
    uint32_t waiting;   /* requests in lanes */
    uint32_t next_lane; /* whose turn it is */
    struct flight flights[LINK_REQUESTS_MAX];
    uint32_t flying;
    uint64_t flying_bytes, sequence;
};

void link_init(struct peer_link *l, struct net *net, uint64_t fetch_ms, const struct peer *where,
               bool external);
void link_add(struct peer_link *l, struct fetch_request *r);
void link_cancel(struct peer_link *l, uint64_t owner);
/* Sends what may be sent; dials if need be. */
void link_pump(struct peer_link *l);
/* Of a link that has no connection, and is not another's. */
void link_connect(struct peer_link *l);
/* The clock: dials again, or gives up. False: nothing is to be waited for. */
bool link_tick(struct peer_link *l);
/* All requests end with *why, but for what is arriving: that ends when it has, or the connection
 * has. */
void link_end(struct peer_link *l, const struct glint_error *why);
/* Nothing can come back any more. */
bool link_is_quiet(const struct peer_link *l);

int link_on_frame(struct peer_link *l, const struct frame *f, struct glint_slice payload,
                  struct glint_error *error);
uint8_t *link_into(struct peer_link *l, const struct frame *f);
void link_on_data(struct peer_link *l, const struct frame *f);
void link_on_opened(struct peer_link *l);
void link_on_closed(struct peer_link *l, const struct glint_error *why);

/* Ends a request; `why` NULL: its bytes are there. */
void request_end(struct fetch_request *r, const struct glint_error *why);

#endif

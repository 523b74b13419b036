/* The requester's side of one connection: GET requests that wait, and those in flight. Loop thread
 * only.
 *
 * At most FETCH_CLIENT_WINDOW_BYTES are in flight; other requests wait, round-robin between owners,
 * also while there is no connection. Responses arrive in any order. The owner of the connection
 * opens and closes it, forwards its events, and decides what happens to requests that make no
 * progress, or have lost their connection: fetch_client_fail, or another connection. */
#ifndef GLINT_TRANSFER_FETCH_CLIENT_H
#define GLINT_TRANSFER_FETCH_CLIENT_H

#include "engine/net/conn.h"
#include "engine/transfer/fetcher.h"

#define FETCH_CLIENT_WINDOW_BYTES (8 * MIB)
#define FETCH_CLIENT_REQUESTS_MAX 64u /* in flight at a time; a power of two */
#define FETCH_CLIENT_LANES        16u /* requests of one owner share a lane */

/* A GET that was sent and has no complete response yet. */
struct in_flight {
    uint64_t id;                   /* request id of the frame; 0: free slot */
    struct fetch_request *request; /* NULL: failed or cancelled; its response is ignored */
    uint64_t bytes;                /* counted against FETCH_CLIENT_WINDOW_BYTES */
    bool arriving;                 /* the connection is writing into the request's buffer */
};

struct fetch_client {
    struct env *env;
    uint64_t timeout_ms;  /* for a request without progress */
    struct conn *conn;    /* open; NULL: none */
    bool responded;       /* a response was completed; the caller may reset it */
    uint64_t progress_ns; /* last data received, or start of the wait */
    struct lane {
        struct fetch_request *first, *last;
    } lanes[FETCH_CLIENT_LANES];
    uint32_t waiting;   /* requests in all lanes */
    uint32_t next_lane; /* round-robin: to serve next */
    struct in_flight in_flight_requests[FETCH_CLIENT_REQUESTS_MAX];
    uint32_t in_flight_count;
    uint64_t in_flight_bytes, sequence;
};

void fetch_client_init(struct fetch_client *c, struct env *env, uint64_t timeout_ms);
/* Queues a request, to be sent by the next fetch_client_send. */
void fetch_client_add(struct fetch_client *c, struct fetch_request *r);
/* Sends waiting requests while the window has room. */
void fetch_client_send(struct fetch_client *c);
/* struct fetcher's submit: adds and sends a list of requests. */
void fetch_client_submit(void *client, struct fetch_request *first);
/* Ends the requests of `owner` with INTERRUPTED, except one whose response is arriving: the
 * connection writes into its memory. */
void fetch_client_cancel(struct fetch_client *c, uint64_t owner);
/* Ends all requests with *why, except those whose responses are arriving. */
void fetch_client_fail(struct fetch_client *c, const struct glint_error *why);
/* When the requests have timed out, unless data arrives before; UINT64_MAX: there are none. */
uint64_t fetch_client_deadline_ns(const struct fetch_client *c);

/* `conn` is open: sends the waiting requests to it. */
void fetch_client_on_opened(struct fetch_client *c, struct conn *conn);
/* The connection has closed: its requests wait again, first in their lanes. */
void fetch_client_on_closed(struct fetch_client *c);
/* struct conn_events. `client` is the fetch_client, or a struct whose first member it is. A
 * response to no request of this client is ignored: buffer_for returns NULL. */
int fetch_client_on_frame(void *client, struct conn *conn, const struct frame *f,
                          struct glint_slice payload, struct glint_error *error);
uint8_t *fetch_client_buffer_for(void *client, struct conn *conn, const struct frame *f);
void fetch_client_on_data(void *client, struct conn *conn, const struct frame *f);

/* Calls the request's `done`; `why` NULL: the bytes have arrived. */
void fetch_request_end(struct fetch_request *r, const struct glint_error *why);

#endif

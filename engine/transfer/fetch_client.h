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
#include "engine/net/wire.h"
#include "engine/transfer/wire_fetch.h"

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
/* struct fetcher's submit: adds and sends a list of requests. */
void fetch_client_submit(void *client, struct fetch_request *first);
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

/* The peers of an executor: one connection to each other executor, opened on first use or in
 * advance, shared by all slots. Implements struct fetcher (wire_fetch.h). Responses arrive in any
 * order.
 *
 * Loop thread only, except the fetcher's submit and cancel. Every request ends in `done`: its bytes
 * have arrived, the peer sent FETCH_ERROR, the connection closed (redialled once after a jittered
 * backoff before its requests fail), no data arrived for fetch_ms, or peers_close was called. The
 * driver is a peer too (EXECUTOR_ID_DRIVER), whose connection the caller owns. */

struct peers;

/* `net` is borrowed. `fetch_ms`: a request's time without progress. Returns NULL with *error set
 * (NO_MEMORY). */
struct peers *peers_create(struct net *net, uint64_t fetch_ms, struct glint_error *error);
/* Adds an executor (of an EXECUTOR_ADDED frame). A known number is ignored. `ahead`: connects now;
 * if that fails, the next request tries again. Returns 0 or NO_MEMORY. */
int peers_add_executor(struct peers *p, const struct executor_address *peer, bool ahead);
/* The driver's data connection is open; NULL: it has closed. Until then its requests wait. */
void peers_set_driver_conn(struct peers *p, struct conn *conn);
/* For the events of that connection (fetch_client.h); valid until peers_close. */
struct fetch_client *peers_driver_client(struct peers *p);
/* The fetcher may be used from any thread until `closed` of peers_close. */
struct fetcher peers_as_fetcher(struct peers *p);
/* Ends all requests with *why, including those submitted from now on, and closes connections; that
 * of the driver has closed. When no handle or connection uses the memory any more it is freed and
 * `closed` (may be NULL) is called from the loop. The caller ensures that no task uses the fetcher
 * after that. */
void peers_close(struct peers *p, const struct glint_error *why, void (*closed)(void *arg),
                 void *arg);

/* Fetches data that is too large for one request, in chunks, with several requests in flight. Loop
 * thread only. */

#define CHUNKED_FETCH_REQUESTS 8u /* in flight at a time */

/* The caller's memory, zeroed, until `done`. */
struct chunked_fetch {
    /* Set by the caller. */
    struct fetcher fetcher; /* its `submit` is called on the loop's thread */
    uint32_t executor;
    struct get_request get; /* kind and id of data that is served in ranges; size: all its bytes */
    uint8_t *into;          /* get.size bytes */
    /* Called once, when nothing is in flight. error.code OK: all bytes have arrived; else the error
     * of the first request that failed. May free the fetch. */
    void (*done)(struct chunked_fetch *f);
    void *arg;
    struct glint_error error;
    /* Private. */
    uint64_t requested; /* bytes */
    uint32_t in_flight;
    struct fetch_request requests[CHUNKED_FETCH_REQUESTS];
};

/* `done` may be called before this returns. */
void chunked_fetch_start(struct chunked_fetch *f);

#endif

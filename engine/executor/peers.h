/* The peers of an executor: one connection to each other executor, opened on first use or in
 * advance, shared by all slots. Implements struct fetcher (shuffle/fetch.h). Responses arrive in
 * any order.
 *
 * Loop thread only, except the fetcher's submit and cancel. Every request ends in `done`: its bytes
 * have arrived, the peer sent FETCH_ERROR, the connection closed (redialled once after a jittered
 * backoff before its requests fail), no data arrived for fetch_ms, or peers_close was called. At
 * most PEER_WINDOW_BYTES are in flight per peer; other requests are queued, round-robin between
 * tasks. The driver's data connection is a peer too (EXECUTOR_ID_DRIVER), added by
 * peers_add_open_conn. */
#ifndef GLINT_EXECUTOR_PEERS_H
#define GLINT_EXECUTOR_PEERS_H

#include "engine/net/conn.h"
#include "engine/net/wire.h"
#include "engine/shuffle/fetch.h"

#define PEER_WINDOW_BYTES (8 * MIB)

struct peers;

/* `net` is borrowed. `fetch_ms`: a request's time without progress. Returns NULL with *error set
 * (NO_MEMORY, SYSTEM). */
struct peers *peers_create(struct net *net, uint64_t fetch_ms, struct glint_error *error);
/* Adds an executor (of an EXECUTOR_ADDED frame). A known number is ignored. `ahead`: connects now;
 * if that fails, the next request tries again. Returns 0 or NO_MEMORY. */
int peers_add_executor(struct peers *p, const struct executor_address *peer, bool ahead);
/* Adds an open connection as peer number `executor`. The caller keeps ownership: it forwards the
 * connection's events with the four functions below. Returns 0 or NO_MEMORY. */
int peers_add_open_conn(struct peers *p, uint32_t executor, struct conn *c);
int peers_on_frame(struct peers *p, struct conn *c, const struct frame *f,
                   struct glint_slice payload, struct glint_error *error);
uint8_t *peers_buffer_for(struct peers *p, struct conn *c, const struct frame *f);
void peers_on_data(struct peers *p, struct conn *c, const struct frame *f);
void peers_on_conn_closed(struct peers *p, struct conn *c);
/* The fetcher may be used from any thread until `closed` of peers_close. */
struct fetcher peers_as_fetcher(struct peers *p);
/* Ends all requests with *why, including those submitted from now on, and closes connections. When
 * no handle or connection uses the memory any more it is freed and `closed` (may be NULL) is called
 * from the loop. The caller ensures that no task uses the fetcher after that. */
void peers_close(struct peers *p, const struct glint_error *why, void (*closed)(void *arg),
                 void *arg);

#endif

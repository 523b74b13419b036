/* The peers of an executor: one connection to each other executor, opened on first use or in
 * advance, shared by all slots. Implements struct fetcher (fetcher.h). Responses arrive in any
 * order.
 *
 * Loop thread only, except the fetcher's submit and cancel. Every request ends in `done`: its bytes
 * have arrived, the peer sent FETCH_ERROR, the connection closed (redialled once after a jittered
 * backoff before its requests fail), no data arrived for fetch_ms, or peers_close was called. The
 * driver is a peer too (EXECUTOR_ID_DRIVER), whose connection the caller owns. */
#ifndef GLINT_TRANSFER_PEERS_H
#define GLINT_TRANSFER_PEERS_H

#include "engine/net/wire.h"
#include "engine/transfer/fetch_client.h"

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

#endif

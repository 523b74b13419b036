/* Other executors, as this one fetches from them: a connection per peer, made when first needed or
 * ahead, shared by all slots; requests are answered in any order.
 *
 * Loop thread, but for the fetcher's submit. A request ends in `done` in any case: when its bytes
 * are there, when the peer says FETCH_ERROR, when the connection ends (dialled once more, with a
 * jittered pause, before its requests fail), when nothing came for fetch_ms, when peers_close is
 * called. At most PEER_WINDOW_BYTES are asked for at one peer at a time; the rest waits here, fair
 * between tasks. The driver's data connection is a peer too (EXECUTOR_ID_DRIVER), given by
 * peers_add_open_conn. */
#ifndef GLINT_EXECUTOR_PEERS_H
#define GLINT_EXECUTOR_PEERS_H

#include "engine/net/conn.h"
#include "engine/net/wire.h"
#include "engine/shuffle/fetch.h"

#define PEER_WINDOW_BYTES (8 * MIB)

struct peers;

struct peers *peers_create(struct net *net, uint64_t fetch_ms, struct glint_error *error);
/* Where an executor is (a EXECUTOR_ADDED frame): 0 or NO_MEMORY. A number that is known already is
 * ignored. `ahead`: connects at once; what fails then is tried again when it is needed. */
int peers_add_executor(struct peers *p, const struct executor_address *peer, bool ahead);
/* A connection that is open already, by that number. The caller stays its owner: it passes DATA and
 * FETCH_ERROR frames on by the calls below, and says when it has closed. */
int peers_add_open_conn(struct peers *p, uint32_t executor, struct conn *c);
int peers_on_frame(struct peers *p, struct conn *c, const struct frame *f,
                   struct glint_slice payload, struct glint_error *error);
uint8_t *peers_buffer_for(struct peers *p, struct conn *c, const struct frame *f);
void peers_on_data(struct peers *p, struct conn *c, const struct frame *f);
void peers_on_conn_closed(struct peers *p, struct conn *c);
struct fetcher peers_as_fetcher(struct peers *p);
/* All requests end with *why, also those submitted from now on; no connection is left. `closed` is
 * called when the loop has let go of everything, and the memory is freed: no task may use the
 * fetcher then, so its tasks end before, or ask for nothing more. */
void peers_close(struct peers *p, const struct glint_error *why, void (*closed)(void *arg),
                 void *arg);

#endif

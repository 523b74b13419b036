/* Broadcast values of this process: one copy, shared by all slots, made of blocks of
 * broadcast_block_bytes() that come from the driver and from other executors.
 *
 * A block comes to its place in the value, and is served from there; one that came packed
 * (net/broadcast_block.h) is kept so, too, to be served.
 *
 * Fetching begins when the value is announced; a few blocks are asked for at a time. What could
 * not be had, or was damaged, is reported to the driver, whose next BLOCK_ASSIGN names another
 * source: itself, in the end. A block that failed too often, or a BLOCK_REQUEST that could not be
 * sent, ends the value: slots get that error. Loop thread, but for broadcast_client_wait and
 * broadcast_client_wake_waiters. */
#ifndef GLINT_EXECUTOR_BROADCAST_CLIENT_H
#define GLINT_EXECUTOR_BROADCAST_CLIENT_H

#include "engine/base/mem.h"
#include "engine/net/wire.h"
#include "engine/shuffle/fetch.h"

#include <stdatomic.h>

struct broadcast_client;

/* `track` sends a BLOCK_REQUEST to the driver (false: it could not be sent; the driver is gone). */
struct broadcast_client *
broadcast_client_create(struct env *env, const struct fetcher *fetcher, uint64_t fetch_ms,
                        bool (*request_blocks)(void *arg, const struct block_request *t),
                        void *arg);
/* A value of `size` bytes is to be had; one that is known already is ignored. 0, VALUE_LIMIT or
 * NO_MEMORY. Sends the first BLOCK_REQUEST. */
int broadcast_client_add(struct broadcast_client *v, uint64_t id, uint64_t size,
                         struct glint_error *error);
/* 0 or PROTOCOL. */
int broadcast_client_on_assign(struct broadcast_client *v, const struct block_assignment *t,
                               struct glint_error *error);
/* A slot's thread: waits for the whole value; *out is valid until broadcast_client_destroy, with
 * READ_SLACK readable behind it. 0, or a code with *error set: it never was announced (PROTOCOL),
 * cannot be had, did not come on for three times fetch_ms (CONNECTION; a request that hangs takes
 * one of them), or *cancel_flag is set (INTERRUPTED; may be NULL; looked at on
 * broadcast_client_wake_waiters). */
int broadcast_client_wait(struct broadcast_client *v, uint64_t id, const atomic_bool *cancel_flag,
                          struct glint_slice *out, struct glint_error *error);
/* Any thread: waiting slots look at their cancel flags. */
void broadcast_client_wake_waiters(struct broadcast_client *v);
/* A block as it travels, valid until broadcast_client_destroy. False: not here (yet). */
bool broadcast_client_find_block(struct broadcast_client *v, uint64_t id, uint32_t block,
                                 struct glint_slice *out);
/* No slot waits any more, no request is out, and no block on its way to somebody. */
void broadcast_client_destroy(struct broadcast_client *v);

#endif

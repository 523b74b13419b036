/* Broadcasts of this process: one copy, shared by all slots. A broadcast is made of blocks of
 * broadcast_block_bytes(), fetched from the driver and from other executors.
 *
 * A block is written straight to its offset in the broadcast's memory and served from there. A
 * block that arrived compressed (net/broadcast_block.h) is also kept compressed, to be served again
 * without compressing it a second time.
 *
 * Fetching starts when the driver announces the broadcast; a few blocks are in flight at a time. A
 * block that could not be fetched, or failed its checksum, is reported to the driver, whose next
 * BLOCK_ASSIGN names another source, and finally the driver itself. A block that failed too often,
 * or a BLOCK_REQUEST that could not be sent, fails the broadcast: waiting slots get that error.
 *
 * Loop thread only, except broadcast_client_wait, _release and _wake_waiters. */
#ifndef GLINT_TRANSFER_BROADCAST_CLIENT_H
#define GLINT_TRANSFER_BROADCAST_CLIENT_H

#include "engine/base/mem.h"
#include "engine/transfer/fetch.h"
#include "engine/transfer/wire_fetch.h"

#include <stdatomic.h>

struct broadcast_client;

/* `request_blocks` sends a BLOCK_REQUEST to the driver, or drops it if the connection is not open
 * yet, which is followed by broadcast_client_ask; false: the driver is gone. `env`,
 * `fetcher` and `arg` are borrowed until destroy. `fetch_ms` is the fetcher's deadline for a
 * request. Returns NULL when out of memory. */
struct broadcast_client *
broadcast_client_create(struct env *env, const struct fetcher *fetcher, uint64_t fetch_ms,
                        bool (*request_blocks)(void *arg, const struct block_request *t),
                        void *arg);
/* Announces a broadcast of `size` bytes and sends the first BLOCK_REQUEST. An id that is already
 * known is ignored. Returns 0, VALUE_LIMIT or NO_MEMORY. */
int broadcast_client_add(struct broadcast_client *v, uint64_t id, uint64_t size,
                         struct glint_error *error);
/* Asks for blocks of all broadcasts that are not complete: the connection to the driver is open. */
void broadcast_client_ask(struct broadcast_client *v);
/* Starts fetching the assigned blocks. Returns 0, or PROTOCOL with nothing changed. */
int broadcast_client_on_assign(struct broadcast_client *v, const struct block_assignment *t,
                               struct glint_error *error);
/* Slot's thread: blocks until the broadcast is complete. Returns a reference: *out is valid until
 * broadcast_client_release, with READ_SLACK readable bytes after it. Returns NULL
 * with *error set: PROTOCOL if it was never announced, the fetch error if it cannot be fetched,
 * CONNECTION if no block arrived for 3 * fetch_ms (a request that hangs uses up one fetch_ms),
 * INTERRUPTED if it was removed or *cancel_flag is set. `cancel_flag` may be NULL;
 * broadcast_client_wake_waiters makes waiters check it. */
void *broadcast_client_wait(struct broadcast_client *v, uint64_t id, const atomic_bool *cancel_flag,
                            struct glint_slice *out, struct glint_error *error);
/* Any thread. */
void broadcast_client_release(struct broadcast_client *v, void *ref);
/* The driver has freed the broadcast: waiting slots get an error. It is freed with the last
 * reference and request. */
void broadcast_client_remove(struct broadcast_client *v, uint64_t id);
/* Any thread: wakes waiting slots, which then check their cancel flags. */
void broadcast_client_wake_waiters(struct broadcast_client *v);
/* Finds a block in the form in which it is sent. Returns a reference: *out is valid until
 * broadcast_client_release. Returns NULL if the block has not been fetched (yet). */
void *broadcast_client_find_block(struct broadcast_client *v, uint64_t id, uint32_t block,
                                  struct glint_slice *out);
/* The caller ensures that no slot waits, no request is in flight and no block is being sent. */
void broadcast_client_destroy(struct broadcast_client *v);

#endif

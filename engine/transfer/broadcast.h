/* Large broadcasts: executors fetch their blocks from the driver and from each other. */
#ifndef GLINT_TRANSFER_BROADCAST_H
#define GLINT_TRANSFER_BROADCAST_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/limits.h"
#include "engine/transfer/fetch.h"
#include "engine/transfer/wire_fetch.h"

#include <stdatomic.h>

/* ---- Broadcasts of this process: one copy, shared by all slots. A broadcast is made of blocks of
 * broadcast_block_bytes(), fetched from the driver and from other executors.
 *
 * A block is written straight to its offset in the broadcast's memory and served from there. A
 * block that arrived compressed (broadcast_block_compress) is also kept compressed, to be served
 * again without compressing it a second time.
 *
 * Fetching starts when the driver announces the broadcast; a few blocks are in flight at a time. A
 * block that could not be fetched, or failed its checksum, is reported to the driver, whose next
 * BLOCK_ASSIGN names another source, and finally the driver itself. A block that failed too often,
 * or a BLOCK_REQUEST that could not be sent, fails the broadcast: waiting slots get that error.
 *
 * Loop thread only, except broadcast_client_wait, _release and _wake_waiters. */

/* Blocks of a broadcast value: splitting, compression for the network, and verification on receipt.
 * Pure functions.
 *
 * A block is sent as one lz4 block if that makes it at least an eighth smaller, and uncompressed
 * otherwise; the receiver tells the two apart by the size. The checksum covers the uncompressed
 * bytes. The driver computes it and sends it with the location of the block (BLOCK_ASSIGN), so that
 * an executor can verify a block it fetched from any other executor. */

#define BROADCAST_BLOCKS_TARGET                                                                    \
    64u /* many blocks, so that executors soon have some to serve to others */

/* Bytes per block of a value of `size` bytes; the last block may be shorter. */
static inline uint64_t broadcast_block_bytes(uint64_t size)
{
    uint64_t each = size / BROADCAST_BLOCKS_TARGET / 4096 * 4096;
    if (each < BROADCAST_BLOCK_BYTES_MIN) return BROADCAST_BLOCK_BYTES_MIN;
    return each < BROADCAST_BLOCK_BYTES_MAX ? each : BROADCAST_BLOCK_BYTES_MAX;
}

static inline uint32_t broadcast_block_count(uint64_t size)
{
    uint64_t each = broadcast_block_bytes(size);
    return (uint32_t)((size + each - 1) / each);
}

/* Bytes in block number `block`. */
static inline uint32_t broadcast_block_bytes_at(uint64_t size, uint32_t block)
{
    uint64_t each = broadcast_block_bytes(size), left = size - block * each;
    return (uint32_t)(left < each ? left : each);
}

/* Block number `block` (below broadcast_block_count) of the complete `value`; borrowed from it. */
static inline struct glint_slice broadcast_block_slice(struct glint_slice value, uint32_t block)
{
    return (struct glint_slice){value.data + block * broadcast_block_bytes(value.size),
                                broadcast_block_bytes_at(value.size, block)};
}

/* XXH3-64 of the uncompressed bytes of a block of the complete `value`. The seed is the hash of
 * id (8 bytes) and block (4 bytes, both little-endian), so that the bytes of a different block do
 * not match. */
uint64_t broadcast_block_checksum(uint64_t id, uint32_t block, struct glint_slice value);
/* Compresses the block into the empty *out, which the caller frees. Leaves *out empty if
 * compression saves less than an eighth. Returns 0 or NO_MEMORY. */
int broadcast_block_compress(uint32_t block, struct glint_slice value, struct buffer *out,
                             struct glint_error *error);
/* Decompresses `packed` to the block's position in `value`, which has `size` bytes, and verifies
 * the checksum. If `packed` is empty, the uncompressed bytes are already at that position and are
 * only verified. Returns 0 or SHUFFLE_CORRUPT; the block's bytes in `value` are then undefined. */
int broadcast_block_decode(uint64_t id, uint32_t block, uint64_t checksum,
                           struct glint_slice packed, uint8_t *value, uint64_t size,
                           struct glint_error *error);

struct broadcast_client;

/* `request_blocks` sends a BLOCK_REQUEST to the driver, or drops it if the connection is not open
 * yet, which is followed by broadcast_client_request_missing_blocks; false: the driver is gone.
 * `env`, `fetcher` and `arg` are borrowed until destroy. `fetch_ms` is the fetcher's deadline for a
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
void broadcast_client_request_missing_blocks(struct broadcast_client *v);
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
void broadcast_client_release(void *client, void *ref);
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

/* ---- Tracks which executors have which blocks of a broadcast, and assigns the blocks that each
 * one fetches next, and from where. No I/O, no clock.
 *
 * The driver sends each block about once (of a small broadcast four times); executors get the rest
 * from each other, as in BitTorrent. An executor sends BLOCK_REQUEST and gets BLOCK_ASSIGN. A block
 * that only the driver has is sent to one executor at a time; any other is fetched from the
 * executor that has it and sends the least. After a failure a block is assigned from the driver, so
 * an executor gets all blocks as long as the driver lives. */

struct tracker; /* of one broadcast */

/* NULL: out of memory. */
struct tracker *broadcast_tracker_create(uint32_t blocks);
/* NULL is allowed. */
void broadcast_tracker_destroy(struct tracker *t);
/* Handles a BLOCK_REQUEST: the blocks that the executor got and failed to get since the last one,
 * and how many it wants. Sets the blocks of *out; the id and the checksums are the caller's. If
 * there are none for an executor that wants some, it waits until broadcast_tracker_next_assignment
 * returns it. False: out of memory, and no block has changed. */
bool broadcast_tracker_on_block_request(struct tracker *t, uint32_t executor,
                                        const struct block_request *in,
                                        struct block_assignment *out);
/* Forgets its blocks and transfers. Its number must not come back: later requests of it get no
 * blocks. */
void broadcast_tracker_on_executor_lost(struct tracker *t, uint32_t executor);
/* Returns the next waiting executor for which there are blocks now, and its assignment. False:
 * none. Call after each of the events above until it returns false. */
bool broadcast_tracker_next_assignment(struct tracker *t, uint32_t *out_executor,
                                       struct block_assignment *out);
/* How many blocks were assigned from the driver so far, repeats included. */
uint64_t broadcast_tracker_blocks_sent_by_driver(const struct tracker *t);

#endif

/* Tracks which executors have which blocks of a broadcast, and assigns the blocks that each one
 * fetches next, and from where. No I/O, no clock.
 *
 * The driver sends each block about once (of a small broadcast four times); executors get the rest
 * from each other, as in BitTorrent. An executor sends BLOCK_REQUEST and gets BLOCK_ASSIGN. A block
 * that only the driver has is sent to one executor at a time; any other is fetched from the
 * executor that has it and sends the least. After a failure a block is assigned from the driver, so
 * an executor gets all blocks as long as the driver lives. */
#ifndef GLINT_TRANSFER_BROADCAST_TRACKER_H
#define GLINT_TRANSFER_BROADCAST_TRACKER_H

#include "engine/transfer/wire_fetch.h"

struct tracker; /* of one broadcast */

/* NULL: out of memory. */
struct tracker *tracker_create(uint32_t blocks);
/* NULL is allowed. */
void tracker_destroy(struct tracker *t);
/* Handles a BLOCK_REQUEST: the blocks that the executor got and failed to get since the last one,
 * and how many it wants. Sets the blocks of *out; the id and the checksums are the caller's. If
 * there are none for an executor that wants some, it waits until tracker_next_assignment returns
 * it. False: out of memory, and no block has changed. */
bool tracker_on_block_request(struct tracker *t, uint32_t executor, const struct block_request *in,
                              struct block_assignment *out);
/* Forgets its blocks and transfers. Its number must not come back: later requests of it get no
 * blocks. */
void tracker_on_executor_lost(struct tracker *t, uint32_t executor);
/* Returns the next waiting executor for which there are blocks now, and its assignment. False:
 * none. Call after each of the events above until it returns false. */
bool tracker_next_assignment(struct tracker *t, uint32_t *out_executor,
                             struct block_assignment *out);
/* How many blocks were assigned from the driver so far, repeats included. */
uint64_t tracker_blocks_sent_by_driver(const struct tracker *t);

#endif

/* Who has which blocks of a broadcast, and who should fetch which from whom. Pure.
 *
 * The driver gives each block out about once, of a small value four times; executors get the rest
 * from one another. An executor asks for blocks (BLOCK_REQUEST) and is told which to fetch from
 * where (BLOCK_ASSIGN): a block that only the driver has goes to one executor at a time; one that
 * executors have is fetched from the one with the least to send. What it failed to get it is
 * offered from somewhere else, in the end from the driver again, so that it always gets all blocks
 * while the driver lives. */
#ifndef GLINT_DRIVER_BROADCAST_TRACKER_H
#define GLINT_DRIVER_BROADCAST_TRACKER_H

#include "engine/net/wire.h"

struct tracker; /* of one broadcast */

struct tracker *tracker_create(uint32_t blocks); /* NULL without memory */
void tracker_destroy(struct tracker *t);
/* A BLOCK_REQUEST of an executor: fills *out, whose id is the caller's. False without memory;
 * nothing has changed then. */
bool tracker_on_block_request(struct tracker *t, uint32_t executor, const struct block_request *in,
                              struct block_assignment *out);
void tracker_on_executor_lost(struct tracker *t, uint32_t executor);
/* An executor whose last answer was empty, for which there is something now; its `want` of then.
 * False: none. Called after each event until false. */
bool tracker_next_assignment(struct tracker *t, uint32_t *out_executor,
                             struct block_assignment *out);
/* How many blocks were given out from the driver so far, repeats included. */
uint64_t tracker_blocks_sent_by_driver(const struct tracker *t);

#endif

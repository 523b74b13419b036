/* Where the blocks of persisted RDDs are, as executors report them with the outcomes of tasks: a
 * hint for the scheduler. Tables live until the RDD is unpersisted. Driver thread only. */
#ifndef GLINT_DRIVER_CACHED_BLOCKS_H
#define GLINT_DRIVER_CACHED_BLOCKS_H

#include "engine/plan/context.h"
#include "engine/transfer/message.h"

/* How many blocks are cached, and their bytes. */
struct cached_sums {
    uint32_t blocks;
    uint64_t memory_bytes, disk_bytes;
};

/* The blocks of one RDD. */
struct cached_rdd {
    struct cached_rdd *next; /* a later one */
    uint32_t rdd, partitions;
    struct cached_sums sums; /* of `blocks` */
    struct cached_block_location {
        uint32_t executor; /* the last one that reported it; UINT32_MAX: none has it */
        uint64_t memory_bytes, disk_bytes;
    } blocks[];
};

/* Adds a table of the RDD to *list unless it has one. False when out of memory. */
bool cached_rdds_add(struct cached_rdd **list, uint32_t rdd, uint32_t partitions);
/* False: it has no table. */
bool cached_rdds_remove(struct cached_rdd **list, uint32_t rdd);
void cached_rdds_destroy(struct cached_rdd *list);
/* A change that an executor has reported. Ignored if the RDD has no table. */
void cached_rdds_update(struct cached_rdd *list, uint32_t executor,
                        const struct cached_block_state *block);
void cached_rdds_remove_executor(struct cached_rdd *list, uint32_t executor);
/* The executor that has the block of the persisted RDD nearest to `rdd` from which a task computes
 * this partition of it; UINT32_MAX: none. */
uint32_t cached_rdds_preferred_executor(const struct cached_rdd *list, const struct glint_rdd *rdd,
                                        uint32_t partition);

/* Over all of them. */
struct cached_sums cached_rdds_sum(const struct cached_rdd *list, uint32_t *out_rdds);

#endif

/* Where the blocks of a job are: its map outputs, and its cached RDDs. Driver thread only. */
#ifndef GLINT_DRIVER_BLOCK_LOCATIONS_H
#define GLINT_DRIVER_BLOCK_LOCATIONS_H

#include "engine/plan/context.h"
#include "engine/transfer/message.h"

/* The map output tracker: the locations of all map outputs of a job, one table per shuffle. Tables
 * live until the shuffle's RDD is freed or the job ends, so later actions reuse the outputs.
 *
 * During an action the scheduler decides which map tasks run again. The tables are its initial
 * state, the contents of MAP_OUTPUTS messages, and the record of which tasks' counters have been
 * added. */

/* The map outputs of one shuffle. */
struct map_outputs {
    struct map_outputs *next;
    uint32_t shuffle;                      /* id of the RDD that reads them */
    uint32_t maps, partitions;             /* map tasks; reduce partitions */
    struct map_output_location *locations; /* [maps]; of a lost one: where it was */
    bool *available, *counted; /* [maps]; counted: the job metrics contain its task's counters */
    bool *lost;                /* [maps]: it was available, and no retry is recorded yet */
    uint32_t lost_count;
    uint8_t *sizes; /* [maps][partitions], size_code_encode; NULL: too many, or no memory */
};

/* Returns the table of a shuffle, created at the first call and owned by *list; NULL when out of
 * memory. `maps` and `partitions` must be the same in each call. */
struct map_outputs *map_outputs_get_or_create(struct map_outputs **list, uint32_t shuffle,
                                              uint32_t maps, uint32_t partitions);
void map_outputs_destroy(struct map_outputs *list);
/* Frees the table of a shuffle. Returns false if there is none; else *out_maps: its map tasks. */
bool map_outputs_remove_shuffle(struct map_outputs **list, uint32_t shuffle, uint32_t *out_maps);

/* Map task `map` is done. `sizes` is the body of its DONE message: the coded size of each
 * partition. A body of another length is accepted and counts as unknown sizes, which are only a
 * hint. */
void map_outputs_add(struct map_outputs *o, uint32_t map, struct map_output_location location,
                     struct glint_slice sizes);
/* Marks the output lost. Ignored unless it is available at this location: a newer attempt may have
 * replaced it. */
void map_outputs_remove(struct map_outputs *o, uint32_t map, struct map_output_location location);
/* Marks all outputs on a lost executor as lost, in all tables. */
void map_outputs_remove_executor(struct map_outputs *list, uint32_t executor);
/* Clears `lost`: its retry has been recorded, or it is available again. */
void map_outputs_clear_lost(struct map_outputs *o, uint32_t map);
bool map_outputs_is_complete(const struct map_outputs *o);
/* Returns the executor that has clearly more bytes of a reduce partition than the others;
 * UINT32_MAX: none, or sizes are unknown. `executors`: their number; `scratch`: that many zeros,
 * which are zeros again afterwards. */
uint32_t map_outputs_preferred_executor(const struct map_outputs *o, uint32_t partition,
                                        uint32_t executors, uint64_t *scratch);

/* Where the blocks of persisted RDDs are, as executors report them with the outcomes of tasks: a
 * hint for the scheduler. Tables live until the RDD is unpersisted. */

/* How many blocks are cached, and their bytes. */
struct cached_sums {
    uint32_t blocks;
    uint64_t memory_bytes, disk_bytes;
};

/* The blocks of one RDD. */
struct cached_rdd {
    uint32_t rdd, partitions;
    struct cached_sums sums; /* of `blocks` */
    struct cached_block_location {
        uint32_t executor; /* the last one that reported it; UINT32_MAX: none has it */
        uint64_t memory_bytes, disk_bytes;
    } blocks[];
};

/* The tables, by ascending number of their RDDs; all zero at first. */
struct cached_rdds {
    struct cached_rdd **list;
    uint64_t capacity;
    uint32_t count;
    struct cached_sums sums; /* of all */
};

/* Adds a table of the RDD unless it has one. False when out of memory. */
bool cached_rdds_add(struct cached_rdds *c, uint32_t rdd, uint32_t partitions);
/* False: it has no table. */
bool cached_rdds_remove(struct cached_rdds *c, uint32_t rdd);
void cached_rdds_fini(struct cached_rdds *c);
/* A change that an executor has reported. Ignored if the RDD has no table. */
void cached_rdds_update(struct cached_rdds *c, uint32_t executor,
                        const struct cached_block_state *block);
void cached_rdds_remove_executor(struct cached_rdds *c, uint32_t executor);
/* The executor that has the block of the persisted RDD nearest to `rdd` from which a task computes
 * this partition of it; UINT32_MAX: none. */
uint32_t cached_rdds_preferred_executor(const struct cached_rdds *c, const struct glint_rdd *rdd,
                                        uint32_t partition);

#endif

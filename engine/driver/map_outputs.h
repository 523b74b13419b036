/* Where map outputs are, for as long as the job lives: one table per shuffle, over all its actions.
 *
 * During an action the scheduler decides what is to be made again; this is what it starts from,
 * what executors are told (MAP_OUTPUTS), and what says which tasks have been counted already.
 * Driver thread only. */
#ifndef GLINT_DRIVER_MAP_OUTPUTS_H
#define GLINT_DRIVER_MAP_OUTPUTS_H

#include "engine/net/message.h"

struct map_outputs {
    struct map_outputs *next;
    uint32_t shuffle; /* the wide RDD's id */
    uint32_t maps, partitions;
    struct map_output_location *locations; /* [maps] */
    bool *available, *counted; /* [maps]; counted: once there, its counters are in the tally */
    bool *lost;                /* [maps]: it was there, and was not made again since */
    uint32_t lost_count;
    uint8_t *sizes; /* [maps][partitions], size_code_encode; NULL: not kept */
};

/* The table of a shuffle, made if it is not there. NULL without memory. */
struct map_outputs *map_outputs_get_or_create(struct map_outputs **list, uint32_t shuffle,
                                              uint32_t maps, uint32_t partitions);
void map_outputs_destroy(struct map_outputs *list);

/* Map task `map` has ended well. `sizes`: the body of its DONE, taken for what it is worth. */
void map_outputs_add(struct map_outputs *o, uint32_t map, struct map_output_location location,
                     struct glint_slice sizes);
/* Ignored unless the output is just there. */
void map_outputs_remove(struct map_outputs *o, uint32_t map, struct map_output_location location);
void map_outputs_remove_executor(struct map_outputs *list, uint32_t executor);
/* It is being made again, or is there again: it is lost no more. */
void map_outputs_clear_lost(struct map_outputs *o, uint32_t map);
bool map_outputs_is_complete(const struct map_outputs *o);
/* The executor that has clearly more of a reduce partition than the others; UINT32_MAX: none.
 * `scratch`: [executors] zeros before and after. */
uint32_t map_outputs_preferred_executor(const struct map_outputs *o, uint32_t partition,
                                        uint32_t executors, uint64_t *scratch);

#endif

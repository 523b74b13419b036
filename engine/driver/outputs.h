/* Where map outputs are, for as long as the job lives: one table per shuffle, over all its actions.
 *
 * During an action the scheduler decides what is to be made again; this is what it starts from,
 * what executors are told (OUTPUTS), and what says which tasks have been counted already. Driver
 * thread only. */
#ifndef GLINT_DRIVER_OUTPUTS_H
#define GLINT_DRIVER_OUTPUTS_H

#include "engine/net/message.h"

struct outputs {
    struct outputs *next;
    uint32_t shuffle; /* the wide RDD's id */
    uint32_t maps, partitions;
    struct output_place *places; /* [maps] */
    bool *there, *counted;       /* [maps]; counted: once there, its counters are in the tally */
    bool *lost;                  /* [maps]: it was there, and was not made again since */
    uint32_t lost_count;
    uint8_t *sizes; /* [maps][partitions], size_code; NULL: not kept */
};

/* The table of a shuffle, made if it is not there. NULL without memory. */
struct outputs *outputs_of(struct outputs **list, uint32_t shuffle, uint32_t maps,
                           uint32_t partitions);
void outputs_destroy(struct outputs *list);

/* Map task `map` has ended well. `sizes`: the body of its DONE, taken for what it is worth. */
void outputs_set(struct outputs *o, uint32_t map, struct output_place place,
                 struct glint_slice sizes);
/* Ignored unless the output is just there. */
void outputs_lost(struct outputs *o, uint32_t map, struct output_place place);
void outputs_lost_executor(struct outputs *list, uint32_t executor);
/* It is being made again, or is there again: it is lost no more. */
void outputs_found(struct outputs *o, uint32_t map);
bool outputs_complete(const struct outputs *o);
/* The executor that has clearly more of a reduce partition than the others; UINT32_MAX: none.
 * `scratch`: [executors] zeros before and after. */
uint32_t outputs_preferred(const struct outputs *o, uint32_t partition, uint32_t executors,
                           uint64_t *scratch);

#endif

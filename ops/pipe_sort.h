/* Lines sorted by key, for a combiner: as many as fit into a share of the slot's memory. */
#ifndef GLINT_OPS_PIPE_SORT_H
#define GLINT_OPS_PIPE_SORT_H

#include "engine/records/sort.h"
#include "ops/ops.h"

struct pipe_sort_line {
    uint64_t at;
    uint32_t key_size, size; /* of the line with its LF */
};

/* Zeros are empty. Task's thread. */
struct pipe_sort {
    struct buffer bytes;
    struct pipe_sort_line *lines;
    struct sort_entry *entries; /* once sorted */
    uint64_t count, capacity;
};
/* Adds the last `size` bytes of `bytes`, a line whose first `key_size` bytes are its key. Returns
 * false when out of memory. */
bool pipe_sort_add(struct pipe_sort *s, uint64_t key_size, uint64_t size);
/* Whether a share of the memory is used. */
bool pipe_sort_is_full(const struct pipe_sort *s, uint64_t memory_bytes);
/* Stable. Returns false when out of memory. */
bool pipe_sort_run(struct pipe_sort *s);
/* Returns line i of the sorted ones. */
struct glint_slice pipe_sort_at(const struct pipe_sort *s, uint64_t i);
void pipe_sort_clear(struct pipe_sort *s);
void pipe_sort_fini(struct pipe_sort *s);

#endif

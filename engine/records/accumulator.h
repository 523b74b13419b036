/* Memory for keys and growing accumulators (struct glint_acc) until the next spill.
 *
 * A pool allocates bytes from an arena without gaps; the latest allocation can grow in place. An
 * accumulator over ACC_LARGE_BYTES has its own heap block, so that growing or freeing it returns
 * memory to the system. The pool counts all its bytes, for the budget of the shuffle writer. */
#ifndef GLINT_RECORDS_ACCUMULATOR_H
#define GLINT_RECORDS_ACCUMULATOR_H

#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/limits.h"

#define ACC_LARGE_BYTES (64 * KIB)

/* Zeros are an empty pool. One thread. */
struct acc_pool {
    struct arena arena;
    uint8_t *at, *limit;  /* free bytes of the current chunk */
    uint64_t chunk_bytes; /* allocated from the arena */
    uint64_t large_bytes; /* in heap blocks */
    bool aligned;         /* to 8 bytes: GLINT_STRUCT */
    bool numbers;         /* accumulators are i64 or f64 (some have no pool): no bytes */
};
/* Returns `size` bytes, unaligned unless p->aligned, with READ_SLACK readable bytes after them, or
 * NULL when out of memory. Valid until acc_pool_reset. */
uint8_t *acc_pool_alloc(struct acc_pool *p, uint64_t size);
/* The bytes allocated, of arena and heap. */
static inline uint64_t acc_pool_bytes(const struct acc_pool *p)
{
    return p->chunk_bytes + p->large_bytes;
}
/* Frees all allocations at once; keeps up to `keep` bytes for the next ones. Large accumulators
 * must have been freed (acc_free_large). */
void acc_pool_reset(struct acc_pool *p, uint64_t keep);
void acc_pool_fini(struct acc_pool *p);

/* Returns an empty accumulator that will allocate from `pool`. */
static inline struct glint_acc acc_init(struct acc_pool *pool)
{
    return (struct glint_acc){.value.bytes = {NULL, 0}, .capacity = 0, .memory = pool};
}
/* Moves the contents of `bytes`, a buffer with a capacity over ACC_LARGE_BYTES, to the accumulator
 * without a copy. The buffer becomes empty and gets the accumulator's old large block, if it had
 * one. */
void acc_swap_buffer(struct glint_acc *acc, struct buffer *bytes);
/* Frees the heap block of a large accumulator. The value is empty afterwards, also of a small
 * one. */
void acc_free_large(struct glint_acc *acc);

#endif

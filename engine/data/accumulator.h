/* Memory that lives until the next spill: keys, and accumulators that grow (struct glint_acc).
 *
 * A pool hands out bytes from an arena without gaps; what was handed out last can grow in place.
 * Accumulators over ACC_LARGE_BYTES have a heap block of their own, so that growing or dropping one
 * gives memory back. Everything is counted. */
#ifndef GLINT_DATA_ACCUMULATOR_H
#define GLINT_DATA_ACCUMULATOR_H

#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/limits.h"

#define ACC_LARGE_BYTES (64 * KIB)

/* Zeros are an empty pool. One thread. */
struct acc_pool {
    struct arena arena;
    uint8_t *at, *limit;  /* of the chunk at hand */
    uint64_t chunk_bytes; /* taken from the arena */
    uint64_t large_bytes; /* in heap blocks */
};
/* Unaligned, READ_SLACK readable beyond it. NULL without memory. */
uint8_t *acc_pool_alloc(struct acc_pool *p, uint64_t size);
static inline uint64_t acc_pool_bytes(const struct acc_pool *p)
{
    return p->chunk_bytes + p->large_bytes;
}
/* Forgets everything and keeps up to `keep` bytes of memory. Large accumulators must be gone. */
void acc_pool_reset(struct acc_pool *p, uint64_t keep);
void acc_pool_fini(struct acc_pool *p);

/* An accumulator without bytes, whose bytes will come from `pool`. */
static inline struct glint_acc acc_init(struct acc_pool *pool)
{
    return (struct glint_acc){.value.bytes = {NULL, 0}, .capacity = 0, .memory = pool};
}
/* The value becomes what is in a buffer of more than ACC_LARGE_BYTES, whose block it takes over.
 * The buffer, empty now, gets the large block that the accumulator had, or none; a small one stays
 * with the pool. */
void acc_swap_buffer(struct glint_acc *acc, struct buffer *bytes);
/* Gives a large accumulator's block back; the value is empty afterwards. */
void acc_free_large(struct glint_acc *acc);

#endif

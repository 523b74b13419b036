/* The ring of a bloom_adder, shared by the kernels. A group of rows is hashed at once; then its
 * bits are prefetched row by row, alternating with setting the bits of a group hashed earlier:
 * doing one after the other fills the core's miss buffers and takes 50 % longer on large filters.
 */
#ifndef GLINT_JOBS_BLOOM_KERNEL_H
#define GLINT_JOBS_BLOOM_KERNEL_H

#include "jobs/bloom/internal.h"

/* Groups between prefetching and setting: hashing one group takes less time than a cache miss. */
enum { ADDER_DELAY = 2 };

static_assert(ADDER_DELAY < (int)BLOOM_RING,
              "a group is set before its slot in the ring is reused");

#define BLOOM_INLINE static inline __attribute__((always_inline))

static inline struct bloom_hashed *adder_next_group(struct bloom_adder *adder)
{
    return &adder->ring[adder->hashed % BLOOM_RING];
}

BLOOM_INLINE uint64_t group_index_at(const struct bloom_hashed *group, uint32_t row, uint32_t hash,
                                     bool wide)
{
    return wide ? group->index.wide[hash][row] : group->index.narrow[hash][row];
}

BLOOM_INLINE void group_prefetch_row(const struct bloom_hashed *group, uint32_t row, uint32_t k,
                                     bool wide)
{
    const uint8_t *base = group->base[row];
    for (uint32_t i = 0; i < k; i++)
        __builtin_prefetch(base + group_index_at(group, row, i, wide) / 8, 1);
}

BLOOM_INLINE void group_set_row_bits(const struct bloom_hashed *group, uint32_t row, uint32_t k,
                                     bool wide)
{
    uint64_t *words = (uint64_t *)(void *)group->base[row];
    for (uint32_t i = 0; i < k; i++) {
        uint64_t index = group_index_at(group, row, i, wide);
        words[index / 64] |= 1ull << index % 64;
    }
}

/* The group at adder_next_group has been hashed: adds it to the ring. */
BLOOM_INLINE void adder_push_group(struct bloom_adder *adder, uint32_t k, bool wide)
{
    const struct bloom_hashed *young = adder_next_group(adder);
    adder->hashed++;
    assert(adder->hashed - adder->done <= ADDER_DELAY + 1);
    if (adder->set->table->small) {
        for (uint32_t row = 0; row < young->rows; row++) group_set_row_bits(young, row, k, wide);
        adder->done = adder->hashed;
        return;
    }
    bool due = adder->hashed - adder->done > ADDER_DELAY;
    const struct bloom_hashed *old = &adder->ring[adder->done % BLOOM_RING];
    uint32_t old_rows = due ? old->rows : 0;
    for (uint32_t row = 0; row < BLOOM_GROUP; row++) {
        if (row < young->rows) group_prefetch_row(young, row, k, wide);
        if (row < old_rows) group_set_row_bits(old, row, k, wide);
    }
    adder->done += due;
}

#endif

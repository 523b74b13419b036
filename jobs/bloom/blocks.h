/* The hot loops of the block layouts, for any instruction set: blocks.c, blocks_avx2.c and
 * blocks_avx512.c define the primitives below and include this file. One id costs one cache miss,
 * so many misses must be in flight: hashing and prefetching of one group of rows alternates row by
 * row with the use of a group hashed earlier.
 *
 *   BLOCKS_FN      attributes of every function: inline, and the instruction set
 *   BLOCKS_KERNEL  the same for functions that are called through the table
 *   blocks_hash    computes the blocks of rows first .. first + count - 1 and the lower halves of
 *                  their hashes
 *   blocks_put     sets the k bits of a hash in its block
 *   blocks_test    returns whether all of them are set */

enum { BLOCKS_DELAY = 2 }; /* groups; hashing one takes less time than a cache miss */
static_assert(BLOCKS_DELAY < (int)BLOOM_RING, "a group is used before its slot is reused");

BLOCKS_FN uint32_t blocks_rows_of_group(const struct bloom_rows *rows, uint32_t first)
{
    uint32_t left = rows->rows - first;
    return left < BLOOM_GROUP ? left : BLOOM_GROUP;
}

/* ---- add ---- */

BLOCKS_FN void blocks_put_group(enum bloom_layout layout, const struct bloom_hashed *group,
                                uint32_t k)
{
    for (uint32_t r = 0; r < group->rows; r++)
        blocks_put(layout, group->base[r], group->index.narrow[0][r], k);
}

/* Prefetches the younger group and sets the bits of the older one. */
BLOCKS_FN void blocks_prefetch_and_set(enum bloom_layout layout, const struct bloom_hashed *young,
                                       const struct bloom_hashed *old, uint32_t k)
{
    if (young->rows == BLOOM_GROUP && old->rows == BLOOM_GROUP) {
        for (uint32_t r = 0; r < BLOOM_GROUP; r++) {
            __builtin_prefetch(young->base[r], 1);
            blocks_put(layout, old->base[r], old->index.narrow[0][r], k);
        }
        return;
    }
    for (uint32_t r = 0; r < young->rows; r++) __builtin_prefetch(young->base[r], 1);
    blocks_put_group(layout, old, k);
}

BLOCKS_FN void blocks_add_with_layout(enum bloom_layout layout, struct bloom_adder *adder,
                                      const struct bloom_rows *rows)
{
    static const struct bloom_hashed nothing = {.rows = 0};
    const struct bloom_set *set = adder->set;
    for (uint32_t first = 0; first < rows->rows; first += BLOOM_GROUP) {
        struct bloom_hashed *young = &adder->ring[adder->hashed % BLOOM_RING];
        young->rows = blocks_rows_of_group(rows, first);
        blocks_hash(set, rows, first, young->rows, young->base, young->index.narrow[0]);
        adder->hashed++;
        if (set->table->small) {
            blocks_put_group(layout, young, set->k);
            adder->done = adder->hashed;
            continue;
        }
        bool due = adder->hashed - adder->done > BLOCKS_DELAY;
        assert(adder->hashed - adder->done <= BLOCKS_DELAY + 1);
        blocks_prefetch_and_set(layout, young,
                                due ? &adder->ring[adder->done % BLOOM_RING] : &nothing, set->k);
        adder->done += due;
    }
}

BLOCKS_KERNEL void blocks_add(struct bloom_adder *adder, const struct bloom_rows *rows)
{
    if (adder->set->layout == BLOOM_SPLIT_BLOCK) {
        blocks_add_with_layout(BLOOM_SPLIT_BLOCK, adder, rows);
    } else {
        assert(adder->set->layout == BLOOM_BLOCK512);
        blocks_add_with_layout(BLOOM_BLOCK512, adder, rows);
    }
}

/* ---- contains ---- */

struct blocks_query {
    uint8_t *block[BLOOM_GROUP];
    uint32_t x[BLOOM_GROUP];
};

BLOCKS_FN void blocks_test_query(enum bloom_layout layout, const struct blocks_query *query,
                                 uint32_t count, uint32_t k, uint8_t *out_hit)
{
    for (uint32_t r = 0; r < count; r++)
        out_hit[r] = blocks_test(layout, query->block[r], query->x[r], k);
}

BLOCKS_FN void blocks_contains_with_layout(enum bloom_layout layout, const struct bloom_set *set,
                                           const struct bloom_rows *rows, uint8_t *out_hit)
{
    struct blocks_query ring[BLOOM_RING];
    uint32_t groups = (rows->rows + BLOOM_GROUP - 1) / BLOOM_GROUP;
    uint32_t delay = set->table->small ? 0 : BLOCKS_DELAY;
    for (uint32_t t = 0; t < groups + delay; t++) {
        struct blocks_query *young = &ring[t % BLOOM_RING];
        if (t < groups) {
            uint32_t first = t * BLOOM_GROUP, count = blocks_rows_of_group(rows, first);
            blocks_hash(set, rows, first, count, young->block, young->x);
            for (uint32_t r = 0; delay > 0 && r < count; r++) __builtin_prefetch(young->block[r]);
        }
        if (t < delay) continue;
        uint32_t first = (t - delay) * BLOOM_GROUP;
        blocks_test_query(layout, &ring[(t - delay) % BLOOM_RING],
                          blocks_rows_of_group(rows, first), set->k, out_hit + first);
    }
}

BLOCKS_KERNEL void blocks_contains_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                                        uint8_t *out_hit)
{
    if (set->layout == BLOOM_SPLIT_BLOCK) {
        blocks_contains_with_layout(BLOOM_SPLIT_BLOCK, set, rows, out_hit);
    } else {
        assert(set->layout == BLOOM_BLOCK512);
        blocks_contains_with_layout(BLOOM_BLOCK512, set, rows, out_hit);
    }
}

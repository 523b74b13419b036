/* Block layouts in plain C: one id at a time, and the hot loops for machines without SIMD. The
 * vector versions are tested against these. */
#include "jobs/bloom/block.h"

#define BLOCKS_FN     static inline __attribute__((always_inline))
#define BLOCKS_KERNEL static

static uint64_t block_count_of_params(const struct bloom_params *params)
{
    assert(bloom_has_blocks(params->layout) && params->m % bloom_block_bits(params->layout) == 0);
    return params->m / bloom_block_bits(params->layout);
}

void bloom_indexes_in_block(const struct bloom_params *params, const void *id, uint64_t size,
                            uint64_t *out_indexes)
{
    uint64_t hash = block_hash(params->scheme, id, size);
    uint64_t first = block_offset(params->layout, hash, block_count_of_params(params)) * 8;
    uint32_t x = (uint32_t)hash;
    bool split = params->layout == BLOOM_SPLIT_BLOCK;
    assert(params->k <= BLOOM_K_MAX && (!split || params->k == BLOOM_K_SPLIT));
    for (uint32_t i = 0; i < params->k; i++) {
        out_indexes[i] = first + (split ? 32 * i + (x * block_salts[i] >> 27) : x >> 23);
        if (!split) x *= BLOCK_GOLDEN;
    }
}

void bloom_block_add(struct bloom_filter *filter, const void *id, uint64_t size)
{
    const struct bloom_params *params = &filter->params;
    uint64_t hash = block_hash(params->scheme, id, size);
    uint8_t *block =
        filter->bits + block_offset(params->layout, hash, block_count_of_params(params));
    if (params->layout == BLOOM_SPLIT_BLOCK)
        split_block_put(block, (uint32_t)hash);
    else
        block512_put(block, (uint32_t)hash, params->k);
}

bool bloom_block_contains(const struct bloom_filter *filter, const void *id, uint64_t size)
{
    const struct bloom_params *params = &filter->params;
    uint64_t hash = block_hash(params->scheme, id, size);
    const uint8_t *block =
        filter->bits + block_offset(params->layout, hash, block_count_of_params(params));
    if (params->layout == BLOOM_SPLIT_BLOCK) return split_block_test(block, (uint32_t)hash);
    return block512_test(block, (uint32_t)hash, params->k);
}

void bloom_block_add_group(const struct bloom_set *set, const struct bloom_hashed *group)
{
    assert(group->rows <= BLOOM_GROUP);
    for (uint32_t r = 0; r < group->rows; r++) {
        if (set->layout == BLOOM_SPLIT_BLOCK)
            split_block_put(group->base[r], group->index.narrow[0][r]);
        else
            block512_put(group->base[r], group->index.narrow[0][r], set->k);
    }
}

/* ---- the primitives of blocks.h */

BLOCKS_FN void blocks_hash(const struct bloom_set *set, const struct bloom_rows *rows,
                           uint32_t first, uint32_t count, uint8_t **out_block, uint32_t *out_x)
{
    blocks_hash_each(set, rows, first, count, out_block, out_x);
}
BLOCKS_FN void blocks_put(enum bloom_layout layout, uint8_t *block, uint32_t x, uint32_t k)
{
    if (layout == BLOOM_SPLIT_BLOCK)
        split_block_put(block, x);
    else
        block512_put(block, x, k);
}
BLOCKS_FN bool blocks_test(enum bloom_layout layout, const uint8_t *block, uint32_t x, uint32_t k)
{
    return layout == BLOOM_SPLIT_BLOCK ? split_block_test(block, x) : block512_test(block, x, k);
}

#include "jobs/bloom/blocks.h"

const struct bloom_kernel bloom_blocks_scalar = {.add = blocks_add,
                                                 .contains = blocks_contains_rows};

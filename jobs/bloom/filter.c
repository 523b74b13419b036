/* One filter: its memory, adding and looking up ids, union, and estimates from its bits. */
#include "jobs/bloom/block.h"
#include "jobs/bloom/counting.h"
#include "jobs/bloom/exact.h"
#include "jobs/bloom/fuse.h"

#include <string.h>

enum bloom_result bloom_init_bits(struct bloom_filter *filter, const struct bloom_params *params)
{
    *filter = (struct bloom_filter){0};
    enum bloom_result result = bloom_params_check(params);
    if (result != BLOOM_OK) return result;
    uint64_t owned = bloom_round_up(bloom_bytes(params->m), BLOOM_ALIGNMENT) + BLOOM_ALIGNMENT;
    uint8_t *bits = bloom_area_create(owned);
    if (bits == NULL) return BLOOM_ERR_MEMORY;
    *filter = (struct bloom_filter){.params = *params, .bits = bits, .owned = owned};
    return BLOOM_OK;
}

bool bloom_bits_are_valid(const struct bloom_params *params, const uint8_t *bits)
{
    if (params->layout == BLOOM_EXACT) return exact_is_valid(params, bits);
    return !bloom_is_fuse(params->layout) || fuse_is_valid(params, bits);
}

enum bloom_result bloom_init(struct bloom_filter *filter, const struct bloom_params *params)
{
    *filter = (struct bloom_filter){0};
    return bloom_is_static(params->layout) ? BLOOM_ERR_STATIC : bloom_init_bits(filter, params);
}

void bloom_fini(struct bloom_filter *filter)
{
    if (filter == NULL) return;
    if (filter->owned > 0) bloom_area_destroy(filter->bits, filter->owned);
    *filter = (struct bloom_filter){0};
}

void bloom_add(struct bloom_filter *filter, const void *id, uint64_t size)
{
    assert(!bloom_is_static(filter->params.layout));
    if (bloom_has_blocks(filter->params.layout)) {
        bloom_block_add(filter, id, size);
        return;
    }
    uint64_t indexes[BLOOM_K_MAX];
    bloom_compute_indexes(&filter->params, id, size, indexes);
    const bool counting = filter->params.layout == BLOOM_COUNTING;
    for (uint32_t i = 0; i < filter->params.k; i++) {
        assert(indexes[i] < filter->params.m);
        if (counting)
            counting_increment(filter->bits, indexes[i]);
        else
            filter->bits[indexes[i] / 8] |= (uint8_t)(1u << indexes[i] % 8);
    }
}

bool bloom_contains(const struct bloom_filter *filter, const void *id, uint64_t size)
{
    const enum bloom_layout layout = filter->params.layout;
    if (bloom_has_blocks(layout)) return bloom_block_contains(filter, id, size);
    if (bloom_is_fuse(layout))
        return fuse_contains_hash(layout, filter->bits,
                                  block_hash(filter->params.scheme, id, size));
    if (layout == BLOOM_EXACT)
        return exact_contains_hash(filter->bits, block_hash(filter->params.scheme, id, size));
    uint64_t indexes[BLOOM_K_MAX];
    bloom_compute_indexes(&filter->params, id, size, indexes);
    for (uint32_t i = 0; i < filter->params.k; i++) {
        assert(indexes[i] < filter->params.m);
        if (layout == BLOOM_COUNTING ? counting_get(filter->bits, indexes[i]) == 0
                                     : (filter->bits[indexes[i] / 8] >> indexes[i] % 8 & 1) == 0)
            return false;
    }
    return true;
}

enum bloom_result bloom_remove(struct bloom_filter *filter, const void *id, uint64_t size)
{
    uint64_t indexes[BLOOM_K_MAX];
    if (filter->params.layout != BLOOM_COUNTING) return BLOOM_ERR_REMOVE;
    bloom_compute_indexes(&filter->params, id, size, indexes);
    return counting_remove(filter->bits, indexes, filter->params.k) ? BLOOM_OK : BLOOM_ERR_ABSENT;
}

enum bloom_result bloom_union(struct bloom_filter *into, const struct bloom_filter *from)
{
    if (!bloom_params_equal(&into->params, &from->params)) return BLOOM_ERR_MISMATCH;
    if (bloom_is_static(into->params.layout)) return BLOOM_ERR_STATIC;
    uint64_t bytes = bloom_bytes(into->params.m);
    uint8_t *to = into->bits;
    const uint8_t *with = from->bits;
    if (into->params.layout == BLOOM_COUNTING)
        counting_unite(to, with, bytes);
    else
        for (uint64_t i = 0; i < bytes; i++) to[i] |= with[i];
    return BLOOM_OK;
}

enum bloom_result bloom_union_bits_set(const struct bloom_filter *a, const struct bloom_filter *b,
                                       uint64_t *out_bits)
{
    enum { PIECE = 4096 };
    uint8_t both[PIECE];
    *out_bits = 0;
    if (!bloom_params_equal(&a->params, &b->params)) return BLOOM_ERR_MISMATCH;
    if (bloom_is_static(a->params.layout)) return BLOOM_ERR_STATIC;
    uint64_t bytes = bloom_bytes(a->params.m);
    if (a->params.layout == BLOOM_COUNTING)
        *out_bits = counting_count_nonzero(a->bits, b->bits, bytes);
    if (a->params.layout == BLOOM_COUNTING) return BLOOM_OK;
    for (uint64_t at = 0; at < bytes; at += PIECE) {
        uint64_t size = bytes - at < PIECE ? bytes - at : PIECE;
        for (uint64_t i = 0; i < size; i++) both[i] = a->bits[at + i] | b->bits[at + i];
        *out_bits += bloom_count_bits(both, size);
    }
    assert(*out_bits <= a->params.m);
    return BLOOM_OK;
}

/* With the instruction, if the target has it: the function that replaces it takes five times as
 * long. */
static inline __attribute__((always_inline)) uint64_t count_bits(const uint8_t *bytes,
                                                                 uint64_t size)
{
    uint64_t total = 0, at = 0;
    for (; at + 8 <= size; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        total += (uint64_t)__builtin_popcountll(word);
    }
    for (; at < size; at++) total += (uint64_t)__builtin_popcount(bytes[at]);
    return total;
}

#if defined(__x86_64__)
static __attribute__((target("popcnt"))) uint64_t count_bits_popcnt(const uint8_t *bytes,
                                                                    uint64_t size)
{
    return count_bits(bytes, size);
}
#endif

uint64_t bloom_count_bits(const uint8_t *bytes, uint64_t size)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("popcnt")) return count_bits_popcnt(bytes, size);
#endif
    return count_bits(bytes, size);
}

uint64_t bloom_positions(const struct bloom_params *params)
{
    return params->layout == BLOOM_COUNTING ? params->m / COUNTING_BITS : params->m;
}

uint64_t bloom_bits_set(const struct bloom_filter *filter)
{
    const uint64_t bytes = bloom_bytes(filter->params.m);
    const uint64_t total = filter->params.layout == BLOOM_COUNTING
                               ? counting_count_nonzero(filter->bits, NULL, bytes)
                               : bloom_count_bits(filter->bits, bytes);
    assert(total <= filter->params.m);
    return total;
}

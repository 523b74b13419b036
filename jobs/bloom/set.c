/* Sets: many filters of one scheme and k in one area, so that a batch of rows with different keys
 * needs one base address, one range of huge pages, and per filter a few columns that fit in vector
 * registers. */
#include "jobs/bloom/counting.h"

#include <stdlib.h>
#include <string.h>

/* Below this, bits are in the L2 cache and prefetching costs more than it saves. */
enum { SMALL_SET = 2 << 20 };

static uint32_t log2_rounded_up(uint64_t m)
{
    return m <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(m - 1);
}

/* The columns' constants for a division by m >= 2 (Warren, Hacker's Delight, chapter 10): plain
 * divides 32-bit numbers and needs a magic number of 33 bits, whose top bit is implied; the others
 * divide numbers up to 2^31, for which 32 bits are enough. */
static uint32_t magic_of_division(enum bloom_scheme scheme, uint64_t m)
{
    assert(m >= 2 && m <= INT32_MAX);
    uint32_t log = log2_rounded_up(m);
    uint64_t magic = scheme == BLOOM_PLAIN
                         ? ((((1ull << log) - m) << 32) / m) + 1
                         : (1ull << (31 + log)) / m + ((1ull << (31 + log)) % m != 0);
    assert(magic > 0 && magic <= UINT32_MAX);
    return (uint32_t)magic;
}

static bool scheme_has_simd_kernel(enum bloom_scheme scheme)
{
    return scheme == BLOOM_SPARK || scheme == BLOOM_HADOOP || scheme == BLOOM_PLAIN;
}

/* After the columns: memory for the set's seeds. */
static struct bloom_table *filter_table_create(uint32_t count, uint8_t **out_seeds)
{
    uint64_t head = bloom_round_up(sizeof(struct bloom_table), BLOOM_ALIGNMENT);
    uint64_t slots = bloom_round_up(count * sizeof(struct bloom_slot), BLOOM_ALIGNMENT);
    uint64_t column = bloom_round_up(count * sizeof(uint32_t), BLOOM_ALIGNMENT);
    uint64_t bytes = head + slots + 4 * column + BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES;
    static_assert(BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES % BLOOM_ALIGNMENT == 0, "a whole block");
    uint8_t *block = aligned_alloc(BLOOM_ALIGNMENT, bytes);
    if (block == NULL) return NULL;
    memset(block, 0, bytes);
    struct bloom_table *table = (struct bloom_table *)(void *)block;
    uint8_t *columns = block + head + slots;
    table->slot = (struct bloom_slot *)(void *)(block + head);
    table->m = (uint32_t *)(void *)columns;
    table->magic = (uint32_t *)(void *)(columns + column);
    table->shift = (uint32_t *)(void *)(columns + 2 * column);
    table->word = (uint32_t *)(void *)(columns + 3 * column);
    *out_seeds = columns + 4 * column;
    return table;
}

/* Fills the columns of block layouts. */
static void filter_table_fill_block_columns(struct bloom_set *set)
{
    struct bloom_table *table = set->table;
    for (uint32_t f = 0; f < set->count; f++) {
        struct bloom_slot *slot = &table->slot[f];
        slot->magic = slot->m / bloom_block_bits(set->layout);
        assert(slot->magic <= UINT32_MAX && slot->offset / BLOOM_BLOCK_UNIT <= UINT32_MAX);
        table->m[f] = (uint32_t)slot->magic;
        table->word[f] = (uint32_t)(slot->offset / BLOOM_BLOCK_UNIT);
    }
}

/* Assigns offsets to the filters and fills the columns; sets set->bytes to the size of the area. */
static void filter_table_fill(struct bloom_set *set, const struct bloom_params *params)
{
    struct bloom_table *table = set->table;
    table->lanes =
        scheme_has_simd_kernel(set->scheme) && set->layout == BLOOM_CLASSIC && !set->mixed;
    for (uint32_t f = 0; f < set->count; f++) {
        uint64_t m = params[f].m;
        table->slot[f] = (struct bloom_slot){.n = params[f].n,
                                             .m = m,
                                             .offset = set->bytes,
                                             .magic = bloom_mod_magic(m),
                                             .k = params[f].k};
        set->bytes += bloom_area_bytes(m);
        table->lanes = table->lanes && m >= 2;
    }
    table->small = set->bytes <= SMALL_SET;
    table->lanes = table->lanes && set->bytes / 4 <= INT32_MAX; /* gathers index words, signed */
    for (uint32_t f = 0; table->lanes && f < set->count; f++) {
        const struct bloom_slot *slot = &table->slot[f];
        table->m[f] = (uint32_t)slot->m;
        table->magic[f] = magic_of_division(set->scheme, slot->m);
        table->shift[f] = log2_rounded_up(slot->m) - 1;
        table->word[f] = (uint32_t)(slot->offset / 4);
    }
    if (bloom_has_blocks(set->layout)) filter_table_fill_block_columns(set);
}

bool bloom_level_available(enum bloom_level level)
{
    assert((unsigned)level < BLOOM_LEVELS);
#if BLOOM_LANES
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    if (level == BLOOM_AVX2) return avx2;
    if (level == BLOOM_AVX512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("popcnt");
#endif
    return level == BLOOM_SCALAR;
}

void bloom_force_level(struct bloom_set *set, enum bloom_level level)
{
    assert(bloom_level_available(level));
    bool blocks = bloom_has_blocks(set->layout);
    if (set->layout == BLOOM_EXACT || set->layout == BLOOM_COUNTING) {
        set->kernel = set->layout == BLOOM_EXACT ? &bloom_kernel_exact : &bloom_kernel_counting;
        return;
    }
    if (bloom_is_fuse(set->layout)) {
        set->kernel = &bloom_kernel_fuse;
#if BLOOM_LANES
        if (level == BLOOM_AVX512) set->kernel = &bloom_kernel_fuse_avx512;
#endif
        return;
    }
    set->kernel = blocks ? &bloom_blocks_scalar : &bloom_kernel_scalar;
#if BLOOM_LANES
    if (blocks && level == BLOOM_AVX2) set->kernel = &bloom_blocks_avx2;
    if (blocks && level == BLOOM_AVX512) set->kernel = &bloom_blocks_avx512;
    if (set->table->lanes && level == BLOOM_AVX2) set->kernel = &bloom_kernel_avx2;
    if (set->table->lanes && level == BLOOM_AVX512) set->kernel = &bloom_kernel_avx512;
#endif
}

enum bloom_result bloom_set_check(const struct bloom_params *params, uint32_t count)
{
    const struct bloom_params *first = params;
    if (count == 0 || count > BLOOM_SET_MAX) return BLOOM_ERR_COUNT;
    for (uint32_t f = 0; f < count; f++, params++) {
        enum bloom_result result = bloom_params_check(params);
        if (result != BLOOM_OK) return result;
        const bool same_k = params->k == first->k;
        if (params->scheme != first->scheme || params->layout != first->layout ||
            (!same_k && (!bloom_has_indexes(first->layout) || first->seeds != NULL)) ||
            params->hash_seed[0] != first->hash_seed[0] ||
            params->hash_seed[1] != first->hash_seed[1] || params->id_type != first->id_type ||
            !bloom_same_seeds(params->seeds, first->seeds, first->k))
            return BLOOM_ERR_MISMATCH;
    }
    return BLOOM_OK;
}

/* Initializes everything except the bits. */
static enum bloom_result set_init_without_bits(struct bloom_set *set,
                                               const struct bloom_params *params, uint32_t count)
{
    *set = (struct bloom_set){0};
    enum bloom_result result = bloom_set_check(params, count);
    if (result != BLOOM_OK) return result;
    uint8_t *seeds;
    set->table = filter_table_create(count, &seeds);
    if (set->table == NULL) return BLOOM_ERR_MEMORY;
    for (uint32_t f = 0; f < count; f++) {
        set->mixed = set->mixed || params[f].k != params[0].k;
        set->k = params[f].k > set->k ? params[f].k : set->k;
    }
    if (params[0].seeds != NULL) {
        memcpy(seeds, params[0].seeds, set->k * BLOOM_SEED_BYTES);
        set->seeds = seeds;
    }
    memcpy(set->hash_seed, params[0].hash_seed, sizeof set->hash_seed);
    set->id_type = params[0].id_type;
    set->scheme = params[0].scheme;
    set->layout = params[0].layout;
    set->wide = bloom_indexes_are_wide(&params[0]);
    set->count = count;
    filter_table_fill(set, params);
    enum bloom_level best = BLOOM_LEVELS - 1;
    while (!bloom_level_available(best)) best--;
    bloom_force_level(set, best);
    return BLOOM_OK;
}

enum bloom_result bloom_set_init(struct bloom_set *set, const struct bloom_params *params,
                                 uint32_t count)
{
    enum bloom_result result = set_init_without_bits(set, params, count);
    if (result != BLOOM_OK) return result;
    set->bits = bloom_area_create(set->bytes);
    if (set->bits != NULL) return BLOOM_OK;
    bloom_set_fini(set);
    return BLOOM_ERR_MEMORY;
}

enum bloom_result bloom_set_borrow(struct bloom_set *set, const struct bloom_params *params,
                                   uint32_t count, uint8_t *bits)
{
    enum bloom_result result = set_init_without_bits(set, params, count);
    if (result != BLOOM_OK) return result;
    set->bits = bits;
    set->borrowed = true;
    return BLOOM_OK;
}

enum bloom_result bloom_set_copy(struct bloom_set *set, const struct bloom_filter *filters,
                                 uint32_t count)
{
    *set = (struct bloom_set){0};
    if (count == 0 || count > BLOOM_SET_MAX) return BLOOM_ERR_COUNT;
    struct bloom_params *params = malloc(count * sizeof *params);
    if (params == NULL) return BLOOM_ERR_MEMORY;
    for (uint32_t f = 0; f < count; f++) params[f] = filters[f].params;
    enum bloom_result result = bloom_set_init(set, params, count);
    free(params);
    if (result != BLOOM_OK) return result;
    for (uint32_t f = 0; f < count; f++)
        memcpy(set->bits + set->table->slot[f].offset, filters[f].bits,
               bloom_bytes(filters[f].params.m));
    return BLOOM_OK;
}

void bloom_set_fini(struct bloom_set *set)
{
    if (set == NULL) return;
    if (!set->borrowed) bloom_area_destroy(set->bits, set->bytes);
    free(set->table);
    *set = (struct bloom_set){0};
}

struct bloom_filter bloom_set_filter(const struct bloom_set *set, uint32_t f)
{
    assert(f < set->count);
    const struct bloom_slot *slot = &set->table->slot[f];
    return (struct bloom_filter){.params = {.scheme = set->scheme,
                                            .n = slot->n,
                                            .m = slot->m,
                                            .k = slot->k,
                                            .layout = set->layout,
                                            .seeds = set->seeds,
                                            .hash_seed = {set->hash_seed[0], set->hash_seed[1]},
                                            .id_type = set->id_type},
                                 .bits = set->bits != NULL ? set->bits + slot->offset : NULL};
}

enum bloom_result bloom_set_union(struct bloom_set *into, const struct bloom_set *from)
{
    if (into->count != from->count) return BLOOM_ERR_MISMATCH;
    for (uint32_t f = 0; f < into->count; f++) {
        const struct bloom_filter a = bloom_set_filter(into, f), b = bloom_set_filter(from, f);
        if (!bloom_params_equal(&a.params, &b.params)) return BLOOM_ERR_MISMATCH;
    }
    assert(!into->read_only && into->bytes == from->bytes);
    if (into->layout == BLOOM_COUNTING)
        counting_unite(into->bits, from->bits, into->bytes);
    else
        for (uint64_t i = 0; i < into->bytes; i++) into->bits[i] |= from->bits[i];
    return BLOOM_OK;
}

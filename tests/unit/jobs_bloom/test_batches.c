/* Batches: every level gives the same bits, hits and indexes as the oracle and as one id at a time,
 * for all id lengths, values of m, numbers of filters, and batch sizes. */
#include "jobs/bloom/internal.h"
#include "oracle.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* m is rounded up to whole blocks, or words of the scheme. */
static void set_in(struct bloom_set *set, enum bloom_layout layout, enum bloom_scheme scheme,
                   uint32_t k, const uint64_t *m, uint32_t count)
{
    struct bloom_params *params = calloc(count, sizeof *params);
    const uint32_t unit = bloom_unit_bits(scheme, layout);
    cr_assert_not_null(params);
    for (uint32_t f = 0; f < count; f++)
        params[f] = (struct bloom_params){
            scheme, 10 + f, bloom_round_up(m[f], unit), k, layout, NULL, {0}, 0};
    cr_assert_eq(bloom_set_init(set, params, count), BLOOM_OK);
    free(params);
}

static void set_of(struct bloom_set *set, enum bloom_scheme scheme, uint32_t k, const uint64_t *m,
                   uint32_t count)
{
    set_in(set, BLOOM_CLASSIC, scheme, k, m, count);
}

static const uint64_t some_m[] = {2,    3,     64,   65,    1000, 1024, 1 << 20, 4097, 777, 31,
                                  9586, 12345, 5000, 65536, 511,  7,    8,       9,    10,  99991};

/* The expected set after adding the sample one id at a time. */
static void expect_set(struct bloom_set *expected, const struct sample *sample)
{
    for (uint32_t r = 0; r < sample->rows.rows; r++) {
        struct bloom_filter filter = bloom_set_filter(expected, sample->filter[r]);
        bloom_add(&filter, sample->data + sample->start[r], sample->end[r] - sample->start[r]);
    }
}

static struct bloom_rows slice(const struct sample *sample, uint32_t first, uint32_t rows)
{
    return (struct bloom_rows){.base = sample->data,
                               .start = sample->start + first,
                               .end = sample->end + first,
                               .filter = sample->filter + first,
                               .rows = rows};
}

/* Adds in batches of random sizes; the columns are overwritten after each call. */
static void add_in_pieces(struct bloom_set *set, const struct sample *sample, uint64_t seed)
{
    struct bloom_adder *adder = malloc(sizeof *adder);
    cr_assert_not_null(adder);
    bloom_adder_init(adder, set);
    uint64_t state = seed + 1;
    for (uint32_t at = 0; at < sample->rows.rows;) {
        uint32_t left = sample->rows.rows - at, rows = (uint32_t)(sample_random(&state) % 90);
        if (rows > left) rows = left;
        uint64_t bytes = rows > 0 ? sample->end[at + rows - 1] - sample->start[at] : 0;
        uint8_t *copy = malloc(bytes + BLOOM_ID_SLACK);
        uint32_t *start = calloc(rows + 1, sizeof *start), *end = calloc(rows + 1, sizeof *end);
        cr_assert(copy && start && end);
        memcpy(copy, sample->data + sample->start[at], bytes);
        memset(copy + bytes, 0xAA, BLOOM_ID_SLACK);
        for (uint32_t r = 0; r < rows; r++) {
            start[r] = sample->start[at + r] - sample->start[at];
            end[r] = sample->end[at + r] - sample->start[at];
        }
        struct bloom_rows piece = {copy, start, end, sample->filter + at, rows};
        bloom_adder_add_rows(adder, &piece);
        free(copy);
        free(start);
        free(end);
        at += rows;
        if (sample_random(&state) % 16 == 0) bloom_adder_flush(adder);
    }
    bloom_adder_flush(adder);
    free(adder);
}

static void check_hits(const struct bloom_set *set, const struct sample *sample)
{
    uint8_t *hits = malloc(sample->rows.rows);
    cr_assert_not_null(hits);
    memset(hits, 7, sample->rows.rows);
    bloom_set_contains_rows(set, &sample->rows, hits);
    for (uint32_t r = 0; r < sample->rows.rows; r++) {
        struct bloom_filter filter = bloom_set_filter(set, sample->filter[r]);
        cr_assert_eq(hits[r], bloom_contains(&filter, sample->data + sample->start[r],
                                             sample->end[r] - sample->start[r]));
    }
    free(hits);
}

/* Tests every row against every filter. The bytes after each filter's hits must not change. */
static void check_all_hits(const struct bloom_set *set, const struct sample *sample)
{
    const uint32_t rows = sample->rows.rows, stride = rows + 3;
    uint8_t *hits = malloc((uint64_t)stride * set->count);
    cr_assert_not_null(hits);
    memset(hits, 7, (uint64_t)stride * set->count);
    struct bloom_rows any = sample->rows;
    any.filter = NULL;
    bloom_set_contains_all(set, &any, hits, stride);
    for (uint32_t f = 0; f < set->count; f++) {
        struct bloom_filter filter = bloom_set_filter(set, f);
        const uint8_t *hit = hits + (uint64_t)f * stride;
        for (uint32_t r = 0; r < rows; r++)
            cr_assert_eq(hit[r], bloom_contains(&filter, sample->data + sample->start[r],
                                                sample->end[r] - sample->start[r]));
        for (uint32_t r = rows; r < stride; r++) cr_assert_eq(hit[r], 7);
    }
    free(hits);
}

static void check_indexes(const struct bloom_set *set, const struct sample *sample)
{
    uint32_t *narrow = calloc((uint64_t)sample->rows.rows * set->k, sizeof *narrow);
    uint64_t *wide = calloc((uint64_t)sample->rows.rows * set->k, sizeof *wide);
    cr_assert(narrow && wide);
    if (!set->wide) bloom_hash_rows_to_indexes(set, &sample->rows, narrow);
    bloom_hash_rows_to_indexes_wide(set, &sample->rows, wide);
    for (uint32_t r = 0; r < sample->rows.rows; r++) {
        struct bloom_filter filter = bloom_set_filter(set, sample->filter[r]);
        uint64_t indexes[BLOOM_K_MAX];
        const uint8_t *id = sample->data + sample->start[r];
        uint32_t size = sample->end[r] - sample->start[r];
        bloom_compute_indexes(&filter.params, id, size, indexes);
        for (uint32_t i = 0; i < set->k; i++) {
            if (!set->wide) cr_assert_eq(narrow[(uint64_t)r * set->k + i], indexes[i]);
            cr_assert_eq(wide[(uint64_t)r * set->k + i], indexes[i]);
            if (set->scheme <= BLOOM_PLAIN)
                cr_assert_eq(indexes[i], oracle_index(&filter.params, id, size, i));
        }
    }
    free(narrow);
    free(wide);
}

static void check_levels_in(enum bloom_layout layout, enum bloom_scheme scheme, uint32_t k,
                            const uint64_t *m, uint32_t filters, uint32_t size_min,
                            uint32_t size_max)
{
    struct sample in, out;
    uint64_t seed = k * 1000 + filters + size_max;
    sample_init(&in, 1500, size_min, size_max, filters, seed);
    sample_init(&out, 1500, size_min, size_max, filters, seed + 1);
    struct bloom_set expected;
    set_in(&expected, layout, scheme, k, m, filters);
    expect_set(&expected, &in);
    for (int level = 0; level < BLOOM_LEVELS; level++) {
        if (!bloom_level_available((enum bloom_level)level)) continue;
        struct bloom_set set;
        set_in(&set, layout, scheme, k, m, filters);
        bloom_force_level(&set, (enum bloom_level)level);
        add_in_pieces(&set, &in, seed);
        cr_assert_eq(set.bytes, expected.bytes);
        cr_assert_arr_eq(set.bits, expected.bits, set.bytes, "%s level %d k %u filters %u ids %u",
                         bloom_scheme_name(scheme), level, k, filters, size_max);
        check_hits(&set, &in);
        check_all_hits(&set, &in);
        check_hits(&set, &out);
        check_all_hits(&set, &out);
        check_indexes(&set, &in);
        bloom_set_fini(&set);
    }
    bloom_set_fini(&expected);
    sample_fini(&in);
    sample_fini(&out);
}

static void check_levels(enum bloom_scheme scheme, uint32_t k, const uint64_t *m, uint32_t filters,
                         uint32_t size_min, uint32_t size_max)
{
    check_levels_in(BLOOM_CLASSIC, scheme, k, m, filters, size_min, size_max);
}

Test(batches, every_level_gives_the_same_bits_per_scheme)
{
    for (int scheme = 0; scheme < BLOOM_XXH64; scheme++) {
        uint64_t m[20];
        for (int f = 0; f < 20; f++)
            m[f] = scheme == BLOOM_POLY_MOD ? some_m[f] % 30000 + 1 : some_m[f];
        for (uint32_t filters = 1; filters <= 20; filters += filters == 1 ? 15 : 4) {
            check_levels((enum bloom_scheme)scheme, 5, m, filters, 8, 11);
            check_levels((enum bloom_scheme)scheme, 4, m, filters, 0, 70);
            check_levels((enum bloom_scheme)scheme, 1, m, filters, 0, 13);
        }
    }
}

Test(batches, every_level_gives_the_same_bits_per_layout)
{
    static const uint64_t large[] = {40000000, 12345678, 30000001};
    for (int scheme = BLOOM_WIDE; scheme <= BLOOM_XXH64; scheme++) {
        for (int layout = BLOOM_BLOCK512; layout <= BLOOM_SPLIT_BLOCK; layout++) {
            bool split = layout == BLOOM_SPLIT_BLOCK;
            for (uint32_t k = split ? 8 : 1; k <= (split ? 8 : BLOOM_K_MAX_512); k += 5) {
                for (uint32_t filters = 1; filters <= 20; filters += filters == 1 ? 15 : 4) {
                    enum bloom_layout in = (enum bloom_layout)layout;
                    enum bloom_scheme by = (enum bloom_scheme)scheme;
                    check_levels_in(in, by, k, some_m, filters, 8, 11);
                    check_levels_in(in, by, k, some_m, filters, 8, 15);
                    check_levels_in(in, by, k, some_m, filters, 0, 70);
                }
                check_levels_in((enum bloom_layout)layout, (enum bloom_scheme)scheme, k, large, 3,
                                6, 12);
            }
        }
    }
}

Test(batches, max_hashes_give_the_same_bits)
{
    for (int scheme = 0; scheme <= BLOOM_PLAIN; scheme++)
        check_levels((enum bloom_scheme)scheme, BLOOM_K_MAX, some_m, 20, 0, 30);
    check_levels(BLOOM_WIDE, BLOOM_K_MAX, some_m, 20, 0, 30);
    for (int scheme = BLOOM_HADOOP_BLOOM; scheme < BLOOM_SCHEMES; scheme++)
        check_levels((enum bloom_scheme)scheme, BLOOM_K_MAX, some_m, 20, 0, 30);
}

Test(batches, one_bit_filter_gives_the_same_bits)
{
    static const uint64_t m[] = {1, 100, 1};
    for (int scheme = 0; scheme < BLOOM_SCHEMES; scheme++)
        if (scheme != BLOOM_XXH64) check_levels((enum bloom_scheme)scheme, 3, m, 3, 0, 20);
}

Test(batches, max_filters_per_set_give_the_same_bits)
{
    uint64_t *m = calloc(BLOOM_SET_MAX, sizeof *m);
    cr_assert_not_null(m);
    for (uint32_t f = 0; f < BLOOM_SET_MAX; f++) m[f] = 2 + f * 37 % 3000;
    check_levels(BLOOM_SPARK, 3, m, BLOOM_SET_MAX, 0, 70);
    check_levels(BLOOM_PLAIN, 3, m, BLOOM_SET_MAX, 8, 11);
    free(m);
}

/* Large enough for the variants that prefetch. */
Test(batches, sets_larger_than_cache_give_the_same_bits)
{
    static const uint64_t m[] = {40000000, 12345678, 30000001};
    for (int scheme = 0; scheme < BLOOM_XXH64; scheme++) {
        if (scheme == BLOOM_POLY_MOD) continue;
        check_levels((enum bloom_scheme)scheme, 7, m, 3, 8, 11);
        check_levels((enum bloom_scheme)scheme, 7, m, 3, 0, 70);
    }
}

/* Indexes only: the bits are never touched, so their memory stays untouched pages. */
Test(batches, indexes_of_largest_filters_are_right)
{
    static const uint64_t m[] = {INT32_MAX, INT32_MAX - 1, 1u << 30, (1u << 30) + 1};
    struct sample sample;
    sample_init(&sample, 5000, 0, 20, 4, 99);
    for (int scheme = BLOOM_SPARK; scheme <= BLOOM_PLAIN; scheme++) {
        for (int level = 0; level < BLOOM_LEVELS; level++) {
            if (!bloom_level_available((enum bloom_level)level)) continue;
            struct bloom_set set;
            set_of(&set, (enum bloom_scheme)scheme, 9, m, 4);
            bloom_force_level(&set, (enum bloom_level)level);
            check_indexes(&set, &sample);
            bloom_set_fini(&set);
        }
    }
    sample_fini(&sample);
}

/* Over 512 MiB of bits: 32-bit lanes cannot number all bits of the set. */
Test(batches, set_beyond_32_bit_offsets_gives_the_same_hits)
{
    static const uint64_t m[] = {INT32_MAX, INT32_MAX - 1, INT32_MAX};
    struct sample sample;
    sample_init(&sample, 40, 0, 20, 3, 98);
    for (int level = 0; level < BLOOM_LEVELS; level++) {
        if (!bloom_level_available((enum bloom_level)level)) continue;
        struct bloom_set set;
        set_of(&set, BLOOM_SPARK, 2, m, 3);
        bloom_force_level(&set, (enum bloom_level)level);
        add_in_pieces(&set, &sample, 98);
        for (uint32_t r = 0; r < 40; r++) {
            struct bloom_filter filter = bloom_set_filter(&set, sample.filter[r]);
            cr_assert(bloom_contains(&filter, sample.data + sample.start[r],
                                     sample.end[r] - sample.start[r]));
        }
        check_hits(&set, &sample);
        check_all_hits(&set, &sample);
        bloom_set_fini(&set);
    }
    sample_fini(&sample);
}

Test(batches, bits_can_be_set_from_indexes)
{
    static const uint64_t m[] = {5000, 70001};
    struct sample sample;
    sample_init(&sample, 1000, 0, 20, 2, 97);
    for (int scheme = 0; scheme < BLOOM_SCHEMES; scheme++) {
        if (scheme == BLOOM_POLY_MOD || scheme == BLOOM_XXH64) continue;
        struct bloom_set set, expected;
        set_of(&set, (enum bloom_scheme)scheme, 3, m, 2);
        set_of(&expected, (enum bloom_scheme)scheme, 3, m, 2);
        expect_set(&expected, &sample);
        for (uint32_t at = 0; at < 1000; at += 100) {
            struct bloom_rows rows = slice(&sample, at, 100);
            uint32_t narrow[300];
            uint64_t wide[300];
            bloom_hash_rows_to_indexes_wide(&set, &rows, wide);
            if (!set.wide) bloom_hash_rows_to_indexes(&set, &rows, narrow);
            for (uint32_t r = 0; r < 100; r++)
                cr_assert(set.wide || r % 2 == 0
                              ? bloom_set_bits_wide(&set, rows.filter[r], wide + 3 * r, 3)
                              : bloom_set_bits(&set, rows.filter[r], narrow + 3 * r, 3));
        }
        cr_assert_arr_eq(set.bits, expected.bits, set.bytes);
        bloom_set_fini(&set);
        bloom_set_fini(&expected);
    }
    sample_fini(&sample);
}

Test(batches, out_of_range_index_is_rejected)
{
    static const uint64_t m[] = {100};
    struct bloom_set set;
    set_of(&set, BLOOM_SPARK, 3, m, 1);
    cr_assert(bloom_set_bits(&set, 0, (uint32_t[]){0, 99}, 2));
    cr_assert_not(bloom_set_bits(&set, 0, (uint32_t[]){1, 100, 2}, 3));
    cr_assert_not(bloom_set_bits_wide(&set, 0, (uint64_t[]){UINT64_MAX}, 1));
    struct bloom_filter filter = bloom_set_filter(&set, 0);
    cr_assert_eq(bloom_bits_set(&filter), 3);
    bloom_set_fini(&set);
}

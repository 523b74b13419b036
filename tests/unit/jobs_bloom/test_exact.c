/* Exact filters and ribbons: every hash of the universe gets its class, in about as many bits as
 * the information has; nothing in a file leads a look-up outside its bits. */
#include "jobs/bloom/exact.h"
#include "jobs/bloom/fuse.h"
#include "jobs/bloom/ribbon.h"
#include "oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static uint64_t next_hash(uint64_t *state)
{
    const uint64_t high = sample_random(state);
    return ribbon_mix(high << 32 ^ sample_random(state));
}

static uint64_t *different_hashes(uint64_t count, uint64_t seed)
{
    uint64_t *hashes = malloc((count + 1) * sizeof *hashes), *scratch = malloc((count + 1) * 8);
    for (uint64_t i = 0; i < count; i++) hashes[i] = next_hash(&seed);
    cr_assert_eq(fuse_sort_unique(hashes, count, scratch), count);
    free(scratch);
    return hashes;
}

static uint8_t *aligned_bytes(uint64_t size)
{
    return aligned_alloc(64, bloom_round_up(size + 1, 64));
}

Test(ribbon, every_hash_has_its_value_and_others_have_any)
{
    static const uint64_t sizes[] = {1, 2, 63, 64, 65, 127, 128, 129, 200, 1000, 20000, 150000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const uint64_t n = sizes[s];
        uint64_t *hashes = different_hashes(n, s + 1), state = 5, hits = 0;
        uint8_t *values = malloc(n), *memory = aligned_bytes(ribbon_memory(n));
        uint8_t *out = malloc(8 * (uint64_t)ribbon_blocks_max(n) * 7);
        struct ribbon ribbon = {.columns = 7};
        cr_assert(ribbon_solve(&ribbon, hashes, NULL, n, memory, out));
        if (n >= 1000) cr_assert_leq(64.0 * ribbon.blocks, 1.05 * (double)n + 64);
        for (uint64_t i = 0; i < n; i++) {
            const struct ribbon_row row = ribbon_row_of(&ribbon, hashes[i]);
            cr_assert_lt(row.start, 64 * (uint64_t)ribbon.blocks - RIBBON_WIDTH + 1);
            cr_assert_eq(ribbon_value(&ribbon, out, &row), row.fingerprint);
        }
        for (uint64_t i = 0; i < 100000; i++) {
            const struct ribbon_row row = ribbon_row_of(&ribbon, next_hash(&state));
            hits += ribbon_value(&ribbon, out, &row) == row.fingerprint;
        }
        const double mean = 100000.0 / 128;
        if (n >= 63) cr_assert_leq(fabs((double)hits - mean), 6 * sqrt(mean));
        for (uint64_t i = 0; i < n; i++) values[i] = (uint8_t)(hashes[i] % 8 == 0);
        ribbon.columns = 1;
        cr_assert(ribbon_solve(&ribbon, hashes, values, n, memory, out));
        for (uint64_t i = 0; i < n; i++) {
            const struct ribbon_row row = ribbon_row_of(&ribbon, hashes[i]);
            cr_assert_eq(ribbon_value(&ribbon, out, &row), values[i]);
        }
        free(out);
        free(memory);
        free(values);
        free(hashes);
    }
}

/* A hash is 1 of a member if it is below `share` of all. */
static void mark(const uint64_t *hashes, uint64_t count, double share, uint8_t *member)
{
    for (uint64_t i = 0; i < count; i++)
        member[i] = (double)ribbon_mix(hashes[i]) < share * 0x1p64 || share >= 1;
}

/* A filter of `shards` shards; n = 0 is that of none. */
static uint8_t *exact_bits(const uint64_t *hashes, const uint8_t *member, uint64_t count,
                           uint64_t shards, struct bloom_params *out)
{
    const uint64_t most = exact_plan_shard(count, count / 2).bytes_max + 1000;
    uint64_t *own = malloc((count + 1) * sizeof *own), end = EXACT_FIRST + EXACT_ENTRY * shards;
    uint8_t *own_member = malloc(count + 1), *bits = calloc(1, end + shards * most), *memory;
    uint64_t n = 0;
    memcpy(bits, &shards, sizeof shards);
    for (uint32_t i = 0; i < shards; i++) {
        uint64_t entry[3] = {0};
        for (uint64_t j = 0; j < count; j++) {
            if (fuse_shard_of(hashes[j], shards) != i) continue;
            own[entry[2]] = hashes[j];
            own_member[entry[2]++] = member[j];
            entry[1] += member[j];
        }
        const struct exact_plan plan = exact_plan_shard(entry[2], entry[1]);
        memory = aligned_bytes(plan.memory);
        const uint64_t size = exact_solve(&plan, own, own_member, entry[2], memory, bits + end);
        cr_assert(size >= EXACT_HEAD && size <= plan.bytes_max);
        cr_assert(exact_shard_agrees(bits + end, own, own_member, entry[2]));
        entry[0] = end += size;
        memcpy(bits + EXACT_FIRST + EXACT_ENTRY * i, entry, sizeof entry);
        n += entry[1];
        free(memory);
    }
    free(own_member);
    free(own);
    *out = (struct bloom_params){
        .scheme = BLOOM_XXH64, .layout = BLOOM_EXACT, .n = n, .m = 8 * end, .k = BLOOM_K_EXACT};
    return bits;
}

/* log2 of the number of sets of n of N ids. */
static double information(uint64_t universe, uint64_t n)
{
    const double all = (double)universe, own = (double)n;
    return (lgamma(all + 1) - lgamma(own + 1) - lgamma(all - own + 1)) / log(2);
}

Test(exact, every_share_of_members_has_its_class_and_few_bits)
{
    static const double shares[] = {0, 1e-5, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.99, 0.9999, 1};
    const uint64_t count = 200000;
    uint64_t *hashes = different_hashes(count, 8);
    uint8_t *member = malloc(count);
    for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
        struct bloom_params params;
        mark(hashes, count, shares[s], member);
        uint8_t *bits = exact_bits(hashes, member, count, s % 3 + 1, &params);
        cr_assert(exact_is_valid(&params, bits));
        cr_assert_eq(exact_count_universe_ids(bits), count);
        for (uint64_t i = 0; i < count; i++)
            cr_assert_eq(exact_contains_hash(bits, hashes[i]), member[i]);
        if (shares[s] >= 0.01 && shares[s] <= 0.99)
            cr_assert_leq((double)params.m, 1.12 * information(count, params.n) + 3000);
        free(bits);
    }
    free(member);
    free(hashes);
}

/* The bar: at most 1.25 times the information. */
Test(exact, a_million_ids_of_which_a_hundredth_are_members_have_1_1_times_the_information)
{
    const uint64_t count = 1000000;
    uint64_t *hashes = different_hashes(count, 3);
    uint8_t *member = malloc(count);
    struct bloom_params params;
    mark(hashes, count, 0.01, member);
    uint8_t *bits = exact_bits(hashes, member, count, 1, &params);
    const double limit = information(count, params.n), expected = (double)params.m;
    cr_assert_leq(expected, 1.1 * limit, "%g of %g", expected, limit);
    cr_assert_leq(fabs(8 * (double)exact_expected_bytes(count, params.n) / expected - 1), 0.01);
    cr_assert_geq((double)exact_planned_bytes(count) * 8, expected);
    free(bits);
    free(member);
    free(hashes);
}

Test(exact, a_plan_is_within_the_most_that_any_has)
{
    static const uint64_t sizes[] = {1, 2, 63, 200, 1000, 4097, 100000, 524288, 1048575, 20000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint64_t ids = sizes[i], most = exact_solve_bytes_max(ids), step = ids / 1500 + 1;
        cr_assert_leq(exact_solve_bytes_max(ids - 1), most);
        for (uint64_t n = 0; n <= ids; n = n < 99 ? n + 1 : n + step) {
            const struct exact_plan plan = exact_plan_shard(ids, n);
            cr_assert_leq(plan.memory + plan.bytes_max, most, "%lu of %lu", (unsigned long)n,
                          (unsigned long)ids);
        }
    }
}

/* A shard of a planned size, so that the memory to solve it is planned. */
Test(exact, shards_are_small)
{
    cr_assert_eq(exact_shards(1), 1);
    cr_assert_eq(exact_shards((1 << 20) - 1), 1);
    cr_assert_eq(exact_shards(1 << 20), 2);
    cr_assert_eq(exact_shards(4000000), 7);
    cr_assert_eq(exact_shards(UINT64_MAX), FUSE_SHARDS_MAX);
}

Test(exact, the_order_of_hashes_changes_nothing)
{
    const uint64_t count = 5000;
    uint64_t *hashes = different_hashes(count, 3), *other = malloc(count * sizeof *other);
    uint8_t *member = malloc(count), *reversed = malloc(count);
    struct bloom_params a, b;
    mark(hashes, count, 0.2, member);
    for (uint64_t i = 0; i < count; i++) {
        other[i] = hashes[count - 1 - i];
        reversed[i] = member[count - 1 - i];
    }
    uint8_t *first = exact_bits(hashes, member, count, 2, &a);
    uint8_t *second = exact_bits(other, reversed, count, 2, &b);
    cr_assert_eq(a.m, b.m);
    cr_assert_eq(memcmp(first, second, a.m / 8), 0);
    free(second);
    free(first);
    free(reversed);
    free(member);
    free(other);
    free(hashes);
}

/* Sets of several filters. */
Test(exact, batches_find_what_single_look_ups_find)
{
    enum { FILTERS = 3, ROWS = 3001 };
    struct sample sample;
    struct bloom_filter filters[FILTERS];
    sample_init(&sample, ROWS, 0, 40, FILTERS, 3);
    uint8_t hit[ROWS];
    for (uint32_t f = 0; f < FILTERS; f++) {
        uint64_t hashes[ROWS], count = 0, scratch[ROWS];
        uint8_t member[ROWS];
        for (uint32_t i = 0; i < ROWS; i++)
            if (sample.filter[i] == f)
                hashes[count++] =
                    XXH64(sample.data + sample.start[i], sample.end[i] - sample.start[i], 0);
        count = fuse_sort_unique(hashes, count, scratch);
        mark(hashes, count, 0.2 * (f + 1), member);
        filters[f] = (struct bloom_filter){.owned = 0};
        filters[f].bits = exact_bits(hashes, member, count, f + 1, &filters[f].params);
    }
    struct bloom_set set;
    cr_assert_eq(bloom_set_copy(&set, filters, FILTERS), BLOOM_OK);
    bloom_set_contains_rows(&set, &sample.rows, hit);
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint8_t *id = sample.data + sample.start[i];
        const uint32_t size = sample.end[i] - sample.start[i];
        const uint64_t hash = XXH64(id, size, 0);
        uint8_t expected;
        mark(&hash, 1, 0.2 * (sample.filter[i] + 1), &expected);
        cr_assert_eq(hit[i], expected);
        cr_assert_eq(bloom_contains(&filters[sample.filter[i]], id, size), expected);
    }
    bloom_set_fini(&set);
    for (uint32_t f = 0; f < FILTERS; f++) free(filters[f].bits);
    sample_fini(&sample);
}

/* Writes `value` of `size` bytes at `at` of the bits, and decodes the file. */
static enum bloom_result result_with(const struct bloom_params *params, const uint8_t *bits,
                                     uint64_t at, uint64_t value, uint32_t size)
{
    const uint64_t bytes = bloom_bytes(params->m);
    uint8_t *copy = malloc(bytes), header[BLOOM_HEADER_MAX];
    memcpy(copy, bits, bytes);
    memcpy(copy + at, &value, size);
    struct bloom_filter filter = {*params, copy, 0}, back;
    const uint32_t head = bloom_encode_header(&filter, header);
    uint8_t *file = malloc(head + bytes);
    memcpy(file, header, head);
    memcpy(file + head, copy, bytes);
    const enum bloom_result result = bloom_decode(file, head + bytes, &back);
    free(file);
    free(copy);
    return result;
}

Test(exact, numbers_that_do_not_fit_the_file_are_errors)
{
    enum { COUNT = 3000, SHARDS = 3, BEGIN = EXACT_FIRST + SHARDS * EXACT_ENTRY };
    uint64_t *hashes = different_hashes(COUNT, 1), first;
    uint8_t member[COUNT];
    struct bloom_params params, more;
    mark(hashes, COUNT, 0.1, member);
    uint8_t *bits = exact_bits(hashes, member, COUNT, SHARDS, &params);
    memcpy(&first, bits + EXACT_FIRST, sizeof first);
    const struct {
        uint64_t at, value;
        uint32_t size;
    } wrong[] = {
        {0, 0, 8}, /* shards */
        {0, 2, 8},
        {0, 4097, 8},
        {0, UINT64_MAX, 8},
        {EXACT_FIRST, first - 8, 8}, /* ends */
        {EXACT_FIRST, first + 8, 8},
        {EXACT_FIRST, 0, 8},
        {EXACT_FIRST, UINT64_MAX, 8},
        {EXACT_FIRST + 2 * EXACT_ENTRY, params.m / 8 + 8, 8},
        {EXACT_FIRST + 8, 0, 8}, /* members */
        {EXACT_FIRST + 8, UINT64_MAX, 8},
        {EXACT_FIRST + 16, 1, 8}, /* ids */
        {EXACT_FIRST + 16, UINT64_MAX, 8},
        {BEGIN, 2, 4},     /* rare */
        {BEGIN + 4, 0, 4}, /* columns */
        {BEGIN + 4, 25, 4},
        {BEGIN + 4, UINT32_MAX, 4},
        {BEGIN + 8, 0, 4}, /* blocks of the first level */
        {BEGIN + 8, 1, 4},
        {BEGIN + 8, UINT32_MAX, 4},
        {BEGIN + 16, 0, 4}, /* of the second */
        {BEGIN + 16, 1, 4},
        {BEGIN + 16, UINT32_MAX, 4},
    };
    cr_assert_eq(result_with(&params, bits, 0, SHARDS, 8), BLOOM_OK);
    cr_assert_eq(result_with(&params, bits, BEGIN + 12, 12345, 4), BLOOM_OK); /* any seed */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(result_with(&params, bits, wrong[i].at, wrong[i].value, wrong[i].size),
                     BLOOM_ERR_SHARDS, "case %zu", i);
    more = params;
    more.n++;
    cr_assert_eq(result_with(&more, bits, 0, SHARDS, 8), BLOOM_ERR_SHARDS);
    for (more = params; more.m > 8; more.m -= 8)
        cr_assert_eq(result_with(&more, bits, more.m / 8 - 1, bits[more.m / 8 - 1], 1),
                     more.m == params.m ? BLOOM_OK : BLOOM_ERR_SHARDS);
    free(bits);
    free(hashes);
}

Test(exact, filters_cannot_be_changed)
{
    uint64_t *hashes = different_hashes(9, 1), n;
    uint8_t member[9] = {1, 0, 1};
    struct bloom_filter filter = {0}, empty;
    struct bloom_sizing sizing;
    filter.bits = exact_bits(hashes, member, 9, 1, &filter.params);
    cr_assert_eq(filter.params.n, 2);
    cr_assert_eq(bloom_union(&filter, &filter), BLOOM_ERR_STATIC);
    cr_assert_eq(bloom_union_bits_set(&filter, &filter, &n), BLOOM_ERR_STATIC);
    cr_assert_eq(bloom_remove(&filter, "", 0), BLOOM_ERR_REMOVE);
    cr_assert_eq(bloom_init(&empty, &filter.params), BLOOM_ERR_STATIC);
    cr_assert_eq(bloom_ids_estimate(&filter.params, 1), 2.0);
    cr_assert_eq(bloom_rate_from_bits(&filter), 0.0);
    cr_assert_eq(bloom_sizing_for_rate(BLOOM_SPARK, BLOOM_EXACT, 0.5, &sizing), BLOOM_ERR_PAIR);
    filter.params.k = 3;
    cr_assert_eq(bloom_params_check(&filter.params), BLOOM_ERR_K_LAYOUT);
    free(filter.bits);
    free(hashes);
}

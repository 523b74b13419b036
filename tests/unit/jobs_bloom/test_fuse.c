/* Fuse filters: every id of a shard is found, of others as many as fingerprints are equal by
 * chance; the vector version finds the same; nothing in a file leads a look-up outside its bits. */
#include "jobs/bloom/fuse.h"
#include "oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The bits of a filter of the hashes in `hashes`, which are sorted and unique afterwards. */
static uint8_t *bits_of(enum bloom_layout layout, uint64_t *hashes, uint64_t count, uint64_t shards,
                        struct bloom_params *out)
{
    uint64_t *scratch = malloc((count + 1) * sizeof *scratch), *own = malloc((count + 1) * 8);
    uint64_t end = FUSE_FIRST + FUSE_ENTRY * shards;
    uint8_t *memory = malloc(fuse_solve_memory(count));
    uint8_t *bits = calloc(1, end + shards * fuse_shard_bytes(layout, count) + BLOOM_HEADER_MAX);
    count = fuse_sort_unique(hashes, count, scratch);
    memcpy(bits, &shards, sizeof shards);
    for (uint32_t i = 0; i < shards; i++) {
        uint64_t ids = 0;
        for (uint64_t j = 0; j < count; j++)
            if (fuse_shard_of(hashes[j], shards) == i) own[ids++] = hashes[j];
        cr_assert(fuse_solve(layout, own, &ids, memory, bits + end));
        end += fuse_shard_bytes(layout, ids);
        memcpy(bits + FUSE_FIRST + FUSE_ENTRY * i, &end, sizeof end);
        memcpy(bits + FUSE_FIRST + FUSE_ENTRY * i + 8, &ids, sizeof ids);
    }
    free(memory);
    free(own);
    free(scratch);
    *out = (struct bloom_params){
        .scheme = BLOOM_XXH64, .layout = layout, .n = count, .m = 8 * end, .k = BLOOM_K_FUSE};
    return bits;
}

static uint64_t random_hash(uint64_t *state)
{
    const uint64_t high = sample_random(state);
    return high << 32 ^ sample_random(state);
}

static uint64_t *random_hashes(uint64_t count, uint64_t seed)
{
    uint64_t *hashes = malloc((count + 1) * sizeof *hashes);
    for (uint64_t i = 0; i < count; i++) hashes[i] = random_hash(&seed);
    return hashes;
}

Test(fuse, every_size_and_number_of_shards_finds_its_hashes)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 7, 10, 33, 100, 1000, 30000, 200000};
    for (int layout = BLOOM_FUSE8; layout <= BLOOM_FUSE16; layout++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const uint64_t n = sizes[s], shards = s % 4 + 1, others = 200000;
            uint64_t *hashes = random_hashes(n, n + 1), hits = 0, state = 99;
            struct bloom_params params;
            uint8_t *bits = bits_of((enum bloom_layout)layout, hashes, n, shards, &params);
            cr_assert(fuse_is_valid(&params, bits));
            cr_assert_eq(params.n, n);
            for (uint64_t i = 0; i < n; i++)
                cr_assert(fuse_contains_hash(params.layout, bits, hashes[i]));
            for (uint64_t i = 0; i < others; i++)
                hits += fuse_contains_hash(params.layout, bits, random_hash(&state));
            const double rate = bloom_expected_rate(&params), mean = rate * (double)others;
            /* Cells of few ids are 0, and so is the exclusive or of three: only with many ids is a
             * fingerprint equal by chance alone. */
            if (n >= 1000) cr_assert_leq(fabs((double)hits - mean), 5 * sqrt(mean) + 1);
            if (n == 200000 && shards == 1)
                cr_assert_leq((double)params.m / (double)n, 9.4 * fuse_width(params.layout));
            free(bits);
            free(hashes);
        }
    }
}

/* In any order, and with equal ones; the first seeds of some sizes have no solution. */
Test(fuse, a_shard_depends_on_the_set_of_its_hashes)
{
    for (uint64_t n = 1; n < 3000; n += n / 9 + 1) {
        uint64_t *hashes = random_hashes(n, n), *again = malloc((2 * n + 9) * sizeof *again);
        const uint64_t bytes = fuse_shard_bytes(BLOOM_FUSE8, 2 * n + 9);
        uint8_t *memory = malloc(fuse_solve_memory(2 * n + 9));
        uint8_t *out = malloc(bytes), *other = malloc(bytes);
        uint64_t ids = n, count = 0;
        for (uint64_t i = n; i-- > 0;) again[count++] = hashes[i];
        for (uint64_t i = 0; i < n; i += n / 5 + 1) again[count++] = hashes[i];
        cr_assert(fuse_solve(BLOOM_FUSE8, hashes, &ids, memory, out));
        cr_assert_eq(ids, n);
        cr_assert_gt(count, n);
        cr_assert(fuse_solve(BLOOM_FUSE8, again, &count, memory, other));
        cr_assert_eq(count, n);
        cr_assert_arr_eq(out, other, fuse_shard_bytes(BLOOM_FUSE8, n));
        free(other);
        free(out);
        free(memory);
        free(again);
        free(hashes);
    }
}

Test(fuse, a_million_ids_have_at_most_9_1_bits_each)
{
    for (uint64_t n = 1000000; n < 400000000; n += n / 7) {
        const double bits = 8 * (double)fuse_planned_bytes(BLOOM_FUSE8, n) / (double)n;
        cr_assert(bits <= 9.1 && bits >= 9, "%lu ids: %g", n, bits);
    }
}

/* By the lower 26 bits, then by the others, for any order and any number of equal ones. */
Test(fuse, hashes_are_sorted_and_unique)
{
    for (int turn = 0; turn < 6; turn++) {
        const uint64_t count = 5000, low = (1 << 26) - 1;
        uint64_t *hashes = random_hashes(count, 5), *other = malloc(count * sizeof *other);
        for (uint64_t i = 0; turn > 0 && i < count; i++) {
            if (turn == 1) hashes[i] = hashes[i % 100];
            if (turn == 2) hashes[i] = 7;
            if (turn == 3) hashes[i] &= ~low;        /* all lower bits are equal */
            if (turn == 4) hashes[i] &= ~(low >> 3); /* most are */
            if (turn == 5) hashes[i] = (count - i) << 40;
        }
        for (uint64_t i = 0; i < count; i++) other[i] = hashes[count - 1 - i];
        uint64_t *scratch = malloc(count * sizeof *scratch);
        const uint64_t kept = fuse_sort_unique(hashes, count, scratch);
        cr_assert_eq(fuse_sort_unique(other, count, scratch), kept);
        cr_assert_eq(memcmp(hashes, other, kept * sizeof *other), 0);
        cr_assert_eq(kept, turn == 1 ? 100 : turn == 2 ? 1 : count, "turn %d: %lu", turn, kept);
        for (uint64_t i = 1; i < kept; i++) {
            const uint64_t a = hashes[i - 1] & low, b = hashes[i] & low;
            cr_assert(a < b || (a == b && hashes[i - 1] < hashes[i]));
        }
        free(scratch);
        free(other);
        free(hashes);
    }
}

/* Sets of several filters, ids of all lengths, every level. */
/* Ids of all sizes, those of a vector among them. */
Test(fuse, hashes_of_rows_are_those_of_the_schemes)
{
    enum { ROWS = 3001 };
    uint64_t hashes[2][ROWS];
    struct sample sample;
    sample_init(&sample, ROWS, 0, 40, 1, 4);
    for (uint32_t rows = 0; rows <= ROWS; rows = rows < 20 ? rows + 1 : rows + 2981) {
        struct bloom_rows some = sample.rows;
        some.rows = rows;
        memset(hashes, 0, sizeof hashes);
        fuse_hash_rows(BLOOM_XXH64, &some, hashes[0]);
        fuse_hash_rows(BLOOM_WIDE, &some, hashes[1]);
        for (uint32_t i = 0; i < ROWS; i++) {
            const uint8_t *id = sample.data + sample.start[i];
            const uint64_t size = sample.end[i] - sample.start[i];
            cr_assert_eq(hashes[0][i], i < rows ? XXH64(id, size, 0) : 0, "%u of %u", i, rows);
            cr_assert_eq(hashes[1][i], i < rows ? XXH3_128bits(id, size).low64 : 0);
        }
    }
    sample_fini(&sample);
}

Test(fuse, batches_find_what_single_look_ups_find)
{
    enum { FILTERS = 3, ROWS = 3001 };
    for (int layout = BLOOM_FUSE8; layout <= BLOOM_FUSE16; layout++) {
        struct sample sample;
        struct bloom_filter filters[FILTERS];
        sample_init(&sample, ROWS, 0, 40, FILTERS, 3);
        uint8_t hit[ROWS];
        for (uint32_t f = 0; f < FILTERS; f++) {
            uint64_t hashes[ROWS], count = 0;
            for (uint32_t i = 0; i < ROWS; i += 2)
                if (sample.filter[i] == f)
                    hashes[count++] =
                        XXH64(sample.data + sample.start[i], sample.end[i] - sample.start[i], 0);
            filters[f].bits =
                bits_of((enum bloom_layout)layout, hashes, count, f + 1, &filters[f].params);
        }
        struct bloom_set set;
        cr_assert_eq(bloom_set_copy(&set, filters, FILTERS), BLOOM_OK);
        for (int level = 0; level < BLOOM_LEVELS; level++) {
            if (!bloom_level_available((enum bloom_level)level)) continue;
            bloom_force_level(&set, (enum bloom_level)level);
            memset(hit, 9, sizeof hit);
            bloom_set_contains_rows(&set, &sample.rows, hit);
            for (uint32_t i = 0; i < ROWS; i++) {
                const bool found =
                    bloom_contains(&filters[sample.filter[i]], sample.data + sample.start[i],
                                   sample.end[i] - sample.start[i]);
                cr_assert_eq(hit[i], found, "row %u, level %d", i, level);
                cr_assert(found || i % 2 == 1);
            }
        }
        bloom_set_fini(&set);
        for (uint32_t f = 0; f < FILTERS; f++) free(filters[f].bits);
        sample_fini(&sample);
    }
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

Test(fuse, numbers_that_do_not_fit_the_file_are_errors)
{
    uint64_t *hashes = random_hashes(500, 1), first, begin = FUSE_FIRST + 3 * FUSE_ENTRY;
    struct bloom_params params, more;
    uint8_t *bits = bits_of(BLOOM_FUSE8, hashes, 500, 3, &params);
    memcpy(&first, bits + FUSE_FIRST, sizeof first);
    const struct {
        uint64_t at, value;
        uint32_t size;
    } wrong[] = {
        {0, 0, 8}, /* shards */
        {0, 2, 8},
        {0, 4, 8},
        {0, 4097, 8},
        {0, UINT64_MAX, 8},
        {0, UINT64_MAX / FUSE_ENTRY, 8},
        {FUSE_FIRST, first - 1, 8}, /* ends */
        {FUSE_FIRST, first + 1, 8},
        {FUSE_FIRST, 0, 8},
        {FUSE_FIRST, begin, 8},
        {FUSE_FIRST, UINT64_MAX, 8},
        {FUSE_FIRST + 2 * FUSE_ENTRY, params.m / 8 + 1, 8},
        {FUSE_FIRST + 2 * FUSE_ENTRY, params.m / 8 - 1, 8},
        {FUSE_FIRST + 8, 0, 8}, /* ids */
        {FUSE_FIRST + 8, UINT64_MAX, 8},
        {begin + 8, 0, 4}, /* segment */
        {begin + 8, 48, 4},
        {begin + 8, 1u << 31, 4},
        {begin + 12, 0, 4}, /* mask */
        {begin + 12, UINT32_MAX, 4},
        {begin + 16, 0, 4}, /* starts */
        {begin + 16, 1, 4},
        {begin + 16, UINT32_MAX, 4},
        {begin + 20, 0, 8}, /* count */
        {begin + 20, UINT64_MAX, 8},
    };
    cr_assert_eq(result_with(&params, bits, 0, 3, 8), BLOOM_OK);
    cr_assert_eq(result_with(&params, bits, begin, 12345, 8), BLOOM_OK); /* any seed is one */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(result_with(&params, bits, wrong[i].at, wrong[i].value, wrong[i].size),
                     BLOOM_ERR_SHARDS, "case %zu", i);
    more = params;
    more.n++;
    cr_assert_eq(result_with(&more, bits, 0, 3, 8), BLOOM_ERR_SHARDS);
    for (more = params; more.m > 8; more.m -= 8)
        cr_assert_eq(result_with(&more, bits, more.m / 8 - 1, bits[more.m / 8 - 1], 1),
                     more.m == params.m ? BLOOM_OK : BLOOM_ERR_SHARDS);
    free(bits);
    free(hashes);
}

Test(fuse, filters_cannot_be_changed)
{
    uint64_t *hashes = random_hashes(9, 1), n;
    struct bloom_filter filter = {0}, empty;
    struct bloom_sizing sizing;
    filter.bits = bits_of(BLOOM_FUSE8, hashes, 9, 1, &filter.params);
    cr_assert_eq(bloom_union(&filter, &filter), BLOOM_ERR_STATIC);
    cr_assert_eq(bloom_union_bits_set(&filter, &filter, &n), BLOOM_ERR_STATIC);
    cr_assert_eq(bloom_init(&empty, &filter.params), BLOOM_ERR_STATIC);
    cr_assert_eq(bloom_ids_estimate(&filter.params, 1), 9.0);
    cr_assert_eq(bloom_rate_from_bits(&filter), 1.0 / 256);
    cr_assert_eq(bloom_sizing_for_rate(BLOOM_XXH64, BLOOM_FUSE8, 0.003, &sizing),
                 BLOOM_ERR_P_LAYOUT);
    cr_assert_eq(bloom_sizing_for_rate(BLOOM_WIDE, BLOOM_FUSE16, 0.003, &sizing), BLOOM_OK);
    struct bloom_params params;
    cr_assert_eq(bloom_sizing_params(&sizing, UINT64_MAX / 2, &params), BLOOM_ERR_M);
    cr_assert_eq(bloom_sizing_params(&sizing, 0, &params), BLOOM_ERR_N);
    free(filter.bits);
    free(hashes);
}

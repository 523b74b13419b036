/* bench_layouts [N]: the cost per id of each layout, in batches as the jobs use them: ns to add an
 * id, ns to test one that was added and one that was not, bits per id, and the false positive rate
 * by formula, by the filter's bits, and measured. p = 0.01; best of three runs. */
#include "jobs/bloom/bloom.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 1024, ID_ROOM = 16, REPEATS = 3 };

struct batch {
    uint8_t data[ROWS * ID_ROOM + BLOOM_ID_SLACK];
    uint32_t start[ROWS], end[ROWS];
    uint16_t filter[ROWS];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Consecutive ids of ten bytes. */
static struct bloom_rows fill(struct batch *batch, uint64_t first)
{
    for (uint32_t r = 0; r < ROWS; r++) {
        uint8_t *at = batch->data + r * ID_ROOM;
        uint64_t number = first + r;
        for (int digit = 9; digit >= 2; digit--, number /= 10)
            at[digit] = (uint8_t)('0' + number % 10);
        at[0] = at[1] = 't';
        batch->start[r] = r * ID_ROOM;
        batch->end[r] = r * ID_ROOM + 10;
        batch->filter[r] = 0;
    }
    return (struct bloom_rows){batch->data, batch->start, batch->end, batch->filter, ROWS};
}

/* Returns ns per id, without the time to generate the ids. */
static double add_all(struct bloom_set *set, struct batch *batch, uint64_t n)
{
    static struct bloom_adder adder;
    double spent = 0;
    bloom_adder_init(&adder, set);
    for (uint64_t at = 0; at < n; at += ROWS) {
        struct bloom_rows rows = fill(batch, at);
        double begin = now();
        bloom_adder_add_rows(&adder, &rows);
        spent += now() - begin;
    }
    bloom_adder_flush(&adder);
    return spent / (double)n;
}

static double query_all(const struct bloom_set *set, struct batch *batch, uint64_t first,
                        uint64_t n, uint64_t *out_hits)
{
    uint8_t hit[ROWS];
    double spent = 0;
    *out_hits = 0;
    for (uint64_t at = 0; at < n; at += ROWS) {
        struct bloom_rows rows = fill(batch, first + at);
        double begin = now();
        bloom_set_contains_rows(set, &rows, hit);
        spent += now() - begin;
        for (uint32_t r = 0; r < ROWS; r++) *out_hits += hit[r];
    }
    return spent / (double)n;
}

static void measure(enum bloom_scheme scheme, enum bloom_layout layout, enum bloom_level level,
                    uint64_t n)
{
    static struct batch batch;
    struct bloom_sizing sizing;
    struct bloom_params params;
    if (bloom_sizing_for_rate(scheme, layout, 0.01, &sizing) != BLOOM_OK ||
        bloom_sizing_params(&sizing, n, &params) != BLOOM_OK)
        abort();
    double best[3] = {1e9, 1e9, 1e9}, own = 0;
    uint64_t held = 0, false_hits = 0;
    for (int i = 0; i < REPEATS; i++) {
        struct bloom_set set;
        if (bloom_set_init(&set, &params, 1) != BLOOM_OK) abort();
        bloom_force_level(&set, level);
        double ns[3] = {add_all(&set, &batch, n), query_all(&set, &batch, 0, n, &held),
                        query_all(&set, &batch, 50000000, n, &false_hits)};
        for (int j = 0; j < 3; j++) best[j] = ns[j] < best[j] ? ns[j] : best[j];
        struct bloom_filter filter = bloom_set_filter(&set, 0);
        own = bloom_rate_from_bits(&filter);
        bloom_set_fini(&set);
    }
    if (held != n) abort();
    static const char *const levels[] = {"scalar", "AVX2", "AVX-512"};
    printf("%-8s %-12s %-8s %9.2f %9.2f %9.2f %8.3f %4u   %.6f   %.6f   %.6f\n",
           bloom_scheme_name(scheme), bloom_layout_name(layout), levels[level], best[0], best[1],
           best[2], (double)params.m / (double)n, params.k, bloom_expected_rate(&params), own,
           (double)false_hits / (double)n);
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) / ROWS * ROWS : 20000 * ROWS;
    if (n == 0 || n > 50000000) return fprintf(stderr, "N is 1,024 to 50,000,000\n"), 64;
    printf("%llu ids, p = 0.01, ns of CPU per id\n", (unsigned long long)n);
    printf("scheme   layout       level          add    is in    is not  bits/id    k   "
           "formula    own bits   measured\n");
    for (int level = BLOOM_LEVELS - 1; level >= 0; level--) {
        if (!bloom_level_available((enum bloom_level)level)) continue;
        measure(BLOOM_SPARK, BLOOM_CLASSIC, (enum bloom_level)level, n);
        measure(BLOOM_XXH64, BLOOM_BLOCK512, (enum bloom_level)level, n);
        measure(BLOOM_XXH64, BLOOM_SPLIT_BLOCK, (enum bloom_level)level, n);
    }
    return 0;
}

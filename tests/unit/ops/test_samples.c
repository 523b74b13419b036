/* sampleWithReplacement, sampleByKey and takeSample: reproducible on every shape, and as frequent
 * as their distributions say. */
#include "tests/unit/ops/actions.h"

#include <math.h>
#include <stdio.h>

TestSuite(samples, .init = scratch_open, .fini = scratch_close);

struct plan {
    struct input in;
    double fraction;
    uint64_t seed;
    bool with_replacement;
    const struct glint_fraction *fractions;
    uint32_t count;
};

static struct glint_rdd *make_sample(struct glint *g, void *arg)
{
    struct plan *p = arg;
    return glint_sample_with_replacement(input_rdd(g, &p->in), p->fraction, p->seed);
}

static struct glint_rdd *make_by_key(struct glint *g, void *arg)
{
    struct plan *p = arg;
    return glint_sample_by_key(input_rdd(g, &p->in), p->with_replacement, p->fractions, p->count,
                               p->seed);
}

/* 0, 1, 2, ... as (key, value); the key is one of `keys` texts. */
static struct table make_rows(int64_t count, int64_t keys)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_I64}};
    char key[32];
    for (int64_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "k%lld", (long long)(i % keys));
        table_add(&t, text(key), number(i));
    }
    return t;
}

static struct table collect_once(plan_make make, void *arg)
{
    struct table got;
    struct glint *g = fixture_open(&fixtures[0]);
    table_collect(make(g, arg), &got);
    fixture_close(g, GLINT_OK);
    return got;
}

static double poisson(double mean, int k)
{
    return exp(k * log(mean) - mean - lgamma(k + 1));
}

/* How many rows are in the sample k times: chi-squared against the Poisson distribution. */
static void expect_poisson(const struct table *got, int64_t rows, double mean)
{
    enum { TIMES = 12 };
    double seen[TIMES + 1] = {0}, chi2 = 0;
    int classes = 0;
    uint64_t at = 0;
    for (int64_t i = 0; i < rows; i++) {
        int times = 0;
        for (; at < got->count && got->rows[at].value.i64 == i; at++) times++;
        seen[times < TIMES ? times : TIMES]++;
    }
    cr_assert_eq(at, got->count, "rows are in order");
    for (int k = 0; k < TIMES; k++) {
        const double want = (double)rows * poisson(mean, k);
        if (want < 10) continue;
        chi2 += (seen[k] - want) * (seen[k] - want) / want;
        classes++;
    }
    cr_assert(chi2 < 30, "chi-squared %g of %d classes at mean %g", chi2, classes, mean);
}

static struct glint_rdd *make_exactly(struct glint *g, void *arg)
{
    struct plan *p = arg;
    return glint_sample_exactly(input_rdd(g, &p->in), p->count, p->seed);
}

/* The same rows, in order, for any number of partitions. */
Test(samples, exactly_is_a_number_of_rows)
{
    static const uint32_t counts[] = {1, 2, 10, 499, 500, 501, 100000};
    struct table t = make_rows(500, 7);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        struct plan p = {.in = {.table = &t, .maps = 1}, .seed = c, .count = counts[c]};
        struct table first = collect_once(make_exactly, &p);
        cr_assert_eq(first.count, counts[c] < 500 ? counts[c] : 500);
        for (uint64_t i = 1; i < first.count; i++)
            cr_assert(first.rows[i - 1].value.i64 < first.rows[i].value.i64);
        for (p.in.maps = 1; p.in.maps < 30; p.in.maps = 2 * p.in.maps + 1)
            plan_expect(make_exactly, &p, NULL, &first);
        table_free(&first);
    }
    struct table empty = {.schema = t.schema};
    struct plan p = {.in = {.table = &empty, .maps = 3}, .count = 5};
    plan_expect(make_exactly, &p, NULL, &empty);
    p.count = 0;
    plan_expect_error(make_exactly, &p, NULL, GLINT_E_PLAN_ARGUMENT, "a sample of no records");
    table_free(&t);
}

/* 10 of 40 rows with 1,000 seeds: each row is chosen 250 times, give or take 13.7. */
Test(samples, exactly_chooses_each_row_equally_often)
{
    enum { ROWS = 40, SEEDS = 1000 };
    int chosen[ROWS] = {0};
    struct table t = make_rows(ROWS, 1);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct plan p = {.in = {.table = &t, .maps = 3}, .seed = seed, .count = ROWS / 4};
        struct table got = collect_once(make_exactly, &p);
        for (uint64_t i = 0; i < got.count; i++) chosen[got.rows[i].value.i64]++;
        table_free(&got);
    }
    for (int i = 0; i < ROWS; i++)
        cr_expect(chosen[i] > 180 && chosen[i] < 320, "row %d: %d times", i, chosen[i]);
    table_free(&t);
}

Test(samples, with_replacement_is_poisson_and_reproducible)
{
    static const double fractions[] = {0.1, 1, 2.5, 8};
    struct table t = make_rows(20000, 7);
    struct plan p = {.in = {.table = &t, .maps = 3}, .seed = 42};
    for (int f = 0; f < 4; f++) {
        p.fraction = fractions[f];
        struct table once = collect_once(make_sample, &p);
        expect_poisson(&once, 20000, p.fraction);
        plan_expect(make_sample, &p, NULL, &once);
        p.seed++;
        struct table other = collect_once(make_sample, &p);
        cr_assert(once.count != other.count ||
                  once.rows[100].value.i64 != other.rows[100].value.i64);
        table_free(&other);
        table_free(&once);
    }
    struct table none_at_all = {.schema = t.schema};
    p.fraction = 0;
    plan_expect(make_sample, &p, NULL, &none_at_all);
    table_free(&t);
}

/* 2 rows, each about 1,000 times; rows larger than a batch are alone in one. */
Test(samples, many_and_large_copies)
{
    struct table t = make_rows(2, 2), large = {.schema = {GLINT_NONE, GLINT_BYTES}};
    struct plan p = {.in = {.table = &t, .maps = 1}, .fraction = 1000, .seed = 1};
    struct table got = collect_once(make_sample, &p);
    cr_assert(got.count > 1800 && got.count < 2200);
    table_free(&got);
    uint8_t *bytes_2m = mem_zalloc(2 * MIB);
    for (uint8_t i = 0; i < 4; i++) {
        bytes_2m[0] = i;
        table_add(&large, none(), bytes(bytes_2m, 2 * MIB));
    }
    mem_free(bytes_2m);
    p = (struct plan){.in = {.table = &large, .maps = 1}, .fraction = 2, .seed = 5};
    got = collect_once(make_sample, &p);
    cr_assert_gt(got.count, 3);
    for (uint64_t i = 0; i < got.count; i++) cr_assert_eq(got.rows[i].value.bytes.size, 2 * MIB);
    plan_expect(make_sample, &p, NULL, &got);
    table_free(&got);
    table_free(&large);
    table_free(&t);
}

/* Each key's share of its rows, which are 10,000. */
static void expect_shares(const struct table *got, const double *shares, bool exact)
{
    double counts[4] = {0};
    for (uint64_t i = 0; i < got->count; i++) counts[got->rows[i].value.i64 % 4]++;
    for (int k = 0; k < 4; k++) {
        const double want = 10000 * shares[k];
        cr_assert(fabs(counts[k] - want) <= (exact ? 0 : 5 * sqrt(want + 1)), "key %d: %g rows", k,
                  counts[k]);
    }
}

Test(samples, by_key_has_the_fraction_of_each_key)
{
    static const double shares[] = {0, 0.1, 0.5, 1}, poisson_shares[] = {0, 0.1, 0.5, 3};
    static const double whole[] = {0, 1, 0, 1};
    struct table t = make_rows(40000, 4), numbers = {.schema = {GLINT_I64, GLINT_I64}};
    for (int64_t i = 0; i < 40000; i++) table_add(&numbers, number(i % 4 - 2), number(i));
    for (int type = 0; type < 2; type++)
        for (int kind = 0; kind < 3; kind++) {
            struct glint_fraction fractions[4];
            const double *f = kind == 0 ? shares : kind == 1 ? poisson_shares : whole;
            static const char *const keys[] = {"k0", "k1", "k2", "k3"};
            for (int k = 0; k < 4; k++) /* not in the order of keys */
                fractions[3 - k] =
                    (struct glint_fraction){type == 0 ? text(keys[k]) : number(k - 2), f[k]};
            struct plan p = {.in = {.table = type == 0 ? &t : &numbers, .maps = 5},
                             .seed = 3,
                             .with_replacement = kind == 1,
                             .fractions = fractions,
                             .count = 4};
            struct table once = collect_once(make_by_key, &p);
            expect_shares(&once, f, kind == 2);
            plan_expect(make_by_key, &p, NULL, &once);
            table_free(&once);
        }
    table_free(&t);
    table_free(&numbers);
}

Test(samples, misuse_is_reported)
{
    struct table t = make_rows(100, 2), elements = make_numbers(10, 1);
    const struct glint_fraction one[] = {{text("k0"), 0.5}};
    const struct glint_fraction twice[] = {{text("k0"), 0.5}, {text("k0"), 0.5}};
    const struct glint_fraction large[] = {{text("k0"), 1.5}, {text("k1"), 0.5}};
    struct plan p = {.in = {.table = &t, .maps = 2}, .fractions = one, .count = 1};
    plan_expect_error(make_by_key, &p, NULL, GLINT_E_PLAN_ARGUMENT,
                      "sampleByKey: the key k1 has no fraction");
    p.fractions = twice;
    p.count = 2;
    plan_expect_error(make_by_key, &p, NULL, GLINT_E_BAD_VALUE, "a key has two fractions");
    p.fractions = large;
    plan_expect_error(make_by_key, &p, NULL, GLINT_E_BAD_VALUE, "a fraction is not valid (1.5)");
    p.with_replacement = true;
    struct table got = collect_once(make_by_key, &p);
    cr_assert_gt(got.count, 0);
    table_free(&got);
    p.in.table = &elements;
    plan_expect_error(make_by_key, &p, NULL, GLINT_E_PLAN_TYPE, "sampleByKey needs keys");
    static const double bad[] = {-0.1, 1000.5, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        p.fraction = bad[i];
        plan_expect_error(make_sample, &p, NULL, GLINT_E_BAD_VALUE, "a fraction of");
    }
    table_free(&t);
    table_free(&elements);
}

/* ---- takeSample */

struct taking {
    struct input in;
    bool with_replacement;
    uint64_t count, seed;
};

static int run_take_sample(struct glint *g, void *arg, struct glint_rows *out)
{
    struct taking *t = arg;
    return glint_take_sample(input_rdd(g, &t->in), t->with_replacement, t->count, t->seed, out);
}

static struct table take_once(struct taking *t)
{
    struct glint_rows rows;
    struct table got = {.rows = NULL};
    struct glint *g = fixture_open(&fixtures[0]);
    cr_assert_eq(run_take_sample(g, t, &rows), 0);
    got.schema = rows.schema;
    for (uint64_t i = 0; i < rows.count; i++) {
        const struct glint_record r = glint_rows_at(&rows, i);
        table_add(&got, r.key, r.value);
    }
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
    return got;
}

Test(samples, take_sample_has_the_requested_size)
{
    static const uint64_t counts[] = {1, 10, 999, 1000, 1001, 5000};
    struct table t = make_rows(1000, 9);
    for (int c = 0; c < 6; c++)
        for (int with = 0; with < 2; with++) {
            struct taking take = {{.table = &t, .maps = 4}, with, counts[c], 11};
            struct table once = take_once(&take);
            uint8_t times[1000] = {0};
            cr_assert_eq(once.count, with || counts[c] < 1000 ? counts[c] : 1000);
            for (uint64_t i = 0; i < once.count; i++) {
                const int64_t row = once.rows[i].value.i64;
                cr_assert(row >= 0 && row < 1000);
                times[row]++;
                cr_assert(with || times[row] == 1, "row %lld twice", (long long)row);
                cr_assert_eq(once.rows[i].key.bytes.data[1], '0' + row % 9);
            }
            action_expect(run_take_sample, &take, NULL, &once);
            table_free(&once);
        }
    table_free(&t);
}

/* 4 of 8 rows for 4,000 seeds: each row as often as any other, at each place. */
Test(samples, take_sample_is_uniform)
{
    struct table t = make_rows(8, 8);
    for (int with = 0; with < 2; with++) {
        double seen[4][8] = {{0}};
        for (uint64_t seed = 0; seed < 4000; seed++) {
            struct taking take = {{.table = &t, .maps = 3}, with, 4, seed};
            struct table got = take_once(&take);
            cr_assert_eq(got.count, 4);
            for (int i = 0; i < 4; i++) seen[i][got.rows[i].value.i64]++;
            table_free(&got);
        }
        for (int i = 0; i < 4; i++)
            for (int row = 0; row < 8; row++)
                cr_assert(fabs(seen[i][row] - 500) < 5 * sqrt(500), "place %d, row %d: %g", i, row,
                          seen[i][row]);
    }
    table_free(&t);
}

/* A draw repeats an earlier one as often as independent draws do. */
Test(samples, take_sample_repeats_rows)
{
    struct table t = make_rows(1000, 9);
    struct taking take = {{.table = &t, .maps = 4}, true, 1000, 3};
    struct table got = take_once(&take);
    uint8_t times[1000] = {0};
    int different = 0;
    for (uint64_t i = 0; i < got.count; i++) different += times[got.rows[i].value.i64]++ == 0;
    cr_assert(different > 580 && different < 685, "%d different rows, not about 632", different);
    table_free(&got);
    table_free(&t);
}

Test(samples, take_sample_of_nothing_and_too_much)
{
    struct table t = make_rows(300, 3), empty = {.schema = t.schema}, nothing = empty;
    struct taking take = {{.table = &empty, .maps = 3}, true, 5, 1};
    action_expect(run_take_sample, &take, NULL, &nothing);
    take = (struct taking){{.table = &t, .maps = 3}, false, 0, 1};
    action_expect(run_take_sample, &take, NULL, &nothing);
    const struct fixture small = {.result_bytes_max = 1000};
    take.count = 300;
    action_expect_error(run_take_sample, &take, &small, GLINT_E_RESULT_LIMIT, "");
    take = (struct taking){{.table = &t, .maps = 1}, true, 3000, 1};
    const struct fixture more = {.result_bytes_max = 10000};
    action_expect_error(run_take_sample, &take, &more, GLINT_E_RESULT_LIMIT, "");
    table_free(&t);
}

Test(samples, out_of_memory_fails_cleanly_or_is_retried)
{
    struct table t = make_rows(300, 2);
    const struct glint_fraction fractions[] = {{text("k0"), 0.5}, {text("k1"), 0.1}};
    struct plan p = {{.table = &t, .maps = 2}, 0.5, 1, false, fractions, 2};
    struct taking take = {{.table = &t, .maps = 2}, true, 20, 1};
    plan_expect_no_memory(make_sample, &p);
    plan_expect_no_memory(make_by_key, &p);
    action_expect_no_memory(run_take_sample, &take);
    table_free(&t);
}

/* stats and histogram, compared with sums in long double and with plain loops. */
#include "tests/unit/ops/actions.h"

#include <math.h>

TestSuite(statistics, .init = scratch_open, .fini = scratch_close);

/* A sum of squares, at a mean of 1e9, would have no correct digit. */
static void expect_near(double got, long double want, const char *what)
{
    const long double scale = fabsl(want) > 1e-300L ? fabsl(want) : 1;
    cr_assert(fabsl((long double)got - want) <= 1e-9L * scale, "%s: %.17g, not %.17Lg", what, got,
              want);
}

static double value_of(const struct table *t, uint64_t i)
{
    return t->schema.value == GLINT_I64 ? (double)t->rows[i].value.i64 : t->rows[i].value.f64;
}

/* With every fixture, and in different partitions, whose results are merged. */
static void expect_stats(const struct table *t)
{
    long double sum = 0, squares = 0;
    double least = INFINITY, most = -INFINITY;
    for (uint64_t i = 0; i < t->count; i++) {
        sum += value_of(t, i);
        least = fmin(least, value_of(t, i));
        most = fmax(most, value_of(t, i));
    }
    const long double mean = sum / t->count;
    for (uint64_t i = 0; i < t->count; i++)
        squares += (value_of(t, i) - mean) * (value_of(t, i) - mean);
    for (uint32_t maps = 1; maps < 30; maps = maps * 2 + 1) {
        struct glint_stats first = {.count = -1}, s;
        for (const struct fixture *w = fixtures; w->name != NULL; w++) {
            struct table copy = *t;
            struct input in = {.table = &copy, .maps = maps};
            struct glint *g = fixture_open(w);
            cr_assert_eq(glint_stats(input_rdd(g, &in), &s), 0);
            fixture_close(g, GLINT_OK);
            if (first.count < 0) first = s;
            cr_assert_eq(memcmp(&first, &s, sizeof s), 0, "%s: other bits", w->name);
        }
        cr_assert_eq(s.count, (int64_t)t->count);
        cr_assert(s.min == least && s.max == most);
        expect_near(s.mean, mean, "mean");
        expect_near(s.sum, sum, "sum");
        expect_near(s.variance, squares / t->count, "variance");
        expect_near(s.stdev, sqrtl(squares / t->count), "stdev");
        if (t->count > 1) expect_near(s.sample_variance, squares / (t->count - 1), "sample");
        if (t->count > 1) expect_near(s.sample_stdev, sqrtl(squares / (t->count - 1)), "sample");
    }
}

Test(statistics, stats_equal_two_passes)
{
    static const uint64_t counts[] = {1, 2, 10, 5000};
    for (int c = 0; c < 4; c++) {
        struct table numbers = make_numbers(counts[c], 3);
        expect_stats(&numbers);
        struct table reals = {.schema = {GLINT_NONE, GLINT_F64}};
        for (uint64_t i = 0; i < numbers.count; i++)
            table_add(&reals, none(), real(1e9 + (double)numbers.rows[i].value.i64 / 1024));
        expect_stats(&reals);
        table_free(&reals);
        table_free(&numbers);
    }
}

static struct glint_stats stats_of(const double *values, uint64_t count, uint32_t maps)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_F64}};
    for (uint64_t i = 0; i < count; i++) table_add(&t, none(), real(values[i]));
    struct input in = {.table = &t, .maps = maps};
    struct glint_stats s;
    struct glint *g = fixture_open(&fixtures[0]);
    cr_assert_eq(glint_stats(input_rdd(g, &in), &s), 0);
    fixture_close(g, GLINT_OK);
    table_free(&t);
    return s;
}

Test(statistics, stats_of_few_and_of_odd_values)
{
    const double odd[] = {1, NAN, 3}, one = 4;
    struct glint_stats s = stats_of(&one, 0, 3);
    cr_assert(s.count == 0 && s.mean == 0 && s.sum == 0 && s.min == INFINITY && s.max == -INFINITY);
    cr_assert(isnan(s.variance) && isnan(s.stdev) && isnan(s.sample_variance));
    s = stats_of(&one, 1, 1);
    cr_assert(s.count == 1 && s.variance == 0 && s.stdev == 0 && isnan(s.sample_variance));
    for (uint32_t maps = 1; maps <= 3; maps++) {
        s = stats_of(odd, 3, maps);
        cr_assert(s.count == 3 && isnan(s.mean) && isnan(s.min) && isnan(s.max) &&
                  isnan(s.variance));
    }
}

/* ---- histogram */

struct plan {
    struct input in;
    double bounds[102];
    uint32_t buckets;
};

/* The rows are (lower bound, count). */
static int run_histogram(struct glint *g, void *arg, struct glint_rows *out)
{
    struct plan p = *(const struct plan *)arg;
    int64_t counts[101];
    struct glint_record rows[101];
    if (glint_histogram(input_rdd(g, &p.in), p.bounds, p.buckets, counts) != 0)
        return glint_error(g)->code;
    for (uint32_t i = 0; i < p.buckets; i++)
        rows[i] = (struct glint_record){real(p.bounds[i]), number(counts[i])};
    return glint_collect(
        glint_parallelize(g, (struct glint_schema){GLINT_F64, GLINT_I64}, rows, p.buckets, 1), out);
}

/* The same of even buckets; the upper bound follows, with the count -1. */
static int run_even(struct glint *g, void *arg, struct glint_rows *out)
{
    struct plan p = *(const struct plan *)arg;
    int64_t counts[101];
    struct glint_cell bounds[102];
    struct glint_record rows[102];
    if (glint_histogram_even(input_rdd(g, &p.in), &p.buckets, bounds, counts) != 0)
        return glint_error(g)->code;
    const enum glint_type type = bounds[0].type;
    for (uint32_t i = 0; i <= p.buckets; i++) {
        const bool mixed = bounds[i].type != type; /* the last one */
        rows[i].key = mixed ? real((double)bounds[i].value.i64) : bounds[i].value;
        rows[i].value = number(i < p.buckets ? counts[i] : -1);
    }
    return glint_collect(
        glint_parallelize(g, (struct glint_schema){type, GLINT_I64}, rows, p.buckets + 1, 1), out);
}

static struct table histogram_by_hand(const struct plan *p)
{
    struct table counts = {.schema = {GLINT_F64, GLINT_I64}};
    for (uint32_t b = 0; b < p->buckets; b++) {
        int64_t count = 0;
        for (uint64_t i = 0; i < p->in.table->count; i++) {
            const double v = value_of(p->in.table, i);
            const bool last = b + 1 == p->buckets && v == p->bounds[b + 1];
            count += (v >= p->bounds[b] && v < p->bounds[b + 1]) || last;
        }
        table_add(&counts, real(p->bounds[b]), number(count));
    }
    return counts;
}

Test(statistics, histogram_counts_by_bounds)
{
    struct table t = make_numbers(4000, 7), reals = {.schema = {GLINT_NONE, GLINT_F64}};
    struct plan p = {.in = {.table = &t, .maps = 5}};
    for (int i = 0; i < 500; i++) table_add(&reals, none(), real((double)(i % 50) / 4));
    table_add(&reals, none(), real(NAN));
    table_add(&reals, none(), real(INFINITY));
    for (p.buckets = 1; p.buckets <= 101; p.buckets += 20) {
        for (uint32_t i = 0; i <= p.buckets; i++) p.bounds[i] = -40000 + 700.0 * i + (i > 3) * 0.5;
        struct table expected = histogram_by_hand(&p);
        action_expect(run_histogram, &p, NULL, &expected);
        table_free(&expected);
    }
    p = (struct plan){{.table = &reals, .maps = 3}, {0, 0.25, 3, 12.25}, 3};
    struct table expected = histogram_by_hand(&p);
    action_expect(run_histogram, &p, NULL, &expected);
    table_free(&expected);
    table_free(&reals);
    table_free(&t);
}

/* `expected`: of (bound, count), as run_even returns them. */
static void expect_even(const struct table *values, uint32_t buckets, struct table expected)
{
    struct table copy = *values;
    for (uint32_t maps = 1; maps < 5; maps++) {
        struct plan p = {.in = {.table = &copy, .maps = maps}, .buckets = buckets};
        action_expect(run_even, &p, NULL, &expected);
    }
    table_free(&expected);
}

static struct table even_table(enum glint_type type, const union glint_value *bounds,
                               const int64_t *counts, uint32_t buckets)
{
    struct table t = {.schema = {type, GLINT_I64}};
    for (uint32_t i = 0; i <= buckets; i++)
        table_add(&t, bounds[i], number(i < buckets ? counts[i] : -1));
    return t;
}

/* The counts are those of PySpark 3.5. */
Test(statistics, even_buckets_of_integers)
{
    const int64_t large = INT64_C(1) << 60;
    struct table t = {.schema = {GLINT_NONE, GLINT_I64}}, near = t, far = t, edge = t, same = t;
    for (int i = 0; i <= 100; i++) table_add(&t, none(), number(i - 20));
    for (int i = 0; i <= 10; i++) table_add(&near, none(), number(large + i));
    for (int i = -1; i <= 1; i++) table_add(&far, none(), number(i * INT64_MAX));
    table_add(&far, none(), number(-2));
    const int64_t edges[] = {0, large - 65, large - 64, large - 1, 2 * large};
    for (int i = 0; i < 5; i++) table_add(&edge, none(), number(edges[i]));
    for (int i = 0; i < 7; i++) table_add(&same, none(), number(large + 1));
    expect_even(&t, 4,
                even_table(GLINT_I64,
                           (union glint_value[]){number(-20), number(5), number(30), number(55),
                                                 number(80)},
                           (int64_t[]){25, 25, 25, 26}, 4));
    expect_even(&t, 3,
                even_table(GLINT_F64,
                           (union glint_value[]){real(-20), real(100 / 3. - 20),
                                                 real(2 * (100 / 3.) - 20), real(80)},
                           (int64_t[]){34, 33, 34}, 3));
    expect_even(
        &near, 5,
        even_table(GLINT_I64,
                   (union glint_value[]){number(large), number(large + 2), number(large + 4),
                                         number(large + 6), number(large + 8), number(large + 10)},
                   (int64_t[]){2, 2, 2, 2, 3}, 5));
    const double rounded = (double)large; /* all bounds are equal, but values are counted */
    expect_even(&near, 4,
                even_table(GLINT_F64,
                           (union glint_value[]){real(rounded), real(rounded), real(rounded),
                                                 real(rounded), real(rounded)},
                           (int64_t[]){3, 2, 3, 3}, 4));
    /* The quotients of values just below a bound are rounded up to it. */
    expect_even(&edge, 2,
                even_table(GLINT_I64,
                           (union glint_value[]){number(0), number(large), number(2 * large)},
                           (int64_t[]){2, 3}, 2));
    expect_even(&far, 2,
                even_table(GLINT_F64, (union glint_value[]){real(-0x1p63), real(0), real(0x1p63)},
                           (int64_t[]){1, 3}, 2));
    expect_even(&same, 4,
                even_table(GLINT_I64, (union glint_value[]){number(large + 1), number(large + 1)},
                           (int64_t[]){7}, 1));
    table_free(&t);
    table_free(&near);
    table_free(&far);
    table_free(&edge);
    table_free(&same);
}

Test(statistics, even_buckets_of_doubles)
{
    struct table near = {.schema = {GLINT_NONE, GLINT_F64}}, odd = near, tiny = near;
    const double ulp = 0x1p-52;
    for (int i = 0; i <= 4; i++) table_add(&near, none(), real(1 + i * ulp));
    table_add(&near, none(), real(NAN));
    table_add(&odd, none(), real(-INFINITY));
    for (int i = 0; i < 4; i++) table_add(&tiny, none(), real(i % 2 * 0x1p-1074));
    expect_even(&near, 2,
                even_table(GLINT_F64,
                           (union glint_value[]){real(1), real(1 + 2 * ulp), real(1 + 4 * ulp)},
                           (int64_t[]){2, 3}, 2));
    expect_even(
        &near, 8, /* half a unit wide: every second bucket is empty */
        even_table(GLINT_F64,
                   (union glint_value[]){real(1), real(1), real(1 + ulp), real(1 + 2 * ulp),
                                         real(1 + 2 * ulp), real(1 + 2 * ulp), real(1 + 3 * ulp),
                                         real(1 + 4 * ulp), real(1 + 4 * ulp)},
                   (int64_t[]){1, 0, 1, 0, 1, 0, 1, 1}, 8));
    expect_even(&odd, 3,
                even_table(GLINT_F64, (union glint_value[]){real(-INFINITY), real(-INFINITY)},
                           (int64_t[]){1}, 1));
    table_add(&odd, none(), real(3));
    expect_even(
        &odd, 1,
        even_table(GLINT_F64, (union glint_value[]){real(-INFINITY), real(3)}, (int64_t[]){2}, 1));
    expect_even(&tiny, 2, /* the width is zero in double precision */
                even_table(GLINT_F64, (union glint_value[]){real(0), real(0), real(0x1p-1074)},
                           (int64_t[]){2, 2}, 2));
    table_free(&near);
    table_free(&odd);
    table_free(&tiny);
}

/* A bound is compared with all digits of an integer. */
Test(statistics, bounds_of_integers_are_exact)
{
    const int64_t large = INT64_C(1) << 53;
    struct table t = {.schema = {GLINT_NONE, GLINT_I64}};
    table_add(&t, none(), number(INT64_MIN));
    for (int i = 0; i < 4; i++) table_add(&t, none(), number(large + i));
    for (int i = 2; i < 4; i++) table_add(&t, none(), number(i));
    table_add(&t, none(), number(INT64_MAX));
    struct plan p = {{.table = &t, .maps = 2}, {(double)large, (double)large + 2}, 1};
    struct table expected = {.schema = {GLINT_F64, GLINT_I64}};
    table_add(&expected, real((double)large), number(3));
    action_expect(run_histogram, &p, NULL, &expected);
    table_free(&expected);
    p = (struct plan){{.table = &t, .maps = 2}, {-1e300, -0x1p63, 0x1p53 + 2, 0x1p63, 1e300}, 4};
    expected = (struct table){.schema = {GLINT_F64, GLINT_I64}};
    const int64_t counts[] = {0, 5, 3, 0};
    for (int i = 0; i < 4; i++) table_add(&expected, real(p.bounds[i]), number(counts[i]));
    action_expect(run_histogram, &p, NULL, &expected);
    table_free(&expected);
    p = (struct plan){{.table = &t, .maps = 2}, {-1e300, 2.5}, 1};
    expected = (struct table){.schema = {GLINT_F64, GLINT_I64}};
    table_add(&expected, real(-1e300), number(2));
    action_expect(run_histogram, &p, NULL, &expected);
    table_free(&expected);
    table_free(&t);
}

static int run_stats(struct glint *g, void *arg, struct glint_rows *out)
{
    struct glint_stats s;
    (void)out;
    return glint_stats(input_rdd(g, arg), &s);
}

Test(statistics, errors_are_reported)
{
    struct table texts = {.schema = {GLINT_NONE, GLINT_TEXT}};
    struct table empty = {.schema = {GLINT_NONE, GLINT_F64}};
    struct table odd = {.schema = {GLINT_NONE, GLINT_F64}};
    table_add(&texts, none(), text("1"));
    table_add(&odd, none(), real(INFINITY));
    table_add(&odd, none(), real(0));
    struct plan p = {{.table = &texts, .maps = 2}, {0, 1}, 1};
    action_expect_error(run_stats, &p.in, NULL, GLINT_E_PLAN_TYPE, "stats needs numbers");
    action_expect_error(run_histogram, &p, NULL, GLINT_E_PLAN_TYPE, "histogram needs numbers");
    action_expect_error(run_even, &p, NULL, GLINT_E_PLAN_TYPE, "histogram needs numbers");
    p.in.table = &empty;
    action_expect_error(run_even, &p, NULL, GLINT_E_EMPTY_COLLECTION, "histogram of an empty");
    p.in.table = &odd;
    p.buckets = 2;
    action_expect_error(run_even, &p, NULL, GLINT_E_BAD_VALUE, "from 0 to inf");
    static const double bad[][3] = {{1, 0, 2}, {1, 1, 2}, {NAN, 1, 2}, {0, NAN, 2}, {0, 1, NAN}};
    for (int i = 0; i < 5; i++) {
        memcpy(p.bounds, bad[i], sizeof bad[i]);
        p.buckets = 2;
        action_expect_error(run_histogram, &p, NULL, GLINT_E_BAD_VALUE, "do not ascend");
    }
    p.buckets = 0;
    action_expect_error(run_histogram, &p, NULL, GLINT_E_BAD_VALUE, "0 buckets");
    table_free(&texts);
    table_free(&odd);
}

Test(statistics, out_of_memory_fails_cleanly_or_is_retried)
{
    struct table t = make_numbers(300, 1);
    struct plan p = {{.table = &t, .maps = 2}, {0}, 4};
    action_expect_no_memory(run_even, &p);
    table_free(&t);
}

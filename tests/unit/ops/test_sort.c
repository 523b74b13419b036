/* sortByKey and sortBy: the order is right and stable, partitions are ranges of similar size, and
 * the rows read for the sample are not counted. */
#include "tests/unit/ops/actions.h"

#include <math.h>
#include <stdio.h>

TestSuite(sort_by_key, .init = scratch_open, .fini = scratch_close);

static struct glint_rdd *make_sort(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_partitions(glint_sort_by_key(input_rdd(g, in), in->count == 0),
                                 in->partitions);
}

static struct glint_rdd *make_sort_by(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_partitions(
        glint_sort_by(input_rdd(g, in), fn(in->function), NULL, in->count == 0), in->partitions);
}

/* Descending: keys in reverse order, rows with equal keys in their original order. */
static struct table sorted_of(const struct table *t, bool descending)
{
    struct table up = table_part(t, 0, t->count), down = {.schema = t->schema};
    table_by_hash(&up, 1);
    if (!descending) return up;
    const struct glint_schema key = {t->schema.key, GLINT_NONE};
    for (uint64_t end = up.count; end > 0;) {
        uint64_t first = end - 1;
        while (first > 0 && record_compare(key, &up.rows[first - 1], &up.rows[end - 1]) == 0)
            first--;
        for (uint64_t i = first; i < end; i++) table_add(&down, up.rows[i].key, up.rows[i].value);
        end = first;
    }
    table_free(&up);
    return down;
}

static void try_all(struct table *t)
{
    static const uint32_t maps[] = {1, 2, 9}, partitions[] = {1, 2, 8, 50};
    for (int descending = 0; descending < 2; descending++) {
        struct table expected = sorted_of(t, descending != 0);
        for (int m = 0; m < 3; m++) {
            for (int p = 0; p < 4; p++) {
                struct input in = {.table = t,
                                   .maps = maps[m],
                                   .partitions = partitions[p],
                                   .count = (uint64_t)descending};
                plan_expect(make_sort, &in, NULL, &expected);
            }
        }
        table_free(&expected);
    }
}

Test(sort_by_key, texts_are_sorted)
{
    struct table t = make_pairs(3000, 500, 1);
    try_all(&t);
    table_free(&t);
}

Test(sort_by_key, numbers_are_sorted)
{
    struct table t = {.schema = {GLINT_I64, GLINT_I64}},
                 doubles = {.schema = {GLINT_F64, GLINT_I64}};
    static const double special[] = {INFINITY, -INFINITY, NAN, 0.0, -1e-300, 1e300};
    uint64_t seed = 5;
    for (int i = 0; i < 3000; i++) {
        const int64_t key = (int64_t)(test_next(&seed) % 4001) - 2000;
        table_add(&t, number(key), number(i));
        table_add(&doubles, real(i % 100 < 6 ? special[i % 100] : (double)key / 7), number(i));
    }
    try_all(&t);
    try_all(&doubles);
    table_free(&t);
    table_free(&doubles);
}

/* Few keys, one key, no keys: there may be fewer ranges than partitions. */
Test(sort_by_key, few_keys_are_sorted)
{
    struct table t = make_pairs(1000, 3, 1), one = make_pairs(500, 1, 1);
    struct table nothing = {.schema = {GLINT_TEXT, GLINT_I64}};
    try_all(&t);
    try_all(&one);
    try_all(&nothing);
    table_free(&t);
    table_free(&one);
}

/* Bounds are truncated to 1,024 bytes: keys with a longer common prefix share a partition, in
 * order. */
Test(sort_by_key, long_keys_are_sorted)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_I64}};
    char key[3000];
    uint64_t seed = 5;
    for (int i = 0; i < 800; i++) {
        const uint64_t same = i % 2 == 0 ? 100 : 2000;
        memset(key, 'x', sizeof key);
        snprintf(key + same, 20, "%llu", (unsigned long long)(test_next(&seed) % 100000));
        table_add(&t, bytes(key, same + 8), number(i));
    }
    try_all(&t);
    table_free(&t);
}

Test(sort_by_key, sort_by_uses_function_result_as_key)
{
    struct table t = make_numbers(3000, 1), keyed = {.schema = {GLINT_I64, GLINT_I64}};
    for (uint64_t i = 0; i < t.count; i++)
        table_add(&keyed, number(-t.rows[i].value.i64 / 16), t.rows[i].value);
    for (uint64_t descending = 0; descending < 2; descending++) {
        struct table sorted = sorted_of(&keyed, descending != 0), expected = {.schema = t.schema};
        for (uint64_t i = 0; i < sorted.count; i++)
            table_add(&expected, none(), sorted.rows[i].value);
        for (uint32_t partitions = 1; partitions < 10; partitions += 4) {
            struct input in = {.table = &t,
                               .maps = 4,
                               .partitions = partitions,
                               .function = "red.negative",
                               .count = descending};
            plan_expect(make_sort_by, &in, NULL, &expected);
        }
        table_free(&sorted);
        table_free(&expected);
    }
    table_free(&t);
    table_free(&keyed);
}

/* Sets sizes[] to the number of rows of each partition. */
static void sizes_of(struct glint_rdd *rdd, uint32_t partitions, int64_t *sizes)
{
    struct glint_rows rows;
    memset(sizes, 0, sizeof *sizes * partitions);
    struct glint_rdd *indexes =
        glint_map_partitions_with_index(glint_values(rdd), fn("red.index"), NULL);
    cr_assert_eq(glint_count_by_value(indexes, &rows), 0, "%s",
                 glint_error(glint_context(rdd))->cause);
    for (uint64_t i = 0; i < rows.count; i++) {
        const struct glint_record r = glint_rows_at(&rows, i);
        sizes[r.key.i64] = r.value.i64;
    }
    glint_rows_free(&rows);
}

/* Map partitions may contain very different ranges and numbers of rows: the first one has three
 * quarters of them. */
Test(sort_by_key, partitions_have_similar_sizes)
{
    struct table most = make_pairs(60000, 50000, 1), rest = make_pairs(20000, 3000, 2);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct glint_rdd *in =
            glint_union(glint_parallelize(g, most.schema, most.rows, most.count, 1),
                        glint_parallelize(g, rest.schema, rest.rows, rest.count, 15));
        int64_t sizes[10];
        sizes_of(glint_with_partitions(glint_sort_by_key(in, true), 10), 10, sizes);
        for (int p = 0; p < 10; p++) {
            cr_expect_gt(sizes[p], 4000, "partition %d has %lld rows", p, (long long)sizes[p]);
            cr_expect_lt(sizes[p], 13000, "partition %d has %lld rows", p, (long long)sizes[p]);
        }
        fixture_close(g, GLINT_OK);
    }
    table_free(&most);
    table_free(&rest);
}

/* The sample runs as a separate stage whose rows are not counted; the shuffle that it reads runs
 * only once. */
Test(sort_by_key, sample_is_a_stage_that_counts_no_rows)
{
    struct table t = make_pairs(4000, 300, 1);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct glint_rdd *in = glint_parallelize(g, t.schema, t.rows, t.count, 4);
        struct glint_rdd *sums = glint_reduce_by_key(in, fn("red.sum"), NULL);
        struct glint_rdd *once = glint_with_partitions(glint_sort_by_key(in, true), 5);
        struct glint_rdd *twice = glint_with_partitions(glint_sort_by_key(sums, true), 5);
        struct glint_summary before, after;
        int64_t n;
        before = *glint_summarize(g);
        cr_assert_eq(glint_count(once, &n), 0);
        cr_assert_eq(n, 4000);
        cr_assert_eq(glint_counter_value(g, "rows read"), 4000);
        after = *glint_summarize(g);
        cr_assert_eq(after.stage_count - before.stage_count, 3);
        cr_assert_eq(glint_count(twice, &n), 0);
        cr_assert_eq(n, 300);
        cr_assert_eq(glint_counter_value(g, "rows read"), 8000);
        after = *glint_summarize(g);
        cr_assert_eq(after.stage_count - before.stage_count, 7);
        /* A second action neither samples nor shuffles again. */
        cr_assert_eq(glint_count(twice, &n), 0);
        cr_assert_eq(glint_counter_value(g, "rows read"), 8000);
        fixture_close(g, GLINT_OK);
    }
    table_free(&t);
}

/* A sort of a sorted RDD; both are sampled. */
static struct glint_rdd *make_nested(struct glint *g, void *arg)
{
    const struct input *in = arg;
    struct glint_rdd *down =
        glint_with_partitions(glint_sort_by_key(input_rdd(g, in), false), in->partitions);
    return glint_with_partitions(glint_sort_by_key(down, true), in->partitions + 1);
}

Test(sort_by_key, sort_of_a_sort_is_sorted)
{
    struct table t = make_pairs(2000, 300, 1), expected = sorted_of(&t, false);
    struct input in = {.table = &t, .maps = 3, .partitions = 4};
    plan_expect(make_nested, &in, NULL, &expected);
    table_free(&t);
    table_free(&expected);
}

static int run_spilled(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct input *in = arg;
    struct glint_rdd *rdd = glint_map_partitions(input_rdd(g, in), fn("red.many"), NULL);
    return glint_collect(glint_with_partitions(glint_sort_by_key(rdd, in->count == 0), 3), out);
}

Test(sort_by_key, spilled_rows_are_sorted)
{
    struct table seeds = {.schema = {GLINT_NONE, GLINT_I64}};
    for (int i = 0; i < 2; i++) table_add(&seeds, none(), number(i));
    for (uint64_t descending = 0; descending < 2; descending++) {
        struct input in = {.table = &seeds, .maps = 2, .count = descending};
        for (const struct fixture *w = tight_fixtures; w->name != NULL; w++) {
            struct glint *g = fixture_open(w);
            struct glint_rows rows;
            cr_assert_eq(run_spilled(g, &in, &rows), 0);
            cr_assert_eq(rows.count, 300000);
            cr_expect_gt(glint_counter_value(g, "spills"), 0);
            const struct glint_schema key = {rows.schema.key, GLINT_NONE};
            for (uint64_t i = 1; i < rows.count; i++) {
                const struct glint_record a = glint_rows_at(&rows, i - 1),
                                          b = glint_rows_at(&rows, i);
                const int c = record_compare(key, &a, &b);
                cr_assert(descending ? c >= 0 : c <= 0, "row %llu", (unsigned long long)i);
            }
            glint_rows_free(&rows);
            fixture_close(g, GLINT_OK);
        }
    }
    table_free(&seeds);
}

static struct glint_rdd *make_failing(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_partitions(
        glint_sort_by_key(glint_map(input_rdd(g, in), fn("test.fail"), NULL), true), 3);
}

/* By the keys of another RDD of the same records. */
static struct glint_rdd *make_sampled_sort(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_sample(make_sort(g, arg), input_rdd(g, in));
}

Test(sort_by_key, a_sample_of_another_rdd_chooses_the_ranges)
{
    struct table t = make_pairs(3000, 500, 1), expected = sorted_of(&t, false);
    struct input in = {.table = &t, .maps = 9, .partitions = 8};
    plan_expect(make_sampled_sort, &in, NULL, &expected);
    table_free(&expected);
    table_free(&t);
}

static struct glint_rdd *make_sample_of_no_sort(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_sample(input_rdd(g, in), input_rdd(g, in));
}

Test(sort_by_key, misuse_and_failure_are_errors)
{
    struct table t = make_numbers(10, 1), pairs = make_pairs(10, 3, 1);
    struct input in = {.table = &t, .maps = 2, .partitions = 3, .function = "red.unknown"};
    plan_expect_error(make_sort, &in, NULL, GLINT_E_PLAN_TYPE, "sortByKey needs keys");
    plan_expect_error(make_sort_by, &in, NULL, GLINT_E_PLAN_FUNCTION, "red.unknown");
    plan_expect_error(make_failing, &in, NULL, GLINT_E_FUNCTION_FAILED, "as requested");
    in.table = &pairs;
    in.function = "red.negative";
    plan_expect_error(make_sample_of_no_sort, &in, NULL, GLINT_E_PLAN_TYPE,
                      "withSample needs a sortByKey");
    plan_expect_error(make_sort_by, &in, NULL, GLINT_E_PLAN_TYPE, "");
    table_free(&t);
    table_free(&pairs);
}

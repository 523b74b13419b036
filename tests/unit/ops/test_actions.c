/* count, sum, countByKey, countByValue, collectAsMap, lookup and foreach, compared with plain
 * loops. */
#include "tests/unit/ops/actions.h"

#include <math.h>
#include <stdio.h>

TestSuite(actions, .init = scratch_open, .fini = scratch_close);

static const uint32_t maps_tried[] = {1, 3, 50};

Test(actions, count_returns_number_of_rows)
{
    struct table t = make_pairs(5000, 50, 1);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        for (int m = 0; m < 3; m++) {
            struct glint *g = fixture_open(w);
            int64_t n = -1;
            cr_assert_eq(
                glint_count(glint_parallelize(g, t.schema, t.rows, 5000, maps_tried[m]), &n), 0);
            cr_assert_eq(n, 5000);
            cr_assert_eq(glint_count(glint_parallelize(g, t.schema, NULL, 0, maps_tried[m]), &n),
                         0);
            cr_assert_eq(n, 0);
            fixture_close(g, GLINT_OK);
        }
    }
    table_free(&t);
}

/* Without lines the file may have no partition, or empty ones. */
Test(actions, empty_file_has_no_rows)
{
    char path[PATH_BYTES];
    scratch_write("empty", "", 0);
    struct glint *g = fixture_open(&fixtures[0]);
    struct glint_rdd *lines = glint_text_file(g, scratch_path("empty", path));
    struct glint_rows rows;
    int64_t n = -1;
    bool empty = false;
    cr_assert_eq(glint_count(lines, &n), 0);
    cr_assert_eq(n, 0);
    cr_assert_eq(glint_is_empty(lines, &empty), 0);
    cr_assert(empty);
    cr_assert_eq(glint_take(lines, 3, &rows), 0);
    cr_assert_eq(rows.count, 0);
    cr_assert_eq(glint_count_by_value(lines, &rows), 0);
    cr_assert_eq(rows.count, 0);
    cr_assert_eq(glint_top(lines, 3, &rows), 0);
    cr_assert_eq(rows.count, 0);
    cr_assert_eq(glint_count(glint_distinct(lines), &n), 0);
    cr_assert_eq(n, 0);
    struct glint_rdd *sorted =
        glint_sort_by_key(glint_key_by(lines, fn("test.length"), NULL), true);
    cr_assert_eq(glint_count(glint_with_partitions(sorted, 5), &n), 0);
    cr_assert_eq(n, 0);
    fixture_close(g, GLINT_OK);
}

Test(actions, sum_adds_partitions_in_order)
{
    struct table t = make_numbers(5000, 1), doubles = {.schema = {GLINT_I64, GLINT_F64}};
    int64_t sum = 0;
    for (uint64_t i = 0; i < t.count; i++) {
        sum += t.rows[i].value.i64;
        table_add(&doubles, number(1), real(1.0 / (double)(i + 1)));
    }
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        for (int m = 0; m < 3; m++) {
            const uint32_t maps = maps_tried[m];
            struct glint *g = fixture_open(w);
            union glint_value v;
            cr_assert_eq(glint_sum(glint_parallelize(g, t.schema, t.rows, t.count, maps), &v), 0);
            cr_assert_eq(v.i64, sum);
            double in_order = 0;
            for (uint32_t p = 0; p < maps; p++) {
                double part = 0;
                for (uint64_t i = 5000 * p / maps; i < 5000 * (p + 1) / maps; i++)
                    part += doubles.rows[i].value.f64;
                in_order += part;
            }
            cr_assert_eq(
                glint_sum(glint_parallelize(g, doubles.schema, doubles.rows, 5000, maps), &v), 0);
            cr_assert_eq(v.f64, in_order);
            cr_assert_eq(glint_sum(glint_parallelize(g, doubles.schema, NULL, 0, maps), &v), 0);
            cr_assert(v.f64 == 0 && !signbit(v.f64));
            fixture_close(g, GLINT_OK);
        }
    }
    table_free(&t);
    table_free(&doubles);
}

static int run_sum(struct glint *g, void *arg, struct glint_rows *out)
{
    union glint_value v;
    (void)out;
    return glint_sum(input_rdd(g, arg), &v);
}

Test(actions, sum_of_many_bits_is_an_error_or_wide)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_I64}};
    table_add(&t, none(), number(INT64_MAX));
    table_add(&t, none(), number(2));
    struct input in = {.table = &t, .maps = 2};
    action_expect_error(run_sum, &in, NULL, GLINT_E_VALUE_LIMIT, "between -2^63");
    struct glint *g = fixture_open(&fixtures[0]);
    struct glint_rdd *rdd = glint_parallelize(g, t.schema, t.rows, 2, 2);
    struct glint_wide_sum wide;
    cr_assert_eq(glint_wide_sum(rdd, &wide), 0);
    cr_expect(wide.high == 0 && wide.low == (UINT64_C(1) << 63) + 1);
    cr_assert_eq(glint_wide_sum(glint_range(g, INT64_MIN, INT64_MIN + 3, 1, 2), &wide), 0);
    cr_expect(wide.high == -2 && wide.low == (UINT64_C(1) << 63) + 3);
    fixture_close(g, GLINT_OK);
    table_free(&t);
}

/* ---- By key */

static int run_count_by_key(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_count_by_key(input_rdd(g, arg), out);
}

static int run_count_by_value(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_count_by_value(input_rdd(g, arg), out);
}

static int run_map(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_collect_as_map(input_rdd(g, arg), out);
}

/* From sorted rows: one row per key, with the number of its rows, or with its last value. */
static struct table per_key(const struct table *sorted, bool counts)
{
    struct table t = {.schema = sorted->schema};
    if (counts) t.schema.value = GLINT_I64;
    int64_t n = 0;
    for (uint64_t i = 0; i < sorted->count; i++) {
        const struct glint_record *r = &sorted->rows[i];
        n++;
        const struct glint_slice *next = i + 1 < sorted->count ? &r[1].key.bytes : NULL;
        if (next != NULL && next->size == r->key.bytes.size &&
            memcmp(next->data, r->key.bytes.data, next->size) == 0)
            continue;
        table_add(&t, r->key, counts ? number(n) : r->value);
        n = 0;
    }
    return t;
}

Test(actions, count_by_key_and_collect_as_map_equal_loop)
{
    struct table t = make_pairs(5000, 300, 1), sorted = table_part(&t, 0, t.count);
    table_by_hash(&sorted, 1);
    struct table counts = per_key(&sorted, true), map = per_key(&sorted, false);
    cr_assert_gt(counts.count, 250);
    for (int m = 0; m < 3; m++) {
        for (uint32_t partitions = 1; partitions < 10; partitions += 4) {
            const struct fixture base = {.partitions = partitions};
            struct input in = {.table = &t, .maps = maps_tried[m]};
            action_expect(run_count_by_key, &in, &base, &counts);
            action_expect(run_map, &in, &base, &map);
        }
    }
    table_free(&t);
    table_free(&sorted);
    table_free(&counts);
    table_free(&map);
}

Test(actions, count_by_value_merges_zeros_and_nans)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_F64}};
    struct table counts = {.schema = {GLINT_F64, GLINT_I64}};
    for (int i = 0; i < 3000; i++) table_add(&t, none(), real(i % 7 - 3.5));
    for (int i = 0; i < 7; i++) table_add(&counts, real(i - 3.5), number(i < 4 ? 429 : 428));
    table_add(&t, none(), real(-0.0));
    table_add(&t, none(), real(0.0));
    table_add(&t, none(), real(-NAN));
    table_add(&t, none(), real(NAN));
    table_add(&counts, real(0.0), number(2));
    table_by_hash(&counts, 1);
    struct input in = {.table = &t, .maps = 4};
    table_add(&counts, real(NAN), number(2));
    action_expect(run_count_by_value, &in, NULL, &counts);
    struct table nothing = {.schema = t.schema}, no_counts = {.schema = counts.schema};
    in.table = &nothing;
    action_expect(run_count_by_value, &in, NULL, &no_counts);
    table_free(&t);
    table_free(&counts);
}

Test(actions, wrong_schema_is_rejected)
{
    struct table elements = make_numbers(5, 1), pairs = make_pairs(5, 2, 1);
    struct table texts = {.schema = {GLINT_NONE, GLINT_TEXT}};
    struct input in = {.table = &elements, .maps = 1};
    action_expect_error(run_count_by_key, &in, NULL, GLINT_E_PLAN_TYPE, "countByKey needs keys");
    action_expect_error(run_map, &in, NULL, GLINT_E_PLAN_TYPE, "collectAsMap needs keys");
    in.table = &pairs;
    action_expect_error(run_count_by_value, &in, NULL, GLINT_E_PLAN_TYPE, "single elements");
    in.table = &texts;
    action_expect_error(run_sum, &in, NULL, GLINT_E_PLAN_TYPE, "the values are text");
    table_free(&elements);
    table_free(&pairs);
}

/* ---- lookup */

struct search {
    struct input in;
    union glint_value key;
    bool partitioned;
};

static int run_lookup(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct search *s = arg;
    struct glint_rdd *rdd = input_rdd(g, &s->in);
    if (s->partitioned) rdd = glint_partition_by(rdd, s->in.partitions);
    return glint_lookup(rdd, s->key, out);
}

Test(actions, lookup_returns_values_of_key)
{
    struct table t = make_pairs(2000, 20, 1);
    for (int k = 0; k <= 20; k += 5) {
        char key[8];
        const int size = snprintf(key, sizeof key, "k%d", k);
        struct table found = {.schema = {GLINT_NONE, GLINT_I64}};
        for (uint64_t i = 0; i < t.count; i++) {
            const struct glint_slice s = t.rows[i].key.bytes;
            if (s.size == (uint64_t)size && memcmp(s.data, key, s.size) == 0)
                table_add(&found, none(), t.rows[i].value);
        }
        cr_assert_eq(found.count == 0, k == 20);
        struct search s = {
            {.table = &t, .maps = 7, .partitions = 9}, bytes(key, (uint64_t)size), false};
        action_expect(run_lookup, &s, NULL, &found);
        s.partitioned = true;
        action_expect(run_lookup, &s, NULL, &found);
        s.in.partitions = 1;
        action_expect(run_lookup, &s, NULL, &found);
        table_free(&found);
    }
    struct table elements = make_numbers(5, 1);
    struct search s = {{.table = &elements, .maps = 1}, number(1), false};
    action_expect_error(run_lookup, &s, NULL, GLINT_E_PLAN_TYPE, "lookup needs keys");
    table_free(&elements);
    table_free(&t);
}

/* If the RDD is partitioned by key, lookup runs one task; a filter in between changes nothing. */
Test(actions, lookup_reads_one_partition)
{
    struct table t = make_pairs(2000, 20, 1);
    struct glint *g = fixture_open(&fixtures[1]);
    struct glint_summary before, after;
    struct glint_rows rows;
    struct glint_rdd *rdd = glint_parallelize(g, t.schema, t.rows, t.count, 7);
    struct glint_rdd *spread = glint_partition_by(rdd, 9);
    cr_assert_eq(glint_lookup(spread, text("k1"), &rows), 0);
    glint_rows_free(&rows);
    before = *glint_summarize(g);
    cr_assert_eq(glint_lookup(spread, text("k3"), &rows), 0);
    glint_rows_free(&rows);
    after = *glint_summarize(g);
    cr_assert_eq(after.tasks - before.tasks, 1);
    before.tasks = after.tasks;
    cr_assert_eq(glint_lookup(rdd, text("k3"), &rows), 0);
    glint_rows_free(&rows);
    after = *glint_summarize(g);
    cr_assert_eq(after.tasks - before.tasks, 7);
    fixture_close(g, GLINT_OK);
    table_free(&t);
}

/* ---- foreach */

static int run_foreach(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct input *in = arg;
    (void)out;
    return glint_foreach(input_rdd(g, in), fn(in->function), NULL);
}

Test(actions, foreach_visits_every_row)
{
    struct table t = make_pairs(5000, 20, 1);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        for (int m = 0; m < 3; m++) {
            struct glint *g = fixture_open(w);
            struct glint_rdd *rdd = glint_parallelize(g, t.schema, t.rows, 5000, maps_tried[m]);
            cr_assert_eq(glint_foreach(rdd, fn("red.visit"), NULL), 0);
            cr_assert_eq(glint_counter_value(g, "visited"), 5000);
            cr_assert_eq(glint_counter_value(g, "ended"), maps_tried[m]);
            cr_assert_eq(glint_foreach(rdd, fn("red.visit_batch"), NULL), 0);
            cr_assert_eq(glint_counter_value(g, "visited"), 10000);
            fixture_close(g, GLINT_OK);
        }
    }
    struct input in = {.table = &t, .maps = 3, .function = "red.visit_emits"};
    action_expect_error(run_foreach, &in, NULL, GLINT_E_FUNCTION_FAILED, "in foreach");
    in.function = "red.visit_emits_late";
    action_expect_error(run_foreach, &in, NULL, GLINT_E_FUNCTION_FAILED, "in foreach");
    in.function = "red.modulo";
    action_expect_error(run_foreach, &in, NULL, GLINT_E_PLAN_FUNCTION, "does not accept");
    in.function = "red.unknown";
    action_expect_error(run_foreach, &in, NULL, GLINT_E_PLAN_FUNCTION, "red.unknown");
    table_free(&t);
}

/* ---- Limits and memory */

static int run_collect(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_collect(input_rdd(g, arg), out);
}

static int run_top_many(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_top(input_rdd(g, arg), 100000, out);
}

static int run_take_many(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_take(input_rdd(g, arg), 100000, out);
}

/* Either a single partition is too large, or only all of them together. */
Test(actions, result_over_limit_is_rejected)
{
    struct table t = make_pairs(10000, 50, 1);
    const struct fixture small = {.result_bytes_max = 100000}, smaller = {.result_bytes_max = 1000};
    struct input in = {.table = &t};
    for (in.maps = 1; in.maps <= 64; in.maps += 63) {
        const struct fixture *const bases[] = {&small, &smaller};
        for (int b = 0; b < 2; b++) {
            action_expect_error(run_collect, &in, bases[b], GLINT_E_RESULT_LIMIT, "exceed 1000");
            action_expect_error(run_map, &in, bases[b], GLINT_E_RESULT_LIMIT, "exceed 1000");
            action_expect_error(run_top_many, &in, bases[b], GLINT_E_RESULT_LIMIT, "exceed 1000");
            action_expect_error(run_take_many, &in, bases[b], GLINT_E_RESULT_LIMIT, "exceed 1000");
        }
    }
    table_free(&t);
}

/* Runs the step with that number, one action each. Returns false if there is no such step. */
static bool run_step(struct glint *g, struct table *t, int step)
{
    struct glint_rdd *rdd = glint_parallelize(g, t->schema, t->rows, t->count, 3);
    struct glint_rdd *sorted = glint_with_partitions(glint_sort_by_key(rdd, true), 3);
    const union glint_value zero = number(0), empty = text("");
    struct glint_rows rows = {.count = 0};
    union glint_value v;
    int64_t n;
    switch (step) {
    case 0: glint_count(rdd, &n); break;
    case 1: glint_sum(rdd, &v); break;
    case 2: glint_take(rdd, 150, &rows); break;
    case 3: glint_top(rdd, 100, &rows); break;
    case 4: glint_count_by_key(rdd, &rows); break;
    case 5: glint_collect_as_map(rdd, &rows); break;
    case 6: glint_reduce(rdd, fn("red.sum"), NULL, &rows); break;
    case 7: glint_aggregate(rdd, empty, fn("red.list"), NULL, &rows); break;
    case 8: glint_lookup(rdd, text("k1"), &rows); break;
    case 9: glint_foreach(rdd, fn("red.visit"), NULL); break;
    case 10: glint_collect(sorted, &rows); break;
    case 11: glint_collect(glint_distinct(rdd), &rows); break;
    case 12: glint_collect(glint_fold_by_key(rdd, zero, fn("red.sum"), NULL), &rows); break;
    case 13: glint_collect(glint_combine_by_key(rdd, fn("red.list"), NULL), &rows); break;
    case 14:
        glint_collect(glint_map_values(glint_group_by_key(rdd), fn("red.group"), NULL), &rows);
        break;
    case 15: glint_collect(glint_repartition(rdd, 2), &rows); break;
    default: return false;
    }
    glint_rows_free(&rows);
    return true;
}

/* The n-th allocation fails, for every n: the job either returns NO_MEMORY and leaks nothing, or
 * succeeds because a retry of the task did. */
Test(actions, out_of_memory_fails_cleanly_or_is_retried)
{
    struct table t = make_pairs(300, 20, 1);
    for (int step = 0;; step++) {
        bool known = true, done = false;
        for (int64_t n = 1; known && !done; n++) {
            struct glint *g = fixture_open(&fixtures[0]);
            const int64_t live = mem_live_blocks();
            mem_fail_at(n, n % 2 == 0);
            known = run_step(g, &t, step);
            /* Disarm the countdown, which may not have reached 0. */
            mem_fail_at(0, false);
            const enum glint_code code = glint_error(g)->code;
            cr_assert(code == GLINT_OK || code == GLINT_E_NO_MEMORY, "step %d, allocation %lld: %s",
                      step, (long long)n, glint_error(g)->cause);
            cr_assert_geq(mem_live_blocks(), live);
            done = n > 40 && code == GLINT_OK && n % 2 == 0;
            glint_finish(g);
            glint_destroy(g);
        }
        if (!known) break;
    }
    table_free(&t);
}

/* take, first and isEmpty, and how much they read; takeOrdered, top, min and max, compared with a
 * sorted table. */
#include "tests/unit/ops/actions.h"

#include <math.h>
#include <stdio.h>

TestSuite(take, .init = scratch_open, .fini = scratch_close);

static int run_take(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct input *in = arg;
    return glint_take(input_rdd(g, in), in->count, out);
}

static int run_first(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_first(input_rdd(g, arg), out);
}

Test(take, take_returns_the_first_rows)
{
    struct table t = make_pairs(3000, 50, 1);
    static const uint64_t counts[] = {0, 1, 2, 100, 1024, 1025, 2999, 3000, 100000};
    static const uint32_t maps[] = {1, 3, 64};
    for (int m = 0; m < 3; m++) {
        for (int c = 0; c < 9; c++) {
            struct input in = {.table = &t, .maps = maps[m], .count = counts[c]};
            struct table expected = table_part(&t, 0, counts[c]);
            action_expect(run_take, &in, NULL, &expected);
            table_free(&expected);
        }
    }
    table_free(&t);
}

Test(take, first_returns_one_row)
{
    struct table t = make_pairs(10, 5, 1), one = table_part(&t, 0, 1),
                 nothing = {.schema = t.schema};
    struct input in = {.table = &t, .maps = 3}, empty = {.table = &nothing, .maps = 3};
    action_expect(run_first, &in, NULL, &one);
    action_expect_error(run_first, &empty, NULL, GLINT_E_EMPTY_COLLECTION, "first");
    empty.count = 5;
    action_expect(run_take, &empty, NULL, &nothing);
    table_free(&t);
    table_free(&one);
}

/* Only the last partition has rows. */
static struct glint_rdd *late_rdd(struct glint *g, uint32_t empty, struct table *t)
{
    struct glint_rdd *none_there = glint_parallelize(g, t->schema, NULL, 0, empty);
    return glint_union(none_there, glint_parallelize(g, t->schema, t->rows, t->count, 1));
}

Test(take, is_empty_looks_at_all_partitions)
{
    struct table t = make_numbers(1, 1);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        bool empty = false;
        cr_assert_eq(glint_is_empty(glint_parallelize(g, t.schema, NULL, 0, 30), &empty), 0);
        cr_assert(empty);
        cr_assert_eq(glint_is_empty(late_rdd(g, 30, &t), &empty), 0);
        cr_assert_not(empty);
        fixture_close(g, GLINT_OK);
    }
    table_free(&t);
}

static int64_t rows_read(struct glint *g, uint64_t count, uint32_t maps, struct table *t)
{
    struct glint_rows rows;
    const int64_t before = glint_counter_value(g, "rows read");
    struct glint_rdd *rdd = glint_parallelize(g, t->schema, t->rows, t->count, maps);
    cr_assert_eq(glint_take(rdd, count, &rows), 0);
    cr_assert_eq(rows.count, count);
    glint_rows_free(&rows);
    return glint_counter_value(g, "rows read") - before;
}

/* Partitions of 10,000 rows, which the source emits in batches of 1,024. */
Test(take, take_reads_no_more_than_needed)
{
    struct table t = make_numbers(100000, 1);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        cr_expect_leq(rows_read(g, 1, 10, &t), 1025, "one batch of one partition");
        cr_expect_leq(rows_read(g, 10000, 10, &t), 10000, "one partition");
        /* First one partition. One row is missing, so 1.5 times its estimate is one more
         * partition. */
        cr_expect_leq(rows_read(g, 10001, 10, &t), 10000 + 1025, "two partitions");
        /* First 1 partition, then 4; each stops at the number of rows that are still missing. */
        cr_expect_leq(rows_read(g, 50000, 10, &t), 50000, "five partitions");
        cr_expect_eq(rows_read(g, 100000, 10, &t), 100000);
        fixture_close(g, GLINT_OK);
    }
    table_free(&t);
}

/* ---- In order */

static int run_ordered(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct input *in = arg;
    return glint_take_ordered(input_rdd(g, in), in->count, out);
}

static int run_top(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct input *in = arg;
    return glint_top(input_rdd(g, in), in->count, out);
}

static int run_min(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_min(input_rdd(g, arg), out);
}

static int run_max(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_max(input_rdd(g, arg), out);
}

static struct table reversed(const struct table *t)
{
    struct table r = {.schema = t->schema};
    for (uint64_t i = t->count; i > 0; i--) table_add(&r, t->rows[i - 1].key, t->rows[i - 1].value);
    return r;
}

static void expect_ordered(struct table *t)
{
    static const uint64_t counts[] = {0, 1, 2, 100, 1500, 100000};
    static const uint32_t maps[] = {1, 7};
    struct table up = table_part(t, 0, t->count);
    table_by_record(&up);
    struct table down = reversed(&up);
    for (int m = 0; m < 2; m++) {
        struct input in = {.table = t, .maps = maps[m]};
        for (int c = 0; c < 6; c++) {
            in.count = counts[c];
            struct table least = table_part(&up, 0, counts[c]);
            struct table most = table_part(&down, 0, counts[c]);
            action_expect(run_ordered, &in, NULL, &least);
            action_expect(run_top, &in, NULL, &most);
            if (in.count == 1) action_expect(run_min, &in, NULL, &least);
            if (in.count == 1) action_expect(run_max, &in, NULL, &most);
            table_free(&least);
            table_free(&most);
        }
    }
    table_free(&up);
    table_free(&down);
}

Test(take, take_ordered_sorts_pairs)
{
    struct table t = make_pairs(3000, 40, 1);
    expect_ordered(&t);
    table_free(&t);
}

Test(take, take_ordered_sorts_numbers)
{
    struct table t = make_numbers(3000, 2), doubles = {.schema = {GLINT_NONE, GLINT_F64}};
    expect_ordered(&t);
    for (uint64_t i = 0; i < t.count; i++)
        table_add(&doubles, none(), real((double)t.rows[i].value.i64 / 7));
    table_add(&doubles, none(), real(INFINITY));
    table_add(&doubles, none(), real(-INFINITY));
    expect_ordered(&doubles);
    table_free(&t);
    table_free(&doubles);
}

/* Texts of varying sizes, so that kept rows are replaced and moved, and their memory is compacted;
 * some exceed a batch. */
Test(take, take_ordered_sorts_texts_of_any_size)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_TEXT}};
    const uint64_t large = 2 * MIB;
    char *memory = mem_alloc(large);
    uint64_t seed = 9;
    cr_assert_not_null(memory);
    memset(memory, 'm', large);
    for (int i = 0; i < 6000; i++) {
        char head[32];
        const int n = snprintf(head, sizeof head, "%05d", 99999 - (int)(test_next(&seed) % 90000));
        memcpy(memory, head, (size_t)n);
        const uint64_t size = i % 2000 == 7 ? large : 5 + test_next(&seed) % 700;
        table_add(&t, none(), bytes(memory, size));
    }
    static const uint64_t counts[] = {1, 100, 1000};
    struct table up = table_part(&t, 0, t.count);
    table_by_record(&up);
    struct table down = reversed(&up);
    for (int c = 0; c < 3; c++) {
        struct input in = {.table = &t, .maps = 3, .count = counts[c]};
        struct table least = table_part(&up, 0, counts[c]);
        struct table most = table_part(&down, 0, counts[c]);
        action_expect(run_ordered, &in, NULL, &least);
        action_expect(run_top, &in, NULL, &most);
        table_free(&least);
        table_free(&most);
    }
    mem_free(memory);
    table_free(&t);
    table_free(&up);
    table_free(&down);
}

Test(take, empty_input_has_no_min_or_max)
{
    struct table nothing = {.schema = {GLINT_NONE, GLINT_I64}};
    struct input in = {.table = &nothing, .maps = 3, .count = 5};
    action_expect(run_ordered, &in, NULL, &nothing);
    action_expect(run_top, &in, NULL, &nothing);
    action_expect_error(run_min, &in, NULL, GLINT_E_EMPTY_COLLECTION, "min");
    action_expect_error(run_max, &in, NULL, GLINT_E_EMPTY_COLLECTION, "max");
}

Test(take, earlier_error_is_returned)
{
    struct table t = make_numbers(5, 1);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct glint_rdd *rdd = glint_parallelize(g, t.schema, t.rows, t.count, 1);
        struct glint_rows rows;
        bool empty;
        glint_abort(g, GLINT_E_BAD_VALUE, NULL, "as requested");
        cr_assert_eq(glint_take(rdd, 1, &rows), GLINT_E_BAD_VALUE);
        cr_assert_eq(glint_first(rdd, &rows), GLINT_E_BAD_VALUE);
        cr_assert_eq(glint_is_empty(rdd, &empty), GLINT_E_BAD_VALUE);
        cr_assert_eq(glint_take_ordered(rdd, 0, &rows), GLINT_E_BAD_VALUE);
        cr_assert_eq(glint_min(rdd, &rows), GLINT_E_BAD_VALUE);
        cr_assert_eq(glint_take_ordered(NULL, 1, &rows), GLINT_E_BAD_VALUE);
        cr_assert_eq(glint_take(NULL, 1, &rows), GLINT_E_BAD_VALUE);
        fixture_close(g, GLINT_E_BAD_VALUE);
    }
    table_free(&t);
}

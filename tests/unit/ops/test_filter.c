/* filter and flatMapValues: fewer or more rows, with the same keys. */
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(filter, .init = scratch_open, .fini = scratch_close);

enum { ROWS = 5000, PARTITIONS = 3 };

struct plan {
    const struct table *input;
    const char *function;
};

/* Random numbers; the keys are texts of several sizes, numbers, or none. */
static struct table make_input(enum glint_type key)
{
    struct table t = {.schema = {key, GLINT_I64}};
    uint64_t state = 11;
    for (int i = 0; i < ROWS; i++) {
        char name[32];
        const int64_t value = (int64_t)(test_next(&state) % 1000);
        snprintf(name, sizeof name, "%.*s%d", (int)(value % 20), "abcdefghijklmnopqrst", i % 300);
        table_add(&t, key == GLINT_TEXT ? text(name) : number(i % 300), number(value));
    }
    return t;
}

static struct glint_rdd *input(struct glint *g, const struct plan *p)
{
    return glint_parallelize(g, p->input->schema, p->input->rows, p->input->count, PARTITIONS);
}

static struct glint_rdd *make_filter(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return glint_filter(input(g, p), fn(p->function), NULL);
}

static const enum glint_type key_types[] = {GLINT_NONE, GLINT_I64, GLINT_TEXT};

Test(filter, row_and_batch_functions_filter_alike)
{
    static const char *const functions[] = {"test.odd", "test.odd_batch"};
    for (int k = 0; k < 3; k++) {
        struct table t = make_input(key_types[k]), expected = {.schema = t.schema};
        for (uint64_t i = 0; i < t.count; i++)
            if (t.rows[i].value.i64 % 2 != 0) table_add(&expected, t.rows[i].key, t.rows[i].value);
        for (int f = 0; f < 2; f++) {
            struct plan p = {&t, functions[f]};
            plan_expect(make_filter, &p, NULL, &expected);
        }
        table_free(&t);
        table_free(&expected);
    }
}

static struct glint_rdd *make_twice(struct glint *g, void *arg)
{
    struct plan p = *(struct plan *)arg;
    p.function = "test.odd";
    return glint_filter(make_filter(g, &p), fn("test.odd_batch"), NULL);
}

/* Filters that keep all rows, and none. */
Test(filter, all_or_no_rows_pass)
{
    struct table odd = {.schema = {GLINT_TEXT, GLINT_I64}}, even = odd, nothing = odd;
    for (int i = 0; i < 3000; i++) {
        table_add(&odd, text("key"), number(2 * i + 1));
        table_add(&even, text("key"), number(2 * i));
    }
    plan_expect(make_twice, &(struct plan){&odd, NULL}, NULL, &odd);
    plan_expect(make_twice, &(struct plan){&even, NULL}, NULL, &nothing);
    table_free(&odd);
    table_free(&even);
}

Test(filter, misuse_and_failure_are_errors)
{
    struct table t = make_input(GLINT_I64);
    struct plan p = {&t, "test.length"};
    plan_expect_error(make_filter, &p, NULL, GLINT_E_PLAN_FUNCTION, "test.length");
    p.function = "test.fail_filter";
    plan_expect_error(make_filter, &p, NULL, GLINT_E_FUNCTION_FAILED, "as requested");
    table_free(&t);
}

static struct glint_rdd *make_down(struct glint *g, void *arg)
{
    return glint_flat_map_values(input(g, arg), fn("test.down"), NULL);
}

Test(filter, flat_map_values_keeps_keys)
{
    for (int k = 1; k < 3; k++) {
        struct table t = make_input(key_types[k]), expected = {.schema = t.schema};
        for (uint64_t i = 0; i < t.count; i++)
            for (int64_t n = 0, v = t.rows[i].value.i64; n < v % 10; n++)
                table_add(&expected, t.rows[i].key, number(v - n));
        plan_expect(make_down, &(struct plan){&t, NULL}, NULL, &expected);
        table_free(&t);
        table_free(&expected);
    }
    struct table t = make_input(GLINT_NONE);
    plan_expect_error(make_down, &(struct plan){&t, NULL}, NULL, GLINT_E_PLAN_TYPE, "needs keys");
    table_free(&t);
}

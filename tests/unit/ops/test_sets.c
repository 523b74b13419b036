/* intersection and subtract, compared with nested loops for every schema; and relations between
 * them. */
#include "tests/unit/ops/join_model.h"

#include <math.h>
#include <stdio.h>

TestSuite(sets, .init = scratch_open, .fini = scratch_close);

static const enum glint_type types[] = {GLINT_NONE, GLINT_BYTES, GLINT_TEXT,
                                        GLINT_I64,  GLINT_F64,   GLINT_MSGPACK};

static uint64_t count_record(const struct table *t, const struct glint_record *r)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < t->count; i++) n += record_compare(t->schema, &t->rows[i], r) == 0;
    return n;
}

/* Returns the rows sorted by record. */
static struct table model_set(const struct sides *s, bool intersection)
{
    struct table t = {.schema = s->left.schema};
    for (uint64_t i = 0; i < s->left.count; i++) {
        const struct glint_record *r = &s->left.rows[i];
        const bool in_right = count_record(&s->right, r) > 0;
        if (intersection ? in_right && count_record(&t, r) == 0 : !in_right)
            table_add(&t, r->key, r->value);
    }
    table_by_record(&t);
    return t;
}

static int run_sorted(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_take_ordered(sides_make(g, arg), 1000000, out);
}

/* The records are as expected, and their order is the same with every fixture. */
static void expect_both(struct sides *s)
{
    for (int i = 0; i < 2; i++) {
        struct table expected = model_set(s, i == 0), first;
        s->op = i == 0 ? glint_intersection : glint_subtract;
        action_expect(run_sorted, s, NULL, &expected);
        struct glint *g = fixture_open(&fixtures[0]);
        table_collect(sides_make(g, s), &first);
        fixture_close(g, GLINT_OK);
        plan_expect(sides_make, s, NULL, &first);
        table_free(&first);
        table_free(&expected);
    }
}

/* Elements, or pairs of few different values: each record occurs several times. */
static struct sides random_sides(struct glint_schema schema, uint64_t rows, uint64_t seed)
{
    struct sides s = sides_random(schema, schema, rows, seed);
    if (schema.key == GLINT_NONE || schema.value == GLINT_NONE) return s;
    for (int side = 0; side < 2; side++) { /* adds a third of the rows of the other side */
        const struct table *from = side == 0 ? &s.left : &s.right;
        for (uint64_t i = 0; i < rows; i += 3)
            table_add(side == 0 ? &s.right : &s.left, from->rows[i].key, from->rows[i].value);
    }
    for (uint64_t i = 0; i < rows; i += 5)
        table_add(&s.left, s.left.rows[i].key, s.left.rows[i].value);
    return s;
}

Test(sets, every_schema_equals_nested_loops)
{
    for (int k = 0; k < 6; k++)
        for (int v = 0; v < 6; v++) {
            if (k == 0 && v == 0) continue;
            const struct glint_schema schema = {types[k], types[v]};
            struct sides s = random_sides(schema, 150, (uint64_t)(10 * k + v));
            expect_both(&s);
            sides_free(&s);
        }
}

Test(sets, any_partitioning_equals_nested_loops)
{
    const struct glint_schema schema = {GLINT_NONE, GLINT_TEXT};
    struct sides s = random_sides(schema, 500, 3);
    for (s.left_maps = 1; s.left_maps < 150; s.left_maps += 140)
        for (s.partitions = 1; s.partitions < 12; s.partitions += 10) expect_both(&s);
    const struct table left = s.left;
    s.left = (struct table){.schema = schema};
    expect_both(&s);
    table_free(&s.right);
    s.right = s.left;
    expect_both(&s);
    s.left = left;
    expect_both(&s);
    sides_free(&s);
}

/* The result of subtract, and the left rows that intersection also has, are disjoint and together
 * are the left side. */
Test(sets, subtract_and_intersection_are_disjoint)
{
    const struct glint_schema schema = {GLINT_TEXT, GLINT_I64};
    for (uint64_t seed = 1; seed < 5; seed++) {
        struct sides s = random_sides(schema, 200, seed);
        struct table parts[2];
        for (int i = 0; i < 2; i++) {
            struct glint *g = fixture_open(&fixtures[0]);
            s.op = i == 0 ? glint_intersection : glint_subtract;
            table_collect(sides_make(g, &s), &parts[i]);
            fixture_close(g, GLINT_OK);
        }
        for (uint64_t i = 0; i < s.left.count; i++) {
            const uint64_t in = count_record(&parts[0], &s.left.rows[i]);
            const uint64_t out = count_record(&parts[1], &s.left.rows[i]);
            cr_expect(in == 1 ? out == 0 : out == count_record(&s.left, &s.left.rows[i]));
        }
        table_free(&parts[0]);
        table_free(&parts[1]);
        sides_free(&s);
    }
}

/* -0.0 equals 0.0, and all NaNs are equal. */
Test(sets, zeros_and_nans_are_equal)
{
    struct sides s = {.left = {.schema = {GLINT_NONE, GLINT_F64}},
                      .right = {.schema = {GLINT_NONE, GLINT_F64}},
                      .left_maps = 1,
                      .right_maps = 1,
                      .partitions = 1};
    const double left[] = {0.0, NAN, 1.5, INFINITY}, right[] = {-0.0, -NAN, 2.5};
    for (int i = 0; i < 4; i++) table_add(&s.left, none(), real(left[i]));
    for (int i = 0; i < 3; i++) table_add(&s.right, none(), real(right[i]));
    struct table both = model_set(&s, true);
    cr_assert_eq(both.count, 2);
    expect_both(&s);
    table_free(&both);
    sides_free(&s);
}

/* Records that exceed an emitter's buffer, and a batch, several times each. */
Test(sets, large_records_equal_nested_loops)
{
    const uint64_t sizes[] = {10, 200000, 700000, 1300000};
    char *memory = mem_alloc(2 * MIB);
    cr_assert_not_null(memory);
    memset(memory, 'x', 2 * MIB);
    for (int k = 0; k < 2; k++) {
        struct sides s = {.left_maps = 2, .right_maps = 2, .partitions = 3};
        s.left.schema = (struct glint_schema){k == 0 ? GLINT_NONE : GLINT_I64, GLINT_TEXT};
        s.right.schema = s.left.schema;
        for (int i = 0; i < 24; i++) {
            memory[0] = (char)('a' + i % 4);
            table_add(i % 7 == 6 ? &s.right : &s.left, number(i % 2), bytes(memory, sizes[i % 4]));
        }
        expect_both(&s);
        sides_free(&s);
    }
    mem_free(memory);
}

/* One record with far more copies than a batch has rows. */
Test(sets, equal_records_are_combined_before_the_shuffle)
{
    struct sides s = {.left = {.schema = {GLINT_NONE, GLINT_TEXT}},
                      .right = {.schema = {GLINT_NONE, GLINT_TEXT}},
                      .left_maps = 3,
                      .right_maps = 1,
                      .partitions = 2,
                      .op = glint_subtract};
    for (int i = 0; i < 6000; i++) table_add(&s.left, none(), text(i % 3 == 0 ? "there" : "here"));
    table_add(&s.right, none(), text("there"));
    struct table expected = {.schema = s.left.schema};
    for (int i = 0; i < 4000; i++) table_add(&expected, none(), text("here"));
    plan_expect(sides_make, &s, NULL, &expected);
    /* Equal records are combined before the shuffle: each of four tasks writes at most two. */
    struct glint *g = fixture_open(&fixtures[0]);
    int64_t n;
    cr_assert_eq(glint_count(sides_make(g, &s), &n), 0);
    cr_assert_eq(n, 4000);
    cr_assert_eq(glint_counter_value(g, "map output records"), 7);
    fixture_close(g, GLINT_OK);
    table_free(&expected);
    sides_free(&s);
}

Test(sets, different_schemas_are_rejected)
{
    struct sides s = {.left = {.schema = {GLINT_I64, GLINT_TEXT}},
                      .right = {.schema = {GLINT_NONE, GLINT_TEXT}},
                      .op = glint_intersection};
    plan_expect_error(sides_make, &s, NULL, GLINT_E_PLAN_TYPE,
                      "intersection of (i64, text) and (none, text)");
    s.op = glint_subtract;
    s.right.schema = (struct glint_schema){GLINT_I64, GLINT_BYTES};
    plan_expect_error(sides_make, &s, NULL, GLINT_E_PLAN_TYPE,
                      "subtract of (i64, text) and (i64, bytes)");
    cr_assert_null(glint_subtract(NULL, NULL));
    cr_assert_null(glint_intersection(NULL, NULL));
}

Test(sets, too_large_record_is_rejected)
{
    struct sides s = {.left = {.schema = {GLINT_TEXT, GLINT_TEXT}},
                      .right = {.schema = {GLINT_TEXT, GLINT_TEXT}},
                      .left_maps = 1,
                      .right_maps = 1,
                      .partitions = 1,
                      .op = glint_subtract};
    char *memory = mem_zalloc(KEY_BYTES_MAX);
    cr_assert_not_null(memory);
    table_add(&s.right, text("k"), bytes(memory, KEY_BYTES_MAX));
    plan_expect_error(sides_make, &s, NULL, GLINT_E_VALUE_LIMIT, "subtract: a record of");
    mem_free(memory);
    sides_free(&s);
}

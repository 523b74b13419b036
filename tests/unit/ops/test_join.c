/* The four joins, compared with nested loops for every pair of types; and relations between
 * them. */
#include "tests/unit/ops/join_model.h"

#include <math.h>
#include <stdio.h>

TestSuite(join, .init = scratch_open, .fini = scratch_close);

static const struct {
    const char *name;
    struct glint_rdd *(*op)(struct glint_rdd *left, struct glint_rdd *right);
    bool keep_left, keep_right;
} joins[] = {{"join", glint_join, false, false},
             {"leftOuterJoin", glint_left_outer_join, true, false},
             {"rightOuterJoin", glint_right_outer_join, false, true},
             {"fullOuterJoin", glint_full_outer_join, true, true}};

static const enum glint_type types[] = {GLINT_NONE, GLINT_BYTES, GLINT_TEXT,
                                        GLINT_I64,  GLINT_F64,   GLINT_MSGPACK};

static void expect_joins(struct sides *s)
{
    for (int i = 0; i < 4; i++) {
        struct table expected = join_model(s, joins[i].keep_left, joins[i].keep_right);
        s->op = joins[i].op;
        plan_expect(sides_make, s, NULL, &expected);
        table_free(&expected);
    }
}

Test(join, every_type_equals_nested_loops)
{
    for (int k = 1; k < 6; k++)
        for (int v = 0; v < 6; v++) {
            const struct glint_schema left = {types[k], types[v]},
                                      right = {types[k], types[(v + k) % 6]};
            struct sides s = sides_random(left, right, 120, (uint64_t)(10 * k + v));
            expect_joins(&s);
            sides_free(&s);
        }
}

Test(join, any_partitioning_equals_nested_loops)
{
    const struct glint_schema schema = {GLINT_TEXT, GLINT_I64};
    struct sides s = sides_random(schema, schema, 200, 7);
    for (s.left_maps = 1; s.left_maps < 150; s.left_maps += 140)
        for (s.right_maps = 1; s.right_maps < 150; s.right_maps += 140)
            for (s.partitions = 1; s.partitions < 12; s.partitions += 10) expect_joins(&s);
    sides_free(&s);
}

Test(join, empty_sides_equal_nested_loops)
{
    const struct glint_schema schema = {GLINT_I64, GLINT_TEXT};
    struct sides s = sides_random(schema, schema, 100, 3);
    const struct table left = s.left, right = s.right;
    const struct table empty = {.schema = schema};
    s.right = empty;
    expect_joins(&s);
    s.left = empty;
    expect_joins(&s);
    s.right = right;
    expect_joins(&s);
    s.left = left;
    sides_free(&s);
}

/* The inner join is the full outer join without nil values; the outer ones add exactly the
 * unmatched rows of their side. */
Test(join, full_join_is_inner_plus_unmatched_rows)
{
    const struct glint_schema schema = {GLINT_TEXT, GLINT_I64};
    for (uint64_t seed = 1; seed < 6; seed++) {
        struct sides s = sides_random(schema, schema, 150, seed);
        int64_t counts[4];
        for (int i = 0; i < 4; i++) {
            struct glint *g = fixture_open(&fixtures[0]);
            s.op = joins[i].op;
            cr_assert_eq(glint_count(sides_make(g, &s), &counts[i]), 0);
            fixture_close(g, GLINT_OK);
        }
        cr_expect_gt(counts[0], 0);
        cr_expect(counts[1] > counts[0] && counts[2] > counts[0]);
        cr_expect_eq(counts[3] - counts[0], counts[1] - counts[0] + counts[2] - counts[0]);
        sides_free(&s);
    }
}

/* -0.0 equals 0.0, and all NaNs are equal. */
Test(join, zeros_and_nans_match_as_keys)
{
    struct sides s = {.left = {.schema = {GLINT_F64, GLINT_F64}},
                      .right = {.schema = {GLINT_F64, GLINT_NONE}},
                      .left_maps = 1,
                      .right_maps = 1,
                      .partitions = 1};
    table_add(&s.left, real(0.0), real(1.5));
    table_add(&s.left, real(NAN), real(INFINITY));
    table_add(&s.right, real(-0.0), none());
    table_add(&s.right, real(-NAN), none());
    struct table expected = join_model(&s, false, false);
    cr_assert_eq(expected.count, 2);
    s.op = glint_join;
    plan_expect(sides_make, &s, NULL, &expected);
    table_free(&expected);
    sides_free(&s);
}

static struct glint_rdd *make_with_itself(struct glint *g, void *arg)
{
    const struct sides *s = arg;
    struct glint_rdd *a = sides_left(g, s);
    return glint_with_partitions(s->op(a, a), s->partitions);
}

Test(join, self_join_equals_nested_loops)
{
    const struct glint_schema schema = {GLINT_I64, GLINT_I64};
    struct sides s = sides_random(schema, schema, 100, 11);
    table_free(&s.right);
    s.right = s.left;
    for (int i = 0; i < 4; i++) {
        struct table expected = join_model(&s, joins[i].keep_left, joins[i].keep_right);
        s.op = joins[i].op;
        plan_expect(make_with_itself, &s, NULL, &expected);
        table_free(&expected);
    }
    table_free(&s.left);
}

/* A join keeps the partitioning by key: lookup reads one partition, and mapValues keeps it too. */
static int run_lookup(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct sides *s = arg;
    return glint_lookup(sides_make(g, arg), s->left.rows[5].key, out);
}

Test(join, lookup_finds_a_joined_key)
{
    const struct glint_schema schema = {GLINT_TEXT, GLINT_TEXT};
    struct sides s = sides_random(schema, schema, 200, 13);
    s.op = glint_left_outer_join;
    s.partitions = 7;
    struct table all = join_model(&s, true, false);
    struct table expected = {.schema = {GLINT_NONE, GLINT_MSGPACK}};
    for (uint64_t i = 0; i < all.count; i++)
        if (same_key(GLINT_TEXT, &all.rows[i].key, &s.left.rows[5].key))
            table_add(&expected, none(), all.rows[i].value);
    cr_assert_gt(expected.count, 0);
    action_expect(run_lookup, &s, NULL, &expected);
    table_free(&all);
    table_free(&expected);
    sides_free(&s);
}

/* A join of a join: the value of one side is a pair. */
static struct glint_rdd *make_chain(struct glint *g, void *arg)
{
    const struct sides *s = arg;
    struct glint_rdd *a = sides_left(g, s), *b = sides_right(g, s);
    return glint_with_partitions(glint_join(glint_join(a, b), a), s->partitions);
}

Test(join, join_of_a_join_equals_nested_loops)
{
    const struct glint_schema schema = {GLINT_TEXT, GLINT_I64};
    struct sides s = sides_random(schema, schema, 60, 17);
    struct sides outer = {
        .left = join_model(&s, false, false), .right = s.left, .partitions = s.partitions};
    struct table expected = join_model(&outer, false, false);
    plan_expect(make_chain, &s, NULL, &expected);
    table_free(&expected);
    table_free(&outer.left);
    sides_free(&s);
}

/* take stops a join in the middle of a group. */
static int run_take(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_take(sides_make(g, arg), 3, out);
}

Test(join, take_stops_inside_a_group)
{
    struct sides s = {.left = {.schema = {GLINT_I64, GLINT_I64}},
                      .left_maps = 1,
                      .right_maps = 1,
                      .partitions = 1,
                      .op = glint_join};
    s.right.schema = s.left.schema;
    for (int i = 0; i < 2000; i++) table_add(&s.left, number(1), number(i));
    for (int i = 0; i < 2000; i++) table_add(&s.right, number(1), number(i));
    struct table expected = {.schema = {GLINT_I64, GLINT_MSGPACK}};
    for (int i = 0; i < 3; i++)
        add_pair(&expected, &s.left.rows[0].key, GLINT_I64, &s.left.rows[0].value, GLINT_I64,
                 &s.right.rows[i].value);
    action_expect(run_take, &s, NULL, &expected);
    table_free(&expected);
    sides_free(&s);
}

Test(join, wrong_key_types_are_rejected)
{
    struct sides s = {.left = {.schema = {GLINT_TEXT, GLINT_I64}},
                      .right = {.schema = {GLINT_BYTES, GLINT_I64}}};
    char cause[100];
    for (int i = 0; i < 4; i++) {
        s.op = joins[i].op;
        snprintf(cause, sizeof cause, "%s of keys of type text and keys of type bytes",
                 joins[i].name);
        s.right.schema.key = GLINT_BYTES;
        plan_expect_error(sides_make, &s, NULL, GLINT_E_PLAN_TYPE, cause);
        snprintf(cause, sizeof cause, "%s needs keys", joins[i].name);
        s.right.schema.key = GLINT_NONE;
        plan_expect_error(sides_make, &s, NULL, GLINT_E_PLAN_TYPE, cause);
        struct sides other = {.left = s.right, .right = s.left, .op = s.op};
        plan_expect_error(sides_make, &other, NULL, GLINT_E_PLAN_TYPE, cause);
    }
    cr_assert_null(glint_join(NULL, NULL));
}

/* An invalid msgpack cell would change how its pair is decoded. */
Test(join, invalid_msgpack_value_is_rejected)
{
    struct sides s = {.left = {.schema = {GLINT_I64, GLINT_MSGPACK}},
                      .right = {.schema = {GLINT_I64, GLINT_I64}},
                      .left_maps = 1,
                      .right_maps = 1,
                      .partitions = 1,
                      .op = glint_join};
    table_add(&s.left, number(1), bytes("\x92\x01", 2));
    plan_expect_error(sides_make, &s, NULL, GLINT_E_FUNCTION_FAILED,
                      "not exactly one msgpack value");
    sides_free(&s);
}

/* ---- Unpacking pairs */

Test(join, joined_pair_is_unpacked)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_MSGPACK}};
    const union glint_value v = text("left"), n = number(-70000), key = none();
    add_pair(&t, &key, GLINT_TEXT, &v, GLINT_I64, &n);
    add_pair(&t, &key, GLINT_TEXT, NULL, GLINT_F64, &n);
    struct glint_pair pair = glint_pair(&t.rows[0].value);
    cr_expect(pair.left.type == GLINT_TEXT && pair.left.value.bytes.size == 4);
    cr_expect_eq(memcmp(pair.left.value.bytes.data, "left", 4), 0);
    cr_expect(pair.right.type == GLINT_I64 && pair.right.value.i64 == -70000);
    pair = glint_pair(&t.rows[1].value);
    cr_expect_eq(pair.left.type, GLINT_NONE);
    cr_expect(pair.right.type == GLINT_F64 && pair.right.value.i64 == -70000);
    const struct glint_slice whole = t.rows[0].value.bytes;
    for (uint64_t size = 0; size < 7; size++) {
        pair = glint_pair(&(union glint_value){.bytes = {whole.data, size}});
        cr_expect(pair.left.type == GLINT_NONE && pair.right.type == GLINT_NONE);
    }
    pair = glint_pair(&(union glint_value){.bytes = {(const uint8_t *)"\x93\x01\x02\x03", 4}});
    cr_expect(pair.left.type == GLINT_NONE && pair.right.type == GLINT_NONE);
    union glint_value out;
    const struct glint_slice a = {whole.data + 1, 5}, b = {whole.data + 6, whole.size - 6};
    cr_assert(glint_unpack(a, GLINT_TEXT, &out) && out.bytes.size == 4);
    cr_assert(glint_unpack(b, GLINT_I64, &out) && out.i64 == -70000);
    cr_assert(glint_unpack(b, GLINT_MSGPACK, &out) && out.bytes.data == b.data);
    static const enum glint_type wrong[] = {GLINT_ANY, GLINT_SAME, GLINT_NONE, GLINT_BYTES,
                                            GLINT_F64};
    for (int i = 0; i < 5; i++)
        cr_expect(!glint_unpack(a, wrong[i], &out) && !glint_unpack(b, wrong[i], &out));
    cr_expect(!glint_unpack((struct glint_slice){whole.data, 0}, GLINT_MSGPACK, &out));
    cr_expect(!glint_unpack((struct glint_slice){(const uint8_t *)"\x01\x02", 2}, GLINT_I64, &out));
    table_free(&t);
}

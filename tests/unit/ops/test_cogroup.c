/* cogroup and subtractByKey, compared with nested loops; and what a GROUP function gets from two
 * sides. */
#include "tests/unit/ops/join_model.h"

#include <stdio.h>

TestSuite(cogroup, .init = scratch_open, .fini = scratch_close);

static const enum glint_type types[] = {GLINT_NONE, GLINT_BYTES, GLINT_TEXT,
                                        GLINT_I64,  GLINT_F64,   GLINT_MSGPACK};

static struct table cogroup_model(const struct sides *s)
{
    const union glint_value sides[] = {number(0), number(1)};
    struct table t = {.schema = {s->left.schema.key, GLINT_MSGPACK}};
    for (int side = 0; side < 2; side++) {
        const struct table *from = side == 0 ? &s->left : &s->right;
        for (uint64_t i = 0; i < from->count; i++)
            add_pair(&t, &from->rows[i].key, GLINT_I64, &sides[side], from->schema.value,
                     &from->rows[i].value);
    }
    table_by_hash(&t, s->partitions);
    return t;
}

static struct table subtract_by_key_model(const struct sides *s)
{
    struct table t = {.schema = s->left.schema};
    for (uint64_t i = 0; i < s->left.count; i++)
        if (count_key(&s->right, &s->left.rows[i].key) == 0)
            table_add(&t, s->left.rows[i].key, s->left.rows[i].value);
    table_by_hash(&t, s->partitions);
    return t;
}

static void expect_both(struct sides *s)
{
    struct table groups = cogroup_model(s), rest = subtract_by_key_model(s);
    s->op = glint_cogroup;
    plan_expect(sides_make, s, NULL, &groups);
    s->op = glint_subtract_by_key;
    plan_expect(sides_make, s, NULL, &rest);
    table_free(&groups);
    table_free(&rest);
}

Test(cogroup, every_type_equals_nested_loops)
{
    for (int k = 1; k < 6; k++)
        for (int v = 0; v < 6; v++) {
            const struct glint_schema left = {types[k], types[v]},
                                      right = {types[k], types[(v + k) % 6]};
            struct sides s = sides_random(left, right, 300, (uint64_t)(10 * k + v));
            expect_both(&s);
            sides_free(&s);
        }
}

Test(cogroup, any_partitioning_equals_nested_loops)
{
    const struct glint_schema left = {GLINT_TEXT, GLINT_F64}, right = {GLINT_TEXT, GLINT_NONE};
    struct sides s = sides_random(left, right, 2000, 5);
    for (s.left_maps = 1; s.left_maps < 150; s.left_maps += 140)
        for (s.right_maps = 1; s.right_maps < 150; s.right_maps += 140)
            for (s.partitions = 1; s.partitions < 12; s.partitions += 10) expect_both(&s);
    const struct table all_left = s.left, all_right = s.right;
    s.right = (struct table){.schema = right};
    expect_both(&s);
    s.left = (struct table){.schema = left};
    expect_both(&s);
    s.right = all_right;
    expect_both(&s);
    s.left = all_left;
    sides_free(&s);
}

/* Values that exceed an emitter's buffer, and a batch, between small ones. */
Test(cogroup, large_values_are_grouped)
{
    const uint64_t sizes[] = {10, 300000, 700000, 1300000};
    char *memory = mem_alloc(2 * MIB);
    cr_assert_not_null(memory);
    memset(memory, 'x', 2 * MIB);
    struct sides s = {.left = {.schema = {GLINT_TEXT, GLINT_TEXT}},
                      .right = {.schema = {GLINT_TEXT, GLINT_BYTES}},
                      .left_maps = 3,
                      .right_maps = 2,
                      .partitions = 2};
    char key[8];
    for (int i = 0; i < 24; i++) {
        memory[0] = (char)('a' + i);
        snprintf(key, sizeof key, "%d", i % 5);
        table_add(i % 2 == 0 || i % 5 == 4 ? &s.left : &s.right, text(key),
                  bytes(memory, sizes[i % 4]));
    }
    expect_both(&s);
    for (int i = 0; i < 4; i++) { /* keys of that size */
        memory[0] = (char)('a' + i / 2);
        table_add(i % 2 == 0 ? &s.left : &s.right, bytes(memory, sizes[2 + i / 2]),
                  bytes(memory, 3));
    }
    expect_both(&s);
    mem_free(memory);
    sides_free(&s);
}

/* ---- The input of a GROUP function */

static struct glint_rdd *make_groups(struct glint *g, void *arg)
{
    return glint_map_values(sides_make(g, arg), fn("two.sides"), NULL);
}

/* The function writes "1,2|3" for the left values 1, 2 and the right value 3. */
static struct table groups_model(const struct sides *s)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    char out[4096];
    for (int side = 0; side < 2; side++) {
        const struct table *keys = side == 0 ? &s->left : &s->right;
        for (uint64_t i = 0; i < keys->count; i++) {
            if (count_key(&t, &keys->rows[i].key) > 0) continue;
            size_t size = 0;
            for (int from = 0; from < 2; from++) {
                const struct table *in = from == 0 ? &s->left : &s->right;
                size += (size_t)snprintf(out + size, sizeof out - size, "%s", from ? "|" : "");
                for (uint64_t j = 0; j < in->count; j++)
                    if (same_key(GLINT_TEXT, &in->rows[j].key, &keys->rows[i].key))
                        size += (size_t)snprintf(out + size, sizeof out - size, "%lld,",
                                                 (long long)in->rows[j].value.i64);
            }
            table_add(&t, keys->rows[i].key, bytes(out, size));
        }
    }
    table_by_hash(&t, s->partitions);
    return t;
}

Test(cogroup, group_function_sees_both_sides)
{
    const struct glint_schema schema = {GLINT_TEXT, GLINT_I64};
    struct sides s = sides_random(schema, schema, 400, 9);
    struct table expected = groups_model(&s);
    s.op = glint_cogroup;
    plan_expect(make_groups, &s, NULL, &expected);
    table_free(&expected);
    sides_free(&s);
}

/* One key with very many values on the left, so that its group spans batches. */
Test(cogroup, group_may_span_batches)
{
    struct sides s = {.left = {.schema = {GLINT_I64, GLINT_I64}},
                      .right = {.schema = {GLINT_I64, GLINT_TEXT}},
                      .left_maps = 3,
                      .right_maps = 3,
                      .partitions = 2};
    for (int i = 0; i < 10000; i++) table_add(&s.left, number(i % 3), number(i));
    for (int i = 0; i < 5000; i++) table_add(&s.right, number(i % 2), text("right"));
    expect_both(&s);
    sides_free(&s);
}

Test(cogroup, wrong_key_types_are_rejected)
{
    struct sides s = {.left = {.schema = {GLINT_I64, GLINT_I64}},
                      .right = {.schema = {GLINT_F64, GLINT_I64}},
                      .op = glint_cogroup};
    plan_expect_error(sides_make, &s, NULL, GLINT_E_PLAN_TYPE,
                      "cogroup of keys of type i64 and keys of type f64");
    s.op = glint_subtract_by_key;
    plan_expect_error(sides_make, &s, NULL, GLINT_E_PLAN_TYPE,
                      "subtractByKey of keys of type i64 and keys of type f64");
    s.left.schema.key = GLINT_NONE;
    plan_expect_error(sides_make, &s, NULL, GLINT_E_PLAN_TYPE, "subtractByKey needs keys");
    cr_assert_null(glint_cogroup(NULL, NULL));
    cr_assert_null(glint_subtract_by_key(NULL, NULL));
}

/* ---- groupWith */

#define GROUPED 3

struct many {
    struct table tables[GROUPED];
    uint32_t count, partitions;
};

static struct glint_rdd *make_group_with(struct glint *g, void *arg)
{
    struct many *m = arg;
    struct glint_rdd *rdds[GROUPED];
    for (uint32_t i = 0; i < GROUPED; i++) {
        struct input in = {.table = &m->tables[i], .maps = i + 2};
        rdds[i] = input_rdd(g, &in);
    }
    return glint_with_partitions(glint_group_with(rdds, m->count), m->partitions);
}

/* Each group has the values of the first RDD, then those of the second one, and so on. */
static struct table group_with_model(const struct many *m)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_MSGPACK}};
    for (uint32_t i = 0; i < m->count; i++)
        for (uint64_t row = 0; row < m->tables[i].count; row++) {
            const bool nil = m->tables[i].schema.value == GLINT_NONE;
            const uint8_t pair[] = {0x92, (uint8_t)i,
                                    nil ? 0xc0 : (uint8_t)m->tables[i].rows[row].value.i64};
            table_add(&t, m->tables[i].rows[row].key, bytes(pair, 3));
        }
    table_by_hash(&t, m->partitions);
    return t;
}

Test(cogroup, group_with_takes_any_number_of_rdds)
{
    struct many m = {.partitions = 4};
    uint64_t seed = 7;
    char key[8];
    for (int i = 0; i < GROUPED; i++) {
        m.tables[i].schema = (struct glint_schema){GLINT_TEXT, i == 2 ? GLINT_NONE : GLINT_I64};
        for (int row = 0; row < 700; row++) {
            snprintf(key, sizeof key, "%d", (int)(test_next(&seed) % 60));
            table_add(&m.tables[i], text(key), number((int64_t)(test_next(&seed) % 100)));
        }
    }
    for (m.count = 1; m.count <= GROUPED; m.count++) {
        struct table expected = group_with_model(&m);
        plan_expect(make_group_with, &m, NULL, &expected);
        table_free(&expected);
    }
    m.count = GROUPED;
    plan_expect_no_memory(make_group_with, &m);
    m.tables[1].count = 0;
    m.tables[1].schema.key = GLINT_NONE;
    plan_expect_error(make_group_with, &m, NULL, GLINT_E_PLAN_TYPE, "groupWith needs keys");
    m.tables[1].schema.key = GLINT_I64;
    plan_expect_error(make_group_with, &m, NULL, GLINT_E_PLAN_TYPE,
                      "groupWith of keys of type text and keys of type i64");
    for (int i = 0; i < GROUPED; i++) table_free(&m.tables[i]);
}

Test(cogroup, group_with_has_a_limit)
{
    struct glint_rdd *rdds[128];
    const struct glint_record r = {number(1), number(2)};
    struct glint *g = fixture_open(&fixtures[0]);
    for (int i = 0; i < 128; i++)
        rdds[i] = glint_parallelize(g, (struct glint_schema){GLINT_I64, GLINT_I64}, &r, 1, 1);
    int64_t count = 0;
    cr_assert_eq(glint_count(glint_group_with(rdds, 127), &count), 0);
    cr_assert_eq(count, 127);
    cr_assert_null(glint_group_with(rdds, 128));
    cr_assert_eq(glint_error(g)->code, GLINT_E_PLAN_LIMIT);
    fixture_close(g, GLINT_E_PLAN_LIMIT);
}

/* union and coalesce: all partitions of the parents, in order; and early stops through both. */
#include "tests/unit/ops/msgpack_tables.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(union_coalesce, .init = scratch_open, .fini = scratch_close);

struct plan {
    struct table a, b;
    uint32_t partitions_a, partitions_b, coalesced, depth;
};

static struct glint_rdd *make_a(struct glint *g, const struct plan *p)
{
    return glint_parallelize(g, p->a.schema, p->a.rows, p->a.count, p->partitions_a);
}

static struct glint_rdd *make_b(struct glint *g, const struct plan *p)
{
    return glint_parallelize(g, p->b.schema, p->b.rows, p->b.count, p->partitions_b);
}

static struct glint_rdd *make_union(struct glint *g, void *arg)
{
    return glint_union(make_a(g, arg), make_b(g, arg));
}

static struct glint_rdd *make_coalesce(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return glint_coalesce(make_union(g, arg), p->coalesced);
}

static struct table table_of(int64_t first, int64_t count)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_I64}};
    for (int64_t i = first; i < first + count; i++) table_add(&t, none(), number(i));
    return t;
}

static void plan_free(struct plan *p)
{
    table_free(&p->a);
    table_free(&p->b);
}

Test(union_coalesce, partitions_are_concatenated)
{
    struct plan p = {.a = table_of(0, 500), .b = table_of(500, 3000)};
    struct table both = table_of(0, 3500);
    for (p.partitions_a = 1; p.partitions_a < 10; p.partitions_a += 4)
        for (p.partitions_b = 1; p.partitions_b < 20; p.partitions_b += 9) {
            const uint32_t all = p.partitions_a + p.partitions_b;
            plan_expect(make_union, &p, NULL, &both);
            const uint32_t requests[] = {1, 2, 3, all - 1, all, all + 1, 1000};
            for (int i = 0; i < 7; i++) {
                p.coalesced = requests[i];
                plan_expect(make_coalesce, &p, NULL, &both);
                struct glint *g = fixture_open(&fixtures[0]);
                cr_assert_eq(glint_partitions(make_coalesce(g, &p)),
                             requests[i] < all ? requests[i] : all);
                fixture_close(g, GLINT_OK);
            }
        }
    plan_free(&p);
    table_free(&both);
}

static struct glint_rdd *make_with_itself(struct glint *g, void *arg)
{
    struct glint_rdd *a = make_a(g, arg);
    return glint_coalesce(glint_union(a, a), 2);
}

Test(union_coalesce, union_with_itself_repeats_the_rows)
{
    struct plan p = {.a = table_of(0, 100), .partitions_a = 3};
    struct table twice = table_of(0, 100);
    for (int64_t i = 0; i < 100; i++) table_add(&twice, none(), number(i));
    plan_expect(make_with_itself, &p, NULL, &twice);
    plan_free(&p);
    table_free(&twice);
}

/* A long chain, which must not cause recursion. */
static struct glint_rdd *make_chain(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    struct glint_rdd *all = make_a(g, p);
    for (uint32_t i = 0; i < p->depth; i++) {
        const struct glint_record r = {.value = number(10 + i)};
        all = glint_union(all, glint_parallelize(g, p->a.schema, &r, 1, 1));
        if (i % 7 == 0) all = glint_coalesce(all, 3);
    }
    return all;
}

Test(union_coalesce, long_chain_does_not_recurse)
{
    struct plan p = {.a = table_of(0, 10), .partitions_a = 2, .depth = 1500};
    struct table all = table_of(0, 1510);
    plan_expect(make_chain, &p, NULL, &all);
    plan_free(&p);
    table_free(&all);
}

/* Of shuffled RDDs: the stage reads the map outputs of both. */
static struct glint_rdd *make_over_shuffles(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    struct glint_rdd *a = glint_reduce_by_key(make_a(g, p), &GLINT_SUM_I64, NULL);
    struct glint_rdd *b = glint_reduce_by_key(make_b(g, p), &GLINT_SUM_I64, NULL);
    struct glint_rdd *both = glint_coalesce(
        glint_union(glint_with_partitions(a, 3), glint_with_partitions(b, 2)), p->coalesced);
    return glint_with_partitions(glint_reduce_by_key(both, &GLINT_SUM_I64, NULL), 1);
}

Test(union_coalesce, shuffles_of_both_parents_are_read)
{
    struct plan p = {.partitions_a = 4, .partitions_b = 3};
    struct table expected = {.schema = {GLINT_I64, GLINT_I64}};
    p.a.schema = p.b.schema = expected.schema;
    int64_t sums[50] = {0};
    for (int64_t i = 0; i < 3000; i++) {
        table_add(i % 3 == 0 ? &p.a : &p.b, number(i % 50), number(i));
        sums[i % 50] += i;
    }
    for (int64_t k = 0; k < 50; k++) table_add(&expected, number(k), number(sums[k]));
    for (p.coalesced = 1; p.coalesced <= 5; p.coalesced += 2)
        plan_expect(make_over_shuffles, &p, NULL, &expected);
    table_free(&expected);
    plan_free(&p);
}

/* glint_partition returns the partition of the function's own RDD, not that of the task. */
static struct glint_rdd *make_indexed(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    struct glint_rdd *a =
        glint_map_partitions_with_index(make_a(g, p), fn("test.with_index"), NULL);
    struct glint_rdd *b =
        glint_map_partitions_with_index(make_b(g, p), fn("test.with_index"), NULL);
    return glint_coalesce(glint_union(a, b), p->coalesced);
}

Test(union_coalesce, function_sees_its_own_partition_index)
{
    struct plan p = {.partitions_a = 3, .partitions_b = 2};
    struct table expected = {.schema = {GLINT_I64, GLINT_TEXT}};
    p.a.schema = p.b.schema = (struct glint_schema){GLINT_NONE, GLINT_TEXT};
    for (int i = 0; i < 5; i++) {
        table_add(i < 3 ? &p.a : &p.b, none(), text("row"));
        table_add(&expected, number(i < 3 ? i : i - 3), text("row"));
        table_add(&expected, number(i < 3 ? i : i - 3), text("end"));
    }
    for (p.coalesced = 1; p.coalesced <= 5; p.coalesced++)
        plan_expect(make_indexed, &p, NULL, &expected);
    table_free(&expected);
    plan_free(&p);
}

/* Two functions in one task with a coalesce between them, and more rows than a batch has. */
static struct glint_rdd *make_indexed_twice(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    struct glint_rdd *a =
        glint_map_partitions_with_index(make_a(g, p), fn("test.with_index_twice"), NULL);
    return glint_map_partitions_with_index(glint_coalesce(a, p->coalesced),
                                           fn("test.with_index_twice"), NULL);
}

Test(union_coalesce, index_is_right_before_and_after_coalesce)
{
    struct plan p = {.partitions_a = 6, .coalesced = 3};
    struct table expected = {.schema = {GLINT_I64, GLINT_TEXT}};
    p.a.schema = expected.schema;
    for (int i = 0; i < 12000; i++) {
        table_add(&p.a, number(7), text("row"));
        for (int n = 0; n < 4; n++)
            table_add(&expected, number(700 + 10 * (i / 2000) + i / 4000), text("row"));
    }
    plan_expect(make_indexed_twice, &p, NULL, &expected);
    table_free(&expected);
    plan_free(&p);
}

Test(union_coalesce, empty_input_is_accepted_and_misuse_rejected)
{
    struct plan p = {.a = {.schema = {GLINT_NONE, GLINT_I64}},
                     .b = {.schema = {GLINT_NONE, GLINT_I64}}};
    struct table empty = {.schema = {GLINT_NONE, GLINT_I64}};
    p.coalesced = 1;
    plan_expect(make_coalesce, &p, NULL, &empty);
    p.coalesced = 0;
    plan_expect_error(make_coalesce, &p, NULL, GLINT_E_PLAN_LIMIT, "into 0 partitions");
    p.b.schema.value = GLINT_F64;
    plan_expect_error(make_union, &p, NULL, GLINT_E_PLAN_TYPE,
                      "union of (none, i64) and (none, f64)");
}

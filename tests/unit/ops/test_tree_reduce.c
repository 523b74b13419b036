/* treeReduce and treeAggregate return what reduce and aggregate do, also of functions that are not
 * commutative, and with as many levels as the depth says. */
#include "tests/unit/ops/actions.h"

#include <stdio.h>

TestSuite(tree, .init = scratch_open, .fini = scratch_close);

struct tree {
    struct input in;
    uint32_t depth;
};

static int run_tree(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct tree *t = arg;
    return glint_tree_reduce(input_rdd(g, &t->in), fn(t->in.function), NULL, t->depth, out);
}

static int run_tree_aggregate(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct tree *t = arg;
    return glint_tree_aggregate(input_rdd(g, &t->in), text(""), fn(t->in.function), NULL, t->depth,
                                out);
}

/* a,b,c, ... in the order of the rows. */
static struct table texts(uint64_t count)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_TEXT}};
    char word[32];
    for (uint64_t i = 0; i < count; i++) {
        snprintf(word, sizeof word, "%llu,", (unsigned long long)i);
        table_add(&t, none(), text(word));
    }
    return t;
}

static struct table all_in_one(const struct table *t)
{
    struct table one = {.schema = {GLINT_NONE, GLINT_TEXT}};
    struct buffer all = {NULL, 0, 0};
    for (uint64_t i = 0; i < t->count; i++)
        cr_assert(buffer_append(&all, t->rows[i].value.bytes.data, t->rows[i].value.bytes.size));
    table_add(&one, none(), bytes(all.data, all.size));
    buffer_fini(&all);
    return one;
}

/* The numbers of partitions have 0 to 4 levels, with full and with partly empty partitions. */
Test(tree, order_of_partitions_is_kept)
{
    static const uint32_t maps[] = {1, 3, 4, 5, 9, 16, 50, 130};
    for (uint64_t count = 1; count < 1000; count = count * 20 + 3) {
        struct table t = texts(count), expected = all_in_one(&t);
        for (int m = 0; m < 8; m++)
            for (uint32_t depth = 1; depth <= 5; depth += 2) {
                struct tree tree = {{.table = &t, .maps = maps[m], .function = "red.concat"},
                                    depth};
                action_expect(run_tree, &tree, NULL, &expected);
            }
        table_free(&expected);
        table_free(&t);
    }
}

Test(tree, aggregate_equals_aggregate)
{
    struct table t = texts(300), expected = all_in_one(&t);
    struct table empty = {.schema = t.schema}, zero = {.schema = t.schema};
    table_add(&zero, none(), text(""));
    struct tree tree = {{.table = &t, .maps = 40, .function = "red.append"}, 2};
    for (; tree.depth < 5; tree.depth++) action_expect(run_tree_aggregate, &tree, NULL, &expected);
    tree.in.table = &empty;
    action_expect(run_tree_aggregate, &tree, NULL, &zero);
    table_free(&zero);
    table_free(&expected);
    table_free(&t);
}

/* Of other types: a number from texts. */
static int run_count(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct tree *t = arg;
    return glint_tree_aggregate(input_rdd(g, &t->in), number(0), &GLINT_COUNT, NULL, t->depth, out);
}

Test(tree, accumulators_may_have_another_type)
{
    struct table t = texts(777), expected = {.schema = {GLINT_NONE, GLINT_I64}};
    table_add(&expected, none(), number(777));
    struct tree tree = {{.table = &t, .maps = 30}, 3};
    action_expect(run_count, &tree, NULL, &expected);
    table_free(&expected);
    table_free(&t);
}

/* The driver receives the results of the last level only. */
Test(tree, levels_are_stages)
{
    struct table t = texts(500);
    struct tree tree = {{.table = &t, .maps = 100, .function = "red.concat"}, 2};
    static const uint32_t stages[] = {0, 1, 2, 3}; /* of depth 1: reduce alone */
    for (tree.depth = 1; tree.depth < 4; tree.depth++) {
        struct glint_rows rows;
        struct glint *g = fixture_open(&fixtures[1]);
        cr_assert_eq(run_tree(g, &tree, &rows), 0);
        cr_assert_eq(glint_summarize(g)->stages, stages[tree.depth], "depth %u", tree.depth);
        glint_rows_free(&rows);
        fixture_close(g, GLINT_OK);
    }
    table_free(&t);
}

Test(tree, errors_are_reported)
{
    struct table t = texts(50), empty = {.schema = t.schema};
    struct tree tree = {{.table = &t, .maps = 20, .function = "red.concat"}, 0};
    action_expect_error(run_tree, &tree, NULL, GLINT_E_BAD_VALUE, "treeReduce: a depth of 0");
    tree.depth = 2;
    action_expect_error(run_tree_aggregate, &tree, NULL, GLINT_E_PLAN_FUNCTION,
                        "treeAggregate does not accept red.concat");
    tree.in.function = "red.sum";
    action_expect_error(run_tree, &tree, NULL, GLINT_E_PLAN_TYPE, "red.sum takes");
    tree.in.function = "red.fail";
    action_expect_error(run_tree, &tree, NULL, GLINT_E_FUNCTION_FAILED, "");
    tree.in.function = "red.concat";
    tree.in.table = &empty;
    action_expect_error(run_tree, &tree, NULL, GLINT_E_EMPTY_COLLECTION, "treeReduce of an empty");
    table_free(&t);
}

Test(tree, out_of_memory_fails_cleanly_or_is_retried)
{
    struct table t = texts(60);
    struct tree tree = {{.table = &t, .maps = 6, .function = "red.concat"}, 2};
    action_expect_no_memory(run_tree, &tree);
    tree.in.function = "red.append";
    action_expect_no_memory(run_tree_aggregate, &tree);
    table_free(&t);
}

/* The input bytes of an RDD: each source is counted once, even if several paths lead to it. */
#include "tests/unit/plan/fixture.h"

#include <criterion/criterion.h>

static struct glint g;
static int64_t live;

static void open_plan(void)
{
    live = mem_live_blocks();
    plan_open(&g);
}

static void close_plan(void)
{
    context_fini(&g);
    cr_expect_eq(mem_live_blocks(), live);
}

TestSuite(input_bytes, .init = open_plan, .fini = close_plan);

static struct glint_rdd *source_of(uint64_t bytes)
{
    struct glint_rdd *source = plan_source(&g, 1);
    source->input_bytes = bytes;
    return source;
}

static struct glint_rdd *unite(struct glint_rdd *a, struct glint_rdd *b)
{
    return plan_node(&op_uni, a, b);
}

Test(input_bytes, each_source_counts_once)
{
    struct glint_rdd *a = source_of(5), *b = source_of(70), *c = source_of(900);
    struct glint_rdd *ab = unite(a, b), *bc = unite(c, b), *ca = unite(c, a);
    cr_expect_eq(glint_input_bytes(ab), 75);
    cr_expect_eq(glint_input_bytes(bc), 970);
    cr_expect_eq(glint_input_bytes(ca), 905);
    cr_expect_eq(glint_input_bytes(unite(ab, bc)), 975);
    cr_expect_eq(glint_input_bytes(unite(unite(ca, bc), ab)), 975);
    cr_expect_eq(glint_input_bytes(unite(a, unite(a, a))), 5);
}

Test(input_bytes, sources_without_bytes_add_nothing)
{
    struct glint_rdd *a = source_of(5), *none = plan_source(&g, 3);
    cr_expect_eq(glint_input_bytes(unite(none, none)), 0);
    cr_expect_eq(glint_input_bytes(unite(none, a)), 5);
    cr_expect_eq(glint_input_bytes(unite(a, plan_node(&op_nar, none, NULL))), 5);
}

/* What files of columns are compressed to says little about a shuffle of their rows. */
Test(input_bytes, partitions_of_a_shuffle_follow_from_decoded_columns)
{
    const struct format_piece groups[] = {{.bytes = 9, .memory = 40 * MIB},
                                          {.bytes = 9, .memory = 40 * MIB}};
    const uint32_t starts[] = {0, 2};
    const struct column_schema schema = {.count = 2, .pieces = groups, .starts = starts};
    const struct row_layout layout = {.count = 1};
    const struct input_list list = {
        .count = 1, .bytes = 18, .schema = &schema, .layout = &layout};
    struct glint_rdd *source = source_of(18);
    source->inputs = &list;
    struct glint_rdd *both = unite(source, source_of(6 * MIB));
    cr_expect_eq(glint_input_bytes(both), 18 + 6 * MIB);
    cr_expect_eq(rdd_partition_count(plan_node(&op_wid, source, NULL)), 3); /* 40 MiB */
    cr_expect_eq(rdd_partition_count(plan_node(&op_wid, both, NULL)), 3);
    cr_expect_eq(rdd_partition_count(plan_node(&op_wid, unite(both, source_of(3 * MIB)), NULL)),
                 4);
}

Test(input_bytes, sum_saturates)
{
    struct glint_rdd *a = source_of(UINT64_MAX - 1), *b = source_of(3);
    struct glint_rdd *shuffle_rdd = plan_node(&op_wid, unite(a, b), NULL);
    cr_expect_eq(glint_input_bytes(shuffle_rdd), UINT64_MAX);
    cr_expect_eq(rdd_partition_count(shuffle_rdd), PARTITIONS_DEFAULT_MAX);
}

/* The number of paths to the source doubles in each round; its bytes are counted once. */
Test(input_bytes, iterative_plan_counts_its_source_once)
{
    const uint64_t bytes = 3 * PARTITION_INPUT_BYTES;
    struct glint_rdd *edges = plan_node(&op_nar, source_of(bytes), NULL), *labels = edges;
    const struct source_set *set = NULL;
    for (int round = 0; round < 1000; round++) {
        struct glint_rdd *sent = plan_node(&op_wid, unite(edges, labels), NULL);
        labels = plan_node(&op_wid, unite(labels, sent), NULL);
        cr_assert_eq(glint_input_bytes(labels), bytes);
        if (set == NULL) set = labels->sources;
        cr_assert(labels->sources == set && sent->sources == set); /* shared, not copied */
    }
    cr_expect_eq(rdd_partition_count(labels), 3);
    cr_expect_not(context_failed(&g));
}

/* 2,000 sources, united one by one and then with themselves, in both orders. */
Test(input_bytes, many_sources_add_up)
{
    struct glint_rdd *all = source_of(1), *first = all;
    for (uint64_t i = 2; i <= 2000; i++) {
        all = i % 2 == 0 ? unite(all, source_of(i)) : unite(source_of(i), all);
        cr_assert_eq(glint_input_bytes(all), i * (i + 1) / 2);
    }
    cr_expect_eq(unite(first, all)->sources, all->sources);
    cr_expect_eq(unite(all, first)->sources, all->sources);
    cr_expect_eq(rdd_partition_count(all), 2000);
}

Test(input_bytes, out_of_memory_is_reported)
{
    for (int64_t n = 1; n < 60; n++) {
        struct glint own;
        mem_fail_at(n, false);
        plan_open(&own);
        struct glint_rdd *a = plan_source(&own, 70), *b = plan_source(&own, 70);
        if (a != NULL) a->input_bytes = 1;
        if (b != NULL) b->input_bytes = 2;
        struct glint_rdd *both = plan_node(&op_uni, a, b);
        mem_fail_at(0, false);
        cr_expect(both != NULL ? glint_input_bytes(both) == 3
                               : own.error.code == GLINT_E_NO_MEMORY);
        context_fini(&own);
    }
}

/* Plans are checked while they are built: types, functions, limits; the number of partitions
 * follows from the plan. */
#include "tests/unit/plan/fixture.h"

#include <criterion/criterion.h>
#include <string.h>

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

TestSuite(rdd, .init = open_plan, .fini = close_plan);

Test(rdd, types_follow_functions)
{
    struct glint_rdd *a = plan_call(plan_source(&g, 1), &op_fun, "t.map_text");
    cr_assert_not_null(a);
    cr_expect(a->schema.key == GLINT_I64 && a->schema.value == GLINT_TEXT);
    struct glint_rdd *b = plan_call(a, &op_fun, "t.map_bytes"); /* text is also bytes */
    cr_assert_not_null(b);
    cr_expect(b->schema.key == GLINT_I64 && b->schema.value == GLINT_F64);
    struct glint_rdd *c = plan_node(&op_nar, b, NULL);
    cr_expect(c->schema.key == GLINT_I64 && c->schema.value == GLINT_F64);
    cr_expect_not(context_failed(&g));
}

static void expect_rejected(const struct op *op, const char *function, enum glint_code code)
{
    cr_expect_null(plan_call(plan_source(&g, 1), op, function));
    cr_expect_eq(g.error.code, code);
    cr_expect(function == NULL || strstr(g.error.cause, function) != NULL);
}

Test(rdd, wrong_type_is_rejected)
{
    expect_rejected(&op_fun, "t.map_number", GLINT_E_PLAN_TYPE);
}

Test(rdd, unknown_function_is_rejected)
{
    expect_rejected(&op_fun, "t.none", GLINT_E_PLAN_FUNCTION);
}

Test(rdd, function_with_the_name_of_another_is_rejected)
{
    struct glint_function copy = *registry_find_function(&plan_config, "t.map_text");
    const struct rdd_spec spec = {
        .op = &op_fun, .parents = {plan_source(&g, 1)}, .function = &copy};
    cr_expect_null(rdd_create(&g, &spec));
    cr_expect_eq(g.error.code, GLINT_E_PLAN_FUNCTION);
    cr_expect_not_null(strstr(g.error.cause, "another function named t.map_text"));
}

Test(rdd, function_of_another_version_of_the_header_is_rejected)
{
    struct glint_function copy = *registry_find_function(&plan_config, "t.map_text");
    for (int i = -8; i <= 8; i += 16) {
        copy.struct_size = sizeof copy + (uint64_t)i;
        const struct rdd_spec spec = {
            .op = &op_fun, .parents = {plan_source(&g, 1)}, .function = &copy};
        cr_expect_null(rdd_create(&g, &spec));
        cr_expect_eq(g.error.code, GLINT_E_PLAN_FUNCTION);
        cr_expect_not_null(strstr(g.error.cause, "headers of another version of glint"));
        g.error.code = GLINT_OK;
    }
}

Test(rdd, function_name_of_invalid_length_is_rejected)
{
    char name[NAME_BYTES_MAX + 1] = "";
    struct glint_function copy = *registry_find_function(&plan_config, "t.map_text");
    for (int i = 0; i < 3; i++) {
        copy.name = i == 0 ? NULL : name;
        if (i == 2) memset(name, 'x', NAME_BYTES_MAX);
        const struct rdd_spec spec = {
            .op = &op_fun, .parents = {plan_source(&g, 1)}, .function = &copy};
        cr_expect_null(rdd_create(&g, &spec));
        cr_expect_eq(g.error.code, GLINT_E_PLAN_FUNCTION);
        cr_expect_not_null(strstr(g.error.cause, "must have 1 to 127 bytes"), "%s", g.error.cause);
        g.error.code = GLINT_OK;
    }
}

Test(rdd, missing_function_is_rejected)
{
    expect_rejected(&op_fun, NULL, GLINT_E_PLAN_FUNCTION);
}

Test(rdd, wrong_function_kind_is_rejected)
{
    expect_rejected(&op_red, "t.map_text", GLINT_E_PLAN_FUNCTION);
}

Test(rdd, function_without_callback_is_rejected)
{
    expect_rejected(&op_fun, "t.hollow", GLINT_E_PLAN_FUNCTION);
}

Test(rdd, first_error_is_kept_and_ends_building)
{
    struct glint_rdd *source = plan_source(&g, 1);
    cr_expect_null(plan_call(source, &op_fun, "t.none"));
    cr_expect_null(plan_call(source, &op_fun, "t.map_text"));
    cr_expect_null(plan_call(NULL, &op_fun, "t.map_text"));
    cr_expect_null(rdd_create(NULL, &(struct rdd_spec){.op = &op_src}));
    cr_expect_eq(g.error.code, GLINT_E_PLAN_FUNCTION);
    cr_expect_eq(glint_partitions(source), 0);
}

Test(rdd, plan_size_is_limited)
{
    struct glint_rdd *rdd = plan_source(&g, 1);
    uint32_t nodes = 1;
    while ((rdd = plan_node(&op_nar, rdd, NULL)) != NULL) nodes++;
    cr_expect_eq(nodes, PLAN_NODES_MAX);
    cr_expect_eq(g.error.code, GLINT_E_PLAN_LIMIT);
    cr_expect_not_null(strstr(g.error.hint, "release RDDs"));
}

Test(rdd, each_operator_kind_sets_partitions)
{
    struct glint_rdd *a = plan_source(&g, 5), *b = plan_node(&op_nar, plan_source(&g, 2), NULL);
    struct glint_rdd *both = plan_node(&op_uni, a, b);
    struct glint_rdd *few = plan_node(&op_coa, both, NULL);
    few->partitions_requested = 3;
    struct glint_rdd *many = plan_node(&op_coa, both, NULL);
    many->partitions_requested = 30;
    struct glint_rdd *shuffle_rdd = glint_with_partitions(plan_node(&op_wid, few, NULL), 11);
    cr_expect_eq(rdd_partition_count(both), 7);
    cr_expect_eq(rdd_partition_count(few), 3);
    cr_expect_eq(rdd_partition_count(many), 7);
    cr_expect_eq(rdd_partition_count(shuffle_rdd), 11);
    cr_expect_eq(rdd_partition_count(plan_node(&op_nar, shuffle_rdd, NULL)), 11);
    struct glint_rdd *later = plan_node(&op_wid, plan_node(&op_nar, shuffle_rdd, NULL), NULL);
    cr_expect_eq(rdd_partition_count(later), 11); /* as requested of the shuffle before it */
    cr_expect_eq(rdd_partition_count(plan_source(&g, 0)), 0);
    cr_expect_not(context_failed(&g));
    cr_expect_null(glint_with_partitions(shuffle_rdd, 4)); /* too late: the number has been used */
    cr_expect_eq(g.error.code, GLINT_E_PLAN_LIMIT);
}

Test(rdd, default_partitions_follow_input_size)
{
    static const struct {
        uint64_t bytes;
        uint32_t partitions;
    } cases[] = {{0, 1},
                 {1, 1},
                 {PARTITION_INPUT_BYTES, 1},
                 {PARTITION_INPUT_BYTES + 1, 2},
                 {PARTITION_INPUT_BYTES * 200, 200},
                 {PARTITION_INPUT_BYTES * 100000, 200}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct glint_rdd *source = plan_source(&g, 1);
        source->input_bytes = cases[i].bytes;
        struct glint_rdd *shuffle_rdd = plan_node(&op_wid, source, NULL);
        cr_expect_eq(rdd_partition_count(shuffle_rdd), cases[i].partitions);
        cr_expect_eq(glint_input_bytes(shuffle_rdd), cases[i].bytes);
    }
    g.config.partitions = 7;
    cr_expect_eq(rdd_partition_count(plan_node(&op_wid, plan_source(&g, 1), NULL)), 7);
}

Test(rdd, too_many_partitions_are_rejected)
{
    struct glint_rdd *rdd = plan_source(&g, 4);
    for (int i = 0; i < 20; i++) rdd = plan_node(&op_uni, rdd, rdd); /* the same parent twice */
    cr_expect_eq(rdd_partition_count(rdd), 0);
    cr_expect_eq(g.error.code, GLINT_E_PLAN_LIMIT);
}

Test(rdd, partitions_of_large_plan_are_counted_quickly)
{
    struct glint_rdd *a = plan_source(&g, 0), *b = plan_source(&g, 0);
    for (int i = 0; i < 2000; i++) {
        struct glint_rdd *c = plan_node(&op_uni, a, b);
        b = a;
        a = c;
    }
    cr_expect_eq(rdd_partition_count(a), 0);
    cr_expect_not(context_failed(&g));
}

Test(rdd, coalesce_covers_each_partition_once)
{
    for (uint32_t parents = 1; parents < 40; parents++) {
        for (uint32_t n = 1; n <= parents; n++) {
            uint32_t next = 0, first, end;
            for (uint32_t p = 0; p < n; p++, next = end) {
                rdd_coalesce_range(parents, n, p, &first, &end);
                cr_assert(first == next && end > first);
            }
            cr_assert_eq(next, parents);
        }
    }
}

Test(rdd, out_of_memory_is_reported)
{
    for (int64_t n = 1; n < 60; n++) {
        struct glint own;
        mem_fail_at(n, false);
        plan_open(&own);
        struct glint_rdd *a = plan_call(plan_source(&own, 70), &op_fun, "t.map_text");
        struct glint_rdd *shuffle_rdd = plan_node(&op_wid, plan_node(&op_uni, a, a), NULL);
        uint32_t count = shuffle_rdd != NULL ? rdd_partition_count(shuffle_rdd) : 0;
        mem_fail_at(0, false);
        cr_expect_eq(count == 0, context_failed(&own));
        cr_expect(count == 1 || own.error.code == GLINT_E_NO_MEMORY);
        context_fini(&own);
    }
}

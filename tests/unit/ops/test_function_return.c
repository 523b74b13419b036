/* The return values of job functions: 0, or a code whose error is set. Any other number fails the
 * job, for every kind of callback. */
#include "engine/batch.h"
#include "engine/context/create.h"
#include "tests/unit/ops/actions.h"

#include <stdio.h>

TestSuite(function_return, .init = scratch_open, .fini = scratch_close);

enum { ODD = 5 };

static int odd_open(struct glint_task *task, void *state)
{
    (void)task, (void)state;
    return ODD;
}

static int odd_each(struct glint_task *task, void *state, const struct glint_record *in,
                    struct glint_emitter *out)
{
    (void)task, (void)state, (void)in, (void)out;
    return ODD;
}

static int fine_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    (void)task, (void)state;
    glint_emit(out, in);
    return 0;
}

static int quiet_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)task, (void)state, (void)in, (void)out;
    return 0;
}

static int odd_batch(struct glint_task *task, void *state, const struct glint_batch *in,
                     struct glint_emitter *out)
{
    (void)task, (void)state, (void)in, (void)out;
    return ODD;
}

static int odd_end(struct glint_task *task, void *state, struct glint_emitter *out)
{
    (void)task, (void)state, (void)out;
    return ODD;
}

static int odd_keep(struct glint_task *task, void *state, const struct glint_record *in)
{
    (void)task, (void)state, (void)in;
    return ODD;
}

static int odd_keep_batch(struct glint_task *task, void *state, const struct glint_batch *in,
                          uint16_t *out_rows, uint32_t *out_count)
{
    (void)task, (void)state, (void)in, (void)out_rows, (void)out_count;
    return ODD;
}

static int odd_begin(struct glint_task *task, void *state, const union glint_value *key)
{
    (void)task, (void)state, (void)key;
    return ODD;
}

static int fine_begin(struct glint_task *task, void *state, const union glint_value *key)
{
    (void)task, (void)state, (void)key;
    return 0;
}

static int odd_group_end(struct glint_task *task, void *state, const union glint_value *key,
                         struct glint_emitter *out)
{
    (void)task, (void)state, (void)key, (void)out;
    return ODD;
}

static int odd_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                     const union glint_value *value)
{
    (void)task, (void)state, (void)acc, (void)value;
    return ODD;
}

static int fine_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                      const union glint_value *value)
{
    (void)task, (void)state, (void)acc, (void)value;
    return 0;
}

#define ODD_FUNCTION(name_, kind_)                                                                 \
    .name = "odd." name_, .kind = kind_, .in = {GLINT_ANY, GLINT_I64},                             \
    .out = {GLINT_SAME, GLINT_SAME}

static const struct glint_function functions[] = {
    {ODD_FUNCTION("open", GLINT_KIND_MAP), .open = odd_open, .each = fine_each},
    {ODD_FUNCTION("each", GLINT_KIND_MAP), .each = odd_each},
    {ODD_FUNCTION("batch", GLINT_KIND_MAP), .batch = odd_batch},
    {ODD_FUNCTION("flat_each", GLINT_KIND_FLAT_MAP), .each = odd_each},
    {ODD_FUNCTION("end", GLINT_KIND_FLAT_MAP), .each = fine_each, .end = odd_end},
    {ODD_FUNCTION("quiet_end", GLINT_KIND_FLAT_MAP), .each = quiet_each, .end = odd_end},
    {ODD_FUNCTION("keep", GLINT_KIND_FILTER), .keep = odd_keep},
    {ODD_FUNCTION("keep_batch", GLINT_KIND_FILTER), .keep_batch = odd_keep_batch},
    {ODD_FUNCTION("begin_group", GLINT_KIND_GROUP), .begin_group = odd_begin, .each = fine_each,
     .end_group = odd_group_end},
    {ODD_FUNCTION("group_each", GLINT_KIND_GROUP), .begin_group = fine_begin, .each = odd_each,
     .end_group = odd_group_end},
    {ODD_FUNCTION("end_group", GLINT_KIND_GROUP), .begin_group = fine_begin, .each = fine_each,
     .end_group = odd_group_end},
    {ODD_FUNCTION("reduce", GLINT_KIND_REDUCE), .merge = odd_merge},
    {ODD_FUNCTION("create", GLINT_KIND_AGGREGATE), .create = odd_merge, .merge = fine_merge,
     .combine = fine_merge},
    {ODD_FUNCTION("merge", GLINT_KIND_AGGREGATE), .create = fine_merge, .merge = odd_merge,
     .combine = fine_merge},
    {ODD_FUNCTION("combine", GLINT_KIND_AGGREGATE), .create = fine_merge, .merge = fine_merge,
     .combine = odd_merge},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static const struct glint_function *listed[FUNCTIONS + 1];
static const struct glint_module module = {"odd", listed};
static const struct glint_module *const modules[] = {&ops_module, &module, NULL};

/* Two partitions, both with records of the keys 0 and 1. */
static struct glint_rdd *pairs_of(struct glint *g)
{
    struct glint_record records[8];
    for (int64_t i = 0; i < 8; i++)
        records[i] = (struct glint_record){.key.i64 = i % 2, .value.i64 = i};
    return glint_parallelize(g, (struct glint_schema){GLINT_I64, GLINT_I64}, records, 8, 2);
}

static struct glint_rdd *plan_of(struct glint *g, const struct glint_function *fn)
{
    struct glint_rdd *pairs = pairs_of(g);
    switch (fn->kind) {
    case GLINT_KIND_MAP: return glint_map(pairs, fn, NULL);
    case GLINT_KIND_FLAT_MAP: return glint_map_partitions(pairs, fn, NULL);
    case GLINT_KIND_FILTER: return glint_filter(pairs, fn, NULL);
    case GLINT_KIND_GROUP: return glint_map_values(glint_group_by_key(pairs), fn, NULL);
    case GLINT_KIND_REDUCE: return glint_reduce_by_key(pairs, fn, NULL);
    case GLINT_KIND_AGGREGATE: return glint_combine_by_key(pairs, fn, NULL);
    }
    return NULL;
}

static void expect_named(struct glint *g, const struct glint_function *fn, int returned)
{
    char cause[128];
    snprintf(cause, sizeof cause, "%s returned %d", fn->name, ODD);
    cr_expect_eq(returned, GLINT_E_FUNCTION_FAILED, "%s: %d", fn->name, returned);
    cr_expect_str_eq(glint_error(g)->cause, cause);
    cr_expect_neq(glint_error(g)->hint[0], '\0', "%s: no hint", fn->name);
    fixture_close(g, GLINT_E_FUNCTION_FAILED);
}

static struct glint *open_odd(bool encode)
{
    const struct context_config config = {.slots = 2,
                                          .bad_rows_max = -1,
                                          .encode_messages = encode,
                                          .ops = ops_table,
                                          .modules = modules};
    struct glint_error error;
    for (int i = 0; i < FUNCTIONS; i++) listed[i] = &functions[i];
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    return g;
}

Test(function_return, invalid_return_value_fails_the_job)
{
    for (int i = 0; i < 2 * FUNCTIONS; i++) {
        const struct glint_function *fn = &functions[i / 2];
        struct glint *g = open_odd(i % 2 == 1);
        int64_t rows = 0;
        expect_named(g, fn, glint_count(plan_of(g, fn), &rows));
    }
}

static const struct glint_function *find_case(const char *name)
{
    int i = 0;
    while (strcmp(functions[i].name, name) != 0) cr_assert_lt(++i, FUNCTIONS);
    return &functions[i];
}

/* reduce and aggregate call functions in tasks and in the driver, which is the first to call
 * "combine". */
Test(function_return, invalid_return_value_fails_the_action)
{
    static const char *const names[] = {"odd.reduce", "odd.merge", "odd.combine"};
    for (int i = 0; i < 3; i++) {
        struct glint *g = open_odd(i == 1);
        struct glint_rows rows;
        int r = i == 0 ? glint_reduce(pairs_of(g), find_case(names[i]), NULL, &rows)
                       : glint_aggregate(pairs_of(g), number(0), find_case(names[i]), NULL, &rows);
        expect_named(g, find_case(names[i]), r);
    }
}

Test(function_return, invalid_return_value_fails_foreach)
{
    static const char *const names[] = {"odd.flat_each", "odd.quiet_end"};
    for (int i = 0; i < 2; i++) {
        struct glint *g = open_odd(i == 1);
        expect_named(g, find_case(names[i]), glint_foreach(pairs_of(g), find_case(names[i]), NULL));
    }
}

/* The return values of job functions: 0, or a code whose error is set. Any other number fails the
 * job, for every kind of callback. */
#include "engine/batch.h"
#include "engine/driver/driver.h"
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

/* Emits texts where numbers are expected. */
static int text_batch(struct glint_task *task, void *state, const struct glint_batch *in,
                      struct glint_emitter *out)
{
    (void)task, (void)state, (void)in;
    static const uint32_t start[] = {0}, end[] = {1};
    const struct glint_column column = {
        .type = GLINT_TEXT, .base = (const uint8_t *)"x", .size = 1, .start = start, .end = end};
    const struct glint_batch batch = {.rows = 1, .key = in->key, .value = column};
    glint_emit_batch(out, &batch);
    return 0;
}

/* Emits a number where a text is expected. */
static int number_each(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    (void)task, (void)state, (void)in;
    glint_emit_i64(out, (struct glint_slice){(const uint8_t *)"key", 3}, 1);
    return 0;
}

/* Stores bytes where the accumulator is a number. */
static int bytes_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                       const union glint_value *value)
{
    (void)state, (void)value;
    return glint_acc_set(task, acc, "bytes", 5);
}

/* Emits only the first row. */
static int short_batch(struct glint_task *task, void *state, const struct glint_batch *in,
                       struct glint_emitter *out)
{
    (void)task, (void)state;
    struct glint_batch batch = *in;
    batch.rows = 1;
    glint_emit_batch(out, &batch);
    return 0;
}

static int64_t fine_partition(struct glint_task *task, void *state, const union glint_value *key,
                              uint32_t partitions)
{
    (void)task, (void)state, (void)key;
    return partitions - 1;
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
    {ODD_FUNCTION("partition_open", GLINT_KIND_PARTITION), .open = odd_open,
     .partition = fine_partition},
};
static const struct glint_function text_function = {ODD_FUNCTION("text_batch", GLINT_KIND_MAP),
                                                    .batch = text_batch};
static const struct glint_function short_function = {ODD_FUNCTION("short_batch", GLINT_KIND_MAP),
                                                     .batch = short_batch};
static const struct glint_function number_function =
    GLINT_MAP("odd.number", GLINT_PAIRS(GLINT_ANY, GLINT_I64), GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
              number_each);
static const struct glint_function bytes_function = {ODD_FUNCTION("bytes", GLINT_KIND_REDUCE),
                                                     .merge = bytes_merge};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static const struct glint_function *listed[FUNCTIONS + 5];
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
    case GLINT_KIND_PARTITION:
        return glint_with_partitioner(glint_partition_by(pairs, 2), fn, NULL);
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
    listed[FUNCTIONS] = &text_function;
    listed[FUNCTIONS + 1] = &short_function;
    listed[FUNCTIONS + 2] = &number_function;
    listed[FUNCTIONS + 3] = &bytes_function;
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

/* A batch is checked as a whole: types, and the number of rows where keys are kept. */
Test(function_return, wrong_batch_fails_the_job)
{
    static const struct glint_function *const wrong[] = {&text_function, &short_function};
    static const char *const causes[] = {
        "odd.text_batch emitted a batch with other types than those of the function",
        "odd.short_batch emitted a batch with another number of rows than its input, whose keys or "
        "values are kept"};
    for (int i = 0; i < 2; i++) {
        struct glint *g = open_odd(i == 1);
        struct glint_rdd *pairs = pairs_of(g);
        int64_t rows = 0;
        int r = glint_count(i == 0 ? glint_map(pairs, wrong[i], NULL)
                                   : glint_map_values(pairs, wrong[i], NULL),
                            &rows);
        cr_expect_eq(r, GLINT_E_PLAN_TYPE);
        cr_expect_str_eq(glint_error(g)->cause, causes[i]);
        fixture_close(g, GLINT_E_PLAN_TYPE);
    }
}

Test(function_return, another_type_than_promised_fails_the_job)
{
    for (int i = 0; i < 2; i++) {
        struct glint *g = open_odd(i == 1);
        int64_t rows = 0;
        cr_expect_eq(glint_count(glint_map(pairs_of(g), &number_function, NULL), &rows),
                     GLINT_E_PLAN_TYPE);
        cr_expect_str_eq(glint_error(g)->cause,
                         "odd.number emitted (bytes, i64), and its output is (text, text)");
        fixture_close(g, GLINT_E_PLAN_TYPE);
    }
}

/* In tasks, and on the driver. */
Test(function_return, bytes_in_an_accumulator_of_numbers_fail_the_job)
{
    for (int i = 0; i < 4; i++) {
        struct glint *g = open_odd(i % 2 == 1);
        struct glint_rows rows = {.count = 0};
        int64_t count = 0;
        const int r =
            i < 2 ? glint_count(glint_reduce_by_key(pairs_of(g), &bytes_function, NULL), &count)
                  : glint_reduce(pairs_of(g), &bytes_function, NULL, &rows);
        cr_expect_eq(r, GLINT_E_PLAN_TYPE);
        cr_expect_str_eq(glint_error(g)->cause,
                         "odd.bytes stores bytes in an accumulator that is a number");
        fixture_close(g, GLINT_E_PLAN_TYPE);
    }
}

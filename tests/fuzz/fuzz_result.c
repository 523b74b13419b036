/* Arbitrary bytes as what executors return to the driver: the results of an action's tasks and
 * their counters. An action must succeed or fail with the context's error; all bytes of its result
 * must be readable. */
#include "engine/base/env.h"
#include "engine/driver/driver_internal.h"
#include "engine/events/counters.h"
#include "engine/plan/context.h"
#include "engine/plan/context_config.h"
#include "engine/plan/stage_plan.h"
#include "ops/ops.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARTITIONS 3u
#define REST       255u /* a length: all remaining bytes */

static struct glint_slice input; /* the remaining bytes */

static unsigned take_byte(void)
{
    if (input.size == 0) return 0;
    input.size--;
    return *input.data++;
}

/* Copies to a block of exactly that size, so that sanitizers detect reads past the end. The caller
 * frees it. */
static struct glint_slice take_result(void)
{
    uint64_t size = take_byte();
    if (size == REST || size > input.size) size = input.size;
    uint8_t *copy = mem_alloc(size > 0 ? size : 1);
    if (copy == NULL) abort();
    if (size > 0) memcpy(copy, input.data, size);
    input.data += size;
    input.size -= size;
    return (struct glint_slice){copy, size};
}

/* The runner: each task returns bytes of the input. */
static int run(struct driver *d, const struct action *action)
{
    (void)d;
    uint32_t count = action->partitions != NULL ? action->partition_count : PARTITIONS;
    for (uint32_t i = 0; i < count && action->on_result != NULL; i++) {
        uint32_t partition = action->partitions != NULL ? action->partitions[i] : i;
        struct glint_slice result = take_result();
        int returned = action->on_result(action->arg, partition, result);
        mem_free((void *)result.data);
        if (returned != 0) return returned;
    }
    return 0;
}

static int add(struct glint_task *task, void *state, struct glint_acc *acc,
               const union glint_value *value)
{
    (void)task;
    (void)state;
    acc->value.i64 = (int64_t)((uint64_t)acc->value.i64 + (uint64_t)value->i64);
    return 0;
}

static int append(struct glint_task *task, void *state, struct glint_acc *acc,
                  const union glint_value *value)
{
    (void)state;
    return glint_acc_append(task, acc, value->bytes.data, value->bytes.size);
}

static const struct glint_function add_function = {.name = "fuzz.add",
                                                   .kind = GLINT_KIND_REDUCE,
                                                   .in = {GLINT_ANY, GLINT_I64},
                                                   .out = {GLINT_SAME, GLINT_SAME},
                                                   .merge = add};
static const struct glint_function append_function = {.name = "fuzz.append",
                                                      .kind = GLINT_KIND_REDUCE,
                                                      .in = {GLINT_ANY, GLINT_TEXT},
                                                      .out = {GLINT_SAME, GLINT_SAME},
                                                      .merge = append};
static const struct glint_function *const functions[] = {&add_function, &append_function, NULL};
static const struct glint_module module = {"fuzz", functions};
static const struct glint_module *const modules[] = {&module, NULL};

static volatile uint64_t sum; /* a sum over all returned bytes */

/* Reads every byte of the cell, so that sanitizers detect invalid memory. */
static void touch(enum glint_type type, const union glint_value *v)
{
    if (type == GLINT_NONE) return;
    if (type == GLINT_I64 || type == GLINT_F64)
        sum += (uint64_t)v->i64;
    else
        for (uint64_t i = 0; i < v->bytes.size; i++) sum += v->bytes.data[i];
}

static void touch_rows(struct glint_rows *rows)
{
    for (uint64_t i = 0; i < rows->count; i++) {
        struct glint_record record = glint_rows_at(rows, i);
        touch(rows->schema.key, &record.key);
        touch(rows->schema.value, &record.value);
    }
    glint_rows_free(rows);
}

static struct glint_schema schemas[] = {{GLINT_NONE, GLINT_I64}, {GLINT_NONE, GLINT_TEXT},
                                        {GLINT_NONE, GLINT_F64}, {GLINT_TEXT, GLINT_I64},
                                        {GLINT_I64, GLINT_TEXT}, {GLINT_BYTES, GLINT_F64}};

static int act(struct glint_rdd *rdd, unsigned which, struct glint_rows *rows)
{
    const struct glint_function *function =
        rdd->schema.value == GLINT_I64 ? &add_function : &append_function;
    union glint_value value = {.i64 = 0};
    int64_t count;
    bool empty;
    struct glint_rdd *prepared = NULL;
    switch (which) {
    case 0: return glint_collect(rdd, rows);
    case 1: return glint_collect_as_map(rdd, rows);
    case 2: return glint_count(rdd, &count);
    case 3: return glint_count_by_key(rdd, rows);
    case 4: return glint_count_by_value(rdd, rows);
    case 5: return glint_first(rdd, rows);
    case 6: return glint_take(rdd, 1 + take_byte(), rows);
    case 7: return glint_take_ordered(rdd, take_byte(), rows);
    case 8: return glint_top(rdd, take_byte(), rows);
    case 9: return glint_reduce(rdd, function, NULL, rows);
    case 10: return glint_sum(rdd, &value);
    case 11: return glint_min(rdd, rows);
    case 12: return glint_max(rdd, rows);
    case 13: return glint_is_empty(rdd, &empty);
    case 14: prepared = glint_zip_with_index(rdd); break;
    case 15: prepared = glint_sort_by_key(rdd, true); break;
    case 17: return glint_stats(rdd, &(struct glint_stats){0});
    case 19: return glint_take_sample(rdd, false, 1 + take_byte(), 7, rows);
    case 20: return glint_take_sample(rdd, true, 1 + take_byte(), 7, rows);
    case 21: return glint_count_approx_distinct(rdd, &count);
    default: return glint_histogram(rdd, (const double[]){0, 1, 2}, 2, (int64_t[2]){0});
    }
    if (prepared == NULL || rdd_partition_count(prepared) == 0) return rdd->g->error.code;
    return rdd_prepare_all_in_stage(prepared);
}

static void run_action(unsigned which, unsigned schema)
{
    static const struct context_config config = {
        .slots = 1, .ops = ops_table, .modules = modules, .result_bytes_max = 1 << 20};
    static const struct runner runner = {.run = run};
    struct glint *g = mem_zalloc(sizeof *g);
    struct glint_rows rows = {.count = 0};
    if (g == NULL) abort();
    context_init(g, &config);
    g->config.env = env_real();
    g->runner = &runner;
    struct glint_rdd *rdd = glint_parallelize(g, schemas[schema], NULL, 0, PARTITIONS);
    if (rdd == NULL) abort();
    int r = act(rdd, which, &rows);
    if ((r != 0) != (glint_error(g)->code != GLINT_OK)) abort();
    touch_rows(&rows);
    context_fini(g);
    mem_free(g);
}

/* Merges the accumulators, and reads them. */
static void run_accumulators(struct accumulators *a, struct glint *g)
{
    const int r = accumulators_merge(a, g);
    if (r != g->error.code) abort();
    for (const struct glint_answer *n = accumulators_list(a); n != NULL; n = n->next) {
        struct glint_cell cell;
        if (!accumulators_find(a, n->name, &cell) || cell.type != n->value.type) abort();
    }
    accumulators_fini(a);
}

static void run_counters(void)
{
    static const struct context_config config = {
        .slots = 1, .ops = ops_table, .modules = modules, .result_bytes_max = 1 << 20};
    struct counters sums = {.count = 0};
    struct accumulators accumulators = {.count = 0};
    struct glint *g = mem_zalloc(sizeof *g);
    struct glint_error error = {.code = GLINT_OK};
    int r = 0;
    if (g == NULL) abort();
    context_init(g, &config);
    g->config.env = env_real();
    for (unsigned i = 0; i < PARTITIONS && r == 0; i++) {
        struct glint_slice counters = take_result();
        r = counters_add_task(&sums, counters, &error);
        if (r == 0) accumulators_add_task(&accumulators, g, 0, i, counters);
        mem_free((void *)counters.data);
    }
    if (r != error.code) abort();
    run_accumulators(&accumulators, g);
    context_fini(g);
    mem_free(g);
    counters_sort(&sums);
    for (uint32_t i = 0; i < sums.count; i++) counters_value(&sums, sums.names[i]);
    counters_fini(&sums);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input = (struct glint_slice){data, size};
    unsigned which = take_byte();
    which = which < 250 ? which % 17
                        : which - 233; /* the seeds are older than the actions from 17 on */
    unsigned schema = take_byte() % (sizeof schemas / sizeof *schemas);
    if (which == 16)
        run_counters();
    else
        run_action(which, schema);
    return 0;
}

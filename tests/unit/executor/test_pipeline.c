/* Runs a stage without a driver or an executor: a plan, a partition, splits and inputs go in, a map
 * output or a result comes out. */
#include "engine/driver/driver.h"
#include "engine/executor/executor.h"
#include "ops/ops.h"
#include "tests/support/local.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

extern const struct op op_collect;

enum { MAPS = 4, REDUCES = 3, NUMBERS = 1000 };

struct pipeline_fixture {
    struct glint *g;
    struct glint_rdd *pairs, *counts, *wide;
    struct test_task t;
    struct run runs[MAPS];
};

static void open_fixture(struct pipeline_fixture *w)
{
    struct context_config c = local_config(1, false);
    struct glint_error error;
    *w = (struct pipeline_fixture){.g = context_create(&c, &error)};
    cr_assert_not_null(w->g);
    w->pairs = glint_map(local_numbers(w->g, NUMBERS, MAPS), FN_MAP, NULL);
    w->counts = glint_with_partitions(local_counts(w->pairs), REDUCES);
    w->wide = w->counts->shuffle != NULL ? w->counts->shuffle : w->counts;
    cr_assert_eq(rdd_partition_count(w->counts), REDUCES);
    test_task_init(&w->t, SLOT_MEMORY_BYTES_MIN);
    w->t.options.result_bytes_max = MIB;
}

static void close_fixture(struct pipeline_fixture *w)
{
    for (int i = 0; i < MAPS; i++) run_destroy(&w->runs[i]);
    cr_expect(test_task_fini(&w->t));
    cr_expect_eq(glint_finish(w->g), GLINT_OK);
    glint_destroy(w->g);
}

static void next_task(struct pipeline_fixture *w)
{
    w->t.task.error.code = GLINT_OK;
    w->t.task.counters = (struct task_counters){.used = COUNT_BUILT_IN};
    w->t.task.attempt_id++;
    arena_reset(&w->t.task.arena, MIB);
}

static int fetch(void *arg, struct glint_task *task, uint64_t shuffle, uint32_t partition,
                 struct run_slice **out, uint32_t *out_count)
{
    struct pipeline_fixture *w = arg;
    cr_expect_eq(shuffle, w->wide->id);
    *out = task_alloc(task, sizeof **out * MAPS);
    *out_count = 0;
    if (*out == NULL) return task->error.code;
    for (int i = 0; i < MAPS; i++)
        if (w->runs[i].parts[partition].records > 0)
            (*out)[(*out_count)++] = run_slice(&w->runs[i], partition);
    return 0;
}

static int run_partition(struct pipeline_fixture *w, const struct stage_plan *s,
                         struct glint_rdd *top, uint32_t partition, struct run *run,
                         struct buffer *result)
{
    struct buffer splits = {NULL, 0, 0};
    if (partition < top->partitions)
        cr_assert_eq(rdd_encode_partition_splits(w->g, top, partition, &splits), 0);
    else
        cr_assert(buffer_append(&splits, "\x90", 1));
    struct pipeline_input in = {.stage = s,
                                .partition = partition,
                                .splits = {splits.data, splits.size},
                                .fetch = fetch,
                                .fetch_arg = w};
    next_task(w);
    int r = pipeline_run(&w->t.task, &in, run, result);
    cr_expect_eq(r, w->t.task.error.code);
    buffer_fini(&splits);
    return r;
}

static void run_maps(struct pipeline_fixture *w)
{
    struct stage_plan s;
    cr_assert_eq(stage_plan_create(&s, NULL, w->wide), 0);
    for (uint32_t i = 0; i < MAPS; i++) {
        cr_assert_eq(run_partition(w, &s, w->wide->parents[0], i, &w->runs[i], NULL), 0);
        cr_expect_eq(w->runs[i].partitions, REDUCES);
        cr_expect_eq(w->runs[i].records, 10); /* combined */
    }
    stage_plan_fini(&s);
}

Test(pipeline, map_and_reduce_stages_give_correct_sums)
{
    struct pipeline_fixture w;
    struct stage_plan s;
    int64_t sum = 0;
    uint32_t keys = 0;
    open_fixture(&w);
    run_maps(&w);
    struct action action = {.op = &op_collect, .rdd = w.counts};
    cr_assert_eq(stage_plan_create(&s, &action, NULL), 0);
    for (uint32_t i = 0; i < REDUCES; i++) {
        struct buffer result = {NULL, 0, 0};
        struct glint_record r;
        uint64_t at = 0;
        cr_assert_eq(run_partition(&w, &s, w.counts, i, NULL, &result), 0, "%s",
                     w.t.task.error.cause);
        struct glint_slice rows = {result.data, result.size};
        while (result_rows_next(rows, &at, w.counts->schema, &r)) {
            keys++;
            sum += r.value.i64;
        }
        cr_expect_eq(at, result.size);
        buffer_fini(&result);
    }
    cr_expect_eq(keys, 10);
    cr_expect_eq(sum, (int64_t)NUMBERS * (NUMBERS - 1) / 2);
    stage_plan_fini(&s);
    close_fixture(&w);
}

Test(pipeline, invalid_partitions_and_splits_are_rejected)
{
    struct pipeline_fixture w;
    struct stage_plan s;
    struct buffer result = {NULL, 0, 0};
    open_fixture(&w);
    struct action action = {.op = &op_collect, .rdd = w.pairs};
    cr_assert_eq(stage_plan_create(&s, &action, NULL), 0);
    cr_expect_eq(run_partition(&w, &s, w.pairs, MAPS, NULL, &result), GLINT_E_PROTOCOL);
    cr_expect_eq(run_partition(&w, &s, w.pairs, UINT32_MAX, NULL, &result), GLINT_E_PROTOCOL);
    static const char *const bad[] = {"", "\x90", "\xc0", "\x91\xc0", "\x91", "\x91\xc4\x01x\x90"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct pipeline_input in = {
            .stage = &s, .splits = {(const uint8_t *)bad[i], strlen(bad[i])}, .fetch = fetch};
        next_task(&w);
        cr_expect_lt(pipeline_run(&w.t.task, &in, NULL, &result), 0);
    }
    buffer_fini(&result);
    stage_plan_fini(&s);
    close_fixture(&w);
}

Test(pipeline, cancelled_task_ends)
{
    struct pipeline_fixture w;
    struct stage_plan s;
    struct buffer result = {NULL, 0, 0};
    atomic_bool cancelled = true;
    open_fixture(&w);
    w.t.task.cancel_flag = &cancelled;
    struct action action = {.op = &op_collect, .rdd = w.pairs};
    cr_assert_eq(stage_plan_create(&s, &action, NULL), 0);
    cr_expect_eq(run_partition(&w, &s, w.pairs, 0, NULL, &result), GLINT_E_INTERRUPTED);
    buffer_fini(&result);
    stage_plan_fini(&s);
    close_fixture(&w);
}

/* A map task of w->wide. */
struct map_task {
    struct pipeline_fixture w;
    struct stage_plan stage;
    struct buffer splits;
};

static void open_map_task(struct map_task *m)
{
    open_fixture(&m->w);
    cr_assert_eq(stage_plan_create(&m->stage, NULL, m->w.wide), 0);
    cr_assert_eq(rdd_encode_partition_splits(m->w.g, m->w.pairs, 0, &m->splits), 0);
}

static void close_map_task(struct map_task *m)
{
    buffer_fini(&m->splits);
    stage_plan_fini(&m->stage);
    close_fixture(&m->w);
}

/* Runs it with `fill` bytes used in its arena; the n-th allocation fails. Returns whether the task
 * ended without an error. */
static bool run_without_memory(struct map_task *m, uint64_t fill, int64_t n)
{
    struct run run = {.partitions = 0};
    struct pipeline_input in = {.stage = &m->stage, .splits = {m->splits.data, m->splits.size}};
    struct arena *arena = &m->w.t.task.arena;
    next_task(&m->w);
    arena_reset(arena, 0);
    int64_t live = mem_live_blocks();
    if (fill > 0) cr_assert_not_null(arena_alloc(arena, fill));
    mem_fail_at(n, false);
    int r = pipeline_run(&m->w.t.task, &in, &run, NULL);
    mem_fail_at(0, false);
    cr_assert(r == 0 || r == GLINT_E_NO_MEMORY, "%d", r);
    if (r == 0) run_destroy(&run);
    arena_reset(arena, 0);
    cr_expect_eq(mem_live_blocks(), live, "%lld", (long long)n);
    return r == 0;
}

Test(pipeline, out_of_memory_leaks_nothing)
{
    struct map_task m;
    bool done = false;
    open_map_task(&m);
    for (int64_t n = 1; n < 200 && !done; n++) done = run_without_memory(&m, 0, n);
    cr_expect(done);
    close_map_task(&m);
}

/* The arena is full at any of the pipeline's allocations, and cannot grow. */
Test(pipeline, full_arena_is_reported)
{
    enum { ARENA_BYTES_MAX = 65536, STEP_BYTES = 64, ALLOCATIONS = 4 };
    struct map_task m;
    uint32_t failed = 0;
    open_map_task(&m);
    for (uint64_t fill = 0; fill < ARENA_BYTES_MAX; fill += STEP_BYTES)
        for (int64_t n = 1; n <= ALLOCATIONS; n++) failed += !run_without_memory(&m, fill, n);
    cr_expect_gt(failed, 0);
    close_map_task(&m);
}

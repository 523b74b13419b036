/* Loops of small actions, for tests of what stays: one frees what each iteration made, in another
 * each iteration reads the blocks of the one before. */
#include "tests/jobs/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct add {
    const uint8_t *last;
};

static int open_add(struct glint_task *task, void *state)
{
    struct glint_slice value;
    const int code = glint_arg_broadcast(task, "value", &value);
    if (code == 0) ((struct add *)state)->last = value.data + value.size - 1;
    return code;
}

static int add_each(struct glint_task *task, void *state, const struct glint_record *in,
                    struct glint_emitter *out)
{
    (void)task;
    const int64_t n = in->value.i64 + *((struct add *)state)->last;
    glint_emit(out, &(struct glint_record){.key.i64 = n % 10, .value.i64 = n});
    return 0;
}
static const struct glint_function add =
    GLINT_MAP("loops.add", GLINT_ELEMENTS(GLINT_I64), GLINT_PAIRS(GLINT_I64, GLINT_I64), add_each,
              .state_size = sizeof(struct add), .open = open_add);

enum { ROWS = 1000 };

/* Two actions on persisted sums of what a broadcast was added to. */
static int iterate(struct glint *g, int64_t i, uint64_t broadcast_bytes)
{
    union glint_value first = {.i64 = -1}, second = {.i64 = -1};
    glint_begin_scope(g);
    uint8_t *value = glint_alloc(g, broadcast_bytes);
    for (uint64_t at = 0; value != NULL && at < broadcast_bytes; at++)
        value[at] = (uint8_t)(at * 31 + (uint64_t)i);
    const uint8_t last = value != NULL ? value[broadcast_bytes - 1] : 0;
    struct glint_args *args = glint_args(g);
    glint_args_add_broadcast(args, "value", glint_broadcast(g, value, broadcast_bytes));
    struct glint_rdd *added = glint_map(glint_range(g, 0, ROWS, 1, 4), &add, args);
    struct glint_rdd *sums = glint_persist(
        glint_with_partitions(glint_reduce_by_key(added, &GLINT_SUM_I64, NULL), 4), GLINT_DISK);
    glint_sum(glint_values(sums), &first);
    glint_sum(glint_values(sums), &second);
    glint_end_scope(g, NULL);
    const int64_t want = (int64_t)ROWS * (ROWS - 1) / 2 + (int64_t)ROWS * last;
    if (glint_error(g)->code == 0 && (first.i64 != want || second.i64 != want))
        glint_abort(g, GLINT_E_BAD_VALUE, NULL, "iteration %lld has a wrong sum", (long long)i);
    return glint_error(g)->code;
}

/* Prints what is allocated after both halves of the iterations; waits then. */
static int loop_run(struct glint *g, const struct glint_job_args *args)
{
    const int64_t iterations = glint_job_i64(g, args, "iterations", 2, 10000000);
    const int64_t bytes = glint_job_i64(g, args, "broadcast-bytes", 1, 100000000);
    const char *wait = glint_job_option(args, "hold");
    const struct timespec pause = {.tv_nsec = 5000000};
    for (int64_t i = 0; i < iterations; i++) {
        if (iterate(g, i, (uint64_t)bytes) != 0) return glint_error(g)->code;
        const bool half = i + 1 == iterations / 2, end = i + 1 == iterations;
        if (!half && !end) continue;
        /* But not what is kept of the last stages and of freed RDDs, up to a limit. */
        const int64_t kept =
            (int64_t)glint_summarize(g)->stage_count + g->freed_count + g->destroyed_count;
        printf("%s: %lld blocks\n", half ? "half" : "end", (long long)(mem_live_blocks() - kept));
        fflush(stdout);
        while (wait != NULL && access(wait, F_OK) == (half ? 0 : -1)) nanosleep(&pause, NULL);
    }
    return glint_error(g)->code;
}

/* Waits in the middle of the iterations while the file of --hold exists. */
static void hold_in_the_middle(const struct glint_job_args *args, int64_t i, int64_t iterations)
{
    const char *wait = glint_job_option(args, "hold");
    const struct timespec pause = {.tv_nsec = 5000000};
    if (i + 1 != iterations / 2) return;
    printf("half\n");
    fflush(stdout);
    while (wait != NULL && access(wait, F_OK) == 0) nanosleep(&pause, NULL);
}

static int add_one(struct glint_task *task, void *state, const struct glint_record *in,
                   struct glint_emitter *out)
{
    (void)task;
    (void)state;
    glint_emit(out, &(struct glint_record){.value.i64 = in->value.i64 + 1});
    return 0;
}
static const struct glint_function one_more =
    GLINT_MAP("loops.one_more", GLINT_ELEMENTS(GLINT_I64), GLINT_ELEMENTS(GLINT_I64), add_one);

/* Each iteration adds one to the persisted numbers of the one before; every fourth one reads them
 * in one task, wherever their blocks are. */
static int chain_run(struct glint *g, const struct glint_job_args *args)
{
    const int64_t iterations = glint_job_i64(g, args, "iterations", 2, 10000000);
    const char *level = glint_job_option(args, "level");
    struct glint_rdd *numbers = glint_range(g, 0, 100 * ROWS, 1, 6), *before = NULL;
    for (int64_t i = 0; i < iterations && glint_error(g)->code == 0; i++) {
        union glint_value sum = {.i64 = -1};
        before = numbers;
        numbers = glint_persist(glint_map(numbers, &one_more, NULL),
                                level != NULL ? GLINT_DISK : GLINT_MEMORY);
        glint_sum(i % 4 == 3 ? glint_coalesce(numbers, 1) : numbers, &sum);
        const int64_t want = 100 * ROWS * (INT64_C(100) * ROWS - 1) / 2 + 100 * ROWS * (i + 1);
        if (glint_error(g)->code == 0 && sum.i64 != want)
            glint_abort(g, GLINT_E_BAD_VALUE, NULL, "iteration %lld has a wrong sum", (long long)i);
        if (i > 0) glint_unpersist(before);
        hold_in_the_middle(args, i, iterations);
    }
    printf("hits: %lld\nmisses: %lld\n", (long long)glint_counter_value(g, "cache hits"),
           (long long)glint_counter_value(g, "cache misses"));
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    {"iterations", "N", "1000", "how many"},
    {"level", "LEVEL", NULL, "of what is kept: disk; else memory"},
    {"broadcast-bytes", "N", "100", "bytes of the broadcast of each"},
    {"hold", "FILE", NULL, "waits in the middle while it exists, and at the end until it exists"},
    {.name = NULL}};
const struct glint_job loop_job = {.name = "loop",
                                   .summary = "run small actions in a loop",
                                   .options = options,
                                   .functions = {&add},
                                   .run = loop_run};
const struct glint_job chain_job = {.name = "chain",
                                    .summary = "add one to persisted numbers in a loop",
                                    .options = options,
                                    .functions = {&one_more},
                                    .run = chain_run};

/* The running task, as data: what functions, operators and shuffle code of one task share.
 *
 * One thread, the slot's, owns it from the first call to the last. The executor fills it in and
 * takes the results out; nothing here knows slots, stages or messages. */
#ifndef GLINT_DATA_TASK_H
#define GLINT_DATA_TASK_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/limits.h"

#include <limits.h>
#include <stdatomic.h>

/* What a job's options say about every task. Constant while a context lives. */
struct task_options {
    uint64_t memory_bytes; /* of one slot */
    uint64_t line_bytes_max;
    uint64_t result_bytes_max; /* what a task may answer */
    bool skip_bad_rows;
    int64_t bad_rows_max; /* in one job, with skip; -1: no limit */
    bool no_sync;         /* files of outputs are not waited for until the disk has them */
    const char *work_dir; /* this run's own folder, mode 0700, exists */
    /* Where relative paths begin: the driver's current folder, which an executor process makes its
     * own. Empty: nowhere else. */
    char dir[PATH_MAX];
};

/* Counts of one attempt. The built-in ones come first; the rest are the functions', by name. */
enum task_counter {
    COUNT_ROWS_READ,
    COUNT_BYTES_READ,
    COUNT_ROWS_WRITTEN,
    COUNT_BYTES_WRITTEN,
    COUNT_MAP_OUTPUT_RECORDS,
    COUNT_MAP_OUTPUT_BYTES,
    COUNT_SPILLS,
    COUNT_SPILL_BYTES,
    COUNT_BUILT_IN
};
static_assert(COUNT_BUILT_IN < COUNTERS_MAX, "functions have counters of their own");
extern const char *const task_counter_names[COUNT_BUILT_IN];

struct task_counters {
    uint32_t used;
    char *names[COUNTERS_MAX]; /* from COUNT_BUILT_IN on, in the task's arena */
    int64_t values[COUNTERS_MAX];
};

struct args_value;
struct run_source;
struct shuffle_spec;
struct stage_plan;

struct glint_task {
    struct env *env;
    const struct task_options *options;
    struct glint_error error;
    struct arena arena; /* scratch; reset between tasks */
    struct task_counters counters;
    uint32_t partition;  /* of the operator at work */
    uint64_t attempt_id; /* unique in this process's life; names spill files */
    uint32_t attempt;    /* as the driver counts them: names part files */
    uint64_t file_count; /* spill files made so far */
    uint64_t table_seed; /* random, of this process */
    /* What finished runs of this process may still take in memory, all together; NULL: nothing. */
    atomic_uint_fast64_t *run_memory;
    /* Inside open: the arguments of the function at hand, and the broadcasts they may name. */
    struct glint_slice args;
    int (*broadcast)(void *arg, uint64_t id, struct glint_slice *out);
    void *broadcast_arg;
    /* The shuffle that the stage ends in; NULL: another end. */
    const struct shuffle_spec *shuffle;
    /* The batch at hand's origin, for error messages; NULL outside text sources. */
    const struct glint_origin *origin;
    /* The stage that is run, and the job's function at work in it; NULL: none. For messages of
     * other threads and of signal handlers, too. */
    const struct stage_plan *stage;
    _Atomic(const struct glint_function *) function;
    /* Whose bytes the error is about: a run that is damaged or cannot be read; else NULL. */
    const struct run_source *failed_source;
    /* The error is FETCH_FAILED, and whoever should have sent the bytes does not answer. */
    bool unreachable;
    /* Set by another thread: the job was cancelled. Read through task_is_cancelled. */
    const void *cancel_flag;
};

bool task_is_cancelled(const struct glint_task *task);
/* The function at work from here on; returns the one before. */
static inline const struct glint_function *task_set_function(struct glint_task *task,
                                                             const struct glint_function *function)
{
    const struct glint_function *before =
        atomic_load_explicit(&task->function, memory_order_relaxed);
    atomic_store_explicit(&task->function, function, memory_order_relaxed);
    return before;
}
/* Where a row stands, "ratings.tsv:17" or, if it is not in the origin's memory, as near as is
 * known. */
void task_describe_row_location(struct glint_task *task, const uint8_t *row, char *out,
                                size_t capacity);
/* As arena_alloc, with the error set on NULL. */
void *task_alloc(struct glint_task *task, uint64_t size);

#endif

/* The state of a running task, shared by its functions, operators and shuffle code.
 *
 * The slot's thread owns it. The executor fills it in and reads the results; this file does not
 * depend on slots, stages or messages. */
#ifndef GLINT_RECORDS_TASK_H
#define GLINT_RECORDS_TASK_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/batch.h"
#include "engine/glint.h"
#include "engine/limits.h"
#include "engine/records/pack.h"

#include <limits.h>
#include <stdatomic.h>

/* The job's options for all its tasks. Constant as long as the context exists. */
struct task_options {
    uint64_t memory_bytes; /* of one slot */
    uint64_t line_bytes_max;
    uint64_t result_bytes_max; /* of a task's result */
    bool skip_bad_rows;
    int64_t bad_rows_max; /* of one job, with skip_bad_rows; -1: no limit */
    bool no_sync;         /* no fsync of output files */
    bool allow_commands;  /* tasks may start processes: glint_pipe */
    const char *python;   /* the interpreter of commands (glint_command.files); NULL: python3 */
    const char *work_dir; /* private directory of this run, mode 0700, exists */
    /* The base of relative paths: the driver's current directory, to which an executor changes.
     * Empty: paths are relative to this process's directory. */
    char dir[PATH_MAX];
};

/* The counters of one attempt: first the built-in ones, then those of functions, by name. */
enum task_counter {
    COUNT_ROWS_READ,
    COUNT_BYTES_READ,
    COUNT_ROWS_WRITTEN,
    COUNT_BYTES_WRITTEN,
    COUNT_MAP_OUTPUT_RECORDS,
    COUNT_MAP_OUTPUT_BYTES,
    COUNT_SPILLS,
    COUNT_SPILL_BYTES,
    COUNT_FETCH_WAIT_US, /* that the slot waited for map outputs of other executors */
    COUNT_CACHE_HITS,
    COUNT_CACHE_MISSES,
    COUNT_CACHE_EVICTIONS,
    COUNT_BUILT_IN
};
static_assert(COUNT_BUILT_IN < COUNTERS_MAX, "there is room for counters of functions");
extern const char *const task_counter_names[COUNT_BUILT_IN];

struct task_counters {
    uint32_t used;
    char *names[COUNTERS_MAX]; /* from COUNT_BUILT_IN on, in the task's arena */
    int64_t values[COUNTERS_MAX];
};

struct task_accumulators;
struct run_source;
struct shuffle_spec;
struct stage_plan;
struct worker_parents;

/* Rows that a source need not make (glint_skip_rows); keep NULL: none. */
struct row_skip {
    glint_keep_rows keep;
    uint32_t column;
    void *state; /* of the function */
};

/* Created by the executor for each attempt. */
struct glint_task {
    struct env *env;
    const struct task_options *options;
    struct glint_error error;
    struct arena arena; /* scratch; reset between tasks */
    struct task_counters counters;
    /* Those of its functions (shuffle/task_accumulators.h); NULL: none. The task's owner calls
     * task_free_accumulators. */
    struct task_accumulators *accumulators;
    void (*free_accumulators)(struct glint_task *task);
    uint32_t partition;  /* of the current operator */
    uint64_t attempt_id; /* unique in this process; part of the names of spill files */
    uint32_t attempt;    /* the driver's number; part of the names of part files */
    uint64_t file_count; /* spill files created so far */
    uint64_t table_seed; /* of hash tables; random per process */
    /* The keys in the table of the slot's last map task when it ended: a hint for the next. */
    uint64_t combined_keys;
    /* That fork the workers of commands; NULL: there are none, and such a command fails. */
    struct worker_parents *workers;
    /* The bytes that runs of this process may still use in memory, shared by its tasks; NULL:
     * none. */
    atomic_uint_fast64_t *run_memory;
    bool compress_outputs; /* map outputs leave this process: lz4 saves network traffic */
    bool uncount_bad_rows; /* glint_uncount_bad_rows */
    /* During fn->open: the arguments of the function, and how to get the broadcasts in them. */
    struct glint_slice args;
    int (*broadcast)(void *arg, uint64_t id, struct glint_slice *out);
    void *broadcast_arg;
    /* The shuffle that the stage writes; NULL: it does not end in one. */
    const struct shuffle_spec *shuffle;
    /* The origin of the current batch, for error messages; NULL outside text sources. */
    const struct glint_origin *origin;
    /* What the function that is being opened has given to glint_skip_row_groups. */
    glint_may_keep may_keep;
    /* The same of glint_skip_rows; while a source runs, what the operator after it needs. */
    struct row_skip row_skip;
    /* Tells the source that runs which groups of rows are needed (struct op: may_need), by
     * `filter`; NULL: all. */
    int (*may_need)(void *filter, const struct glint_row_group *group);
    void *filter;
    /* The first file of the split that it reads, also if no line of it begins there; NULL: it reads
     * no text, or lines that another engine feeds. */
    const char *input_path;
    /* The current stage, and the function that is running; NULL: none. The crash handler and other
     * threads read them for messages, so `function` is atomic. */
    const struct stage_plan *stage;
    _Atomic(const struct glint_function *) function;
    /* The run that is damaged or cannot be read, if the error is about one; else NULL. */
    const struct run_source *failed_source;
    /* The error is FETCH_FAILED because the other executor could not be reached. */
    bool unreachable;
    /* An atomic_bool that another thread sets to cancel the task; NULL: never. Use
     * task_is_cancelled. */
    const void *cancel_flag;
    /* Returns a descriptor that is readable once the task is cancelled, so that a cancel ends a
     * wait in poll; it is not read, and is open until the task ends. Returns -1 with the error set.
     * NULL: tasks are not cancelled. */
    int (*cancel_file)(struct glint_task *task);
};

/* Frees the accumulators of a task that has ended. */
static inline void task_free_accumulators(struct glint_task *task)
{
    if (task->accumulators != NULL) task->free_accumulators(task);
}
/* Whether the task was cancelled. Cheap enough to call once per batch or block. */
bool task_is_cancelled(const struct glint_task *task);
/* Returns 0, or INTERRUPTED with the task's error set if it was cancelled. */
int task_check_cancelled(struct glint_task *task);
/* Sets the running function and returns the previous one, for the caller to restore. */
static inline const struct glint_function *task_set_function(struct glint_task *task,
                                                             const struct glint_function *function)
{
    const struct glint_function *before =
        atomic_load_explicit(&task->function, memory_order_relaxed);
    atomic_store_explicit(&task->function, function, memory_order_relaxed);
    return before;
}
/* Sets the path of the file that commands get of a broadcast. False: it is too long. */
bool task_command_file(const struct task_options *options, uint64_t broadcast, char out[PATH_MAX]);
/* As arena_alloc from the task's arena; sets the task's error if it returns NULL. */
void *task_alloc(struct glint_task *task, uint64_t size);

/* One entry of the counters that a task sends with its result: a counter, [name, number], or the
 * task's part of an accumulator, [name, function, type, bytes]. */
struct counter_entry {
    char name[NAME_BYTES_MAX];
    bool is_accumulator;
    int64_t value; /* of a counter */
    /* Of an accumulator: the function that merges it, the type, and the value in byte form,
     * borrowed from what was unpacked. */
    char function[NAME_BYTES_MAX];
    enum glint_type type; /* I64, F64, TEXT, BYTES or MSGPACK */
    struct glint_slice bytes;
};
/* Unpacks the next entry of the array. Returns false if it is not one. */
bool counter_entry_unpack(struct unpacker *u, struct counter_entry *out);

#endif

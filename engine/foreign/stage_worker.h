/* Runs tasks of one stage for another engine: an executor with one slot that gets its messages from
 * a stage file, and what would cross the network as lines of text (stage_text.h). Main thread. */
#ifndef GLINT_FOREIGN_STAGE_WORKER_H
#define GLINT_FOREIGN_STAGE_WORKER_H

#include "engine/base/locked_dir.h"
#include "engine/events/counters.h"
#include "engine/executor/executor.h"
#include "engine/foreign/stage_file.h"
#include "engine/foreign/stage_text.h"

/* What the tasks of one process share. Zeros are closed. */
struct stage_worker {
    struct env *env;
    const struct stage_file *file;
    const struct packed_stage *stage;
    uint32_t number;
    struct stage_plan plan;
    struct buffer plan_bytes; /* with outputs in the work directory */
    /* The stage that reads what this one writes; NULL: none. Its plan, and the place of this stage
     * among its parents. */
    const struct packed_stage *reader;
    struct stage_plan reader_plan;
    uint32_t reader_parent;
    struct work_dir work_dir;
    struct task_options options;
    struct executor *executor;
    pthread_mutex_t lock; /* guards `outcome` */
    pthread_cond_t arrived;
    bool started; /* the lock exists */
    struct message *outcome;
    struct glint_task io; /* for runs that the main thread reads and writes */
    atomic_uint_fast64_t run_memory;
    int out;  /* where lines go */
    bool raw; /* records are pairs: --io rawbytes */
    struct buffer lines, records, scratch;
    struct glint_slice fed;   /* splits of the current task; NULL: those of the file */
    bool *done;               /* [task_count]: to reject a task that comes twice */
    struct counters counters; /* of all tasks */
};

/* Starts the executor for the stage `number` of the file. Both stay the caller's. Returns 0, or a
 * code with *error set. */
int stage_worker_open(struct stage_worker *w, struct env *env, const struct stage_file *file,
                      uint32_t number, const struct context_config *registry, const char *work_dir,
                      struct glint_error *error);
void stage_worker_close(struct stage_worker *w);
/* Reads lines of splits; runs each one's task, and writes what it made. */
int stage_worker_map(struct stage_worker *w, struct line_input *in, struct glint_error *error);
/* Runs a task with the lines of standard input as its rows. */
int stage_worker_map_lines(struct stage_worker *w, uint32_t task, struct glint_error *error);
/* Reads the number of the stage in the first line of splits, and returns the line to `in`. Leaves
 * *out as it is if there is none. */
int stage_worker_peek_stage(struct line_input *in, uint32_t *out, struct glint_error *error);
/* Reads records for tasks of this stage, sorted; runs these, and writes what they made. */
int stage_worker_reduce(struct stage_worker *w, struct line_input *in, struct glint_error *error);

#endif

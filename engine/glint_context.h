/* Contexts: how a program that embeds glint configures, creates and ends one. `glint submit` is
 * such a program; its jobs receive a ready context. Included by glint.h. */
#ifndef GLINT_CONTEXT_H
#define GLINT_CONTEXT_H

#include "engine/glint.h"

struct cluster;
struct env;
struct op;
struct plan_stage;
struct progress;

/* All operators, and the built-in functions (ops/). */
extern const struct op *const ops_table[];
extern const struct glint_module ops_module;
extern const struct glint_module *const builtin_modules[]; /* that one; ends with NULL */

/* The settings of a context. All pointers must stay valid until glint_destroy. */
struct glint_config {
    const char *job_name;         /* shown in status and event log; NULL: "job" */
    const char *const *arguments; /* the command line, for the event log; may be NULL */
    uint32_t argument_count;
    /* Path of the event log to write (docs/event-log.md); NULL: none. */
    const char *event_log;
    const struct cluster *cluster; /* the cluster to run on (net/cluster.h); NULL: this process */
    uint32_t slots;                /* as in local[N]; 0: one per processor */
    uint64_t memory_bytes;         /* of the process; 0: the default, or the cluster's setting */
    const char *work_dir;          /* parent of the run's own directory; NULL: $TMPDIR or /tmp */
    uint64_t split_bytes;          /* 0: chosen by input size */
    uint32_t partitions;           /* of a shuffle; 0: chosen by input size */
    uint64_t line_bytes_max;       /* 0: LINE_BYTES_MAX_DEFAULT */
    /* Of one action; 0: RESULT_BYTES_MAX, which is also the maximum. */
    uint64_t result_bytes_max;
    bool overwrite;
    bool no_sync; /* do not fsync outputs: faster, but a power loss may lose them */
    bool skip_bad_rows;
    int64_t bad_rows_max; /* -1: no limit */
    uint64_t timeout_ns;  /* of the whole job; 0: no timeout */
    bool explain;         /* actions print their plan to `note` and do not run */
    /* Local mode: encode and decode every message between driver and executor, as in a cluster. */
    bool encode_messages;
    struct env *env;                           /* OS abstraction; NULL: env_real() */
    const struct op *const *ops;               /* ends with NULL */
    const struct glint_module *const *modules; /* ends with NULL */
    const struct glint_job *const *jobs; /* functions of these, too; ends with NULL; may be NULL */
    void (*progress)(void *arg, const struct progress *p); /* may be NULL */
    void *progress_arg;
    /* Receives the lines of explain and of the summary; "warning: ..." reports a problem that did
     * not fail the job. May be NULL. */
    void (*note)(void *arg, const char *line);
    void *note_arg;
    /* With explain: receives each stage as a structure; stages then are not printed to `note`. May
     * be NULL. */
    void (*plan)(void *arg, const struct plan_stage *stage);
    void *plan_arg;
};

/* Creates a context. Returns NULL with *error set. Only the calling thread may use the context,
 * except for glint_interrupt. */
struct glint *glint_create(const struct glint_config *config, struct glint_error *error);
/* Publishes the outputs, or removes what was written if the context has an error. Returns 0 or the
 * error's code; glint_error then also has the effect line. Call it once, before glint_destroy. */
int glint_finish(struct glint *g);
void glint_destroy(struct glint *g);
/* Returns the job's id; status, cancel, event log and history show it as 16 hexadecimal digits. */
uint64_t glint_job_id(const struct glint *g);
/* Ends the running action with `code` (INTERRUPTED, TERMINATED). Safe from any thread and from
 * signal handlers. */
void glint_interrupt(struct glint *g, enum glint_code code);

/* What the whole job did, for the summary. */
struct glint_summary {
    uint64_t job_id;
    uint64_t elapsed_ns;
    /* `stages`: stages that started, with `tasks` tasks in total. `stages_skipped`: stages whose
     * map outputs an action reused from an earlier action, counted once per action. `retries`:
     * tasks that ran again because an attempt failed or its output was lost. */
    uint32_t stages, tasks, stages_skipped, retries;
    uint32_t counter_count;
    /* Built-in counters first, then those of functions, sorted by name. */
    const char *const *counter_names;
    const int64_t *counter_values;
    uint32_t stage_count; /* equals `stages`; in order of their numbers */
    const struct stage_time {
        uint32_t number;  /* counts from 0 over the whole job */
        const char *name; /* first and last operator: "textFile..reduceByKey" */
        uint32_t tasks;
        uint64_t elapsed_ns;
    } * stage_times;
    uint32_t output_count;
    const char *const *outputs; /* paths of the published directories */
};
/* Fills `out`, which borrows from the context until the next call. */
void glint_summarize(struct glint *g, struct glint_summary *out);

#endif

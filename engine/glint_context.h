/* Contexts: what a program around glint makes them of, runs and ends. `glint submit` is one such
 * program; its jobs are given their context. Part of glint.h, which includes it. */
#ifndef GLINT_CONTEXT_H
#define GLINT_CONTEXT_H

#include "engine/glint.h"

struct cluster;
struct env;
struct op;
struct plan_stage;
struct progress;

/* All operators, and the functions that come with them (ops/). */
extern const struct op *const ops_table[];
extern const struct glint_module ops_module;

struct glint_config {
    const char *job_name;         /* for people: status, event log; NULL: "job" */
    const char *const *arguments; /* of the command line, for the event log; may be NULL */
    uint32_t argument_count;
    const char *event_log;         /* a file for what happens (docs/event-log.md); NULL: none */
    const struct cluster *cluster; /* where executors are (net/cluster.h); NULL: in this process */
    uint32_t slots;                /* local[N]; 0: as many as processors */
    uint64_t memory_bytes;         /* of the process; 0: the default, or the cluster's */
    const char *work_dir;          /* parent of the run's own folder; NULL: $TMPDIR or /tmp */
    uint64_t split_bytes;          /* 0: from the input */
    uint32_t partitions;           /* 0: from the input */
    uint64_t line_bytes_max;       /* 0: LINE_BYTES_MAX_DEFAULT */
    uint64_t result_bytes_max;     /* of one action; 0: RESULT_BYTES_MAX, which is also the most */
    bool overwrite;
    bool no_sync; /* end before the disk has the outputs: a power loss may then take them */
    bool skip_bad_rows;
    int64_t bad_rows_max; /* -1: no limit */
    uint64_t timeout_ns;  /* of the whole job; 0: none */
    bool explain;         /* actions print their plan on `note` instead of running it */
    bool encode_messages; /* every message between driver and executor goes through its wire form */
    struct env *env;      /* NULL: env_real() */
    const struct op *const *ops;                           /* ends with NULL */
    const struct glint_module *const *modules;             /* ends with NULL */
    void (*progress)(void *arg, const struct progress *p); /* may be NULL */
    void *progress_arg;
    /* Lines of explain and of the summary; "warning: ..." says what went wrong beside the job. May
     * be NULL. */
    void (*note)(void *arg, const char *line);
    void *note_arg;
    /* With explain: gets each stage, which is then no note. May be NULL. */
    void (*plan)(void *arg, const struct plan_stage *stage);
    void *plan_arg;
};

/* A context, or NULL with *error set. One thread uses it. Signals: see glint_interrupt. */
struct glint *glint_create(const struct glint_config *config, struct glint_error *error);
/* Publishes the outputs if no error stuck, else removes what was written. Answers 0 or the code;
 * glint_error then has the effect line. Once, before glint_destroy. */
int glint_finish(struct glint *g);
void glint_destroy(struct glint *g);
/* The job's id in status, cancel, event log and history: 16 hexadecimal digits of this. */
uint64_t glint_job_id(const struct glint *g);
/* Ends the running action with `code` (INTERRUPTED, TERMINATED). Any thread, and signal handlers.
 */
void glint_interrupt(struct glint *g, enum glint_code code);

/* For the summary: what the whole job did. */
struct glint_summary {
    uint64_t job_id;
    uint64_t elapsed_ns;
    /* Stages that began, and the tasks that they have; stages whose outputs an action read that an
     * earlier action had made, counted for each such action; tasks that ran again after they had
     * failed, or what they had made was lost. */
    uint32_t stages, tasks, stages_skipped, retries;
    uint32_t counter_count;
    const char *const *counter_names; /* built-in ones first, then the functions', sorted by name */
    const int64_t *counter_values;
    uint32_t stage_count; /* = stages, by number */
    const struct stage_time {
        uint32_t number;  /* from 0 through the job */
        const char *name; /* first and last operator: "textFile..reduceByKey" */
        uint32_t tasks;
        uint64_t elapsed_ns;
    } * stage_times;
    uint32_t output_count;
    const char *const *outputs; /* published folders */
};
void glint_summarize(struct glint *g, struct glint_summary *out); /* borrowed until the next call */

#endif

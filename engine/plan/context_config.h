/* The settings of a context, inside the engine. */
#ifndef GLINT_PLAN_CONTEXT_CONFIG_H
#define GLINT_PLAN_CONTEXT_CONFIG_H

#include "engine/base/env.h"
#include "engine/glint.h"

struct cluster;
struct event_sink;
struct op;
struct plan_stage;
struct progress;
struct stage_session;

/* Functions that a context finds in addition to those of its jobs; the table ends with NULL. */
struct glint_module {
    const char *name;
    const struct glint_function *const *functions;
};

/* All operators, and the built-in functions (ops/). */
extern const struct op *const ops_table[];
extern const struct glint_module ops_module;
extern const struct glint_module *const builtin_modules[]; /* that one; ends with NULL */

/* How outputs are compressed; AUTO: Parquet by snappy, others not. In the order of the choices of
 * --compress. */
enum output_compression {
    OUTPUT_AUTO,
    OUTPUT_UNCOMPRESSED,
    OUTPUT_GZIP,
    OUTPUT_ZSTD,
    OUTPUT_COMPRESSIONS
};

/* The settings of a context. All pointers must stay valid until glint_destroy. */
struct context_config {
    const char *job_name;         /* shown in status and event log; NULL: "job" */
    const char *const *arguments; /* the command line, for the event log; may be NULL */
    uint32_t argument_count;
    /* Path of the event log to write (docs/event-log.md); NULL: none. */
    const char *event_log;
    /* Returns where the option's value comes from, a static text; NULL: not known. May be NULL. */
    const char *(*option_origin)(void *arg, const char *option);
    void *option_arg;
    const struct event_sink *event_sink; /* also gets the events (events/event_log.h); NULL: none */
    const struct cluster *cluster; /* the cluster to run on (net/cluster.h); NULL: this process */
    struct stage_session *stage;   /* another engine runs the tasks (engine/stage); may be NULL */
    uint32_t stdin_tasks;          /* with it: tasks whose lines the input "-" has; 0: a file */
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
    enum output_compression compress;
    const char *stdout_output; /* the output that is copied to standard output; NULL: none */
    bool nul_is_text;          /* NUL bytes do not make an input binary */
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
    /* Receives glint_report, while the job's events are logged. NULL: no receiver. */
    void (*report)(void *arg, const char *name, const struct glint_field *fields, uint32_t count);
    void *report_arg;
    /* With explain: receives each stage as a structure; stages then are not printed to `note`. May
     * be NULL. */
    void (*plan)(void *arg, const struct plan_stage *stage);
    void *plan_arg;
};

/* ---- What a context reports while it runs: progress, and stages under explain. See struct
 * context_config. */

#define PLAN_NONE UINT32_MAX

/* An operator of a stage, for display. */
struct plan_step {
    const char *text;      /* "map words.split" */
    uint32_t parents[2];   /* input steps in the same stage; PLAN_NONE */
    const uint32_t *reads; /* numbers of the stages whose shuffle or saved output it reads */
    uint32_t read_count;
};

/* A stage as explain shows it. All but `reads` is valid as long as the context; `reads` and the
 * struct itself until the callback returns. */
struct plan_stage {
    uint32_t number, tasks;
    const char *name;   /* textFile..reduceByKey */
    const char *input;  /* size of all inputs that lead to it: "371 KiB", "unknown" */
    const char *action; /* for an action's last stage: "saveAsTextFile out"; else NULL */
    uint32_t after;     /* the stage whose result the job needed first; PLAN_NONE */
    uint32_t step_count;
    const struct plan_step *steps; /* parents before children */
};

/* Progress of a stage, for display. Reported on the driver thread; the callback must return
 * quickly. */
struct progress {
    const char *name; /* of the stage: textFile..reduceByKey */
    uint32_t stage;   /* its number in the job, from 0 */
    uint32_t tasks_done, tasks;
    uint32_t tasks_running;                      /* of all stages */
    uint32_t job_stages, job_tasks, job_retries; /* so far, as in struct glint_summary */
    uint64_t elapsed_ns;                         /* since the stage started */
    /* Of its finished tasks: input rows (0: it reads no files), and bytes of files or of the map
     * outputs that it reads. `bytes_total`: of all its tasks; 0: unknown. */
    uint64_t rows_read, bytes_read, bytes_total;
    /* Of all persisted RDDs that have been computed. */
    uint32_t cached_rdds, cached_blocks;
    uint64_t cached_memory_bytes, cached_disk_bytes;
    bool stage_ended;
    bool action_ended; /* last report of an action: all other fields are unset */
};

#endif

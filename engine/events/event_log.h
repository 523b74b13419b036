/* The event log: what happened in a job, as JSON lines in a file, enough to reconstruct its
 * timeline (docs/event-log.md; read by `glint history`).
 *
 * Lines are buffered for at most a second, and written at the end. The file is bounded: when it is
 * full, one line says so, and after it only the end of the job is written. If the file cannot be
 * written, the log ends with one warning; the job goes on.
 *
 * Driver thread only. Every function accepts a NULL log and then does nothing. All pointers are
 * borrowed until the call returns. Texts may contain any bytes. Times are of env->now_ns. */
#ifndef GLINT_EVENTS_EVENT_LOG_H
#define GLINT_EVENTS_EVENT_LOG_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/glint.h"
#include "engine/limits.h"
#include "engine/plan/progress.h"

#define EVENT_LOG_SCHEMA         1
#define EVENT_LOG_BYTES_MAX      (256 * MIB) /* of the file */
#define EVENT_LOG_LINE_BYTES_MAX MIB
#define EVENT_LOG_BYTES_MIN      (3 * EVENT_LOG_LINE_BYTES_MAX)

struct event_log;
struct event_task;

/* Gets the events of a log as they happen, also if there is no file, or no room in it. Driver
 * thread; must return quickly. */
struct event_sink {
    void *arg;
    /* A line as in the file, without its newline; borrowed. Ends of attempts come to `task`. Also
     * "status" (event_log_status), which no file has, and more "storage". */
    void (*line)(void *arg, const void *data, uint64_t size);
    void (*task)(void *arg, const struct event_task *e, double start_ms, double end_ms);
};

struct event_log_config {
    struct env *env;
    const char *path;              /* NULL: no file; then there must be a sink */
    const struct event_sink *sink; /* NULL: none; copied */
    uint64_t bytes_max;            /* 0: EVENT_LOG_BYTES_MAX; else at least EVENT_LOG_BYTES_MIN */
    void (*note)(void *arg, const char *line); /* warnings; may be NULL */
    void *note_arg;
};

/* Creates the file. An existing event log or empty file of this user is replaced. Returns NULL with
 * *error set: OUTPUT_EXISTS for any other existing file, OUTPUT_CREATE, NO_MEMORY. */
struct event_log *event_log_open(const struct event_log_config *config, struct glint_error *error);
/* Writes buffered lines, closes the file and frees the log. */
void event_log_close(struct event_log *log);

struct event_option {
    const char *name, *value; /* value NULL: not set; JSON null */
    const char *origin;       /* "command line", "default"; NULL: not known */
};
struct event_job {
    uint64_t id;
    const char *name, *version, *build;
    const char *master;           /* "local[4]", or the cluster's name */
    const char *const *arguments; /* of the command line; long ones are truncated */
    uint32_t argument_count;
    const struct event_option *options;
    uint32_t option_count;
};
/* The first event; once. */
void event_log_job_start(struct event_log *log, const struct event_job *e);

/* Writes lines that have been buffered for a second. Call regularly. */
void event_log_on_timer(struct event_log *log);

enum event_executor_state {
    EXECUTOR_STATE_JOINED,
    EXECUTOR_STATE_LOST,
    EXECUTOR_STATE_DRAINING,
    EXECUTOR_STATE_EXCLUDED, /* it or its node keeps failing tasks, or fetches with it fail */
};
struct event_executor {
    uint32_t executor;
    enum event_executor_state state;
    const char *name, *host;       /* JOINED */
    uint32_t slots;                /* JOINED */
    const struct glint_error *why; /* LOST, EXCLUDED; may be NULL */
};
void event_log_executor_state(struct event_log *log, const struct event_executor *e);

struct event_action {
    uint32_t action;            /* counted in the job, from 0 */
    const char *name;           /* of its operator */
    const char *const *outputs; /* paths that it saves to */
    uint32_t output_count;
    const uint32_t *skipped; /* stages run by earlier actions, whose map outputs are reused */
    uint32_t skipped_count;
};
void event_log_action_start(struct event_log *log, const struct event_action *e);
/* `why` NULL or without a code: success; so for stages. */
/* `accumulators`: all of the job, if the action has added to some; else NULL. */
void event_log_action_end(struct event_log *log, uint32_t action, const struct glint_error *why,
                          const struct glint_answer *accumulators);

#define EVENT_OPERATORS_MAX 100u
struct event_stage {
    uint32_t stage; /* unique in the job, as in event_task */
    uint32_t action;
    const char *name; /* "textFile..reduceByKey" */
    uint32_t tasks;
    const uint32_t *parents; /* stages whose map outputs it reads */
    uint32_t parent_count;
    /* Of its first run: texts of the operators, the first EVENT_OPERATORS_MAX of all. */
    const char *const *operators;
    uint32_t operators_shown, operator_count;
};
/* Its first task is about to be sent. */
void event_log_stage_start(struct event_log *log, const struct event_stage *e);
void event_log_stage_end(struct event_log *log, uint32_t stage, const struct glint_error *why);

enum event_outcome {
    OUTCOME_DONE,
    OUTCOME_FAILED,
    OUTCOME_KILLED,        /* superseded by another attempt, its input was lost, or the job ended */
    OUTCOME_EXECUTOR_LOST, /* its executor was lost while it ran: the real outcome is unknown */
};
/* One attempt of a task. */
struct event_task {
    uint32_t stage, task, partition, attempt, executor;
    bool speculative;          /* it is a speculative copy */
    uint64_t start_ns, end_ns; /* of the driver's clock */
    uint64_t run_ns;           /* as measured by the executor; unused for EXECUTOR_LOST */
    enum event_outcome outcome;
    const struct glint_error *why; /* unused for DONE; may be NULL */
    struct glint_slice counters;   /* as in DONE messages (executor.h); empty: none */
};
/* One attempt that runs now. */
struct event_running {
    uint32_t stage, task, partition, attempt, executor;
    bool speculative;
    uint64_t start_ns;
};
#define EVENT_RUNNING_MAX 1024u
/* How an executor is. */
struct event_health {
    uint32_t busy;         /* slots in use */
    bool known;            /* the following, from its heartbeats */
    uint64_t received_ns;  /* the last one */
    uint64_t memory_bytes; /* resident */
    uint64_t memory_max;   /* for its tasks */
};
/* For the sink only: what runs now, and how the executors are, by number. */
void event_log_status(struct event_log *log, const struct event_running *running, uint32_t count,
                      const struct event_health *health, uint32_t executors);
/* True if there is a sink and its last status is older than EVENT_STATUS_NS. */
#define EVENT_STATUS_NS (200 * MS_NS)
bool event_log_status_is_due(const struct event_log *log);
/* The blocks of a persisted RDD, on all executors. */
struct event_cached_rdd {
    uint32_t rdd; /* its id */
    const char *name, *level;
    uint32_t partitions, blocks;
    uint64_t memory_bytes, disk_bytes;
};
#define EVENT_CACHED_RDDS_MAX 256u
struct event_storage {
    const struct event_cached_rdd *rdds; /* [shown], at most EVENT_CACHED_RDDS_MAX */
    uint32_t shown, count;
    bool sink_only; /* between two actions it goes to the file, too */
};
void event_log_storage(struct event_log *log, const struct event_storage *e);
/* The attempt has ended. */
void event_log_task_end(struct event_log *log, const struct event_task *e);

/* A task will run again: its attempt on `executor` failed, or the map output of that attempt is
 * lost. */
struct event_retry {
    uint32_t stage, task, attempt, executor;
    const struct glint_error *why;
};
void event_log_retry(struct event_log *log, const struct event_retry *e);

void event_log_output_published(struct event_log *log, const char *path);
/* A line that the user saw; long ones are truncated. */
void event_log_note(struct event_log *log, const char *line);
/* What a job reports of itself (glint_report). */
void event_log_report(struct event_log *log, const char *name, const struct glint_field *fields,
                      uint32_t count);
/* The last event; once. `why` NULL or without a code: success. `summary` may be NULL. */
void event_log_job_end(struct event_log *log, const struct glint_error *why,
                       const struct glint_summary *summary);

#endif

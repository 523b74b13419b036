/* What happened in a job, as JSON lines in a file: enough to draw the run again
 * (docs/event-log.md).
 *
 * Lines are collected and written at most a second later, and at the end. The file is bounded: when
 * it is full, a line says so, and from then on only the end of the job is written. A file that
 * cannot be written ends the log with one warning, never the job. Driver thread; every call takes a
 * NULL log and then does nothing. All pointers are borrowed until the call returns; texts may hold
 * any bytes. Times are env->now_ns'. */
#ifndef GLINT_DRIVER_EVENT_LOG_H
#define GLINT_DRIVER_EVENT_LOG_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/limits.h"
#include "engine/plan/progress.h"

#define EVENT_LOG_SCHEMA         1
#define EVENT_LOG_BYTES_MAX      (256 * MIB) /* of the file */
#define EVENT_LOG_LINE_BYTES_MAX MIB
#define EVENT_LOG_BYTES_MIN      (3 * EVENT_LOG_LINE_BYTES_MAX)

struct event_log;

struct event_log_config {
    struct env *env;
    const char *path;
    uint64_t bytes_max;                        /* 0: EVENT_LOG_BYTES_MAX; at least ..._MIN */
    void (*note)(void *arg, const char *line); /* warnings; may be NULL */
    void *note_arg;
};

/* A new file. An event log that stands there is replaced, anything else is OUTPUT_EXISTS. NULL:
 * *error set. */
struct event_log *event_log_open(const struct event_log_config *config, struct glint_error *error);
/* Writes what is left. */
void event_log_close(struct event_log *log);

struct event_option {
    const char *name, *value; /* value NULL: null */
};
struct event_job {
    uint64_t id;
    const char *name, *version, *build;
    const char *master;           /* "local[4]", or the cluster's name */
    const char *const *arguments; /* of the command line; long ones are cut */
    uint32_t argument_count;
    const struct event_option *options;
    uint32_t option_count;
};
/* First, once. */
void event_log_job_start(struct event_log *log, const struct event_job *e);

/* Now and then: writes lines that have waited for a second. */
void event_log_on_timer(struct event_log *log);

enum event_executor_state {
    EXECUTOR_STATE_JOINED,
    EXECUTOR_STATE_LOST,
    EXECUTOR_STATE_DRAINING,
    EXECUTOR_STATE_EXCLUDED, /* it, or its node, keeps failing */
};
struct event_executor {
    uint32_t executor;
    enum event_executor_state state;
    const char *name, *host;       /* JOINED */
    uint32_t slots;                /* JOINED */
    const struct glint_error *why; /* LOST, SET_ASIDE; may be NULL */
};
void event_log_executor_state(struct event_log *log, const struct event_executor *e);

struct event_action {
    uint32_t action; /* from 0 */
    const char *name;
    const char *const *outputs; /* that it saves to */
    uint32_t output_count;
    const uint32_t *skipped; /* stages that an earlier action has run, and whose outputs it reads */
    uint32_t skipped_count;
};
void event_log_action_start(struct event_log *log, const struct event_action *e);
void event_log_action_end(struct event_log *log, uint32_t action, const struct glint_error *why);

struct event_stage {
    uint32_t stage; /* unique in the job, as in tasks */
    uint32_t action;
    const char *name; /* "textFile..reduceByKey" */
    uint32_t tasks;
    const uint32_t *parents; /* stages whose outputs it reads */
    uint32_t parent_count;
};
/* When its first task is ready, or it is announced. */
void event_log_stage_start(struct event_log *log, const struct event_stage *e);
void event_log_stage_end(struct event_log *log, uint32_t stage, const struct glint_error *why);

enum event_outcome {
    OUTCOME_DONE,
    OUTCOME_FAILED,
    OUTCOME_KILLED,        /* its twin was faster, what it read was lost, or the job ended */
    OUTCOME_EXECUTOR_LOST, /* what became of it is not known */
};
/* One attempt, when it is over. */
struct event_task {
    uint32_t stage, task, partition, attempt, executor;
    bool speculative;
    uint64_t start_ns, end_ns;
    uint64_t run_ns; /* as its executor measured it; OUTCOME_EXECUTOR_LOST: not known */
    enum event_outcome outcome;
    const struct glint_error *why; /* not DONE; may be NULL */
    struct glint_slice counters;   /* as in DONE messages (executor.h); empty: none */
};
void event_log_task_end(struct event_log *log, const struct event_task *e);

/* A task is to run again: attempt `attempt` of it on `executor` failed, or what it made is lost. */
struct event_retry {
    uint32_t stage, task, attempt, executor;
    const struct glint_error *why;
};
void event_log_retry(struct event_log *log, const struct event_retry *e);

void event_log_output_published(struct event_log *log, const char *path); /* published */
void event_log_note(struct event_log *log, const char *line);
/* Last, once: `why` NULL or without a code is success. `summary` may be NULL. */
void event_log_job_end(struct event_log *log, const struct glint_error *why,
                       const struct glint_summary *summary);

#endif

/* The file of an event log (docs/event-log.md; read by job_model.h): one JSON object per line.
 * Which events there are, and their fields: driver/event_log_listener.c.
 *
 * Lines are buffered for at most a second, and written at the end. The file is bounded: when it is
 * full, one line says so, and after it only the end of the job is written. If the file cannot be
 * written, the log ends with one warning; the job goes on.
 *
 * Driver thread only. Every function accepts a NULL log and then does nothing. */
#ifndef GLINT_EVENTS_EVENT_LOG_H
#define GLINT_EVENTS_EVENT_LOG_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/glint.h"
#include "engine/limits.h"

#define EVENT_LOG_SCHEMA         1
#define EVENT_LOG_BYTES_MAX      (256 * MIB) /* of the file */
#define EVENT_LOG_LINE_BYTES_MAX MIB
#define EVENT_LOG_BYTES_MIN      (3 * EVENT_LOG_LINE_BYTES_MAX)

struct event_log;

enum event_outcome {
    OUTCOME_DONE,
    OUTCOME_FAILED,
    OUTCOME_KILLED,        /* superseded by another attempt, its input was lost, or the job ended */
    OUTCOME_EXECUTOR_LOST, /* its executor was lost while it ran: the real outcome is unknown */
};
extern const char *const event_outcome_names[OUTCOME_EXECUTOR_LOST + 1]; /* in the log */

/* The end of one attempt of a task; 48 bytes. */
struct event_attempt {
    double start_ms, end_ms, run_ms; /* run_ms -1: not known */
    uint32_t stage, task, partition, attempt, executor;
    uint8_t outcome; /* enum event_outcome */
    bool speculative;
};

/* Gets the events of a log as they happen, also if there is no file, or no room in it. Driver
 * thread; must return quickly. Everything is borrowed until the call returns. */
struct event_sink {
    void *arg;
    /* A line as in the file, without its newline. Ends of attempts come to `attempt`. Also
     * "status": what runs now, and how the executors are, which no file has, and more "storage". */
    void (*line)(void *arg, const void *data, uint64_t size);
    /* `why` NULL: it has no error. `counters`: as in DONE messages (executor.h); empty: none. */
    void (*attempt)(void *arg, const struct event_attempt *a, const struct glint_error *why,
                    struct glint_slice counters);
};

struct event_log_config {
    struct env *env;
    const char *path;              /* NULL: no file; then there must be a sink */
    const struct event_sink *sink; /* NULL: none; valid until the log is closed */
    uint64_t bytes_max;            /* 0: EVENT_LOG_BYTES_MAX; else at least EVENT_LOG_BYTES_MIN */
    void (*note)(void *arg, const char *line); /* warnings; may be NULL */
    void *note_arg;
};

/* Creates the file. An existing event log or empty file of this user is replaced. Returns NULL with
 * *error set: OUTPUT_EXISTS for any other existing file, OUTPUT_CREATE, NO_MEMORY. */
struct event_log *event_log_open(const struct event_log_config *config, struct glint_error *error);
/* Writes buffered lines, closes the file and frees the log. */
void event_log_close(struct event_log *log);
/* Writes lines that have been buffered for a second. Call regularly. */
void event_log_on_timer(struct event_log *log);

enum event_line {
    EVENT_FOR_FILE = 1,
    EVENT_FOR_SINK = 2,
    EVENT_FOR_ALL = 3,
    EVENT_LAST = 4, /* the log's last line, with events_left_out: the number of lines dropped */
};

/* Begins a line with the fields that all events have; the caller adds its own, and ends the line.
 * `kind`: flags of enum event_line. The first event is "job". Returns NULL if it has no reader. */
struct json *event_log_line_start(struct event_log *log, const char *event, unsigned kind);
void event_log_line_end(struct event_log *log);
/* In the line: a time of env->now_ns twice, in ms since the log was opened, and as UTC. */
void event_log_put_time(struct event_log *log, const char *ms_name, const char *time_name,
                        uint64_t ns);
/* In ms since the log was opened. */
double event_log_ms(const struct event_log *log, uint64_t ns);

#endif

/* Log lines of long-running processes, on standard error: text, or one JSON object per line.
 *
 *   2026-11-21T07:00:00.123Z info executor=e1 job=7f3a stage=2 task=17: 12 map outputs fetched
 *
 * Ids are fields. Lines with the same format, or the same error code, are limited to
 * LOG_REPEATS_MAX per second; later, one line gives the number of the others. Unprintable
 * characters are replaced. A line over 2 KiB is truncated. Any thread. */
#ifndef GLINT_BASE_LOG_H
#define GLINT_BASE_LOG_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct env;

enum log_level { LOG_INFO, LOG_WARN, LOG_ERROR };

/* Ids of the line; 0 or NULL: none. */
struct log_ids {
    const char *executor, *peer;
    uint64_t job;
    bool has_task;
    uint32_t stage, task, attempt;
};

#define LOG_REPEATS_MAX 10u

/* Without this call, lines are text without an executor. `executor` is copied; NULL: none. */
void log_configure(struct env *env, bool json, const char *executor);
/* Limits a log file: when standard error is a file of `bytes` or more, lines are dropped. Call it
 * after log_configure; 0: no limit. */
void log_limit_bytes(uint64_t bytes);
/* Writes a line; `ids` may be NULL. Lines with the same `format` and level count as one kind. */
void log_line(enum log_level level, const struct log_ids *ids, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Text before each line, and before a crash report: clears what is drawn on a terminal. A string
 * constant; NULL: none. Any thread. */
void log_set_line_prefix(const char *text);
/* Async-signal-safe; never NULL. */
const char *log_line_prefix(void);
/* Writes the pending counts of suppressed lines. Call it at the end of the process. */
void log_flush_repeats(void);
/* Writes an error's code, cause, effect and hint as one line. */
void log_error(enum log_level level, const struct log_ids *ids, const struct glint_error *e);

#endif

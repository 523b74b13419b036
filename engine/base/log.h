/* Log lines of long-running processes, on standard error: text, or one JSON object per line.
 *
 *   2026-11-21T07:00:00.123Z info executor=e1 job=7f3a stage=2 task=17: 12 map outputs fetched
 *
 * Ids are fields. Lines of one kind (the same format, or the same code) beyond LOG_REPEATS_MAX in a
 * second are counted, not written; the count is a line of its own, later. Texts may hold anything:
 * what is not fit to be shown is replaced. A line over 2 KiB is cut. Any thread. */
#ifndef GLINT_BASE_LOG_H
#define GLINT_BASE_LOG_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct env;

enum log_level { LOG_INFO, LOG_WARN, LOG_ERROR };

/* Ids of the line; 0 or NULL: it has none. */
struct log_ids {
    const char *executor, *peer;
    uint64_t job;
    bool has_task;
    uint32_t stage, task, attempt;
};

#define LOG_REPEATS_MAX 10u

/* Before it, lines are text and have no executor. `executor` is copied; NULL: none. */
void log_configure(struct env *env, bool json, const char *executor);
/* Of a process whose standard error is a file that must not grow for ever: at `bytes` it gets no
 * more lines. After log_configure; 0: no bound. */
void log_limit_bytes(uint64_t bytes);
void log_line(enum log_level level, const struct log_ids *ids, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes the counts that are due; at the end of the process. */
void log_flush_repeats(void);
/* Code, cause and hint of an error in one line. */
void log_error(enum log_level level, const struct log_ids *ids, const struct glint_error *e);

#endif

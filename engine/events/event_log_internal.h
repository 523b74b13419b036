/* Shared by the files of the event log: its state, and how a line is written. Internal to
 * event_log*.c. */
#ifndef GLINT_EVENTS_EVENT_LOG_INTERNAL_H
#define GLINT_EVENTS_EVENT_LOG_INTERNAL_H

#include "engine/base/json.h"
#include "engine/events/event_log.h"

enum log_state { LOG_OPEN, LOG_FULL, LOG_BROKEN };

struct event_log {
    struct event_log_config config;
    struct event_sink sink; /* `line` NULL: none */
    struct env *env;
    enum log_state state;
    int file; /* -1: none */
    uint64_t start_ns, flushed_ns, status_ns;
    int64_t start_wall_ns; /* wall clock time at start_ns; later times are computed from the two,
                              since the wall clock may jump */
    struct json line;      /* being built */
    struct buffer pending; /* lines not written yet */
    uint64_t bytes;        /* written and pending */
    uint64_t left_out;     /* lines dropped */
    uint32_t reports;
};

bool event_log_has_sink(const struct event_log *log);
double event_log_ms_since_start(const struct event_log *log, uint64_t ns);
/* Begins a line with the fields that all events have. False: it has no reader. */
bool event_log_line_start(struct event_log *log, const char *event);
/* Ends the line, and passes it to the sink. */
void event_log_line_to_sink(struct event_log *log);
/* The same, and stores it; `last`: the log's last line. */
void event_log_line_end(struct event_log *log, bool last);

#endif

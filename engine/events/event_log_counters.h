/* The counters and accumulators of tasks and of the job in events. Internal to the event log. */
#ifndef GLINT_EVENTS_EVENT_LOG_COUNTERS_H
#define GLINT_EVENTS_EVENT_LOG_COUNTERS_H

#include "engine/base/json.h"
#include "engine/glint_context.h"
#include "engine/limits.h"

#define ACCUMULATOR_TEXT_SHOWN_MAX 64u /* bytes of a text; longer ones are not logged */
/* A byte takes at most six bytes in JSON (\u0000). */
#define EVENT_COUNTERS_BYTES_MAX                                                                   \
    (COUNTERS_MAX * 2 * (NAME_BYTES_MAX * 6 + 32 + ACCUMULATOR_TEXT_SHOWN_MAX * 6))

/* "counters", and "accumulators" if there are some, of a DONE message. Stops where they do not
 * parse: the driver fails such a result when it merges them. */
void event_log_put_task_counters(struct json *j, struct glint_slice counters);
/* "accumulators" with numbers and short texts; nothing for NULL. */
void event_log_put_accumulators(struct json *j, const struct glint_answer *list);
/* The same of the whole job. */
void event_log_put_job_counters(struct json *j, const struct glint_summary *s);

#endif

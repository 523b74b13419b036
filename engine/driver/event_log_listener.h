/* The driver's events on their way into the event log (event_log.h), where the context has one.
 *
 * Called where things happen: of an attempt before the scheduler hears that it is over, for then it
 * is forgotten. Nothing here changes what the driver does, and without a log each call returns at
 * once. */
#ifndef GLINT_DRIVER_EVENT_LOG_LISTENER_H
#define GLINT_DRIVER_EVENT_LOG_LISTENER_H

#include "engine/driver/driver_internal.h"
#include "engine/driver/event_log.h"

/* Opens the log that the context's options name, if any. From here on notes go there, too. 0, or
 * the context's code. */
int event_log_listener_open(struct driver *d);
/* The last line. Once, after the outputs are published or removed. */
void event_log_listener_on_job_end(struct driver *d);
void event_log_listener_close(struct driver *d);
/* Writes what has waited long enough. */
void event_log_listener_on_timer(struct driver *d);

void event_log_listener_on_executor_state(struct driver *d, uint32_t executor,
                                          enum event_executor_state state,
                                          const struct glint_error *why);
/* Once its stages are known. */
void event_log_listener_on_action_start(struct driver *d);
/* After the action: the context's error says how it ended. */
void event_log_listener_on_action_end(struct driver *d);
void event_log_listener_on_stage_start(struct driver *d, uint32_t stage);
void event_log_listener_on_stage_end(struct driver *d, uint32_t stage);
/* What an executor says of an attempt. */
void event_log_listener_on_attempt_end(struct driver *d, uint32_t executor, uint32_t stage,
                                       const struct message *m);
/* All that ran on an executor. */
void event_log_listener_on_executor_lost(struct driver *d, uint32_t executor,
                                         const struct glint_error *why);
/* An attempt, or an output that it made, is to be made again. */
void event_log_listener_on_retry(struct driver *d, uint32_t stage, uint32_t task, uint32_t attempt,
                                 uint32_t executor, const struct glint_error *why);

#endif

/* Writes the driver's events to the event log (event_log.h, docs/event-log.md), if the context has
 * one.
 *
 * The driver calls these functions where the events happen. The end of an attempt is logged before
 * the scheduler is told, since the scheduler then forgets the attempt. Nothing here changes what
 * the driver does. Without a log each function returns at once. Driver thread only. */
#ifndef GLINT_DRIVER_EVENT_LOG_LISTENER_H
#define GLINT_DRIVER_EVENT_LOG_LISTENER_H

#include "engine/driver/driver_internal.h"
#include "engine/events/event_log.h"

#define EVENT_OPERATORS_MAX 100u /* of a stage, that are logged */

enum event_executor_state {
    EXECUTOR_STATE_JOINED,
    EXECUTOR_STATE_LOST,
    EXECUTOR_STATE_DRAINING,
    EXECUTOR_STATE_EXCLUDED, /* it or its node keeps failing tasks, or fetches with it fail */
};

/* Opens the log of the context's event_log option, if set, and logs the start of the job. From now
 * on the context's notes are logged, too. Returns 0, or a code with the context's error set. */
int event_log_listener_open(struct driver *d);
/* Logs published outputs and the end of the job. Call once, after commit_job or abort_job. */
void event_log_listener_on_job_end(struct driver *d);
/* Closes the log; notes are no longer logged. */
void event_log_listener_close(struct driver *d);

/* `why`: of LOST or EXCLUDED; may be NULL. */
void event_log_listener_on_executor_state(struct driver *d, uint32_t executor,
                                          enum event_executor_state state,
                                          const struct glint_error *why);
/* Writes buffered lines, and tells the sink what runs. Call regularly. */
void event_log_listener_on_timer(struct driver *d);
/* Of the running action, once its stages are built. */
void event_log_listener_on_action_start(struct driver *d);
void event_log_listener_on_action_end(struct driver *d); /* before d->action_run is freed */
void event_log_listener_on_stage_start(struct driver *d, uint32_t stage);
void event_log_listener_on_stage_end(struct driver *d, uint32_t stage);
/* An executor sent DONE or FAILED (`m`). Call before sched_on_*. */
void event_log_listener_on_attempt_end(struct driver *d, uint32_t executor, uint32_t stage,
                                       const struct message *m);
/* Logs all attempts that ran on the executor as lost. Call before the scheduler removes it. */
void event_log_listener_on_executor_lost(struct driver *d, uint32_t executor,
                                         const struct glint_error *why);
/* A task will run again: its attempt failed, or the attempt's map output is lost. */
void event_log_listener_on_retry(struct driver *d, uint32_t stage, uint32_t task, uint32_t attempt,
                                 uint32_t executor, const struct glint_error *why);

#endif

/* The driver's events on their way into the event log (event_log.h), where the context has one.
 *
 * Called where things happen: of an attempt before the scheduler hears that it is over, for then it
 * is forgotten. Nothing here changes what the driver does, and without a log each call returns at
 * once. */
#ifndef GLINT_DRIVER_JOURNAL_H
#define GLINT_DRIVER_JOURNAL_H

#include "engine/driver/event_log.h"
#include "engine/driver/internal.h"

/* Opens the log that the context's options name, if any. From here on notes go there, too. 0, or
 * the context's code. */
int journal_open(struct driver *d);
/* The last line. Once, after the outputs are published or removed. */
void journal_job_end(struct driver *d);
void journal_close(struct driver *d);
/* Writes what has waited long enough. */
void journal_tick(struct driver *d);

void journal_executor(struct driver *d, uint32_t executor, enum event_executor_state state,
                      const struct glint_error *why);
/* Once its stages are known. */
void journal_action(struct driver *d);
/* After the action: the context's error says how it ended. */
void journal_action_end(struct driver *d);
void journal_stage(struct driver *d, uint32_t stage);
void journal_stage_end(struct driver *d, uint32_t stage);
/* What an executor says of an attempt. */
void journal_outcome(struct driver *d, uint32_t executor, uint32_t stage, const struct message *m);
/* All that ran on an executor. */
void journal_loss(struct driver *d, uint32_t executor, const struct glint_error *why);
/* An attempt, or an output that it made, is to be made again. */
void journal_retry(struct driver *d, uint32_t stage, uint32_t task, uint32_t attempt,
                   uint32_t executor, const struct glint_error *why);

#endif

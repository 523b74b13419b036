/* Runs one attempt of a task: sets up its inputs and broadcasts, runs the pipeline, and writes the
 * outcome (DONE or FAILED) for the driver. */
#ifndef GLINT_EXECUTOR_ATTEMPT_H
#define GLINT_EXECUTOR_ATTEMPT_H

#include "engine/executor/block_store.h"
#include "engine/executor/executor.h"
#include "engine/executor/store.h"

/* Runs TASK message `m` on the calling slot's thread; blocks until the attempt ends. `task` is
 * prepared by the slot, except for its broadcasts. Sets the type of `outcome` to MSG_DONE (with the
 * result or the map output's partition sizes, and counters) or MSG_FAILED (with its error set), and
 * adds what changed in `blocks` (NULL: persisted records are not kept). `m` stays the caller's. */
void attempt_run(const struct executor_config *config, struct store *store,
                 struct block_store *blocks, struct glint_task *task, const struct message *m,
                 struct message *outcome);

#endif

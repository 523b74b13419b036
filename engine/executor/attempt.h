/* One attempt of a task: its pipeline, where its inputs come from, and what its outcome says. */
#ifndef GLINT_EXECUTOR_ATTEMPT_H
#define GLINT_EXECUTOR_ATTEMPT_H

#include "engine/executor/executor.h"
#include "engine/executor/store.h"

/* Runs TASK message `m` on the slot's thread. `task` is prepared but for its broadcasts. `outcome`
 * becomes DONE or FAILED. */
void attempt_run(const struct executor_config *config, struct store *store, struct glint_task *task,
                 const struct message *m, struct message *outcome);

#endif

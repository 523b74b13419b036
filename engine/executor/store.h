/* What an executor keeps between tasks: broadcast values, stages, and the map outputs that it made.
 *
 * The loop thread adds and forgets, slots look up; one lock, held for a look-up only. What a
 * look-up answers stays valid while the task runs: the driver forgets a stage only when none of its
 * tasks runs, and outputs and broadcasts live until the end of the context. */
#ifndef GLINT_EXECUTOR_STORE_H
#define GLINT_EXECUTOR_STORE_H

#include "engine/data/run.h"
#include "engine/net/message.h"
#include "engine/plan/stage.h"

struct store;

struct store *store_create(void); /* NULL without memory */
void store_destroy(struct store *s);

/* Takes the message (a STAGE, OUTPUTS or BROADCAST). 0 or a code with *error set. */
int store_keep(struct store *s, struct message *m, const struct glint_config *registry,
               struct glint_error *error);
void store_forget_stage(struct store *s, uint32_t stage);

const struct stage_plan *store_stage(struct store *s, uint32_t stage);
int store_broadcast(void *store, uint64_t id, struct glint_slice *out); /* as task->broadcast */

/* Takes the run that map task `map` of a shuffle has made. 0 or NO_MEMORY. */
int store_add_output(struct store *s, uint64_t shuffle, uint32_t map, uint32_t attempt,
                     struct run *run);
/* One partition of all map outputs that the driver's OUTPUTS message names, in map order: an array
 * in `arena`. RUN_CORRUPT where one is missing. */
int store_inputs(struct store *s, uint64_t shuffle, uint32_t partition, struct arena *arena,
                 struct run_slice **out, uint32_t *out_count, struct glint_error *error);

#endif

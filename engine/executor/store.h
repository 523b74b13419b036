/* What an executor keeps between tasks: stages, broadcast values that came as a whole, the map
 * outputs that it made, and results that are too large for a message.
 *
 * One lock, held for a look-up only. Stages are held by the tasks that run them (the driver does
 * not wait for those that lost, or do not end), map outputs and results by whoever reads or sends
 * them: they are gone when they were forgotten and the last holder has let go. Values live until
 * the end of the context. Any thread, except that stages and values are added and forgotten by the
 * owner's alone. */
#ifndef GLINT_EXECUTOR_STORE_H
#define GLINT_EXECUTOR_STORE_H

#include "engine/data/run.h"
#include "engine/net/message.h"
#include "engine/plan/stage_plan.h"
#include "engine/shuffle/fetch.h"

struct store;

struct store *store_create(void); /* NULL without memory */
/* Nothing is held any more. */
void store_destroy(struct store *s);

/* Takes the message (a STAGE, MAP_OUTPUTS or BROADCAST). MAP_OUTPUTS of a known shuffle replace the
 * older ones, and map outputs made by attempts before those named are forgotten. 0 or a code with
 * *error set. */
int store_add_message(struct store *s, struct message *m, const struct glint_config *registry,
                      struct glint_error *error);
void store_remove_stage(struct store *s, uint32_t stage);

/* Owner's thread: valid until it forgets the stage. NULL: it is not here. */
const struct stage_plan *store_find_stage(struct store *s, uint32_t stage);
/* Any thread: valid until store_release_stage. */
const struct stage_plan *store_acquire_stage(struct store *s, uint32_t stage);
void store_release_stage(struct store *s, const struct stage_plan *plan);
/* 0; -1: no such value is here. */
int store_find_broadcast(struct store *s, uint64_t id, struct glint_slice *out);

/* Takes the run that map task `map` of a shuffle has made. 0 or NO_MEMORY. */
int store_add_map_output(struct store *s, uint64_t shuffle, uint32_t map, uint32_t attempt,
                         struct run *run);
/* A map output, held until store_release_map_output; NULL: it is not here. */
const struct run *store_acquire_map_output(struct store *s, uint64_t shuffle, uint32_t map,
                                           uint32_t attempt);
void store_release_map_output(struct store *s, const struct run *run);
/* The output of an attempt whose twin has won; one that is not here is fine. */
void store_remove_attempt_output(struct store *s, uint32_t stage, uint32_t task, uint32_t attempt);

/* Where the map outputs of a shuffle are, as the last MAP_OUTPUTS said: an array in `arena`, in map
 * order. Those of `self` are held in `local`, until store_release_inputs; NULL there: it is not
 * here. 0, or a code with *error set. */
int store_acquire_inputs(struct store *s, uint64_t shuffle, uint32_t self, struct arena *arena,
                         struct fetch_input **out, uint32_t *out_count, struct glint_error *error);
void store_release_inputs(struct store *s, const struct fetch_input *inputs, uint32_t count);

/* Takes the bytes and answers the result's id, never 0; 0: no memory, and nothing was taken. */
uint64_t store_add_result(struct store *s, struct buffer *bytes);
/* False: it is not here. Else *out is valid until store_release_result of *out_ref. */
bool store_acquire_result(struct store *s, uint64_t id, struct glint_slice *out, void **out_ref);
void store_release_result(struct store *s, void *ref);
void store_remove_result(struct store *s, uint64_t id);

/* Whether there is anything that others may still come for: a map output or a result. */
bool store_has_fetchable_data(struct store *s);

#endif

/* How a stage runs its wide nodes: those that read a shuffle, and narrow ones, whose parent is
 * already partitioned as their shuffle would do it. A narrow node runs both halves of the shuffle
 * in the task, over the parent's partition, so its result is that of the shuffle, in the same
 * bounded memory. */
#ifndef GLINT_EXECUTOR_SHUFFLE_NODE_H
#define GLINT_EXECUTOR_SHUFFLE_NODE_H

#include "engine/plan/stage_plan.h"
#include "engine/records/run.h"
#include "engine/shuffle/shuffle_spec.h"

/* The shuffle of a wide node whose map side gets records of schema `in`. */
void shuffle_node_spec(const struct stage_node *node, struct glint_schema in,
                       struct shuffle_spec *out);
/* The reduce half: emits the records of `count` inputs, in map order, until `out` needs no more.
 * Opens and closes the node's function. Borrows the inputs. Returns 0 or a code with the task's
 * error set; FLOW_FAIL of `out` may have set none. */
int shuffle_node_emit(struct glint_task *task, const struct stage_node *node,
                      const struct run_slice *inputs, uint32_t count, struct glint_emitter *out);

struct narrow_shuffle;
/* The map half of a narrow node: opens it for records of schema `in`. Task's thread, as all calls.
 * Returns NULL with the task's error set. */
struct narrow_shuffle *narrow_shuffle_open(struct glint_task *task, const struct stage_node *node,
                                           struct glint_schema in);
/* As the push of an operator; `state` is the narrow_shuffle, nothing is emitted. */
enum flow narrow_shuffle_push(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out);
/* After the last batch: emits the result. Returns as shuffle_node_emit. */
int narrow_shuffle_finish(struct narrow_shuffle *s, struct glint_emitter *out);
/* NULL is fine. */
void narrow_shuffle_close(struct narrow_shuffle *s);

/* Returns into how many shares the slot's memory must be divided, so that all shuffle halves of the
 * stage that hold records at the same time fit: each takes half of a share. 1 without narrow
 * nodes. */
uint32_t stage_memory_shares(const struct stage_plan *stage);

#endif

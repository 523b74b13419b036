/* The map half of a shuffle: batches in, one sorted run out, in bounded memory.
 *
 * Half of the slot's memory is the budget. Where it is used up, what there is goes to disk as a
 * sorted run, and the end merges those, at most MERGE_FAN_IN_MAX at once. */
#ifndef GLINT_SHUFFLE_WRITE_H
#define GLINT_SHUFFLE_WRITE_H

#include "engine/data/run.h"
#include "engine/shuffle/shuffle_spec.h"

struct shuffle_writer;

/* All calls: the task's thread. `spec`, and `state`, which is spec->fn's and was opened by the
 * caller, are borrowed until close. NULL: the task's error is set. */
struct shuffle_writer *shuffle_writer_open(struct glint_task *task, const struct shuffle_spec *spec,
                                           void *state);
/* Takes the batch's rows, which are copied. May write to disk. 0, or a negative code with the
 * task's error set; then only close may follow. */
int shuffle_writer_push(struct shuffle_writer *w, const struct glint_batch *batch);
/* Once, after the last batch: the whole output, sorted, `spec->partitions` parts. The caller owns
 * it (run_destroy). COUNT_MAP_OUTPUT_* are counted here, COUNT_SPILL* as they happen. */
int shuffle_writer_finish(struct shuffle_writer *w, struct run *out);
/* Frees everything, removes files that were not given away. NULL is fine. */
void shuffle_writer_close(struct shuffle_writer *w);

#endif

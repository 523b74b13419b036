/* The map side of a shuffle: takes batches and writes one run, in bounded memory.
 *
 * The budget is half of the slot's memory. When the combine buffer exceeds it, its contents are
 * spilled to disk as a sorted run; shuffle_writer_finish merges the spills, at most
 * MERGE_FAN_IN_MAX at once. Without spills the output is sorted by key only if its
 * records are large. */
#ifndef GLINT_SHUFFLE_WRITE_H
#define GLINT_SHUFFLE_WRITE_H

#include "engine/batch.h"
#include "engine/records/run.h"
#include "engine/shuffle/shuffle_spec.h"

struct shuffle_writer;

/* All calls: the task's thread. `spec` and `state` (of spec->fn, opened by the caller) are borrowed
 * until close. Returns NULL with the task's error set. */
struct shuffle_writer *shuffle_writer_open(struct glint_task *task, const struct shuffle_spec *spec,
                                           void *state);
/* Adds the batch's rows, which are copied or combined. May block on writing to disk. Returns 0, or
 * a negative code with the task's error set; then only close may follow. */
int shuffle_writer_push(struct shuffle_writer *w, const struct glint_batch *batch);
/* Call once, after the last batch. Sets *out to the map output, with `spec->partitions` parts. The
 * caller owns it (run_destroy). Adds to COUNT_MAP_OUTPUT_*; COUNT_SPILL* were counted when the
 * spills were written. Returns 0, or a negative code with the task's error set. */
int shuffle_writer_finish(struct shuffle_writer *w, struct run *out);
/* Frees everything and removes the files that are not part of a returned run. NULL is fine. */
void shuffle_writer_close(struct shuffle_writer *w);

#endif

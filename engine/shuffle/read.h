/* The reduce side of a shuffle: one partition of every map output, in order, as batches.
 *
 * Records are in order of their keys; equal keys are in order of the inputs, that is of the map
 * partitions. Inputs that fit into half of the slot's memory are collected there and sorted (most
 * map outputs are not sorted); larger ones are merged, after they were written to disk as sorted
 * runs if they are not sorted yet. More than MERGE_FAN_IN_MAX runs are first merged into fewer, in
 * contiguous ranges. The result does not depend on which of these happened. Memory of a merge: two
 * blocks per input, and when combining the accumulator and one value. */
#ifndef GLINT_SHUFFLE_READ_H
#define GLINT_SHUFFLE_READ_H

#include "engine/batch.h"
#include "engine/records/run.h"
#include "engine/shuffle/shuffle_spec.h"

struct shuffle_reader;

/* All calls: the task's thread. `inputs`, in map order, is copied. The sources, `spec` and `state`
 * (of spec->fn, opened by the caller) are borrowed until close. Blocks while it collects or
 * merges inputs. Returns NULL with the task's error set. */
struct shuffle_reader *shuffle_reader_open(struct glint_task *task, const struct shuffle_spec *spec,
                                           void *state, const struct run_slice *inputs,
                                           uint32_t count);
/* Returns 1 and sets *out to the next batch of types (spec->key, spec->acc), borrowed until the
 * next call; 0 at the end; a negative code with the task's error set. Without combining, or with a
 * function that cuts values into chunks (chunk_bytes_max), a key has several adjacent records,
 * which may continue in the next batch. */
int shuffle_reader_next(struct shuffle_reader *r, struct glint_batch *out);
/* Frees everything and removes the temporary runs. NULL is fine. */
void shuffle_reader_close(struct shuffle_reader *r);

#endif

/* The reduce half of a shuffle: one partition of every map output, merged into batches.
 *
 * Records come in order of their keys; equal keys in order of the inputs, which is that of the map
 * partitions. More than MERGE_FAN_IN_MAX inputs are merged into fewer first, in contiguous ranges,
 * so the order of merging depends on their number only. In memory are two blocks per input, and of
 * combined values the accumulator and one more. */
#ifndef GLINT_SHUFFLE_READ_H
#define GLINT_SHUFFLE_READ_H

#include "engine/data/run.h"
#include "engine/shuffle/shuffle_spec.h"

struct shuffle_reader;

/* All calls: the task's thread. `inputs`, in map order, is copied; the sources, `spec`, and
 * `state`, which is spec->fn's and was opened by the caller, are borrowed until close. Merges into
 * temporary runs where there are too many inputs. NULL: the task's error is set. */
struct shuffle_reader *shuffle_reader_open(struct glint_task *task, const struct shuffle_spec *spec,
                                           void *state, const struct run_slice *inputs,
                                           uint32_t count);
/* 1: *out is the next batch, (spec->key, spec->acc), borrowed until the next call; 0: no more;
 * negative: an error. Without combining, or with a function that cuts its values (chunk_bytes_max),
 * a key's records stand next to each other and may go on in the next batch. */
int shuffle_reader_next(struct shuffle_reader *r, struct glint_batch *out);
/* Frees everything, removes temporary runs. NULL is fine. */
void shuffle_reader_close(struct shuffle_reader *r);

#endif

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
#include "engine/records/merge.h"
#include "engine/records/run.h"
#include "engine/shuffle/aggregator.h"
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

/* Merges sorted runs into one run: at the end of a map task that spilled, and at the start of a
 * reduce task that has more than MERGE_FAN_IN_MAX inputs. */
enum merge_pass_mode {
    MERGE_PASS_COPY,          /* records are copied, not combined */
    MERGE_PASS_COMBINE,       /* the values of a key become one accumulator */
    MERGE_PASS_COMBINE_FINAL, /* the same, plus the zero of COMBINE_FOLD: the map task's output */
};

/* Reusable for any number of merges. Task's thread. */
struct merge_pass {
    struct merge merge;
    struct combiner combiner;
    struct buffer key; /* of the current group: merge_next overwrites the merge's key */
};
/* Returns 0 or the error of combiner_init; call merge_pass_fini in both cases. */
int merge_pass_init(struct merge_pass *c, struct glint_task *task, const struct shuffle_spec *spec,
                    void *state);
/* Merges one partition of `count` runs, at most MERGE_FAN_IN_MAX, into partition `partition` of
 * `out`. raw[i]: the values of input i are raw, not accumulators (ignored for COPY). Returns 0 or a
 * negative code with the task's error set. */
int merge_pass_run(struct merge_pass *c, enum merge_pass_mode mode, const struct run_slice *inputs,
                   const bool *raw, uint32_t count, struct run_writer *out, uint32_t partition);
void merge_pass_fini(struct merge_pass *c);

/* Adds `run`, written because memory or the fan-in is limited, to the counters of spills. */
void merge_pass_count_spill(struct glint_task *task, const struct run *run);

#endif

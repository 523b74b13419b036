/* A shuffle, as pipelines use it: tasks write map outputs and read partitions of them. */
#ifndef GLINT_SHUFFLE_SHUFFLE_H
#define GLINT_SHUFFLE_SHUFFLE_H

#include "engine/batch.h"
#include "engine/plan/op.h"
#include "engine/records/run.h"

/* ---- The definition of one shuffle, which the map side and the reduce side share.
 *
 * Constant while a task uses it. Keys and values are in byte form
 * (engine/records/codec.h), so only the members `key`, `value` and `acc` refer to types. */

struct shuffle_spec {
    uint32_t partitions;                  /* of the reduce side */
    struct shuffle_dependency dependency; /* as the plan says */
    /* Combine on the map side too. If false, values are combined on the reduce side only, and a
     * zero is merged once per key. */
    bool map_side;
    /* Merging is not exactly associative, as sums of f64. The values of a key are then merged one
     * after the other, first in each map task, then over the map tasks in order, as if memory and
     * fan-in were unlimited. So the result does not depend on spills or on the cluster. Always in
     * effect if acc is F64. */
    bool sequential;
    const struct glint_function *fn;   /* NULL for NONE and FIRST */
    struct function_call *partitioner; /* PARTITION_FUNCTION on the map side: opened by the task */
    const uint64_t *bound_prefixes;    /* of shuffle_spec_prepare */
    bool (*needs_match)(struct glint_slice value); /* as struct op's */
    enum glint_type key, value;                    /* of the map side's input records */
    enum glint_type acc; /* of the reduce side's values; as `value` unless AGGREGATE, CREATE */
};

/* Makes what shuffle_partition_of needs for PARTITION_RANGE, in the task's memory. Returns 0 or
 * NO_MEMORY with the task's error set. */
int shuffle_spec_prepare(struct shuffle_spec *spec, struct glint_task *task);
/* Returns the reduce partition of one record; `key` is in byte form. `index` is the record's index
 * in its map task; only PARTITION_SPREAD uses it and `map_partition`. Pure: a retried task gets the
 * same partitions. If a partitioner of the job fails, sets the task's error and returns 0: callers
 * check the error once per batch, not per record. */
uint32_t shuffle_partition_of(const struct shuffle_spec *spec, struct glint_slice key,
                              uint32_t map_partition, uint64_t index);

/* The sort position of a record in a run. */
struct shuffle_position {
    uint32_t partition;
    struct glint_slice key;
};
/* Returns < 0 if `a` comes before `b`, 0 if they are equal, > 0 otherwise. */
int shuffle_compare_positions(const struct shuffle_spec *spec, struct shuffle_position a,
                              struct shuffle_position b);

/* ---- The map side of a shuffle: takes batches and writes one run, in bounded memory.
 *
 * The budget is half of the slot's memory. When the combine buffer exceeds it, its contents are
 * spilled to disk as a sorted run; shuffle_writer_finish merges the spills, at most
 * MERGE_FAN_IN_MAX at once. Without spills the output is sorted by key only if its
 * records are large. */

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

/* ---- The reduce side of a shuffle: one partition of every map output, in order, as batches.
 *
 * Records are in order of their keys; equal keys are in order of the inputs, that is of the map
 * partitions. Inputs that fit into half of the slot's memory are collected there and sorted (most
 * map outputs are not sorted); larger ones are merged, after they were written to disk as sorted
 * runs if they are not sorted yet. More than MERGE_FAN_IN_MAX runs are first merged into fewer, in
 * contiguous ranges. The result does not depend on which of these happened. Memory of a merge: two
 * blocks per input, and when combining the accumulator and one value. */

struct shuffle_reader;

/* All calls: the task's thread. `inputs`, in map order, is copied. The sources, `spec` and `state`
 * (of spec->fn, opened by the caller) are borrowed until close. Blocks while it collects or
 * merges inputs. Returns NULL with the task's error set. */
struct shuffle_reader *shuffle_reader_open(struct glint_task *task, const struct shuffle_spec *spec,
                                           void *state, const struct run_slice *inputs,
                                           uint32_t count);
/* A reader without inputs, for a shuffle that does not combine and whose records are all of this
 * task: they are pushed, copied once, and sorted in memory. Call end_input once, after the last
 * batch. Both return 0 or a negative code with the task's error set. */
struct shuffle_reader *shuffle_reader_open_local(struct glint_task *task,
                                                 const struct shuffle_spec *spec);
int shuffle_reader_push(struct shuffle_reader *r, const struct glint_batch *batch);
int shuffle_reader_end_input(struct shuffle_reader *r);
/* Returns 1 and sets *out to the next batch of types (spec->key, spec->acc), borrowed until the
 * next call; 0 at the end; a negative code with the task's error set. Without combining, or with a
 * function that cuts values into chunks (chunk_bytes_max), a key has several adjacent records,
 * which may continue in the next batch. */
int shuffle_reader_next(struct shuffle_reader *r, struct glint_batch *out);
/* Frees everything and removes the temporary runs. NULL is fine. */
void shuffle_reader_close(struct shuffle_reader *r);

#endif

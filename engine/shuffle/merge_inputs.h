/* The inputs of a merge, in order, and the merging of many into few: at the end of a map task that
 * spilled, and at the start of a reduce task, a merge reads at most MERGE_FAN_IN_MAX of them.
 * Task's thread. */
#ifndef GLINT_SHUFFLE_MERGE_INPUTS_H
#define GLINT_SHUFFLE_MERGE_INPUTS_H

#include "engine/records/run.h"
#include "engine/shuffle/aggregator.h"
#include "engine/shuffle/shuffle.h"

/* A run that it owns, or a slice of another one. */
struct merge_input {
    struct run *run;        /* NULL: a slice */
    struct run_slice slice; /* borrows its source */
    bool raw;               /* its values are raw, not accumulators (aggregator.h) */
};

/* Zeros: none. */
struct merge_inputs {
    struct merge_input *items;
    uint32_t count;
    uint64_t capacity;
};
/* Finishes `w` and appends its run, which counts as a spill. Returns 0, or a negative code with the
 * task's error set; `w` is then aborted. */
int merge_inputs_add_run(struct merge_inputs *l, struct run_writer *w, bool raw);
/* Appends a slice. Returns false when out of memory. */
bool merge_inputs_add_slice(struct merge_inputs *l, struct run_slice slice, bool raw);
/* Writes the slices of `count` inputs, at most MERGE_FAN_IN_MAX, that have records of `partition`,
 * and whether their values are raw (NULL: not needed). Returns their number. */
uint32_t merge_inputs_slices(const struct merge_input *inputs, uint32_t count, uint32_t partition,
                             struct run_slice *out, bool *out_raw);
/* Destroys the runs and removes their files. */
void merge_inputs_fini(struct merge_inputs *l);

/* Reusable for any number of merges. All calls return 0 or a negative code with the task's error
 * set. */
struct merge_pass {
    struct merge merge;
    struct combiner combiner;
    struct buffer key; /* of the current group: merge_next overwrites the merge's key */
    bool combines;     /* the values of a key become one accumulator, where that is allowed */
};
/* Call merge_pass_fini also after an error. */
int merge_pass_init(struct merge_pass *c, struct glint_task *task, const struct shuffle_spec *spec,
                    void *state, bool combines);
/* Merges ranges of adjacent inputs until at most MERGE_FAN_IN_MAX inputs are left. The new runs
 * have `partitions` and stay in memory up to `memory_max` bytes, as for run_writer_init. After an
 * error the inputs can only be freed. */
int merge_pass_limit_inputs(struct merge_pass *c, struct merge_inputs *l, uint32_t partitions,
                            uint64_t memory_max);
/* Merges all inputs, at most MERGE_FAN_IN_MAX, into the map task's output: adds the zero of
 * COMBINE_FOLD. */
int merge_pass_write(struct merge_pass *c, const struct merge_inputs *l, struct run_writer *out);
void merge_pass_fini(struct merge_pass *c);

/* Adds `run`, written because memory or the fan-in is limited, to the counters of spills. */
void count_spill(struct glint_task *task, const struct run *run);

#endif

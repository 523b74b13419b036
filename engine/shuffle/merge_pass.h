/* Merges sorted runs into one run: at the end of a map task that spilled, and at the start of a
 * reduce task that has more than MERGE_FAN_IN_MAX inputs. */
#ifndef GLINT_SHUFFLE_MERGE_PASS_H
#define GLINT_SHUFFLE_MERGE_PASS_H

#include "engine/records/merge.h"
#include "engine/shuffle/aggregator.h"

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

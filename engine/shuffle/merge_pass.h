/* Many sorted runs made one: the end of a map task that spilled, and the beginning of a reduce task
 * with too many inputs. */
#ifndef GLINT_SHUFFLE_MERGE_PASS_H
#define GLINT_SHUFFLE_MERGE_PASS_H

#include "engine/data/merge.h"
#include "engine/shuffle/aggregator.h"

enum merge_pass_mode {
    MERGE_PASS_COPY,          /* records go through as they are */
    MERGE_PASS_COMBINE,       /* equal keys become one accumulator */
    MERGE_PASS_COMBINE_FINAL, /* and a fold's zero goes in: the map task's value */
};

/* Zeros before init, fini always. One task's thread. */
struct merge_pass {
    struct merge merge;
    struct combiner combiner;
    struct buffer key;
};
int merge_pass_init(struct merge_pass *c, struct glint_task *task, const struct shuffle_spec *spec,
                    void *state);
/* Merges one partition of `count` runs into partition `partition` of `out`. raw[i]: the values of
 * input i are not accumulators yet. 0 or a negative code. */
int merge_pass_run(struct merge_pass *c, enum merge_pass_mode mode, const struct run_slice *inputs,
                   const bool *raw, uint32_t count, struct run_writer *out, uint32_t partition);
void merge_pass_fini(struct merge_pass *c);

/* Counts a run that was written because memory or the fan-in is bounded. */
void merge_pass_count_spill(struct glint_task *task, const struct run *run);

#endif

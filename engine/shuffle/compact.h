/* Many sorted runs made one: the end of a map task that spilled, and the beginning of a reduce task
 * with too many inputs. */
#ifndef GLINT_SHUFFLE_COMPACT_H
#define GLINT_SHUFFLE_COMPACT_H

#include "engine/data/merge.h"
#include "engine/shuffle/fold.h"

enum compact_mode {
    COMPACT_PASS,     /* records go through as they are */
    COMPACT_COMBINE,  /* equal keys become one accumulator */
    COMPACT_COMPLETE, /* and a fold's zero goes in: the map task's value */
};

/* Zeros before init, fini always. One task's thread. */
struct compactor {
    struct merge merge;
    struct combiner combiner;
    struct buffer key;
};
int compactor_init(struct compactor *c, struct glint_task *task, const struct shuffle_spec *spec,
                   void *state);
/* Merges one partition of `count` runs into partition `partition` of `out`. raw[i]: the values of
 * input i are not accumulators yet. 0 or a negative code. */
int compactor_run(struct compactor *c, enum compact_mode mode, const struct run_slice *inputs,
                  const bool *raw, uint32_t count, struct run_writer *out, uint32_t partition);
void compactor_fini(struct compactor *c);

/* Counts a run that was written because memory or the fan-in is bounded. */
void compact_count(struct glint_task *task, const struct run *run);

#endif

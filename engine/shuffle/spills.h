/* The spilled runs of a map task, in the order of their records, and their merge into one run.
 * Internal to the map side. Task's thread. */
#ifndef GLINT_SHUFFLE_SPILLS_H
#define GLINT_SHUFFLE_SPILLS_H

#include "engine/shuffle/merge_pass.h"

struct spilled_run {
    struct run run;
    bool raw; /* its values are raw, not accumulators (aggregator.h) */
};

/* Owns the runs. Zeros are an empty list. */
struct spills {
    struct spilled_run *items;
    uint32_t count;
    uint64_t capacity;
};
/* Finishes `w` and appends its run. On an error `w` is aborted and the code returned. */
int spills_add(struct spills *s, struct run_writer *w, bool raw);
/* Merges all spills into *out, the map task's output, and frees them, also on an error. `combines`:
 * the values of a key become one. The caller owns *out. Returns 0 or a negative code with the
 * task's error set. */
int spills_merge(struct spills *s, struct glint_task *task, const struct shuffle_spec *spec,
                 void *state, bool combines, struct run *out);
/* Destroys all runs and removes their files. */
void spills_fini(struct spills *s);

#endif

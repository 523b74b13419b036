/* The runs that a map task had to put on disk, in the order of their records, and the end of them:
 * one run. Internal to the map half. */
#ifndef GLINT_SHUFFLE_SPILLS_H
#define GLINT_SHUFFLE_SPILLS_H

#include "engine/shuffle/merge_pass.h"

struct spilled_run {
    struct run run;
    bool raw; /* its values are not accumulators yet */
};

/* Zeros are none. */
struct spills {
    struct spilled_run *items;
    uint32_t count, capacity;
};
/* Ends `w` as the next spill; on failure w is aborted. */
int spills_add(struct spills *s, struct run_writer *w, bool raw);
/* Merges them all into *out, and they are gone. */
int spills_merge(struct spills *s, struct glint_task *task, const struct shuffle_spec *spec,
                 void *state, struct run *out);
void spills_fini(struct spills *s);

#endif

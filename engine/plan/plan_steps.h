/* The operators of a stage as texts: for `glint explain`, and for the stages of an event log. */
#ifndef GLINT_PLAN_PLAN_STEPS_H
#define GLINT_PLAN_PLAN_STEPS_H

#include "engine/plan/context.h"
#include "engine/plan/stage_plan.h"

/* A line of a plan, truncated if it does not fit. Zeros are an empty one. */
struct plan_line {
    char text[1024];
    size_t used;
};

void plan_line_add(struct plan_line *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "depends on the result of collect (stage 1)", with other words for the first two. */
void plan_line_add_skipped(struct plan_line *l, const char *what, const struct skipped_action *u);
/* Writes "map words.split", or "map \"NAME\" words.split", followed by what is special to this
 * operator. `root`: the last node of its stage. */
void plan_step_format(const struct glint *g, const struct stage_node *n, bool root,
                      struct plan_line *l);
/* NULL: an action's node. */
const struct glint_rdd *plan_find_rdd(const struct glint *g, uint32_t id);

#endif

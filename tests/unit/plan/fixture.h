/* A context without a driver, and operators that only have a name and a kind: enough to test
 * everything that is decided before a job runs. */
#ifndef TESTS_UNIT_PLAN_FIXTURE_H
#define TESTS_UNIT_PLAN_FIXTURE_H

#include "engine/plan/context_config.h"
#include "engine/plan/stage_plan.h"

extern const struct op op_src, op_nar, op_fun, op_red, op_wid, op_uni, op_coa, op_act;
extern const struct context_config plan_config;

void plan_open(struct glint *g);
/* A source of (none, text) with `splits` splits; each contains its own number as text. */
struct glint_rdd *plan_source(struct glint *g, uint32_t splits);
struct glint_rdd *plan_node(const struct op *op, struct glint_rdd *a, struct glint_rdd *b);
struct glint_rdd *plan_call(struct glint_rdd *rdd, const struct op *op, const char *function);

#endif

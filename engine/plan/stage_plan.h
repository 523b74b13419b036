/* A stage: the part of a plan between shuffles, as it is sent to executors.
 *
 * The nodes stand parents first; the last one is the root: an action, or the wide node whose map
 * outputs the stage makes. A wide node elsewhere is a source: it reads its shuffle. Running
 * partition p means walking from the root to a source, choosing a parent at unions by p
 * (executor/pipeline.h). One struct for both sides: the driver fills it from RDDs, the executor
 * from bytes. */
#ifndef GLINT_PLAN_STAGE_PLAN_H
#define GLINT_PLAN_STAGE_PLAN_H

#include "engine/plan/context.h"

#define STAGE_NO_PARENT UINT32_MAX
static_assert(PLAN_NODES_MAX < STAGE_NO_PARENT, "no node has the number that means none");

struct stage_node {
    uint32_t rdd; /* its id; of a wide node: the shuffle's */
    const struct op *op;
    const struct glint_function *fn;
    struct glint_slice args, params;
    struct glint_schema schema; /* of its output */
    bool grouped;               /* its output is grouped */
    uint32_t parents[2];        /* node numbers */
    uint32_t partitions;
    struct shuffle_dependency dependency;
};

struct stage_plan {
    uint32_t node_count;
    struct stage_node *nodes;
    /* The directories for attempt files, one per output: the stage of an action that saves. */
    const char *outputs[ACTION_OUTPUTS_MAX];
    uint32_t output_count;
    struct arena memory;
};

/* The stage that ends in `action`, or in the map half of `wide` (one of them is NULL). Nodes borrow
 * from the RDDs. 0, or the context's code. */
int stage_plan_create(struct stage_plan *s, const struct action *action,
                      struct glint_rdd *shuffle_rdd);
/* Adds a directory for attempt files, which is copied. 0, or a code. */
int stage_plan_add_output(struct stage_plan *s, const char *path, struct glint_error *error);
void stage_plan_fini(struct stage_plan *s);
/* How many tasks it has: the partitions that a task may be about. */
uint32_t stage_plan_task_count(const struct stage_plan *s);
/* Wire form. The decoded stage borrows from `bytes`, which must outlive it. PROTOCOL for what does
 * not parse or cannot run, PLAN_FUNCTION for a name that is not registered here. */
int stage_plan_encode(const struct stage_plan *s, struct buffer *out, struct glint_error *error);
int stage_plan_decode(struct stage_plan *s, struct glint_slice bytes,
                      const struct glint_config *registry, struct glint_error *error);

/* The splits that partition p of the root reads, in order, as a msgpack array of bins. */
int rdd_encode_partition_splits(struct glint *g, struct glint_rdd *rdd, uint32_t partition,
                                struct buffer *out);

/* Calls `visit` for each wide RDD that the plan above `rdd` (itself included) reads directly. */
int rdd_visit_shuffle_inputs(struct glint_rdd *rdd,
                             int (*visit)(void *arg, struct glint_rdd *shuffle_rdd), void *arg);
/* Prepares what the stage that ends in `rdd` consists of, `rdd` included, parents first; what it
 * reads from shuffles is left alone or was prepared before. 0 or the context's code. */
int rdd_prepare_stage(struct glint_rdd *rdd);

#endif

/* A stage: the part of a plan between shuffles, as sent to executors.
 *
 * Nodes are ordered parents first. The last one is the root: an action, or the wide node whose map
 * outputs the stage writes. Any other wide node is a source that reads its shuffle, unless it is
 * narrow: then it sorts and combines what its parent emits. To run
 * partition p, the executor walks from the root to a source, choosing the parent at each union by
 * p, and visiting the right parent of a zip before the left one (executor/pipeline.c). Driver and
 * executor share the struct: the driver fills it from RDDs, the executor from bytes. */
#ifndef GLINT_PLAN_STAGE_PLAN_H
#define GLINT_PLAN_STAGE_PLAN_H

#include "engine/plan/context.h"

#define STAGE_NO_PARENT UINT32_MAX
static_assert(PLAN_NODES_MAX < STAGE_NO_PARENT, "STAGE_NO_PARENT is not the number of a node");

/* One RDD of the stage, or its action. Slices are borrowed. */
struct stage_node {
    uint32_t rdd; /* the RDD's id; for a wide node also the shuffle's id */
    const struct op *op;
    const char *name; /* of the RDD, in the driver; it is not sent. NULL: none */
    const struct glint_function *fn;
    struct glint_slice args, params;
    struct glint_schema schema; /* of its output */
    bool grouped;               /* its output is grouped */
    bool narrow;                /* as struct glint_rdd's */
    unsigned persist;           /* its output is kept: bits of enum glint_level; 0: it is not */
    uint32_t parents[2];        /* node indexes, or STAGE_NO_PARENT */
    uint32_t partitions;
    struct shuffle_dependency dependency;
};

/* Whether it writes or reads a shuffle. */
static inline bool stage_node_is_shuffle(const struct stage_node *n)
{
    return n->op->kind == OP_WIDE && !n->narrow;
}

/* Whether its records are those of its blocks, which the executor has: what is above it is no part
 * of the plan. Without its block, a task fails with SPILL_IO. */
static inline bool stage_node_reads_blocks(const struct stage_node *n)
{
    return n->persist != 0 && n->parents[0] == STAGE_NO_PARENT && n->op->kind != OP_SOURCE &&
           !stage_node_is_shuffle(n);
}

/* Zero it before use; free with stage_plan_fini. */
struct stage_plan {
    uint32_t node_count;
    struct stage_node *nodes;
    /* For the last stage of an action that saves: directories for attempt files, one per output. */
    const char *outputs[ACTION_OUTPUTS_MAX];
    uint32_t output_count;
    bool reads_blocks; /* of a node: see stage_node_reads_blocks */
    struct arena memory;
};

/* Creates the stage that ends in `action`, or in the map side of `shuffle_rdd`; the other is NULL.
 * Nodes borrow from the RDDs. Returns 0 or the context's code. */
int stage_plan_create(struct stage_plan *s, const struct action *action,
                      struct glint_rdd *shuffle_rdd);
/* Adds a directory for attempt files; `path` is copied. Returns 0, OUTPUT_CREATE or NO_MEMORY. */
int stage_plan_add_output(struct stage_plan *s, const char *path, struct glint_error *error);
void stage_plan_fini(struct stage_plan *s);
/* Returns the number of tasks: one per partition of the root, or of a map stage's input. */
uint32_t stage_plan_task_count(const struct stage_plan *s);
/* Wire format. Both return 0 or a code with *error set. The caller frees `out`. The decoded stage
 * borrows from `bytes`, which must outlive it. PROTOCOL if the bytes do not parse or the stage is
 * not valid, PLAN_FUNCTION if an operator or function is not registered in this process. */
int stage_plan_encode(const struct stage_plan *s, struct buffer *out, struct glint_error *error);
int stage_plan_decode(struct stage_plan *s, struct glint_slice bytes,
                      const struct context_config *registry, struct glint_error *error);

/* A walk from a partition to those that it reads: a stack of nodes of a plan, with ranges of their
 * partitions. Zeros are empty; free `items` with mem_free. */
struct partition_walk {
    struct partition_visit *items;
    uint64_t count, capacity;
};
/* Adds partitions to visit before those that were added earlier. Returns false when out of
 * memory. */
bool partition_walk_add(struct partition_walk *w, const void *node, uint32_t first, uint32_t end);
/* Returns false at the end. */
bool partition_walk_next(struct partition_walk *w, const void **out_node, uint32_t *out_partition);

/* An operator of a plan: the numbers of partitions of itself and of its parents (0: none). */
struct op_partitions {
    const struct op *op;
    bool narrow;
    uint32_t own, left, right;
};
struct parent_partitions {
    uint32_t parent, first, end; /* parent 0: the left one */
};
/* Sets out[] to what partition p reads of the parents, in the order of reading, and returns how
 * many there are: none of a source, or of a shuffle. */
uint32_t op_find_parent_partitions(const struct op_partitions *n, uint32_t partition,
                                   struct parent_partitions out[2]);
/* Encodes the splits that partition p of `rdd` reads, in order, as a msgpack array of bins: not
 * those above RDDs whose blocks are read. Returns 0 or NO_MEMORY. The caller frees `out`. */
int rdd_encode_partition_splits(struct glint *g, struct glint_rdd *rdd, uint32_t partition,
                                struct buffer *out);

/* Calls `visit` for each wide RDD that the stage ending in `rdd` reads; if `rdd` is wide, only for
 * `rdd` itself. Stops at the first non-zero result and returns it. */
int rdd_visit_shuffle_inputs(struct glint_rdd *rdd,
                             int (*visit)(void *arg, struct glint_rdd *shuffle_rdd), void *arg);
/* Calls `prepare` for all RDDs of the stage that ends in `rdd`, parents first, including `rdd`.
 * Shuffles that the stage reads are not included: their map stages were prepared before. Returns 0
 * or the context's code. */
int rdd_prepare_all_in_stage(struct glint_rdd *rdd);

/* The operators of a stage as texts: for `glint explain`, and for the stages of an event log. */

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

/* Draws the stages of a plan: for Graphviz (`glint explain --graph dot`), or as SVG. */
#ifndef GLINT_CLI_PLAN_GRAPH_H
#define GLINT_CLI_PLAN_GRAPH_H

#include "engine/base/mem.h"
#include "engine/plan/progress.h"

#include <stdio.h>

/* A step reads the output of a stage, or the job needed the stage's result first. */
struct plan_edge {
    uint32_t from, to; /* indexes of stages; `from` is lower */
    uint32_t step;
    bool result;
};

/* All stages of a plan; their texts belong to the context. Zeros are empty. Free with
 * plan_graph_fini. */
struct plan_graph {
    struct plan_stage *stages; /* in order of arrival; without plan_step.reads */
    struct plan_edge *edges;   /* by `to` */
    uint32_t count, edge_count;
    uint64_t capacity, edge_capacity;
    bool failed; /* out of memory: a stage is missing */
};

/* For context_config.plan: adds the stage; `arg` is the graph. */
void plan_graph_add(void *arg, const struct plan_stage *stage);
void plan_graph_fini(struct plan_graph *graph);
void plan_graph_print_dot(FILE *out, const struct plan_graph *graph, const char *title);
/* Returns false when out of memory, having printed nothing. */
bool plan_graph_print_svg(FILE *out, const struct plan_graph *graph, const char *title);

#endif

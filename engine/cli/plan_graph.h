/* The stages of a plan as a drawing: for Graphviz (`glint explain --format dot`), or as SVG. */
#ifndef GLINT_CLI_PLAN_GRAPH_H
#define GLINT_CLI_PLAN_GRAPH_H

#include "engine/base/mem.h"
#include "engine/plan/progress.h"

#include <stdio.h>

/* Zeros are an empty one. */
struct plan_graph {
    struct arena memory;
    struct plan_stage *stages; /* in the order in which they came */
    uint32_t count;
    bool failed; /* there was no memory for one of them */
};

/* glint_config.plan: keeps a copy of the stage; `arg` is the graph. */
void plan_graph_add(void *arg, const struct plan_stage *stage);
void plan_graph_fini(struct plan_graph *graph);
/* The index of the stage with that number; count: none has it. */
uint32_t plan_graph_find(const struct plan_graph *graph, uint32_t number);

void plan_graph_print_dot(FILE *out, const struct plan_graph *graph, const char *title);
/* False without memory, and nothing is printed. */
bool plan_graph_print_svg(FILE *out, const struct plan_graph *graph, const char *title);

#endif

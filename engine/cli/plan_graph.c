/* Collects the stages of a plan, and prints them for Graphviz: a cluster per stage, a node per
 * operator, an edge per shuffle. */
#include "engine/cli/plan_graph.h"

#include "engine/cli/print.h"

#include <assert.h>
#include <string.h>

/* Adds an edge from the stage with this number, if there is one, to the stage that comes next. */
static void add_edge(struct plan_graph *graph, uint32_t number, uint32_t step, bool result)
{
    uint32_t from = 0;
    while (from < graph->count && graph->stages[from].number != number) from++;
    if (from == graph->count) return;
    if (!array_reserve(&graph->edges, &graph->edge_capacity, graph->edge_count + 1,
                       sizeof *graph->edges))
        graph->failed = true;
    else
        graph->edges[graph->edge_count++] =
            (struct plan_edge){.from = from, .to = graph->count, .step = step, .result = result};
}

void plan_graph_add(void *arg, const struct plan_stage *stage)
{
    struct plan_graph *graph = arg;
    for (uint32_t i = 0; i < stage->step_count; i++)
        for (uint32_t k = 0; k < stage->steps[i].read_count; k++)
            add_edge(graph, stage->steps[i].reads[k], i, false);
    if (stage->after != PLAN_NONE) add_edge(graph, stage->after, 0, true);
    if (!array_reserve(&graph->stages, &graph->capacity, graph->count + 1, sizeof *graph->stages))
        graph->failed = true;
    /* An incomplete drawing would be misleading: print_graph then reports out of memory. */
    if (!graph->failed) graph->stages[graph->count++] = *stage;
}

void plan_graph_fini(struct plan_graph *graph)
{
    mem_free(graph->stages);
    mem_free(graph->edges);
}

/* Prints the content of a quoted string. */
static void print_quoted(FILE *out, const char *text)
{
    print_text_for(out, PRINT_DOT, text, NULL);
}

static void print_stage_as_dot(FILE *out, const struct plan_stage *stage)
{
    fprintf(out, "  subgraph cluster_%u {\n    label=\"stage %u ", stage->number, stage->number);
    print_quoted(out, stage->name);
    fprintf(out, "\\n%u task%s, input %s", stage->tasks, stage->tasks == 1 ? "" : "s",
            stage->input);
    if (stage->action != NULL) {
        fputs("\\n", out);
        print_quoted(out, stage->action);
    }
    fputs("\";\n", out);
    for (uint32_t i = 0; i < stage->step_count; i++) {
        fprintf(out, "    s%u_%u [label=\"", stage->number, i);
        print_quoted(out, stage->steps[i].text);
        fputs("\"];\n", out);
    }
    for (uint32_t i = 0; i < stage->step_count; i++)
        for (uint32_t p = 0; p < 2; p++)
            if (stage->steps[i].parents[p] != PLAN_NONE)
                fprintf(out, "    s%u_%u -> s%u_%u;\n", stage->number, stage->steps[i].parents[p],
                        stage->number, i);
    fputs("  }\n", out);
}

void plan_graph_print_dot(FILE *out, const struct plan_graph *graph, const char *title)
{
    assert(!graph->failed);
    fputs("digraph \"", out);
    print_quoted(out, title);
    fputs("\" {\n  node [shape=box, fontname=\"monospace\"];\n", out);
    for (uint32_t i = 0; i < graph->count; i++) print_stage_as_dot(out, &graph->stages[i]);
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct plan_edge *e = &graph->edges[i];
        const struct plan_stage *from = &graph->stages[e->from]; /* from its last operator */
        fprintf(out, "  s%u_%u -> s%u_%u%s;\n", from->number, from->step_count - 1,
                graph->stages[e->to].number, e->step,
                e->result ? " [style=dashed, label=\"result\"]" : "");
    }
    fputs("}\n", out);
}

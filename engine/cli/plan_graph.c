/* Copies the stages of a plan, and prints them for Graphviz: a cluster per stage, a node per
 * operator, an edge per shuffle. */
#include "engine/cli/plan_graph.h"

#include "engine/cli/print.h"

#include <assert.h>
#include <string.h>

static const char *copy_text(struct plan_graph *graph, const char *text)
{
    if (text == NULL) return NULL;
    char *copy = arena_strdup(&graph->memory, text);
    if (copy == NULL) graph->failed = true;
    return copy;
}

static const uint32_t *copy_numbers(struct plan_graph *graph, const uint32_t *numbers,
                                    uint32_t count)
{
    uint32_t *copy = arena_alloc(&graph->memory, sizeof *copy * (count + 1));
    if (copy == NULL) graph->failed = true;
    return copy != NULL ? memcpy(copy, numbers, sizeof *copy * count) : NULL;
}

void plan_graph_add(void *arg, const struct plan_stage *stage)
{
    struct plan_graph *graph = arg;
    struct plan_step *steps =
        arena_alloc(&graph->memory, sizeof *steps * ((uint64_t)stage->step_count + 1));
    if (steps == NULL ||
        !array_reserve(&graph->stages, &graph->capacity, graph->count + 1, sizeof *graph->stages))
        graph->failed = true;
    /* An incomplete drawing would be misleading: print_graph then reports out of memory. */
    if (graph->failed) return;
    for (uint32_t i = 0; i < stage->step_count; i++) {
        steps[i] = stage->steps[i];
        steps[i].text = copy_text(graph, stage->steps[i].text);
        steps[i].reads = copy_numbers(graph, steps[i].reads, steps[i].read_count);
    }
    struct plan_stage *kept = &graph->stages[graph->count];
    *kept = *stage;
    kept->steps = steps;
    kept->name = copy_text(graph, stage->name);
    kept->action = copy_text(graph, stage->action);
    kept->input = copy_text(graph, stage->input);
    if (!graph->failed) graph->count++;
}

void plan_graph_fini(struct plan_graph *graph)
{
    mem_free(graph->stages);
    arena_fini(&graph->memory);
}

uint32_t plan_graph_find(const struct plan_graph *graph, uint32_t number)
{
    uint32_t i = 0;
    while (i < graph->count && graph->stages[i].number != number) i++;
    return i;
}

/* Prints the content of a quoted string. */
static void print_quoted(FILE *out, const char *text)
{
    print_text_for(out, PRINT_DOT, text, NULL);
}

static void print_stage(FILE *out, const struct plan_stage *stage)
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

/* Draws an edge from the last operator of stage `from`. */
static void print_edge(FILE *out, const struct plan_graph *graph, uint32_t from,
                       const struct plan_stage *to, uint32_t step, const char *attributes)
{
    const uint32_t at = plan_graph_find(graph, from);
    if (at == graph->count) return;
    fprintf(out, "  s%u_%u -> s%u_%u%s;\n", from, graph->stages[at].step_count - 1, to->number,
            step, attributes);
}

void plan_graph_print_dot(FILE *out, const struct plan_graph *graph, const char *title)
{
    assert(!graph->failed);
    fputs("digraph \"", out);
    print_quoted(out, title);
    fputs("\" {\n  node [shape=box, fontname=\"monospace\"];\n", out);
    for (uint32_t i = 0; i < graph->count; i++) print_stage(out, &graph->stages[i]);
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct plan_stage *stage = &graph->stages[i];
        for (uint32_t j = 0; j < stage->step_count; j++)
            for (uint32_t k = 0; k < stage->steps[j].read_count; k++)
                print_edge(out, graph, stage->steps[j].reads[k], stage, j, "");
        if (stage->after != PLAN_NONE)
            print_edge(out, graph, stage->after, stage, 0, " [style=dashed, label=\"result\"]");
    }
    fputs("}\n", out);
}

/* Collects the stages of a plan, and prints them for Graphviz: a cluster per stage, a node per
 * operator, an edge per shuffle. */
#include "engine/base/text.h"
#include "engine/cli/cli_internal.h"
#include "engine/cli/print.h"

#include <assert.h>
#include <string.h>

/* ---- Prints a plan as SVG. A stage is a box with its operators from top to bottom, in a column
 * right of all stages that it reads from, so all arrows between stages point right. */

/* In pixels. CHAR is the width of a character, slightly wider than in most fonts. */
enum { CHAR = 8, LINE = 18, STEP = 26, STEP_GAP = 16, PAD = 14, STAGE_GAP = 28, COLUMN_GAP = 70 };

/* Attributes instead of a style sheet, which would apply to all drawings of a page. */
#define LINES "#24506e"
#define BOLD  " class=\"title\" font-weight=\"bold\""
#define ARROW " fill=\"none\" stroke=\"" LINES "\" stroke-width=\"1.5\" marker-end=\"url(#head)\""

typedef unsigned long long pixels;

struct box {
    uint32_t column;
    pixels x, y, width, height, head; /* `head`: height of the lines above the operators */
};

struct drawing {
    const struct plan_graph *graph;
    struct box *boxes; /* parallel to graph->stages */
    pixels width, height;
};

static uint64_t count_characters(const char *text)
{
    uint64_t n = 0;
    for (const char *p = text; *p != '\0'; p++) n += ((uint8_t)*p & 0xc0) != 0x80;
    return n;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns the n-th line above the operators; NULL: there is none. */
static const char *stage_heading_line(const struct plan_stage *stage, uint32_t n, char *text,
                                      size_t capacity)
{
    if (n == 0)
        text_format(text, capacity, "stage %u %s", stage->number, stage->name);
    else if (n == 1)
        text_format(text, capacity, "%u task%s, input %s", stage->tasks,
                    stage->tasks == 1 ? "" : "s", stage->input);
    return n < 2 ? text : n == 2 ? stage->action : NULL;
}

static void measure_stage_box(const struct drawing *d, uint32_t at)
{
    const struct plan_stage *stage = &d->graph->stages[at];
    struct box *box = &d->boxes[at];
    char text[512];
    const char *line;
    uint32_t lines = 0;
    uint64_t longest = 0;
    for (; (line = stage_heading_line(stage, lines, text, sizeof text)) != NULL; lines++)
        longest = max_u64(longest, count_characters(line));
    for (uint32_t i = 0; i < stage->step_count; i++)
        longest = max_u64(longest, count_characters(stage->steps[i].text) + 2);
    box->width = longest * CHAR + 2 * PAD;
    box->head = PAD + lines * LINE;
    box->height = box->head + stage->step_count * (STEP + STEP_GAP) - STEP_GAP + 2 * PAD;
}

static void place_stage_boxes(struct drawing *d)
{
    const struct plan_graph *graph = d->graph;
    uint32_t columns = graph->count > 0 ? 1 : 0;
    for (uint32_t i = 0; i < graph->count; i++) measure_stage_box(d, i);
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct plan_edge *e = &graph->edges[i];
        const uint32_t after = d->boxes[e->from].column + 1; /* final: edges are by `to` */
        if (after > d->boxes[e->to].column) d->boxes[e->to].column = after;
        if (after >= columns) columns = after + 1;
    }
    pixels x = PAD;
    for (uint32_t column = 0; column < columns; column++) {
        pixels y = PAD + 2 * LINE, widest = 0;
        for (uint32_t i = 0; i < graph->count; i++) {
            struct box *box = &d->boxes[i];
            if (box->column != column) continue;
            box->x = x;
            box->y = y;
            y += box->height + STAGE_GAP;
            widest = max_u64(widest, box->width);
        }
        d->height = max_u64(d->height, y - STAGE_GAP + PAD);
        x += widest + COLUMN_GAP;
    }
    d->width = x - (columns > 0 ? COLUMN_GAP : 0) + PAD;
    d->height = max_u64(d->height, PAD + 2 * LINE);
}

static pixels step_top_y(const struct box *box, uint32_t step)
{
    return box->y + box->head + PAD + (pixels)step * (STEP + STEP_GAP);
}

static void print_svg_text(FILE *out, pixels x, pixels y, const char *style, const char *text)
{
    fprintf(out, "<text x=\"%llu\" y=\"%llu\"%s>", x, y, style);
    print_text_for(out, PRINT_XML, text, NULL);
    fputs("</text>\n", out);
}

static void print_svg_rectangle(FILE *out, const char *class, const char *fill, pixels x, pixels y,
                                pixels width, pixels height)
{
    fprintf(out, "<rect class=\"%s\" fill=\"%s\" stroke=\"#5a6872\" rx=\"4\" ", class, fill);
    fprintf(out, "x=\"%llu\" y=\"%llu\" width=\"%llu\" height=\"%llu\"/>\n", x, y, width, height);
}

/* Draws a curve from one point to another with two control points: x and y of each. */
static void print_svg_curve(FILE *out, bool dashed, const pixels at[8])
{
    fprintf(out, "<path class=\"%s\"" ARROW "%s d=\"M%llu %llu", dashed ? "result" : "arrow",
            dashed ? " stroke-dasharray=\"5 4\"" : "", at[0], at[1]);
    for (unsigned i = 2; i < 8; i++) fprintf(out, "%c%llu", i == 2 ? 'C' : ' ', at[i]);
    fputs("\"/>\n", out);
}

/* Draws an arrow between operators of one stage: straight down, or in an arc on the left past other
 * operators. */
static void print_step_arrow(FILE *out, const struct box *box, uint32_t from, uint32_t to)
{
    const pixels x = box->x + PAD, y = step_top_y(box, from), end = step_top_y(box, to);
    if (from + 1 == to) {
        const pixels down = x + PAD, bottom = y + STEP;
        print_svg_curve(out, false, (pixels[]){down, bottom, down, bottom, down, end, down, end});
    } else {
        const pixels left = box->x, begin = y + STEP / 2, into = end + STEP / 2;
        print_svg_curve(out, false, (pixels[]){x, begin, left, begin, left, into, x, into});
    }
}

/* Draws an arrow from the last operator of a stage. */
static void print_stage_arrow(FILE *out, const struct drawing *d, const struct plan_edge *e)
{
    const struct box *a = &d->boxes[e->from], *b = &d->boxes[e->to];
    const pixels x = a->x + a->width - PAD, end = b->x + PAD, middle = (x + end) / 2,
                 y = step_top_y(a, d->graph->stages[e->from].step_count - 1) + STEP / 2,
                 into = step_top_y(b, e->step) + STEP / 2;
    print_svg_curve(out, e->result, (pixels[]){x, y, middle, y, middle, into, end, into});
}

static void print_stage_as_svg(FILE *out, const struct drawing *d, uint32_t at)
{
    const struct plan_stage *stage = &d->graph->stages[at];
    const struct box *box = &d->boxes[at];
    const pixels left = box->x + PAD;
    char text[512];
    print_svg_rectangle(out, "stage", "#f4f6f8", box->x, box->y, box->width, box->height);
    const char *line;
    for (uint32_t n = 0; (line = stage_heading_line(stage, n, text, sizeof text)) != NULL; n++)
        print_svg_text(out, left, box->y + PAD + LINE / 2 + n * LINE, n == 0 ? BOLD : "", line);
    for (uint32_t i = 0; i < stage->step_count; i++) {
        const pixels y = step_top_y(box, i);
        print_svg_rectangle(out, "step", "#fff", left, y, box->width - 2 * PAD, STEP);
        print_svg_text(out, left + CHAR, y + STEP / 2 + 4, "", stage->steps[i].text);
        for (uint32_t p = 0; p < 2; p++)
            if (stage->steps[i].parents[p] != PLAN_NONE)
                print_step_arrow(out, box, stage->steps[i].parents[p], i);
    }
}

static void print_svg_drawing(FILE *out, const struct drawing *d, const char *title)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%llu\" height=\"%llu\" "
            "font-family=\"monospace\" font-size=\"13\">\n",
            d->width, d->height);
    fputs("<marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
          "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"" LINES "\"/>"
          "</marker>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
          out);
    print_svg_text(out, PAD, PAD + LINE, BOLD, title);
    const struct plan_graph *graph = d->graph;
    for (uint32_t i = 0; i < graph->count; i++) print_stage_as_svg(out, d, i);
    for (uint32_t i = 0; i < graph->edge_count; i++) print_stage_arrow(out, d, &graph->edges[i]);
    fputs("</svg>\n", out);
}

bool plan_graph_print_svg(FILE *out, const struct plan_graph *graph, const char *title)
{
    assert(!graph->failed);
    struct drawing d = {.graph = graph,
                        .boxes = mem_zalloc(sizeof *d.boxes * ((uint64_t)graph->count + 1))};
    if (d.boxes == NULL) return false;
    place_stage_boxes(&d);
    print_svg_drawing(out, &d, title);
    mem_free(d.boxes);
    return true;
}

/* ---- plan graph */

/* Adds an edge from the stage with this number, if there is one, to the stage that comes next. */
static void add_plan_edge(struct plan_graph *graph, uint32_t number, uint32_t step, bool result)
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
            add_plan_edge(graph, stage->steps[i].reads[k], i, false);
    if (stage->after != PLAN_NONE) add_plan_edge(graph, stage->after, 0, true);
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

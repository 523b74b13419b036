/* Prints a plan as SVG. A stage is a box with its operators from top to bottom, in a column right
 * of all stages that it reads from, so all arrows between stages point right. */
#include "engine/base/text.h"
#include "engine/cli/plan_graph.h"
#include "engine/cli/print.h"

#include <assert.h>
#include <string.h>

/* In pixels. CHAR is the width of a character, slightly wider than in most fonts. */
enum { CHAR = 8, LINE = 18, STEP = 26, STEP_GAP = 16, PAD = 14, STAGE_GAP = 28, COLUMN_GAP = 70 };

/* Attributes instead of a style sheet, which would apply to all drawings of a page. */
#define LINES "#24506e"
#define BOLD  " class=\"title\" font-weight=\"bold\""
#define ARROW " fill=\"none\" stroke=\"" LINES "\" stroke-width=\"1.5\" marker-end=\"url(#head)\""

struct box {
    uint32_t column;
    uint64_t x, y, width, height, head; /* `head`: height of the lines above the operators */
};

struct drawing {
    const struct plan_graph *graph;
    struct box *boxes; /* parallel to graph->stages */
    uint64_t width, height;
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

static void title_of(const struct plan_stage *stage, char *out, size_t capacity)
{
    text_format(out, capacity, "stage %u %s", stage->number, stage->name);
}

static void size_of(const struct plan_stage *stage, char *out, size_t capacity)
{
    text_format(out, capacity, "%u task%s, input %s", stage->tasks, stage->tasks == 1 ? "" : "s",
                stage->input);
}

static void measure_stage(const struct drawing *d, uint32_t at)
{
    const struct plan_stage *stage = &d->graph->stages[at];
    struct box *box = &d->boxes[at];
    char text[512];
    title_of(stage, text, sizeof text);
    uint64_t longest = count_characters(text);
    size_of(stage, text, sizeof text);
    longest = max_u64(longest, count_characters(text));
    if (stage->action != NULL) longest = max_u64(longest, count_characters(stage->action));
    for (uint32_t i = 0; i < stage->step_count; i++)
        longest = max_u64(longest, count_characters(stage->steps[i].text) + 2);
    box->width = longest * CHAR + 2 * PAD;
    box->head = PAD + (stage->action != NULL ? 3 : 2) * LINE;
    box->height = box->head + stage->step_count * (STEP + STEP_GAP) - STEP_GAP + 2 * PAD;
}

static uint32_t column_after(const struct drawing *d, uint32_t at, uint32_t number, uint32_t column)
{
    const uint32_t from = number == PLAN_NONE ? at : plan_graph_find(d->graph, number);
    if (from >= at || d->boxes[from].column < column) return column; /* input stages are earlier */
    return d->boxes[from].column + 1;
}

static void layout_stages(struct drawing *d)
{
    const struct plan_graph *graph = d->graph;
    uint32_t columns = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct plan_stage *stage = &graph->stages[i];
        uint32_t column = column_after(d, i, stage->after, 0);
        for (uint32_t j = 0; j < stage->step_count; j++)
            for (uint32_t k = 0; k < stage->steps[j].read_count; k++)
                column = column_after(d, i, stage->steps[j].reads[k], column);
        measure_stage(d, i);
        d->boxes[i].column = column;
        if (column >= columns) columns = column + 1;
    }
    uint64_t x = PAD;
    for (uint32_t column = 0; column < columns; column++) {
        uint64_t y = PAD + 2 * LINE, widest = 0;
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

static uint64_t step_y(const struct box *box, uint32_t step)
{
    return box->y + box->head + PAD + (uint64_t)step * (STEP + STEP_GAP);
}

static void print_line(FILE *out, uint64_t x, uint64_t y, const char *style, const char *text)
{
    fprintf(out, "<text x=\"%llu\" y=\"%llu\"%s>", (unsigned long long)x, (unsigned long long)y,
            style);
    print_text_for(out, PRINT_XML, text, NULL);
    fputs("</text>\n", out);
}

static void print_rectangle(FILE *out, const char *class, const char *fill, uint64_t x, uint64_t y,
                            uint64_t width, uint64_t height)
{
    fprintf(out, "<rect class=\"%s\" fill=\"%s\" stroke=\"#5a6872\" rx=\"4\" ", class, fill);
    fprintf(out, "x=\"%llu\" y=\"%llu\" width=\"%llu\" height=\"%llu\"/>\n", (unsigned long long)x,
            (unsigned long long)y, (unsigned long long)width, (unsigned long long)height);
}

/* Draws a curve from one point to another with two control points: x and y of each. */
static void print_curve(FILE *out, bool dashed, const uint64_t at[8])
{
    fprintf(out, "<path class=\"%s\"" ARROW "%s d=\"M%llu %llu", dashed ? "result" : "arrow",
            dashed ? " stroke-dasharray=\"5 4\"" : "", (unsigned long long)at[0],
            (unsigned long long)at[1]);
    for (unsigned i = 2; i < 8; i++)
        fprintf(out, "%c%llu", i == 2 ? 'C' : ' ', (unsigned long long)at[i]);
    fputs("\"/>\n", out);
}

/* Draws an arrow between operators of one stage: straight down, or in an arc on the left past other
 * operators. */
static void print_step_arrow(FILE *out, const struct box *box, uint32_t from, uint32_t to)
{
    const uint64_t x = box->x + PAD, y = step_y(box, from), end = step_y(box, to);
    if (from + 1 == to) {
        const uint64_t down = x + PAD, bottom = y + STEP;
        print_curve(out, false, (uint64_t[]){down, bottom, down, bottom, down, end, down, end});
    } else {
        const uint64_t left = box->x, begin = y + STEP / 2, into = end + STEP / 2;
        print_curve(out, false, (uint64_t[]){x, begin, left, begin, left, into, x, into});
    }
}

/* Draws an arrow from the last operator of stage `number`; nothing if there is no such stage. */
static void print_stage_arrow(FILE *out, const struct drawing *d, uint32_t number, uint32_t to,
                              uint32_t step, bool dashed)
{
    const uint32_t at = plan_graph_find(d->graph, number);
    if (at == d->graph->count) return;
    const struct box *a = &d->boxes[at], *b = &d->boxes[to];
    const uint64_t x = a->x + a->width - PAD, end = b->x + PAD, middle = (x + end) / 2,
                   y = step_y(a, d->graph->stages[at].step_count - 1) + STEP / 2,
                   into = step_y(b, step) + STEP / 2;
    print_curve(out, dashed, (uint64_t[]){x, y, middle, y, middle, into, end, into});
}

static void print_stage(FILE *out, const struct drawing *d, uint32_t at)
{
    const struct plan_stage *stage = &d->graph->stages[at];
    const struct box *box = &d->boxes[at];
    const uint64_t left = box->x + PAD;
    char text[512];
    print_rectangle(out, "stage", "#f4f6f8", box->x, box->y, box->width, box->height);
    title_of(stage, text, sizeof text);
    print_line(out, left, box->y + PAD + LINE / 2, BOLD, text);
    size_of(stage, text, sizeof text);
    print_line(out, left, box->y + PAD + LINE / 2 + LINE, "", text);
    if (stage->action != NULL)
        print_line(out, left, box->y + PAD + LINE / 2 + 2 * LINE, "", stage->action);
    for (uint32_t i = 0; i < stage->step_count; i++) {
        const uint64_t y = step_y(box, i);
        print_rectangle(out, "step", "#fff", left, y, box->width - 2 * PAD, STEP);
        print_line(out, left + CHAR, y + STEP / 2 + 4, "", stage->steps[i].text);
        for (uint32_t p = 0; p < 2; p++)
            if (stage->steps[i].parents[p] != PLAN_NONE)
                print_step_arrow(out, box, stage->steps[i].parents[p], i);
    }
}

static void print_drawing(FILE *out, const struct drawing *d, const char *title)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%llu\" height=\"%llu\" "
            "font-family=\"monospace\" font-size=\"13\">\n",
            (unsigned long long)d->width, (unsigned long long)d->height);
    fputs("<marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
          "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"" LINES "\"/>"
          "</marker>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
          out);
    print_line(out, PAD, PAD + LINE, BOLD, title);
    const struct plan_graph *graph = d->graph;
    for (uint32_t i = 0; i < graph->count; i++) print_stage(out, d, i);
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct plan_stage *stage = &graph->stages[i];
        for (uint32_t j = 0; j < stage->step_count; j++)
            for (uint32_t k = 0; k < stage->steps[j].read_count; k++)
                print_stage_arrow(out, d, stage->steps[j].reads[k], i, j, false);
        if (stage->after != PLAN_NONE) print_stage_arrow(out, d, stage->after, i, 0, true);
    }
    fputs("</svg>\n", out);
}

bool plan_graph_print_svg(FILE *out, const struct plan_graph *graph, const char *title)
{
    assert(!graph->failed);
    struct drawing d = {.graph = graph,
                        .boxes = mem_zalloc(sizeof *d.boxes * ((uint64_t)graph->count + 1))};
    if (d.boxes == NULL) return false;
    layout_stages(&d);
    print_drawing(out, &d, title);
    mem_free(d.boxes);
    return true;
}

/* From an action to its stages: which shuffles are missing, in which order they can be made, and
 * what the plan looks like to a person. */
#include "engine/base/text.h"
#include "engine/driver/internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wides {
    struct glint_rdd **items;
    uint32_t count, capacity;
    bool all;
};

static int add_wide(void *arg, struct glint_rdd *wide)
{
    struct wides *w = arg;
    if (wide->shuffled && !w->all) return 0;
    for (uint32_t i = 0; i < w->count; i++)
        if (w->items[i] == wide) return 0;
    if (w->count == w->capacity) {
        uint32_t capacity = w->capacity ? w->capacity * 2 : 8;
        struct glint_rdd **items =
            mem_grow(w->items, sizeof *items * w->count, sizeof *items * capacity);
        if (items == NULL) return error_no_memory(&wide->g->error);
        w->items = items;
        w->capacity = capacity;
    }
    w->items[w->count++] = wide;
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const struct glint_rdd *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

int plan_shuffles(struct glint_rdd *rdd, bool all, struct glint_rdd ***out, uint32_t *out_count)
{
    struct wides w = {NULL, 0, 0, all};
    int r = stage_shuffles(rdd, add_wide, &w);
    for (uint32_t i = 0; i < w.count && r == 0; i++)
        r = stage_shuffles(w.items[i]->parents[0], add_wide, &w);
    /* Ids ascend from parents to children. */
    if (w.count > 0) qsort(w.items, w.count, sizeof *w.items, by_id);
    for (uint32_t i = 0; i < w.count; i++) assert(w.items[i]->op->kind == OP_WIDE);
    *out = w.items;
    *out_count = w.count;
    return r;
}

uint32_t plan_stage_number(struct driver *d, struct glint_rdd *wide)
{
    if (wide == NULL) return d->stages_numbered++;
    if (wide->stage == 0) wide->stage = ++d->stages_numbered;
    return wide->stage - 1;
}

void plan_stage_name(const struct stage_plan *s, char *out, size_t capacity)
{
    const struct op *first = s->nodes[0].op, *last = s->nodes[s->node_count - 1].op;
    text_format(out, capacity, "%s..%s", first->name, last->name);
}

void plan_stage_functions(const struct stage_plan *s, char *out, size_t capacity)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < s->node_count; i++) {
        if (s->nodes[i].fn == NULL) continue;
        if (!text_format(out + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                         s->nodes[i].fn->name))
            break;
        used += strlen(out + used);
    }
    out[used] = '\0';
}

/* A source whose files begin with a line that is no row. */
static bool has_header(const struct glint *g, uint32_t id)
{
    const struct glint_rdd *rdd = g->rdds;
    while (rdd != NULL && rdd->id != id) rdd = rdd->next;
    return rdd != NULL && rdd->header;
}

static void explain_stage(struct glint *g, const struct stage_plan *s, uint32_t number,
                          uint32_t tasks, struct glint_rdd *top)
{
    char bytes[TEXT_NUMBER_MAX];
    text_bytes(bytes, top->input_bytes);
    glint_note(g, "stage %u: %u task%s, input %s", number, tasks, tasks == 1 ? "" : "s", bytes);
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct stage_node *n = &s->nodes[i];
        bool root = i + 1 == s->node_count;
        char line[256];
        size_t used = 0;
        bool reads = n->op->kind == OP_WIDE && !root;
        used += (size_t)snprintf(line, sizeof line, "  %s%s", n->op->name,
                                 reads                    ? " (read)"
                                 : n->op->kind == OP_WIDE ? " (write)"
                                                          : "");
        if (has_header(g, n->rdd))
            used += (size_t)snprintf(line + used, sizeof line - used, " (without headers)");
        if (n->fn != NULL && used < sizeof line)
            used += (size_t)snprintf(line + used, sizeof line - used, " %s", n->fn->name);
        if (n->op->kind == OP_WIDE && root && used < sizeof line)
            used += (size_t)snprintf(line + used, sizeof line - used, " into %u partition%s",
                                     n->partitions, n->partitions == 1 ? "" : "s");
        glint_note(g, "%s", line);
    }
}

static int explain_one(struct driver *d, const struct action *action, struct glint_rdd *wide)
{
    uint32_t number = plan_stage_number(d, wide);
    struct glint_rdd *top = wide != NULL ? wide->parents[0] : action->rdd;
    struct stage_plan s;
    int r = stage_from_plan(&s, wide != NULL ? NULL : action, wide, NULL);
    if (r == 0) explain_stage(top->g, &s, number, top->partitions, top);
    stage_fini(&s);
    return r;
}

int plan_explain(struct driver *d, const struct action *action)
{
    struct glint_rdd **wides;
    uint32_t count;
    int r = plan_shuffles(action->rdd, false, &wides, &count);
    glint_note(action->rdd->g, "%s %s", action->op->name, action->output);
    for (uint32_t i = 0; i < count && r == 0; i++) r = explain_one(d, action, wides[i]);
    if (r == 0) r = explain_one(d, action, NULL);
    mem_free(wides);
    return r;
}

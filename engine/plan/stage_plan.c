/* Cuts a stage out of a plan, by walking up to the next shuffles with an explicit stack. */
#include "engine/plan/stage_plan.h"

#include "engine/data/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* RDDs found by a walk, each once, in order of discovery. */
struct stage_walk {
    struct glint_rdd **items;
    uint32_t count;
    uint64_t capacity;
    uint64_t number; /* from 1; RDDs that it has found have it */
};

static bool walk_add(struct stage_walk *w, struct glint_rdd *rdd)
{
    if (w->number == 0) w->number = ++rdd->g->walks;
    if (rdd->walk == w->number) return true;
    rdd->walk = w->number;
    if (!array_reserve(&w->items, &w->capacity, w->count + 1, sizeof *w->items)) return false;
    w->items[w->count++] = rdd;
    return true;
}

/* Collects all RDDs of one stage from `top` upwards, without crossing wide RDDs, except `top`. */
static bool walk_stage(struct stage_walk *w, struct glint_rdd *top)
{
    if (!walk_add(w, top)) return false;
    for (uint32_t i = 0; i < w->count; i++) {
        struct glint_rdd *rdd = w->items[i];
        if (rdd_is_shuffle(rdd) && rdd != top) continue;
        for (uint32_t p = 0; p < rdd->parent_count; p++)
            if (!walk_add(w, rdd->parents[p])) return false;
    }
    return true;
}

int rdd_visit_shuffle_inputs(struct glint_rdd *rdd,
                             int (*visit)(void *arg, struct glint_rdd *shuffle_rdd), void *arg)
{
    struct stage_walk w = {NULL, 0, 0, 0};
    struct glint_error *error = &rdd->g->error;
    int r = 0;
    if (rdd_is_shuffle(rdd)) return visit(arg, rdd);
    if (!walk_stage(&w, rdd)) r = error_no_memory(error);
    for (uint32_t i = 0; i < w.count && r == 0; i++)
        if (rdd_is_shuffle(w.items[i])) r = visit(arg, w.items[i]);
    mem_free(w.items);
    return r;
}

static void fill_node(struct stage_node *n, const struct glint_rdd *rdd)
{
    *n = (struct stage_node){.rdd = rdd->id,
                             .op = rdd->op,
                             .name = rdd->name,
                             .fn = rdd->fn,
                             .args = rdd->args,
                             .params = rdd->params,
                             .schema = rdd->schema,
                             .grouped = rdd->grouped,
                             .narrow = rdd->narrow,
                             .persist = rdd->persist,
                             .parents = {STAGE_NO_PARENT, STAGE_NO_PARENT},
                             .partitions = rdd->partitions,
                             .dependency = rdd->dependency};
}

static int by_id(const void *a, const void *b)
{
    const struct glint_rdd *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* The node of an RDD in a walk that is sorted by id. */
static uint32_t node_index(const struct stage_walk *w, struct glint_rdd *rdd)
{
    struct glint_rdd **found = bsearch(&rdd, w->items, w->count, sizeof *w->items, by_id);
    assert(found != NULL);
    return (uint32_t)(found - w->items);
}

int rdd_prepare_stage(struct glint_rdd *rdd)
{
    struct stage_walk w = {NULL, 0, 0, 0};
    int r = walk_stage(&w, rdd) ? 0 : error_no_memory(&rdd->g->error);
    if (r == 0) qsort(w.items, w.count, sizeof *w.items, by_id); /* parents have smaller ids */
    for (uint32_t i = 0; i < w.count && r == 0; i++) {
        int (*prepare)(struct glint_rdd *) = w.items[i]->prepare;
        if (prepare == NULL || (rdd_is_shuffle(w.items[i]) && w.items[i] != rdd)) continue;
        /* Reset first: prepare may run an action, which prepares its stage and would call it
         * again. */
        w.items[i]->prepare = NULL;
        rdd->g->skipped.by = NULL;
        r = prepare(w.items[i]);
        if (r != 0) w.items[i]->prepare = prepare; /* for an action after glint_clear_error */
        w.items[i]->prepared = rdd->g->skipped;
    }
    mem_free(w.items);
    return r;
}

int stage_plan_create(struct stage_plan *s, const struct action *action,
                      struct glint_rdd *shuffle_rdd)
{
    memset(s, 0, sizeof *s);
    struct glint_rdd *top = action != NULL ? action->rdd : shuffle_rdd;
    assert((action == NULL) != (shuffle_rdd == NULL) &&
           (shuffle_rdd == NULL || rdd_is_shuffle(shuffle_rdd)));
    struct stage_walk w = {NULL, 0, 0, 0};
    /* An action directly on a shuffle: the stage only reads it, its map side is another stage. */
    bool source_only = rdd_is_shuffle(top) && action != NULL;
    bool walked = source_only ? walk_add(&w, top) : walk_stage(&w, top);
    if (walked) s->nodes = arena_alloc(&s->memory, sizeof *s->nodes * (w.count + 1));
    if (s->nodes == NULL) {
        mem_free(w.items);
        return error_no_memory(&top->g->error);
    }
    qsort(w.items, w.count, sizeof *w.items, by_id); /* parents have smaller ids */
    for (uint32_t i = 0; i < w.count; i++) {
        const struct glint_rdd *rdd = w.items[i];
        struct stage_node *n = &s->nodes[s->node_count++];
        fill_node(n, rdd);
        if (rdd_is_shuffle(rdd) && (rdd != top || source_only)) continue;
        for (uint32_t p = 0; p < rdd->parent_count; p++)
            n->parents[p] = node_index(&w, rdd->parents[p]);
    }
    mem_free(w.items);
    if (action != NULL) {
        s->nodes[s->node_count] =
            (struct stage_node){.op = action->op,
                                .fn = action->fn,
                                .args = action->args,
                                .params = action->params,
                                .schema = {GLINT_NONE, GLINT_NONE},
                                .partitions = top->partitions,
                                .parents = {s->node_count - 1, STAGE_NO_PARENT}};
        s->node_count++;
    }
    return 0;
}

int stage_plan_add_output(struct stage_plan *s, const char *path, struct glint_error *error)
{
    assert(s->output_count < ACTION_OUTPUTS_MAX);
    if (strlen(path) >= OUTPUT_PATH_BYTES_MAX)
        return error_set(error, GLINT_E_OUTPUT_CREATE, "use a shorter path",
                         "the output path is too long: %s", path);
    char *copy = arena_strdup(&s->memory, path);
    if (copy == NULL) return error_no_memory(error);
    s->outputs[s->output_count++] = copy;
    return 0;
}

void stage_plan_fini(struct stage_plan *s)
{
    arena_fini(&s->memory);
    s->nodes = NULL;
}

uint32_t stage_plan_task_count(const struct stage_plan *s)
{
    assert(s->node_count > 0);
    const struct stage_node *root = &s->nodes[s->node_count - 1];
    return stage_node_is_shuffle(root) ? s->nodes[root->parents[0]].partitions : root->partitions;
}

/* ---- Splits of a partition, in the same order in which the executor's pipeline reads them */

struct partition_visit {
    struct glint_rdd *rdd;
    uint32_t first, end; /* partitions of rdd still to visit */
};

struct visit_stack {
    struct partition_visit *items;
    uint64_t count, capacity;
};

static bool push_visit(struct visit_stack *s, struct glint_rdd *rdd, uint32_t first, uint32_t end)
{
    if (!array_reserve(&s->items, &s->capacity, s->count + 1, sizeof *s->items)) return false;
    s->items[s->count++] = (struct partition_visit){rdd, first, end};
    return true;
}

static bool visit_next_partition(struct visit_stack *s, struct packer *p, uint64_t *count)
{
    struct partition_visit *top = &s->items[s->count - 1];
    if (top->first == top->end) {
        s->count--;
        return true;
    }
    struct glint_rdd *rdd = top->rdd;
    uint32_t partition = top->first++;
    switch (rdd->op->kind) {
    case OP_SOURCE:
        pack_bytes(p, rdd->splits[partition]);
        ++*count;
        return true;
    case OP_WIDE:
        return !rdd->narrow || push_visit(s, rdd->parents[0], partition, partition + 1);
    case OP_UNION: {
        if (rdd->narrow) /* the left one is read first */
            return push_visit(s, rdd->parents[1], partition, partition + 1) &&
                   push_visit(s, rdd->parents[0], partition, partition + 1);
        uint32_t left = rdd->parents[0]->partitions;
        struct glint_rdd *parent = rdd->parents[partition < left ? 0 : 1];
        uint32_t at = partition < left ? partition : partition - left;
        return push_visit(s, parent, at, at + 1);
    }
    case OP_COALESCE: {
        uint32_t first, end;
        rdd_coalesce_range(rdd->parents[0]->partitions, rdd->partitions, partition, &first, &end);
        return push_visit(s, rdd->parents[0], first, end);
    }
    case OP_ZIP: /* the right one is read first, so it is on top */
        return push_visit(s, rdd->parents[0], partition, partition + 1) &&
               push_visit(s, rdd->parents[1], partition, partition + 1);
    case OP_CARTESIAN: {
        const uint32_t n = rdd->parents[1]->partitions;
        return push_visit(s, rdd->parents[0], partition / n, partition / n + 1) &&
               push_visit(s, rdd->parents[1], partition % n, partition % n + 1);
    }
    default: return push_visit(s, rdd->parents[0], partition, partition + 1);
    }
}

int rdd_encode_partition_splits(struct glint *g, struct glint_rdd *rdd, uint32_t partition,
                                struct buffer *out)
{
    assert(partition < rdd->partitions);
    struct visit_stack s = {NULL, 0, 0};
    struct packer body = {.failed = false}, whole = {.failed = false};
    uint64_t count = 0;
    bool ok = push_visit(&s, rdd, partition, partition + 1);
    while (ok && s.count > 0) ok = visit_next_partition(&s, &body, &count);
    pack_array(&whole, count);
    if (!ok || body.failed || !buffer_append(&whole.out, body.out.data, body.out.size))
        whole.failed = true;
    packer_fini(&body);
    mem_free(s.items);
    return packer_finish(&whole, out, &g->error);
}

/* Cutting a stage out of a plan: a walk over narrow parents with an explicit stack. */
#include "engine/plan/stage.h"

#include "engine/data/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* RDDs met by a walk, each once, children before parents. */
struct walk {
    struct glint_rdd **items;
    uint32_t count, capacity;
};

static bool walk_add(struct walk *w, struct glint_rdd *rdd)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (w->items[i] == rdd) return true;
    if (w->count == w->capacity) {
        uint32_t capacity = w->capacity ? w->capacity * 2 : 16;
        struct glint_rdd **items =
            mem_grow(w->items, sizeof *items * w->count, sizeof *items * capacity);
        if (items == NULL) return false;
        w->items = items;
        w->capacity = capacity;
    }
    w->items[w->count++] = rdd;
    return true;
}

/* All RDDs of one stage from `top` upwards, without crossing wide nodes; `top` itself is crossed. */
static bool walk_stage(struct walk *w, struct glint_rdd *top)
{
    if (!walk_add(w, top)) return false;
    for (uint32_t i = 0; i < w->count; i++) {
        struct glint_rdd *rdd = w->items[i];
        if (rdd->op->kind == OP_WIDE && rdd != top) continue;
        for (uint32_t p = 0; p < rdd->parent_count; p++)
            if (!walk_add(w, rdd->parents[p])) return false;
    }
    return true;
}

int stage_shuffles(struct glint_rdd *rdd, int (*visit)(void *arg, struct glint_rdd *wide), void *arg)
{
    struct walk w = {NULL, 0, 0};
    struct glint_error *error = &rdd->g->error;
    int r = 0;
    if (rdd->op->kind == OP_WIDE) return visit(arg, rdd);
    if (!walk_stage(&w, rdd)) r = error_no_memory(error);
    for (uint32_t i = 0; i < w.count && r == 0; i++)
        if (w.items[i]->op->kind == OP_WIDE) r = visit(arg, w.items[i]);
    mem_free(w.items);
    return r;
}

static void node_fill(struct stage_node *n, const struct glint_rdd *rdd)
{
    *n = (struct stage_node){.rdd = rdd->id, .op = rdd->op, .fn = rdd->fn, .args = rdd->args,
                             .params = rdd->params, .shape = rdd->shape, .grouped = rdd->grouped,
                             .parents = {STAGE_NO_PARENT, STAGE_NO_PARENT},
                             .partitions = rdd->partitions, .wide = rdd->wide};
}

static int by_id(const void *a, const void *b)
{
    const struct glint_rdd *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

int stage_from_plan(struct stage_plan *s, const struct action *action, struct glint_rdd *wide,
                    const char *output)
{
    memset(s, 0, sizeof *s);
    struct glint_rdd *top = action != NULL ? action->rdd : wide;
    struct walk w = {NULL, 0, 0};
    bool source_only = top->op->kind == OP_WIDE && action != NULL;
    if (source_only ? !walk_add(&w, top) : !walk_stage(&w, top))
        return error_no_memory(&top->g->error);
    qsort(w.items, w.count, sizeof *w.items, by_id); /* ids ascend from parents to children */
    s->nodes = arena_alloc(&s->memory, sizeof *s->nodes * (w.count + 1));
    if (s->nodes == NULL) {
        mem_free(w.items);
        return error_no_memory(&top->g->error);
    }
    for (uint32_t i = 0; i < w.count; i++) {
        const struct glint_rdd *rdd = w.items[i];
        struct stage_node *n = &s->nodes[s->node_count++];
        node_fill(n, rdd);
        if (rdd->op->kind == OP_WIDE && (rdd != top || source_only)) continue;
        for (uint32_t p = 0; p < rdd->parent_count; p++)
            for (uint32_t j = 0; j < i; j++)
                if (w.items[j] == rdd->parents[p]) n->parents[p] = j;
    }
    mem_free(w.items);
    if (action != NULL) {
        s->nodes[s->node_count] = (struct stage_node){
            .op = action->op, .fn = action->fn, .args = action->args, .params = action->params,
            .shape = {GLINT_NONE, GLINT_NONE}, .partitions = top->partitions,
            .parents = {s->node_count - 1, STAGE_NO_PARENT}};
        s->node_count++;
    }
    if (output != NULL && strlen(output) >= sizeof s->output)
        return error_set(&top->g->error, GLINT_E_OUTPUT_CREATE, "use a shorter path",
                         "the output's path is too long: %s", output);
    if (output != NULL) memcpy(s->output, output, strlen(output) + 1);
    return 0;
}

void stage_fini(struct stage_plan *s)
{
    arena_fini(&s->memory);
    s->nodes = NULL;
}

/* ---- Wire form: [output, [node ...]], a node is an array of the fields below, in order. */

static void wide_pack(struct packer *p, const struct wide *w)
{
    pack_array(p, 5);
    pack_u64(p, w->partitioner);
    pack_u64(p, w->combine);
    pack_u64(p, w->descending);
    pack_bytes(p, w->zero);
    pack_array(p, w->bound_count);
    for (uint32_t i = 0; i < w->bound_count; i++) pack_bytes(p, w->bounds[i]);
}

static void node_pack(struct packer *p, const struct stage_node *n)
{
    pack_array(p, 12);
    pack_u64(p, n->rdd);
    pack_text(p, n->op->name);
    pack_text(p, n->fn != NULL ? n->fn->name : NULL);
    pack_bytes(p, n->args);
    pack_bytes(p, n->params);
    pack_u64(p, n->shape.key);
    pack_u64(p, n->shape.value);
    pack_u64(p, n->grouped);
    pack_u64(p, n->parents[0]);
    pack_u64(p, n->parents[1]);
    pack_u64(p, n->partitions);
    wide_pack(p, &n->wide);
}

int stage_encode(const struct stage_plan *s, struct buffer *out, struct glint_error *error)
{
    struct packer p;
    packer_init(&p);
    pack_array(&p, 2);
    pack_text(&p, s->output);
    pack_array(&p, s->node_count);
    for (uint32_t i = 0; i < s->node_count; i++) node_pack(&p, &s->nodes[i]);
    if (p.failed) {
        packer_fini(&p);
        return error_no_memory(error);
    }
    *out = p.out;
    return 0;
}

static bool wide_unpack(struct unpacker *u, struct wide *w, struct arena *memory)
{
    w->partitioner = unpack_u64(u, PARTITION_SPREAD);
    w->combine = unpack_u64(u, COMBINE_CREATE);
    w->descending = unpack_u64(u, 1) != 0;
    w->zero = unpack_bytes(u);
    struct unpacker bounds = unpack_array(u);
    if (u->failed || bounds.count >= PARTITIONS_MAX) return false;
    struct glint_slice *b = arena_alloc(memory, sizeof *b * (bounds.count + 1));
    if (b == NULL) return false;
    for (uint64_t i = 0; i < bounds.count; i++) b[i] = unpack_bytes(&bounds);
    w->bounds = b;
    w->bound_count = (uint32_t)bounds.count;
    return unpack_done(&bounds) && unpack_done(u);
}

static uint32_t parent_unpack(struct unpacker *u, uint32_t self)
{
    uint64_t parent = unpack_u64(u, UINT32_MAX);
    if (parent != STAGE_NO_PARENT && parent >= self) u->failed = true; /* parents stand first */
    return (uint32_t)parent;
}

static int node_unpack(struct unpacker *u, struct stage_node *n, uint32_t self, struct arena *memory,
                       const struct glint_config *registry, struct glint_error *error)
{
    char op[NAME_BYTES_MAX], fn[NAME_BYTES_MAX];
    n->rdd = (uint32_t)unpack_u64(u, UINT32_MAX);
    unpack_text(u, op, sizeof op);
    unpack_text(u, fn, sizeof fn);
    n->args = unpack_bytes(u);
    n->params = unpack_bytes(u);
    n->shape.key = unpack_u64(u, GLINT_MSGPACK);
    n->shape.value = unpack_u64(u, GLINT_MSGPACK);
    n->grouped = unpack_u64(u, 1) != 0;
    n->parents[0] = parent_unpack(u, self);
    n->parents[1] = parent_unpack(u, self);
    n->partitions = (uint32_t)unpack_u64(u, PARTITIONS_MAX);
    struct unpacker wide = unpack_array(u);
    if (u->failed || !wide_unpack(&wide, &n->wide, memory) || !unpack_done(u) ||
        n->shape.key < GLINT_NONE || n->shape.value < GLINT_NONE)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a stage's node %u does not parse", self);
    n->op = registry_op(registry, op);
    n->fn = fn[0] != '\0' ? registry_function(registry, fn) : NULL;
    if (n->op == NULL || (fn[0] != '\0' && n->fn == NULL))
        return error_set(error, GLINT_E_PLAN_FUNCTION, "driver and executors must be one build",
                         "this executor has no %s %s", n->op == NULL ? "operator" : "function",
                         n->op == NULL ? op : fn);
    return 0;
}

int stage_decode(struct stage_plan *s, struct glint_slice bytes, const struct glint_config *registry,
                 struct glint_error *error)
{
    memset(s, 0, sizeof *s);
    struct unpacker u;
    int r = 0;
    struct unpacker nodes = {.failed = true};
    if (unpacker_init(&u, bytes)) {
        unpack_text(&u, s->output, sizeof s->output);
        nodes = unpack_array(&u);
    }
    if (!unpack_done(&u) || nodes.count < 1 || nodes.count > PLAN_NODES_MAX + 1)
        r = error_set(error, GLINT_E_PROTOCOL, NULL, "a stage does not parse");
    if (r == 0) {
        s->nodes = arena_alloc(&s->memory, sizeof *s->nodes * nodes.count);
        if (s->nodes == NULL) r = error_no_memory(error);
    }
    for (; r == 0 && s->node_count < nodes.count; s->node_count++) {
        struct unpacker fields = unpack_array(&nodes);
        memset(&s->nodes[s->node_count], 0, sizeof *s->nodes);
        r = node_unpack(&fields, &s->nodes[s->node_count], s->node_count, &s->memory, registry, error);
    }
    unpacker_fini(&u);
    if (r != 0) stage_fini(s);
    return r;
}

/* ---- Splits of a partition: the same walk that the executor's pipeline takes. */

struct leg {
    struct glint_rdd *rdd;
    uint32_t first, end; /* partitions of rdd still to visit */
};

struct leg_stack {
    struct leg *items;
    uint32_t count, capacity;
};

static bool leg_push(struct leg_stack *s, struct glint_rdd *rdd, uint32_t first, uint32_t end)
{
    if (s->count == s->capacity) {
        uint32_t capacity = s->capacity ? s->capacity * 2 : 32;
        struct leg *items = mem_grow(s->items, sizeof *items * s->count, sizeof *items * capacity);
        if (items == NULL) return false;
        s->items = items;
        s->capacity = capacity;
    }
    s->items[s->count++] = (struct leg){rdd, first, end};
    return true;
}

static bool leg_step(struct leg_stack *s, struct packer *p, uint64_t *count)
{
    struct leg *top = &s->items[s->count - 1];
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
    case OP_WIDE: return true;
    case OP_UNION: {
        uint32_t left = rdd->parents[0]->partitions;
        struct glint_rdd *parent = rdd->parents[partition < left ? 0 : 1];
        uint32_t at = partition < left ? partition : partition - left;
        return leg_push(s, parent, at, at + 1);
    }
    case OP_COALESCE: {
        uint32_t first, end;
        rdd_coalesce_range(rdd->parents[0]->partitions, rdd->partitions, partition, &first, &end);
        return leg_push(s, rdd->parents[0], first, end);
    }
    default: return leg_push(s, rdd->parents[0], partition, partition + 1);
    }
}

int stage_splits(struct glint *g, struct glint_rdd *rdd, uint32_t partition, struct buffer *out)
{
    assert(partition < rdd->partitions);
    struct leg_stack s = {NULL, 0, 0};
    struct packer body, whole;
    uint64_t count = 0;
    packer_init(&body);
    packer_init(&whole);
    bool ok = leg_push(&s, rdd, partition, partition + 1);
    while (ok && s.count > 0) ok = leg_step(&s, &body, &count);
    pack_array(&whole, count);
    if (body.out.size > 0 && !buffer_append(&whole.out, body.out.data, body.out.size)) ok = false;
    packer_fini(&body);
    mem_free(s.items);
    if (!ok || body.failed || whole.failed) {
        packer_fini(&whole);
        return error_no_memory(&g->error);
    }
    *out = whole.out;
    return 0;
}

/* Cuts a stage out of a plan, by walking up to the next shuffles with an explicit stack. */
#include "engine/plan/stage_plan.h"

#include "engine/input/input.h"
#include "engine/records/pack.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- plan steps */

const struct glint_rdd *plan_find_rdd(const struct glint *g, uint32_t id)
{
    const struct glint_rdd *rdd = g->rdds;
    while (rdd != NULL && rdd->id != id) rdd = rdd->next;
    return rdd;
}

void plan_line_add(struct plan_line *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(l->text + l->used, sizeof l->text - l->used, format, args);
    va_end(args);
    if (n > 0) l->used += (size_t)n;
    if (l->used >= sizeof l->text) l->used = sizeof l->text - 1;
}

void plan_line_add_skipped(struct plan_line *l, const char *what, const struct skipped_action *u)
{
    plan_line_add(l, "%s the result of %s (stage %u)", what, u->by->name, u->stage);
}

/* The shuffle's number of partitions is computed from an input of unknown size. */
static bool is_partition_count_estimated(const struct glint_rdd *shuffle)
{
    return shuffle->unsized && shuffle->partitions_inherited == 0 &&
           shuffle->g->config.partitions == 0 && shuffle->partitioner_of == NULL;
}

/* A source that reads outputs of earlier actions, which explain did not run: their paths, and the
 * stages that would save them. */
static void plan_line_add_unwritten_inputs(struct plan_line *l, const struct input_list *inputs)
{
    for (uint32_t i = 0; i < inputs->unwritten_count; i++)
        plan_line_add(l, "%s %s from stage %u", i > 0 ? "," : "", inputs->unwritten[i]->path,
                      inputs->unwritten[i]->stage);
    plan_line_add(l, " (task count estimated: not saved yet)");
}

void plan_step_format(const struct glint *g, const struct stage_node *n, bool root,
                      struct plan_line *l)
{
    const struct glint_rdd *rdd = plan_find_rdd(g, n->rdd); /* NULL: an action's node */
    const bool shuffle = stage_node_is_shuffle(n);
    assert(l->used == 0 && (!shuffle || rdd != NULL));
    plan_line_add(l, "%s", n->op->name);
    if (n->name != NULL) plan_line_add(l, " \"%s\"", n->name);
    if (shuffle) plan_line_add(l, " (%s)", root ? "write" : "read");
    if (n->op->kind == OP_WIDE && n->narrow) plan_line_add(l, " (no shuffle)");
    if (rdd != NULL && rdd->header) plan_line_add(l, " (without headers)");
    if (rdd != NULL && rdd->inputs != NULL && rdd->unsized)
        plan_line_add_unwritten_inputs(l, rdd->inputs);
    if (rdd != NULL && rdd->estimated)
        plan_line_add(l, " (task count estimated: lines are not counted)");
    if (n->persist != 0 && rdd != NULL)
        plan_line_add(l, " (persisted: %s)", persist_level_name(n->persist));
    if (n->fn != NULL) plan_line_add(l, " %s", n->fn->name);
    if (n->op->describe != NULL) {
        char text[NAME_BYTES_MAX];
        n->op->describe(n->params, text, sizeof text);
        plan_line_add(l, " %s", text);
    }
    if (shuffle && !root && rdd->stage > 0) plan_line_add(l, " from stage %u", rdd->stage - 1);
    if (shuffle && root)
        plan_line_add(l, " into %u partition%s%s", n->partitions, n->partitions == 1 ? "" : "s",
                      is_partition_count_estimated(rdd) ? " (estimated from the input)" : "");
    if (n->dependency.partition_fn != NULL && root)
        plan_line_add(l, " by %s", n->dependency.partition_fn->name);
    if (rdd != NULL && rdd->prepared.by != NULL && root == shuffle)
        plan_line_add_skipped(l, shuffle ? "; its bounds depend on" : "; depends on",
                              &rdd->prepared);
}

/* ---- stage plan */

static bool rdd_reads_blocks(struct glint_rdd *rdd)
{
    const struct glint *g = rdd->g;
    if (rdd->persist == 0 || rdd->op->kind == OP_SOURCE || rdd_is_shuffle(rdd)) return false;
    return g->runner != NULL && g->runner->reads_blocks != NULL &&
           g->runner->reads_blocks(g->driver, rdd);
}

/* RDDs found by a walk, each once, in order of discovery. */
struct stage_walk {
    struct glint_rdd **items;
    uint32_t count;
    uint64_t capacity;
    uint64_t number; /* from 1; RDDs that it has found have it */
};

static bool stage_walk_add(struct stage_walk *w, struct glint_rdd *rdd)
{
    if (w->number == 0) w->number = ++rdd->g->walks;
    if (rdd->walk == w->number) return true;
    rdd->walk = w->number;
    if (!array_reserve(&w->items, &w->capacity, w->count + 1, sizeof *w->items)) return false;
    w->items[w->count++] = rdd;
    return true;
}

/* Collects all RDDs of one stage from `top` upwards, without crossing wide RDDs, except `top`, nor
 * those whose blocks are read: a loop that caches each step has the plan of one step. */
static bool stage_walk_collect(struct stage_walk *w, struct glint_rdd *top)
{
    if (!stage_walk_add(w, top)) return false;
    for (uint32_t i = 0; i < w->count; i++) {
        struct glint_rdd *rdd = w->items[i];
        if ((rdd_is_shuffle(rdd) && rdd != top) || rdd_reads_blocks(rdd)) continue;
        for (uint32_t p = 0; p < rdd->parent_count; p++)
            if (!stage_walk_add(w, rdd->parents[p])) return false;
    }
    return true;
}

static int compare_rdds_by_id(const void *a, const void *b)
{
    const struct glint_rdd *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* The shuffles that a stage reads are needed also above RDDs whose blocks are read now: a block can
 * be lost. So that such a walk does not visit all ancestors either, each persisted RDD remembers
 * them: they do not change once partitions are counted. */
static bool stage_walk_collect_to_shuffles(struct stage_walk *w, struct glint_rdd *top)
{
    if (!stage_walk_add(w, top)) return false;
    for (uint32_t i = 0; i < w->count; i++) {
        struct glint_rdd *rdd = w->items[i];
        if (rdd_is_shuffle(rdd)) continue;
        const bool known = rdd->stage_inputs != NULL;
        struct glint_rdd **above = known ? rdd->stage_inputs : rdd->parents;
        const uint32_t count = known ? rdd->stage_input_count : rdd->parent_count;
        for (uint32_t p = 0; p < count; p++)
            if (!stage_walk_add(w, above[p])) return false;
    }
    return true;
}

/* Keeps only the shuffles of a walk. */
static void stage_walk_keep_shuffles(struct stage_walk *w)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->count; i++)
        if (rdd_is_shuffle(w->items[i])) w->items[kept++] = w->items[i];
    w->count = kept;
}

/* Those of an ancestor, if there are no others, are not copied. */
static bool remember_stage_inputs(struct glint_rdd *rdd)
{
    struct stage_walk w = {NULL, 0, 0, 0};
    const struct glint_rdd *known = NULL;
    bool ok = stage_walk_collect_to_shuffles(&w, rdd);
    for (uint32_t i = 0; i < w.count; i++)
        if (w.items[i]->stage_inputs != NULL) known = w.items[i];
    stage_walk_keep_shuffles(&w);
    if (ok && known != NULL && known->stage_input_count == w.count) {
        rdd->stage_inputs = known->stage_inputs;
    } else if (ok) {
        rdd->stage_inputs = rdd_alloc(rdd, sizeof(struct glint_rdd *) * w.count);
        ok = rdd->stage_inputs != NULL;
        for (uint32_t i = 0; ok && i < w.count; i++) rdd->stage_inputs[i] = w.items[i];
    }
    rdd->stage_input_count = ok ? w.count : 0;
    mem_free(w.items);
    return ok;
}

int rdd_visit_shuffle_inputs(struct glint_rdd *rdd,
                             int (*visit)(void *arg, struct glint_rdd *shuffle_rdd), void *arg)
{
    struct stage_walk w = {NULL, 0, 0, 0};
    struct glint_error *error = &rdd->g->error;
    int r = 0;
    if (rdd_is_shuffle(rdd)) return visit(arg, rdd);
    if (!stage_walk_collect_to_shuffles(&w, rdd)) r = error_no_memory(error);
    if (r == 0)
        qsort(w.items, w.count, sizeof *w.items, compare_rdds_by_id); /* parents have smaller ids */
    for (uint32_t i = 0; i < w.count && r == 0; i++) {
        struct glint_rdd *found = w.items[i];
        if (found->persist == 0 || rdd_is_shuffle(found) || found->stage_inputs != NULL) continue;
        if (!remember_stage_inputs(found)) r = error_no_memory(error);
    }
    stage_walk_keep_shuffles(&w);
    for (uint32_t i = 0; i < w.count && r == 0; i++) r = visit(arg, w.items[i]);
    mem_free(w.items);
    return r;
}

static void fill_stage_node(struct stage_node *n, const struct glint_rdd *rdd)
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

/* The node of an RDD in a walk that is sorted by id. */
static uint32_t stage_node_index(const struct stage_walk *w, struct glint_rdd *rdd)
{
    struct glint_rdd **found =
        bsearch(&rdd, w->items, w->count, sizeof *w->items, compare_rdds_by_id);
    assert(found != NULL);
    return (uint32_t)(found - w->items);
}

int rdd_prepare_all_in_stage(struct glint_rdd *rdd)
{
    struct stage_walk w = {NULL, 0, 0, 0};
    int r = stage_walk_collect(&w, rdd) ? 0 : error_no_memory(&rdd->g->error);
    if (r == 0)
        qsort(w.items, w.count, sizeof *w.items, compare_rdds_by_id); /* parents have smaller ids */
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
    bool walked = source_only ? stage_walk_add(&w, top) : stage_walk_collect(&w, top);
    if (walked) s->nodes = arena_alloc(&s->memory, sizeof *s->nodes * (w.count + 1));
    if (s->nodes == NULL) {
        mem_free(w.items);
        return error_no_memory(&top->g->error);
    }
    qsort(w.items, w.count, sizeof *w.items, compare_rdds_by_id); /* parents have smaller ids */
    for (uint32_t i = 0; i < w.count; i++) {
        const struct glint_rdd *rdd = w.items[i];
        struct stage_node *n = &s->nodes[s->node_count++];
        fill_stage_node(n, rdd);
        if (rdd_is_shuffle(rdd) && (rdd != top || source_only)) continue;
        if (rdd_reads_blocks(w.items[i])) {
            s->reads_blocks = true;
            continue;
        }
        for (uint32_t p = 0; p < rdd->parent_count; p++)
            n->parents[p] = stage_node_index(&w, rdd->parents[p]);
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
    const void *node;
    uint32_t first, end; /* partitions of the node still to visit */
};

bool partition_walk_add(struct partition_walk *w, const void *node, uint32_t first, uint32_t end)
{
    if (!array_reserve(&w->items, &w->capacity, w->count + 1, sizeof *w->items)) return false;
    w->items[w->count++] = (struct partition_visit){node, first, end};
    return true;
}

bool partition_walk_next(struct partition_walk *w, const void **out_node, uint32_t *out_partition)
{
    while (w->count > 0 && w->items[w->count - 1].first == w->items[w->count - 1].end) w->count--;
    if (w->count == 0) return false;
    *out_node = w->items[w->count - 1].node;
    *out_partition = w->items[w->count - 1].first++;
    return true;
}

uint32_t op_find_parent_partitions(const struct op_partitions *n, uint32_t partition,
                                   struct parent_partitions out[2])
{
    out[0] = (struct parent_partitions){0, partition, partition + 1};
    out[1] = (struct parent_partitions){1, partition, partition + 1};
    switch (n->op->kind) {
    case OP_SOURCE: return 0;
    case OP_WIDE: return n->narrow;
    case OP_UNION:
        if (n->narrow) return 2; /* the left one is read first */
        if (partition >= n->left)
            out[0] = (struct parent_partitions){1, partition - n->left, partition - n->left + 1};
        return 1;
    case OP_COALESCE:
        rdd_coalesce_range(n->left, n->own, partition, &out[0].first, &out[0].end);
        return 1;
    case OP_ZIP: /* the right one is read first */
        out[0].parent = 1;
        out[1].parent = 0;
        return 2;
    case OP_CARTESIAN:
        out[0] = (struct parent_partitions){1, partition % n->right, partition % n->right + 1};
        out[1] = (struct parent_partitions){0, partition / n->right, partition / n->right + 1};
        return 2;
    default: return 1;
    }
}

static bool visit_rdd_partition(struct partition_walk *w, struct glint_rdd *rdd, uint32_t partition,
                                struct packer *p, uint64_t *count)
{
    if (rdd_reads_blocks(rdd)) {
        const struct block_location block =
            rdd->g->runner->find_block(rdd->g->driver, rdd, partition);
        pack_u64(p, block.executor);
        pack_u64(p, block.bytes);
        *count += 2;
        return true;
    }
    const struct op_partitions n = {.op = rdd->op,
                                    .narrow = rdd->narrow,
                                    .own = rdd->partitions,
                                    .left = rdd->parent_count > 0 ? rdd->parents[0]->partitions : 0,
                                    .right =
                                        rdd->parent_count > 1 ? rdd->parents[1]->partitions : 0};
    struct parent_partitions reads[2];
    bool ok = true;
    if (rdd->op->kind == OP_SOURCE) {
        pack_bytes(p, rdd->splits[partition]);
        ++*count;
    }
    for (uint32_t i = op_find_parent_partitions(&n, partition, reads); ok && i-- > 0;)
        ok = partition_walk_add(w, rdd->parents[reads[i].parent], reads[i].first, reads[i].end);
    return ok;
}

int rdd_encode_partition_splits(struct glint *g, struct glint_rdd *rdd, uint32_t partition,
                                struct buffer *out)
{
    assert(partition < rdd->partitions);
    struct partition_walk w = {NULL, 0, 0};
    struct packer body = {.failed = false}, whole = {.failed = false};
    uint64_t count = 0;
    const void *node;
    bool ok = partition_walk_add(&w, rdd, partition, partition + 1);
    while (ok && partition_walk_next(&w, &node, &partition))
        ok = visit_rdd_partition(&w, (struct glint_rdd *)node, partition, &body, &count);
    pack_array(&whole, count);
    if (!ok || body.failed || !buffer_append(&whole.out, body.out.data, body.out.size))
        whole.failed = true;
    packer_fini(&body);
    mem_free(w.items);
    return packer_finish(&whole, out, &g->error);
}

/* ---- Wire format of a stage: [[output ...], [node ...]]; a node is an array of the fields of
 * pack_stage_node, in order.
 *
 * The bytes come from a peer and are not trusted. Each field is checked as it is read, then each
 * node for the properties that running it relies on, so that a decoded stage needs no further
 * checks. */

static void pack_shuffle_dependency(struct packer *p, const struct shuffle_dependency *w)
{
    pack_array(p, w->partition_fn == NULL ? 5 : 7);
    pack_u64(p, w->partitioner);
    pack_u64(p, w->combine);
    pack_u64(p, w->descending);
    pack_bytes(p, w->zero);
    pack_array(p, w->bound_count);
    for (uint32_t i = 0; i < w->bound_count; i++) pack_bytes(p, w->bounds[i]);
    if (w->partition_fn == NULL) return;
    pack_text(p, w->partition_fn->name);
    pack_bytes(p, w->partition_args);
}

static void pack_stage_node(struct packer *p, const struct stage_node *n)
{
    pack_array(p, 14);
    pack_u64(p, n->rdd);
    pack_text(p, n->op->name);
    pack_text(p, n->fn != NULL ? n->fn->name : NULL);
    pack_bytes(p, n->args);
    pack_bytes(p, n->params);
    pack_u64(p, n->schema.key);
    pack_u64(p, n->schema.value);
    pack_u64(p, n->grouped);
    pack_u64(p, n->narrow);
    pack_u64(p, n->persist);
    pack_u64(p, n->parents[0]);
    pack_u64(p, n->parents[1]);
    pack_u64(p, n->partitions);
    pack_shuffle_dependency(p, &n->dependency);
}

int stage_plan_encode(const struct stage_plan *s, struct buffer *out, struct glint_error *error)
{
    assert(s->node_count > 0);
    struct packer p = {.failed = false};
    pack_array(&p, 2);
    pack_array(&p, s->output_count);
    for (uint32_t i = 0; i < s->output_count; i++) pack_text(&p, s->outputs[i]);
    pack_array(&p, s->node_count);
    for (uint32_t i = 0; i < s->node_count; i++) pack_stage_node(&p, &s->nodes[i]);
    return packer_finish(&p, out, error);
}

/* Returns false when out of memory. Bytes that do not parse set `failed` of the unpacker. */
static bool unpack_shuffle_dependency(struct unpacker *u, struct shuffle_dependency *w,
                                      char out_partition_fn[NAME_BYTES_MAX], struct arena *memory)
{
    w->partitioner = (enum partitioner)unpack_u64(u, PARTITION_FUNCTION);
    w->combine = (enum combine)unpack_u64(u, COMBINE_CREATE);
    w->descending = unpack_u64(u, 1) != 0;
    w->zero = unpack_bytes(u);
    struct unpacker bounds = unpack_array(u);
    out_partition_fn[0] = '\0';
    if (w->partitioner == PARTITION_FUNCTION) {
        unpack_text(u, out_partition_fn, NAME_BYTES_MAX);
        w->partition_args = unpack_bytes(u);
    }
    if (bounds.count >= PARTITIONS_MAX || !unpack_is_complete(u)) u->failed = true;
    if (u->failed) return true;
    struct glint_slice *b = arena_alloc(memory, sizeof *b * (bounds.count + 1));
    if (b == NULL) return false;
    for (uint64_t i = 0; i < bounds.count; i++) b[i] = unpack_bytes(&bounds);
    w->bounds = b;
    w->bound_count = (uint32_t)bounds.count;
    u->failed = !unpack_is_complete(&bounds);
    return true;
}

static uint32_t unpack_parent_of_stage_node(struct unpacker *u, uint32_t self)
{
    uint64_t parent = unpack_u64(u, UINT32_MAX);
    /* Parents come first, so no cycles. */
    if (parent != STAGE_NO_PARENT && parent >= self) u->failed = true;
    return (uint32_t)parent;
}

static int set_not_registered_error(const char *what, const char *name, struct glint_error *error)
{
    return error_set(error, GLINT_E_PLAN_FUNCTION,
                     "run the same build on the driver and on all executors",
                     "this executor has no %s named %s", what, name);
}

/* Sets *out to the function, or to NULL if the name is empty. */
static int find_named_function(const struct context_config *registry, const char *name,
                               const struct glint_function **out, struct glint_error *error)
{
    *out = name[0] != '\0' ? registry_find_function(registry, name) : NULL;
    if (*out == NULL && name[0] != '\0') return set_not_registered_error("function", name, error);
    return 0;
}

static int unpack_stage_node(struct unpacker *u, struct stage_node *n, uint32_t self,
                             struct arena *memory, const struct context_config *registry,
                             struct glint_error *error)
{
    char op[NAME_BYTES_MAX], fn[NAME_BYTES_MAX], partition_fn[NAME_BYTES_MAX];
    n->rdd = (uint32_t)unpack_u64(u, UINT32_MAX);
    unpack_text(u, op, sizeof op);
    unpack_text(u, fn, sizeof fn);
    n->args = unpack_bytes(u);
    n->params = unpack_bytes(u);
    n->schema.key = (enum glint_type)unpack_u64(u, GLINT_MSGPACK);
    n->schema.value = (enum glint_type)unpack_u64(u, GLINT_MSGPACK);
    n->grouped = unpack_u64(u, 1) != 0;
    n->narrow = unpack_u64(u, 1) != 0;
    n->persist = (unsigned)unpack_u64(u, GLINT_MEMORY | GLINT_DISK);
    n->parents[0] = unpack_parent_of_stage_node(u, self);
    n->parents[1] = unpack_parent_of_stage_node(u, self);
    n->partitions = (uint32_t)unpack_u64(u, PARTITIONS_MAX);
    struct unpacker dependency = unpack_array(u);
    if (!unpack_shuffle_dependency(&dependency, &n->dependency, partition_fn, memory))
        return error_no_memory(error);
    if (!unpack_is_complete(u) || dependency.failed || n->schema.key < GLINT_NONE ||
        n->schema.value < GLINT_NONE)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "cannot decode node %u of a stage", self);
    n->op = registry_find_op(registry, op);
    if (n->op == NULL) return set_not_registered_error("operator", op, error);
    int r = find_named_function(registry, fn, &n->fn, error);
    return r != 0 ? r
                  : find_named_function(registry, partition_fn, &n->dependency.partition_fn, error);
}

/* Checks that the operator takes the function, and the functions what the node's parent emits. The
 * parent of a shuffle is in another stage, so there only the functions themselves are checked. */
static int stage_node_check_functions(const struct stage_plan *s, const struct stage_node *n,
                                      struct glint_error *error)
{
    const struct glint_function *partition_fn = n->dependency.partition_fn;
    const bool first = n->parents[0] == STAGE_NO_PARENT;
    if (partition_fn == NULL && n->dependency.partitioner == PARTITION_FUNCTION)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "operator %s needs a partitioner",
                         n->op->name);
    if (partition_fn != NULL) {
        struct glint_schema in = first ? partition_fn->in : s->nodes[n->parents[0]].schema;
        int r = op_check_function(&op_with_partitioner, partition_fn, in, error);
        if (r != 0) return r;
    }
    if ((n->fn == NULL) != (n->op->function_kinds == 0))
        return error_set(error, GLINT_E_PROTOCOL, NULL, "operator %s %s", n->op->name,
                         n->fn == NULL ? "needs a function" : "takes no function");
    if (n->fn == NULL) return 0;
    struct glint_schema in = first ? n->fn->in : s->nodes[n->parents[0]].schema;
    return op_check_function(n->op, n->fn, in, error);
}

/* Checks what running a node relies on: the number of parents that its kind has, and matching
 * partitions. */
static bool stage_node_is_valid(const struct stage_plan *s, uint32_t number)
{
    const struct stage_node *n = &s->nodes[number];
    bool root = number + 1 == s->node_count;
    bool left = n->parents[0] != STAGE_NO_PARENT, right = n->parents[1] != STAGE_NO_PARENT;
    uint32_t first = left ? s->nodes[n->parents[0]].partitions : 0;
    uint32_t second = right ? s->nodes[n->parents[1]].partitions : 0;
    bool one = left && !right;
    if (stage_node_reads_blocks(n)) return !right && !root && n->op->kind != OP_ACTION;
    if (n->narrow) {
        const bool wide = n->op->kind == OP_WIDE;
        if (!wide && n->op->kind != OP_UNION) return false;
        return left && right != wide && !root && n->partitions == first &&
               (wide ? n->dependency.bound_count < n->partitions : second == first);
    }
    switch (n->op->kind) {
    case OP_SOURCE: return !left && !right && !root;
    /* As root it writes its parent's map outputs; elsewhere it is a source. */
    case OP_WIDE: return left == root && !right && n->dependency.bound_count < n->partitions;
    case OP_UNION: return left && right && !root && n->partitions == first + second;
    case OP_COALESCE: return one && !root && n->partitions <= first;
    case OP_ZIP: return left && right && !root && n->partitions == first && first == second;
    case OP_CARTESIAN: return left && right && !root && n->partitions == (uint64_t)first * second;
    case OP_NARROW: return one && !root && n->partitions == first;
    case OP_ACTION: return one && root && n->partitions == first;
    }
    return false;
}

static int unpack_stage_nodes(struct stage_plan *s, struct unpacker *nodes,
                              const struct context_config *registry, struct glint_error *error)
{
    int r = 0;
    s->nodes = arena_alloc(&s->memory, sizeof *s->nodes * nodes->count);
    if (s->nodes == NULL) return error_no_memory(error);
    memset(s->nodes, 0, sizeof *s->nodes * nodes->count);
    for (; r == 0 && s->node_count < nodes->count; s->node_count++) {
        struct unpacker fields = unpack_array(nodes);
        r = unpack_stage_node(&fields, &s->nodes[s->node_count], s->node_count, &s->memory,
                              registry, error);
    }
    for (uint32_t i = 0; r == 0 && i < s->node_count; i++)
        if (!stage_node_is_valid(s, i))
            r = error_set(error, GLINT_E_PROTOCOL, NULL, "stage node %u is invalid", i);
        else
            r = stage_node_check_functions(s, &s->nodes[i], error);
    return r;
}

static int unpack_output_paths(struct stage_plan *s, struct unpacker *outputs,
                               struct glint_error *error)
{
    int r = 0;
    char path[OUTPUT_PATH_BYTES_MAX];
    if (outputs->count > ACTION_OUTPUTS_MAX) outputs->failed = true;
    while (r == 0 && !outputs->failed && outputs->next < outputs->count) {
        unpack_text(outputs, path, sizeof path);
        if (path[0] == '\0')
            outputs->failed = true;
        else
            r = stage_plan_add_output(s, path, error);
    }
    return r;
}

int stage_plan_decode(struct stage_plan *s, struct glint_slice bytes,
                      const struct context_config *registry, struct glint_error *error)
{
    memset(s, 0, sizeof *s);
    struct unpacker u = unpack_begin(bytes), outputs = unpack_array(&u), nodes = unpack_array(&u);
    int r = u.failed ? 0 : unpack_output_paths(s, &outputs, error);
    if (r == 0 && (!unpack_is_complete(&u) || !unpack_is_complete(&outputs) || nodes.count < 1 ||
                   nodes.count > PLAN_NODES_MAX + 1))
        r = error_set(error, GLINT_E_PROTOCOL, NULL, "cannot decode a stage");
    if (r == 0) r = unpack_stage_nodes(s, &nodes, registry, error);
    if (r != 0) stage_plan_fini(s);
    return r;
}

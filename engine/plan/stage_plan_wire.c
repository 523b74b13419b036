/* Wire format of a stage: [[output ...], [node ...]]; a node is an array of the fields of
 * node_pack, in order.
 *
 * The bytes come from a peer and are not trusted. Each field is checked as it is read, then each
 * node for the properties that running it relies on, so that a decoded stage needs no further
 * checks. */
#include "engine/data/pack.h"
#include "engine/plan/stage_plan.h"

#include <assert.h>
#include <string.h>

static void dependency_pack(struct packer *p, const struct shuffle_dependency *w)
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

static void node_pack(struct packer *p, const struct stage_node *n)
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
    dependency_pack(p, &n->dependency);
}

int stage_plan_encode(const struct stage_plan *s, struct buffer *out, struct glint_error *error)
{
    assert(s->node_count > 0);
    struct packer p = {.failed = false};
    pack_array(&p, 2);
    pack_array(&p, s->output_count);
    for (uint32_t i = 0; i < s->output_count; i++) pack_text(&p, s->outputs[i]);
    pack_array(&p, s->node_count);
    for (uint32_t i = 0; i < s->node_count; i++) node_pack(&p, &s->nodes[i]);
    return packer_finish(&p, out, error);
}

/* Returns false when out of memory. Bytes that do not parse set `failed` of the unpacker. */
static bool dependency_unpack(struct unpacker *u, struct shuffle_dependency *w,
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

static uint32_t parent_unpack(struct unpacker *u, uint32_t self)
{
    uint64_t parent = unpack_u64(u, UINT32_MAX);
    /* Parents come first, so no cycles. */
    if (parent != STAGE_NO_PARENT && parent >= self) u->failed = true;
    return (uint32_t)parent;
}

static int set_not_registered(const char *what, const char *name, struct glint_error *error)
{
    return error_set(error, GLINT_E_PLAN_FUNCTION,
                     "run the same build on the driver and on all executors",
                     "this executor has no %s named %s", what, name);
}

/* Sets *out to the function, or to NULL if the name is empty. */
static int find_function(const struct context_config *registry, const char *name,
                         const struct glint_function **out, struct glint_error *error)
{
    *out = name[0] != '\0' ? registry_find_function(registry, name) : NULL;
    if (*out == NULL && name[0] != '\0') return set_not_registered("function", name, error);
    return 0;
}

static int node_unpack(struct unpacker *u, struct stage_node *n, uint32_t self,
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
    n->parents[0] = parent_unpack(u, self);
    n->parents[1] = parent_unpack(u, self);
    n->partitions = (uint32_t)unpack_u64(u, PARTITIONS_MAX);
    struct unpacker dependency = unpack_array(u);
    if (!dependency_unpack(&dependency, &n->dependency, partition_fn, memory))
        return error_no_memory(error);
    if (!unpack_is_complete(u) || dependency.failed || n->schema.key < GLINT_NONE ||
        n->schema.value < GLINT_NONE)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "cannot decode node %u of a stage", self);
    n->op = registry_find_op(registry, op);
    if (n->op == NULL) return set_not_registered("operator", op, error);
    int r = find_function(registry, fn, &n->fn, error);
    return r != 0 ? r : find_function(registry, partition_fn, &n->dependency.partition_fn, error);
}

/* Checks that the operator takes the function, and the functions what the node's parent emits. The
 * parent of a shuffle is in another stage, so there only the functions themselves are checked. */
static int node_check_functions(const struct stage_plan *s, const struct stage_node *n,
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
static bool node_is_valid(const struct stage_plan *s, uint32_t number)
{
    const struct stage_node *n = &s->nodes[number];
    bool root = number + 1 == s->node_count;
    bool left = n->parents[0] != STAGE_NO_PARENT, right = n->parents[1] != STAGE_NO_PARENT;
    uint32_t first = left ? s->nodes[n->parents[0]].partitions : 0;
    uint32_t second = right ? s->nodes[n->parents[1]].partitions : 0;
    bool one = left && !right;
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

static int nodes_unpack(struct stage_plan *s, struct unpacker *nodes,
                        const struct context_config *registry, struct glint_error *error)
{
    int r = 0;
    s->nodes = arena_alloc(&s->memory, sizeof *s->nodes * nodes->count);
    if (s->nodes == NULL) return error_no_memory(error);
    memset(s->nodes, 0, sizeof *s->nodes * nodes->count);
    for (; r == 0 && s->node_count < nodes->count; s->node_count++) {
        struct unpacker fields = unpack_array(nodes);
        r = node_unpack(&fields, &s->nodes[s->node_count], s->node_count, &s->memory, registry,
                        error);
    }
    for (uint32_t i = 0; r == 0 && i < s->node_count; i++)
        if (!node_is_valid(s, i))
            r = error_set(error, GLINT_E_PROTOCOL, NULL, "stage node %u is invalid", i);
        else
            r = node_check_functions(s, &s->nodes[i], error);
    return r;
}

static int outputs_unpack(struct stage_plan *s, struct unpacker *outputs, struct glint_error *error)
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
    int r = u.failed ? 0 : outputs_unpack(s, &outputs, error);
    if (r == 0 && (!unpack_is_complete(&u) || !unpack_is_complete(&outputs) || nodes.count < 1 ||
                   nodes.count > PLAN_NODES_MAX + 1))
        r = error_set(error, GLINT_E_PROTOCOL, NULL, "cannot decode a stage");
    if (r == 0) r = nodes_unpack(s, &nodes, registry, error);
    if (r != 0) stage_plan_fini(s);
    return r;
}

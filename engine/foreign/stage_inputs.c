/* Walks the plan of a stage from its root to the shuffles that one partition reads. */
#include "engine/foreign/stage_inputs.h"

struct visit {
    uint32_t node, first, end; /* partitions of the node still to visit */
};

struct visits {
    struct visit *items;
    uint64_t count, capacity;
};

static bool push(struct visits *v, uint32_t node, uint32_t first, uint32_t end)
{
    if (!array_reserve(&v->items, &v->capacity, v->count + 1, sizeof *v->items)) return false;
    v->items[v->count++] = (struct visit){node, first, end};
    return true;
}

static bool add_input(struct stage_inputs *out, uint32_t shuffle, uint32_t partition)
{
    if (!array_reserve(&out->items, &out->capacity, out->count + 1u, sizeof *out->items))
        return false;
    out->items[out->count++] = (struct stage_input){shuffle, partition};
    return true;
}

static bool visit_both_parents(const struct stage_plan *plan, const struct stage_node *n,
                               uint32_t partition, struct visits *v)
{
    uint32_t left = partition, right = partition;
    if (n->op->kind == OP_CARTESIAN) {
        left /= plan->nodes[n->parents[1]].partitions;
        right %= plan->nodes[n->parents[1]].partitions;
    }
    return push(v, n->parents[0], left, left + 1) && push(v, n->parents[1], right, right + 1);
}

static bool visit_parents(const struct stage_plan *plan, const struct stage_node *n,
                          uint32_t partition, struct visits *v)
{
    if (n->op->kind == OP_ZIP || n->op->kind == OP_CARTESIAN ||
        (n->op->kind == OP_UNION && n->narrow))
        return visit_both_parents(plan, n, partition, v);
    uint32_t parent = n->parents[0], first = partition, end = partition + 1;
    const uint32_t left = plan->nodes[parent].partitions;
    if (n->op->kind == OP_UNION && partition >= left) {
        parent = n->parents[1];
        first -= left;
        end -= left;
    }
    if (n->op->kind == OP_COALESCE)
        rdd_coalesce_range(left, n->partitions, partition, &first, &end);
    return push(v, parent, first, end);
}

static bool visit_next(const struct stage_plan *plan, struct visits *v, struct stage_inputs *out)
{
    struct visit *top = &v->items[v->count - 1];
    if (top->first == top->end) {
        v->count--;
        return true;
    }
    const struct stage_node *n = &plan->nodes[top->node];
    const uint32_t partition = top->first++;
    if (n->parents[0] != STAGE_NO_PARENT) return visit_parents(plan, n, partition, v);
    if (stage_node_is_shuffle(n)) return add_input(out, n->rdd, partition);
    return true; /* a source of files */
}

int stage_inputs_find(const struct stage_plan *plan, uint32_t partition, struct stage_inputs *out,
                      struct glint_error *error)
{
    struct visits v = {NULL, 0, 0};
    uint32_t root = plan->node_count - 1;
    out->count = 0;
    if (stage_node_is_shuffle(&plan->nodes[root]) &&
        plan->nodes[root].parents[0] != STAGE_NO_PARENT)
        root = plan->nodes[root].parents[0]; /* the tasks are those of the map side */
    bool memory = push(&v, root, partition, partition + 1);
    while (memory && v.count > 0) memory = visit_next(plan, &v, out);
    mem_free(v.items);
    return memory ? 0 : error_no_memory(error);
}

bool stage_inputs_get_lines(const struct stage_inputs *inputs, uint32_t parent, uint64_t shuffle)
{
    for (uint32_t i = 0; i < inputs->count; i++)
        if (inputs->items[i].shuffle == shuffle) return true;
    return inputs->count == 0 && parent == 0;
}

const struct packed_stage *stage_find_reader(const struct stage_file *file,
                                             const struct packed_stage *stage, uint32_t *out_parent)
{
    const uint32_t number = (uint32_t)(stage - file->stages);
    for (uint32_t i = 0; i < file->stage_count; i++)
        for (uint32_t p = 0; p < file->stages[i].parent_count; p++)
            if (file->stages[i].parents[p] == number) {
                *out_parent = p;
                return &file->stages[i];
            }
    return NULL;
}

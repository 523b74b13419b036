/* See partitioning.h. The rules are those of Partitioner.defaultPartitioner in Spark 3.5, and of
 * its transformations with a number of partitions, which hash. */
#include "engine/plan/partitioning.h"

#include "engine/base/hash.h"
#include "engine/records/bytes.h"

#include <assert.h>

/* A partitioner with fewer partitions than this share of the default is not taken over: the stage
 * would have too few tasks. */
#define PARTITIONS_SHARE_MIN 10u

struct glint_rdd *partitioning_find(struct glint_rdd *rdd)
{
    if (!rdd->key_partitioned) return NULL;
    while (rdd->op->kind != OP_WIDE) {
        if (rdd->parent_count == 0) return NULL; /* its lineage was cut */
        if (rdd->op->kind == OP_UNION && !rdd->narrow) return NULL;
        rdd = rdd->parents[0];
    }
    assert(rdd->counted && (!rdd->narrow || rdd->partitioner_of != NULL));
    return rdd->narrow ? rdd->partitioner_of : rdd;
}

static bool same_slice(struct glint_slice a, struct glint_slice b)
{
    return a.size == b.size && bytes_equal(a.data, b.data, a.size);
}

static bool same_partitioner(const struct glint_rdd *a, const struct glint_rdd *b)
{
    const struct shuffle_dependency *x = &a->dependency, *y = &b->dependency;
    if (a == b) return true;
    if (x->partitioner != y->partitioner || a->partitions != b->partitions) return false;
    if (x->partitioner == PARTITION_HASH) return true;
    return x->partitioner == PARTITION_FUNCTION && x->partition_fn == y->partition_fn &&
           same_slice(x->partition_args, y->partition_args);
}

/* Iterates over the inputs of a wide RDD: its parent, or if that is a union of several inputs
 * (ops/sides.h) all of these, the last one first. `*at` is &rdd->parents[0] at the beginning.
 * Returns the place of the next input in its child, or NULL. */
static struct glint_rdd **next_input(struct glint_rdd ***at)
{
    struct glint_rdd **place = *at;
    if (place == NULL) return NULL;
    struct glint_rdd *rdd = *place;
    const bool several = rdd->op->kind == OP_UNION && rdd->parents[1]->exchange != NULL;
    *at = several ? &rdd->parents[0] : NULL;
    return several ? &rdd->parents[1] : place;
}

/* Whether `rdd` may use this partitioner. */
static bool accepts(const struct glint_rdd *rdd, const struct glint_rdd *partitioner)
{
    if (rdd->partitioner_fixed || rdd->partitions_requested > 0)
        return same_partitioner(rdd, partitioner);
    return (uint64_t)partitioner->partitions * PARTITIONS_SHARE_MIN > rdd->partitions;
}

static struct glint_rdd *choose_partitioner(struct glint_rdd *rdd)
{
    struct glint_rdd *best = NULL, **input, **at = &rdd->parents[0];
    uint32_t best_id = 0; /* of the input; the first one was created first */
    while ((input = next_input(&at)) != NULL) {
        struct glint_rdd *found = partitioning_find(*input);
        if (found == NULL || !accepts(rdd, found)) continue;
        assert(found->partitions == (*input)->partitions);
        const bool earlier = (*input)->id < best_id;
        if (best == NULL || found->partitions > best->partitions ||
            (found->partitions == best->partitions && earlier)) {
            best = found;
            best_id = (*input)->id;
        }
    }
    return best;
}

/* An exchange by the bounds of a sort, which are known only now. */
static int copy_bounds(struct glint_rdd *rdd)
{
    const struct shuffle_dependency *from = &rdd->partitioner_of->dependency;
    assert(from->partitioner == PARTITION_RANGE && rdd->op->kind == OP_WIDE);
    rdd->dependency.bounds = from->bounds;
    rdd->dependency.bound_count = from->bound_count;
    return 0;
}

static void use_exchange(struct glint_rdd **input, struct glint_rdd *partitioner)
{
    struct glint_rdd *exchange = (*input)->exchange;
    assert(exchange != NULL && exchange->parents[0] == *input && !exchange->counted);
    exchange->dependency = partitioner->dependency;
    /* What the other shuffle does with values and with the order is not this one's. */
    exchange->dependency.combine = COMBINE_NONE;
    exchange->dependency.zero = (struct glint_slice){NULL, 0};
    exchange->partitioner_of = rdd_ref(partitioner);
    if (partitioner->dependency.partitioner == PARTITION_RANGE) exchange->prepare = copy_bounds;
    exchange->partitions = partitioner->partitions;
    exchange->counted = true;
    /* Its reference on the input replaces that of the child, and the child's on it the input's. */
    exchange->weak_parent = false;
    (*input)->exchange = NULL;
    *input = exchange;
}

void partitioning_reuse(struct glint_rdd *rdd)
{
    assert(rdd->op->kind == OP_WIDE && !rdd->counted && rdd->partitions > 0);
    const enum partitioner own = rdd->dependency.partitioner;
    if (!rdd->key_partitioned || (own != PARTITION_HASH && own != PARTITION_FUNCTION)) return;
    struct glint_rdd *partitioner = choose_partitioner(rdd), **input, **at = &rdd->parents[0];
    if (partitioner == NULL) return;
    struct glint_rdd *parent = rdd->parents[0];
    rdd->partitions = partitioner->partitions;
    rdd->partitioner_of = rdd_ref(partitioner);
    rdd->narrow = true;
    while ((input = next_input(&at)) != NULL) {
        struct glint_rdd *found = partitioning_find(*input);
        if (found == NULL || !same_partitioner(found, partitioner))
            use_exchange(input, partitioner);
    }
    for (; parent->op->kind == OP_UNION; parent = parent->parents[0]) {
        parent->narrow = true;
        parent->partitions = partitioner->partitions;
    }
}

void partitioning_align_union(struct glint_rdd *rdd)
{
    assert(rdd->op->kind == OP_UNION && !rdd->counted && !rdd->narrow);
    if (!rdd->key_partitioned || rdd->parents[1]->exchange != NULL) return;
    const struct glint_rdd *a = partitioning_find(rdd->parents[0]),
                           *b = partitioning_find(rdd->parents[1]);
    rdd->narrow = a != NULL && b != NULL && same_partitioner(a, b);
}

static const struct op *exchange_op(const struct glint *g)
{
    return registry_find_op(&g->config, "partitionBy");
}

bool partitioning_add_exchange(struct glint_rdd *input)
{
    const struct op *op = exchange_op(input->g);
    assert(op != NULL && op->kind == OP_WIDE && input->exchange == NULL);
    const struct rdd_spec spec = {
        .op = op, .parents = {input}, .schema = input->schema, .key_partitioned = true};
    struct glint_rdd *exchange = rdd_create(input->g, &spec);
    if (exchange == NULL) return false;
    exchange->released = exchange->weak_parent = true;
    input->refs--;
    input->exchange = exchange;
    return true;
}

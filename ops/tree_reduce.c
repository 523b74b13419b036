/* treeReduce and treeAggregate: reduce and aggregate of many partitions, or with large results, in
 * levels, so that the driver merges few of them. Each partition is reduced to one accumulator;
 * neighbouring partitions are merged by tasks, level by level; the driver merges the rest. All are
 * merged in the order of the partitions, so the result is that of reduce for every associative
 * function.
 *
 *     treeReduce -> (shuffle by group) -> treeMerge -> (shuffle by group) -> treeResult */
#include "ops/reduce.h"

#include "engine/batch.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>
#include <math.h>

struct tree_state {
    struct reduce_state reduce; /* must be first: the callbacks of reduce cast to it */
    int64_t group;
    enum glint_type type; /* of the accumulators */
};

/* The parameters are [partitions, groups, parameters of reduce]. */
static int tree_reduce_open(void *state, const struct op_open *o)
{
    struct tree_state *s = state;
    struct op_open of_reduce = *o;
    struct unpacker u = unpack_begin(o->params);
    const uint64_t partitions = unpack_u64(&u, PARTITIONS_MAX);
    const uint64_t groups = unpack_u64(&u, PARTITIONS_MAX);
    of_reduce.params = unpack_bytes(&u);
    s->type = o->out.value;
    if (!unpack_is_complete(&u) || o->task->partition >= partitions || o->out.key != GLINT_I64 ||
        s->type != reduce_accumulator_type(o->function, o->in.value))
        return error_set(&o->task->error, GLINT_E_PROTOCOL, NULL,
                         "cannot decode the parameters of a tree");
    s->group = (int64_t)(o->task->partition * groups / partitions);
    return reduce_open(&s->reduce, &of_reduce);
}

/* Merges the accumulators of a batch. */
static enum flow tree_reduce_push(void *state, const struct glint_batch *batch,
                                  struct glint_emitter *out)
{
    (void)out;
    struct reduce_state *s = state;
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint8_t scratch[CODEC_NUMBER_BYTES];
        const union glint_value v = glint_column_value(&batch->value, row);
        const struct glint_slice acc = codec_encode(batch->value.type, &v, scratch);
        if (combiner_add_value(&s->combiner, acc, false) < 0) return FLOW_FAIL;
    }
    return FLOW_MORE;
}

/* Emits (group, accumulator), or nothing if there were no values. */
static enum flow tree_reduce_finish(void *state, struct glint_emitter *out)
{
    struct tree_state *s = state;
    struct glint_slice bytes;
    struct glint_record r = {.key.i64 = s->group};
    if (!s->reduce.combiner.started) return FLOW_MORE;
    if (combiner_finish_value(&s->reduce.combiner, false, &bytes) < 0) return FLOW_FAIL;
    const bool decoded = codec_decode(s->type, bytes, &r.value);
    assert(decoded); /* the combiner has encoded it */
    glint_emit(out, &r);
    return out->flow;
}

#define TREE_FUNCTIONS ((1u << GLINT_KIND_REDUCE) | (1u << GLINT_KIND_AGGREGATE))

#define TREE_OP(op_name, op_kind)                                                                  \
    {                                                                                              \
        .name = op_name, .kind = OP_NARROW, .function_kinds = 1u << op_kind,                       \
        .state_size = sizeof(struct tree_state), .open = tree_reduce_open, .push = reduce_push,    \
        .finish = tree_reduce_finish, .close = reduce_close                                        \
    }

const struct op op_tree_reduce = TREE_OP("treeReduce", GLINT_KIND_REDUCE);
const struct op op_tree_aggregate = TREE_OP("treeAggregate", GLINT_KIND_AGGREGATE);
const struct op op_tree_merge = {.name = "treeMerge",
                                 .kind = OP_NARROW,
                                 .function_kinds = TREE_FUNCTIONS,
                                 .takes_accumulators = true,
                                 .state_size = sizeof(struct tree_state),
                                 .open = tree_reduce_open,
                                 .push = tree_reduce_push,
                                 .finish = tree_reduce_finish,
                                 .close = reduce_close};
const struct op op_tree_shuffle = {.name = "treeShuffle", .kind = OP_WIDE};
const struct op op_tree_result = {.name = "treeResult",
                                  .kind = OP_ACTION,
                                  .function_kinds = TREE_FUNCTIONS,
                                  .takes_accumulators = true,
                                  .state_size = sizeof(struct reduce_state),
                                  .open = reduce_open,
                                  .push = tree_reduce_push,
                                  .close = reduce_close,
                                  .result = reduce_result};

/* ---- Driver side */

struct tree {
    const struct glint_function *function;
    struct glint_args *args;
    const union glint_value *zero; /* NULL: none */
    const struct op *op;           /* of the first level */
    uint32_t depth;
};

static void pack_zero_value(struct packer *p, const struct tree *t, enum glint_type type)
{
    uint8_t scratch[CODEC_NUMBER_BYTES];
    pack_array(p, t->zero != NULL);
    if (t->zero != NULL) pack_bytes(p, codec_encode(type, t->zero, scratch));
}

/* The accumulators of `partitions` partitions, keyed by which of `groups` they belong to. */
static struct glint_rdd *key_accumulators_by_group(struct glint_rdd *rdd, const struct tree *t,
                                                   const struct op *op, uint32_t partitions,
                                                   uint32_t groups)
{
    const enum glint_type type = reduce_accumulator_type(t->function, rdd->schema.value);
    struct packer zero = {.failed = false}, p = {.failed = false};
    pack_zero_value(&zero, t, type); /* neutral, so each level may start from it, as in Spark */
    pack_array(&p, 3);
    pack_u64(&p, partitions);
    pack_u64(&p, groups);
    pack_bytes(&p, (struct glint_slice){zero.out.data, zero.out.size});
    p.failed |= zero.failed;
    packer_fini(&zero);
    const struct rdd_spec spec = {.op = op,
                                  .parents = {rdd},
                                  .function = t->function,
                                  .args = t->args,
                                  .schema = {GLINT_I64, type}};
    return rdd_create_packed(rdd->g, &spec, &p);
}

/* Group i becomes partition i: the bounds are 0, 1, ..., groups - 2. */
static struct glint_rdd *shuffle_tree_groups(struct glint_rdd *keyed, uint32_t groups)
{
    if (keyed == NULL) return NULL;
    struct glint *g = keyed->g;
    struct glint_slice *bounds = scope_alloc(g, sizeof *bounds * groups);
    for (uint32_t i = 0; bounds != NULL && i + 1 < groups; i++) {
        bounds[i] = context_encode_value(g, GLINT_I64, &(union glint_value){.i64 = i});
        if (bounds[i].data == NULL) return NULL;
    }
    const struct rdd_spec spec = {.op = &op_tree_shuffle,
                                  .parents = {keyed},
                                  .schema = keyed->schema,
                                  .dependency = {.partitioner = PARTITION_RANGE,
                                                 .bounds = bounds,
                                                 .bound_count = groups - 1}};
    struct glint_rdd *out = bounds != NULL ? rdd_create(g, &spec) : NULL;
    return out != NULL ? glint_with_partitions(out, groups) : NULL;
}

static int run_final_reduce(struct glint_rdd *rdd, const struct tree *t, struct glint_rows *out)
{
    struct glint *g = rdd->g;
    struct packer p = {.failed = false};
    pack_zero_value(&p, t, rdd->schema.value);
    struct action a = {.op = &op_tree_result,
                       .rdd = rdd,
                       .fn = t->function,
                       .args = args_encode(g, NULL, t->args, t->function),
                       .params = {p.out.data, p.out.size}};
    if (p.failed) error_no_memory(&g->error);
    const int r = context_failed(g) ? g->error.code : reduce_run(&a, out);
    packer_fini(&p);
    return r;
}

/* As many levels as `depth` says, of equal ratio, while a level spares the driver work; as in
 * Spark. Returns 0 or a code; -1 without running anything if there would be no level. */
static int run_tree_reduce(struct glint_rdd *rdd, const struct tree *t, struct glint_rows *out)
{
    const struct op *op = t->op;
    uint32_t partitions = rdd_partition_count(rdd);
    uint32_t ratio = (uint32_t)ceil(pow(partitions, 1.0 / t->depth));
    if (ratio < 2) ratio = 2;
    while (rdd != NULL && partitions > ratio + partitions / ratio) {
        const uint32_t groups = partitions / ratio;
        rdd =
            shuffle_tree_groups(key_accumulators_by_group(rdd, t, op, partitions, groups), groups);
        partitions = groups;
        op = &op_tree_merge;
    }
    return rdd != NULL && op == &op_tree_merge ? run_final_reduce(rdd, t, out) : -1;
}

/* Returns whether the tree was run, with its result in *result; else reduce and aggregate do the
 * same. */
static bool try_tree_reduce(struct glint_rdd *rdd, const struct tree *t, struct glint_rows *out,
                            int *result)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) {
        *result = rdd_null_error(t->op->name);
        return true;
    }
    struct glint *g = rdd->g;
    if (t->depth == 0)
        error_set(&g->error, GLINT_E_BAD_VALUE, "use a depth of 2, or more", "%s: a depth of 0",
                  t->op->name);
    if (!context_failed(g)) plan_check_function(g, t->op, t->function, rdd->schema);
    if (!context_failed(g)) *result = run_tree_reduce(rdd, t, out);
    if (context_failed(g)) *result = g->error.code;
    return context_failed(g) || *result == 0;
}

int glint_tree_reduce(struct glint_rdd *rdd, const struct glint_function *function,
                      struct glint_args *args, uint32_t depth, struct glint_rows *out)
{
    const struct tree t = {function, args, NULL, &op_tree_reduce, depth};
    int r = 0;
    if (!try_tree_reduce(rdd, &t, out, &r)) return glint_reduce(rdd, function, args, out);
    return r == 0 && out->count == 0 ? result_rows_fail_empty(rdd->g, out, "treeReduce") : r;
}

int glint_tree_aggregate(struct glint_rdd *rdd, union glint_value zero,
                         const struct glint_function *function, struct glint_args *args,
                         uint32_t depth, struct glint_rows *out)
{
    const struct tree t = {function, args, &zero, &op_tree_aggregate, depth};
    int r = 0;
    return try_tree_reduce(rdd, &t, out, &r) ? r : glint_aggregate(rdd, zero, function, args, out);
}

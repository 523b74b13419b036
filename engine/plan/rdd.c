/* Creates the nodes of the plan. Types and functions are checked here, once, before anything
 * runs. */
#include "engine/base/utf8.h"
#include "engine/input/split.h"
#include "engine/plan/context.h"
#include "engine/records/bytes.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- Partitioners that are used again. The rules are those of Partitioner.defaultPartitioner in
 * Spark 3.5, and of its transformations with a number of partitions, which hash. */

/* A partitioner with fewer partitions than this share of the default is not taken over: the stage
 * would have too few tasks. */
#define PARTITIONS_SHARE_MIN 10u

struct glint_rdd *partitioning_find_shuffle(struct glint_rdd *rdd)
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

static bool is_same_partitioner(const struct glint_rdd *a, const struct glint_rdd *b)
{
    const struct shuffle_dependency *x = &a->dependency, *y = &b->dependency;
    if (a == b) return true;
    if (x->partitioner != y->partitioner || a->partitions != b->partitions) return false;
    if (x->partitioner == PARTITION_HASH) return true;
    return x->partitioner == PARTITION_FUNCTION && x->partition_fn == y->partition_fn &&
           slices_equal(x->partition_args, y->partition_args);
}

/* Iterates over the inputs of a wide RDD: its parent, or if that is a union of several inputs
 * (ops/sides.h) all of these, the last one first. `*at` is &rdd->parents[0] at the beginning.
 * Returns the place of the next input in its child, or NULL. */
static struct glint_rdd **next_shuffle_input(struct glint_rdd ***at)
{
    struct glint_rdd **place = *at;
    if (place == NULL) return NULL;
    struct glint_rdd *rdd = *place;
    const bool several = rdd->op->kind == OP_UNION && rdd->parents[1]->exchange != NULL;
    *at = several ? &rdd->parents[0] : NULL;
    return several ? &rdd->parents[1] : place;
}

/* Whether `rdd` may use this partitioner. */
static bool can_use_partitioner(const struct glint_rdd *rdd, const struct glint_rdd *partitioner)
{
    if (rdd->partitioner_fixed || rdd->partitions_requested > 0)
        return is_same_partitioner(rdd, partitioner);
    return (uint64_t)partitioner->partitions * PARTITIONS_SHARE_MIN > rdd->partitions;
}

static struct glint_rdd *choose_partitioner(struct glint_rdd *rdd)
{
    struct glint_rdd *best = NULL, **input, **at = &rdd->parents[0];
    uint32_t best_id = 0; /* of the input; the first one was created first */
    while ((input = next_shuffle_input(&at)) != NULL) {
        struct glint_rdd *found = partitioning_find_shuffle(*input);
        if (found == NULL || !can_use_partitioner(rdd, found)) continue;
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
static int copy_range_bounds(struct glint_rdd *rdd)
{
    const struct shuffle_dependency *from = &rdd->partitioner_of->dependency;
    assert(from->partitioner == PARTITION_RANGE && rdd->op->kind == OP_WIDE);
    rdd->dependency.bounds = from->bounds;
    rdd->dependency.bound_count = from->bound_count;
    return 0;
}

static void set_exchange_dependency(struct glint_rdd **input, struct glint_rdd *partitioner)
{
    struct glint_rdd *exchange = (*input)->exchange;
    assert(exchange != NULL && exchange->parents[0] == *input && !exchange->counted);
    exchange->dependency = partitioner->dependency;
    /* What the other shuffle does with values and with the order is not this one's. */
    exchange->dependency.combine = COMBINE_NONE;
    exchange->dependency.zero = (struct glint_slice){NULL, 0};
    exchange->partitioner_of = rdd_ref(partitioner);
    if (partitioner->dependency.partitioner == PARTITION_RANGE)
        exchange->prepare = copy_range_bounds;
    exchange->partitions = partitioner->partitions;
    exchange->counted = true;
    /* Its reference on the input replaces that of the child, and the child's on it the input's. */
    exchange->weak_parent = false;
    (*input)->exchange = NULL;
    *input = exchange;
}

/* Called while a wide RDD is counted: `partitions` is what the shuffle would have, and its parents
 * are counted. Unless the job has chosen otherwise, takes over the partitioner of the parent that
 * has most partitions, if these are more than a tenth of `partitions`. The RDD then becomes narrow,
 * and parents that are partitioned in another way are shuffled by themselves. */
static void partitioning_reuse(struct glint_rdd *rdd)
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
    while ((input = next_shuffle_input(&at)) != NULL) {
        struct glint_rdd *found = partitioning_find_shuffle(*input);
        if (found == NULL || !is_same_partitioner(found, partitioner))
            set_exchange_dependency(input, partitioner);
    }
    for (; parent->op->kind == OP_UNION; parent = parent->parents[0]) {
        parent->narrow = true;
        parent->partitions = partitioner->partitions;
    }
}

/* Called while a union is counted: if its parents are partitioned alike, it becomes narrow: each
 * partition has the records of the same partition of both, as in Spark's PartitionerAwareUnionRDD.
 * Not the union of the inputs of a wide RDD (ops/sides.h), for which partitioning_reuse decides. */
static void partitioning_align_union(struct glint_rdd *rdd)
{
    assert(rdd->op->kind == OP_UNION && !rdd->counted && !rdd->narrow);
    if (!rdd->key_partitioned || rdd->parents[1]->exchange != NULL) return;
    const struct glint_rdd *a = partitioning_find_shuffle(rdd->parents[0]),
                           *b = partitioning_find_shuffle(rdd->parents[1]);
    rdd->narrow = a != NULL && b != NULL && is_same_partitioner(a, b);
}

bool partitioning_add_exchange(struct glint_rdd *input)
{
    const struct op *op = registry_find_op(&input->g->config, "partitionBy");
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

/* ---- Computes the set of inputs that an RDD descends from. Each is counted once even if several
 * paths lead to it, as in a loop that uses its previous result twice. Most RDDs share the set of a
 * parent; a new set is made only if two parents have different ones. */

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a <= UINT64_MAX - b ? a + b : UINT64_MAX;
}

void source_set_unref(struct source_set *set)
{
    if (set == NULL) return;
    assert(set->refs > 0);
    if (--set->refs == 0) mem_free(set);
}

static struct source_set *source_set_ref(struct source_set *set)
{
    if (set != NULL) set->refs++;
    return set;
}

static struct source_set *source_set_create(struct glint *g, uint32_t capacity)
{
    struct source_set *set = mem_zalloc(sizeof *set + capacity * sizeof set->items[0]);
    if (set == NULL)
        error_no_memory(&g->error);
    else
        set->refs = 1;
    return set;
}

static void source_set_add(struct source_set *set, struct source_size source)
{
    assert(set->count == 0 || set->items[set->count - 1].id < source.id);
    set->items[set->count++] = source;
    set->input_bytes = add_saturated(set->input_bytes, source.input_bytes);
    set->decoded_bytes = add_saturated(set->decoded_bytes, source.decoded_bytes);
}

/* The sources of a parent; a source is its own set. By the time it has children, its bytes are
 * known. */
static struct source_set *rdd_get_sources(struct glint_rdd *rdd)
{
    if (rdd->op->kind != OP_SOURCE || rdd->input_bytes == 0 || rdd->sources != NULL)
        return rdd->sources;
    struct source_set *own = source_set_create(rdd->g, 1);
    if (own == NULL) return NULL;
    const uint64_t decoded =
        rdd->inputs != NULL ? splits_decoded_bytes(rdd->inputs) : rdd->input_bytes;
    source_set_add(own, (struct source_size){rdd->id, rdd->input_bytes, decoded});
    return rdd->sources = own;
}

/* True if `all` contains every item of `some`. Both are sorted by id. */
static bool source_set_contains(const struct source_set *all, const struct source_set *some)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < all->count && found < some->count; i++)
        found += all->items[i].id == some->items[found].id;
    return found == some->count;
}

/* Returns a new reference, or NULL: no sources, or out of memory. */
static struct source_set *merge_source_sets(struct glint *g, struct source_set *a,
                                            struct source_set *b)
{
    if (b == NULL || a == b) return source_set_ref(a);
    if (a == NULL || source_set_contains(b, a)) return source_set_ref(b);
    if (source_set_contains(a, b)) return source_set_ref(a);
    struct source_set *both = source_set_create(g, a->count + b->count);
    if (both == NULL) return NULL;
    for (uint32_t i = 0, j = 0; i < a->count || j < b->count;) {
        bool from_a = j == b->count || (i < a->count && a->items[i].id <= b->items[j].id);
        const struct source_size next = from_a ? a->items[i] : b->items[j];
        i += i < a->count && a->items[i].id == next.id;
        j += j < b->count && b->items[j].id == next.id;
        source_set_add(both, next);
    }
    return both;
}

static void rdd_inherit_sources(struct glint_rdd *rdd)
{
    for (uint32_t i = 0; i < rdd->parent_count; i++) {
        struct source_set *before = rdd->sources;
        rdd->sources = merge_source_sets(rdd->g, before, rdd_get_sources(rdd->parents[i]));
        source_set_unref(before);
    }
    if (rdd->sources == NULL) return;
    rdd->input_bytes = rdd->sources->input_bytes;
    rdd->decoded_bytes = rdd->sources->decoded_bytes;
}

/* ---- RDDs */

static const char *const function_kind_names[] = {
    [GLINT_KIND_MAP] = "map",
    [GLINT_KIND_FLAT_MAP] = "flatMap",
    [GLINT_KIND_FILTER] = "filter",
    [GLINT_KIND_GROUP] = "group",
    [GLINT_KIND_REDUCE] = "reduce",
    [GLINT_KIND_AGGREGATE] = "aggregate",
    [GLINT_KIND_PARTITION] = "partition",
};

bool rdd_is_pair(const struct glint_rdd *rdd)
{
    return rdd->schema.key != GLINT_NONE;
}

struct glint_rdd *rdd_fail(struct glint_rdd *rdd, enum glint_code code, const char *cause, ...)
{
    char text[512];
    va_list args;
    va_start(args, cause);
    vsnprintf(text, sizeof text, cause, args);
    va_end(args);
    const bool named = rdd->name != NULL;
    error_set(&rdd->g->error, code, "error in the job's plan, not in its input",
              "%s%s%s%s (RDD %u): %s", rdd->op->name, named ? " \"" : "", named ? rdd->name : "",
              named ? "\"" : "", rdd->id, text);
    return NULL;
}

static bool function_type_fits(enum glint_type wanted, enum glint_type have)
{
    wanted = codec_column_type(wanted);
    have = codec_column_type(have); /* of a stage that begins with a shuffle: the same function's */
    /* Text is bytes, but not the other way round: bytes need not be UTF-8. */
    bool text_as_bytes = wanted == GLINT_BYTES && have == GLINT_TEXT;
    return wanted == GLINT_ANY || wanted == have || text_as_bytes;
}

static enum glint_type function_output_type(enum glint_type declared, enum glint_type in)
{
    return declared == GLINT_SAME || declared == GLINT_ANY ? in : codec_column_type(declared);
}

static bool is_number_type(enum glint_type type)
{
    return type == GLINT_I64 || type == GLINT_F64;
}

/* Returns the callback that a function of this kind needs and lacks; NULL: complete. */
static const char *find_missing_callback(const struct glint_function *fn)
{
    bool by_columns = fn->merge_i64 != NULL && fn->in.value == GLINT_I64;
    switch (fn->kind) {
    case GLINT_KIND_MAP:
    case GLINT_KIND_FLAT_MAP: return fn->each != NULL || fn->batch != NULL ? NULL : "each";
    case GLINT_KIND_FILTER: return fn->keep != NULL || fn->keep_batch != NULL ? NULL : "keep";
    case GLINT_KIND_GROUP:
        if (fn->begin_group == NULL) return "begin_group";
        return fn->each == NULL ? "each" : fn->end_group == NULL ? "end_group" : NULL;
    case GLINT_KIND_REDUCE: return fn->merge != NULL || by_columns ? NULL : "merge";
    case GLINT_KIND_AGGREGATE:
        return fn->merge == NULL ? "merge" : fn->combine == NULL ? "combine" : NULL;
    case GLINT_KIND_PARTITION: return fn->partition != NULL ? NULL : "partition";
    }
    return "kind";
}

int op_check_function(const struct op *op, const struct glint_function *fn, struct glint_schema in,
                      struct glint_error *error)
{
    const char *hint = "error in the job's plan, not in its input";
    const char *name = fn->name;
    if ((op->function_kinds & (1u << fn->kind)) == 0)
        return error_set(error, GLINT_E_PLAN_FUNCTION, hint,
                         "%s does not accept %s, whose kind is %s", op->name, name,
                         function_kind_names[fn->kind]);
    if (codec_struct_size(fn->in.key) != 0 || codec_struct_size(fn->out.key) != 0 ||
        codec_struct_size(fn->in.value) > STRUCT_BYTES_MAX ||
        codec_struct_size(fn->out.value) > STRUCT_BYTES_MAX)
        return error_set(error, GLINT_E_PLAN_TYPE, hint,
                         "%s: %s has a GLINT_STRUCT as a key, or one of more than %llu bytes",
                         op->name, name, (unsigned long long)STRUCT_BYTES_MAX);
    if (find_missing_callback(fn) != NULL)
        return error_set(error, GLINT_E_PLAN_FUNCTION, hint, "%s: %s has no callback %s", op->name,
                         name, find_missing_callback(fn));
    const bool fits =
        op->takes_accumulators
            ? fn->out.value <= GLINT_SAME || function_type_fits(fn->out.value, in.value)
            : function_type_fits(fn->in.key, in.key) && function_type_fits(fn->in.value, in.value);
    if (!fits)
        return error_set(error, GLINT_E_PLAN_TYPE, hint,
                         "%s: %s takes (%s, %s), the RDD has (%s, %s)", op->name, name,
                         codec_type_name(fn->in.key), codec_type_name(fn->in.value),
                         codec_type_name(in.key), codec_type_name(in.value));
    if (fn->chunk_bytes_max > 0 && is_number_type(in.value))
        return error_set(error, GLINT_E_PLAN_TYPE, hint,
                         "%s: %s has chunk_bytes_max, but its values are %s", op->name, name,
                         codec_type_name(in.value));
    return 0;
}

int plan_check_function(struct glint *g, const struct op *op, const struct glint_function *fn,
                        struct glint_schema in)
{
    if (fn == NULL)
        return error_set(&g->error, GLINT_E_PLAN_FUNCTION, NULL, "%s: the function is NULL",
                         op->name);
    if (fn->struct_size != 0 && fn->struct_size != sizeof *fn)
        return error_set(&g->error, GLINT_E_PLAN_FUNCTION, "compile the program with this version",
                         "%s: a function was compiled with the headers of another version of glint",
                         op->name);
    if (fn->name == NULL || fn->name[0] == '\0' || strlen(fn->name) >= NAME_BYTES_MAX)
        return error_set(&g->error, GLINT_E_PLAN_FUNCTION, "name it MODULE.FUNCTION",
                         "%s: a function's name must have 1 to %u bytes", op->name,
                         NAME_BYTES_MAX - 1);
    const struct glint_function *found = registry_find_function(&g->config, fn->name);
    if (found == NULL)
        return error_set(&g->error, GLINT_E_PLAN_FUNCTION, "list it among the job's functions",
                         "%s: %s is not a function of this program", op->name, fn->name);
    if (found != fn)
        return error_set(&g->error, GLINT_E_PLAN_FUNCTION, "give each function a unique name",
                         "%s: this program has another function named %s", op->name, fn->name);
    return op_check_function(op, fn, in, &g->error);
}

static void copy_shuffle_dependency(struct glint_rdd *rdd, const struct shuffle_dependency *from)
{
    struct shuffle_dependency *to = &rdd->dependency;
    *to = *from;
    if (from->zero.size > 0) to->zero = rdd_copy_slice(rdd, from->zero);
    if (from->partition_args.size > 0)
        to->partition_args = rdd_copy_slice(rdd, from->partition_args);
    if (from->bound_count == 0) return;
    struct glint_slice *bounds = rdd_alloc(rdd, sizeof *bounds * from->bound_count);
    for (uint32_t i = 0; bounds != NULL && i < from->bound_count; i++)
        bounds[i] = rdd_copy_slice(rdd, from->bounds[i]);
    to->bounds = bounds;
}

struct glint_rdd *rdd_create(struct glint *g, const struct rdd_spec *spec)
{
    if (g == NULL || context_failed(g)) return NULL;
    struct glint_schema in = {GLINT_NONE, GLINT_NONE};
    if (spec->parents[0] != NULL) in = spec->parents[0]->schema;
    const struct glint_function *fn = spec->function;
    if (spec->op->function_kinds != 0 && plan_check_function(g, spec->op, fn, in) != 0) return NULL;
    for (int i = 0; i < 2 && spec->parents[i] != NULL; i++)
        if (rdd_check_usable(spec->parents[i], spec->op->name) != 0) return NULL;
    /* Bounds the memory of a job that builds plans in a loop, and the stacks of the walks. */
    if (g->rdd_count >= PLAN_NODES_MAX || g->next_rdd == UINT32_MAX) {
        error_set(&g->error, GLINT_E_PLAN_LIMIT,
                  "release RDDs that are no longer needed; cut a long lineage with a checkpoint",
                  "a job has at most %u operators at a time", PLAN_NODES_MAX);
        return NULL;
    }
    assert(spec->function == NULL || spec->op->function_kinds != 0);
    struct glint_rdd *rdd = rdd_add(g);
    if (rdd == NULL) return NULL;
    rdd->op = spec->op;
    for (int i = 0; i < 2 && spec->parents[i] != NULL; i++) {
        assert(spec->parents[i]->g == g);
        rdd->parents[rdd->parent_count++] = rdd_ref(spec->parents[i]);
    }
    rdd_inherit_sources(rdd);
    rdd->side = rdd->parent_count > 0;
    for (uint32_t i = 0; i < rdd->parent_count; i++) {
        rdd->side &= rdd->parents[i]->side;
        rdd->unsized |= rdd->parents[i]->unsized;
    }
    rdd->schema = spec->schema;
    if (rdd->schema.key == GLINT_ANY)
        rdd->schema.key = fn ? function_output_type(fn->out.key, in.key) : in.key;
    if (rdd->schema.value == GLINT_ANY)
        rdd->schema.value = fn ? function_output_type(fn->out.value, in.value) : in.value;
    rdd->grouped = spec->grouped;
    rdd->key_partitioned = spec->key_partitioned;
    rdd->partitioner_fixed = spec->partitioner_fixed;
    rdd->fn = fn;
    rdd->args = args_encode(rdd->g, rdd, spec->args, fn);
    rdd->params = rdd_copy_slice(rdd, spec->params);
    copy_shuffle_dependency(rdd, &spec->dependency);
    return context_failed(g) ? NULL : rdd; /* after an error the context frees it */
}

struct glint_rdd *rdd_create_packed(struct glint *g, const struct rdd_spec *spec,
                                    struct packer *params)
{
    struct rdd_spec with = *spec;
    struct glint_rdd *rdd = NULL;
    assert(spec->params.size == 0);
    with.params = buffer_slice(&params->out);
    if (params->failed)
        error_no_memory(&g->error);
    else
        rdd = rdd_create(g, &with);
    packer_fini(params);
    return rdd;
}

struct glint_rdd *rdd_add_split(struct glint_rdd *rdd, struct glint_slice split)
{
    struct glint *g = rdd->g;
    assert(rdd->op->kind == OP_SOURCE && !rdd->counted);
    if (rdd->partitions == PARTITIONS_MAX)
        return rdd_fail(rdd, GLINT_E_PLAN_LIMIT,
                        "more than %u splits; use larger splits: --split-size", PARTITIONS_MAX);
    if (!array_reserve(&rdd->splits, &rdd->split_capacity, rdd->partitions + 1,
                       sizeof *rdd->splits)) {
        error_no_memory(&g->error);
        return NULL;
    }
    struct glint_slice copy = rdd_copy_slice(rdd, split);
    if (copy.data == NULL) return NULL;
    assert(rdd->op->kind == OP_SOURCE && rdd->partitions < rdd->split_capacity);
    rdd->splits[rdd->partitions++] = copy;
    return rdd;
}

struct glint_slice context_encode_value(struct glint *g, enum glint_type type,
                                        const union glint_value *v)
{
    uint8_t scratch[CODEC_NUMBER_BYTES];
    return scope_copy_slice(g, codec_encode(type, v, scratch));
}

struct glint_slice rdd_encode_value(struct glint_rdd *rdd, enum glint_type type,
                                    const union glint_value *v)
{
    uint8_t scratch[CODEC_NUMBER_BYTES];
    return rdd_copy_slice(rdd, codec_encode(type, v, scratch));
}

/* ---- Partition counts */

static uint32_t partition_count_for_input(const struct glint_rdd *rdd)
{
    if (rdd->g->config.partitions > 0) return rdd->g->config.partitions;
    uint64_t n = rdd->decoded_bytes / PARTITION_INPUT_BYTES;
    if (rdd->decoded_bytes % PARTITION_INPUT_BYTES > 0) n++;
    return n < 1 ? 1 : n > PARTITIONS_DEFAULT_MAX ? PARTITIONS_DEFAULT_MAX : (uint32_t)n;
}

static void make_source_splits(struct glint_rdd *rdd)
{
    uint64_t bytes = rdd->g->config.split_bytes;
    if (bytes == 0 && rdd->split_bytes_requested > 0) {
        /* A request can only enlarge splits: smaller ones would only add overhead. */
        uint64_t usual = split_bytes_default(rdd->input_bytes);
        bytes = rdd->split_bytes_requested > usual ? rdd->split_bytes_requested : usual;
    }
    if (rdd->partitions_requested > 0) {
        const uint64_t least = rdd->input_bytes / rdd->partitions_requested;
        if (bytes == 0) bytes = split_bytes_default(rdd->input_bytes);
        if (bytes > least) bytes = least > 0 ? least : 1;
    }
    assert(rdd->op->kind == OP_SOURCE && rdd->partitions == 0);
    rdd->make_splits(rdd, bytes);
    context_check_interrupt(rdd->g);
    /* Explain: an output that is not saved yet has unknown parts; give each an empty split. */
    const struct glint_slice unwritten = {NULL, 0};
    for (uint32_t i = 0; i < rdd->unwritten_parts && !context_failed(rdd->g); i++)
        rdd_add_split(rdd, unwritten);
}

/* Each partition has one of each parent. */
static void pair_partitions_of_parents(struct glint_rdd *rdd, uint32_t first, uint32_t second)
{
    rdd->partitions = first;
    if (first != second)
        rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT,
                 "one RDD has %u partitions, the other %u: repartition one of them", first, second);
}

/* Counts the partitions of one node whose parents are counted. */
static void compute_partition_count(struct glint_rdd *rdd)
{
    uint32_t first = rdd->parent_count > 0 ? rdd->parents[0]->partitions : 0;
    uint32_t second = rdd->parent_count > 1 ? rdd->parents[1]->partitions : 0;
    for (uint32_t i = 0; i < rdd->parent_count; i++)
        if (rdd->parents[i]->partitions_inherited > rdd->partitions_inherited)
            rdd->partitions_inherited = rdd->parents[i]->partitions_inherited;
    switch (rdd->op->kind) {
    case OP_SOURCE: break;
    case OP_WIDE:
        if (rdd->partitions_requested > 0) rdd->partitions_inherited = rdd->partitions_requested;
        rdd->partitions = rdd->partitions_inherited > 0 ? rdd->partitions_inherited
                                                        : partition_count_for_input(rdd);
        partitioning_reuse(rdd);
        break;
    case OP_UNION:
        if (!rdd->narrow) partitioning_align_union(rdd);
        if (rdd->narrow)
            pair_partitions_of_parents(rdd, first, second);
        else
            rdd->partitions = first + second;
        break;
    case OP_ZIP: pair_partitions_of_parents(rdd, first, second); break;
    case OP_CARTESIAN:
        rdd->partitions =
            first <= PARTITIONS_MAX / (second > 0 ? second : 1) ? first * second : UINT32_MAX;
        break;
    case OP_COALESCE:
        rdd->partitions = rdd->partitions_requested < first ? rdd->partitions_requested : first;
        break;
    default: rdd->partitions = first;
    }
    if (rdd->partitions > PARTITIONS_MAX)
        rdd_fail(rdd, GLINT_E_PLAN_LIMIT, "%u partitions; the limit is %u", rdd->partitions,
                 PARTITIONS_MAX);
}

/* Visits parents first, with an explicit stack: a long chain would overflow the call stack. */
uint32_t rdd_partition_count(struct glint_rdd *rdd)
{
    struct glint *g = rdd->g;
    /* One that the job has released may be counted for what descends from it. */
    if (rdd->refs == 0 ? rdd_check_usable(rdd, "numPartitions") != 0 : context_failed(g)) return 0;
    if (rdd->counted) return rdd->partitions;
    const uint32_t capacity = 2 * g->rdd_count + 2;
    assert(g->rdd_count <= PLAN_NODES_MAX);
    struct glint_rdd **stack = mem_alloc(sizeof *stack * capacity);
    if (stack == NULL) {
        error_no_memory(&g->error);
        return 0;
    }
    uint32_t depth = 0;
    stack[depth++] = rdd;
    while (depth > 0 && !context_failed(g)) {
        struct glint_rdd *r = stack[depth - 1];
        bool has_uncounted_parent = false;
        for (uint32_t i = 0; i < r->parent_count && !r->counted; i++) {
            if (r->parents[i]->counted) continue;
            assert(depth < capacity);
            stack[depth++] = r->parents[i];
            has_uncounted_parent = true;
        }
        if (has_uncounted_parent) continue;
        depth--;
        if (r->counted) continue;
        if (r->op->kind == OP_SOURCE && r->make_splits != NULL) make_source_splits(r);
        compute_partition_count(r);
        r->counted = !context_failed(g);
        if (!r->counted && r->make_splits != NULL) r->partitions = 0; /* glint_clear_error */
    }
    mem_free(stack);
    return context_failed(g) ? 0 : rdd->partitions;
}

uint32_t glint_partitions(struct glint_rdd *rdd)
{
    if (rdd == NULL || rdd_check_usable(rdd, "numPartitions") != 0) return 0;
    return rdd_partition_count(rdd);
}

/* Returns the wide RDD to which a request about `rdd` applies, or NULL with the error set. */
static struct glint_rdd *find_settable_shuffle(struct glint_rdd *rdd, const char *what)
{
    struct glint_rdd *shuffle_rdd = rdd->shuffle != NULL ? rdd->shuffle : rdd;
    if (rdd_check_usable(rdd, what) != 0) return NULL;
    if (shuffle_rdd->op->kind == OP_WIDE && !shuffle_rdd->counted) return shuffle_rdd;
    return rdd_fail(rdd, GLINT_E_PLAN_LIMIT, "the %s cannot be set: %s", what,
                    shuffle_rdd->counted ? "it is already fixed" : "the RDD has no shuffle");
}

struct glint_rdd *glint_with_partitions(struct glint_rdd *rdd, uint32_t partitions)
{
    if (rdd == NULL) return rdd_fail_null("withPartitions");
    const bool files = rdd->op->kind == OP_SOURCE && rdd->inputs != NULL && !rdd->counted;
    struct glint_rdd *shuffle_rdd =
        files ? rdd : find_settable_shuffle(rdd, "number of partitions");
    if (shuffle_rdd == NULL || rdd_check_usable(rdd, "withPartitions") != 0) return NULL;
    if (partitions > PARTITIONS_MAX)
        return rdd_fail(rdd, GLINT_E_PLAN_LIMIT, "%u partitions; the limit is %u", partitions,
                        PARTITIONS_MAX);
    shuffle_rdd->partitions_requested = partitions;
    return rdd;
}

/* It is printed in one line, also on terminals. */
static bool is_rdd_name_valid(const char *name)
{
    const uint64_t size = strlen(name);
    uint64_t at = 0;
    while (at < size) {
        const unsigned step = utf8_printable_size((const uint8_t *)name + at, size - at);
        if (step == 0) return false;
        at += step;
    }
    return size > 0 && size < NAME_BYTES_MAX;
}

struct glint_rdd *glint_with_name(struct glint_rdd *rdd, const char *name)
{
    if (rdd == NULL) return rdd_fail_null("withName");
    if (rdd_check_usable(rdd, "withName") != 0) return NULL;
    if (name == NULL || !is_rdd_name_valid(name))
        return rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT,
                        "a name must have 1 to %u bytes of UTF-8, without control characters",
                        NAME_BYTES_MAX - 1);
    const struct glint_slice text = {(const uint8_t *)name, strlen(name)};
    rdd->name = (const char *)rdd_copy_slice(rdd, text).data; /* ends with 0 */
    if (rdd->shuffle != NULL)
        rdd->shuffle->name = (const char *)rdd_copy_slice(rdd->shuffle, text).data;
    return context_failed(rdd->g) ? NULL : rdd;
}

const struct op op_with_partitioner = {.name = "withPartitioner",
                                       .function_kinds = 1u << GLINT_KIND_PARTITION};

struct glint_rdd *glint_with_partitioner(struct glint_rdd *rdd,
                                         const struct glint_function *function,
                                         struct glint_args *args)
{
    if (rdd == NULL) return rdd_fail_null(op_with_partitioner.name);
    struct glint_rdd *shuffle_rdd = find_settable_shuffle(rdd, "partitioner");
    if (shuffle_rdd == NULL) return NULL;
    if (!shuffle_rdd->key_partitioned || shuffle_rdd->dependency.partitioner == PARTITION_RANGE)
        return rdd_fail(rdd, GLINT_E_PLAN_FUNCTION,
                        "the partitioner cannot be set: %s does not partition by key",
                        shuffle_rdd->op->name);
    if (plan_check_function(rdd->g, &op_with_partitioner, function, shuffle_rdd->schema) != 0)
        return NULL;
    shuffle_rdd->partitioner_fixed = true;
    shuffle_rdd->dependency.partitioner = PARTITION_FUNCTION;
    shuffle_rdd->dependency.partition_fn = function;
    shuffle_rdd->dependency.partition_args =
        args_encode(shuffle_rdd->g, shuffle_rdd, args, function);
    return context_failed(rdd->g) ? NULL : rdd;
}

struct glint_rdd *glint_with_split_bytes(struct glint_rdd *rdd, uint64_t bytes)
{
    if (rdd == NULL) return rdd_fail_null("withSplitBytes");
    struct glint_rdd *source = rdd;
    while (source->parent_count == 1 && source->op->kind == OP_NARROW) source = source->parents[0];
    if (!source->counted) source->split_bytes_requested = bytes;
    return rdd;
}

bool rdd_is_explain_only(const struct glint_rdd *rdd)
{
    return rdd->g->config.explain && !rdd->side;
}

uint64_t glint_input_bytes(const struct glint_rdd *rdd)
{
    return rdd != NULL ? rdd->input_bytes : 0;
}

void rdd_coalesce_range(uint32_t parent_partitions, uint32_t partitions, uint32_t p,
                        uint32_t *out_first, uint32_t *out_end)
{
    assert(p < partitions);
    *out_first = (uint32_t)((uint64_t)parent_partitions * p / partitions);
    *out_end = (uint32_t)((uint64_t)parent_partitions * (p + 1) / partitions);
}

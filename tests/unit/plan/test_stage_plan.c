/* Stages: made from plans, encoded and decoded, and rejected if the bytes are corrupt. */
#include "engine/plan/context_config.h"
#include "engine/records/pack.h"
#include "tests/unit/plan/fixture.h"

#include <criterion/criterion.h>
#include <string.h>

static struct glint g;
static struct glint_error error;
static int64_t live;

static void open_plan(void)
{
    live = mem_live_blocks();
    plan_open(&g);
    error.code = GLINT_OK;
}

static void close_plan(void)
{
    context_fini(&g);
    cr_expect_eq(mem_live_blocks(), live);
}

TestSuite(stage_plan, .init = open_plan, .fini = close_plan);

/* src -+- map -+- union - coalesce - wide (range) - map - act
 *      |       |
 *      +-------+                                              */
struct plan {
    struct glint_rdd *source, *shuffle_rdd, *last;
};

static struct plan make_plan(void)
{
    static const struct glint_slice bounds[] = {{(const uint8_t *)"bee", 3},
                                                {(const uint8_t *)"fly", 3}};
    struct plan p;
    p.source = plan_source(&g, 5);
    struct glint_rdd *a = plan_node(&op_nar, p.source, NULL);
    struct glint_rdd *few = plan_node(&op_coa, plan_node(&op_uni, a, p.source), NULL);
    few->partitions_requested = 4;
    p.shuffle_rdd = glint_with_partitions(plan_node(&op_wid, few, NULL), 3);
    p.shuffle_rdd->dependency = (struct shuffle_dependency){.partitioner = PARTITION_RANGE,
                                                            .descending = true,
                                                            .combine = COMBINE_FOLD,
                                                            .bounds = bounds,
                                                            .bound_count = 2,
                                                            .zero = {(const uint8_t *)"zero", 4}};
    p.last = plan_call(p.shuffle_rdd, &op_fun, "t.map_text");
    cr_assert_eq(rdd_partition_count(p.last), 3);
    return p;
}

static void expect_same(const struct stage_plan *a, const struct stage_plan *b)
{
    cr_assert_eq(a->node_count, b->node_count);
    cr_assert_eq(a->output_count, b->output_count);
    for (uint32_t i = 0; i < a->output_count; i++) cr_expect_str_eq(a->outputs[i], b->outputs[i]);
    for (uint32_t i = 0; i < a->node_count; i++) {
        const struct stage_node *x = &a->nodes[i], *y = &b->nodes[i];
        cr_expect(x->rdd == y->rdd && x->op == y->op && x->fn == y->fn);
        cr_expect(x->args.size == y->args.size && x->params.size == y->params.size);
        cr_expect(x->args.size == 0 || memcmp(x->args.data, y->args.data, x->args.size) == 0);
        cr_expect(x->schema.key == y->schema.key && x->schema.value == y->schema.value);
        cr_expect(x->grouped == y->grouped && x->partitions == y->partitions);
        cr_expect(x->parents[0] == y->parents[0] && x->parents[1] == y->parents[1]);
        cr_expect(x->dependency.partitioner == y->dependency.partitioner &&
                  x->dependency.combine == y->dependency.combine);
        cr_expect_eq(x->dependency.descending, y->dependency.descending);
        cr_expect_eq(x->dependency.partition_fn, y->dependency.partition_fn);
        cr_assert_eq(x->dependency.partition_args.size, y->dependency.partition_args.size);
        cr_expect(x->dependency.partition_args.size == 0 ||
                  memcmp(x->dependency.partition_args.data, y->dependency.partition_args.data,
                         x->dependency.partition_args.size) == 0);
        cr_expect_eq(x->dependency.zero.size, y->dependency.zero.size);
        cr_assert_eq(x->dependency.bound_count, y->dependency.bound_count);
        for (uint32_t j = 0; j < x->dependency.bound_count; j++)
            cr_expect_eq(memcmp(x->dependency.bounds[j].data, y->dependency.bounds[j].data,
                                x->dependency.bounds[j].size),
                         0);
    }
}

static struct buffer encode_stage(struct stage_plan *s)
{
    struct buffer bytes = {NULL, 0, 0};
    cr_assert_eq(stage_plan_encode(s, &bytes, &error), 0);
    return bytes;
}

static struct glint_slice whole(const struct buffer *b)
{
    return (struct glint_slice){b->data, b->size};
}

static void there_and_back(struct stage_plan *s)
{
    struct stage_plan back;
    struct buffer bytes = encode_stage(s);
    cr_assert_eq(stage_plan_decode(&back, whole(&bytes), &plan_config, &error), 0, "%s",
                 error.cause);
    expect_same(s, &back);
    stage_plan_fini(&back);
    buffer_fini(&bytes);
}

Test(stage_plan, plan_is_cut_at_the_shuffle)
{
    struct plan p = make_plan();
    struct stage_plan s;
    cr_assert_eq(stage_plan_create(&s, NULL, p.shuffle_rdd), 0);
    cr_assert_eq(s.node_count, 5);
    cr_expect(s.nodes[0].op == &op_src && s.nodes[4].op == &op_wid);
    cr_expect(s.nodes[2].parents[0] == 1 && s.nodes[2].parents[1] == 0);
    cr_expect_eq(stage_plan_task_count(&s), 4);
    there_and_back(&s);
    stage_plan_fini(&s);

    struct action action = {.op = &op_act, .rdd = p.last};
    cr_assert_eq(stage_plan_create(&s, &action, NULL), 0);
    for (uint32_t i = 0; i < ACTION_OUTPUTS_MAX; i++) {
        there_and_back(&s);
        cr_assert_eq(stage_plan_add_output(&s, "some/directory", &error), 0);
    }
    cr_assert_eq(s.node_count, 3); /* the shuffle is a source here */
    cr_expect(s.nodes[0].op == &op_wid && s.nodes[0].parents[0] == STAGE_NO_PARENT);
    cr_expect_eq(s.nodes[0].rdd, p.shuffle_rdd->id);
    cr_expect_eq(stage_plan_task_count(&s), 3);
    there_and_back(&s);
    stage_plan_fini(&s);

    action.rdd = p.shuffle_rdd; /* nothing between the shuffle and the action */
    cr_assert_eq(stage_plan_create(&s, &action, NULL), 0);
    cr_expect_eq(s.node_count, 2);
    there_and_back(&s);
    stage_plan_fini(&s);
}

static int count_wide(void *arg, struct glint_rdd *shuffle_rdd)
{
    cr_expect_eq(shuffle_rdd->op->kind, OP_WIDE);
    ++*(int *)arg;
    return 0;
}

Test(stage_plan, each_shuffle_is_visited_once)
{
    struct plan p = make_plan();
    struct glint_rdd *twice = plan_node(&op_uni, p.last, plan_node(&op_nar, p.shuffle_rdd, NULL));
    int count = 0;
    cr_expect_eq(rdd_visit_shuffle_inputs(twice, count_wide, &count), 0);
    cr_expect_eq(count, 1);
    cr_expect_eq(rdd_visit_shuffle_inputs(p.shuffle_rdd, count_wide, &count), 0);
    cr_expect_eq(count, 2);
    cr_expect_eq(rdd_visit_shuffle_inputs(p.source, count_wide, &count), 0);
    cr_expect_eq(count, 2);
}

Test(stage_plan, too_long_output_path_is_rejected)
{
    struct plan p = make_plan();
    char path[2000];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct stage_plan s;
    struct action action = {.op = &op_act, .rdd = p.last};
    cr_assert_eq(stage_plan_create(&s, &action, NULL), 0);
    cr_expect_eq(stage_plan_add_output(&s, path, &error), GLINT_E_OUTPUT_CREATE);
    path[OUTPUT_PATH_BYTES_MAX - 1] = '\0';
    error.code = GLINT_OK;
    cr_expect_eq(stage_plan_add_output(&s, path, &error), 0);
    there_and_back(&s);
    stage_plan_fini(&s);
}

/* The splits of a partition as a string of digits: each split's text is its number, see
 * plan_source. */
static void expect_splits(struct glint_rdd *rdd, uint32_t partition, const char *expected)
{
    struct buffer bytes;
    char found[64];
    size_t n = 0;
    cr_assert_eq(rdd_encode_partition_splits(&g, rdd, partition, &bytes), 0);
    struct unpacker u = unpack_begin(whole(&bytes));
    cr_assert_not(u.failed);
    while (u.next < u.count && n + 1 < sizeof found) {
        struct glint_slice split = unpack_bytes(&u);
        memcpy(found + n, split.data, split.size);
        n += split.size;
    }
    found[n] = '\0';
    cr_expect(unpack_is_complete(&u));
    cr_expect_str_eq(found, expected);
    buffer_fini(&bytes);
}

Test(stage_plan, splits_follow_union_and_coalesce)
{
    struct plan p = make_plan();
    struct glint_rdd *both = plan_node(&op_uni, plan_node(&op_nar, p.source, NULL), p.source);
    struct glint_rdd *one = plan_node(&op_coa, both, NULL);
    one->partitions_requested = 1;
    struct glint_rdd *mixed = plan_node(&op_uni, p.last, both);
    cr_assert_eq(rdd_partition_count(one), 1);
    cr_assert_eq(rdd_partition_count(mixed), 13);
    expect_splits(both, 0, "0");
    expect_splits(both, 4, "4");
    expect_splits(both, 5, "0");
    expect_splits(one, 0, "0123401234");
    expect_splits(p.shuffle_rdd->parents[0], 0, "01");
    expect_splits(p.shuffle_rdd->parents[0], 1, "234");
    expect_splits(p.last, 0, ""); /* reads a shuffle, no split */
    expect_splits(mixed, 2, "");
    expect_splits(mixed, 3, "0");
}

/* ---- RDDs whose blocks are read */

static bool reads_blocks_of(struct driver *d, struct glint_rdd *rdd)
{
    return (struct glint_rdd *)(void *)d == rdd;
}
static struct block_location find_block_of(struct driver *d, const struct glint_rdd *rdd,
                                           uint32_t partition)
{
    (void)d;
    (void)rdd;
    return (struct block_location){.executor = partition, .bytes = 100 + partition};
}
static const struct runner block_runner = {.reads_blocks = reads_blocks_of,
                                           .find_block = find_block_of};

/* A coalesced partition of a union of which the blocks of two partitions or more are read. */
static void expect_block_splits(struct glint_rdd *rdd, uint32_t partition)
{
    struct buffer bytes;
    uint32_t first, end;
    rdd_coalesce_range(rdd->parents[0]->partitions, rdd->partitions, partition, &first, &end);
    cr_assert_eq(rdd_encode_partition_splits(&g, rdd, partition, &bytes), 0);
    struct unpacker u = unpack_begin(whole(&bytes));
    cr_assert(!u.failed && end > first);
    cr_expect_eq(u.count, 2 * (end - first));
    for (uint32_t i = first; i < end; i++) {
        cr_expect_eq(unpack_u64(&u, UINT32_MAX), i);
        cr_expect_eq(unpack_u64(&u, UINT64_MAX), 100 + i);
    }
    cr_expect(unpack_is_complete(&u));
    buffer_fini(&bytes);
}

Test(stage_plan, plan_ends_at_blocks)
{
    struct plan p = make_plan();
    struct glint_rdd *kept = p.shuffle_rdd->parents[0]->parents[0]; /* the union */
    struct glint_rdd *join = plan_node(&op_uni, plan_node(&op_nar, p.last, NULL), p.last);
    struct stage_plan s;
    struct action action = {.op = &op_act, .rdd = join};
    cr_assert_eq(rdd_partition_count(join), 6);
    kept->persist = p.last->persist = GLINT_MEMORY;
    g.runner = &block_runner;
    g.driver = (struct driver *)(void *)kept;
    cr_assert_eq(stage_plan_create(&s, NULL, p.shuffle_rdd), 0);
    cr_assert_eq(s.node_count, 3);
    cr_expect(s.reads_blocks && stage_node_reads_blocks(&s.nodes[0]) && s.nodes[0].op == &op_uni);
    cr_expect_not(stage_node_reads_blocks(&s.nodes[1]));
    there_and_back(&s);
    stage_plan_fini(&s);
    expect_block_splits(p.shuffle_rdd->parents[0], 1);

    g.driver = (struct driver *)(void *)p.last;
    cr_assert_eq(stage_plan_create(&s, &action, NULL), 0);
    cr_assert_eq(s.node_count, 4);
    cr_expect(s.nodes[0].rdd == p.last->id && stage_node_reads_blocks(&s.nodes[0]));
    there_and_back(&s);
    s.nodes[3].persist = GLINT_MEMORY; /* an action has none */
    s.nodes[3].parents[0] = STAGE_NO_PARENT;
    struct buffer bytes = encode_stage(&s);
    struct stage_plan back;
    cr_expect_eq(stage_plan_decode(&back, whole(&bytes), &plan_config, &error), GLINT_E_PROTOCOL);
    buffer_fini(&bytes);
    stage_plan_fini(&s);

    int count = 0; /* a block can be lost, so the shuffle above is needed */
    cr_expect_eq(rdd_visit_shuffle_inputs(join, count_wide, &count), 0);
    cr_expect_eq(count, 1);
    cr_assert_not_null(p.last->stage_inputs);
    cr_expect(p.last->stage_input_count == 1 && p.last->stage_inputs[0] == p.shuffle_rdd);
    cr_expect_eq(rdd_visit_shuffle_inputs(join, count_wide, &count), 0);
    cr_expect_eq(count, 2);
    cr_assert_eq(stage_plan_create(&s, NULL, p.shuffle_rdd), 0);
    cr_expect(s.node_count == 5 && !s.reads_blocks);
    there_and_back(&s);
    stage_plan_fini(&s);
    g.runner = NULL;
    g.driver = NULL;
}

/* The map side of the shuffle, with a partitioner. */
static struct stage_plan partitioned_stage(struct plan *p, const char *function)
{
    struct stage_plan s;
    struct shuffle_dependency *d = &p->shuffle_rdd->dependency;
    d->partitioner = PARTITION_FUNCTION;
    d->partition_fn = registry_find_function(&plan_config, function);
    d->partition_args = (struct glint_slice){(const uint8_t *)"args", 4};
    cr_assert_eq(stage_plan_create(&s, NULL, p->shuffle_rdd), 0);
    return s;
}

/* ---- Corruption */

static void decode_damaged(struct glint_slice bytes)
{
    struct stage_plan s;
    error.code = GLINT_OK;
    int r = stage_plan_decode(&s, bytes, &plan_config, &error);
    cr_assert_eq(r, error.code);
    cr_assert(r == 0 || r == GLINT_E_PROTOCOL || r == GLINT_E_PLAN_FUNCTION ||
              r == GLINT_E_PLAN_TYPE);
    if (r != 0) return;
    cr_assert_leq(stage_plan_task_count(&s), PARTITIONS_MAX);
    stage_plan_fini(&s);
}

Test(stage_plan, damaged_bytes_decode_to_an_error_or_valid_stage)
{
    struct plan p = make_plan();
    struct stage_plan s = partitioned_stage(&p, "t.part_any");
    cr_assert_eq(stage_plan_add_output(&s, "out", &error), 0);
    cr_assert_eq(stage_plan_add_output(&s, "out2", &error), 0);
    struct buffer good = encode_stage(&s);
    uint8_t *bad = mem_alloc(good.size + 1);
    for (uint64_t size = 0; size < good.size; size++) {
        memcpy(bad, good.data, size);
        decode_damaged((struct glint_slice){bad, size});
        cr_expect_neq(error.code, GLINT_OK);
    }
    for (uint64_t i = 0; i < good.size; i++) {
        for (unsigned value = 0; value < 256; value++) {
            memcpy(bad, good.data, good.size);
            bad[i] = (uint8_t)value;
            decode_damaged((struct glint_slice){bad, good.size});
        }
    }
    memcpy(bad, good.data, good.size);
    bad[good.size] = 0;
    decode_damaged((struct glint_slice){bad, good.size + 1});
    cr_expect_eq(error.code, GLINT_E_PROTOCOL);
    mem_free(bad);
    buffer_fini(&good);
    stage_plan_fini(&s);
}

/* Stages that decode but cannot run. Each change to a valid stage must make it invalid. */
Test(stage_plan, misplaced_nodes_are_rejected)
{
    struct plan p = make_plan();
    for (int change = 0; change < 11; change++) {
        struct stage_plan s, back;
        cr_assert_eq(stage_plan_create(&s, NULL, p.shuffle_rdd), 0);
        struct stage_node *n = s.nodes; /* src, nar, uni, coa, wid */
        switch (change) {
        case 0: n[0].op = &op_nar; break;                 /* narrow without a parent */
        case 1: n[1].op = &op_src; break;                 /* a source with a parent */
        case 2: n[1].op = &op_act; break;                 /* an action that is not the root */
        case 3: n[1].op = &op_wid; break;                 /* a shuffle in the middle */
        case 4: n[2].parents[1] = STAGE_NO_PARENT; break; /* a union with one parent */
        case 5: n[2].partitions++; break;
        case 6: n[3].partitions = 11; break; /* a coalesce into more partitions */
        case 7: n[1].partitions--; break;
        case 8: n[4].parents[0] = STAGE_NO_PARENT; break; /* a root without input */
        case 9: n[4].partitions = 2; break;               /* as many bounds as partitions */
        default: n[1].parents[0] = 1;                     /* its own parent */
        }
        struct buffer bytes = encode_stage(&s);
        error.code = GLINT_OK;
        cr_expect_eq(stage_plan_decode(&back, whole(&bytes), &plan_config, &error),
                     GLINT_E_PROTOCOL, "change %d", change);
        buffer_fini(&bytes);
        stage_plan_fini(&s);
    }
}

/* A peer may name any function for any operator: the executor must reject whatever the driver
 * rejects. */
Test(stage_plan, mismatched_functions_are_rejected)
{
    struct plan p = make_plan();
    struct action action = {.op = &op_act, .rdd = p.last};
    static const enum glint_code codes[] = {GLINT_E_PROTOCOL, GLINT_E_PROTOCOL,
                                            GLINT_E_PLAN_FUNCTION, GLINT_E_PLAN_FUNCTION,
                                            GLINT_E_PLAN_TYPE};
    for (int change = 0; change < 5; change++) {
        struct stage_plan s, back;
        cr_assert_eq(stage_plan_create(&s, &action, NULL), 0);
        struct stage_node *n = &s.nodes[s.node_count - 2]; /* wid, fun, act */
        cr_assert(n->op == &op_fun && n->fn != NULL);
        switch (change) {
        case 0: n->op = &op_nar; break; /* an operator that takes no function */
        case 1: n->fn = NULL; break;
        case 2: n->op = &op_red; break; /* an operator that takes another kind of function */
        case 3: n->fn = registry_find_function(&plan_config, "t.hollow"); break;
        default: n->fn = registry_find_function(&plan_config, "t.map_number");
        }
        struct buffer bytes = encode_stage(&s);
        error.code = GLINT_OK;
        cr_expect_eq(stage_plan_decode(&back, whole(&bytes), &plan_config, &error), codes[change],
                     "change %d", change);
        buffer_fini(&bytes);
        stage_plan_fini(&s);
    }
}

Test(stage_plan, partitioner_crosses_the_wire_by_name)
{
    struct plan p = make_plan();
    struct stage_plan s = partitioned_stage(&p, "t.part_any");
    there_and_back(&s);
    stage_plan_fini(&s);
}

Test(stage_plan, mismatched_partitioners_are_rejected)
{
    struct plan p = make_plan();
    static const struct {
        const char *function;
        enum glint_code code;
    } cases[] = {
        {NULL, GLINT_E_PROTOCOL},
        {"t.hollow_part", GLINT_E_PLAN_FUNCTION}, /* no callback */
        {"t.map_text", GLINT_E_PLAN_FUNCTION},    /* another kind */
        {"t.part_number", GLINT_E_PLAN_TYPE},     /* the stage has no keys */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage_plan back, s = partitioned_stage(&p, cases[i].function);
        struct buffer bytes = encode_stage(&s);
        error.code = GLINT_OK;
        cr_expect_eq(stage_plan_decode(&back, whole(&bytes), &plan_config, &error), cases[i].code,
                     "case %zu: %s", i, error.cause);
        buffer_fini(&bytes);
        stage_plan_fini(&s);
    }
}

Test(stage_plan, unregistered_names_are_rejected)
{
    struct plan p = make_plan();
    struct stage_plan s, back;
    static const struct op *const no_ops[] = {NULL};
    static const struct glint_module *const no_modules[] = {NULL};
    struct action action = {.op = &op_act, .rdd = p.last};
    cr_assert_eq(stage_plan_create(&s, &action, NULL), 0);
    struct buffer bytes = encode_stage(&s);
    struct context_config other = plan_config;
    other.modules = no_modules;
    cr_expect_eq(stage_plan_decode(&back, whole(&bytes), &other, &error), GLINT_E_PLAN_FUNCTION);
    other.ops = no_ops;
    error.code = GLINT_OK;
    cr_expect_eq(stage_plan_decode(&back, whole(&bytes), &other, &error), GLINT_E_PLAN_FUNCTION);
    buffer_fini(&bytes);
    stage_plan_fini(&s);

    s = partitioned_stage(&p, "t.part_any");
    bytes = encode_stage(&s);
    other = plan_config;
    other.modules = no_modules;
    error.code = GLINT_OK;
    cr_expect_eq(stage_plan_decode(&back, whole(&bytes), &other, &error), GLINT_E_PLAN_FUNCTION);
    cr_expect_str_eq(error.cause, "this executor has no function named t.part_any");
    buffer_fini(&bytes);
    stage_plan_fini(&s);
}

Test(stage_plan, out_of_memory_is_reported)
{
    struct plan p = make_plan();
    for (int64_t n = 1; n < 20; n++) {
        struct stage_plan s, back = {.node_count = 0};
        struct buffer bytes = {NULL, 0, 0}, splits = {NULL, 0, 0};
        error.code = g.error.code = GLINT_OK;
        mem_fail_at(n, false);
        int r = stage_plan_create(&s, NULL, p.shuffle_rdd);
        if (r == 0) r = stage_plan_encode(&s, &bytes, &error);
        if (r == 0) r = stage_plan_decode(&back, whole(&bytes), &plan_config, &error);
        if (r == 0) stage_plan_fini(&back);
        if (r == 0) r = rdd_encode_partition_splits(&g, p.shuffle_rdd->parents[0], 0, &splits);
        mem_fail_at(0, false);
        cr_expect(r == 0 || r == GLINT_E_NO_MEMORY);
        buffer_fini(&splits);
        buffer_fini(&bytes);
        stage_plan_fini(&s);
    }
}

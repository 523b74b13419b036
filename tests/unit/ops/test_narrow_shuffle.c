/* Transformations by key whose inputs are partitioned already: the same rows, in the same order, as
 * with a shuffle of all inputs, and as few stages as in Spark. */
#include "tests/unit/ops/actions.h"

TestSuite(narrow_shuffle, .init = scratch_open, .fini = scratch_close);

enum { PARTITIONS = 5 };

typedef struct glint_rdd *(*two_sided)(struct glint_rdd *left, struct glint_rdd *right);
typedef struct glint_rdd *(*one_sided)(struct glint_rdd *rdd);

/* How the inputs of a plan are partitioned. */
enum inputs { NEITHER, LEFT, RIGHT, BOTH };

struct plan {
    struct table left, right;
    enum inputs partitioned;
    uint32_t requested; /* partitions of the result; 0: none */
    two_sided two;
    one_sided one;
};

/* By hash into PARTITIONS; without `known` the plan does not know it. */
static struct glint_rdd *partitioned(struct glint_rdd *rdd, bool known)
{
    rdd = glint_partition_by(rdd, PARTITIONS);
    return known ? rdd : glint_coalesce(rdd, PARTITIONS);
}

static struct glint_rdd *make(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    const struct input left = {.table = (struct table *)&p->left, .maps = 3},
                       right = {.table = (struct table *)&p->right, .maps = 4};
    struct glint_rdd *a = partitioned(input_rdd(g, &left), (p->partitioned & LEFT) != 0), *out;
    if (p->one != NULL)
        out = p->one(a);
    else
        out = p->two(a, partitioned(input_rdd(g, &right), (p->partitioned & RIGHT) != 0));
    return p->requested > 0 ? glint_with_partitions(out, p->requested) : out;
}

/* The rows with the first fixture, and the number of stages. */
static uint32_t collect_plan(struct plan *p, struct table *out)
{
    struct glint *g = fixture_open(&fixtures[0]);
    struct glint_rdd *rdd = make(g, p);
    table_collect(rdd, out);
    const uint32_t stages = glint_summarize(g)->stages;
    fixture_close(g, GLINT_OK);
    return stages;
}

/* Every way of partitioning gives the rows of a shuffle of all inputs, with these stages. */
static void expect_stages(struct plan *p, const char *name, uint32_t left, uint32_t both)
{
    struct table expected;
    const uint32_t stages[] = {both + 1, left, left, both};
    for (enum inputs i = NEITHER; i <= BOTH; i++) {
        struct table got;
        p->partitioned = i;
        const uint32_t got_stages = collect_plan(p, i == NEITHER ? &expected : &got);
        cr_expect_eq(got_stages, stages[i], "%s, inputs %d: %u stages", name, i, got_stages);
        if (i == NEITHER) {
            cr_assert_gt(expected.count, 0);
            continue;
        }
        table_expect(&got, &expected, name);
        table_free(&got);
        plan_expect(make, p, NULL, &expected);
    }
    table_free(&expected);
}

static struct plan make_plan(void)
{
    return (struct plan){.left = make_pairs(400, 70, 3), .right = make_pairs(150, 90, 4)};
}

static void plan_free(struct plan *p)
{
    table_free(&p->left);
    table_free(&p->right);
}

static struct glint_rdd *three(struct glint_rdd *left, struct glint_rdd *right)
{
    struct glint_rdd *const rdds[] = {left, right, left};
    return glint_group_with(rdds, 3);
}

static struct glint_rdd *reduced_union(struct glint_rdd *left, struct glint_rdd *right)
{
    return glint_reduce_by_key(glint_union(left, right), &GLINT_SUM_I64, NULL);
}

Test(narrow_shuffle, of_two_rdds)
{
    static const struct {
        const char *name;
        two_sided op;
    } ops[] = {{"join", glint_join},
               {"leftOuterJoin", glint_left_outer_join},
               {"rightOuterJoin", glint_right_outer_join},
               {"fullOuterJoin", glint_full_outer_join},
               {"cogroup", glint_cogroup},
               {"subtractByKey", glint_subtract_by_key},
               {"union and reduceByKey", reduced_union}};
    struct plan p = make_plan();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        p.two = ops[i].op;
        /* Two stages partition the inputs, one runs the action; one more shuffles one input. */
        expect_stages(&p, ops[i].name, 4, 3);
    }
    plan_free(&p);
}

Test(narrow_shuffle, of_many_rdds)
{
    struct plan p = make_plan();
    struct table expected, got;
    p.two = three;
    p.partitioned = NEITHER;
    cr_expect_eq(collect_plan(&p, &expected), 4);
    for (p.partitioned = LEFT; p.partitioned <= BOTH; p.partitioned++) {
        static const uint32_t stages[] = {4, 4, 5, 3};
        const uint32_t got_stages = collect_plan(&p, &got);
        cr_expect_eq(got_stages, stages[p.partitioned], "%d: %u stages", p.partitioned, got_stages);
        table_expect(&got, &expected, "groupWith");
        table_free(&got);
        plan_expect(make, &p, NULL, &expected);
    }
    table_free(&expected);
    plan_free(&p);
}

static struct glint_rdd *reduce(struct glint_rdd *rdd)
{
    return glint_reduce_by_key(rdd, &GLINT_SUM_I64, NULL);
}

static struct glint_rdd *fold(struct glint_rdd *rdd)
{
    return glint_fold_by_key(rdd, number(3), &GLINT_SUM_I64, NULL);
}

static struct glint_rdd *repartition_again(struct glint_rdd *rdd)
{
    return glint_partition_by(rdd, PARTITIONS);
}

static struct glint_rdd *sort_again(struct glint_rdd *rdd)
{
    return glint_repartition_and_sort_within_partitions(rdd, PARTITIONS, false);
}

/* Transformations that keep the partitioner between two that use it. */
static struct glint_rdd *chain(struct glint_rdd *rdd)
{
    return glint_mean_by_key(glint_group_by_key(glint_filter(reduce(rdd), fn("test.odd"), NULL)));
}

Test(narrow_shuffle, of_one_rdd)
{
    static const struct {
        const char *name;
        one_sided op;
    } ops[] = {{"reduceByKey", reduce},
               {"foldByKey", fold},
               {"groupByKey", glint_group_by_key},
               {"combineByKey", glint_mean_by_key},
               {"partitionBy", repartition_again},
               {"sorted partitions", sort_again},
               {"chain", chain}};
    struct plan p = make_plan();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct table expected, got;
        p.one = ops[i].op;
        p.partitioned = NEITHER;
        cr_expect_eq(collect_plan(&p, &expected), 3, "%s", ops[i].name);
        p.partitioned = LEFT;
        cr_expect_eq(collect_plan(&p, &got), 2, "%s", ops[i].name);
        table_expect(&got, &expected, ops[i].name);
        plan_expect(make, &p, NULL, &expected);
        table_free(&got);
        table_free(&expected);
    }
    plan_free(&p);
}

/* A number of partitions that the inputs do not have: all is shuffled. */
Test(narrow_shuffle, not_into_other_partitions)
{
    struct plan p = make_plan();
    struct table expected, got;
    p.two = glint_join;
    p.requested = PARTITIONS + 1;
    cr_expect_eq(collect_plan(&p, &expected), 4);
    p.partitioned = BOTH;
    cr_expect_eq(collect_plan(&p, &got), 4);
    table_expect(&got, &expected, "join");
    table_free(&got);
    p.requested = PARTITIONS;
    cr_expect_eq(collect_plan(&p, &got), 3);
    table_free(&got);
    table_free(&expected);
    plan_free(&p);
}

static struct glint_rdd *join_mapped(struct glint_rdd *left, struct glint_rdd *right)
{
    return glint_join(glint_union(left, right), glint_flat_map_values(left, &GLINT_SUM_I64, NULL));
}

/* union loses the partitioner; a function of the wrong kind is an error as ever. */
Test(narrow_shuffle, invalid_plans_stay_errors)
{
    struct plan p = make_plan();
    p.two = join_mapped;
    p.partitioned = BOTH;
    plan_expect_error(make, &p, NULL, GLINT_E_PLAN_FUNCTION, "flatMapValues does not accept");
    plan_free(&p);
}

/* ---- Partitioners of the job, and sorts */

static struct glint_rdd *numbered(struct glint *g, const struct table *t)
{
    const struct input in = {.table = (struct table *)t, .maps = 3};
    return input_rdd(g, &in);
}

static struct glint_rdd *by_remainder(struct glint_rdd *rdd, int64_t shift)
{
    struct glint_args *args = glint_bind(glint_context(rdd), &shift, sizeof shift);
    glint_args_add_i64(args, "base", 10);
    return glint_with_partitioner(rdd, fn("test.by_remainder"), args);
}

static struct table make_numbered(uint64_t seed)
{
    struct table t = {.schema = {GLINT_I64, GLINT_I64}};
    for (int64_t i = 0; i < 300; i++)
        table_add(&t, number((int64_t)(test_next(&seed) % 60)), number(i));
    return t;
}

/* Joins a partitioned RDD with another one, partitioned by the same function with the argument
 * `shift`, or not at all. */
struct functions {
    struct table table;
    int64_t shift; /* -1: not partitioned */
    bool known;
};

static struct glint_rdd *make_functions(struct glint *g, void *arg)
{
    const struct functions *f = arg;
    struct glint_rdd *a = by_remainder(partitioned(numbered(g, &f->table), true), 3);
    struct glint_rdd *b = numbered(g, &f->table);
    if (f->shift >= 0) b = by_remainder(partitioned(b, true), f->shift);
    if (f->known) return glint_join(a, b);
    a = glint_coalesce(a, PARTITIONS);
    b = glint_coalesce(b, PARTITIONS);
    return by_remainder(glint_with_partitions(glint_join(a, b), PARTITIONS), 3);
}

Test(narrow_shuffle, by_function)
{
    static const struct {
        int64_t shift;
        uint32_t stages;
    } cases[] = {{-1, 3}, {3, 3}, {4, 4}};
    struct functions f = {.table = make_numbered(9)};
    for (int i = 0; i < 3; i++) {
        struct table expected, got;
        f.shift = cases[i].shift;
        f.known = false;
        struct glint *g = fixture_open(&fixtures[0]);
        table_collect(make_functions(g, &f), &expected);
        fixture_close(g, GLINT_OK);
        f.known = true;
        g = fixture_open(&fixtures[0]);
        table_collect(make_functions(g, &f), &got);
        cr_expect_eq(glint_summarize(g)->stages, cases[i].stages, "shift %d", (int)f.shift);
        fixture_close(g, GLINT_OK);
        table_expect(&got, &expected, "join by a function");
        plan_expect(make_functions, &f, NULL, &expected);
        table_free(&got);
        table_free(&expected);
    }
    table_free(&f.table);
}

static struct glint_rdd *make_sorted(struct glint *g, void *arg)
{
    const struct functions *f = arg;
    const uint32_t partitions = f->known ? PARTITIONS : 1;
    struct glint_rdd *a = numbered(g, &f->table), *b = numbered(g, &f->table);
    a = glint_with_partitions(glint_sort_by_key(a, true), partitions);
    if (f->shift >= 0) return reduce(a);
    return f->known ? glint_join(a, b) : glint_with_partitions(glint_join(a, b), 1);
}

/* The result is partitioned by the bounds of the sort, so all of it is in order. */
Test(narrow_shuffle, after_a_sort)
{
    struct functions f = {.table = make_numbered(5)};
    for (f.shift = -1; f.shift < 1; f.shift++) {
        struct table expected;
        struct glint *g = fixture_open(&fixtures[0]);
        f.known = false;
        table_collect(make_sorted(g, &f), &expected);
        fixture_close(g, GLINT_OK);
        f.known = true;
        g = fixture_open(&fixtures[0]);
        struct glint_rdd *rdd = make_sorted(g, &f);
        cr_expect_eq(glint_partitions(rdd), PARTITIONS);
        fixture_close(g, GLINT_OK);
        plan_expect(make_sorted, &f, NULL, &expected);
        table_free(&expected);
    }
    table_free(&f.table);
}

/* ---- Unions */

Test(narrow_shuffle, unions_of_rdds_partitioned_alike_join_their_partitions)
{
    struct plan p = make_plan();
    p.two = glint_union;
    static const uint32_t partitions[] = {2 * PARTITIONS, 2 * PARTITIONS, 2 * PARTITIONS,
                                          PARTITIONS};
    for (p.partitioned = NEITHER; p.partitioned <= BOTH; p.partitioned++) {
        struct glint *g = fixture_open(&fixtures[0]);
        cr_expect_eq(glint_partitions(make(g, &p)), partitions[p.partitioned]);
        fixture_close(g, GLINT_OK);
    }
    plan_free(&p);
}

Test(narrow_shuffle, unions_of_partitions_whatever_partitioned_them)
{
    static const int64_t expected[] = {0, 1, 10, 11, 12, 2, 3, 13, 14, 15};
    struct glint *g = fixture_open(&fixtures[0]);
    struct glint_rdd *a = glint_range(g, 0, 4, 1, 2), *b = glint_range(g, 10, 16, 1, 2);
    struct glint_rdd *both = glint_union_partitions(a, b);
    struct glint_rows rows;
    struct glint_record found[10];
    cr_assert_eq(glint_partitions(both), 2);
    cr_assert_eq(glint_collect(both, &rows), 0);
    cr_assert_eq(rows.count, 10);
    glint_rows_records(&rows, 0, 10, found);
    for (uint32_t i = 0; i < 10; i++) cr_expect_eq(found[i].value.i64, expected[i]);
    glint_rows_free(&rows);
    cr_expect_eq(glint_partitions(glint_union(both, both)), 4);
    cr_expect_eq(glint_partitions(glint_union_partitions(both, glint_range(g, 0, 4, 1, 3))), 0);
    fixture_close(g, GLINT_E_PLAN_ARGUMENT);
    g = fixture_open(&fixtures[0]);
    struct glint_rdd *groups = glint_group_by_key(glint_zip_with_index(glint_range(g, 0, 4, 1, 2)));
    cr_expect_null(glint_union_partitions(groups, groups));
    fixture_close(g, GLINT_E_PLAN_ARGUMENT);
}

static struct glint_rdd *grouped_union(struct glint_rdd *left, struct glint_rdd *right)
{
    return glint_union(glint_group_by_key(left), glint_group_by_key(right));
}

Test(narrow_shuffle, grouped_unions_keep_their_partitions)
{
    struct plan p = make_plan();
    p.two = grouped_union;
    p.partitioned = BOTH;
    struct glint *g = fixture_open(&fixtures[0]);
    cr_expect_eq(glint_partitions(make(g, &p)), 2 * PARTITIONS);
    fixture_close(g, GLINT_OK);
    plan_free(&p);
}

/* ---- Lookups and memory */

static int look_up(struct glint *g, void *arg, struct glint_rows *out)
{
    struct plan *p = arg;
    return glint_lookup(make(g, p), text("k7"), out);
}

Test(narrow_shuffle, lookup_reads_one_partition)
{
    struct plan p = make_plan();
    p.one = reduce;
    p.partitioned = LEFT;
    struct table expected = {.schema = {GLINT_NONE, GLINT_I64}};
    int64_t sum = 0;
    for (uint64_t i = 0; i < p.left.count; i++) {
        const struct glint_slice key = p.left.rows[i].key.bytes;
        if (key.size == 2 && memcmp(key.data, "k7", 2) == 0) sum += p.left.rows[i].value.i64;
    }
    table_add(&expected, none(), number(sum));
    action_expect(look_up, &p, NULL, &expected);
    table_free(&expected);
    plan_free(&p);
}

Test(narrow_shuffle, without_memory_is_an_error)
{
    struct plan p = {.left = make_pairs(20, 5, 3), .right = make_pairs(15, 5, 4)};
    p.two = glint_join;
    p.partitioned = LEFT;
    plan_expect_no_memory(make, &p);
    plan_free(&p);
}

/* Three inputs of 6 MB, with 16 MB per slot, of which two are held while the third is read. */
static struct glint_rdd *make_large(struct glint *g, void *arg)
{
    const bool known = *(const bool *)arg;
    struct glint_rdd *rdds[3], *inner;
    for (int i = 0; i < 3; i++) {
        const struct glint_record one = {.value.i64 = i};
        struct glint_args *args = glint_args(g);
        glint_args_add_i64(args, "count", 3000);
        glint_args_add_i64(args, "size", 2000);
        glint_args_add_i64(args, "key", 7);
        struct glint_rdd *first =
            glint_parallelize(g, (struct glint_schema){GLINT_NONE, GLINT_I64}, &one, 1, 1);
        rdds[i] = partitioned(glint_flat_map(first, fn("two.burst"), args), known);
    }
    inner = glint_cogroup(rdds[1], rdds[2]);
    if (!known) inner = glint_coalesce(glint_with_partitions(inner, PARTITIONS), PARTITIONS);
    return glint_with_partitions(glint_cogroup(rdds[0], inner), PARTITIONS);
}

Test(narrow_shuffle, nested_inputs_fit_into_memory)
{
    const struct fixture tight = {.memory_bytes = SLOT_MEMORY_BYTES_MIN};
    struct fixture first = fixture_like(&fixtures[0], &tight);
    bool known = false;
    struct table expected, got;
    struct glint *g = fixture_open(&first);
    table_collect(make_large(g, &known), &expected);
    fixture_close(g, GLINT_OK);
    known = true;
    g = fixture_open(&first);
    table_collect(make_large(g, &known), &got);
    cr_expect_gt(glint_counter_value(g, "spills"), 0, "%lld spills",
                 (long long)glint_counter_value(g, "spills"));
    fixture_close(g, GLINT_OK);
    table_expect(&got, &expected, "nested cogroups");
    table_free(&got);
    table_free(&expected);
}

/* Partitioners of the job: which records are in which partition, in which order, for every
 * transformation by key; and what happens if they fail. */
#include "tests/unit/ops/actions.h"

TestSuite(partitioner, .init = scratch_open, .fini = scratch_close);

enum { BASE = 10, SHIFT = 3 };

/* As the function test.by_remainder. */
static uint32_t partition_of(int64_t key, uint32_t partitions)
{
    const int64_t remainder = (key + SHIFT) % BASE;
    return (uint32_t)(remainder < 0 ? remainder + BASE : remainder) % partitions;
}

static struct glint_rdd *by_remainder(struct glint_rdd *rdd)
{
    const int64_t shift = SHIFT;
    if (rdd == NULL) return NULL;
    struct glint_args *args = glint_bind(glint_context(rdd), &shift, sizeof shift);
    glint_args_add_i64(args, "base", BASE);
    return glint_with_partitioner(rdd, fn("test.by_remainder"), args);
}

static struct table make_numbered(uint64_t count, int64_t keys)
{
    struct table t = {.schema = {GLINT_I64, GLINT_I64}};
    uint64_t seed = 5;
    for (uint64_t i = 0; i < count; i++)
        table_add(&t, number((int64_t)(test_next(&seed) % (uint64_t)keys) - keys / 2),
                  number((int64_t)i));
    return t;
}

/* The rows of `t` by (partition, key); the order of rows with equal keys is kept. */
static struct table expect_order(const struct table *t, uint32_t partitions, bool descending)
{
    struct table out = {.schema = t->schema};
    for (uint32_t p = 0; p < partitions; p++) {
        struct table part = {.schema = t->schema};
        for (uint64_t i = 0; i < t->count; i++)
            if (partition_of(t->rows[i].key.i64, partitions) == p)
                table_add(&part, t->rows[i].key, t->rows[i].value);
        for (uint64_t i = 1; i < part.count; i++) {
            const struct glint_record row = part.rows[i];
            uint64_t at = i;
            for (; at > 0; at--) {
                const int64_t before = part.rows[at - 1].key.i64;
                if (descending ? before >= row.key.i64 : before <= row.key.i64) break;
                part.rows[at] = part.rows[at - 1];
            }
            part.rows[at] = row;
        }
        for (uint64_t i = 0; i < part.count; i++)
            table_add(&out, part.rows[i].key, part.rows[i].value);
        table_free(&part);
    }
    return out;
}

static struct glint_rdd *make_partition_by(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return by_remainder(glint_partition_by(input_rdd(g, in), in->partitions));
}

static struct glint_rdd *make_descending(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return by_remainder(
        glint_repartition_and_sort_within_partitions(input_rdd(g, in), in->partitions, false));
}

static struct glint_rdd *make_group(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return by_remainder(
        glint_with_partitions(glint_group_by_key(input_rdd(g, in)), in->partitions));
}

static struct glint_rdd *make_reduce(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_partitions(
        by_remainder(glint_reduce_by_key(input_rdd(g, in), &GLINT_SUM_I64, NULL)), in->partitions);
}

static const uint32_t maps_tried[] = {1, 2, 9}, partitions_tried[] = {1, 2, 11};

static struct table sum_keys(const struct table *ordered)
{
    struct table sums = {.schema = ordered->schema};
    for (uint64_t i = 0; i < ordered->count; i++) {
        const struct glint_record *row = &ordered->rows[i];
        if (sums.count > 0 && sums.rows[sums.count - 1].key.i64 == row->key.i64)
            sums.rows[sums.count - 1].value.i64 += row->value.i64;
        else
            table_add(&sums, row->key, row->value);
    }
    return sums;
}

Test(partitioner, function_chooses_the_partition)
{
    struct table t = make_numbered(3000, 70);
    for (int m = 0; m < 3; m++) {
        for (int p = 0; p < 3; p++) {
            struct input in = {
                .table = &t, .maps = maps_tried[m], .partitions = partitions_tried[p]};
            struct table up = expect_order(&t, in.partitions, false),
                         down = expect_order(&t, in.partitions, true), sums = sum_keys(&up);
            plan_expect(make_partition_by, &in, NULL, &up);
            plan_expect(make_group, &in, NULL, &up);
            plan_expect(make_descending, &in, NULL, &down);
            plan_expect(make_reduce, &in, NULL, &sums);
            table_free(&up);
            table_free(&down);
            table_free(&sums);
        }
    }
    table_free(&t);
}

static struct glint_rdd *make_other_type(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_partitioner(glint_partition_by(input_rdd(g, in), in->partitions),
                                  fn(in->function), NULL);
}

Test(partitioner, keys_of_other_types)
{
    struct table texts = {.schema = {GLINT_TEXT, GLINT_NONE}},
                 doubles = {.schema = {GLINT_F64, GLINT_NONE}};
    table_add(&texts, text("a3"), none()); /* partition 0 of 3 */
    table_add(&texts, text("b3"), none());
    table_add(&texts, text("b0"), none());
    table_add(&texts, text("a1"), none());
    table_add(&texts, text("a5"), none());
    table_add(&doubles, real(-1e300), none());
    table_add(&doubles, real(-1), none());
    table_add(&doubles, real(-0.25), none());
    table_add(&doubles, real(0.5), none());
    table_add(&doubles, real(7), none());
    struct table expected = {.schema = texts.schema};
    const int order[] = {0, 2, 1, 3, 4};
    for (int i = 0; i < 5; i++) table_add(&expected, texts.rows[order[i]].key, none());
    struct input in = {.table = &texts, .maps = 2, .partitions = 3, .function = "test.by_digit"};
    plan_expect(make_other_type, &in, NULL, &expected);
    in.table = &doubles;
    in.function = "test.by_sign";
    plan_expect(make_other_type, &in, NULL, &doubles);
    table_free(&texts);
    table_free(&doubles);
    table_free(&expected);
}

/* (partition, key) of each output record of a plan with that number. */
static struct glint_rdd *make_places(struct glint *g, void *arg)
{
    const struct input *in = arg;
    struct glint_rdd *a = input_rdd(g, in), *b = input_rdd(g, in), *rdd = NULL;
    switch (in->count) {
    case 0: rdd = glint_join(a, b); break;
    case 1: rdd = glint_left_outer_join(a, b); break;
    case 2: rdd = glint_full_outer_join(a, b); break;
    case 3: rdd = glint_right_outer_join(a, b); break;
    case 4: rdd = glint_cogroup(a, b); break;
    case 5: rdd = glint_subtract_by_key(a, glint_sample(b, 0.05, 1)); break;
    case 6: rdd = glint_fold_by_key(a, number(0), &GLINT_SUM_I64, NULL); break;
    case 7: rdd = glint_combine_by_key(a, &GLINT_COUNT, NULL); break;
    case 8: rdd = glint_aggregate_by_key(a, number(0), &GLINT_COUNT, NULL); break;
    default: return NULL;
    }
    rdd = by_remainder(glint_with_partitions(rdd, in->partitions));
    return glint_map_partitions(rdd, fn("test.key_place"), NULL);
}

Test(partitioner, applies_to_every_transformation_by_key)
{
    struct table t = make_numbered(400, 60);
    for (uint64_t plan = 0; plan < 9; plan++) {
        struct input in = {.table = &t, .maps = 3, .partitions = 4, .count = plan};
        struct glint *g = fixture_open(&fixtures[plan % 4]);
        struct table got;
        table_collect(make_places(g, &in), &got);
        cr_expect_gt(got.count, 10, "plan %d", (int)plan);
        for (uint64_t i = 0; i < got.count; i++)
            cr_assert_eq(got.rows[i].key.i64, partition_of(got.rows[i].value.i64, 4), "plan %d",
                         (int)plan);
        table_free(&got);
        fixture_close(g, GLINT_OK);
    }
    table_free(&t);
}

/* The join itself, against a join by hash. */
Test(partitioner, join_has_the_same_pairs)
{
    struct table t = make_numbered(300, 40), got[2];
    struct input in = {.table = &t, .maps = 3};
    for (int i = 0; i < 2; i++) {
        struct glint *g = fixture_open(&fixtures[2]);
        struct glint_rdd *joined =
            glint_with_partitions(glint_join(input_rdd(g, &in), input_rdd(g, &in)), 4);
        table_collect(i == 0 ? joined : by_remainder(joined), &got[i]);
        table_by_record(&got[i]);
        fixture_close(g, GLINT_OK);
    }
    cr_expect_gt(got[0].count, t.count);
    table_expect(&got[1], &got[0], "join");
    table_free(&got[0]);
    table_free(&got[1]);
    table_free(&t);
}

Test(partitioner, output_partition_agrees)
{
    struct table t = make_numbered(500, 90);
    struct input in = {.table = &t, .maps = 3};
    struct glint *g = fixture_open(&fixtures[1]);
    struct glint_rdd *told = glint_map(input_rdd(g, &in), fn("test.output_partition"), NULL);
    struct table got;
    table_collect(by_remainder(glint_partition_by(told, 7)), &got);
    cr_expect_eq(got.count, t.count);
    for (uint64_t i = 0; i < got.count; i++)
        cr_assert_eq(got.rows[i].value.i64, partition_of(got.rows[i].key.i64, 7));
    table_free(&got);
    table_free(&t);
    fixture_close(g, GLINT_OK);
}

/* The partitioner may be set after an RDD that keeps the partitioning was made. */
Test(partitioner, lookup_finds_all_values)
{
    struct table t = make_numbered(300, 20);
    struct input in = {.table = &t, .maps = 3};
    struct glint *g = fixture_open(&fixtures[2]);
    struct glint_rdd *spread = glint_partition_by(input_rdd(g, &in), 7);
    struct glint_rdd *kept = glint_filter(spread, fn("test.odd"), NULL);
    by_remainder(spread);
    for (int64_t key = -10; key < 10; key++) {
        struct glint_rows rows = {.count = 0};
        uint64_t wanted = 0;
        for (uint64_t i = 0; i < t.count; i++)
            wanted += t.rows[i].key.i64 == key && t.rows[i].value.i64 % 2 != 0;
        cr_assert_eq(glint_lookup(kept, number(key), &rows), 0);
        cr_expect_eq(rows.count, wanted, "key %d", (int)key);
        glint_rows_free(&rows);
    }
    table_free(&t);
    fixture_close(g, GLINT_OK);
}

Test(partitioner, spilling_and_large_values_give_the_same_rows)
{
    struct table t = {.schema = {GLINT_I64, GLINT_BYTES}};
    const uint64_t large = 2 * MIB;
    uint8_t *value = mem_zalloc(large);
    uint64_t seed = 3;
    cr_assert_not_null(value);
    for (int i = 0; i < 6000; i++) {
        value[0] = (uint8_t)i;
        table_add(&t, number((int64_t)(test_next(&seed) % 999) - 500),
                  bytes(value, i % 1500 == 7 ? large : 3000));
    }
    struct table expected = expect_order(&t, 3, false);
    struct input in = {.table = &t, .maps = 1, .partitions = 3};
    for (const struct fixture *w = tight_fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct table got;
        table_collect(make_group(g, &in), &got);
        table_expect(&got, &expected, w->name);
        cr_expect_gt(glint_counter_value(g, "spills"), 0);
        table_free(&got);
        fixture_close(g, GLINT_OK);
    }
    mem_free(value);
    table_free(&t);
    table_free(&expected);
}

static struct glint_rdd *make_partitioned_sums(struct glint *g, void *arg)
{
    const struct input *in = arg;
    struct glint_rdd *rdd = glint_reduce_by_key(input_rdd(g, in), &GLINT_SUM_I64, NULL);
    return glint_with_partitioner(glint_with_partitions(rdd, in->partitions), fn(in->function),
                                  NULL);
}

/* Undetected, but no record is lost, also if the same key is in several spills. */
Test(partitioner, different_indexes_for_equal_keys_keep_all_records)
{
    struct table t = {.schema = {GLINT_I64, GLINT_I64}};
    for (int64_t i = 0; i < 300000; i++) table_add(&t, number(i % 199999), number(1));
    struct input in = {.table = &t, .maps = 1, .partitions = 3, .function = "test.by_turns"};
    for (const struct fixture *w = tight_fixtures; w->name != NULL; w++) {
        for (int i = 0; i < 2; i++) {
            struct glint *g = fixture_open(w);
            struct table got;
            int64_t sum = 0;
            table_collect(i == 0 ? make_partitioned_sums(g, &in) : make_other_type(g, &in), &got);
            for (uint64_t row = 0; row < got.count; row++) sum += got.rows[row].value.i64;
            cr_expect_eq(sum, 300000, "%s", w->name);
            cr_expect_gt(glint_counter_value(g, "spills"), 0);
            table_free(&got);
            fixture_close(g, GLINT_OK);
        }
    }
    table_free(&t);
}

/* ---- Errors */

static struct table make_keys(const int64_t *keys, uint64_t count)
{
    struct table t = {.schema = {GLINT_I64, GLINT_I64}};
    for (uint64_t i = 0; i < count; i++) table_add(&t, number(keys[i]), number(1));
    return t;
}

Test(partitioner, index_out_of_range_is_an_error)
{
    static const struct {
        int64_t key;
        uint32_t partitions;
        const char *cause;
    } cases[] = {
        {-1, 4, "test.by_key returned partition -1 of 4"},
        {4, 4, "test.by_key returned partition 4 of 4"},
        {1, 1, "test.by_key returned partition 1 of 1"},
        {INT64_MAX, 2, "test.by_key returned partition 9223372036854775807 of 2"},
        {INT64_MIN, 2, "test.by_key returned partition -9223372036854775808 of 2"},
        {(int64_t)1 << 32, 2, "test.by_key returned partition 4294967296 of 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t keys[] = {0, 0, 0, cases[i].key, 0};
        struct table t = make_keys(keys, 5);
        struct input in = {
            .table = &t, .maps = 2, .partitions = cases[i].partitions, .function = "test.by_key"};
        plan_expect_error(make_other_type, &in, NULL, GLINT_E_FUNCTION_FAILED, cases[i].cause);
        plan_expect_error(make_partitioned_sums, &in, NULL, GLINT_E_FUNCTION_FAILED,
                          cases[i].cause);
        table_free(&t);
    }
}

Test(partitioner, error_of_the_function_fails_the_job)
{
    static const int64_t keys[] = {1, 2, 3, 7, 5, 6};
    struct table t = make_keys(keys, 6);
    struct input in = {.table = &t, .maps = 2, .partitions = 3, .function = "test.fail_partition"};
    plan_expect_error(make_other_type, &in, NULL, GLINT_E_BAD_VALUE, "as requested");
    plan_expect_error(make_partitioned_sums, &in, NULL, GLINT_E_BAD_VALUE, "as requested");
    in.function = "test.fail_open";
    plan_expect_error(make_other_type, &in, NULL, GLINT_E_BAD_VALUE, "cannot open");
    plan_expect_error(make_partitioned_sums, &in, NULL, GLINT_E_BAD_VALUE, "cannot open");
    table_free(&t);
}

/* The key that fails is in a spill of combined values, and in one of large values. */
Test(partitioner, failure_in_a_spill_fails_the_job)
{
    struct table t = {.schema = {GLINT_I64, GLINT_I64}},
                 large = {.schema = {GLINT_I64, GLINT_BYTES}};
    for (int64_t i = 0; i < 300000; i++) table_add(&t, number(i < 7 ? 0 : i), number(1));
    uint8_t *value = mem_zalloc(3 * MIB);
    cr_assert_not_null(value);
    for (int64_t i = 5; i < 9; i++) table_add(&large, number(i), bytes(value, 3 * MIB));
    for (const struct fixture *w = tight_fixtures; w->name != NULL; w++) {
        for (int i = 0; i < 2; i++) {
            struct input in = {.table = i == 0 ? &t : &large,
                               .maps = 1,
                               .partitions = 3,
                               .function = "test.fail_partition"};
            struct glint_rows rows = {.count = 0};
            struct glint *g = fixture_open(w);
            cr_expect_eq(
                glint_collect(i == 0 ? make_partitioned_sums(g, &in) : make_other_type(g, &in),
                              &rows),
                GLINT_E_BAD_VALUE);
            cr_expect_str_eq(glint_error(g)->cause, "as requested");
            fixture_close(g, GLINT_E_BAD_VALUE);
        }
    }
    mem_free(value);
    table_free(&t);
    table_free(&large);
}

static struct glint_rdd *make_misuse(struct glint *g, void *arg)
{
    const struct input *in = arg;
    const struct glint_function *by_key = fn("test.by_key");
    struct glint_rdd *rdd = input_rdd(g, in);
    int64_t n;
    switch (in->count) {
    case 0: return glint_with_partitioner(glint_partition_by(rdd, 2), &GLINT_SUM_I64, NULL);
    case 1: return glint_map(rdd, by_key, NULL);
    case 2: return glint_with_partitioner(rdd, by_key, NULL);
    case 3: return glint_with_partitioner(glint_sort_by_key(rdd, true), by_key, NULL);
    case 4: return glint_with_partitioner(glint_repartition(rdd, 2), by_key, NULL);
    case 5: return glint_with_partitioner(glint_distinct(rdd), by_key, NULL);
    case 6: return glint_with_partitioner(glint_intersection(rdd, rdd), by_key, NULL);
    case 7: return glint_with_partitioner(glint_partition_by(rdd, 2), fn("test.by_digit"), NULL);
    case 8: return glint_with_partitioner(glint_partition_by(rdd, 2), fn("no.such"), NULL);
    case 9: return glint_with_partitioner(glint_partition_by(rdd, 2), NULL, NULL);
    case 10:
        return by_remainder(glint_map_values(glint_partition_by(rdd, 2), &GLINT_KEY_VALUE, NULL));
    case 11:
        return glint_with_partitioner(glint_partition_by(rdd, 2), fn("test.by_remainder"), NULL);
    default:
        rdd = glint_partition_by(rdd, 2);
        glint_count(rdd, &n);
        return glint_with_partitioner(rdd, by_key, NULL);
    }
}

Test(partitioner, misuse_is_rejected)
{
    static const struct {
        enum glint_code code;
        const char *cause;
    } cases[] = {
        {GLINT_E_PLAN_FUNCTION,
         "withPartitioner does not accept glint.sum_i64, whose kind is reduce"},
        {GLINT_E_PLAN_FUNCTION, "map does not accept test.by_key, whose kind is partition"},
        {GLINT_E_PLAN_LIMIT, "the partitioner cannot be set: the RDD has no shuffle"},
        {GLINT_E_PLAN_FUNCTION, "cannot be set: sortByKey does not partition by key"},
        {GLINT_E_PLAN_FUNCTION, "cannot be set: repartition does not partition by key"},
        {GLINT_E_PLAN_FUNCTION, "cannot be set: distinct does not partition by key"},
        {GLINT_E_PLAN_FUNCTION, "cannot be set: intersection does not partition by key"},
        {GLINT_E_PLAN_TYPE, "withPartitioner: test.by_digit takes (text, any)"},
        {GLINT_E_PLAN_FUNCTION, "no.such is not a function of this program"},
        {GLINT_E_PLAN_FUNCTION, "withPartitioner: the function is NULL"},
        {GLINT_E_PLAN_TYPE, "glint.key_value takes"},
        {GLINT_E_PLAN_ARGUMENT, "argument \"base\" (an integer) is missing"},
        {GLINT_E_PLAN_LIMIT, "the partitioner cannot be set: it is already fixed"},
    };
    static const int64_t keys[] = {0, 1};
    struct table t = make_keys(keys, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct input in = {.table = &t, .maps = 1, .count = i};
        plan_expect_error(make_misuse, &in, NULL, cases[i].code, cases[i].cause);
    }
    table_free(&t);
}

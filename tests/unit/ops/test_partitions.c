/* groupByKey, groupBy, partitionBy, repartition: which records are in which partition, in which
 * order. */
#include "tests/unit/ops/actions.h"

#include "engine/base/hash.h"

#include <stdio.h>

TestSuite(partitions, .init = scratch_open, .fini = scratch_close);

static struct glint_rdd *make_group(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_partitions(glint_group_by_key(input_rdd(g, in)), in->partitions);
}

static struct glint_rdd *make_group_values(struct glint *g, void *arg)
{
    return glint_map_values(make_group(g, arg), fn("red.group"), NULL);
}

static struct glint_rdd *make_group_by(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_partitions(glint_group_by(input_rdd(g, in), fn(in->function), NULL),
                                 in->partitions);
}

static struct glint_rdd *make_partition_by(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_partition_by(input_rdd(g, in), in->partitions);
}

static struct glint_rdd *make_repartition(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_repartition(input_rdd(g, in), in->partitions);
}

static const uint32_t maps_tried[] = {1, 2, 9}, partitions_tried[] = {1, 2, 11};

Test(partitions, keys_go_to_their_hash_partition)
{
    struct table t = make_pairs(3000, 70, 1);
    for (int m = 0; m < 3; m++) {
        for (int p = 0; p < 3; p++) {
            struct input in = {
                .table = &t, .maps = maps_tried[m], .partitions = partitions_tried[p]};
            struct table expected = table_part(&t, 0, t.count);
            table_by_hash(&expected, in.partitions);
            plan_expect(make_group, &in, NULL, &expected);
            plan_expect(make_partition_by, &in, NULL, &expected);
            table_free(&expected);
        }
    }
    table_free(&t);
}

/* If the plan does not set a number of partitions, the option --partitions does. */
Test(partitions, default_count_is_partitions_option)
{
    struct table t = make_pairs(300, 70, 1), expected = table_part(&t, 0, t.count);
    const struct fixture base = {.partitions = 6};
    struct input in = {.table = &t, .maps = 3, .partitions = 0};
    table_by_hash(&expected, 6);
    plan_expect(make_partition_by, &in, &base, &expected);
    plan_expect(make_group, &in, &base, &expected);
    table_free(&expected);
    table_free(&t);
}

Test(partitions, group_function_sees_values_in_order)
{
    struct table t = make_pairs(3000, 70, 1), expected = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    struct buffer b = {NULL, 0, 0};
    struct input in = {.table = &t, .maps = 4, .partitions = 5};
    struct table rows = table_part(&t, 0, t.count);
    table_by_hash(&rows, in.partitions);
    for (uint64_t i = 0; i < rows.count; i++) {
        char digits[32];
        const int n = snprintf(digits, sizeof digits, "%lld;", (long long)rows.rows[i].value.i64);
        cr_assert(buffer_append(&b, digits, (uint64_t)n));
        const struct glint_slice key = rows.rows[i].key.bytes;
        const struct glint_slice *next = i + 1 < rows.count ? &rows.rows[i + 1].key.bytes : NULL;
        if (next != NULL && next->size == key.size && memcmp(next->data, key.data, key.size) == 0)
            continue;
        table_add(&expected, rows.rows[i].key, bytes(b.data, b.size));
        b.size = 0;
    }
    plan_expect(make_group_values, &in, NULL, &expected);
    buffer_fini(&b);
    table_free(&t);
    table_free(&rows);
    table_free(&expected);
}

Test(partitions, group_by_uses_function_result_as_key)
{
    struct table t = make_numbers(3000, 1), expected = {.schema = {GLINT_I64, GLINT_I64}};
    for (uint64_t i = 0; i < t.count; i++)
        table_add(&expected, number(t.rows[i].value.i64 % 7), t.rows[i].value);
    struct input in = {.table = &t, .maps = 4, .partitions = 5, .function = "red.modulo"};
    table_by_hash(&expected, in.partitions);
    plan_expect(make_group_by, &in, NULL, &expected);
    table_free(&t);
    table_free(&expected);
}

/* The partition of a row depends on (map partition, index), which is also the order within a
 * partition. */
Test(partitions, repartition_spreads_rows_evenly)
{
    struct table t = make_numbers(3000, 1);
    for (int m = 0; m < 3; m++) {
        for (int p = 0; p < 3; p++) {
            struct input in = {
                .table = &t, .maps = maps_tried[m], .partitions = partitions_tried[p]};
            struct table expected = {.schema = t.schema};
            uint64_t least = t.count, most = 0;
            for (uint32_t to = 0; to < in.partitions; to++) {
                const uint64_t before = expected.count;
                for (uint32_t map = 0; map < in.maps; map++) {
                    const uint64_t first = t.count * map / in.maps;
                    for (uint64_t i = first; i < t.count * (map + 1) / in.maps; i++)
                        if (hash_to_range(hash_mix(hash_mix(map) ^ (i - first)), in.partitions) ==
                            to)
                            table_add(&expected, none(), t.rows[i].value);
                }
                const uint64_t here = expected.count - before;
                if (here < least) least = here;
                if (here > most) most = here;
            }
            plan_expect(make_repartition, &in, NULL, &expected);
            cr_expect_gt(least * 3, most * 2, "%u to %u: from %llu to %llu rows", in.maps,
                         in.partitions, (unsigned long long)least, (unsigned long long)most);
            table_free(&expected);
        }
    }
    table_free(&t);
}

Test(partitions, repartition_orders_pairs_by_key)
{
    struct table t = make_pairs(500, 20, 1), expected = table_part(&t, 0, t.count);
    struct input in = {.table = &t, .maps = 5, .partitions = 1};
    table_by_hash(&expected, 1);
    plan_expect(make_repartition, &in, NULL, &expected);
    table_free(&t);
    table_free(&expected);
}

Test(partitions, empty_input_gives_no_rows)
{
    struct table pairs = {.schema = {GLINT_TEXT, GLINT_I64}},
                 texts = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    struct input in = {.table = &pairs, .maps = 3, .partitions = 4};
    plan_expect(make_group, &in, NULL, &pairs);
    plan_expect(make_group_values, &in, NULL, &texts);
    plan_expect(make_partition_by, &in, NULL, &pairs);
    plan_expect(make_repartition, &in, NULL, &pairs);
}

Test(partitions, spilling_gives_the_same_rows)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_I64}};
    char key[256];
    uint64_t seed = 3;
    for (int i = 0; i < 90000; i++) {
        const int n =
            snprintf(key, sizeof key, "%0200llu", (unsigned long long)(test_next(&seed) % 999));
        table_add(&t, bytes(key, (uint64_t)n), number(i));
    }
    struct table expected = table_part(&t, 0, t.count);
    struct input in = {.table = &t, .maps = 1, .partitions = 2};
    table_by_hash(&expected, in.partitions);
    for (const struct fixture *w = tight_fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct table got;
        table_collect(make_group(g, &in), &got);
        table_expect(&got, &expected, w->name);
        cr_expect_gt(glint_counter_value(g, "spills"), 0);
        table_free(&got);
        fixture_close(g, GLINT_OK);
    }
    table_free(&t);
    table_free(&expected);
}

/* A value that is larger than any batch. */
Test(partitions, large_values_pass_through)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    const uint64_t size = 5 * MIB;
    char *large = mem_alloc(size);
    cr_assert_not_null(large);
    memset(large, 'x', size);
    for (int i = 0; i < 6; i++) {
        large[0] = (char)('a' + i);
        table_add(&t, text(i % 2 == 0 ? "even" : "odd"), bytes(large, i < 3 ? size : 3));
    }
    for (uint32_t maps = 1; maps <= 3; maps += 2) {
        struct input in = {.table = &t, .maps = maps, .partitions = 3};
        struct table expected = table_part(&t, 0, t.count);
        table_by_hash(&expected, in.partitions);
        plan_expect(make_group, &in, NULL, &expected);
        plan_expect(make_partition_by, &in, NULL, &expected);
        table_free(&expected);
    }
    mem_free(large);
    table_free(&t);
}

static struct glint_rdd *make_ungrouped(struct glint *g, void *arg)
{
    return glint_map_values(make_partition_by(g, arg), fn("red.group"), NULL);
}

static struct glint_rdd *request_too_late(struct glint *g, void *arg)
{
    struct glint_rdd *rdd = make_partition_by(g, arg);
    int64_t n;
    glint_count(rdd, &n);
    return glint_with_partitions(rdd, 3);
}

Test(partitions, misuse_is_rejected)
{
    struct table elements = make_numbers(5, 1), pairs = make_pairs(5, 2, 1);
    struct input in = {.table = &elements, .maps = 1, .partitions = 2, .function = "red.unknown"};
    plan_expect_error(make_group, &in, NULL, GLINT_E_PLAN_TYPE, "groupByKey needs keys");
    plan_expect_error(make_partition_by, &in, NULL, GLINT_E_PLAN_TYPE, "partitionBy needs keys");
    plan_expect_error(make_group_by, &in, NULL, GLINT_E_PLAN_FUNCTION, "red.unknown");
    in.table = &pairs;
    plan_expect_error(make_ungrouped, &in, NULL, GLINT_E_PLAN_TYPE, "needs groups");
    plan_expect_error(request_too_late, &in, NULL, GLINT_E_PLAN_LIMIT, "already fixed");
    in.partitions = PARTITIONS_MAX + 1;
    plan_expect_error(make_repartition, &in, NULL, GLINT_E_PLAN_LIMIT, "the limit is");
    table_free(&elements);
    table_free(&pairs);
}

/* ---- numPartitions, wherever Spark has it; names, of all RDDs */

static struct glint_rdd *with_other(struct glint_rdd *rdd, int which)
{
    struct glint_rdd *const both[] = {rdd, rdd};
    switch (which) {
    case 0: return glint_reduce_by_key(rdd, &GLINT_SUM_I64, NULL);
    case 1: return glint_fold_by_key(rdd, number(0), &GLINT_SUM_I64, NULL);
    case 2: return glint_sort_by(glint_values(rdd), fn("red.negative"), NULL, true);
    case 3: return glint_mean_by_key(rdd);
    case 4: return glint_group_by_key(rdd);
    case 5: return glint_join(rdd, rdd);
    case 6: return glint_left_outer_join(rdd, rdd);
    case 7: return glint_right_outer_join(rdd, rdd);
    case 8: return glint_full_outer_join(rdd, rdd);
    case 9: return glint_cogroup(rdd, rdd);
    case 10: return glint_group_with(both, 2);
    case 11: return glint_subtract_by_key(rdd, rdd);
    case 12: return glint_distinct(rdd);
    case 13: return glint_intersection(rdd, rdd);
    case 14: return glint_subtract(rdd, rdd);
    case 15: return glint_sort_by_key(rdd, true);
    case 16: return glint_distinct(glint_values(rdd));
    case 17: return glint_partition_by(rdd, 0);
    case 18: return glint_repartition(rdd, 0);
    case 19: return glint_repartition_and_sort_within_partitions(rdd, 0, true);
    default: return NULL;
    }
}

Test(partitions, every_shuffle_takes_a_number_and_a_name)
{
    struct table t = make_pairs(100, 9, 3);
    const struct input in = {.table = &t, .maps = 2};
    for (int which = 0; which < 20; which++) {
        struct glint *g = fixture_open(&fixtures[0]);
        struct glint_rdd *rdd = with_other(input_rdd(g, &in), which);
        rdd = glint_with_name(glint_with_partitions(rdd, 7), "seven");
        cr_assert_not_null(rdd, "transformation %d: %s", which, glint_error(g)->cause);
        cr_expect_eq(glint_partitions(rdd), 7, "transformation %d", which);
        cr_expect_str_eq(rdd->name, "seven");
        fixture_close(g, GLINT_OK);
    }
    table_free(&t);
}

static struct glint_rdd *make_unnamed(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_name(glint_distinct(input_rdd(g, in)), in->function);
}

static struct glint_rdd *make_named_error(struct glint *g, void *arg)
{
    return glint_with_partitions(glint_with_name(input_rdd(g, arg), "caf\xc3\xa9"), 2);
}

Test(partitions, invalid_names_are_rejected)
{
    static const char *const names[] = {NULL, "", "two\nlines", "not \xff UTF-8"};
    struct table t = make_numbers(10, 1);
    struct input in = {.table = &t, .maps = 1};
    for (int i = 0; i < 4; i++) {
        in.function = names[i];
        plan_expect_error(make_unnamed, &in, NULL, GLINT_E_PLAN_ARGUMENT, "a name must have 1 to");
    }
    plan_expect_error(make_named_error, &in, NULL, GLINT_E_PLAN_LIMIT, "\"caf\xc3\xa9\" (RDD");
    table_free(&t);
}

/* zip, zipPartitions and cartesian, compared with plain loops. */
#include "tests/unit/ops/actions.h"

#include <stdio.h>

TestSuite(zip, .init = scratch_open, .fini = scratch_close);

struct plan {
    struct input left, right;
    const char *function;
};

static struct glint_rdd *make_zip(struct glint *g, void *arg)
{
    struct plan *p = arg;
    return glint_zip(input_rdd(g, &p->left), input_rdd(g, &p->right));
}

static struct glint_rdd *make_cartesian(struct glint *g, void *arg)
{
    struct plan *p = arg;
    return glint_cartesian(input_rdd(g, &p->left), input_rdd(g, &p->right));
}

static union glint_value cell(enum glint_type type, uint64_t i)
{
    static char buffer[32];
    if (type == GLINT_I64) return number((int64_t)i - 5);
    if (type == GLINT_F64) return real((double)i / 4);
    snprintf(buffer, sizeof buffer, "%c%llu", type == GLINT_MSGPACK ? '\xa4' : 'v',
             (unsigned long long)(i % 900 + 100));
    return text(buffer);
}

static struct table column_of(enum glint_type type, uint64_t count)
{
    struct table t = {.schema = {GLINT_NONE, type}};
    for (uint64_t i = 0; i < count; i++) table_add(&t, none(), cell(type, i));
    return t;
}

static const enum glint_type types[] = {GLINT_TEXT, GLINT_I64, GLINT_F64, GLINT_BYTES,
                                        GLINT_MSGPACK};

Test(zip, pairs_of_every_type)
{
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++) {
            struct table left = column_of(types[a], 2500), right = column_of(types[b], 2500);
            struct table expected = {.schema = {types[a], types[b]}};
            for (uint64_t i = 0; i < left.count; i++)
                table_add(&expected, left.rows[i].value, right.rows[i].value);
            struct plan p = {.left = {.table = &left, .maps = 3},
                             .right = {.table = &right, .maps = 3}};
            plan_expect(make_zip, &p, NULL, &expected);
            table_free(&expected);
            table_free(&left);
            table_free(&right);
        }
}

/* Values of 1 KiB, and one of 1 MiB: with the smallest memory most of the right side is on disk. */
static struct table large_values(uint64_t count)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_BYTES}};
    struct buffer b = {NULL, 0, 0};
    cr_assert(buffer_reserve(&b, MIB));
    memset(b.data, 'x', MIB);
    for (uint64_t i = 0; i < count; i++) {
        memcpy(b.data, &i, sizeof i);
        table_add(&t, none(), bytes(b.data, i == count / 2 ? MIB : KIB));
    }
    buffer_fini(&b);
    return t;
}

Test(zip, right_side_larger_than_memory)
{
    struct table left = column_of(GLINT_I64, 5000), right = large_values(5000);
    struct table expected = {.schema = {GLINT_I64, GLINT_BYTES}};
    for (uint64_t i = 0; i < left.count; i++)
        table_add(&expected, left.rows[i].value, right.rows[i].value);
    struct plan p = {.left = {.table = &left, .maps = 1}, .right = {.table = &right, .maps = 1}};
    for (const struct fixture *w = tight_fixtures; w->name != NULL; w++) {
        struct table got;
        struct glint *g = fixture_open(w);
        table_collect(make_zip(g, &p), &got);
        table_expect(&got, &expected, w->name);
        cr_assert_gt(glint_counter_value(g, "spills"), 0);
        table_free(&got);
        fixture_close(g, GLINT_OK);
    }
    table_free(&expected);
    table_free(&left);
    table_free(&right);
}

/* Right sides are read first at each level. */
static struct glint_rdd *make_zip_of_zips(struct glint *g, void *arg)
{
    struct glint_rdd *n = glint_range(g, 0, 900, 1, 3);
    (void)arg;
    struct glint_rdd *left = glint_values(glint_zip(n, glint_keys(glint_zip(n, n))));
    struct glint_rdd *right = glint_keys(glint_zip(n, n));
    struct glint_rdd *pairs = glint_cartesian(glint_coalesce(left, 2), glint_coalesce(n, 1));
    return glint_coalesce(
        glint_zip(glint_values(pairs),
                  glint_keys(glint_cartesian(glint_coalesce(right, 2), glint_coalesce(n, 1)))),
        1);
}

Test(zip, nested_in_one_stage)
{
    struct table pairs = {.schema = {GLINT_I64, GLINT_I64}};
    for (int64_t i = 0; i < 900 * 900; i++) table_add(&pairs, number(i % 900), number(i / 900));
    plan_expect(make_zip_of_zips, NULL, NULL, &pairs);
    table_free(&pairs);
}

/* Shuffles on both sides, read one after the other by the same task. */
static struct glint_rdd *make_of_shuffles(struct glint *g, void *arg)
{
    struct glint_rdd *n = glint_range(g, 0, 3000, 1, 4);
    struct glint_rdd *counted =
        glint_with_partitions(glint_partition_by(glint_zip_with_index(n), 0), 5);
    (void)arg;
    return glint_zip(glint_keys(counted), glint_values(counted));
}

Test(zip, both_sides_are_shuffles)
{
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct table got;
        struct glint *g = fixture_open(w);
        table_collect(make_of_shuffles(g, NULL), &got);
        cr_assert_eq(got.count, 3000);
        int64_t sum = 0;
        for (uint64_t i = 0; i < got.count; i++) {
            cr_assert_eq(got.rows[i].key.i64, got.rows[i].value.i64);
            sum += got.rows[i].key.i64;
        }
        cr_assert_eq(sum, 2999 * 1500);
        table_free(&got);
        fixture_close(g, GLINT_OK);
    }
}

/* take needs only the beginning: a longer side after it is not an error, as in Spark. */
Test(zip, take_stops_early)
{
    struct table left = column_of(GLINT_I64, 9000), right = column_of(GLINT_TEXT, 8990);
    struct plan p = {.left = {.table = &left, .maps = 1}, .right = {.table = &right, .maps = 1}};
    struct glint_rows rows;
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        cr_assert_eq(glint_take(make_zip(g, &p), 10, &rows), 0);
        cr_assert_eq(rows.count, 10);
        glint_rows_free(&rows);
        fixture_close(g, GLINT_OK);
    }
    table_free(&left);
    table_free(&right);
}

/* ("a7", 7) and such, as msgpack. */
static union glint_value packed_pair(int64_t i, uint8_t *out)
{
    const int text_size = snprintf((char *)out + 2, 24, "a%lld", (long long)i);
    out[0] = 0x92;
    out[1] = (uint8_t)(0xa0 | text_size);
    out[2 + text_size] = (uint8_t)i; /* 0 to 127 */
    return bytes(out, 3 + (uint64_t)text_size);
}

static struct glint_rdd *make_of_pairs(struct glint *g, void *arg)
{
    struct plan *p = arg;
    struct glint_rdd *pairs = input_rdd(g, &p->left);
    return glint_zip(pairs, glint_coalesce(pairs, p->left.maps));
}

static struct glint_rdd *make_product_of_pairs(struct glint *g, void *arg)
{
    struct plan *p = arg;
    return glint_cartesian(input_rdd(g, &p->left), glint_range(g, 0, 3, 1, 1));
}

Test(zip, pairs_become_arrays)
{
    struct table pairs = {.schema = {GLINT_TEXT, GLINT_I64}};
    struct table zipped = {.schema = {GLINT_MSGPACK, GLINT_MSGPACK}};
    struct table product = {.schema = {GLINT_MSGPACK, GLINT_I64}};
    for (int64_t i = 0; i < 120; i++) {
        uint8_t array[32];
        char key[24];
        const union glint_value packed = packed_pair(i, array);
        snprintf(key, sizeof key, "a%lld", (long long)i);
        table_add(&pairs, text(key), number(i));
        table_add(&zipped, packed, packed);
        for (int64_t k = 0; k < 3; k++) table_add(&product, packed, number(k));
    }
    struct plan p = {.left = {.table = &pairs, .maps = 4}};
    plan_expect(make_of_pairs, &p, NULL, &zipped);
    plan_expect(make_product_of_pairs, &p, NULL, &product);
    plan_expect_no_memory(make_product_of_pairs, &p);
    table_free(&pairs);
    table_free(&zipped);
    table_free(&product);
}

Test(zip, unequal_sides_are_errors)
{
    struct table four = column_of(GLINT_I64, 4), five = column_of(GLINT_TEXT, 5);
    struct plan p = {.left = {.table = &four, .maps = 1}, .right = {.table = &five, .maps = 1}};
    plan_expect_error(make_zip, &p, NULL, GLINT_E_PLAN_ARGUMENT,
                      "zip: partition 0 has more elements in the right RDD");
    p.left.table = &five;
    p.right.table = &four;
    plan_expect_error(make_zip, &p, NULL, GLINT_E_PLAN_ARGUMENT,
                      "zip: partition 0 has more elements in the left RDD");
    p.right.table = &five;
    p.right.maps = 2;
    plan_expect_error(make_zip, &p, NULL, GLINT_E_PLAN_ARGUMENT,
                      "one RDD has 1 partitions, the other 2");
    p.left.maps = 1000;
    p.right.maps = 101;
    plan_expect_error(make_cartesian, &p, NULL, GLINT_E_PLAN_LIMIT, "partitions; the limit is");
    table_free(&four);
    table_free(&five);
}

/* ---- cartesian */

static void expect_cartesian(uint64_t left_count, uint64_t right_count, uint32_t left_maps,
                             uint32_t right_maps)
{
    struct table left = column_of(GLINT_TEXT, left_count),
                 right = column_of(GLINT_F64, right_count);
    struct table expected = {.schema = {GLINT_TEXT, GLINT_F64}};
    for (uint64_t p = 0; p < (uint64_t)left_maps * right_maps; p++) {
        const uint64_t a = p / right_maps, b = p % right_maps;
        for (uint64_t i = left_count * a / left_maps; i < left_count * (a + 1) / left_maps; i++)
            for (uint64_t j = right_count * b / right_maps; j < right_count * (b + 1) / right_maps;
                 j++)
                table_add(&expected, left.rows[i].value, right.rows[j].value);
    }
    struct plan p = {.left = {.table = &left, .maps = left_maps},
                     .right = {.table = &right, .maps = right_maps}};
    plan_expect(make_cartesian, &p, NULL, &expected);
    table_free(&expected);
    table_free(&left);
    table_free(&right);
}

Test(zip, cartesian_has_all_pairs_in_order)
{
    expect_cartesian(50, 1500, 1, 1);
    expect_cartesian(120, 130, 3, 4);
    expect_cartesian(7, 0, 3, 2);
    expect_cartesian(0, 7, 3, 2);
    expect_cartesian(3, 2, 7, 5);
}

/* The right side is read from disk once per left element. */
Test(zip, cartesian_with_right_side_on_disk)
{
    struct table left = column_of(GLINT_I64, 3), right = large_values(4000);
    struct plan p = {.left = {.table = &left, .maps = 1}, .right = {.table = &right, .maps = 1}};
    struct glint *g = fixture_open(&tight_fixtures[0]);
    struct table got;
    table_collect(make_cartesian(g, &p), &got);
    cr_assert_eq(got.count, 12000);
    for (uint64_t i = 0; i < got.count; i++) {
        const struct glint_slice want = right.rows[i % 4000].value.bytes;
        cr_assert_eq(got.rows[i].key.i64, left.rows[i / 4000].value.i64);
        cr_assert(got.rows[i].value.bytes.size == want.size &&
                  memcmp(got.rows[i].value.bytes.data, want.data, want.size) == 0);
    }
    cr_assert_gt(glint_counter_value(g, "spills"), 0);
    table_free(&got);
    fixture_close(g, GLINT_OK);
    table_free(&left);
    table_free(&right);
}

/* ---- zipPartitions */

static struct glint_rdd *make_zip_partitions(struct glint *g, void *arg)
{
    struct plan *p = arg;
    return glint_zip_partitions(input_rdd(g, &p->left), input_rdd(g, &p->right), fn(p->function),
                                NULL);
}

/* The function emits (index of the partition, [side, value]) for each record, then an end. */
Test(zip, zip_partitions_gives_left_before_right)
{
    struct table left = {.schema = {GLINT_NONE, GLINT_I64}},
                 right = {.schema = {GLINT_NONE, GLINT_TEXT}};
    for (int64_t i = 0; i < 6; i++) table_add(&left, none(), number(i));
    table_add(&right, none(), text("x"));
    table_add(&right, none(), text("y"));
    struct table expected = {.schema = {GLINT_I64, GLINT_MSGPACK}};
    for (int64_t p = 0; p < 2; p++) {
        for (int64_t i = 3 * p; i < 3 * p + 3; i++) {
            const uint8_t pair[] = {0x92, 0, (uint8_t)i};
            table_add(&expected, number(p), bytes(pair, 3));
        }
        table_add(&expected, number(p), bytes(p == 0 ? "\x92\1\xa1x" : "\x92\1\xa1y", 4));
    }
    struct plan p = {.left = {.table = &left, .maps = 2},
                     .right = {.table = &right, .maps = 2},
                     .function = "two.with_partition"};
    plan_expect(make_zip_partitions, &p, NULL, &expected);
    p.right.maps = 3;
    plan_expect_error(make_zip_partitions, &p, NULL, GLINT_E_PLAN_ARGUMENT,
                      "one RDD has 3 partitions, the other 2");
    struct table pairs = make_pairs(5, 2, 1);
    p.right.table = &pairs;
    plan_expect_error(make_zip_partitions, &p, NULL, GLINT_E_PLAN_TYPE,
                      "zipPartitions needs keys of one type");
    table_free(&pairs);
    table_free(&expected);
    table_free(&left);
    table_free(&right);
}

/* take is satisfied by the left side: the right one is not read. */
Test(zip, zip_partitions_stops_early)
{
    struct table t = column_of(GLINT_I64, 5000);
    struct plan p = {.left = {.table = &t, .maps = 1},
                     .right = {.table = &t, .maps = 1},
                     .function = "two.with_partition"};
    struct glint_rows rows;
    struct glint *g = fixture_open(&fixtures[0]);
    cr_assert_eq(glint_take(make_zip_partitions(g, &p), 3, &rows), 0);
    cr_assert_eq(rows.count, 3);
    cr_assert_lt(glint_counter_value(g, "rows read"), 10000);
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
    table_free(&t);
}

Test(zip, out_of_memory_fails_cleanly_or_is_retried)
{
    struct table left = column_of(GLINT_TEXT, 60), right = column_of(GLINT_TEXT, 60);
    struct plan p = {.left = {.table = &left, .maps = 2},
                     .right = {.table = &right, .maps = 2},
                     .function = "two.with_partition"};
    plan_expect_no_memory(make_zip, &p);
    plan_expect_no_memory(make_cartesian, &p);
    plan_expect_no_memory(make_zip_partitions, &p);
    table_free(&left);
    table_free(&right);
}

/* Joins that exceed memory: spooled values are written to disk and read back in order; a key with
 * very many values on either side takes bounded memory. */
#include "tests/unit/ops/join_model.h"

#include <stdio.h>
#include <stdlib.h>

TestSuite(join_large, .init = scratch_open, .fini = scratch_close);

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* The records of one side: `maps` tasks with `count` records each, of one key and `size` bytes. */
struct burst {
    int64_t maps, count, size, key;
};

struct large {
    struct burst left, right;
    struct glint_rdd *(*op)(struct glint_rdd *left, struct glint_rdd *right);
};

static struct glint_rdd *burst_rdd(struct glint *g, const struct burst *b)
{
    struct table seeds = {.schema = {GLINT_NONE, GLINT_I64}};
    for (int64_t i = 0; i < b->maps; i++) table_add(&seeds, none(), number(i));
    struct glint_rdd *rdd =
        glint_parallelize(g, seeds.schema, seeds.rows, seeds.count, (uint32_t)b->maps);
    table_free(&seeds);
    struct glint_args *args = glint_args(g);
    glint_args_add_i64(args, "count", b->count);
    glint_args_add_i64(args, "size", b->size);
    glint_args_add_i64(args, "key", b->key);
    return glint_flat_map(rdd, fn("two.burst"), args);
}

static struct glint_rdd *large_rdd(struct glint *g, const struct large *l)
{
    return glint_with_partitions(l->op(burst_rdd(g, &l->left), burst_rdd(g, &l->right)), 2);
}

/* "l+r" for every pair of a left and a right value, all of one key. */
static struct table large_model(const struct large *l)
{
    struct table t = {.schema = {GLINT_I64, GLINT_TEXT}};
    char line[128];
    for (int64_t a = 0; a < l->left.maps * l->left.count; a++)
        for (int64_t b = 0; b < l->right.maps * l->right.count; b++) {
            snprintf(line, sizeof line, "%lld-%lld+%lld-%lld", (long long)(a / l->left.count),
                     (long long)(a % l->left.count), (long long)(b / l->right.count),
                     (long long)(b % l->right.count));
            table_add(&t, number(l->left.key), text(line));
        }
    return t;
}

static void expect_digest(const struct large *l, const struct table *expected, bool spills)
{
    for (const struct fixture *w = tight_fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct table got;
        table_collect(glint_map_values(large_rdd(g, l), fn("two.digest"), NULL), &got);
        table_expect(&got, expected, w->name);
        cr_expect_eq(glint_counter_value(g, "spills") > 0, spills);
        table_free(&got);
        fixture_close(g, GLINT_OK);
    }
}

/* The right values fit into memory, are partly spilled, or are each larger than the spool's
 * memory. */
Test(join_large, large_right_values_spill_and_join)
{
    const struct {
        int64_t count, size;
        bool spills;
    } rights[] = {{30, 10000, false}, {30, 100000, true}, {4000, 300, true}, {3, 1500000, true}};
    for (int i = 0; i < 4; i++) {
        const struct large l = {
            {2, 7, 1000, 5}, {2, rights[i].count, rights[i].size, 5}, glint_join};
        struct table expected = large_model(&l);
        expect_digest(&l, &expected, rights[i].spills);
        table_free(&expected);
    }
}

/* A group whose values were spilled, followed by other groups. */
static struct glint_rdd *make_groups(struct glint *g, void *arg)
{
    struct large *l = arg;
    struct glint_rdd *left = burst_rdd(g, &l->left), *right = burst_rdd(g, &l->right);
    for (int64_t key = 0; key < 4; key++) {
        struct burst b = {1, key + 1, key == 2 ? 700000 : 100, key};
        right = glint_union(right, burst_rdd(g, &b));
        left = glint_union(left, burst_rdd(g, &b));
    }
    struct glint_rdd *joined = glint_with_partitions(l->op(left, right), 1);
    return glint_map_values(joined, fn("two.digest"), NULL);
}

Test(join_large, groups_after_a_spilled_one_are_joined)
{
    struct large l = {{1, 3, 100, 9}, {1, 20, 200000, 9}, glint_join};
    struct table expected = {.schema = {GLINT_I64, GLINT_TEXT}};
    char line[64];
    for (int64_t key = 0; key < 10; key++) {
        const int64_t a = key == 9 ? 3 : key < 4 ? key + 1 : 0, b = key == 9 ? 20 : a;
        for (int64_t i = 0; i < a * b; i++) {
            snprintf(line, sizeof line, "0-%lld+0-%lld", (long long)(i / b), (long long)(i % b));
            table_add(&expected, number(key), text(line));
        }
    }
    const struct fixture tight = {.memory_bytes = 8 * SLOT_MEMORY_BYTES_MIN};
    plan_expect(make_groups, &l, &tight, &expected);
    table_free(&expected);
}

/* Unmatched right values are read back once; left values are never spooled. */
Test(join_large, unmatched_spilled_values_are_returned)
{
    const struct large l = {{1, 20, 200000, 1}, {2, 20, 200000, 2}, glint_full_outer_join};
    struct table expected = {.schema = {GLINT_I64, GLINT_TEXT}};
    char line[64];
    for (int i = 0; i < 20; i++) {
        snprintf(line, sizeof line, "0-%d+nil", i);
        table_add(&expected, number(1), text(line));
    }
    for (int i = 0; i < 40; i++) {
        snprintf(line, sizeof line, "nil+%d-%d", i / 20, i % 20);
        table_add(&expected, number(2), text(line));
    }
    table_by_hash(&expected, 2);
    expect_digest(&l, &expected, true);
    table_free(&expected);
}

/* ---- Peak memory */

static uint64_t peak_bytes(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    cr_assert_not_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "VmHWM: %llu kB", &kib) == 1) break;
    fclose(f);
    cr_assert_gt(kib, 0);
    return kib * KIB;
}

/* All run in one slot of 16 MiB; the process and the allocator add to that. */
#define PEAK_BYTES_MAX (40 * MIB)

static void expect_peak(const struct large *l, int64_t rows)
{
    const struct fixture tight = {
        .name = "tight", .slots = 1, .memory_bytes = SLOT_MEMORY_BYTES_MIN};
    const uint64_t before = peak_bytes();
    struct glint *g = fixture_open(&tight);
    int64_t n = -1;
    cr_assert_eq(glint_count(large_rdd(g, l), &n), 0, "%s", glint_error(g)->cause);
    cr_expect_eq(n, rows);
    fixture_close(g, GLINT_OK);
    const uint64_t peak = peak_bytes() - before;
    if (!SANITIZED)
        cr_expect_lt(peak, PEAK_BYTES_MAX, "%llu KiB", (unsigned long long)(peak / KIB));
}

/* 100 MB and more on either side, or on both. */
#define MANY ((int64_t)1000000 / (SANITIZED ? 10 : 1))

Test(join_large, many_right_values_use_bounded_memory)
{
    const struct large l = {{1, 3, 20, 7}, {2, MANY, 50, 7}, glint_join};
    expect_peak(&l, 3 * 2 * MANY);
}

Test(join_large, many_left_values_use_bounded_memory)
{
    const struct large l = {{2, MANY, 50, 7}, {1, 3, 20, 7}, glint_join};
    expect_peak(&l, 3 * 2 * MANY);
}

Test(join_large, many_values_on_both_sides_use_bounded_memory)
{
    const struct large l = {{2, 60, 50, 7}, {2, MANY / 50, 1000, 7}, glint_full_outer_join};
    expect_peak(&l, 2 * 60 * 2 * (MANY / 50));
}

Test(join_large, unmatched_values_use_bounded_memory)
{
    const struct large l = {{2, MANY, 50, 8}, {2, MANY, 50, 7}, glint_full_outer_join};
    expect_peak(&l, 4 * MANY);
}

Test(join_large, cogroup_uses_bounded_memory)
{
    const struct large l = {{2, MANY, 50, 7}, {2, MANY, 50, 7}, glint_cogroup};
    expect_peak(&l, 4 * MANY);
}

Test(join_large, subtract_by_key_uses_bounded_memory)
{
    struct large l = {{2, MANY, 50, 7}, {2, MANY, 50, 7}, glint_subtract_by_key};
    expect_peak(&l, 0);
    l.right.key = 8;
    expect_peak(&l, 2 * MANY);
}

Test(join_large, large_values_use_bounded_memory)
{
    const struct large l = {{2, 20, 1000000, 7}, {1, 60, 1200000, 7}, glint_join};
    expect_peak(&l, 2 * 20 * 60);
}

Test(join_large, intersection_and_subtract_use_bounded_memory)
{
    struct large l = {{2, MANY / 2, 50, 7}, {2, MANY, 50, 7}, glint_intersection};
    expect_peak(&l, MANY);
    l.op = glint_subtract;
    expect_peak(&l, 0);
    l.right.key = 8;
    expect_peak(&l, MANY);
}

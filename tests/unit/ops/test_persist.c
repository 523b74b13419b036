/* persist, cache and unpersist: every action returns the same rows as without them, from blocks
 * where there are some; blocks are evicted under a small budget, and freed; a loop that caches each
 * step costs the same after many. */
#include "engine/driver/driver.h"
#include "engine/plan/stage_plan.h"
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

TestSuite(persist, .init = scratch_open, .fini = scratch_close);

static int spread_each(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    (void)task, (void)state;
    char digits[24];
    const int64_t n = in->value.i64;
    const int size = snprintf(digits, sizeof digits, "%lld", (long long)n);
    glint_emit(out, &(struct glint_record){{.i64 = n * 7 % 1000}, bytes(digits, (uint64_t)size)});
    return 0;
}
static const struct glint_function spread = GLINT_MAP(
    "persist.spread", GLINT_ELEMENTS(GLINT_I64), GLINT_PAIRS(GLINT_I64, GLINT_TEXT), spread_each);

/* Few rows, some of 3 MB: more than fits a batch. */
static int large_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)state;
    const int64_t n = in->value.i64;
    const uint64_t size = n % 5000 == 0 ? 3000000 : n % 50 == 0 ? (uint64_t)n % 7 : 0;
    if (n % 50 != 0) return 0;
    uint8_t *data = glint_scratch(task, size + 1);
    if (data == NULL) return glint_fail(task, GLINT_E_NO_MEMORY, NULL, "scratch");
    memset(data, (int)(n % 251), size);
    glint_emit(out, &(struct glint_record){.key.f64 = (double)n / 4, .value.bytes = {data, size}});
    return 0;
}
static const struct glint_function large = GLINT_FLAT_MAP(
    "persist.large", GLINT_ELEMENTS(GLINT_I64), GLINT_PAIRS(GLINT_F64, GLINT_BYTES), large_each);

static const struct glint_function *const functions[] = {&spread, &large, NULL};
static const struct glint_module module = {"persist", functions};
static const struct glint_module *const modules[] = {&ops_module, &module, NULL};

static struct glint *open_context(uint32_t slots, bool encode)
{
    char work_dir[PATH_BYTES];
    struct context_config config = {.slots = slots,
                                    .work_dir = scratch_path(".", work_dir),
                                    .memory_bytes = slots * SLOT_MEMORY_BYTES_MIN,
                                    .bad_rows_max = -1,
                                    .encode_messages = encode,
                                    .ops = ops_table,
                                    .modules = modules};
    struct glint_error error;
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    return g;
}

static int64_t hits(const struct glint *g)
{
    return glint_counter_value(g, "cache hits");
}
static int64_t misses(const struct glint *g)
{
    return glint_counter_value(g, "cache misses");
}

static struct glint_rdd *numbers(struct glint *g)
{
    return glint_range(g, 0, 20000, 1, 7);
}

/* ---- Plans: the RDD that is persisted, and one that descends from it */

struct persist_plan {
    const char *name;
    struct glint_rdd *(*make)(struct glint *g);
    struct glint_rdd *(*then)(struct glint_rdd *kept); /* NULL: itself */
};

static struct glint_rdd *make_spread(struct glint *g)
{
    return glint_map(numbers(g), &spread, NULL);
}
static struct glint_rdd *make_large(struct glint *g)
{
    return glint_flat_map(numbers(g), &large, NULL);
}
static struct glint_rdd *make_union(struct glint *g)
{
    return glint_union(make_spread(g), glint_sample(make_spread(g), 0.5, 3));
}
static struct glint_rdd *make_coalesced(struct glint *g)
{
    return glint_coalesce(make_union(g), 3);
}
static struct glint_rdd *make_shuffled(struct glint *g)
{
    return glint_with_partitions(glint_group_by_key(make_spread(g)), 4);
}
static struct glint_rdd *then_count_keys(struct glint_rdd *kept)
{
    return glint_distinct(glint_keys(kept));
}
static struct glint_rdd *then_zip(struct glint_rdd *kept)
{
    struct glint_rdd *plain = numbers(glint_context(kept));
    return glint_zip(plain, glint_keys(kept));
}
static struct glint_rdd *then_cartesian(struct glint_rdd *kept)
{
    struct glint_rdd *few = glint_range(glint_context(kept), 0, 3, 1, 2);
    return glint_coalesce(glint_cartesian(few, glint_coalesce(glint_keys(kept), 5)), 4);
}
static struct glint_rdd *then_again(struct glint_rdd *kept)
{
    /* Its parents' splits must be skipped before those of the second range are read. */
    return glint_union(glint_keys(kept), glint_coalesce(numbers(glint_context(kept)), 2));
}
static struct glint_rdd *then_kept_twice(struct glint_rdd *kept)
{
    return glint_coalesce(glint_persist(glint_union(kept, kept), GLINT_DISK), 2);
}

static const struct persist_plan plans[] = {{"source", numbers, NULL},
                                            {"map", make_spread, NULL},
                                            {"large", make_large, NULL},
                                            {"union", make_union, NULL},
                                            {"coalesce", make_coalesced, then_count_keys},
                                            {"shuffle", make_shuffled, NULL},
                                            {"zip", make_spread, then_zip},
                                            {"cartesian", make_spread, then_cartesian},
                                            {"again", make_coalesced, then_again},
                                            {"twice", make_spread, then_kept_twice},
                                            {NULL, NULL, NULL}};

static void collect_plan(struct glint *g, const struct persist_plan *plan, unsigned level)
{
    struct table want, got;
    struct glint_rdd *plain = plan->make(g), *kept = glint_persist(plan->make(g), level);
    table_collect(plan->then != NULL ? plan->then(plain) : plain, &want);
    cr_assert_gt(want.count, 0);
    for (int i = 0; i < 3; i++) {
        const int64_t missed = misses(g), hit = hits(g);
        table_collect(plan->then != NULL ? plan->then(kept) : kept, &got);
        table_expect(&got, &want, plan->name);
        cr_expect(i == 0 ? misses(g) > missed : hits(g) > hit, "%s, action %d", plan->name, i);
        table_free(&got);
    }
    cr_expect_eq(glint_unpersist(kept), kept);
    const int64_t hit = hits(g), missed = misses(g);
    if (plan->then == NULL) { /* then_kept_twice persists another one */
        table_collect(kept, &got);
        table_expect(&got, &want, plan->name);
        cr_expect(hits(g) == hit && misses(g) == missed, "%s", plan->name);
        table_free(&got);
    }
    table_free(&want);
}

static void collect_plans(uint32_t slots, bool encode)
{
    for (const struct persist_plan *plan = plans; plan->name != NULL; plan++)
        for (unsigned level = GLINT_MEMORY; level <= (GLINT_MEMORY | GLINT_DISK); level++) {
            struct glint *g = open_context(slots, encode);
            collect_plan(g, plan, level);
            fixture_close(g, GLINT_OK);
        }
}

Test(persist, same_rows_from_blocks)
{
    collect_plans(1, false);
}

Test(persist, same_rows_from_blocks_on_two_slots_with_encoded_messages)
{
    collect_plans(2, true);
}

/* The first action reads a partition only in part: no block. The second one keeps all. */
Test(persist, take_keeps_no_partial_block)
{
    struct glint *g = open_context(1, false);
    struct glint_rdd *kept = glint_cache(make_spread(g));
    struct glint_rows rows;
    int64_t count;
    cr_assert_eq(glint_take(kept, 3, &rows), 0);
    glint_rows_free(&rows);
    cr_assert_eq(glint_count(kept, &count), 0);
    cr_expect_eq(count, 20000);
    cr_expect_eq(hits(g), 0);
    cr_assert_eq(glint_count(kept, &count), 0);
    cr_expect(count == 20000 && hits(g) == 7);
    cr_assert_eq(glint_take(kept, 3, &rows), 0);
    cr_expect(rows.count == 3 && hits(g) == 8);
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
}

/* The budget is a quarter of 16 MiB; each of these RDDs takes about 1.2 MB. */
static int64_t count_twelve(unsigned level, int64_t *out_evictions)
{
    struct glint *g = open_context(1, false);
    struct glint_rdd *kept[12];
    int64_t want, count;
    cr_assert_eq(glint_count(glint_distinct(glint_values(
                                 glint_map(glint_range(g, 0, 60000, 1, 4), &spread, NULL))),
                             &want),
                 0);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 12; i++) {
            if (round == 0)
                kept[i] =
                    glint_persist(glint_map(glint_range(g, 0, 60000, 1, 4), &spread, NULL), level);
            cr_assert_eq(glint_count(glint_distinct(glint_values(kept[i])), &count), 0);
            cr_expect_eq(count, want);
        }
    *out_evictions = glint_counter_value(g, "cache evictions");
    const int64_t hit = hits(g);
    fixture_close(g, GLINT_OK);
    return hit;
}

Test(persist, blocks_are_evicted_under_a_small_budget)
{
    int64_t dropped, moved, on_disk;
    const int64_t from_memory = count_twelve(GLINT_MEMORY, &dropped);
    cr_expect(dropped > 10 && from_memory < 12 * 4, "%lld, %lld", (long long)dropped,
              (long long)from_memory);
    /* What is evicted moves to disk, so all blocks are found again. */
    cr_expect_eq(count_twelve(GLINT_MEMORY | GLINT_DISK, &moved), 12 * 4);
    cr_expect_gt(moved, 10);
    cr_expect_eq(count_twelve(GLINT_DISK, &on_disk), 12 * 4);
    cr_expect_eq(on_disk, 0);
}

/* An RDD larger than the budget keeps the blocks that fit: a scan does not evict its own. */
Test(persist, a_large_rdd_keeps_what_fits)
{
    struct glint *g = open_context(1, false);
    struct glint_rdd *kept =
        glint_cache(glint_map(glint_range(g, 0, 600000, 1, 40), &spread, NULL));
    int64_t count;
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(glint_count(kept, &count), 0);
        cr_expect_eq(count, 600000);
    }
    cr_expect(hits(g) > 5 && hits(g) < 40, "%lld", (long long)hits(g));
    cr_expect_eq(glint_counter_value(g, "cache evictions"), 0);
    fixture_close(g, GLINT_OK);
}

/* ---- Loops that cache each step: a plan ends at RDDs all of whose blocks are there. */

static struct glint_rdd *make_distinct(struct glint *g)
{
    return glint_with_partitions(glint_distinct(glint_keys(make_spread(g))), 3);
}

/* A step that keeps all rows. */
static struct glint_rdd *next_step(struct glint_rdd *last, unsigned level)
{
    return glint_persist(glint_sample(last, 1, 1), level);
}

/* How many RDDs the walks of plans after walk number `before` have visited. */
static uint32_t visited_since(const struct glint *g, uint64_t before)
{
    uint32_t visited = 0;
    for (const struct glint_rdd *r = g->rdds; r != NULL; r = r->next) visited += r->walk > before;
    return visited;
}

/* Whether the splits of the first task are just the place of a block: its executor and its size. */
static bool split_is_block(struct glint *g, struct glint_rdd *rdd)
{
    struct buffer splits = {NULL, 0, 0};
    cr_assert_gt(rdd_partition_count(rdd), 0);
    cr_assert_eq(rdd_encode_partition_splits(g, rdd, 0, &splits), 0);
    struct unpacker u = unpack_begin((struct glint_slice){splits.data, splits.size});
    const bool is_block =
        u.count == 2 && unpack_u64(&u, UINT32_MAX) == 0 && unpack_u64(&u, UINT64_MAX) > 0;
    buffer_fini(&splits);
    return is_block && !u.failed;
}

static void loop_over_steps(struct glint *g, struct glint_rdd *last, int64_t rows)
{
    const uint32_t before = g->rdd_count;
    uint32_t third = 0;
    int64_t count;
    for (uint32_t i = 1; i <= 200; i++) {
        const uint64_t walks = g->walks;
        last = next_step(last, GLINT_MEMORY);
        cr_assert_eq(glint_count(last, &count), 0, "step %u: %s", i, glint_error(g)->cause);
        cr_assert_eq(count, rows);
        if (i == 3) third = visited_since(g, walks);
        if (i > 3) cr_assert_eq(visited_since(g, walks), third, "step %u", i);
    }
    cr_expect_eq(g->rdd_count, before + 200);
    cr_expect(split_is_block(g, last));
    glint_unpersist(last);
    cr_expect(split_is_block(g, last), "that of the step before");
}

Test(persist, a_cached_step_costs_the_same_after_many)
{
    struct glint *g = open_context(1, true);
    cr_expect_not(split_is_block(g, make_spread(g)));
    loop_over_steps(g, make_spread(g), 20000);
    loop_over_steps(g, make_distinct(g), 1000);
    loop_over_steps(g, glint_union(glint_keys(make_spread(g)), make_distinct(g)), 21000);
    fixture_close(g, GLINT_OK);
}

/* All steps are made by one action; the next ones end at the last of them. */
Test(persist, steps_of_one_action)
{
    struct glint *g = open_context(2, false);
    struct glint_rdd *last = make_distinct(g);
    int64_t count;
    for (int i = 0; i < 100; i++) last = next_step(last, GLINT_MEMORY);
    for (int i = 0; i < 3; i++) {
        const uint64_t walks = g->walks;
        cr_assert_eq(glint_count(glint_sample(last, 1, 2), &count), 0);
        cr_expect_eq(count, 1000);
        const uint32_t visited = visited_since(g, walks);
        cr_expect(i == 0 ? visited > 100 : i == 1 || visited < 20, "%u", visited);
    }
    fixture_close(g, GLINT_OK);
}

/* Damages the files of blocks, or removes them. */
static void lose_blocks(bool remove)
{
    char pattern[PATH_BYTES];
    glob_t found;
    cr_assert_eq(glob(scratch_path("*/block-*", pattern), 0, NULL, &found), 0);
    cr_expect_gt(found.gl_pathc, 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        cr_assert_eq(remove ? unlink(found.gl_pathv[i]) : truncate(found.gl_pathv[i], 10), 0);
    globfree(&found);
}

/* The action goes on with the whole plan, also above shuffles and below other blocks. */
Test(persist, lost_blocks_are_made_again)
{
    for (int i = 0; i < 8; i++) {
        struct glint *g = open_context(i % 2 + 1, i / 2 % 2 == 1);
        struct table want, got;
        struct glint_rdd *first = next_step(make_distinct(g), GLINT_DISK);
        struct glint_rdd *last = next_step(next_step(first, GLINT_MEMORY), GLINT_DISK);
        struct glint_rdd *both =
            glint_union(glint_map(last, &spread, NULL), glint_map(first, &spread, NULL));
        table_collect(both, &want);
        cr_expect_eq(want.count, 2000);
        for (int round = 0; round < 2; round++) {
            lose_blocks(i / 4 == 0);
            table_collect(both, &got);
            table_expect(&got, &want, "lost");
            table_free(&got);
            const int64_t missed = misses(g);
            table_collect(both, &got);
            table_expect(&got, &want, "made again");
            table_free(&got);
            cr_expect_eq(misses(g), missed);
        }
        table_free(&want);
        fixture_close(g, GLINT_OK);
    }
}

/* Each step takes most of the budget: its blocks replace those that it is made from. */
Test(persist, steps_that_evict_what_they_read)
{
    for (uint32_t slots = 1; slots <= 2; slots++) {
        struct glint *g = open_context(slots, slots == 2);
        struct glint_rdd *last = glint_map(glint_range(g, 0, 150000 * slots, 1, 9), &spread, NULL);
        int64_t count;
        for (int i = 0; i < 8; i++) {
            last = next_step(last, GLINT_MEMORY);
            cr_assert_eq(glint_count(last, &count), 0, "%s", glint_error(g)->cause);
            cr_expect_eq(count, 150000 * slots);
        }
        cr_expect_gt(glint_counter_value(g, "cache evictions"), 8);
        cr_expect_eq(glint_summarize(g)->retries, 0);
        fixture_close(g, GLINT_OK);
    }
}

Test(persist, wrong_levels_are_errors)
{
    const unsigned levels[] = {0, 4, 8};
    for (int i = 0; i < 3; i++) {
        struct glint *g = open_context(1, false);
        cr_expect_null(glint_persist(numbers(g), levels[i]));
        cr_expect_eq(glint_error(g)->code, GLINT_E_PLAN_ARGUMENT);
        cr_expect_not_null(strstr(glint_error(g)->cause, "GLINT_MEMORY"));
        fixture_close(g, GLINT_E_PLAN_ARGUMENT);
    }
    struct glint *g = open_context(1, false);
    struct glint_rdd *kept = glint_cache(numbers(g));
    cr_expect_eq(glint_cache(kept), kept);
    cr_expect_null(glint_persist(kept, GLINT_DISK));
    cr_expect_not_null(strstr(glint_error(g)->cause, "another level"));
    cr_expect_null(glint_unpersist(kept));
    fixture_close(g, GLINT_E_PLAN_ARGUMENT);
    cr_expect_null(glint_cache(NULL));
    cr_expect_null(glint_unpersist(NULL));
}

/* Scopes, release and glint_broadcast_destroy: a loop holds as much after many iterations as after
 * some; what is still needed stays; and using what was freed is an error. */
#include "engine/driver/driver.h"
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>

TestSuite(release, .init = scratch_open, .fini = scratch_close);

/* Adds the first byte of a broadcast to a number, and makes the result a pair. */
static int open_add(struct glint_task *task, void *state)
{
    struct glint_slice value;
    const int code = glint_arg_broadcast(task, "value", &value);
    if (code == 0) *(uint8_t *)state = value.data[value.size - 1];
    return code;
}
static int add_each(struct glint_task *task, void *state, const struct glint_record *in,
                    struct glint_emitter *out)
{
    (void)task;
    const int64_t n = in->value.i64 + *(uint8_t *)state;
    glint_emit(out, &(struct glint_record){.key.i64 = n % 10, .value.i64 = n});
    return 0;
}
static const struct glint_function add =
    GLINT_MAP("release.add", GLINT_ELEMENTS(GLINT_I64), GLINT_PAIRS(GLINT_I64, GLINT_I64), add_each,
              .state_size = 1, .open = open_add);

/* The left value of a joined pair. */
static int left_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    (void)task, (void)state;
    glint_emit(out, &(struct glint_record){.value = glint_pair(&in->value).left.value});
    return 0;
}
static const struct glint_function left =
    GLINT_MAP("release.left", GLINT_PAIRS(GLINT_I64, GLINT_MSGPACK),
              GLINT_PAIRS(GLINT_SAME, GLINT_I64), left_each);

/* Fails until the test says otherwise, between two actions. */
static bool refuses = true;
static int pair_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    (void)state;
    const int64_t n = in->value.i64;
    if (refuses) return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "it refuses");
    glint_emit(out, &(struct glint_record){.key.i64 = n % 10, .value.i64 = n});
    return 0;
}
static const struct glint_function pair_unless_refused = GLINT_MAP(
    "release.pair", GLINT_ELEMENTS(GLINT_I64), GLINT_PAIRS(GLINT_I64, GLINT_I64), pair_each);

static const struct glint_function *const functions[] = {&add, &left, &pair_unless_refused, NULL};
static const struct glint_module module = {"release", functions};
static const struct glint_module *const modules[] = {&ops_module, &test_reducers, &module, NULL};

static struct glint *open_context(uint32_t slots)
{
    struct context_config config = {.slots = slots,
                                    .memory_bytes = slots * SLOT_MEMORY_BYTES_MIN,
                                    .bad_rows_max = -1,
                                    .ops = ops_table,
                                    .modules = modules};
    struct glint_error error;
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    return g;
}

static struct glint_args *with_value(struct glint *g, struct glint_broadcast *b)
{
    struct glint_args *args = glint_args(g);
    glint_args_add_broadcast(args, "value", b);
    return args;
}

static struct glint_broadcast *broadcast(struct glint *g, uint8_t value)
{
    uint8_t bytes[100] = {0};
    bytes[sizeof bytes - 1] = value;
    return glint_broadcast_copy(g, bytes, sizeof bytes);
}

static struct glint_rdd *pairs(struct glint *g, uint8_t value)
{
    return glint_map(glint_range(g, 0, 100, 1, 3), &add, with_value(g, broadcast(g, value)));
}

static int64_t sum(struct glint_rdd *rdd)
{
    struct glint *g = glint_context(rdd);
    union glint_value out = {.i64 = -1};
    glint_begin_scope(g);
    cr_assert_eq(glint_sum(glint_values(rdd), &out), 0, "%s", glint_error(g)->cause);
    glint_end_scope(g, NULL);
    return out.i64;
}

/* ---- Loops */

/* Much of what one iteration can make: broadcasts, shuffles, joins with and without one, a sort,
 * cached blocks in memory and on disk, indexes, first values. */
static void iterate(struct glint *g, int64_t i)
{
    const int64_t total = 4950 + 100 * (i % 256);
    glint_begin_scope(g);
    struct glint_rdd *counts =
        glint_with_partitions(glint_reduce_by_key(pairs(g, (uint8_t)i), &GLINT_SUM_I64, NULL), 3);
    struct glint_rdd *kept =
        glint_persist(glint_with_name(counts, "counts"), i % 2 == 0 ? GLINT_MEMORY : GLINT_DISK);
    cr_expect_eq(sum(kept), total);
    struct glint_rdd *joined = glint_join(kept, glint_distinct(pairs(g, 1)));
    cr_expect_gt(sum(glint_map_values(joined, &left, NULL)), total);
    struct glint_rdd *sorted = glint_sort_by_key(glint_union(kept, pairs(g, 2)), false);
    cr_expect_eq(sum(glint_zip_with_index(glint_values(sorted))), 110 * 109 / 2);
    struct glint_rows rows = {.count = 0};
    cr_expect_eq(glint_take(sorted, 1, &rows), 0);
    glint_rows_free(&rows);
    glint_end_scope(g, NULL);
}

Test(release, a_loop_holds_what_its_first_iterations_held)
{
    struct glint *g = open_context(1);
    int64_t blocks[3];
    for (int64_t round = 0; round < 3; round++) {
        for (int64_t i = 0; i < 500; i++) iterate(g, i);
        /* But the names of the last stages, of which the summary has up to 1,024. */
        blocks[round] = mem_live_blocks() - glint_summarize(g)->stage_count;
        cr_expect_leq(glint_summarize(g)->stage_count, STAGES_KEPT_MAX);
    }
    cr_expect_eq(blocks[1], blocks[2], "%lld, %lld", (long long)blocks[1], (long long)blocks[2]);
    cr_expect_eq(g->rdd_count, 0);
    cr_expect_gt(g->next_rdd, PLAN_NODES_MAX);
    cr_expect_gt(glint_counter_value(g, "cache misses"), 0);
    fixture_close(g, GLINT_OK);
}

/* Each iteration continues with the result of the last one, so all stay until the end. */
Test(release, a_kept_rdd_keeps_what_it_descends_from)
{
    struct glint *g = open_context(2);
    struct glint_rdd *last = pairs(g, 0);
    const uint32_t before = g->rdd_count;
    for (int i = 0; i < 5; i++) {
        glint_begin_scope(g);
        struct glint_rdd *unused = glint_keys(last);
        cr_assert_not_null(unused);
        struct glint_rdd *next = glint_union(last, glint_reduce_by_key(last, &GLINT_SUM_I64, NULL));
        cr_expect_eq(glint_end_scope(g, next), next);
        glint_release(last);
        last = next;
        cr_expect_eq(g->rdd_count, before + 2 * (uint32_t)(i + 1));
    }
    cr_expect_eq(sum(last), 4950 * 32);
    cr_expect_eq(sum(last), 4950 * 32);
    glint_release(last);
    /* What was made outside of a scope has its handle: the source of `pairs`. */
    cr_expect_eq(g->rdd_count, before - 1);
    fixture_close(g, GLINT_OK);
}

/* In one process the lineage of a loop is cut at its shuffles, which cannot be lost. */
Test(release, a_long_lineage_is_cut)
{
    struct glint *g = open_context(1);
    struct glint_rdd *step = pairs(g, 0), *last = glint_union(step, step);
    const uint32_t before = g->rdd_count;
    for (int i = 0; i < 300; i++) {
        glint_begin_scope(g);
        struct glint_rdd *next =
            glint_cache(glint_reduce_by_key(glint_union(last, step), &GLINT_SUM_I64, NULL));
        cr_assert_eq(sum(next), 4950 * (i + 3), "%s", glint_error(g)->cause);
        glint_end_scope(g, next);
        glint_release(last);
        last = next;
        cr_expect_leq(g->rdd_count, before + 2 * (LINEAGE_STAGES_MAX + 2));
    }
    cr_expect_eq(sum(last), 4950 * 302);
    fixture_close(g, GLINT_OK);
}

/* A program that handles errors goes on after glint_clear_error, with what it had. */
Test(release, an_error_ends_its_action_only)
{
    struct glint *g = open_context(2);
    struct glint_rdd *kept = pairs(g, 0), *zipped;
    int64_t rows;
    cr_expect_eq(glint_clear_error(g), 0);
    for (int i = 0; i < 3; i++) {
        glint_begin_scope(g);
        zipped = glint_zip(glint_range(g, 0, 5, 1, 2), glint_range(g, 0, 5, 1, 3));
        cr_expect_lt(glint_count(zipped, &rows), 0);
        cr_expect_eq(glint_error(g)->code, GLINT_E_PLAN_ARGUMENT);
        cr_expect_eq(glint_clear_error(g), 0);
        glint_end_scope(g, NULL);
        glint_interrupt(g, GLINT_E_INTERRUPTED);
        cr_expect_eq(glint_count(kept, &rows), GLINT_E_INTERRUPTED);
        cr_expect_eq(glint_clear_error(g), 0);
        cr_expect_eq(sum(kept), 4950);
    }
    fixture_close(g, GLINT_OK);
}

/* The stage of the map tasks keeps its number, and has a time of its first run. */
Test(release, a_shuffle_whose_stage_failed_runs_again)
{
    struct glint *g = open_context(2);
    struct glint_rdd *sums = glint_reduce_by_key(
        glint_map(glint_range(g, 0, 100, 1, 3), &pair_unless_refused, NULL), &GLINT_SUM_I64, NULL);
    int64_t rows;
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(glint_count(sums, &rows), GLINT_E_FUNCTION_FAILED);
        cr_expect_eq(glint_clear_error(g), 0);
    }
    refuses = false;
    cr_expect_eq(glint_count(sums, &rows), 0, "%s", glint_error(g)->cause);
    cr_expect_eq(rows, 10);
    cr_expect_eq(sum(sums), 4950);
    fixture_close(g, GLINT_OK);
}

/* Its splits are made by reading, which an interrupt ends. */
Test(release, a_source_is_read_after_an_interrupt)
{
    struct glint *g = open_context(1);
    char path[PATH_MAX];
    int64_t count = 0;
    scratch_write("rows", "a,1\nb,2\nc,3\n", 12);
    scratch_path("rows", path);
    struct glint_rdd *rows = glint_with_csv(glint_text_file(g, path), ',');
    glint_with_split_bytes(rows, 5);
    glint_interrupt(g, GLINT_E_INTERRUPTED);
    cr_expect_eq(glint_count(rows, &count), GLINT_E_INTERRUPTED);
    cr_expect_eq(glint_clear_error(g), 0);
    cr_expect_eq(glint_count(rows, &count), 0, "%s", glint_error(g)->cause);
    cr_expect_eq(count, 3);
    fixture_close(g, GLINT_OK);
}

/* The values of broadcasts that an RDD needs stay, however they were released. */
Test(release, an_rdd_keeps_its_broadcast)
{
    struct glint *g = open_context(2);
    struct glint_broadcast *b = broadcast(g, 7);
    struct glint_rdd *outside = glint_map(glint_range(g, 0, 100, 1, 3), &add, with_value(g, b));
    glint_broadcast_destroy(g, b);
    glint_begin_scope(g);
    struct glint_rdd *inside = glint_end_scope(g, pairs(g, 3));
    cr_expect_eq(sum(outside), 4950 + 700);
    cr_expect_eq(sum(inside), 4950 + 300);
    cr_expect_not_null(g->broadcasts);
    glint_release(outside);
    glint_release(inside);
    cr_expect_null(g->broadcasts);
    fixture_close(g, GLINT_OK);
}

Test(release, scopes_nest)
{
    struct glint *g = open_context(2);
    glint_begin_scope(g);
    struct glint_rdd *outer = pairs(g, 1);
    glint_begin_scope(g);
    struct glint_rdd *inner = pairs(g, 2);
    cr_expect_eq(glint_end_scope(g, outer), outer);
    cr_expect_eq(sum(outer), 5050);
    cr_expect(inner->released && !outer->released);
    glint_begin_scope(g);
    struct glint_rdd *kept = glint_end_scope(g, pairs(g, 3));
    cr_expect_eq(sum(kept), 5250);
    glint_end_scope(g, NULL);
    cr_expect_eq(g->rdd_count, 0);
    fixture_close(g, GLINT_OK);
}

/* ---- Errors */

static void use_map(struct glint_rdd *r)
{
    glint_keys(r);
}
static void use_union(struct glint_rdd *r)
{
    glint_union(pairs(glint_context(r), 1), r);
}
static void use_count(struct glint_rdd *r)
{
    int64_t count;
    glint_count(r, &count);
}
static void use_persist(struct glint_rdd *r)
{
    glint_cache(r);
}
static void use_unpersist(struct glint_rdd *r)
{
    glint_unpersist(r);
}
static void use_partitions(struct glint_rdd *r)
{
    glint_partitions(r);
}
static void use_with_partitions(struct glint_rdd *r)
{
    glint_with_partitions(r, 2);
}
static void use_name(struct glint_rdd *r)
{
    glint_with_name(r, "name");
}
static void use_release(struct glint_rdd *r)
{
    glint_release(r);
}
static void use_keep(struct glint_rdd *r)
{
    glint_begin_scope(glint_context(r));
    glint_end_scope(glint_context(r), r);
}

Test(release, a_released_rdd_is_an_error)
{
    void (*const uses[])(struct glint_rdd *) = {
        use_map,        use_union,           use_count, use_persist, use_unpersist,
        use_partitions, use_with_partitions, use_name,  use_release, use_keep};
    for (unsigned i = 0; i < sizeof uses / sizeof uses[0]; i++)
        for (int needed = 0; needed < 2; needed++) { /* by another RDD, which keeps it */
            struct glint *g = open_context(2);
            struct glint_rdd *r = pairs(g, 1);
            if (needed) glint_keys(r);
            glint_release(r);
            cr_expect_eq(glint_error(g)->code, GLINT_OK);
            uses[i](r);
            cr_expect_eq(glint_error(g)->code, GLINT_E_PLAN_RDD, "use %u", i);
            cr_expect_not_null(strstr(glint_error(g)->cause, "was released"));
            fixture_close(g, GLINT_E_PLAN_RDD);
        }
}

Test(release, a_destroyed_broadcast_is_an_error)
{
    for (int i = 0; i < 3; i++) {
        struct glint *g = open_context(2);
        struct glint_broadcast *b = broadcast(g, 1);
        struct glint_args *before = with_value(g, b);
        glint_broadcast_destroy(g, b);
        glint_broadcast_destroy(g, NULL);
        if (i == 2)
            glint_broadcast_destroy(g, b);
        else
            cr_expect_null(
                glint_map(glint_range(g, 0, 9, 1, 1), &add, i == 0 ? before : with_value(g, b)));
        cr_expect_eq(glint_error(g)->code, GLINT_E_PLAN_ARGUMENT);
        cr_expect_not_null(strstr(glint_error(g)->cause, "destroyed"));
        fixture_close(g, GLINT_E_PLAN_ARGUMENT);
    }
}

static int release_in_callback(void *arg, const struct glint_record *record)
{
    (void)record;
    glint_release(arg);
    return 0;
}

Test(release, misplaced_calls_are_errors)
{
    struct glint *g = open_context(2);
    struct glint_rdd *r = pairs(g, 1);
    cr_expect_eq(glint_collect_each(r, release_in_callback, r), GLINT_E_PLAN_LIMIT);
    cr_expect_not_null(strstr(glint_error(g)->cause, "callback"));
    glint_begin_scope(g); /* no effect after an error */
    cr_expect_null(glint_end_scope(g, r));
    fixture_close(g, GLINT_E_PLAN_LIMIT);
    g = open_context(2);
    cr_expect_null(glint_end_scope(g, NULL));
    cr_expect_not_null(strstr(glint_error(g)->cause, "glint_begin_scope"));
    fixture_close(g, GLINT_E_PLAN_ARGUMENT);
    glint_release(NULL);
}

/* A context with an error frees what its scopes have. */
Test(release, an_error_in_a_scope)
{
    struct glint *g = open_context(2);
    glint_begin_scope(g);
    pairs(g, 1);
    cr_expect_null(glint_map(NULL, &add, NULL));
    cr_expect_null(glint_end_scope(g, NULL));
    fixture_close(g, GLINT_E_PLAN_RDD);
}

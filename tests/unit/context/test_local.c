/* Driver and executor in one process: failures, retries, early ends, cancellation, empty inputs. */
#include "engine/driver/driver.h"
#include "tests/support/local.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

static int64_t live;

static struct glint *local_open(const struct context_config *config)
{
    struct glint_error error;
    live = mem_live_blocks();
    struct glint *g = context_create(config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    return g;
}

/* glint_finish must return `code`; no memory may be leaked. */
static void local_close(struct glint *g, enum glint_code code)
{
    cr_expect_eq(glint_finish(g), code, "%d: %s", glint_error(g)->code, glint_error(g)->cause);
    glint_destroy(g);
    cr_expect_eq(mem_live_blocks(), live);
}

#define SHAPES 4
static const struct {
    uint32_t slots;
    bool encode;
} shapes[SHAPES] = {{1, false}, {2, true}, {8, false}, {3, true}};

static struct glint *open_shape(int i)
{
    struct context_config c = local_config(shapes[i].slots, shapes[i].encode);
    return local_open(&c);
}

/* ---- Attempts */

static void expect_retries(struct glint *g, uint32_t retries)
{
    struct glint_summary s;
    s = *glint_summarize(g);
    cr_expect_eq(s.retries, retries);
}

Test(local, failed_attempts_are_retried_and_counted_once)
{
    for (int i = 0; i < SHAPES; i++) {
        struct glint *g = open_shape(i);
        struct glint_rdd *counts =
            local_counts(glint_map(local_numbers(g, 1000, 7), FN_FLAKY, NULL));
        int64_t keys = 0;
        atomic_store(&local_failures, TASK_ATTEMPTS_MAX - 1); /* maybe all of one task */
        cr_expect_eq(glint_count(counts, &keys), 0);
        cr_expect_eq(keys, 10);
        cr_expect_eq(glint_counter_value(g, "mapped"), 1000);
        expect_retries(g, TASK_ATTEMPTS_MAX - 1);
        local_close(g, GLINT_OK);
    }
}

Test(local, four_failures_fail_the_job)
{
    for (int i = 0; i < SHAPES; i++) {
        struct glint *g = open_shape(i);
        int64_t n = -1;
        atomic_store(&local_failures, 1000);
        cr_expect_eq(glint_count(glint_map(local_numbers(g, 10, 1), FN_FLAKY, NULL), &n),
                     GLINT_E_NO_MEMORY);
        cr_expect_not_null(strstr(glint_error(g)->effect, "in all attempts"));
        local_close(g, GLINT_E_NO_MEMORY);
    }
}

Test(local, first_error_is_kept)
{
    for (int i = 0; i < SHAPES; i++) {
        struct glint *g = open_shape(i);
        int64_t n = -1;
        struct glint_rdd *numbers = local_numbers(g, 100, 9);
        struct glint_rdd *bad = local_counts(glint_map(numbers, FN_PICKY, NULL));
        cr_expect_eq(glint_count(bad, &n), GLINT_E_FUNCTION_FAILED);
        cr_expect_str_eq(glint_error(g)->cause, "thirteen");
        cr_expect_str_eq(glint_error(g)->hint, "a hint");
        cr_expect_eq(glint_count(numbers, &n), GLINT_E_FUNCTION_FAILED); /* does not run */
        cr_expect_null(glint_map(numbers, FN_MAP, NULL));
        expect_retries(g, 0);
        local_close(g, GLINT_E_FUNCTION_FAILED);
    }
}

Test(local, inconsistent_function_errors_fail_the_job)
{
    static const struct glint_function *const functions[] = {FN_SILENT, FN_SLY};
    for (int i = 0; i < 2 * SHAPES; i++) {
        struct glint *g = open_shape(i / 2);
        int64_t n = -1;
        struct glint_rdd *rdd = glint_map(local_numbers(g, 10, 2), functions[i % 2], NULL);
        cr_expect_eq(glint_count(local_counts(rdd), &n), GLINT_E_FUNCTION_FAILED);
        local_close(g, GLINT_E_FUNCTION_FAILED);
    }
}

/* ---- Actions that end early, and actions inside actions */

struct stop {
    int64_t after, rows;
};

static int stop_row(void *arg, const struct glint_record *record)
{
    struct stop *s = arg;
    cr_expect_eq(record->value.i64, s->rows); /* in order, and never past the end */
    return ++s->rows == s->after ? 77 : 0;
}

Test(local, action_stopped_early_is_not_an_error)
{
    for (int i = 0; i < SHAPES; i++) {
        struct glint *g = open_shape(i);
        struct glint_rdd *rdd = glint_map(local_numbers(g, 100000, 50), FN_MAP, NULL);
        for (int round = 1; round <= 3; round++) {
            struct stop stop = {.after = 5001};
            int64_t n = 0;
            cr_expect_eq(glint_collect_each(rdd, stop_row, &stop), 77);
            cr_expect_eq(stop.rows, 5001);
            cr_expect_eq(glint_error(g)->code, GLINT_OK, "%s", glint_error(g)->cause);
            /* Counters of three partitions of 2,000 rows count, regardless of how many tasks
             * ran. */
            cr_expect_eq(glint_counter_value(g, "mapped"), round * 6000 + (round - 1) * 100000);
            cr_expect_eq(glint_count(rdd, &n), 0);
            cr_expect_eq(n, 100000);
        }
        local_close(g, GLINT_OK);
    }
}

static int count_inside(void *arg, const struct glint_record *record)
{
    (void)record;
    int64_t n;
    return glint_count(arg, &n);
}

Test(local, nested_action_is_rejected)
{
    for (int i = 0; i < SHAPES; i++) {
        struct glint *g = open_shape(i);
        struct glint_rdd *rdd = local_numbers(g, 10, 2);
        cr_expect_eq(glint_collect_each(rdd, count_inside, rdd), GLINT_E_PLAN_LIMIT);
        local_close(g, GLINT_E_PLAN_LIMIT);
    }
}

/* ---- Cancellation */

static uint64_t now_ns(void)
{
    return env_real()->now_ns(env_real());
}

static void *interrupt_soon(void *arg)
{
    struct timespec tick = {.tv_nsec = 1000000};
    while (atomic_load(&local_started) == 0) nanosleep(&tick, NULL);
    glint_interrupt(arg, GLINT_E_INTERRUPTED);
    glint_interrupt(arg, GLINT_E_TERMINATED); /* the first error is kept */
    return NULL;
}

static void expect_interrupted(int shape, bool shuffled)
{
    struct glint *g = open_shape(shape);
    pthread_t thread;
    int64_t n = 0;
    atomic_store(&local_started, 0);
    struct glint_rdd *rdd = glint_flat_map(local_numbers(g, 10, 10), FN_ENDLESS, NULL);
    if (shuffled) rdd = local_counts(rdd);
    cr_assert_eq(pthread_create(&thread, NULL, interrupt_soon, g), 0);
    cr_expect_eq(glint_count(rdd, &n), GLINT_E_INTERRUPTED);
    pthread_join(thread, NULL);
    local_close(g, GLINT_E_INTERRUPTED);
}

Test(local, endless_tasks_end_when_interrupted)
{
    for (int i = 0; i < 2 * SHAPES; i++) expect_interrupted(i / 2, i % 2);
}

Test(local, timeout_ends_the_job)
{
    for (int i = 0; i < SHAPES; i++) {
        struct context_config c = local_config(shapes[i].slots, shapes[i].encode);
        c.timeout_ns = 50000000;
        uint64_t started = now_ns();
        struct glint *g = local_open(&c);
        int64_t n = 0;
        cr_expect_eq(glint_count(glint_flat_map(local_numbers(g, 10, 10), FN_ENDLESS, NULL), &n),
                     GLINT_E_TIMEOUT);
        cr_expect_geq(now_ns() - started, c.timeout_ns); /* counted from the start of the context */
        local_close(g, GLINT_E_TIMEOUT);
    }
}

Test(local, interrupt_between_actions_ends_the_next)
{
    struct glint *g = open_shape(1);
    int64_t n = 0;
    struct glint_rdd *rdd = local_numbers(g, 10, 2);
    cr_expect_eq(glint_count(rdd, &n), 0);
    glint_interrupt(g, GLINT_E_TERMINATED);
    cr_expect_eq(glint_count(rdd, &n), GLINT_E_TERMINATED);
    local_close(g, GLINT_E_TERMINATED);

    g = open_shape(1); /* also before the outputs are committed */
    glint_interrupt(g, GLINT_E_INTERRUPTED);
    local_close(g, GLINT_E_INTERRUPTED);
}

Test(local, unused_context_closes_cleanly)
{
    for (int i = 0; i < SHAPES; i++) local_close(open_shape(i), GLINT_OK);
}

/* ---- Empty inputs */

static struct glint_rdd *no_partitions(struct glint *g)
{
    extern const struct op op_parallelize;
    return rdd_create(g,
                      &(struct rdd_spec){.op = &op_parallelize, .schema = {GLINT_NONE, GLINT_I64}});
}

Test(local, empty_inputs_give_empty_results)
{
    for (int i = 0; i < 2 * SHAPES; i++) {
        struct glint *g = open_shape(i / 2);
        struct glint_rdd *numbers = i % 2 ? no_partitions(g) : local_numbers(g, 0, 3);
        struct glint_rdd *counts = local_counts(glint_map(numbers, FN_MAP, NULL));
        struct glint_rows rows = {.count = 0};
        int64_t n = -1;
        cr_expect_eq(glint_partitions(numbers) == 0, i % 2 == 1);
        cr_expect_eq(glint_count(numbers, &n), 0);
        cr_expect_eq(n, 0);
        cr_expect_eq(glint_collect(counts, &rows), 0);
        cr_expect_eq(rows.count, 0);
        glint_rows_free(&rows);
        cr_expect_eq(glint_count(glint_union(counts, counts), &n), 0);
        cr_expect_eq(n, 0);
        local_close(g, GLINT_OK);
    }
}

Test(local, results_are_in_partition_order)
{
    for (int i = 0; i < SHAPES; i++) {
        struct glint *g = open_shape(i);
        struct glint_rows rows;
        cr_expect_eq(glint_collect(local_numbers(g, 3000, 600), &rows), 0);
        cr_assert_eq(rows.count, 3000);
        for (uint64_t r = 0; r < rows.count; r++)
            cr_assert_eq(glint_rows_at(&rows, r).value.i64, (int64_t)r);
        glint_rows_free(&rows);
        local_close(g, GLINT_OK);
    }
}

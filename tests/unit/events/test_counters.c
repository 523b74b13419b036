/* Sums of named counters: of tasks, with parts, up to a limit. */
#include "engine/events/counters.h"
#include "engine/events/job_model.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct counters c;
static struct glint_error error;

static void teardown(void)
{
    counters_fini(&c);
    cr_expect_eq(mem_live_blocks(), 0);
}

TestSuite(counters, .fini = teardown);

static void add(const char *name, int64_t by)
{
    cr_assert_eq(counters_add(&c, name, by, &error), 0, "%s", error.cause);
}

Test(counters, sums_wrap_and_contain_parts)
{
    add("bad rows", 1);
    add("bad rows: too short", 2);
    add("bad rows and more", 4);
    add("bad rows: too short", 8);
    cr_expect_eq(c.count, 3);
    cr_expect_eq(counters_value(&c, "bad rows"), 11);
    cr_expect_eq(counters_value(&c, "bad rows: too short"), 10);
    cr_expect_eq(counters_value(&c, "bad"), 0);
    add("x", INT64_MAX);
    add("x", 1);
    cr_expect_eq(counters_value(&c, "x"), INT64_MIN);
}

Test(counters, built_in_ones_come_first)
{
    static const char want[] = "{\"counters\":{\"rows read\":2,\"spills\":4,\"a\":3,\"b\":1}}";
    struct json j = {.failed = false};
    add("b", 1);
    add("spills", 4);
    add("a", 3);
    add("rows read", 2);
    counters_sort(&c);
    json_begin(&j, NULL, '{');
    counters_put(&j, &c);
    json_end(&j, '}');
    cr_assert_eq(j.out.size, sizeof want - 1);
    cr_expect_eq(memcmp(j.out.data, want, sizeof want - 1), 0);
    json_fini(&j);
}

Test(counters, limit_is_an_error)
{
    char name[32];
    struct job_model m;
    const struct event_attempt a = {.outcome = OUTCOME_DONE};
    job_model_init(&m);
    struct job_stage *s = job_model_add_attempt(&m, &a, NULL, &error);
    cr_assert_not_null(s);
    for (unsigned i = 0; i < COUNTERS_MAX; i++) {
        snprintf(name, sizeof name, "counter %u", i);
        add(name, 1);
        cr_assert_eq(job_stage_add_counter(s, name, 1, &error), 0);
    }
    add("counter 7", 1);
    cr_expect_eq(job_stage_add_counter(s, "none", 0, &error), 0); /* zeros are not kept */
    cr_expect_eq(counters_add(&c, "one more", 1, &error), GLINT_E_PLAN_LIMIT);
    error = (struct glint_error){.code = GLINT_OK};
    cr_expect_eq(job_stage_add_counter(s, "one more", 1, &error), GLINT_E_EVENT_LOG_INVALID);
    cr_expect_eq(c.count, COUNTERS_MAX);
    job_model_fini(&m);
}

Test(counters, out_of_memory_changes_nothing)
{
    int r = 1;
    add("a", 1);
    for (int64_t n = 1; r != 0; n++) {
        mem_fail_at(n, false);
        r = counters_add(&c, "b", 2, &error);
        mem_fail_at(0, false);
        cr_assert(r == 0 || r == GLINT_E_NO_MEMORY);
        cr_assert_eq(c.count, r == 0 ? 2 : 1);
        error = (struct glint_error){.code = GLINT_OK};
    }
    cr_expect_eq(counters_value(&c, "a"), 1);
    cr_expect_eq(counters_value(&c, "b"), 2);
}

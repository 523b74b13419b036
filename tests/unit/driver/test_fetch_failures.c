/* What the driver does when executors cannot fetch from each other: which map outputs are
 * recomputed, and where tasks run. Executors are fakes; the network is a table of reachable
 * pairs. */
#include "tests/unit/driver/driver_fixture.h"

#include <stdio.h>

enum { MAPS = 6, REDUCES = 3, CONNECT_NS = 5 };

static bool cut[EXECUTORS][EXECUTORS];

static void cut_pair(uint32_t a, uint32_t b)
{
    cut[a][b] = cut[b][a] = true;
}

static void isolate(uint32_t executor)
{
    for (uint32_t e = 0; e < EXECUTORS; e++)
        if (e != executor) cut_pair(e, executor);
}

static void fetch_fails(struct driver_fixture *w, const struct task *t, uint32_t map)
{
    const struct map_outputs *o = w->driver->action_run->stages[0].map_outputs;
    const struct fetch_failure fault = {.shuffle = o->shuffle,
                                        .map = map,
                                        .executor = o->locations[map].executor,
                                        .attempt = o->locations[map].attempt,
                                        .unreachable = true};
    struct message *m = message_create(MSG_FAILED);
    m->error = mem_zalloc(sizeof *m->error);
    error_set(m->error, GLINT_E_FETCH_FAILED, NULL, "executor %u does not respond", fault.executor);
    cr_assert_eq(fetch_failure_encode(&fault, &m->body, m->error), 0);
    w->now += CONNECT_NS;
    deliver_message(w, t, m);
}

/* A map task succeeds; a reducer succeeds if it reaches all executors that it reads from. */
static void run(struct driver_fixture *w, const struct task *t)
{
    const struct action_run *a = w->driver->action_run;
    const struct map_outputs *o = a->stages[0].map_outputs;
    if (w->lost[t->executor]) return;
    if (w->killed[t - w->tasks]) {
        failed(w, t, GLINT_E_INTERRUPTED, "the task was cancelled");
        return;
    }
    for (uint32_t m = 0; t->stage == a->first_stage + 1 && m < MAPS; m++)
        if (cut[t->executor][o->locations[m].executor]) {
            fetch_fails(w, t, m);
            return;
        }
    done(w, t, "", 1);
}

static void open_fixture(struct driver_fixture *w)
{
    memset(cut, 0, sizeof cut);
    fixture_open_logged(w, run, NULL);
}

static struct glint_rdd *sums(struct driver_fixture *w)
{
    struct glint_rdd *pairs = glint_map(local_numbers(w->g, 30, MAPS), FN_MAP, NULL);
    return glint_with_partitions(local_counts(pairs), REDUCES);
}

/* Map tasks that were sent a second time, from these executors. */
static void expect_made_again(const struct driver_fixture *w, uint32_t stage, const char *from)
{
    bool again[EXECUTORS] = {false};
    char found[EXECUTORS + 1] = "";
    for (uint32_t i = 0; i < w->sent; i++) {
        const struct task *t = &w->tasks[i];
        if (t->stage != stage) continue;
        for (uint32_t k = i + 1; k < w->sent; k++)
            if (w->tasks[k].stage == stage && w->tasks[k].number == t->number)
                again[t->executor] = true;
    }
    for (uint32_t e = 0, n = 0; e < EXECUTORS; e++)
        if (again[e]) found[n++] = (char)('0' + e);
    cr_expect_str_eq(found, from);
}

static uint32_t sent_to(const struct driver_fixture *w, uint32_t executor)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->sent; i++) count += w->tasks[i].executor == executor;
    return count;
}

Test(fetch_failures, isolated_executor_of_three_is_excluded)
{
    for (uint32_t isolated = 0; isolated < EXECUTORS; isolated++) {
        struct driver_fixture w;
        const char name[] = {(char)('0' + isolated), '\0'};
        open_fixture(&w);
        isolate(isolated);
        struct glint_rdd *rdd = sums(&w);
        cr_expect_eq(act(rdd, NULL), 0, "%s", glint_error(w.g)->cause);
        expect_made_again(&w, 1, name);
        for (uint32_t e = 0; e < EXECUTORS; e++)
            cr_expect_eq(w.driver->executors[e].excluded_unreachable, e == isolated);
        fixture_close(&w);
    }
}

/* The next action knows the exclusion, a later one does not, since networks recover. */
Test(fetch_failures, exclusion_lasts_a_minute)
{
    struct driver_fixture w;
    open_fixture(&w);
    isolate(0);
    cr_expect_eq(act(sums(&w), NULL), 0);
    uint32_t before = sent_to(&w, 0);
    cr_expect_gt(before, 0);
    cr_expect_eq(act(sums(&w), NULL), 0);
    cr_expect_eq(sent_to(&w, 0), before);
    w.now += 61 * UINT64_C(1000000000);
    memset(cut, 0, sizeof cut);
    cr_expect_eq(act(sums(&w), NULL), 0);
    cr_expect_gt(sent_to(&w, 0), before);
    fixture_close(&w);
}

/* Its tasks read no map outputs, so the excluded executor can run them. */
Test(fetch_failures, single_stage_action_ignores_exclusion)
{
    struct driver_fixture w;
    open_fixture(&w);
    isolate(0);
    cr_expect_eq(act(sums(&w), NULL), 0);
    uint32_t before = sent_to(&w, 0);
    cr_expect_eq(act(local_numbers(w.g, 12, 6), NULL), 0);
    cr_expect_gt(sent_to(&w, 0), before);
    fixture_close(&w);
}

Test(fetch_failures, broken_link_among_three_excludes_at_most_one)
{
    struct driver_fixture w;
    open_fixture(&w);
    cut_pair(0, 1);
    cr_expect_eq(act(sums(&w), NULL), 0, "%s", glint_error(w.g)->cause);
    cr_expect_not(w.driver->executors[2].excluded_unreachable);
    cr_expect_not(w.driver->executors[0].excluded_unreachable &&
                  w.driver->executors[1].excluded_unreachable);
    fixture_close(&w);
}

static void lose(struct driver_fixture *w, uint32_t executor)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_EXECUTOR_LOST, NULL, "the connection was closed");
    w->lost[executor] = true;
    driver_on_executor_lost(w->driver, executor, LOSS_CONNECTION, &why);
}

Test(fetch_failures, broken_link_between_two_excludes_one)
{
    struct driver_fixture w;
    open_fixture(&w);
    lose(&w, 2);
    cut_pair(0, 1);
    cr_expect_eq(act(sums(&w), NULL), 0, "%s", glint_error(w.g)->cause);
    cr_expect(w.driver->executors[0].excluded_unreachable !=
              w.driver->executors[1].excluded_unreachable);
    fixture_close(&w);
}

Test(fetch_failures, job_completes_when_no_link_works)
{
    struct driver_fixture w;
    open_fixture(&w);
    for (uint32_t e = 0; e < EXECUTORS; e++) isolate(e);
    cr_expect_eq(act(sums(&w), NULL), 0, "%s", glint_error(w.g)->cause);
    fixture_close(&w);
}

/* When the last good executor is lost, the excluded ones are used again. */
static void run_and_lose(struct driver_fixture *w, const struct task *t)
{
    run(w, t);
    if (w->state != 0 || !w->driver->executors[0].excluded_unreachable) return;
    w->state = 1;
    lose(w, 1);
    lose(w, 2);
}

Test(fetch_failures, excluded_executor_returns_when_it_is_the_last)
{
    struct driver_fixture w;
    open_fixture(&w);
    w.on_task = run_and_lose;
    isolate(0);
    cr_expect_eq(act(sums(&w), NULL), 0, "%s", glint_error(w.g)->cause);
    cr_expect_eq(w.state, 1);
    /* The executor that it could not reach is lost. */
    cr_expect_not(w.driver->executors[0].excluded_unreachable);
    fixture_close(&w);
}

/* As many executors are lost as a job may lose, none of which has run a task. */
static void lose_idle_executors(struct driver_fixture *w)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_EXECUTOR_LOST, NULL, "the connection was closed");
    for (uint32_t i = 0; i < EXECUTOR_FAILURES_MAX; i++) {
        struct executor_info info = {.name = "idle", .host = "idle", .slots = 1};
        cr_assert_eq(driver_on_executor_added(w->driver, &info), 0);
        driver_on_executor_lost(w->driver, EXECUTORS + i, LOSS_CONNECTION, &why);
    }
}

/* The next loss ends the job, although it had map outputs. */
static void lose_too_many(struct driver_fixture *w, const struct task *t)
{
    if (w->lost[t->executor]) return;
    done(w, t, "", 1);
    if (w->state++ > 0) return;
    lose_idle_executors(w);
    lose(w, t->executor);
}

Test(fetch_failures, lost_outputs_of_a_failed_job_are_no_retries)
{
    struct driver_fixture w;
    struct glint_summary summary;
    fixture_open_logged(&w, lose_too_many, NULL);
    cr_expect_eq(act(sums(&w), NULL), GLINT_E_TOO_MANY_EXECUTOR_FAILURES);
    driver_summarize(w.driver, &summary);
    cr_expect_eq(summary.retries, 0);
    fixture_close(&w);
}

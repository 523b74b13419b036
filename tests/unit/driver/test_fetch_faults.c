/* What the driver does when executors do not reach each other: whose map outputs are made again,
 * and where tasks go. Executors are fakes; the network is a table of who reaches whom. */
#include "tests/unit/driver/world.h"

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

static void fetch_fails(struct world *w, const struct task *t, uint32_t map)
{
    const struct outputs *o = w->driver->active->stages[0].outputs;
    const struct fetch_fault fault = {.shuffle = o->shuffle,
                                      .map = map,
                                      .executor = o->places[map].executor,
                                      .attempt = o->places[map].attempt,
                                      .unreachable = true};
    struct message *m = message_create(MSG_FAILED);
    m->error = mem_zalloc(sizeof *m->error);
    error_set(m->error, GLINT_E_FETCH_FAILED, NULL, "executor %u does not answer", fault.executor);
    cr_assert_eq(fault_encode(&fault, &m->body, m->error), 0);
    w->now += CONNECT_NS;
    say(w, t, m);
}

/* A map task ends well; a reducer when it reaches all that it reads from. */
static void run(struct world *w, const struct task *t)
{
    const struct active *a = w->driver->active;
    const struct outputs *o = a->stages[0].outputs;
    if (w->lost[t->executor]) return;
    if (w->killed[t - w->tasks]) {
        failed(w, t, GLINT_E_INTERRUPTED, "it was told to end");
        return;
    }
    for (uint32_t m = 0; t->stage == a->first_stage + 1 && m < MAPS; m++)
        if (cut[t->executor][o->places[m].executor]) {
            fetch_fails(w, t, m);
            return;
        }
    done(w, t, "", 1);
}

static void open_world(struct world *w)
{
    memset(cut, 0, sizeof cut);
    world_open_logged(w, run, NULL);
}

static struct glint_rdd *sums(struct world *w)
{
    struct glint_rdd *pairs = glint_map(local_numbers(w->g, 30, MAPS), FN_MAP, NULL);
    return glint_with_partitions(local_counts(pairs), REDUCES);
}

/* Map tasks that were sent a second time, from these executors. */
static void expect_made_again(const struct world *w, uint32_t stage, const char *from)
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

static uint32_t sent_to(const struct world *w, uint32_t executor)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->sent; i++) count += w->tasks[i].executor == executor;
    return count;
}

Test(fetch_faults, of_three_the_isolated_one_is_left_out)
{
    for (uint32_t isolated = 0; isolated < EXECUTORS; isolated++) {
        struct world w;
        const char name[] = {(char)('0' + isolated), '\0'};
        open_world(&w);
        isolate(isolated);
        struct glint_rdd *rdd = sums(&w);
        cr_expect_eq(act(rdd, NULL), 0, "%s", glint_error(w.g)->cause);
        expect_made_again(&w, 1, name);
        for (uint32_t e = 0; e < EXECUTORS; e++)
            cr_expect_eq(w.driver->members[e].excluded, e == isolated);
        world_close(&w);
    }
}

/* The next action does not find it out anew, but later ones do: networks heal. */
Test(fetch_faults, it_is_remembered_for_a_minute)
{
    struct world w;
    open_world(&w);
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
    world_close(&w);
}

/* Its tasks read nothing, so it can do them. */
Test(fetch_faults, an_action_of_one_stage_leaves_nobody_out)
{
    struct world w;
    open_world(&w);
    isolate(0);
    cr_expect_eq(act(sums(&w), NULL), 0);
    uint32_t before = sent_to(&w, 0);
    cr_expect_eq(act(local_numbers(w.g, 12, 6), NULL), 0);
    cr_expect_gt(sent_to(&w, 0), before);
    world_close(&w);
}

Test(fetch_faults, two_that_do_not_reach_each_other_and_a_third)
{
    struct world w;
    open_world(&w);
    cut_pair(0, 1);
    cr_expect_eq(act(sums(&w), NULL), 0, "%s", glint_error(w.g)->cause);
    cr_expect_not(w.driver->members[2].excluded);
    cr_expect_not(w.driver->members[0].excluded && w.driver->members[1].excluded);
    world_close(&w);
}

static void lose(struct world *w, uint32_t executor)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_EXECUTOR_LOST, NULL, "it is gone");
    w->lost[executor] = true;
    driver_on_lost(w->driver, executor, LOSS_CONNECTION, &why);
}

Test(fetch_faults, two_alone_that_do_not_reach_each_other)
{
    struct world w;
    open_world(&w);
    lose(&w, 2);
    cut_pair(0, 1);
    cr_expect_eq(act(sums(&w), NULL), 0, "%s", glint_error(w.g)->cause);
    cr_expect(w.driver->members[0].excluded != w.driver->members[1].excluded);
    world_close(&w);
}

Test(fetch_faults, none_reaches_any_other)
{
    struct world w;
    open_world(&w);
    for (uint32_t e = 0; e < EXECUTORS; e++) isolate(e);
    cr_expect_eq(act(sums(&w), NULL), 0, "%s", glint_error(w.g)->cause);
    world_close(&w);
}

/* When the one that was left over is lost, those that were left out must do. */
static void run_and_lose(struct world *w, const struct task *t)
{
    run(w, t);
    if (w->state != 0 || !w->driver->members[0].excluded) return;
    w->state = 1;
    lose(w, 1);
    lose(w, 2);
}

Test(fetch_faults, who_is_left_out_works_again_when_no_other_is_left)
{
    struct world w;
    open_world(&w);
    w.answer = run_and_lose;
    isolate(0);
    cr_expect_eq(act(sums(&w), NULL), 0, "%s", glint_error(w.g)->cause);
    cr_expect_eq(w.state, 1);
    cr_expect_not(w.driver->members[0].excluded); /* with whom it failed is gone */
    world_close(&w);
}

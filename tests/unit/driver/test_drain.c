/* Waiting for running tasks after an action has failed: the user is told what the driver waits for
 * if it takes longer than a second. */
#include "engine/base/text.h"
#include "tests/unit/driver/driver_fixture.h"

enum { NUMBERS = 3 };

static char last_note[1024];
static unsigned note_count;
static uint64_t wait_ns; /* how long the other tasks run after the failure */

static void on_note(void *arg, const char *line)
{
    (void)arg;
    note_count++;
    cr_assert(text_format(last_note, sizeof last_note, "%s", line));
}

/* The first task fails the job. The others have no outcome yet. */
static void fail_first_task(struct driver_fixture *w, const struct task *t)
{
    if (t == &w->tasks[0]) failed(w, t, GLINT_E_BAD_ROW, "failed");
}

/* Called until all outcomes have arrived: `state` counts. */
static bool end_others(struct driver_fixture *w)
{
    if (w->state == 0) {
        w->state = 1;
        w->now += wait_ns;
        return true;
    }
    if (w->state > 1) return false;
    w->state = 2;
    for (uint32_t i = 1; i < w->handled; i++)
        failed(w, &w->tasks[i], GLINT_E_INTERRUPTED, "cancelled");
    return true;
}

static void run_failing_action(uint64_t ns)
{
    struct driver_fixture w;
    fixture_open_logged(&w, fail_first_task, NULL);
    w.g->config.note = on_note;
    w.idle = end_others;
    note_count = 0;
    wait_ns = ns;
    cr_expect_eq(act(local_numbers(w.g, NUMBERS, NUMBERS), NULL), GLINT_E_BAD_ROW);
    cr_expect_eq(w.state, 2);
    fixture_close(&w);
}

Test(drain, no_note_within_a_second)
{
    run_failing_action(UINT64_C(500000000));
    cr_expect_eq(note_count, 0, "%s", last_note);
}

Test(drain, long_wait_is_noted_once)
{
    run_failing_action(UINT64_C(1500000000));
    cr_expect_eq(note_count, 1);
    cr_expect_not_null(strstr(last_note, "waiting for task"), "%s", last_note);
}

/* ---- A superseded copy on another machine delays the end of the job by half a second. */

enum { COPIED = 4 }; /* tasks: a copy needs three of them to be done */
static uint64_t superseded_since; /* when the last task's copy was done */

/* The first attempt of the last task has no outcome. */
static void end_all_but_one_copy(struct driver_fixture *w, const struct task *t)
{
    const bool last = t->number + 1 == COPIED;
    if (last && w->state++ == 0) return;
    done(w, t, "", 0);
    if (last) superseded_since = w->now;
}

Test(drain, superseded_copies_are_not_waited_for)
{
    struct driver_fixture w;
    fixture_open_logged(&w, end_all_but_one_copy, NULL);
    w.cluster.speculate = true;
    superseded_since = 0;
    cr_expect_eq(act(local_numbers(w.g, COPIED, COPIED), NULL), 0, "%s", w.g->error.cause);
    cr_assert(superseded_since > 0, "there was no copy");
    cr_expect_eq(w.sent, COPIED + 1);
    cr_expect(w.now - superseded_since >= UINT64_C(500000000));
    cr_expect_lt(w.now - superseded_since, UINT64_C(1000000000));
    fixture_close(&w);
}

/* Revoked attempts in the event log. */
#include "tests/unit/driver/driver_fixture.h"

#include <stdio.h>
#include <unistd.h>

enum { NUMBERS = 30, SLOW = 0 };

/* Executor SLOW sends no outcome before one of its tasks is revoked. */
static void on_task(struct driver_fixture *w, const struct task *t)
{
    if (w->state > 0 || t->executor != SLOW) done(w, t, "", 0);
}

/* Then the outcomes of all its other tasks arrive before that of the revoked one. */
static bool overtake(struct driver_fixture *w)
{
    const struct task revoked = w->revoked;
    if (w->state > 0 || revoked.stage == 0) return false;
    w->state = 1;
    for (uint32_t i = 0; i < w->handled; i++)
        if (w->tasks[i].executor == SLOW && w->tasks[i].number != revoked.number)
            done(w, &w->tasks[i], "", 0);
    failed(w, &revoked, GLINT_E_INTERRUPTED, "revoked");
    return true;
}

static uint32_t count_lines(const char *path, const char *with)
{
    char line[8192];
    uint32_t count = 0;
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file) != NULL) count += strstr(line, with) != NULL;
    fclose(file);
    return count;
}

Test(revoked_attempts, never_started_attempt_is_not_logged)
{
    struct driver_fixture w;
    char path[] = "/tmp/glint-revoked-XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
    fixture_open_logged(&w, on_task, path);
    w.idle = overtake;
    cr_expect_eq(act(local_numbers(w.g, NUMBERS, NUMBERS), NULL), 0);
    cr_expect_eq(w.state, 1, "one task was revoked");
    cr_expect_eq(w.sent, NUMBERS + 1, "and ran on another executor");
    fixture_close(&w);
    cr_expect_eq(count_lines(path, "\"event\":\"task\""), NUMBERS);
    cr_expect_eq(count_lines(path, "\"killed\""), 0);
    unlink(path);
}

/* The report of a lost executor names its tasks. */
#include "tests/unit/driver/driver_fixture.h"

#include <stdio.h>
#include <unistd.h>

enum { TASKS = 2 };

static void lose(struct driver_fixture *w, uint32_t executor)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_EXECUTOR_LOST, NULL, "its cable was cut");
    w->lost[executor] = true;
    driver_on_executor_lost(w->driver, executor, LOSS_CONNECTION, &why);
}

static void done_then_lost(struct driver_fixture *w, const struct task *t)
{
    if (w->lost[t->executor]) return;
    done(w, t, "", 1);
    if (w->handled == 1) lose(w, t->executor);
}

static void failed_then_lost(struct driver_fixture *w, const struct task *t)
{
    if (w->lost[t->executor]) return;
    if (w->handled > 1) {
        done(w, t, "", 1);
        return;
    }
    failed(w, t, GLINT_E_SYSTEM, "once");
    lose(w, t->executor);
}

/* True if the event log names the last task of the lost executor. */
static bool last_task_is_named(void (*on_task)(struct driver_fixture *w, const struct task *t))
{
    struct driver_fixture w;
    char path[] = "/tmp/glint-loss-cause-XXXXXX", line[8192];
    int file = mkstemp(path), lost = 0;
    bool named = false;
    cr_assert_geq(file, 0);
    close(file);
    fixture_open_logged(&w, on_task, path);
    cr_expect_eq(act(local_numbers(w.g, TASKS, TASKS), NULL), 0, "%s", glint_error(w.g)->cause);
    fixture_close(&w);
    FILE *log = fopen(path, "r");
    cr_assert_not_null(log);
    while (fgets(line, sizeof line, log) != NULL) {
        if (strstr(line, "its cable was cut") == NULL) continue;
        lost++;
        named = named || strstr(line, "; its last task was ") != NULL;
    }
    fclose(log);
    unlink(path);
    cr_expect_geq(lost, 1);
    return named;
}

Test(loss_cause, names_the_last_task_done)
{
    cr_expect(last_task_is_named(done_then_lost));
}

Test(loss_cause, does_not_name_a_task_that_failed)
{
    cr_expect_not(last_task_is_named(failed_then_lost));
}

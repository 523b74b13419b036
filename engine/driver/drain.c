/* The end of an action whose tasks still run: they are told to end, and waited for.
 *
 * In this process their memory is ours until they did, so while the job goes on they are waited for
 * as long as it takes; on other machines what comes too late belongs to no stage any more. When the
 * job is to end, by an error, a signal or its --timeout, they have GRACE_NS. A function that does
 * not return until then is left as it is: the process ends without it (runner.stuck), or, on
 * another machine, its executor does. */
#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"

#include <assert.h>
#include <string.h>

#define SECOND_NS           UINT64_C(1000000000)
#define SUPERSEDED_GRACE_NS (SECOND_NS / 2) /* twins of tasks that are done, on other machines */
#define GRACE_NS            (5 * SECOND_NS)
#define NOTE_AFTER_NS       SECOND_NS /* until a person is told what is waited for */

/* "task 3 of stage 1 (textFile..map; functions words.split) on e1 (10.0.0.1) and 2 more" */
static void describe_running(const struct driver *d, char *out, size_t capacity)
{
    const struct action_run *a = d->action_run;
    struct task_attempt run, first = {.executor = SCHED_NONE};
    uint32_t count = 0;
    for (uint32_t e = 0; e < d->executor_count; e++)
        for (uint32_t at = 0; sched_each_attempt_on(a->sched, e, &at, &run);) {
            if (run.queued) continue;
            if (count++ == 0) first = run;
        }
    out[0] = '\0';
    if (count == 0) return;
    char where[2 * NAME_BYTES_MAX], others[32] = "";
    const struct stage_run *stage = &a->stages[first.stage];
    executor_describe(d, first.executor, where, sizeof where);
    if (count > 1) text_format(others, sizeof others, " and %u more", count - 1);
    text_format(out, capacity, "task %u of stage %u (%s%s%s)%s%s",
                stage_run_partition(a, first.stage, first.task), stage->number, stage->name,
                stage->functions[0] != '\0' ? "; functions " : "", stage->functions, where, others);
}

static void note_waiting(const struct driver *d, uint64_t left_ns)
{
    char what[4 * NAME_BYTES_MAX], end[96] = "";
    describe_running(d, what, sizeof what);
    if (left_ns != UINT64_MAX)
        text_format(end, sizeof end, ", at most %llu s; a second signal ends the job at once",
                    (unsigned long long)((left_ns + SECOND_NS - 1) / SECOND_NS));
    glint_note(d->g, "waiting for %s to end%s", what, end);
}

/* The job is to end, and these do not. */
static void report_unfinished_tasks(struct driver *d)
{
    struct glint_error *e = driver_error(d);
    char what[4 * NAME_BYTES_MAX], before[sizeof e->effect];
    bool remote = d->g->config.cluster != NULL;
    describe_running(d, what, sizeof what);
    memcpy(before, e->effect, sizeof before);
    text_format(e->effect, sizeof e->effect, "%s%s%s did not end within %llu s", before,
                before[0] != '\0' ? "; " : "", what, (unsigned long long)(GRACE_NS / SECOND_NS));
    d->runner.stuck = !remote;
}

static uint64_t drain_deadline_ns(const struct driver *d, uint64_t start_ns, uint64_t ending_ns)
{
    const struct action_run *a = d->action_run;
    bool remote = d->g->config.cluster != NULL, done = a->stages[a->stage_count - 1].finished;
    if (remote && done) return start_ns + SUPERSEDED_GRACE_NS;
    if (ending_ns != UINT64_MAX) return ending_ns + GRACE_NS;
    return remote ? start_ns + GRACE_NS : UINT64_MAX;
}

/* The telling may fail for lack of memory, which ending tasks give back, so it is tried until it is
 * done; failures here are none of the action's. */
int drain_running_tasks(struct driver *d)
{
    struct action_run *a = d->action_run;
    struct glint_error *error = driver_error(d), first = *error;
    if (sched_busy_slots(a->sched) == 0) return 0;
    uint64_t start = d->env->now_ns(d->env), now = start;
    uint64_t ending_since = first.code != GLINT_OK ? start : UINT64_MAX;
    bool cancel_sent = false, noted = false;
    a->over = true;
    sched_stop(a->sched);
    while (sched_busy_slots(a->sched) > 0 && now < drain_deadline_ns(d, start, ending_since)) {
        if (!cancel_sent) cancel_sent = send_cancel(d, true) == 0;
        d->transport.wait(d->transport.arg, d, now + PROGRESS_TICK_NS);
        *error = first;
        now = d->env->now_ns(d->env);
        driver_check_interrupt_or_timeout(d);
        first = *error;
        if (first.code != GLINT_OK && ending_since == UINT64_MAX) {
            ending_since = now;
            noted = false; /* it was said without an end */
        }
        if (noted || now < start + NOTE_AFTER_NS || sched_busy_slots(a->sched) == 0) continue;
        uint64_t end = drain_deadline_ns(d, start, ending_since);
        noted = true;
        note_waiting(d, end == UINT64_MAX ? end : end > now ? end - now : 0);
    }
    if (sched_busy_slots(a->sched) > 0 && first.code != GLINT_OK) report_unfinished_tasks(d);
    first = *error;
    int r = d->runner.stuck ? 0 : send_cancel(d, false);
    if (first.code != GLINT_OK) *error = first;
    return first.code != GLINT_OK ? first.code : r;
}

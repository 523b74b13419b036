/* The end of an action while tasks still run: the driver cancels them and waits for them.
 *
 * Tasks of a local job use the driver's memory, so while the job continues the driver waits for
 * them without a limit. Executors on other machines can be left behind: what they send later has
 * the id of a finished stage and is ignored. When the job must end, because of an error, a signal
 * or the timeout, tasks have GRACE_NS. A function that does not return in that time is abandoned:
 * the process exits without freeing what it may use (glint.stuck); on another machine the executor
 * exits without it. */
#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"

#include <assert.h>
#include <string.h>

#define SUPERSEDED_GRACE_NS (SECOND_NS / 2) /* for superseded copies on other machines */
#define GRACE_NS            (5 * SECOND_NS)
#define NOTE_AFTER_NS       SECOND_NS /* until the user is told what the driver waits for */

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

/* The job must end, and these tasks did not end in time. */
static void report_unfinished_tasks(struct driver *d)
{
    struct glint_error *e = driver_error(d);
    char what[4 * NAME_BYTES_MAX], before[sizeof e->effect];
    bool remote = d->g->config.cluster != NULL;
    describe_running(d, what, sizeof what);
    memcpy(before, e->effect, sizeof before);
    text_format(e->effect, sizeof e->effect, "%s%s%s did not stop within %llu s", before,
                before[0] != '\0' ? "; " : "", what, (unsigned long long)(GRACE_NS / SECOND_NS));
    d->g->stuck = !remote;
}

/* `ending_ns`: since when the job must end, UINT64_MAX if it continues. Returns UINT64_MAX for no
 * limit. */
static uint64_t drain_deadline_ns(const struct driver *d, uint64_t start_ns, uint64_t ending_ns)
{
    const struct action_run *a = d->action_run;
    bool remote = d->g->config.cluster != NULL, done = a->stages[a->stage_count - 1].finished;
    if (remote && done) return start_ns + SUPERSEDED_GRACE_NS;
    if (ending_ns != UINT64_MAX) return ending_ns + GRACE_NS;
    return remote ? start_ns + GRACE_NS : UINT64_MAX;
}

/* Sending CANCEL can fail when out of memory. Tasks that end free memory, so it is retried until it
 * succeeds. Errors that occur while it waits are not errors of the action: *error is restored. */
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
            noted = false; /* the first note named no limit: now there is one */
        }
        if (noted || now < start + NOTE_AFTER_NS || sched_busy_slots(a->sched) == 0) continue;
        uint64_t end = drain_deadline_ns(d, start, ending_since);
        noted = true;
        note_waiting(d, end == UINT64_MAX ? end : end > now ? end - now : 0);
    }
    if (sched_busy_slots(a->sched) > 0 && first.code != GLINT_OK) report_unfinished_tasks(d);
    first = *error;
    /* Executors accept tasks again, for the next action. Not if stuck: the process is about to
     * exit, and the running function must see that it is cancelled. */
    int r = d->g->stuck ? 0 : send_cancel(d, false);
    if (first.code != GLINT_OK) *error = first;
    return first.code != GLINT_OK ? first.code : r;
}

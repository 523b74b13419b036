/* The end of an action whose tasks still run: they are told to end, and waited for.
 *
 * In this process their memory is ours until they did, so while the job goes on they are waited for
 * as long as it takes; on other machines what comes too late belongs to no stage any more. When the
 * job is to end, by an error, a signal or its --timeout, they have GRACE_NS. A function that does
 * not return until then is left as it is: the process ends without it (runner.stuck), or, on
 * another machine, its executor does. */
#include "engine/base/text.h"
#include "engine/driver/internal.h"

#include <assert.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define TWINS_NS  (SECOND_NS / 2) /* twins of tasks that are done, on other machines */
#define GRACE_NS  (5 * SECOND_NS)
#define SAY_NS    SECOND_NS /* until a person is told what is waited for */

/* "task 3 of stage 1 (textFile..map; functions words.split) on e1 (10.0.0.1) and 2 more" */
static void describe_running(const struct driver *d, char *out, size_t capacity)
{
    const struct active *a = d->active;
    struct sched_run run, first = {.executor = SCHED_NONE};
    uint32_t count = 0;
    for (uint32_t e = 0; e < d->member_count; e++)
        for (uint32_t at = 0; sched_each(a->sched, e, &at, &run);) {
            if (run.queued) continue;
            if (count++ == 0) first = run;
        }
    out[0] = '\0';
    if (count == 0) return;
    char where[2 * NAME_BYTES_MAX], others[32] = "";
    const struct active_stage *stage = &a->stages[first.stage];
    member_where(d, first.executor, where, sizeof where);
    if (count > 1) text_format(others, sizeof others, " and %u more", count - 1);
    text_format(out, capacity, "task %u of stage %u (%s%s%s)%s%s",
                active_partition(a, first.stage, first.task), stage->number,
                stage->name, stage->functions[0] != '\0' ? "; functions " : "", stage->functions,
                where, others);
}

static void say(const struct driver *d, uint64_t left_ns)
{
    char what[4 * NAME_BYTES_MAX], end[96] = "";
    describe_running(d, what, sizeof what);
    if (left_ns != UINT64_MAX)
        text_format(end, sizeof end, ", at most %llu s; a second signal ends the job at once",
                    (unsigned long long)((left_ns + SECOND_NS - 1) / SECOND_NS));
    glint_note(d->g, "waiting for %s to end%s", what, end);
}

/* The job is to end, and these do not. */
static void give_up(struct driver *d)
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

static uint64_t end_of(const struct driver *d, uint64_t begun_ns, uint64_t ending_ns)
{
    const struct active *a = d->active;
    bool remote = d->g->config.cluster != NULL, done = a->stages[a->stage_count - 1].ended;
    if (remote && done) return begun_ns + TWINS_NS;
    if (ending_ns != UINT64_MAX) return ending_ns + GRACE_NS;
    return remote ? begun_ns + GRACE_NS : UINT64_MAX;
}

/* The telling may fail for lack of memory, which ending tasks give back, so it is tried until it is
 * done; failures here are none of the action's. */
int drain_tasks(struct driver *d)
{
    struct active *a = d->active;
    struct glint_error *error = driver_error(d), first = *error;
    if (sched_running(a->sched) == 0) return 0;
    uint64_t begun = d->env->now_ns(d->env), now = begun;
    uint64_t ending = first.code != GLINT_OK ? begun : UINT64_MAX;
    bool told = false, said = false;
    a->over = true;
    sched_stop(a->sched);
    while (sched_running(a->sched) > 0 && now < end_of(d, begun, ending)) {
        if (!told) told = announce_cancel(d, true) == 0;
        d->transport.wait(d->transport.arg, d, now + PROGRESS_TICK_NS);
        *error = first;
        now = d->env->now_ns(d->env);
        driver_check_clock(d);
        first = *error;
        if (first.code != GLINT_OK && ending == UINT64_MAX) {
            ending = now;
            said = false; /* it was said without an end */
        }
        if (said || now < begun + SAY_NS || sched_running(a->sched) == 0) continue;
        uint64_t end = end_of(d, begun, ending);
        said = true;
        say(d, end == UINT64_MAX ? end : end > now ? end - now : 0);
    }
    if (sched_running(a->sched) > 0 && first.code != GLINT_OK) give_up(d);
    first = *error;
    int r = d->runner.stuck ? 0 : announce_cancel(d, false);
    if (first.code != GLINT_OK) *error = first;
    return first.code != GLINT_OK ? first.code : r;
}

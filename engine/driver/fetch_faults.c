/* Map outputs that could not be fetched: what is made again, and which executor gets no more tasks.
 *
 * An output that is damaged or missing is made again. Where the holder does not answer, it or the
 * reader may be what others cannot reach. So at first the task goes to a third executor, which will
 * tell, and no output is given up; the one at fault (reach.h) is then excluded: what runs there
 * ends, and what it made is made again by others. */
#include "engine/base/text.h"
#include "engine/driver/internal.h"
#include "engine/driver/journal.h"

#include <assert.h>
#include <string.h>

#define REMEMBERED_NS (60 * UINT64_C(1000000000)) /* from one action to the next */

uint64_t fetch_faults_begun_ns(const struct driver *d, uint32_t executor, uint32_t stage,
                               const struct message *m)
{
    struct sched_run run;
    for (uint32_t at = 0; sched_each(d->active->sched, executor, &at, &run);)
        if (run.stage == stage && run.task == m->task && run.attempt == m->attempt)
            return run.begun_ns;
    return 0;
}

/* ---- Outputs */

static void lose_output(struct driver *d, uint32_t stage, uint32_t map)
{
    struct active *a = d->active;
    struct output_place place = a->stages[stage].outputs->places[map];
    outputs_lost(a->stages[stage].outputs, map, place);
    sched_on_output_lost(a->sched, stage, map, place.executor, place.attempt);
}

/* One map output is lost, or, where the executor did not answer, or has lost one before, all that
 * the shuffle has there: finding that out one by one would cost an attempt for each. */
static void lose_outputs(struct driver *d, uint32_t stage, const struct fetch_fault *f,
                         const struct glint_error *why)
{
    const struct outputs *o = d->active->stages[stage].outputs;
    bool all = f->unreachable || d->members[f->executor].loses_outputs;
    d->members[f->executor].loses_outputs = true;
    for (uint32_t map = 0; map < o->maps; map++) {
        struct output_place place = o->places[map];
        if (map == f->map ? place.attempt != f->attempt : !all) continue;
        if (place.executor == f->executor && o->there[map]) lose_output(d, stage, map);
    }
    results_retry_lost(d, why);
}

static void lose_shuffle(struct driver *d, const struct fetch_fault *f,
                         const struct glint_error *why)
{
    const struct active *a = d->active;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        const struct outputs *o = a->stages[i].outputs;
        if (o != NULL && o->shuffle == f->shuffle && f->map < o->maps) lose_outputs(d, i, f, why);
    }
}

/* All that the running action's shuffles have there. How many. */
static uint32_t lose_all(struct driver *d, uint32_t executor, const struct glint_error *why)
{
    const struct active *a = d->active;
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        const struct outputs *o = a->stages[i].outputs;
        for (uint32_t map = 0; o != NULL && map < o->maps; map++) {
            if (!o->there[map] || o->places[map].executor != executor) continue;
            lose_output(d, i, map);
            count++;
        }
    }
    results_retry_lost(d, why);
    return count;
}

/* ---- Executors */

/* What runs there would not be read by anybody, or cannot read. */
static int end_all(struct driver *d, uint32_t executor)
{
    struct sched_run run;
    int r = 0;
    for (uint32_t at = 0; r == 0 && sched_each(d->active->sched, executor, &at, &run);)
        if (!run.doomed) r = announce_kill(d, &run, KILL_ANYHOW);
    return r;
}

static int exclude(struct driver *d, uint32_t executor, const struct glint_error *why)
{
    struct member *m = &d->members[executor];
    uint32_t outputs = lose_all(d, executor, why);
    if (!m->excluded_told)
        glint_note(d->g,
                   "executor %s (%s) gets no more tasks while others do better: other executors "
                   "and it do not reach each other, the last time: %s; %u map output%s to be made "
                   "again",
                   m->name, m->host, why->cause, outputs, outputs == 1 ? "" : "s");
    m->excluded_told = true;
    journal_executor(d, executor, EVENT_SET_ASIDE, why);
    int r = end_all(d, executor);
    return r == 0 ? members_recall_readers(d, executor) : r;
}

/* `why`: the failure that was told last. */
static int review(struct driver *d, const struct glint_error *why)
{
    int r = 0;
    for (uint32_t e = 0; e < d->member_count && r == 0; e++) {
        struct member *m = &d->members[e];
        bool now = !m->lost && reach_at_fault(&d->reach, e);
        if (now == m->excluded) continue;
        m->excluded = now;
        sched_exclude(d->active->sched, e, now);
        if (now) r = exclude(d, e, why);
    }
    return r;
}

/* Prefers one that is neither, nor on the node of either. False: there is none. */
static bool prefer_third(struct driver *d, uint32_t stage, uint32_t task, uint32_t reader,
                         uint32_t holder)
{
    for (uint32_t i = 0; i < d->member_count; i++) {
        uint32_t e = (task + i) % d->member_count;
        const struct member *m = &d->members[e];
        if (m->lost || m->draining || m->silent || m->excluded) continue;
        if (m->node == d->members[reader].node || m->node == d->members[holder].node) continue;
        sched_prefer(d->active->sched, stage, task, e);
        return true;
    }
    return false;
}

/* ---- What happens */

static int on_unreachable(struct driver *d, uint32_t reader, uint32_t stage, uint32_t task,
                          const struct fetch_fault *f, const struct glint_error *why,
                          uint64_t begun_ns)
{
    enum reach_news news = reach_failed(&d->reach, d->member_count, reader, f->executor, begun_ns,
                                        d->env->now_ns(d->env));
    int r = review(d, why);
    if (r != 0 || d->members[reader].excluded || d->members[f->executor].excluded) return r;
    bool third = prefer_third(d, stage, task, reader, f->executor);
    if (!third || news == REACH_NO_ROOM) lose_shuffle(d, f, why);
    return 0;
}

int fetch_faults_on_failed(struct driver *d, uint32_t executor, uint32_t stage,
                           const struct message *m, uint64_t begun_ns)
{
    struct fetch_fault f;
    struct glint_error ignored = {.code = GLINT_OK};
    if (fault_decode((struct glint_slice){m->body.data, m->body.size}, &f, &ignored) != 0) return 0;
    if (f.executor >= d->member_count || d->members[f.executor].lost) return 0;
    if (f.unreachable && f.executor != executor)
        return on_unreachable(d, executor, stage, m->task, &f, m->error, begun_ns);
    lose_shuffle(d, &f, m->error);
    return 0;
}

int fetch_faults_begin(struct driver *d)
{
    struct glint_error why = {.code = GLINT_OK};
    uint64_t now = d->env->now_ns(d->env);
    reach_forget_before(&d->reach, now > REMEMBERED_NS ? now - REMEMBERED_NS : 0);
    if (d->active->stage_count == 1) return 0; /* its tasks read no map outputs */
    error_set(&why, GLINT_E_FETCH_FAILED, NULL, "it was so in the action before");
    return review(d, &why);
}

void fetch_faults_forget(struct driver *d, uint32_t executor)
{
    const struct active *a = d->active;
    struct glint_error why = {.code = GLINT_OK};
    assert(d->members[executor].lost);
    reach_forget(&d->reach, executor);
    if (a == NULL || a->sched == NULL || a->over) return;
    error_set(&why, GLINT_E_FETCH_FAILED, NULL, "with others than executor %s, which is lost",
              d->members[executor].name);
    review(d, &why);
}

/* Executors as the driver knows them: who joined, who left, and what each has been told. */
#include "engine/base/text.h"
#include "engine/driver/internal.h"
#include "engine/driver/journal.h"

#include <assert.h>
#include <string.h>

void members_end(struct driver *d)
{
    for (uint32_t e = 0; e < d->member_count; e++) {
        mem_free(d->members[e].plan_told);
        mem_free(d->members[e].outputs_told);
        d->members[e].plan_told = NULL;
        d->members[e].outputs_told = NULL;
    }
}

void members_fini(struct driver *d)
{
    members_end(d);
    mem_free(d->members);
}

static bool member_begin(struct member *m, uint32_t stage_count)
{
    assert(m->plan_told == NULL && m->outputs_told == NULL);
    if (m->lost) return true;
    m->set_aside = m->loses_outputs = m->excluded = false; /* each action begins anew */
    m->plan_told = mem_zalloc(sizeof *m->plan_told * stage_count);
    m->outputs_told = mem_zalloc(sizeof *m->outputs_told * stage_count);
    return m->plan_told != NULL && m->outputs_told != NULL;
}

bool members_begin(struct driver *d, uint32_t stage_count)
{
    assert(stage_count > 0);
    for (uint32_t e = 0; e < d->member_count; e++)
        if (!member_begin(&d->members[e], stage_count)) return false;
    return true;
}

void member_where(const struct driver *d, uint32_t executor, char *out, size_t capacity)
{
    assert(executor < d->member_count && capacity > 0);
    out[0] = '\0';
    if (d->g->config.cluster != NULL)
        text_format(out, capacity, " on %s (%s)", d->members[executor].name,
                    d->members[executor].host);
}

/* ---- Events */

static struct member *member_add(struct driver *d, const struct executor_info *info)
{
    assert(info->slots > 0 && d->member_count < EXECUTORS_MAX);
    uint64_t size = sizeof *d->members * d->member_count;
    struct member *grown = mem_grow(d->members, size, size + sizeof *grown);
    if (grown == NULL) return NULL;
    d->members = grown;
    struct member *m = &grown[d->member_count];
    *m = (struct member){.slots = info->slots, .node = d->member_count};
    text_format(m->name, sizeof m->name, "%s", info->name);
    text_format(m->host, sizeof m->host, "%s", info->host);
    for (uint32_t e = 0; e < d->member_count; e++) {
        if (strcmp(grown[e].host, m->host) != 0 || strcmp(grown[e].name, m->name) != 0) continue;
        m->node = grown[e].node;
        break;
    }
    d->member_count++;
    return m;
}

int driver_on_executor(struct driver *d, const struct executor_info *info)
{
    struct active *a = d->active;
    struct member *m = member_add(d, info);
    bool ok = m != NULL;
    if (ok && a != NULL && a->sched != NULL)
        ok = member_begin(m, a->stage_count) &&
             sched_add_executor(a->sched, m->node, m->slots, sched_ahead(m->slots));
    if (ok) journal_executor(d, d->member_count - 1, EVENT_JOINED, NULL);
    return ok ? 0 : error_no_memory(driver_error(d));
}

void driver_on_draining(struct driver *d, uint32_t executor)
{
    assert(executor < d->member_count);
    d->members[executor].draining = true;
    journal_executor(d, executor, EVENT_DRAINING, NULL);
    if (d->active != NULL && d->active->sched != NULL)
        sched_on_draining(d->active->sched, executor);
}

void driver_on_silent(struct driver *d, uint32_t executor, bool silent)
{
    struct member *m = &d->members[executor];
    assert(executor < d->member_count && !m->lost);
    if (m->silent == silent) return;
    m->silent = silent;
    glint_note(d->g, "executor %s (%s) is %s", m->name, m->host,
               silent ? "silent: it gets no more tasks until it is heard" : "heard again");
    if (d->active != NULL && d->active->sched != NULL)
        sched_on_silent(d->active->sched, executor, silent);
}

void members_review(struct driver *d, uint32_t executor, const struct glint_error *why)
{
    const struct member *m = &d->members[executor];
    bool *known = &d->members[m->node].set_aside, now = sched_set_aside(d->active->sched, executor);
    if (now && !*known) {
        glint_note(
            d->g,
            "executor %s (%s) gets no more tasks while others do better: the last %u that it "
            "ran failed there, the last one with: %s",
            m->name, m->host, SCHED_NODE_FAILURES_MAX, why->cause);
        journal_executor(d, executor, EVENT_SET_ASIDE, why);
    }
    *known = now;
}

/* The cause, with what ran there as far as the driver knows: what waited behind may have begun. */
static struct glint_error with_task(const struct driver *d, uint32_t executor,
                                    const struct glint_error *why)
{
    const struct active *a = d->active;
    const struct member *m = &d->members[executor];
    struct glint_error told = *why;
    struct sched_run run;
    uint32_t at = 0;
    bool ran = false;
    while (!ran && a != NULL && a->sched != NULL && sched_each(a->sched, executor, &at, &run))
        ran = !run.queued;
    if (ran)
        text_format(told.cause, sizeof told.cause, "%s; it ran task %u (attempt %u)", why->cause,
                    active_partition(a, run.stage, run.task), run.attempt);
    else if (m->has_done)
        text_format(told.cause, sizeof told.cause, "%s; the last task it did was %u (attempt %u)",
                    why->cause, m->done_partition, m->done_attempt);
    return told;
}

/* What becomes of the tasks is the scheduler's; a person reads the cause, and how much of a loss it
 * is. */
static void note_loss(struct driver *d, uint32_t executor, const struct glint_error *why)
{
    const struct active *a = d->active;
    const struct member *m = &d->members[executor];
    uint32_t running = a != NULL && a->sched != NULL ? sched_running_on(a->sched, executor) : 0;
    uint32_t outputs = 0;
    for (const struct outputs *o = d->outputs; o != NULL; o = o->next)
        for (uint32_t i = 0; i < o->maps; i++)
            outputs += o->there[i] && o->places[i].executor == executor;
    glint_note(d->g,
               "executor %s (%s) lost: %s; %u running task%s and %u map output%s to be made again",
               m->name, m->host, why->cause[0] != '\0' ? why->cause : "no cause is known", running,
               running == 1 ? "" : "s", outputs, outputs == 1 ? "" : "s");
}

/* It may turn out to be what ends the job. */
static void keep_loss(struct driver *d, uint32_t executor, const struct glint_error *why)
{
    struct glint_error *last = &d->active->last_error;
    char where[2 * NAME_BYTES_MAX];
    *last = *why;
    member_where(d, executor, where, sizeof where);
    text_format(last->effect, sizeof last->effect, "the last attempt of a task was lost%s", where);
}

static bool reads_from(const struct active *a, uint32_t stage, uint32_t executor)
{
    for (uint32_t i = 0; i < a->stages[stage].parent_count; i++) {
        const struct outputs *o = a->stages[a->stages[stage].parents[i]].outputs;
        for (uint32_t m = 0; o != NULL && m < o->maps; m++)
            if (o->places[m].executor == executor) return true;
    }
    return false;
}

/* Whoever reads from a process that has ended knows it by the closed connection; of one that is
 * silent it would learn only when the transfer had stood still for long. Such tasks end, and begin
 * anew when what they read was made again: nobody's failure. */
int members_recall_readers(struct driver *d, uint32_t executor)
{
    const struct active *a = d->active;
    struct sched_run run;
    int r = 0;
    for (uint32_t e = 0; e < d->member_count && r == 0; e++)
        for (uint32_t at = 0; r == 0 && sched_each(a->sched, e, &at, &run);)
            if (!run.doomed && reads_from(a, run.stage, executor))
                r = announce_kill(d, &run, KILL_ANYHOW);
    return r;
}

/* What the scheduler makes of it. What ran there is known before, and what of it runs again, after.
 */
static void schedule_loss(struct driver *d, uint32_t executor, enum loss loss,
                          const struct glint_error *why)
{
    const struct active *a = d->active;
    struct sched_run runs[SLOTS_MAX], run;
    uint32_t count = 0;
    for (uint32_t at = 0; sched_each(a->sched, executor, &at, &run);)
        if (!run.queued && !run.doomed && count < SLOTS_MAX) runs[count++] = run;
    sched_on_executor_lost(a->sched, executor, loss == LOSS_CHILD, loss != LOSS_DRAINED);
    for (uint32_t i = 0; i < count; i++) results_retry_task(d, &runs[i], why);
    results_retry_lost(d, why);
}

void driver_on_lost(struct driver *d, uint32_t executor, enum loss loss,
                    const struct glint_error *why)
{
    struct active *a = d->active;
    assert(executor < d->member_count && !d->members[executor].lost);
    const struct glint_error told = with_task(d, executor, why);
    why = &told;
    if (loss != LOSS_DRAINED) note_loss(d, executor, why);
    journal_executor(d, executor, EVENT_LOST, why);
    journal_loss(d, executor, why);
    d->members[executor].lost = true;
    if (loss != LOSS_DRAINED) d->losses++;
    outputs_lost_executor(d->outputs, executor);
    if (a != NULL && a->sched != NULL) {
        if (loss != LOSS_DRAINED) keep_loss(d, executor, why);
        schedule_loss(d, executor, loss, why);
        members_review(d, executor, why);
        if (!a->over && results_verdict(d) != 0) {
            a->over = true;
            sched_stop(a->sched);
        }
        fetch_faults_forget(d, executor);
        if (!a->over && loss == LOSS_CONNECTION) members_recall_readers(d, executor);
    }
    if (d->losses > LOSSES_MAX)
        error_set(driver_error(d), GLINT_E_TOO_MANY_LOSSES, "look at the executors' logs",
                  "%u executors were lost; the last one, %s: %s", d->losses,
                  d->members[executor].name, why->cause);
}

void driver_on_counter(struct driver *d, const char *name, int64_t by)
{
    assert(by >= 0);
    tally_add(&d->tally, name, by, driver_error(d));
}

void driver_on_deserted(struct driver *d, const struct glint_error *why)
{
    assert(why->code != GLINT_OK);
    if (driver_error(d)->code == GLINT_OK) *driver_error(d) = *why;
}

void driver_on_canceled(struct driver *d)
{
    d->runner.interrupt(&d->runner, GLINT_E_CANCELED);
}

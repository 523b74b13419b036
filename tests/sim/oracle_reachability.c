/* Models which executor is at fault when fetches fail, written from the documentation: an executor
 * that fails with two different others is at fault; if only one pair fails, the source is at fault
 * when it fails a second time. It counts all pairs again each time, which is slow but obviously
 * correct. */
#include "tests/sim/oracle_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_of(const struct oracle_cut *cut, uint32_t executor)
{
    return cut->one == executor || cut->other == executor;
}

static uint32_t others_of(const struct oracle_cuts *c, uint32_t executor)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < c->count; i++)
        others += !c->list[i].covered && is_of(&c->list[i], executor);
    return others;
}

static void mark_at_fault(struct oracle_cuts *c, uint32_t executor)
{
    c->at_fault[executor] = true;
    for (uint32_t i = 0; i < c->count; i++)
        if (is_of(&c->list[i], executor)) c->list[i].covered = true;
}

static void update_cuts_at_fault(struct oracle_cuts *c)
{
    memset(c->at_fault, 0, sizeof c->at_fault);
    for (uint32_t i = 0; i < c->count; i++) c->list[i].covered = false;
    for (;;) {
        uint32_t most = 0, worst = 0;
        for (uint32_t e = 0; e < EXECUTORS_SIM_MAX; e++) {
            uint32_t others = others_of(c, e);
            if (others > most) worst = e;
            if (others > most) most = others;
        }
        if (most < 2) break;
        mark_at_fault(c, worst);
    }
    for (uint32_t i = 0; i < c->count; i++)
        if (!c->list[i].covered && c->list[i].again) mark_at_fault(c, c->list[i].blamed);
}

static void cuts_add(struct oracle_cuts *c, uint32_t reader, uint32_t holder, uint64_t start,
                     uint64_t now)
{
    uint32_t i = 0;
    while (i < c->count && !(is_of(&c->list[i], reader) && is_of(&c->list[i], holder))) i++;
    if (i == CUTS_MAX) abort();
    if (i == c->count) c->list[c->count++] = (struct oracle_cut){reader, holder, .first = now};
    struct oracle_cut *cut = &c->list[i];
    if (!cut->again && start > cut->first) cut->blamed = holder;
    if (start > cut->first) cut->again = true;
    update_cuts_at_fault(c);
}

static void keep_cut(struct oracle_cuts *c, uint32_t i, uint32_t *kept)
{
    c->list[(*kept)++] = c->list[i];
}

static void cuts_drop(struct oracle_cuts *c, uint32_t executor)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (!is_of(&c->list[i], executor)) keep_cut(c, i, &kept);
    c->count = kept;
    update_cuts_at_fault(c);
}

static void cuts_drop_before(struct oracle_cuts *c, uint64_t when)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->list[i].first >= when) keep_cut(c, i, &kept);
    c->count = kept;
    update_cuts_at_fault(c);
}

/* ---- Map outputs */

void oracle_output_lost(struct sim *s, uint32_t shuffle, uint32_t map)
{
    struct oracle *o = s->oracle;
    const struct action_run *a = s->driver->action_run;
    o->shuffles[shuffle].available[map] = false;
    o->shuffles[shuffle].version++;
    for (uint32_t i = 0; a != NULL && i + 1 < a->stage_count; i++)
        if (a->stages[i].shuffle->id == shuffle)
            oracle_task(s, a->first_stage + i, map)->done = false;
}

/* Executors that are newly at fault are excluded: their map outputs of this action are lost. */
static void exclude_at_fault(struct sim *s)
{
    struct oracle *o = s->oracle;
    const struct action_run *a = s->driver->action_run;
    for (uint32_t e = 0; e < s->executor_count; e++) {
        bool before = o->excluded[e];
        o->excluded[e] = o->cuts.at_fault[e] && s->executors[e]->connected;
        if (!o->excluded[e] || before) continue;
        s->counts.excluded++;
        for (uint32_t i = 0; i + 1 < a->stage_count; i++) {
            const struct oracle_shuffle *sh = &o->shuffles[a->stages[i].shuffle->id];
            for (uint32_t map = 0; map < sh->maps; map++)
                if (sh->available[map] && sh->locations[map].executor == e)
                    oracle_output_lost(s, a->stages[i].shuffle->id, map);
        }
    }
}

/* Failures of the last minute still count in a new action, if it reads map outputs. */
void oracle_reachability_begin(struct sim *s)
{
    struct oracle *o = s->oracle;
    const struct action_run *a = s->driver->action_run;
    if (o->scheduled || a == NULL || a->sched == NULL) return;
    o->scheduled = true;
    cuts_drop_before(&o->cuts, s->now > 60 * SECOND ? s->now - 60 * SECOND : 0);
    if (a->stage_count > 1) exclude_at_fault(s);
}

void oracle_reachability_lost(struct sim *s, const struct sim_executor *e)
{
    const struct action_run *a = s->driver->action_run;
    cuts_drop(&s->oracle->cuts, e->number);
    if (a != NULL && s->oracle->scheduled && !a->over) exclude_at_fault(s);
}

static bool third_is_available(const struct sim *s, uint32_t reader, uint32_t holder)
{
    for (uint32_t i = 0; i < s->executor_count; i++) {
        const struct sim_executor *e = s->executors[i];
        if (e->connected && !e->drain_known && !e->suspect && !s->oracle->excluded[i] &&
            e->node != s->executors[reader]->node && e->node != s->executors[holder]->node)
            return true;
    }
    return false;
}

void oracle_fetch_failed(struct sim *s, const struct message *m, const struct oracle_attempt *r)
{
    struct oracle *o = s->oracle;
    struct fetch_failure f;
    struct glint_error error = {.code = GLINT_OK};
    if (fetch_failure_decode((struct glint_slice){m->body.data, m->body.size}, &f, &error) != 0)
        abort();
    s->counts.unreachable += f.unreachable;
    const struct oracle_shuffle *sh = &o->shuffles[f.shuffle];
    assert(f.shuffle < SHUFFLES_MAX && sh->locations != NULL && f.executor < s->executor_count);
    if (!s->executors[f.executor]->connected) return;
    if (f.unreachable && f.executor != r->executor) {
        cuts_add(&o->cuts, r->executor, f.executor, r->start, s->now);
        exclude_at_fault(s);
        if (o->excluded[r->executor] || o->excluded[f.executor]) return;
        if (third_is_available(s, r->executor, f.executor)) return;
    }
    bool all = f.unreachable || o->has_lost_outputs[f.executor];
    o->has_lost_outputs[f.executor] = true;
    for (uint32_t map = 0; map < sh->maps; map++) {
        bool named = map == f.map && sh->locations[map].attempt == f.attempt;
        bool near = map != f.map && all;
        if (sh->available[map] && sh->locations[map].executor == f.executor && (named || near))
            oracle_output_lost(s, (uint32_t)f.shuffle, map);
    }
}

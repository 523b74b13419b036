/* What executors are told around tasks, each when it needs it, and once: broadcasts, plans, where
 * map outputs are; and what all are told: broadcasts that are not large, to end what they run, to
 * forget. */
#include "engine/driver/internal.h"

#include <assert.h>

static int send_to(struct driver *d, uint32_t executor, struct message *m)
{
    assert(!d->members[executor].lost);
    return d->transport.send(d->transport.arg, executor, m, driver_error(d));
}

static int send_new(struct driver *d, uint32_t executor, const struct message *like)
{
    struct message *m = message_create(like->type);
    if (m == NULL) return error_no_memory(driver_error(d));
    m->stage = like->stage;
    m->task = like->task;
    m->attempt = like->attempt;
    m->id = like->id;
    if (like->body_borrowed) {
        m->body = like->body;
        m->body_borrowed = true;
    } else if (!buffer_append(&m->body, like->body.data, like->body.size)) {
        message_destroy(m);
        return error_no_memory(driver_error(d));
    }
    return send_to(d, executor, m);
}

static int tell_broadcasts(struct driver *d, uint32_t executor)
{
    uint64_t told = d->members[executor].value_told, last = told;
    for (struct glint_broadcast *b = d->g->broadcasts; b != NULL; b = b->next) {
        if (b->id <= told) continue;
        struct message like = {.type = MSG_BROADCAST,
                               .id = b->id,
                               .body = {b->data, b->size, b->size},
                               .body_borrowed = true};
        int r = send_new(d, executor, &like);
        if (r != 0) return r;
        if (b->id > last) last = b->id;
    }
    assert(last >= told);
    d->members[executor].value_told = last;
    return 0;
}

static bool has_large_news(const struct driver *d, const struct member *m)
{
    const struct glint_broadcast *b = d->g->broadcasts;
    while (b != NULL && (b->id <= m->value_told || b->size <= VALUE_EARLY_BYTES_MAX)) b = b->next;
    return b != NULL;
}

int announce_values(struct driver *d)
{
    int r = 0;
    for (uint32_t e = 0; e < d->member_count && r == 0; e++)
        if (!d->members[e].lost && !has_large_news(d, &d->members[e])) r = tell_broadcasts(d, e);
    return r;
}

static int tell_outputs(struct driver *d, uint32_t executor, uint32_t number)
{
    const struct outputs *o = d->active->stages[number].outputs;
    assert(o != NULL && outputs_complete(o));
    struct message like = {.type = MSG_OUTPUTS, .id = o->shuffle};
    int r = outputs_encode(o->places, o->maps, &like.body, driver_error(d));
    if (r == 0) r = send_new(d, executor, &like);
    buffer_fini(&like.body);
    return r;
}

int announce_for_task(struct driver *d, uint32_t executor, uint32_t number)
{
    struct active *a = d->active;
    struct member *m = &d->members[executor];
    const struct active_stage *stage = &a->stages[number];
    assert(!m->lost && m->plan_told != NULL);
    int r = tell_broadcasts(d, executor);
    if (r == 0 && !m->plan_told[number]) {
        struct message like = {
            .type = MSG_STAGE, .stage = a->first_stage + number, .body = stage->plan};
        r = send_new(d, executor, &like);
        m->plan_told[number] = r == 0;
    }
    for (uint32_t i = 0; i < stage->parent_count && r == 0; i++) {
        uint32_t parent = stage->parents[i], epoch = sched_epoch(a->sched, parent) + 1;
        if (m->outputs_told[parent] == epoch) continue;
        r = tell_outputs(d, executor, parent);
        if (r == 0) m->outputs_told[parent] = epoch;
    }
    return r;
}

int announce_kill(struct driver *d, const struct sched_run *run, enum kill which)
{
    struct message like = {.type = MSG_KILL,
                           .stage = d->active->first_stage + run->stage,
                           .task = run->task,
                           .attempt = run->attempt,
                           .id = which};
    return send_new(d, run->executor, &like);
}

static int send_all(struct driver *d, const struct message *like)
{
    int r = 0;
    for (uint32_t e = 0; e < d->member_count && r == 0; e++)
        if (!d->members[e].lost) r = send_new(d, e, like);
    return r;
}

int announce_cancel(struct driver *d, bool cancel)
{
    return send_all(d, &(struct message){.type = MSG_CANCEL, .id = cancel});
}

void announce_forget(struct driver *d)
{
    const struct active *a = d->active;
    struct glint_error before = *driver_error(d);
    for (uint32_t e = 0; e < d->member_count; e++) {
        if (d->members[e].lost || d->members[e].plan_told == NULL) continue;
        for (uint32_t i = 0; i < a->stage_count; i++)
            if (d->members[e].plan_told[i])
                send_new(d, e, &(struct message){.type = MSG_FORGET, .stage = a->first_stage + i});
    }
    *driver_error(d) = before;
}

/* Messages to executors, other than tasks. Broadcasts, stage plans and map output locations are
 * sent once to each executor, before the first task that needs them; small broadcasts, CANCEL and
 * RELEASE are sent to all executors. */
#include "engine/driver/driver_internal.h"

#include <assert.h>

static int send_message_to(struct driver *d, uint32_t executor, struct message *m)
{
    assert(!d->executors[executor].lost);
    return d->transport.send(d->transport.arg, executor, m, driver_error(d));
}

/* Sends a copy of `like`. A borrowed body is not copied: it lives as long as the job. */
static int send_copy(struct driver *d, uint32_t executor, const struct message *like)
{
    struct message *m = message_create(like->type);
    if (m == NULL) return error_no_memory(driver_error(d));
    m->stage = like->stage;
    m->task = like->task;
    m->attempt = like->attempt;
    m->partition = like->partition;
    m->id = like->id;
    if (like->body_borrowed) {
        m->body = like->body;
        m->body_borrowed = true;
    } else if (!buffer_append(&m->body, like->body.data, like->body.size)) {
        message_destroy(m);
        return error_no_memory(driver_error(d));
    }
    return send_message_to(d, executor, m);
}

/* Sends all broadcasts with an id above the last one sent. */
static int send_broadcasts(struct driver *d, uint32_t executor)
{
    uint64_t sent = d->executors[executor].last_broadcast_sent, last = sent;
    for (struct glint_broadcast *b = d->g->broadcasts; b != NULL && b->id > sent; b = b->next) {
        struct message like = {.type = MSG_BROADCAST,
                               .id = b->id,
                               .body = {b->data, b->size, b->size},
                               .body_borrowed = true};
        int r = send_copy(d, executor, &like);
        if (r != 0) return r;
        if (b->id > last) last = b->id;
    }
    assert(last >= sent);
    d->executors[executor].last_broadcast_sent = last;
    return 0;
}

/* last_broadcast_sent is a single id, so a small broadcast cannot be sent ahead of a large one. */
static bool has_unsent_large_broadcast(const struct driver *d, const struct executor_state *m)
{
    const struct glint_broadcast *b = d->g->broadcasts;
    while (b != NULL && b->id > m->last_broadcast_sent && b->size <= BROADCAST_PREFETCH_BYTES_MAX)
        b = b->next;
    return b != NULL && b->id > m->last_broadcast_sent;
}

int send_small_broadcasts(struct driver *d)
{
    int r = 0;
    for (uint32_t e = 0; e < d->executor_count && r == 0; e++)
        if (!d->executors[e].lost && !has_unsent_large_broadcast(d, &d->executors[e]))
            r = send_broadcasts(d, e);
    return r;
}

/* Locations of a shuffle whose map tasks are all done: a stage is ready only then. */
static int send_map_outputs(struct driver *d, uint32_t executor, uint32_t number)
{
    const struct map_outputs *o = d->action_run->stages[number].map_outputs;
    assert(o != NULL && map_outputs_is_complete(o));
    struct message like = {.type = MSG_MAP_OUTPUTS, .id = o->shuffle};
    int r = map_outputs_encode(o->locations, o->maps, &like.body, driver_error(d));
    if (r == 0) r = send_copy(d, executor, &like);
    buffer_fini(&like.body);
    return r;
}

/* Once to each executor. */
static int send_stage(struct driver *d, uint32_t executor, uint32_t number)
{
    const struct action_run *a = d->action_run;
    bool *sent = &d->executors[executor].plan_sent[number];
    const struct message like = {
        .type = MSG_STAGE, .stage = a->first_stage + number, .body = a->stages[number].plan};
    int r = *sent ? 0 : send_copy(d, executor, &like);
    *sent = r == 0;
    return r;
}

int send_output_stage(struct driver *d)
{
    const struct action_run *a = d->action_run;
    int r = 0;
    if (a->commit_count == 0 || d->transport.local) return 0;
    for (uint32_t e = 0; e < d->executor_count && r == 0; e++)
        if (!d->executors[e].lost) r = send_stage(d, e, a->stage_count - 1);
    return r;
}

int send_task_dependencies(struct driver *d, uint32_t executor, uint32_t number)
{
    struct action_run *a = d->action_run;
    struct executor_state *m = &d->executors[executor];
    const struct stage_run *stage = &a->stages[number];
    assert(!m->lost && m->plan_sent != NULL);
    int r = send_broadcasts(d, executor);
    if (r == 0) r = send_stage(d, executor, number);
    /* Locations are sent again after a map output was lost and made again: the epoch differs. */
    for (uint32_t i = 0; i < stage->parent_count && r == 0; i++) {
        uint32_t parent = stage->parents[i], epoch = sched_map_output_epoch(a->sched, parent) + 1;
        if (m->map_outputs_epoch_sent[parent] == epoch) continue;
        r = send_map_outputs(d, executor, parent);
        if (r == 0) m->map_outputs_epoch_sent[parent] = epoch;
    }
    return r;
}

int send_kill(struct driver *d, const struct task_attempt *run, enum kill_mode which)
{
    struct message like = {.type = MSG_KILL,
                           .stage = d->action_run->first_stage + run->stage,
                           .task = run->task,
                           .attempt = run->attempt,
                           .id = which};
    return send_copy(d, run->executor, &like);
}

static int send_to_all(struct driver *d, const struct message *like)
{
    int r = 0;
    for (uint32_t e = 0; e < d->executor_count && r == 0; e++)
        if (!d->executors[e].lost) r = send_copy(d, e, like);
    return r;
}

int send_cancel(struct driver *d, bool cancel)
{
    return send_to_all(d, &(struct message){.type = MSG_CANCEL, .id = cancel});
}

void send_free(struct driver *d, enum free_kind kind, uint64_t id, uint32_t maps)
{
    struct glint_error before = *driver_error(d);
    const struct message like = {.type = MSG_FREE, .task = kind, .id = id, .partition = maps};
    for (uint32_t e = 0; e < d->executor_count; e++) {
        const struct executor_state *m = &d->executors[e];
        if (!m->lost && (kind != FREE_BROADCAST || m->last_broadcast_sent >= id))
            send_copy(d, e, &like);
    }
    *driver_error(d) = before;
}

void send_stage_release(struct driver *d)
{
    const struct action_run *a = d->action_run;
    struct glint_error before = *driver_error(d); /* out of memory here is not the action's error */
    for (uint32_t e = 0; e < d->executor_count; e++) {
        if (d->executors[e].lost || d->executors[e].plan_sent == NULL) continue;
        for (uint32_t i = 0; i < a->stage_count; i++)
            if (d->executors[e].plan_sent[i])
                send_copy(d, e,
                          &(struct message){.type = MSG_RELEASE, .stage = a->first_stage + i});
    }
    *driver_error(d) = before;
}

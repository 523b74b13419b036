/* What goes out to all executors around tasks: broadcasts, plans, map outputs, cancelling,
 * forgetting. */
#include "engine/driver/internal.h"

#include <assert.h>

static int send_all(struct driver *d, struct message *(*make)(struct driver *d, const void *what),
                    const void *what)
{
    for (uint32_t e = 0; e < d->executor_count; e++) {
        struct message *m = make(d, what);
        if (m == NULL) return error_no_memory(driver_error(d));
        int r = d->transport.send(d->transport.arg, e, m, driver_error(d));
        if (r != 0) return r;
    }
    return 0;
}

static struct message *make_broadcast(struct driver *d, const void *what)
{
    (void)d;
    const struct glint_broadcast *b = what;
    struct message *m = message_create(MSG_BROADCAST);
    if (m == NULL) return NULL;
    m->id = b->id;
    m->body = (struct buffer){b->data, b->size, b->size};
    m->body_borrowed = true;
    return m;
}

int announce_broadcasts(struct driver *d)
{
    for (struct glint_broadcast *b = d->g->broadcasts; b != NULL; b = b->next) {
        if (b->sent) continue;
        int r = send_all(d, make_broadcast, b);
        if (r != 0) return r;
        b->sent = true;
    }
    return 0;
}

struct body {
    enum message_type type;
    uint32_t stage;
    uint64_t id;
    struct buffer bytes;
};

static struct message *make_body(struct driver *d, const void *what)
{
    (void)d;
    const struct body *b = what;
    struct message *m = message_create(b->type);
    if (m == NULL) return NULL;
    m->stage = b->stage;
    m->id = b->id;
    if (buffer_append(&m->body, b->bytes.data, b->bytes.size)) return m;
    message_destroy(m);
    return NULL;
}

int announce_stage(struct driver *d, uint32_t number)
{
    struct active *a = d->active;
    struct active_stage *stage = &a->stages[number];
    struct stage_plan plan;
    struct body body = {.type = MSG_STAGE, .stage = a->first_stage + number};
    int r = stage_from_plan(&plan, stage->wide != NULL ? NULL : a->action, stage->wide,
                            a->commit != NULL ? a->commit->hidden : NULL);
    if (r == 0) {
        plan_stage_name(&plan, stage->name, sizeof stage->name);
        r = stage_encode(&plan, &body.bytes, driver_error(d));
    }
    if (r == 0) r = send_all(d, make_body, &body);
    buffer_fini(&body.bytes);
    stage_fini(&plan);
    return r;
}

int announce_outputs(struct driver *d, uint32_t number)
{
    const struct active *a = d->active;
    const struct active_stage *stage = &a->stages[number];
    assert(stage->wide != NULL && !stage->wide->shuffled);
    struct output_place *places = mem_zalloc(sizeof *places * stage->tasks);
    if (places == NULL) return error_no_memory(driver_error(d));
    for (uint32_t t = 0; t < stage->tasks; t++)
        places[t].attempt = sched_attempt(a->sched, number, t);
    struct body body = {.type = MSG_OUTPUTS, .id = stage->wide->id};
    int r = outputs_encode(places, stage->tasks, &body.bytes, driver_error(d));
    if (r == 0) r = send_all(d, make_body, &body);
    buffer_fini(&body.bytes);
    mem_free(places);
    return r;
}

int announce_cancel(struct driver *d, bool cancel)
{
    struct body body = {.type = MSG_CANCEL, .id = cancel};
    return send_all(d, make_body, &body);
}

void announce_forget(struct driver *d, uint32_t stage)
{
    struct glint_error before = *driver_error(d);
    struct body body = {.type = MSG_FORGET, .stage = stage};
    send_all(d, make_body, &body);
    *driver_error(d) = before;
}

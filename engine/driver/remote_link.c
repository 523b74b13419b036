/* An executor process, as its two connections show it: messages and signs of life on one, blocks on
 * the other. One without the other is of no use, so the end of either is the process's end for us.
 *
 * How it ended is known to its daemon only, who says so a moment later; until then the loss is not
 * reported, at most ENDED_MS. */
#include "engine/driver/remote_internal.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

#define ENDED_MS 1000u

void link_send(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload)
{
    conn_send(c, type, request, payload); /* where it fails the connection ends by itself */
    if (payload != NULL) buffer_fini(payload);
}

struct link *link_create(struct remote *r, const uint8_t *incarnation, struct glint_error *error)
{
    if (r->link_count >= CLUSTER_EXECUTORS_MAX || r->number_count >= EXECUTORS_MAX) {
        error_set(error, GLINT_E_NO_EXECUTORS, NULL, "the job has as many executors as it may");
        return NULL;
    }
    struct link *l = mem_zalloc(sizeof *l);
    if (l == NULL) {
        error_no_memory(error);
        return NULL;
    }
    l->r = r;
    memcpy(l->incarnation, incarnation, sizeof l->incarnation);
    l->deadline_ns = remote_now(r) + 2 * r->net.connect_ms * MS_NS;
    liveness_init(&l->liveness, &r->cluster->heartbeat, remote_now(r));
    *r->links_end = l;
    r->links_end = &l->next;
    r->link_count++;
    remote_due(r, l->deadline_ns);
    return l;
}

/* Frees it when nobody speaks of it any more. */
static void link_release(struct link *l)
{
    struct remote *r = l->r;
    if (l->control != NULL || l->data != NULL) return;
    if (l->state != LINK_GONE && !r->stopping) return;
    struct link **at = &r->links;
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    if (r->links_end == &l->next) r->links_end = at;
    assert(r->link_count > 0 && l->sending_bytes == 0);
    r->link_count--;
    large_fini(l);
    event_destroy(l->lost);
    mem_free(l);
}

/* ---- The end */

static void close_both(struct link *l, bool flush)
{
    if (l->control != NULL) conn_close(l->control, flush);
    if (l->data != NULL) conn_close(l->data, flush);
}

void link_settle(struct link *l)
{
    struct remote *r = l->r;
    assert(l->state == LINK_ENDING);
    l->state = LINK_GONE;
    struct glint_error why = l->why;
    enum loss loss = LOSS_CONNECTION;
    if (l->joined || l->has_ended) loss = loss_describe(l, &why);
    if (l->joined) {
        l->lost->loss = loss;
        l->lost->why = why;
        inbox_push(r, l->lost);
        l->lost = NULL;
    }
    if (l->post != NULL) {
        if (l->draining) l->post->drained = true;
        post_on_gone(l->post, &why, l->joined);
    }
    l->post = NULL;
    join_on_gone(l);
    link_release(l);
}

void link_fail(struct link *l, const struct glint_error *why)
{
    struct remote *r = l->r;
    if (l->state >= LINK_ENDING || r->stopping) return;
    l->state = LINK_ENDING;
    l->why = *why;
    if (l->why.code == GLINT_OK)
        error_set(&l->why, GLINT_E_CONNECTION, NULL, "the connection was closed");
    close_both(l, false);
    l->deadline_ns = remote_now(r);
    remote_due(r, l->deadline_ns);
}

/* The other side has ended it: perhaps its process died. */
static void link_fail_outside(struct link *l, const struct glint_error *why)
{
    struct remote *r = l->r;
    if (l->state >= LINK_ENDING || r->stopping) return;
    link_fail(l, why);
    bool may_hear = l->post != NULL && l->post->conn != NULL && !l->has_ended;
    if (may_hear && l->why.code == GLINT_E_CONNECTION) l->deadline_ns += ENDED_MS * MS_NS;
}

void link_fail_with(struct link *l, enum glint_code code, const char *cause, ...)
{
    struct glint_error why = {.code = GLINT_OK};
    va_list args;
    va_start(args, cause);
    error_set_v(&why, code, NULL, cause, args);
    va_end(args);
    link_fail(l, &why);
}

void link_on_ended(struct link *l, const struct ended *ended)
{
    if (l->has_ended || l->state == LINK_GONE) return;
    l->has_ended = true;
    l->ended = *ended;
    /* What it sent before may still be on its way; the connections end behind it. */
    l->deadline_ns = remote_now(l->r) + (l->state == LINK_ENDING ? 0 : ENDED_MS * MS_NS);
    remote_due(l->r, l->deadline_ns);
}

/* ---- It speaks */

static void link_check(struct link *l)
{
    if (l->state != LINK_OPENING || !l->is_ready || l->control == NULL || l->data == NULL) return;
    if (!conn_is_open(l->control) || !conn_is_open(l->data)) return;
    l->state = LINK_READY;
    join_look(l->r);
}

static int on_ready(struct link *l, struct glint_slice payload, struct glint_error *error)
{
    struct ready ready;
    int r = ready_decode(payload, &ready, error);
    if (r != 0) return r;
    if (l->is_ready || ready.slots == 0 || ready.slots > SLOTS_MAX || ready.port == 0)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "READY twice, or of %u slots at port %u",
                         ready.slots, ready.port);
    l->is_ready = true;
    l->slots = ready.slots;
    l->port = ready.port;
    link_check(l);
    return 0;
}

static int on_message(struct link *l, struct glint_slice payload, struct glint_error *error)
{
    struct message *m = message_decode(payload, error);
    if (m == NULL) return error->code;
    bool known = l->joined && (m->type == MSG_DONE || (m->type == MSG_FAILED && m->error != NULL));
    if (!known) {
        message_destroy(m);
        return error_set(error, GLINT_E_PROTOCOL, NULL, "an unexpected message of an executor");
    }
    if (m->type == MSG_DONE && m->id != 0) {
        large_add(l, m);
        return 0;
    }
    struct event *e = event_create(EVENT_MESSAGE, l->number);
    if (e == NULL) {
        message_destroy(m);
        return error_no_memory(error);
    }
    e->message = m;
    inbox_push(l->r, e);
    return 0;
}

static int on_drain(struct link *l, struct glint_error *error)
{
    if (l->draining || !l->joined) {
        l->draining = true;
        return 0;
    }
    struct event *e = event_create(EVENT_DRAINING, l->number);
    if (e == NULL) return error_no_memory(error);
    l->draining = true;
    inbox_push(l->r, e);
    return 0;
}

static int on_control_frame(struct link *l, const struct frame *f, struct glint_slice payload,
                            struct glint_error *error)
{
    struct ping ping;
    switch (f->type) {
    case FRAME_PING: return ping_decode(payload, &ping, error);
    case FRAME_READY: return on_ready(l, payload, error);
    case FRAME_MESSAGE: return on_message(l, payload, error);
    case FRAME_DRAIN: return on_drain(l, error);
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL, "an executor sent a frame of type %d",
                         (int)f->type);
    }
}

static int on_data_frame(struct link *l, const struct frame *f, struct glint_slice payload,
                         struct glint_error *error)
{
    switch (f->type) {
    case FRAME_GET: return broadcasts_on_get(l, f, payload, error);
    case FRAME_TRACK: return broadcasts_on_track(l, payload, error);
    case FRAME_GONE: return large_on_gone(l, f, payload, error);
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL,
                         "an executor sent a frame of type %d for data", (int)f->type);
    }
}

/* Without memory for the event it stays what it was, and is looked at again. */
static void set_silent(struct link *l, bool silent)
{
    struct event *e = l->joined && l->silent != silent
                          ? event_create(silent ? EVENT_SILENT : EVENT_HEARD, l->number)
                          : NULL;
    if (e == NULL) return;
    l->silent = silent;
    inbox_push(l->r, e);
}

static void heard(struct link *l)
{
    liveness_heard(&l->liveness, remote_now(l->r));
    set_silent(l, false);
}

static int link_on_frame(void *arg, struct conn *c, const struct frame *f,
                         struct glint_slice payload, struct glint_error *error)
{
    struct link *l = arg;
    if (l->state >= LINK_ENDING || l->r->stopping) return 0;
    heard(l);
    return c == l->control ? on_control_frame(l, f, payload, error)
                           : on_data_frame(l, f, payload, error);
}

static uint8_t *link_into(void *arg, struct conn *c, const struct frame *f)
{
    struct link *l = arg;
    if (c != l->data || l->state >= LINK_ENDING || l->r->stopping) return NULL;
    heard(l);
    return large_into(l, f);
}

static void link_on_data(void *arg, struct conn *c, const struct frame *f)
{
    struct link *l = arg;
    if (c != l->data || l->state >= LINK_ENDING || l->r->stopping) return;
    heard(l);
    large_on_data(l, f);
}

static void link_on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct link *l = arg;
    assert(c == l->control || c == l->data);
    if (c == l->control)
        l->control = NULL;
    else
        l->data = NULL;
    link_fail_outside(l, why);
    link_release(l);
}

/* ---- The beginning */

static void link_on_opened(void *arg, struct conn *c)
{
    struct link *l = arg;
    const struct hello *peer = conn_peer(c);
    if (l->state >= LINK_ENDING || l->r->stopping) return;
    if (peer->role != ROLE_EXECUTOR ||
        memcmp(peer->incarnation, l->incarnation, sizeof l->incarnation) != 0)
        link_fail_with(l, GLINT_E_CONNECTION, "at %s another process answers than was started",
                       conn_address(c));
    else
        link_check(l);
}

static const struct conn_events link_events = {.opened = link_on_opened,
                                               .frame = link_on_frame,
                                               .into = link_into,
                                               .data = link_on_data,
                                               .closed = link_on_closed};

int link_dial(struct post *p, const struct admitted *a, struct glint_error *error)
{
    struct remote *r = p->r;
    struct link *l = link_create(r, a->incarnation, error);
    if (l == NULL) return error->code;
    assert(p->link == NULL);
    p->link = l;
    l->post = p;
    text_format(l->name, sizeof l->name, "%s", p->at->id);
    text_format(l->host, sizeof l->host, "%s", p->at->host);
    struct glint_error why = {.code = GLINT_OK};
    l->control = conn_dial(&r->net, l->host, a->port, CHANNEL_CONTROL, a->incarnation, &link_events,
                           l, &why);
    if (l->control != NULL)
        l->data = conn_dial(&r->net, l->host, a->port, CHANNEL_DATA, a->incarnation, &link_events,
                            l, &why);
    if (l->data == NULL) link_fail(l, &why);
    return 0;
}

void link_attach(struct link *l, struct conn *c)
{
    bool control = conn_peer(c)->channel == CHANNEL_CONTROL;
    assert(conn_is_open(c) && (control ? l->control : l->data) == NULL);
    if (control)
        l->control = c;
    else
        l->data = c;
    conn_set(c, &link_events, l);
    link_check(l);
}

/* ---- What is due */

static uint64_t link_beat(struct link *l, uint64_t now)
{
    bool beat = false;
    uint64_t next = UINT64_MAX;
    struct ping ping = {.sent_ns = now};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    enum life life = liveness_look(&l->liveness, now, &beat, &next);
    if (life != LIFE_DEAD) set_silent(l, life == LIFE_SUSPECT);
    if (life == LIFE_DEAD) {
        link_fail_with(l, GLINT_E_CONNECTION, "no sign of life for %llu ms",
                       (unsigned long long)(l->r->cluster->heartbeat.dead_ns / MS_NS));
        return now;
    }
    if (beat && ping_encode(&ping, &payload, &ignored) == 0)
        link_send(l->control, FRAME_PING, 0, &payload);
    buffer_fini(&payload);
    return next;
}

uint64_t link_look(struct link *l, uint64_t now)
{
    bool ended = l->has_ended && l->state < LINK_ENDING;
    if ((l->state == LINK_OPENING || ended) && now >= l->deadline_ns)
        link_fail_with(l, GLINT_E_CONNECTION,
                       ended ? "its process has ended" : "its process did not become ready");
    if (l->state == LINK_ENDING) {
        if (now < l->deadline_ns) return l->deadline_ns;
        link_settle(l);
        return UINT64_MAX;
    }
    if (l->state == LINK_GONE) return UINT64_MAX;
    uint64_t next = l->state == LINK_OPENING || ended ? l->deadline_ns : UINT64_MAX;
    uint64_t due = l->control != NULL && conn_is_open(l->control) ? link_beat(l, now) : UINT64_MAX;
    if (due < next) next = due;
    due = large_look(l, now);
    return due < next ? due : next;
}

void link_stop(struct link *l)
{
    close_both(l, true);
    link_release(l);
}

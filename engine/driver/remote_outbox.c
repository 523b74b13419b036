/* Messages from the driver's thread to the loop's. They are encoded before they cross, so that the
 * loop has little to do, and that what cannot be sent is an error of whoever sends it. They cross
 * when the driver waits (inbox_wait), so that what it has to say at a time is few writes to each
 * executor; but for what is much, and what should not wait for a callback of the job's. */
#include "engine/driver/remote_internal.h"

#include <assert.h>

#define HELD_BYTES_MAX MIB

static bool is_fetched(const struct message *m)
{
    return m->type == MSG_BROADCAST && m->body.size > VALUE_INLINE_BYTES_MAX;
}

static int parcel_encode(struct parcel *p, const struct message *m, struct glint_error *error)
{
    struct message wire = *m;
    if (is_fetched(m)) {
        wire.body = (struct buffer){NULL, 0, 0};
        wire.size = m->body.size;
    }
    int r = message_encode(&wire, &p->bytes, error);
    if (r == 0 && p->bytes.size > CONTROL_FRAME_BYTES_MAX)
        r = error_set(error, GLINT_E_PLAN_LIMIT, "broadcast large values; pack fewer files",
                      "a message of %llu bytes to an executor, at most %llu",
                      (unsigned long long)p->bytes.size,
                      (unsigned long long)CONTROL_FRAME_BYTES_MAX);
    return r;
}

static void parcel_destroy(struct parcel *p)
{
    buffer_fini(&p->bytes);
    mem_free(p);
}

int outbox_send(struct remote *r, uint32_t executor, struct message *m, struct glint_error *error)
{
    struct parcel *p = mem_zalloc(sizeof *p);
    int code = p != NULL ? 0 : error_no_memory(error);
    if (code == 0 && is_fetched(m))
        code = broadcasts_add(r, m->id, m->body.data, m->body.size, error);
    if (code == 0) code = parcel_encode(p, m, error);
    if (code == 0) {
        p->executor = executor;
        if (m->type == MSG_BROADCAST && !is_fetched(m)) p->value_bytes = m->body.size;
        pthread_mutex_lock(&r->lock);
        *r->parcels_end = p;
        r->parcels_end = &p->next;
        r->parcel_bytes += p->bytes.size;
        bool now = m->type == MSG_KILL || is_fetched(m) || r->parcel_bytes >= HELD_BYTES_MAX;
        pthread_mutex_unlock(&r->lock);
        if (now) uv_async_send(&r->poke);
    } else if (p != NULL) {
        parcel_destroy(p);
    }
    message_destroy(m);
    return code;
}

static void deliver(struct remote *r, struct parcel *p)
{
    struct link *l = join_find(r, p->executor);
    if (l == NULL || l->state != LINK_JOINED) return;
    if (p->value_bytes > 0) atomic_fetch_add(&r->broadcast_bytes, p->value_bytes);
    link_send(l->control, FRAME_MESSAGE, 0, &p->bytes);
}

static struct parcel *take_all(struct remote *r)
{
    pthread_mutex_lock(&r->lock);
    struct parcel *p = r->parcels;
    r->parcels = NULL;
    r->parcels_end = &r->parcels;
    r->parcel_bytes = 0;
    pthread_mutex_unlock(&r->lock);
    return p;
}

void outbox_deliver(struct remote *r)
{
    for (struct parcel *p = take_all(r), *next; p != NULL; p = next) {
        next = p->next;
        assert(p->executor < r->number_count);
        deliver(r, p);
        parcel_destroy(p);
    }
}

void outbox_fini(struct remote *r)
{
    for (struct parcel *p = take_all(r), *next; p != NULL; p = next) {
        next = p->next;
        parcel_destroy(p);
    }
}

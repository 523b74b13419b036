/* What slots have done, on its way to the driver. Slots' threads put it here and wake the loop; the
 * loop sends as much as the connection has room for. What is left when the driver is gone is
 * dropped: nobody waits for it. */
#include "engine/executor/child_internal.h"

#include "engine/limits.h"

#include <assert.h>

#define WINDOW_BYTES (CONN_QUEUE_BYTES_MAX / 2)
#define AGAIN_NS     (10 * MS_NS)

void child_deliver(void *arg, struct message *m)
{
    struct child *c = arg;
    assert(m->next == NULL && (m->type == MSG_DONE || m->type == MSG_FAILED));
    pthread_mutex_lock(&c->lock);
    *c->last_outcome = m;
    c->last_outcome = &m->next;
    pthread_mutex_unlock(&c->lock);
    uv_async_send(&c->arrived);
}

static struct message *take(struct child *c)
{
    pthread_mutex_lock(&c->lock);
    struct message *m = c->first;
    if (m != NULL) {
        c->first = m->next;
        if (c->first == NULL) c->last_outcome = &c->first;
        m->next = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    return m;
}

bool child_outbox_is_empty(struct child *c)
{
    pthread_mutex_lock(&c->lock);
    bool empty = c->first == NULL;
    pthread_mutex_unlock(&c->lock);
    return empty;
}

uint64_t child_outbox_send(struct child *c, uint64_t now)
{
    struct glint_error why = {.code = GLINT_OK};
    static_assert(WINDOW_BYTES + CONTROL_FRAME_BYTES_MAX <= CONN_QUEUE_BYTES_MAX,
                  "what is sent into the window is not too much");
    while (c->phase == CHILD_SERVING && c->control != NULL) {
        if (conn_queued(c->control) >= WINDOW_BYTES)
            return child_outbox_is_empty(c) ? UINT64_MAX : now + AGAIN_NS;
        struct message *m = take(c);
        if (m == NULL) break;
        struct buffer payload = {NULL, 0, 0};
        int r = message_encode(m, &payload, &why);
        message_destroy(m);
        if (r == 0) conn_send(c->control, FRAME_MESSAGE, 0, &payload); /* or its end is an event */
        buffer_fini(&payload);
        if (r != 0) child_end(c, &why); /* unanswered: the driver must not wait for it */
    }
    return UINT64_MAX;
}

void child_outbox_fini(struct child *c)
{
    for (struct message *m; (m = take(c)) != NULL;) message_destroy(m);
}

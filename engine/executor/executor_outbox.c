/* Task outcomes on their way to the driver. Slot threads queue them and wake the loop; the loop
 * sends as many as the control connection has room for. Outcomes left when the driver is gone are
 * dropped. */
#include "engine/executor/executor_process_internal.h"

#include "engine/limits.h"

#include <assert.h>

#define WINDOW_BYTES (CONN_QUEUE_BYTES_MAX / 2)
#define AGAIN_NS     (10 * MS_NS)

void executor_outbox_add(void *arg, struct message *m)
{
    struct executor_process *c = arg;
    assert(m->next == NULL && (m->type == MSG_DONE || m->type == MSG_FAILED));
    pthread_mutex_lock(&c->lock);
    *c->last_outcome = m;
    c->last_outcome = &m->next;
    pthread_mutex_unlock(&c->lock);
    uv_async_send(&c->outcome_added);
}

static struct message *pop_outcome(struct executor_process *c)
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

bool executor_outbox_is_empty(struct executor_process *c)
{
    pthread_mutex_lock(&c->lock);
    bool empty = c->first == NULL;
    pthread_mutex_unlock(&c->lock);
    return empty;
}

uint64_t executor_outbox_send(struct executor_process *c, uint64_t now)
{
    /* A frame is queued only below WINDOW_BYTES, so the largest one still fits. */
    static_assert(WINDOW_BYTES + CONTROL_FRAME_BYTES_MAX <= CONN_QUEUE_BYTES_MAX,
                  "a frame sent within the window fits the send queue");
    while (c->phase == PROCESS_SERVING && c->control != NULL) {
        /* Beyond CONN_QUEUE_BYTES_MAX conn_send would close the connection; wait for the socket
         * instead. */
        if (conn_queued_bytes(c->control) >= WINDOW_BYTES)
            return executor_outbox_is_empty(c) ? UINT64_MAX : now + AGAIN_NS;
        struct message *m = pop_outcome(c);
        if (m == NULL) break;
        /* If it fails the connection closes by itself: driver_on_closed ends the process. */
        conn_send_message(c->control, m);
        message_destroy(m);
    }
    return UINT64_MAX;
}

void executor_outbox_fini(struct executor_process *c)
{
    for (struct message *m; (m = pop_outcome(c)) != NULL;) message_destroy(m);
}

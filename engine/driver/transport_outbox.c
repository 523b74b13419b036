/* The queue of messages from the driver's thread to the loop's thread. The driver's thread encodes
 * them, so that the loop does little work and encoding errors are returned to the sender.
 *
 * The loop is woken only when the driver waits (inbox_wait), so that messages are coalesced into
 * few writes per executor. Exceptions are sent at once, since the driver may run the job's code for
 * long before it waits: KILL, large broadcasts, and more than OUTGOING_BYTES_MAX. */
#include "engine/driver/cluster_transport_internal.h"

#include <assert.h>

#define OUTGOING_BYTES_MAX MIB /* queued at most before the loop is woken */

struct outgoing_message {
    struct outgoing_message *next;
    uint32_t executor;
    struct buffer bytes;             /* the encoded message */
    uint64_t inline_broadcast_bytes; /* size of the broadcast in its body, else 0 */
};

/* The message has only the broadcast's id and size; executors fetch it in blocks. */
static bool is_sent_by_reference(const struct message *m)
{
    return m->type == MSG_BROADCAST && m->body.size > BROADCAST_INLINE_BYTES_MAX;
}

static int outgoing_message_encode(struct outgoing_message *p, const struct message *m,
                                   struct glint_error *error)
{
    struct message wire = *m;
    if (is_sent_by_reference(m)) {
        wire.body = (struct buffer){NULL, 0, 0};
        wire.size = m->body.size;
    }
    int r = message_encode(&wire, &p->bytes, error);
    if (r == 0 && p->bytes.size > CONTROL_FRAME_BYTES_MAX)
        r = error_set(error, GLINT_E_PLAN_LIMIT, "broadcast large values; pack fewer files",
                      "a message to an executor has %llu bytes, the limit is %llu",
                      (unsigned long long)p->bytes.size,
                      (unsigned long long)CONTROL_FRAME_BYTES_MAX);
    return r;
}

static void outgoing_message_destroy(struct outgoing_message *p)
{
    buffer_fini(&p->bytes);
    mem_free(p);
}

int outbox_send(struct cluster_transport *r, uint32_t executor, struct message *m,
                struct glint_error *error)
{
    struct outgoing_message *p = mem_zalloc(sizeof *p);
    int code = p != NULL ? 0 : error_no_memory(error);
    if (code == 0 && is_sent_by_reference(m))
        code = broadcast_server_add(r, m->id, m->body.data, m->body.size, error);
    if (code == 0) code = outgoing_message_encode(p, m, error);
    if (code == 0) {
        p->executor = executor;
        if (m->type == MSG_BROADCAST && !is_sent_by_reference(m))
            p->inline_broadcast_bytes = m->body.size;
        pthread_mutex_lock(&r->lock);
        *r->outgoing_end = p;
        r->outgoing_end = &p->next;
        r->outgoing_bytes += p->bytes.size;
        bool now = m->type == MSG_KILL || is_sent_by_reference(m) ||
                   r->outgoing_bytes >= OUTGOING_BYTES_MAX;
        pthread_mutex_unlock(&r->lock);
        if (now) uv_async_send(&r->wakeup);
    } else if (p != NULL) {
        outgoing_message_destroy(p);
    }
    message_destroy(m);
    return code;
}

static void send_outgoing(struct cluster_transport *r, struct outgoing_message *p)
{
    struct executor_conn *l = registration_find_executor(r, p->executor);
    if (l == NULL || l->state != EXECUTOR_CONN_JOINED) return; /* lost: reported by its event */
    /* Counted here, once per executor; those sent by reference are counted block by block. */
    if (p->inline_broadcast_bytes > 0)
        atomic_fetch_add(&r->broadcast_bytes, p->inline_broadcast_bytes);
    conn_send(l->control, FRAME_MESSAGE, 0, &p->bytes);
}

static struct outgoing_message *take_outgoing(struct cluster_transport *r)
{
    pthread_mutex_lock(&r->lock);
    struct outgoing_message *p = r->outgoing;
    r->outgoing = NULL;
    r->outgoing_end = &r->outgoing;
    r->outgoing_bytes = 0;
    pthread_mutex_unlock(&r->lock);
    return p;
}

void outbox_deliver(struct cluster_transport *r)
{
    for (struct outgoing_message *p = take_outgoing(r), *next; p != NULL; p = next) {
        next = p->next;
        assert(p->executor < r->number_count);
        send_outgoing(r, p);
        outgoing_message_destroy(p);
    }
}

void outbox_fini(struct cluster_transport *r)
{
    for (struct outgoing_message *p = take_outgoing(r), *next; p != NULL; p = next) {
        next = p->next;
        outgoing_message_destroy(p);
    }
}

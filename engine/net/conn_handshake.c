/* The handshake: exchange of hellos, or rejection. The dialling side sends its hello first. The
 * accepting side queues its own when the peer's hello is compatible, then calls its owner; frames
 * that the owner sends from inside `accepted` follow the hello. */
#include "engine/net/conn_internal.h"

#include <assert.h>
#include <string.h>

static struct hello own_hello(const struct conn *c)
{
    struct hello h = c->net->self;
    h.channel = c->channel;
    memcpy(h.expected_incarnation, c->expected_incarnation, sizeof h.expected_incarnation);
    return h;
}

static int queue_hello(struct conn *c, struct glint_error *why)
{
    struct hello h = own_hello(c);
    struct buffer payload = {NULL, 0, 0};
    int r = hello_encode(&h, &payload, why);
    if (r == 0 && !conn_enqueue(c, FRAME_HELLO, 0, &payload)) r = error_no_memory(why);
    buffer_fini(&payload);
    return r;
}

void conn_start_handshake(struct conn *c)
{
    struct glint_error why = {.code = GLINT_OK};
    conn_set_state(c, CONN_HANDSHAKE);
    if (c->dialling && queue_hello(c, &why) != 0)
        conn_fail(c, &why);
    else
        conn_flush(c);
}

/* Sends the reason to the peer, then closes. Our hello, if queued, is discarded: the peer gets
 * either a hello or a REJECT. */
static void send_reject(struct conn *c, const struct glint_error *why)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    assert(why->code != GLINT_OK);
    c->why = *why;
    conn_discard_queue(c);
    bool queued =
        reject_encode(why, &payload, &ignored) == 0 && conn_enqueue(c, FRAME_REJECT, 0, &payload);
    buffer_fini(&payload);
    /* Without memory for the REJECT the peer only sees the close. */
    if (queued)
        conn_close_gracefully(c);
    else
        conn_fail(c, why);
}

static void finish_handshake(struct conn *c)
{
    struct hello self = own_hello(c);
    /* Limits what the peer can make this process do to the frames of its role. */
    c->expected = hello_allowed_frames(&self, &c->peer, c->dialling);
    conn_set_state(c, CONN_OPEN);
    uv_timer_stop(&c->timer);
}

/* The hellos are compatible; calls the listener's owner, which may send, close or reject. Corked,
 * so that nothing is written before its decision: a REJECT can then still replace our hello. */
static void accept_conn(struct conn *c)
{
    struct glint_error why = {.code = GLINT_OK};
    if (queue_hello(c, &why) != 0) {
        conn_fail(c, &why);
        return;
    }
    c->corked = true;
    finish_handshake(c);
    bool accepted = listener_accept(c, &why);
    c->corked = false;
    /* A rejected connection never calls the owner back. */
    if (!accepted) conn_set_events(c, NULL, NULL);
    if (c->state == CONN_CLOSED) return;
    if (accepted) {
        listener_remove_pending(c);
        conn_flush(c);
        return;
    }
    c->has_opened = false; /* never open for its owner: counts as rejected */
    send_reject(c, &why);
}

/* A client secret is for the role CLIENT, the key of a job for its executors. Returns 0 or a code.
 */
static int check_hello_secret(const struct conn *c, struct glint_error *why)
{
    enum secret_kind kind =
        c->tls != NULL && !c->dialling ? tls_peer_secret_kind(c->tls) : SECRET_PEER;
    if (kind == SECRET_CLIENT && c->peer.role != ROLE_CLIENT)
        return error_set(why, GLINT_E_NOT_PERMITTED, "name the file of the cluster's own secret",
                         "%s has a client secret, which allows status requests only", c->peer.node);
    if (kind == SECRET_JOB && c->peer.role != ROLE_EXECUTOR)
        return error_set(why, GLINT_E_NOT_PERMITTED, NULL,
                         "%s has the key of a job, which is for its executors only", c->peer.node);
    return 0;
}

void conn_on_handshake_frame(struct conn *c, enum frame_type type, struct glint_slice payload)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(c->state == CONN_HANDSHAKE && (type == FRAME_HELLO || type == FRAME_REJECT));
    if (type == FRAME_REJECT) {
        /* Always sets `why`: to the peer's error, or to PROTOCOL. */
        reject_decode(payload, &why);
        conn_fail(c, &why);
        return;
    }
    if (hello_decode(payload, &c->peer, &why) == 0) {
        /* The dialling side chooses the channel. */
        if (!c->dialling) c->channel = c->peer.channel;
        struct hello self = own_hello(c);
        if (check_hello_secret(c, &why) == 0) hello_check_compatible(&self, &c->peer, &why);
    }
    /* Only the accepting side sends a REJECT; the dialling side just closes. */
    if (why.code != GLINT_OK && c->dialling)
        conn_fail(c, &why);
    else if (why.code != GLINT_OK)
        send_reject(c, &why);
    else if (!c->dialling)
        accept_conn(c);
    else {
        finish_handshake(c);
        /* Then sends also the frames that were queued before OPEN. */
        if (c->events->opened != NULL) c->events->opened(c->arg, c);
        conn_flush(c);
    }
}

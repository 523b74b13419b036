/* Heartbeats of an open connection: sends a PING per interval, and watches for the peer's. Any
 * frame of the peer counts as one. The connection's timer, which limited the handshake before,
 * serves them until the connection closes. */
#include "engine/base/log.h"
#include "engine/net/conn_internal.h"
#include "engine/net/wire.h"

#include <assert.h>

static void on_heartbeat_timer(uv_timer_t *timer);

static void start_heartbeat_timer(struct conn *c, uint64_t now, uint64_t at_ns)
{
    conn_start_timer(c, on_heartbeat_timer, ms_until(at_ns, now));
}

static void set_suspect(struct conn *c, bool suspect)
{
    if (c->suspect == suspect) return;
    c->suspect = suspect;
    if (c->events != NULL && c->events->suspect != NULL) c->events->suspect(c->arg, c, suspect);
}

static void send_ping(struct conn *c, uint64_t now)
{
    struct ping ping = {.sent_ns = now};
    if (c->events->heartbeat != NULL) c->events->heartbeat(c->arg, c, &ping);
    conn_send_payload(c, FRAME_PING, 0, &ping_format, &ping);
}

static void on_heartbeat_timer(uv_timer_t *timer)
{
    struct conn *c = timer->data;
    struct glint_error why = {.code = GLINT_OK};
    bool due = false;
    uint64_t now = c->net->env->now_ns(c->net->env), next = UINT64_MAX;
    assert(conn_is_open(c) && c->has_heartbeat);
    enum life life = liveness_on_timer(&c->liveness, now, &due, &next);
    if (life == LIFE_DEAD) {
        error_set(&why, GLINT_E_CONNECTION, NULL, "no heartbeat for %llu ms",
                  (unsigned long long)(c->liveness.limits->dead_ns / MS_NS));
        if (c->net->self.role != ROLE_DRIVER) /* the driver tells the user */
            log_line(LOG_WARN, &(struct log_ids){.peer = c->address},
                     "%s: closing the connection of %s", why.cause, c->peer.node);
        conn_fail(c, &why);
        return;
    }
    start_heartbeat_timer(c, now, next);
    set_suspect(c, life == LIFE_SUSPECT);
    if (due && conn_is_open(c)) send_ping(c, now);
}

void conn_start_heartbeat(struct conn *c, const struct liveness_limits *limits)
{
    uint64_t now = c->net->env->now_ns(c->net->env);
    /* After a failed send the connection is closing: nothing more happens then. */
    assert(c->state >= CONN_OPEN && !c->has_heartbeat);
    c->has_heartbeat = true;
    liveness_init(&c->liveness, limits, now);
    if (conn_is_open(c)) start_heartbeat_timer(c, now, now + limits->heartbeat_ns);
}

void conn_on_any_bytes(struct conn *c)
{
    if (!c->has_heartbeat || !conn_is_open(c)) return;
    liveness_on_heartbeat(&c->liveness, c->net->env->now_ns(c->net->env));
    set_suspect(c, c->liveness.life == LIFE_SUSPECT);
}

uint64_t conn_last_seen_ns(const struct conn *c)
{
    assert(c->has_heartbeat);
    return c->liveness.last_seen_ns;
}

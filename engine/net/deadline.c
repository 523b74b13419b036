/* The failure detector. The caller passes the time, so tests need no clock. */
#include "engine/net/deadline.h"

#include "engine/limits.h"

#include <assert.h>

/* ---- deadline */

static void on_deadline_timer(uv_timer_t *timer)
{
    struct deadline *d = timer->data;
    d->expired_by_ns = d->by_ns;
    d->by_ns = UINT64_MAX;
    d->expired(d->arg);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct deadline *d = handle->data;
    if (d->closed != NULL) d->closed(d->arg);
}

void deadline_init(struct deadline *d, uv_loop_t *loop, void (*expired)(void *arg), void *arg)
{
    *d = (struct deadline){.expired = expired, .arg = arg, .by_ns = UINT64_MAX};
    int failed = uv_timer_init(loop, &d->timer);
    assert(failed == 0);
    d->timer.data = d;
}

void deadline_start(struct deadline *d, uint64_t ms)
{
    /* libuv counts from its cached time, which is old after a long callback. */
    uv_update_time(d->timer.loop);
    int failed = uv_timer_start(&d->timer, on_deadline_timer, ms, 0);
    assert(failed == 0); /* fails only while it is being closed */
}

void deadline_start_earlier(struct deadline *d, uint64_t ms)
{
    uv_update_time(d->timer.loop);
    if (!uv_is_active((uv_handle_t *)&d->timer) || uv_timer_get_due_in(&d->timer) > ms)
        deadline_start(d, ms);
}

void deadline_start_by(struct deadline *d, uint64_t by_ns, uint64_t now_ns)
{
    if (by_ns >= d->by_ns) return;
    d->by_ns = by_ns;
    deadline_start(d, ms_until(by_ns, now_ns));
}

void deadline_stop(struct deadline *d)
{
    uv_timer_stop(&d->timer);
}

void deadline_close(struct deadline *d, void (*closed)(void *arg))
{
    d->closed = closed;
    uv_close((uv_handle_t *)&d->timer, on_timer_closed);
}

/* ---- liveness */

bool liveness_is_process_pause(const struct liveness_limits *limits, uint64_t due_ns,
                               uint64_t now_ns)
{
    return now_ns > due_ns && now_ns - due_ns > limits->suspect_ns;
}

void liveness_init(struct liveness *l, const struct liveness_limits *limits, uint64_t now_ns)
{
    assert(limits->heartbeat_ns > 0 && limits->heartbeat_ns < limits->suspect_ns);
    assert(limits->suspect_ns < limits->dead_ns);
    *l = (struct liveness){.limits = limits,
                           .life = LIFE_ALIVE,
                           .last_seen_ns = now_ns,
                           .last_check_ns = now_ns,
                           .last_sent_ns = now_ns};
}

/* The only place where the state changes. DEAD is final: the caller has given the peer up, and a
 * heartbeat that arrives later must not revive it. */
static void liveness_update(struct liveness *l, uint64_t now_ns)
{
    if (l->life == LIFE_DEAD) return;
    uint64_t silence = now_ns > l->last_seen_ns ? now_ns - l->last_seen_ns : 0;
    l->life = silence >= l->limits->dead_ns      ? LIFE_DEAD
              : silence >= l->limits->suspect_ns ? LIFE_SUSPECT
                                                 : LIFE_ALIVE;
}

void liveness_on_heartbeat(struct liveness *l, uint64_t now_ns)
{
    if (now_ns > l->last_seen_ns) l->last_seen_ns = now_ns;
    liveness_update(l, now_ns);
}

enum life liveness_on_timer(struct liveness *l, uint64_t now_ns, bool *out_heartbeat_due,
                            uint64_t *out_next_ns)
{
    const struct liveness_limits *limits = l->limits;
    assert(now_ns >= l->last_check_ns);
    /* Called late: this process was paused and could not receive heartbeats. Restart the timeout as
     * if one had come now. */
    if (liveness_is_process_pause(limits, l->last_check_ns, now_ns) && now_ns > l->last_seen_ns)
        l->last_seen_ns = now_ns;
    l->last_check_ns = now_ns;
    liveness_update(l, now_ns);
    *out_heartbeat_due = false;
    *out_next_ns = UINT64_MAX;
    if (l->life == LIFE_DEAD) return LIFE_DEAD;
    *out_heartbeat_due = now_ns - l->last_sent_ns >= limits->heartbeat_ns;
    if (*out_heartbeat_due) l->last_sent_ns = now_ns;
    /* The earlier of our next heartbeat and the peer's next change of state. */
    uint64_t change = l->life == LIFE_ALIVE ? limits->suspect_ns : limits->dead_ns;
    *out_next_ns = earlier_ns(l->last_sent_ns + limits->heartbeat_ns, l->last_seen_ns + change);
    assert(*out_next_ns > now_ns);
    return l->life;
}

/* ---- Backoff */

#define BACKOFF_NS_MIN (10 * MS_NS)
#define BACKOFF_NS_MAX (1000 * MS_NS)

bool error_is_rejection(enum glint_code code)
{
    return code == GLINT_E_AUTH || code == GLINT_E_PEER_MISMATCH || code == GLINT_E_NOT_PERMITTED;
}

/* A REJECT frame comes through TLS, so it is the peer's own decision and permanent. A failed TLS
 * handshake can be caused by any process on the network path, or one that has the port for a
 * moment: it is permanent only after AUTH_FAILURES_MAX in a row. */
bool backoff_on_error(struct backoff *b, enum glint_code code)
{
    b->auth_failures = code == GLINT_E_AUTH ? b->auth_failures + 1 : 0;
    return error_is_rejection(code) &&
           (code != GLINT_E_AUTH || b->auth_failures >= AUTH_FAILURES_MAX);
}

uint64_t backoff_next_ns(struct backoff *b, struct env *env)
{
    uint64_t ns = BACKOFF_NS_MIN << (b->attempts < 8 ? b->attempts : 8);
    /* The maximum after a failed TLS handshake: leave time for the cause to go away before the
     * third failure makes it permanent. */
    if (ns > BACKOFF_NS_MAX || b->auth_failures > 0) ns = BACKOFF_NS_MAX;
    b->attempts++;
    return backoff_with_jitter(env, ns);
}

uint64_t backoff_with_jitter(struct env *env, uint64_t ns)
{
    uint32_t random = 0;
    if (env->random(env, &random, sizeof random) != 0) random = UINT32_MAX / 2 + 1;
    return ns / 2 + (uint64_t)((double)(ns - ns / 2) * random / UINT32_MAX);
}

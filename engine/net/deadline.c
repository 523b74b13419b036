/* See deadline.h. */
#include "engine/net/deadline.h"

#include <assert.h>

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

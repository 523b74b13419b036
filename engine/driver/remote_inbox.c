/* What has happened, in order, until the driver's thread waits for it.
 *
 * The loop's thread alone fills it. A signal handler may want the driver to wake, and may not touch
 * a lock: it leaves a wish, and the loop passes it on (inbox_wake). */
#include "engine/driver/remote_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct event *event_create(enum event_kind kind, uint32_t executor)
{
    struct event *e = mem_alloc(sizeof *e);
    if (e == NULL) return NULL;
    e->next = NULL;
    e->kind = kind;
    e->executor = executor;
    e->message = NULL;
    e->held_bytes = 0;
    return e;
}

void event_destroy(struct event *e)
{
    if (e == NULL) return;
    if (e->kind == EVENT_MESSAGE) message_destroy(e->message);
    mem_free(e);
}

void inbox_push(struct remote *r, struct event *e)
{
    assert(e->next == NULL && (e->kind != EVENT_MESSAGE || e->message != NULL));
    pthread_mutex_lock(&r->lock);
    *r->events_end = e;
    r->events_end = &e->next;
    pthread_cond_signal(&r->arrived);
    pthread_mutex_unlock(&r->lock);
}

void inbox_note(struct remote *r, const char *format, ...)
{
    struct event *e = event_create(EVENT_NOTE, 0);
    if (e == NULL) return;
    va_list args;
    va_start(args, format);
    vsnprintf(e->line, sizeof e->line, format, args);
    va_end(args);
    inbox_push(r, e);
}

void inbox_wake(struct remote *r)
{
    pthread_mutex_lock(&r->lock);
    r->woken = true;
    pthread_cond_signal(&r->arrived);
    pthread_mutex_unlock(&r->lock);
}

/* ---- The driver's thread */

static void take(struct remote *r, struct driver *driver, struct event *e)
{
    switch (e->kind) {
    case EVENT_JOINED:
        driver_on_executor(driver, &(struct executor_info){e->name, e->host, e->slots});
        break;
    case EVENT_MESSAGE:
        if (e->held_bytes > 0) {
            atomic_fetch_sub(&r->results_held, e->held_bytes);
            uv_async_send(&r->poke); /* there is room for the next one */
        }
        driver_on_message(driver, e->executor, e->message);
        e->message = NULL;
        break;
    case EVENT_DRAINING: driver_on_draining(driver, e->executor); break;
    case EVENT_SILENT: driver_on_silent(driver, e->executor, true); break;
    case EVENT_HEARD: driver_on_silent(driver, e->executor, false); break;
    case EVENT_LOST: driver_on_lost(driver, e->executor, e->loss, &e->why); break;
    case EVENT_DESERTED: driver_on_deserted(driver, &e->why); break;
    case EVENT_CANCELED: driver_on_canceled(driver); break;
    case EVENT_NOTE: glint_note(r->g, "%s", e->line); break;
    }
    event_destroy(e);
}

/* The deadline is of the context's clock, a condition's of the system's. */
static struct timespec until(const struct remote *r, uint64_t deadline_ns)
{
    struct env *system = env_real();
    uint64_t now = remote_now(r), left = deadline_ns > now ? deadline_ns - now : 0;
    uint64_t at = system->now_ns(system) + left;
    if (at < left) at = INT64_MAX;
    return (struct timespec){(time_t)(at / 1000000000), (long)(at % 1000000000)};
}

static void count(struct remote *r, struct driver *driver)
{
    uint64_t sent = atomic_load(&r->broadcast_bytes);
    assert(sent >= r->broadcast_counted);
    if (sent == r->broadcast_counted) return;
    driver_on_counter(driver, "broadcast bytes sent", (int64_t)(sent - r->broadcast_counted));
    r->broadcast_counted = sent;
}

void inbox_wait(struct remote *r, struct driver *driver, uint64_t deadline_ns)
{
    struct timespec end = until(r, deadline_ns);
    int waited = 0;
    pthread_mutex_lock(&r->lock);
    if (r->parcels != NULL) uv_async_send(&r->poke);
    while (r->events == NULL && !r->woken && waited == 0)
        waited = pthread_cond_timedwait(&r->arrived, &r->lock, &end);
    struct event *e = r->events;
    r->events = NULL;
    r->events_end = &r->events;
    r->woken = false;
    pthread_mutex_unlock(&r->lock);
    while (e != NULL) {
        struct event *next = e->next;
        e->next = NULL;
        take(r, driver, e);
        e = next;
    }
    count(r, driver);
}

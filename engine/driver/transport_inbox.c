/* The queue of events from the loop's thread to the driver's thread, in the order they happened.
 *
 * Only the loop's thread appends. A signal handler that wakes the driver may not lock a mutex: it
 * sets wake_requested, and the loop's thread signals the condition (inbox_wake_driver). */
#include "engine/driver/cluster_transport_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct inbox_event *inbox_event_create(enum inbox_event_kind kind, uint32_t executor)
{
    struct inbox_event *e = mem_alloc(sizeof *e);
    if (e == NULL) return NULL;
    e->next = NULL;
    e->kind = kind;
    e->executor = executor;
    e->message = NULL;
    e->fetched_bytes = 0;
    return e;
}

void inbox_event_destroy(struct inbox_event *e)
{
    if (e == NULL) return;
    if (e->kind == INBOX_MESSAGE) message_destroy(e->message);
    mem_free(e);
}

void inbox_push(struct cluster_transport *r, struct inbox_event *e)
{
    assert(e->next == NULL && (e->kind != INBOX_MESSAGE || e->message != NULL));
    pthread_mutex_lock(&r->lock);
    *r->events_end = e;
    r->events_end = &e->next;
    pthread_cond_signal(&r->arrived);
    pthread_mutex_unlock(&r->lock);
}

bool inbox_push_message(struct cluster_transport *r, uint32_t executor, struct message *m,
                        uint64_t fetched_bytes)
{
    struct inbox_event *e = inbox_event_create(INBOX_MESSAGE, executor);
    if (e == NULL) {
        message_destroy(m);
        return false;
    }
    e->message = m;
    e->fetched_bytes = fetched_bytes;
    inbox_push(r, e);
    return true;
}

void inbox_push_note(struct cluster_transport *r, const char *format, ...)
{
    struct inbox_event *e = inbox_event_create(INBOX_NOTE, 0);
    if (e == NULL) return;
    va_list args;
    va_start(args, format);
    vsnprintf(e->line, sizeof e->line, format, args);
    va_end(args);
    inbox_push(r, e);
}

void inbox_wake_driver(struct cluster_transport *r)
{
    pthread_mutex_lock(&r->lock);
    r->woken = true;
    pthread_cond_signal(&r->arrived);
    pthread_mutex_unlock(&r->lock);
}

/* ---- The driver's thread */

static void handle_event(struct cluster_transport *r, struct driver *driver, struct inbox_event *e)
{
    switch (e->kind) {
    case INBOX_EXECUTOR_ADDED:
        driver_on_executor_added(driver, &(struct executor_info){e->name, e->host, e->slots});
        break;
    case INBOX_MESSAGE:
        if (e->fetched_bytes > 0) {
            atomic_fetch_sub(&r->fetched_results_bytes, e->fetched_bytes);
            uv_async_send(&r->wakeup); /* starts fetches that had no room */
        }
        driver_on_message(driver, e->executor, e->message);
        e->message = NULL; /* now the driver's */
        break;
    case INBOX_EXECUTOR_DRAINING: driver_on_executor_draining(driver, e->executor); break;
    case INBOX_EXECUTOR_SUSPECT: driver_on_executor_suspect(driver, e->executor, true); break;
    case INBOX_EXECUTOR_ALIVE: driver_on_executor_suspect(driver, e->executor, false); break;
    case INBOX_EXECUTOR_LOST: driver_on_executor_lost(driver, e->executor, e->loss, &e->why); break;
    case INBOX_NO_EXECUTORS: driver_on_no_executors(driver, &e->why); break;
    case INBOX_CANCEL_REQUESTED: driver_on_cancel_requested(driver); break;
    case INBOX_NOTE: glint_note(r->g, "%s", e->line); break;
    }
    inbox_event_destroy(e);
}

/* The deadline is on the context's clock, which tests may replace; the condition waits on the
 * system's monotonic clock. Converts by the time left. */
static struct timespec to_system_deadline(const struct cluster_transport *r, uint64_t deadline_ns)
{
    struct env *system = env_real();
    uint64_t now = cluster_transport_now(r), left = deadline_ns > now ? deadline_ns - now : 0;
    uint64_t at = system->now_ns(system) + left;
    if (at < left) at = INT64_MAX; /* overflow: UINT64_MAX is no deadline */
    return (struct timespec){(time_t)(at / SECOND_NS), (long)(at % SECOND_NS)};
}

/* Adds what was sent since the last call to the job's counters. */
static void report_broadcast_bytes(struct cluster_transport *r, struct driver *driver)
{
    uint64_t sent = atomic_load(&r->broadcast_bytes);
    assert(sent >= r->broadcast_counted);
    if (sent == r->broadcast_counted) return;
    driver_on_counter_increment(driver, "broadcast bytes sent",
                                (int64_t)(sent - r->broadcast_counted));
    r->broadcast_counted = sent;
}

void inbox_wait(struct cluster_transport *r, struct driver *driver, uint64_t deadline_ns)
{
    struct timespec end = to_system_deadline(r, deadline_ns);
    int waited = 0;
    pthread_mutex_lock(&r->lock);
    /* The driver has no more to send at this point: the loop writes all messages at once. */
    if (r->outgoing != NULL) uv_async_send(&r->wakeup);
    while (r->events == NULL && !r->woken && waited == 0)
        waited = pthread_cond_timedwait(&r->arrived, &r->lock, &end);
    struct inbox_event *e = r->events;
    r->events = NULL;
    r->events_end = &r->events;
    r->woken = false;
    pthread_mutex_unlock(&r->lock);
    /* Without the lock: the driver runs the job's code, and may send. */
    while (e != NULL) {
        struct inbox_event *next = e->next;
        e->next = NULL;
        handle_event(r, driver, e);
        e = next;
    }
    report_broadcast_bytes(r, driver);
}

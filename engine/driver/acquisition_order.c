/* Which executors a driver that needs several may keep, and ask for, before it has begun.
 *
 * Each daemon has a queue of its own, so drivers that keep what they have while they wait for more
 * could wait for each other for ever. They follow one order, that of the executors' ids, which a
 * daemon proves in its hello, so it is the same whatever file a driver reads. A driver that waits
 * in a queue, and needs k more executors, keeps and asks for nothing above the k-th highest of
 * those that it can still get. What it gives back it asks for again once it has a lower one.
 *
 * No deadlock: of the executors that waiting drivers keep, take the one with the highest id.
 * Whoever keeps it needs k more and can get k above it, and waits for at least one of those. No
 * waiting driver keeps them, so they are free or serve jobs that have begun, and a queue is served
 * in its order: it gets one, and then only needs k - 1.
 *
 * No livelock: a driver gives back what it was just given, or was given before it knew that it
 * would have to wait; what it may keep it gives back only if the executors that it can reach
 * change. It asks again once for each executor gained, so it asks in vain at most N times at each
 * daemon.
 *
 * Executors that cannot be reached are not counted. A driver that waits for those alone is ended by
 * `start`, which also counts while it keeps one and waits in queues (registration.c). */
#include "engine/driver/cluster_transport_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NO_LIMIT UINT32_MAX

static int compare_daemon_ids(const void *a, const void *b)
{
    const struct daemon_conn *const *x = a, *const *y = b;
    return strcmp((*x)->at->id, (*y)->at->id);
}

bool acquisition_order_init(struct cluster_transport *r)
{
    uint32_t count = r->cluster->executor_count;
    r->by_id = mem_alloc(sizeof(struct daemon_conn *) * count);
    if (r->by_id == NULL) return false;
    for (uint32_t i = 0; i < count; i++) r->by_id[i] = &r->daemon_conns[i];
    qsort(r->by_id, count, sizeof(struct daemon_conn *), compare_daemon_ids);
    for (uint32_t i = 0; i < count; i++) r->by_id[i]->rank = i;
    r->highest = NO_LIMIT;
    return true;
}

static bool is_kept(const struct daemon_conn *p)
{
    return p->state == DAEMON_CONN_EXECUTOR_STARTED;
}

static bool is_available(const struct daemon_conn *p)
{
    return p->reached && !is_kept(p) && p->state != DAEMON_CONN_REJECTED;
}

bool acquisition_order_allows(const struct daemon_conn *p)
{
    return p->rank <= p->r->highest;
}

/* It says within a deadline whether its executor is free. */
static bool is_awaiting_response(const struct daemon_conn *p)
{
    bool dialled = p->state == DAEMON_CONN_DIALLING && (p->reached || p->tries == 0);
    bool will_be = p->state == DAEMON_CONN_BACKOFF && p->reached && acquisition_order_allows(p);
    return dialled || will_be || (p->state == DAEMON_CONN_REQUESTED && p->queue_position == 0);
}

bool acquisition_order_keeps_any(const struct cluster_transport *r)
{
    if (r->daemon_conns == NULL || r->started) return false;
    for (uint32_t i = 0; i < r->cluster->executor_count; i++)
        if (is_kept(&r->daemon_conns[i])) return true;
    return false;
}

static uint32_t highest_rank(const struct cluster_transport *r)
{
    uint32_t kept = 0, available = 0, wanted = registration_executors_min(r);
    bool waits = false;
    if (r->started || wanted == 1) return NO_LIMIT;
    for (uint32_t i = 0; i < r->cluster->executor_count; i++) {
        const struct daemon_conn *p = &r->daemon_conns[i];
        kept += is_kept(p);
        available += is_available(p);
        waits = waits || p->queue_position > 0;
    }
    if (!waits || kept >= wanted) return NO_LIMIT;
    uint32_t left = wanted - kept < available ? wanted - kept : available;
    assert(left > 0); /* what it waits for is available */
    for (uint32_t i = r->cluster->executor_count; i-- > 0;)
        if (is_available(r->by_id[i]) && --left == 0) return i;
    return NO_LIMIT;
}

/* Another one than `but` is. */
static bool any_awaiting_response(const struct cluster_transport *r, const struct daemon_conn *but)
{
    for (uint32_t i = 0; i < r->cluster->executor_count; i++)
        if (&r->daemon_conns[i] != but && is_awaiting_response(&r->daemon_conns[i])) return true;
    return false;
}

bool acquisition_order_may_request(const struct daemon_conn *p)
{
    return acquisition_order_allows(p) || any_awaiting_response(p->r, p);
}

/* While one is still to answer, what it says may change what may be kept. To give one back does
 * not: one more is needed then, and one more is available. */
void acquisition_order_enforce(struct cluster_transport *r)
{
    if (r->daemon_conns == NULL) return;
    r->highest = highest_rank(r);
    if (r->highest == NO_LIMIT) return;
    if (any_awaiting_response(r, NULL)) return;
    for (uint32_t i = r->highest + 1; i < r->cluster->executor_count; i++) {
        struct daemon_conn *p = r->by_id[i];
        if (is_kept(p) || p->queue_position > 0) daemon_conn_release_executor(p);
    }
    assert(r->highest == highest_rank(r));
}

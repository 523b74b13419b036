/* Lock ordering for executors: which ones a driver that needs several (executors_min) may keep and
 * request before its job has started.
 *
 * Each daemon has its own queue, so two drivers that keep the executors they got while they wait
 * for more could deadlock. All drivers therefore follow one order, that of the executors' ids. A
 * daemon proves its id in its hello, so the order does not depend on each driver's cluster.toml. A
 * driver that is queued and needs k more executors keeps and requests none above the k-th highest
 * of those that are available to it. It requests what it released again once it has gained a lower
 * one.
 *
 * No deadlock: of all executors that waiting drivers keep, take the one with the highest id. Its
 * driver needs k more, has k available above it, and is queued for at least one of them. No waiting
 * driver keeps those, so they are idle or serve jobs that have started, and queues are served in
 * order: the driver gets one, and then needs only k - 1.
 *
 * No livelock: a driver releases an executor that it just got, or got before it knew that it would
 * be queued. It releases one that it was allowed to keep only if the set of executors that it can
 * reach changes. It requests again once for each executor gained, so it requests in vain at most N
 * times from each daemon.
 *
 * Executors that cannot be reached are not counted. A job that waits for those alone ends after
 * start_ms, which also counts while the driver keeps an executor and is queued for others
 * (registration.c). */
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

/* The driver has this daemon's executor. */
static bool is_kept(const struct daemon_conn *p)
{
    return p->state == DAEMON_CONN_EXECUTOR_STARTED;
}

/* The driver does not have this daemon's executor but may still get it. */
static bool is_available(const struct daemon_conn *p)
{
    return p->reached && !is_kept(p) && p->state != DAEMON_CONN_REJECTED;
}

bool acquisition_order_allows(const struct daemon_conn *p)
{
    return p->rank <= p->r->highest;
}

/* The daemon will respond within a deadline whether its executor is free: it is being dialled, will
 * be dialled, or has not responded to REQUEST_EXECUTOR. One that fetches the driver's program may
 * take long, so it does not count. One that was never reached counts on the first dial only, else
 * an unreachable daemon would suspend the order forever. */
static bool is_awaiting_response(const struct daemon_conn *p)
{
    bool dialled = p->state == DAEMON_CONN_DIALLING && (p->reached || p->backoff.attempts == 0);
    bool will_be = p->state == DAEMON_CONN_BACKOFF && p->reached && acquisition_order_allows(p);
    bool requested =
        p->state == DAEMON_CONN_REQUESTED && p->queue_position == 0 && !p->fetches_program;
    return dialled || will_be || requested;
}

bool acquisition_order_keeps_any(const struct cluster_transport *r)
{
    if (r->daemon_conns == NULL || r->started) return false;
    for (uint32_t i = 0; i < r->cluster->executor_count; i++)
        if (is_kept(&r->daemon_conns[i])) return true;
    return false;
}

/* Returns the highest rank that the driver may keep or request. NO_LIMIT if the order does not
 * matter: the job has started, needs one executor, has enough, or is queued nowhere. */
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
    assert(left > 0); /* `waits`: the executor it is queued for is available */
    for (uint32_t i = r->cluster->executor_count; i-- > 0;)
        if (is_available(r->by_id[i]) && --left == 0) return i;
    return NO_LIMIT;
}

/* Any daemon except `but` (NULL: none) has not responded yet. */
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

/* Releases nothing while a daemon has not responded yet, since its response may change the limit.
 * Releasing itself does not change the limit: one more executor is needed then, and one more is
 * available. */
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

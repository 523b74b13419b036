/* The limit: a driver that needs k more executors keeps and requests none above the k-th highest
 * of those that it can reach and does not have. But its lowest queue position stays: while the
 * daemons below fetch its program it may be the only one, and without it the driver would be
 * queued nowhere, request it again, and release it again. */
#include "engine/base/log.h"
#include "engine/driver/cluster_transport_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lock ordering for executors: which ones a driver that needs several (executors_min) may keep
 * and request before its job has started.
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
 * order: the driver gets one, and then needs only k - 1. Fetches of programs end: while one lasts
 * the driver may keep more (acquisition_policy.c).
 *
 * No livelock: a driver releases an executor that it just got, or got before it knew that it would
 * be queued. It releases one that it was allowed to keep only if the set of executors that it can
 * reach changes. It requests again once for each executor gained, so it requests in vain at most N
 * times from each daemon.
 *
 * Executors that cannot be reached are not counted. A job that waits for those alone ends after
 * start_ms, which also counts while the driver keeps an executor and is queued for others
 * (executor_listener.c). */

static int compare_daemon_ids(const void *a, const void *b)
{
    const struct daemon_conn *const *x = a, *const *y = b;
    return strcmp((*x)->at->id, (*y)->at->id);
}

bool acquisition_order_init(struct cluster_transport *r)
{
    uint32_t count = r->cluster->executor_count;
    r->by_id = mem_alloc(sizeof(struct daemon_conn *) * count);
    r->acquisition_states = mem_alloc(sizeof *r->acquisition_states * count);
    if (r->by_id == NULL || r->acquisition_states == NULL) return false;
    for (uint32_t i = 0; i < count; i++) r->by_id[i] = &r->daemon_conns[i];
    qsort(r->by_id, count, sizeof(struct daemon_conn *), compare_daemon_ids);
    for (uint32_t i = 0; i < count; i++) r->by_id[i]->rank = i;
    r->highest = ACQUISITION_NO_LIMIT;
    return true;
}

static enum acquisition_state acquisition_state_of(const struct daemon_conn *p)
{
    switch (p->state) {
    case DAEMON_CONN_EXECUTOR_STARTED: return ACQUISITION_KEPT;
    case DAEMON_CONN_REJECTED: return ACQUISITION_UNAVAILABLE;
    case DAEMON_CONN_BACKOFF: return p->reached ? ACQUISITION_RELEASED : ACQUISITION_UNAVAILABLE;
    case DAEMON_CONN_DIALLING:
        if (p->reached) return ACQUISITION_REQUESTED;
        /* On the first dial only, else an unreachable daemon would suspend the order forever. */
        return p->backoff.attempts == 0 ? ACQUISITION_FIRST_DIAL : ACQUISITION_UNAVAILABLE;
    case DAEMON_CONN_REQUESTED: break;
    }
    if (p->queue_position > 0) return ACQUISITION_QUEUED;
    return p->fetches_program ? ACQUISITION_FETCHING : ACQUISITION_REQUESTED;
}

/* The state of each daemon by rank; valid until the next call. */
static const enum acquisition_state *acquisition_states_by_rank(const struct cluster_transport *r)
{
    for (uint32_t i = 0; i < r->cluster->executor_count; i++)
        r->acquisition_states[i] = acquisition_state_of(r->by_id[i]);
    return r->acquisition_states;
}

bool acquisition_order_allows(const struct daemon_conn *p)
{
    return p->rank <= p->r->highest;
}

bool acquisition_order_keeps_any(const struct cluster_transport *r)
{
    if (r->daemon_conns == NULL || r->started) return false;
    for (uint32_t i = 0; i < r->cluster->executor_count; i++)
        if (acquisition_state_of(&r->daemon_conns[i]) == ACQUISITION_KEPT) return true;
    return false;
}

bool acquisition_order_may_request(const struct daemon_conn *p)
{
    const struct cluster_transport *r = p->r;
    return acquisition_order_allows(p) ||
           acquisition_awaits_response(acquisition_states_by_rank(r), r->cluster->executor_count,
                                       r->highest, p->rank);
}

static uint32_t highest_daemon_rank_to_request(const struct cluster_transport *r)
{
    if (r->started) return ACQUISITION_NO_LIMIT;
    return acquisition_highest_rank(acquisition_states_by_rank(r), r->cluster->executor_count,
                                    registration_executors_min(r));
}

/* Releases nothing while a daemon has not responded yet, since its response may change the limit.
 * If a release changed the limit, the order would be wrong, which is no reason to end a job: the
 * driver goes on without an order. */
void acquisition_order_release_above_limit(struct cluster_transport *r)
{
    if (r->daemon_conns == NULL) return;
    const uint32_t count = r->cluster->executor_count, limit = highest_daemon_rank_to_request(r);
    r->highest = limit;
    if (limit == ACQUISITION_NO_LIMIT) return;
    if (acquisition_awaits_response(acquisition_states_by_rank(r), count, limit, count)) return;
    for (uint32_t i = limit + 1; i < count; i++)
        if (acquisition_must_release(acquisition_state_of(r->by_id[i]), i, limit))
            daemon_conn_release_executor(r->by_id[i]);
    if (highest_daemon_rank_to_request(r) == limit) return;
    log_line(LOG_ERROR, NULL, "the order of acquisition is wrong (limit %u of %u): ignoring it",
             limit, count);
    r->highest = ACQUISITION_NO_LIMIT;
}

/* ---- acquisition policy */

static_assert(ACQUISITION_STATES == 7, "tests enumerate all states of three daemons");

/* The driver does not have this executor but may still get it. */
static bool is_executor_obtainable(enum acquisition_state state)
{
    return state >= ACQUISITION_RELEASED && state != ACQUISITION_KEPT;
}

/* The n-th highest rank that is available, or the lowest if there are fewer. */
static uint32_t rank_of_nth_obtainable(const enum acquisition_state *states, uint32_t count,
                                       uint32_t n)
{
    uint32_t lowest = 0;
    for (uint32_t i = count; i-- > 0 && n > 0;) {
        if (!is_executor_obtainable(states[i])) continue;
        lowest = i;
        n--;
    }
    return lowest;
}

uint32_t acquisition_highest_rank(const enum acquisition_state *states, uint32_t count,
                                  uint32_t wanted)
{
    uint32_t kept = 0, lowest_queued = ACQUISITION_NO_LIMIT;
    for (uint32_t i = count; i-- > 0;) {
        kept += states[i] == ACQUISITION_KEPT;
        if (states[i] == ACQUISITION_QUEUED) lowest_queued = i;
    }
    if (wanted <= 1 || kept >= wanted || lowest_queued == ACQUISITION_NO_LIMIT)
        return ACQUISITION_NO_LIMIT;
    const uint32_t limit = rank_of_nth_obtainable(states, count, wanted - kept);
    return limit > lowest_queued ? limit : lowest_queued;
}

bool acquisition_awaits_response(const enum acquisition_state *states, uint32_t count,
                                 uint32_t limit, uint32_t except)
{
    for (uint32_t i = 0; i < count; i++) {
        const bool responds = states[i] == ACQUISITION_FIRST_DIAL ||
                              states[i] == ACQUISITION_REQUESTED ||
                              (states[i] == ACQUISITION_RELEASED && i <= limit);
        if (i != except && responds) return true;
    }
    return false;
}

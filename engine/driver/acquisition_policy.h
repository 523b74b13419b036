/* Which executors a driver that needs several may keep and request while it waits: a function of
 * what it knows of each daemon, without connections and clocks. acquisition_policy.c applies it,
 * and says why there is an order. */
#ifndef GLINT_DRIVER_ACQUISITION_POLICY_H
#define GLINT_DRIVER_ACQUISITION_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* What the driver knows of one daemon. */
enum acquisition_state {
    ACQUISITION_UNAVAILABLE, /* it cannot be reached, or rejected the driver */
    ACQUISITION_FIRST_DIAL,  /* being dialled for the first time */
    ACQUISITION_RELEASED,    /* reached before, and will be dialled when the limit allows it */
    ACQUISITION_REQUESTED,   /* reached, and will respond within a deadline */
    ACQUISITION_FETCHING,    /* it fetches the driver's program, which may take long */
    ACQUISITION_QUEUED,      /* the driver has a position in its queue */
    ACQUISITION_KEPT,        /* the driver has its executor */
    ACQUISITION_STATES
};

#define ACQUISITION_NO_LIMIT UINT32_MAX

/* Returns the highest rank that the driver may keep or request; `states` has `count` of them, by
 * rank. ACQUISITION_NO_LIMIT if the order does not matter: the driver needs one executor, has
 * enough, or is queued nowhere. Otherwise the driver is queued at that rank or below, and the limit
 * stays the same when the executors and queue positions above it are released. */
uint32_t acquisition_limit(const enum acquisition_state *states, uint32_t count, uint32_t wanted);

/* Whether a daemon other than `except` (`count`: none) responds within a deadline. Its response may
 * change the limit, so nothing is released until then. One that fetches the program is not waited
 * for. */
bool acquisition_awaits_response(const enum acquisition_state *states, uint32_t count,
                                 uint32_t limit, uint32_t except);

/* Whether the executor or queue position at this rank must be released. */
static inline bool acquisition_must_release(enum acquisition_state state, uint32_t rank,
                                            uint32_t limit)
{
    return rank > limit && (state == ACQUISITION_KEPT || state == ACQUISITION_QUEUED);
}

#endif

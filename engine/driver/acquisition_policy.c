/* The limit: a driver that needs k more executors keeps and requests none above the k-th highest
 * of those that it can reach and does not have. But its lowest queue position stays: while the
 * daemons below fetch its program it may be the only one, and without it the driver would be
 * queued nowhere, request it again, and release it again. */
#include "engine/driver/acquisition_policy.h"

#include <assert.h>

static_assert(ACQUISITION_STATES == 7, "tests enumerate all states of three daemons");

/* The driver does not have this executor but may still get it. */
static bool is_available(enum acquisition_state state)
{
    return state >= ACQUISITION_RELEASED && state != ACQUISITION_KEPT;
}

/* The n-th highest rank that is available, or the lowest if there are fewer. */
static uint32_t nth_highest_available(const enum acquisition_state *states, uint32_t count,
                                      uint32_t n)
{
    uint32_t lowest = 0;
    for (uint32_t i = count; i-- > 0 && n > 0;) {
        if (!is_available(states[i])) continue;
        lowest = i;
        n--;
    }
    return lowest;
}

uint32_t acquisition_limit(const enum acquisition_state *states, uint32_t count, uint32_t wanted)
{
    uint32_t kept = 0, lowest_queued = ACQUISITION_NO_LIMIT;
    for (uint32_t i = count; i-- > 0;) {
        kept += states[i] == ACQUISITION_KEPT;
        if (states[i] == ACQUISITION_QUEUED) lowest_queued = i;
    }
    if (wanted <= 1 || kept >= wanted || lowest_queued == ACQUISITION_NO_LIMIT)
        return ACQUISITION_NO_LIMIT;
    const uint32_t limit = nth_highest_available(states, count, wanted - kept);
    return limit > lowest_queued ? limit : lowest_queued;
}

bool acquisition_is_awaiting(const enum acquisition_state *states, uint32_t count, uint32_t limit,
                             uint32_t except)
{
    for (uint32_t i = 0; i < count; i++) {
        const bool responds = states[i] == ACQUISITION_FIRST_DIAL ||
                              states[i] == ACQUISITION_REQUESTED ||
                              (states[i] == ACQUISITION_RELEASED && i <= limit);
        if (i != except && responds) return true;
    }
    return false;
}

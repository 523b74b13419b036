/* A deadline: one uv_timer_t that calls a function once. Loop thread only. */
#ifndef GLINT_NET_DEADLINE_H
#define GLINT_NET_DEADLINE_H

#include "engine/base/env.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct deadline {
    uv_timer_t timer;
    void (*expired)(void *arg);
    void (*closed)(void *arg);
    void *arg;
    /* Of deadline_start_by: when it is to expire (UINT64_MAX: not started), and when the last one
     * was to expire. */
    uint64_t by_ns, expired_by_ns;
};

/* `expired` is called from the loop. deadline_close is required before the loop is closed. */
void deadline_init(struct deadline *d, uv_loop_t *loop, void (*expired)(void *arg), void *arg);
/* Expires `ms` from now, instead of any earlier start. */
void deadline_start(struct deadline *d, uint64_t ms);
/* As deadline_start, unless it expires earlier already. */
void deadline_start_earlier(struct deadline *d, uint64_t ms);
/* Expires at by_ns, unless it expires earlier already; UINT64_MAX: never. `now_ns` is of the clock
 * of by_ns. A deadline that is started so may be started otherwise only for its last time. */
void deadline_start_by(struct deadline *d, uint64_t by_ns, uint64_t now_ns);
void deadline_stop(struct deadline *d);
/* Stops it. `closed` (NULL: none) is called later, from the loop; *d may be freed then. */
void deadline_close(struct deadline *d, void (*closed)(void *arg));

/* Milliseconds until at_ns, rounded up: 0 if it has passed. */
static inline uint64_t ms_until(uint64_t at_ns, uint64_t now_ns)
{
    return at_ns > now_ns ? (at_ns - now_ns + MS_NS - 1) / MS_NS : 0;
}

#endif

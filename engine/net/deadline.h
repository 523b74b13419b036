/* Failure detector: is a peer alive, judged by its heartbeats? Pure: the caller brings the time and
 * sets the timers. Times are of a monotonic clock.
 *
 *   ALIVE -> SUSPECT [suspect_ns without heartbeat]   SUSPECT -> ALIVE [heartbeat]
 *   SUSPECT -> DEAD  [dead_ns without heartbeat]
 *
 * After a pause of this process (SIGSTOP, suspend to RAM) the silence of its peers
 * means nothing, because their heartbeats could not be received: all timeouts
 * restart (liveness_is_process_pause). */
#ifndef GLINT_NET_DEADLINE_H
#define GLINT_NET_DEADLINE_H

#include "engine/base/env.h"
#include "engine/codes.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum life { LIFE_ALIVE, LIFE_SUSPECT, LIFE_DEAD };

/* Heartbeat interval, and silence until SUSPECT and until DEAD. */
struct liveness_limits {
    uint64_t heartbeat_ns, suspect_ns, dead_ns; /* ascending */
};

/* State of one peer. last_sent_ns: of this side's own heartbeat. */
struct liveness {
    const struct liveness_limits *limits;
    enum life life;
    uint64_t last_seen_ns, last_check_ns, last_sent_ns;
};

/* Whether a timer set for due_ns that fires at now_ns is so late (more than suspect_ns) that this
 * process must have been paused. For callers with timeouts of their own. */
bool liveness_is_process_pause(const struct liveness_limits *limits, uint64_t due_ns,
                               uint64_t now_ns);

/* Starts as ALIVE. `limits` stays borrowed. */
void liveness_init(struct liveness *l, const struct liveness_limits *limits, uint64_t now_ns);
/* A frame was received: any frame counts as a heartbeat. DEAD is final. */
void liveness_on_heartbeat(struct liveness *l, uint64_t now_ns);
/* Returns the state at now_ns. *out_heartbeat_due: the caller must send a heartbeat now; it is
 * recorded as sent. *out_next_ns: when to call again; UINT64_MAX if DEAD, which is final. */
enum life liveness_on_timer(struct liveness *l, uint64_t now_ns, bool *out_heartbeat_due,
                            uint64_t *out_next_ns);

/* A deadline: one uv_timer_t that calls a function once. Loop thread only. */
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

/* Failed attempts to connect: how long to wait before the next one, and when it is of no use. */

struct backoff {
    uint32_t attempts;      /* that failed since the last reset to 0 */
    uint32_t auth_failures; /* the last so many in a row: TLS handshakes that failed */
};

/* Whether the peer, or another process at its address, responded and rejected this side. */
bool error_is_rejection(enum glint_code code);
/* An attempt failed. Returns whether the next one would fail the same way. */
bool backoff_on_error(struct backoff *b, enum glint_code code);
/* Returns how long to wait now, and counts the attempt: 10 ms, twice as long after each failure, at
 * most 1 s, with backoff_with_jitter. */
uint64_t backoff_next_ns(struct backoff *b, struct env *env);

/* Returns a random duration in [ns / 2, ns]: processes that lost their connections at the same
 * moment do not reconnect all at once. Without random bytes: 3/4 of ns. */
uint64_t backoff_with_jitter(struct env *env, uint64_t ns);

#endif

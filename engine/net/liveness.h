/* Failure detector: is a peer alive, judged by its heartbeats? Pure: the caller brings the time and
 * sets the timers. Times are of a monotonic clock.
 *
 *   ALIVE -> SUSPECT [suspect_ns without heartbeat]   SUSPECT -> ALIVE [heartbeat]
 *   SUSPECT -> DEAD  [dead_ns without heartbeat]
 *
 * After a pause of this process (SIGSTOP, suspend to RAM) the silence of its peers
 * means nothing, because their heartbeats could not be received: all timeouts
 * restart (liveness_is_process_pause). */
#ifndef GLINT_NET_LIVENESS_H
#define GLINT_NET_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

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

#endif

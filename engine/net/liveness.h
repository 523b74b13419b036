/* Is the other side alive? Signs of life, read against a monotonic clock. Pure: no clock, no timer.
 *
 *   ALIVE -> SUSPECT [suspect_ns of silence]  SUSPECT -> ALIVE [heard]  SUSPECT -> DEAD [dead_ns]
 *
 * Our own sleep is not their silence, or absence: after it [liveness_is_process_pause] whoever
 * counts the time of others counts anew. */
#ifndef GLINT_NET_LIVENESS_H
#define GLINT_NET_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

enum life { LIFE_ALIVE, LIFE_SUSPECT, LIFE_DEAD };

struct liveness_limits {
    uint64_t heartbeat_ns, suspect_ns, dead_ns; /* ascending */
};

struct liveness {
    const struct liveness_limits *limits;
    enum life life;
    uint64_t last_seen_ns, last_check_ns, last_sent_ns;
};

/* Whether a look that was due at due_ns, and comes now, is so late that this process stood still:
 * more than suspect_ns. */
bool liveness_is_process_pause(const struct liveness_limits *limits, uint64_t due_ns,
                               uint64_t now_ns);

/* Silence begins now; `limits` stays borrowed. */
void liveness_init(struct liveness *l, const struct liveness_limits *limits, uint64_t now_ns);
void liveness_on_heartbeat(struct liveness *l, uint64_t now_ns);
/* The state now. `*out_heartbeat_due`: our own sign of life is due, and counts as sent.
 * `*out_next_ns`: look again then; never, UINT64_MAX, once DEAD, which is final. */
enum life liveness_on_timer(struct liveness *l, uint64_t now_ns, bool *out_heartbeat_due,
                            uint64_t *out_next_ns);

#endif

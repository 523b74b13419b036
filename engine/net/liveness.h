/* Is the other side alive? Signs of life, read against a monotonic clock. Pure: no clock, no timer.
 *
 *   ALIVE -> SUSPECT [suspect_ns of silence]  SUSPECT -> ALIVE [heard]  SUSPECT -> DEAD [dead_ns]
 *
 * Our own sleep is not their silence: when two looks are further apart than suspect_ns (this
 * process was stopped), silence is counted from the later one on. */
#ifndef GLINT_NET_LIVENESS_H
#define GLINT_NET_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

enum life { LIFE_ALIVE, LIFE_SUSPECT, LIFE_DEAD };

struct liveness_limits {
    uint64_t beat_ns, suspect_ns, dead_ns; /* ascending */
};

struct liveness {
    const struct liveness_limits *limits;
    enum life life;
    uint64_t heard_ns, looked_ns, beaten_ns;
};

/* Silence begins now; `limits` stays borrowed. */
void liveness_init(struct liveness *l, const struct liveness_limits *limits, uint64_t now_ns);
void liveness_heard(struct liveness *l, uint64_t now_ns);
/* The state now. `*out_beat`: our own sign of life is due, and counts as sent. `*out_next_ns`: look
 * again then; never, UINT64_MAX, once DEAD, which is final. */
enum life liveness_look(struct liveness *l, uint64_t now_ns, bool *out_beat, uint64_t *out_next_ns);

#endif

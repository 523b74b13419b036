/* When attempts ran, on the driver's clock. The clocks of two hosts start anywhere, and differ a
 * little in speed: how far apart they are is learned from the attempts, each of which started after
 * it was sent and ended before its message was received. */
#ifndef GLINT_DRIVER_EXECUTOR_CLOCK_H
#define GLINT_DRIVER_EXECUTOR_CLOCK_H

#include "engine/transfer/message.h"

struct executor_clock {
    uint64_t offset_ns; /* the driver's clock minus the executor's, modulo 2^64 */
    uint64_t *ends_ns;  /* per slot: when its last attempt ended, on the driver's clock */
    uint32_t slots;
    bool known;
};

bool executor_clock_init(struct executor_clock *c, uint32_t slots); /* false: out of memory */
void executor_clock_fini(struct executor_clock *c);

struct attempt_times {
    uint64_t start_ns, end_ns;
};
/* `m`: the DONE or FAILED of an attempt sent at `sent_ns`, received at `now_ns`. The times are
 * between these two, and those of two attempts of one slot do not overlap. */
struct attempt_times executor_clock_convert(struct executor_clock *c, const struct message *m,
                                            uint64_t sent_ns, uint64_t now_ns);

#endif

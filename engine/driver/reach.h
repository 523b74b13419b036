/* Which executors could not fetch from each other, and which of them are at fault.
 *
 * A fetch that gets no answer does not say on which side the network is broken. So failures are
 * kept per pair of executors: one that is party to pairs with two different others is at fault, and
 * so explains them all. A pair that nothing else explains has one at fault only when it failed
 * again: its holder. Pure: no clock, no executors but their numbers. */
#ifndef GLINT_DRIVER_REACH_H
#define GLINT_DRIVER_REACH_H

#include <stdbool.h>
#include <stdint.h>

struct reach_pair {
    uint32_t one, other;
    uint32_t holder; /* again: the one that is blamed where nothing else explains it */
    uint64_t first_ns;
    bool again; /* it failed in an attempt that began after the first failure */
    bool explained;
};

#define REACH_PAIRS_MAX 256u /* more would tell nothing new */

struct reach_executor {
    uint32_t unexplained; /* pairs */
    bool at_fault;
};

struct reach {
    struct reach_pair pairs[REACH_PAIRS_MAX];
    uint32_t count;
    struct reach_executor *executors; /* [executor_count] */
    uint32_t executor_count;
};

/* Zeros are a valid, empty one. */
void reach_fini(struct reach *r);

enum reach_news { REACH_FIRST, REACH_AGAIN, REACH_NO_ROOM };
/* Of executors below `executors`. An attempt that began at `begun_ns` could not fetch. */
enum reach_news reach_failed(struct reach *r, uint32_t executors, uint32_t reader, uint32_t holder,
                             uint64_t begun_ns, uint64_t now_ns);
/* The executor is gone: its pairs say nothing any more. */
void reach_forget(struct reach *r, uint32_t executor);
/* Networks heal: pairs that first failed before `ns` say nothing any more. */
void reach_forget_before(struct reach *r, uint64_t ns);
bool reach_at_fault(const struct reach *r, uint32_t executor);

#endif

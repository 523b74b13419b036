/* Which executors could not fetch from each other, and which of them are at fault.
 *
 * A fetch that gets no answer does not say on which side the network is broken. So failures are
 * kept per pair of executors: one that is party to pairs with two different others is at fault, and
 * so explains them all. A pair that nothing else explains has one at fault only when it failed
 * again: its holder. Pure: no clock, no executors but their numbers. */
#ifndef GLINT_DRIVER_REACHABILITY_H
#define GLINT_DRIVER_REACHABILITY_H

#include <stdbool.h>
#include <stdint.h>

struct unreachable_pair {
    uint32_t one, other;
    uint32_t holder; /* again: the one that is blamed where nothing else explains it */
    uint64_t first_ns;
    bool again; /* it failed in an attempt that began after the first failure */
    bool explained;
};

#define UNREACHABLE_PAIRS_MAX 256u /* more would tell nothing new */

struct reachability_executor {
    uint32_t unexplained; /* pairs */
    bool at_fault;
};

struct reachability {
    struct unreachable_pair pairs[UNREACHABLE_PAIRS_MAX];
    uint32_t count;
    struct reachability_executor *executors; /* [executor_count] */
    uint32_t executor_count;
};

/* Zeros are a valid, empty one. */
void reachability_fini(struct reachability *r);

enum reachability_update {
    REACHABILITY_FIRST_FAILURE,
    REACHABILITY_REPEATED_FAILURE,
    REACHABILITY_FULL
};
/* Of executors below `executors`. An attempt that began at `start_ns` could not fetch. */
enum reachability_update reachability_record_failure(struct reachability *r, uint32_t executors,
                                                     uint32_t reader, uint32_t holder,
                                                     uint64_t start_ns, uint64_t now_ns);
/* The executor is gone: its pairs say nothing any more. */
void reachability_remove_executor(struct reachability *r, uint32_t executor);
/* Networks heal: pairs that first failed before `ns` say nothing any more. */
void reachability_expire_before(struct reachability *r, uint64_t ns);
bool reachability_is_at_fault(const struct reachability *r, uint32_t executor);

#endif

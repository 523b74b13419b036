/* Decides which executors are unreachable, from the pairs of executors between which fetches fail.
 *
 * A fetch without a response does not show which side's network is broken. So failures are recorded
 * per pair of executors. An executor in failed pairs with two or more others is at fault, which
 * explains all its pairs. If a pair is not explained that way, one of the two is at fault only
 * after the pair failed again: its holder, the executor that has the map output.
 *
 * Pure: no clock, and executors are only numbers. Driver thread only. */
#ifndef GLINT_DRIVER_REACHABILITY_H
#define GLINT_DRIVER_REACHABILITY_H

#include <stdbool.h>
#include <stdint.h>

/* Two executors between which a fetch failed, in either direction. */
struct unreachable_pair {
    uint32_t one, other;
    uint32_t holder; /* if `again`: the one at fault if no other pair explains this one */
    uint64_t first_ns;
    bool again;     /* also failed in an attempt that started after the first failure */
    bool explained; /* one of the two is at fault */
};

#define UNREACHABLE_PAIRS_MAX 256u /* enough to find the executors at fault */

struct reachability_executor {
    uint32_t unexplained; /* its pairs that are not explained */
    bool at_fault;
};

struct reachability {
    struct unreachable_pair pairs[UNREACHABLE_PAIRS_MAX];
    uint32_t count;
    struct reachability_executor *executors; /* [executor_capacity] */
    uint64_t executor_capacity;
};

/* A zero-initialized struct is valid and empty. */
void reachability_fini(struct reachability *r);

/* What reachability_record_failure knows of the pair. */
enum reachability_update {
    REACHABILITY_FIRST_FAILURE,
    REACHABILITY_REPEATED_FAILURE, /* an attempt that started later failed too */
    REACHABILITY_FULL              /* not recorded: too many pairs, or out of memory */
};
/* An attempt on `reader` that started at `start_ns` could not fetch from `holder`, another
 * executor. `executors`: their number; both are below it. */
enum reachability_update reachability_record_failure(struct reachability *r, uint32_t executors,
                                                     uint32_t reader, uint32_t holder,
                                                     uint64_t start_ns, uint64_t now_ns);
/* The executor is lost: removes its pairs. */
void reachability_remove_executor(struct reachability *r, uint32_t executor);
/* Removes pairs that first failed before `ns`, since a network can recover. */
void reachability_expire_before(struct reachability *r, uint64_t ns);
bool reachability_is_at_fault(const struct reachability *r, uint32_t executor);

#endif

/* Fake executors in one thread: respond to fetch requests from runs in memory, in an order decided
 * by a seed, with configurable faults. Does not need the test library, so that plain programs can
 * use it. */
#ifndef TESTS_SUPPORT_FAKE_FETCHER_H
#define TESTS_SUPPORT_FAKE_FETCHER_H

#include "engine/transfer/fetch.h"

#include <pthread.h>
#include <stdatomic.h>

enum { FAKE_QUEUE_MAX = 4096 };

struct fake_fetcher {
    struct fetcher fetcher; /* for fetch_open */
    const struct run *runs; /* [maps]; their attempt is map % 3 */
    uint32_t maps;
    uint64_t seed;
    /* Faults; UINT64_MAX and UINT32_MAX: none. */
    uint64_t fail_at;     /* request number (from 0) that fails with CONNECTION */
    uint64_t hold_from;   /* from this request on there is no response until it is cancelled */
    uint32_t missing_map; /* this map output does not exist */
    uint32_t damaged_map; /* the first byte of this map output is flipped, `damages` times */
    int32_t damages;
    int32_t damaged_lists;    /* number of INDEX responses that get a flipped byte */
    atomic_bool *cancel_flag; /* set when hold_from is reached */
    /* Private. */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fetch_request *queue[FAKE_QUEUE_MAX];
    uint32_t queued, failed_executor;
    uint64_t requests, largest; /* responses sent; largest request in bytes */
    bool ending, held;
};

/* All fields above are zero except runs, maps and seed; faults may be set after it. */
void fake_fetcher_start(struct fake_fetcher *f, const struct run *runs, uint32_t maps,
                        uint64_t seed);
/* Call when all requests have finished. */
void fake_fetcher_stop(struct fake_fetcher *f);

/* Creates a run with `records` records in each of `partitions`; keys of several maps overlap.
 * Returns 0, or a code with the task's error set. */
int fake_run(struct glint_task *task, uint32_t map, uint32_t partitions, uint32_t records,
             uint32_t value_bytes, uint64_t memory_max, struct run *out);
/* Appends what a reader of these slices returns to *out, without counted memory. Returns 0 or the
 * task's error. */
struct seen {
    uint8_t *data; /* from malloc */
    size_t size, capacity;
};
int fake_read(struct glint_task *task, const struct run_slice *slices, uint32_t count,
              struct seen *out);

#endif

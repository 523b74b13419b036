/* Other executors, played by one thread: requests are answered from runs in memory, in an order
 * that a seed decides, and what a test wants to go wrong goes wrong. No test library: plain
 * programs use it too. */
#ifndef TESTS_SUPPORT_FAKE_FETCHER_H
#define TESTS_SUPPORT_FAKE_FETCHER_H

#include "engine/shuffle/fetch.h"

#include <pthread.h>
#include <stdatomic.h>

enum { FAKE_QUEUE_MAX = 4096 };

struct fake_fetcher {
    struct fetcher fetcher; /* for fetch_open */
    const struct run *runs; /* [maps]; their attempt is map % 3 */
    uint32_t maps;
    uint64_t seed;
    /* What goes wrong; UINT64_MAX and UINT32_MAX: nothing. */
    uint64_t fail_at;     /* the request of this number, from 0, fails with CONNECTION */
    uint64_t hold_from;   /* from this request on nothing is answered until it is cancelled */
    uint32_t missing_map; /* is not there */
    uint32_t damaged_map; /* its first byte arrives flipped, `damages` times */
    int32_t damages;
    int32_t damaged_lists;    /* so many answers where parts lie arrive with a byte flipped */
    atomic_bool *cancel_flag; /* set when hold_from is reached */
    /* The rest is its own. */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fetch_request *queue[FAKE_QUEUE_MAX];
    uint32_t queued, failed_executor;
    uint64_t requests, largest; /* answered; the most bytes that were asked for at a time */
    bool ending, held;
};

/* Everything above is zero but runs, maps, seed; faults may be set after it. */
void fake_fetcher_start(struct fake_fetcher *f, const struct run *runs, uint32_t maps,
                        uint64_t seed);
/* All requests are over. */
void fake_fetcher_stop(struct fake_fetcher *f);

/* A run of `records` records in each of `partitions`; keys of several maps overlap. 0 or
 * a code, the task's error set. */
int fake_run(struct glint_task *task, uint32_t map, uint32_t partitions, uint32_t records,
             uint32_t value_bytes, uint64_t memory_max, struct run *out);
/* What a reader of these slices sees, appended to *out, which costs no counted memory. 0 or the
 * task's error. */
struct seen {
    uint8_t *data; /* of malloc */
    size_t size, capacity;
};
int fake_read(struct glint_task *task, const struct run_slice *slices, uint32_t count,
              struct seen *out);

#endif

/* Fetches the map outputs of other executors for a reduce task: a run_source (records/run.h) with
 * prefetch.
 *
 * The inputs of a task are the parts of its partition in every map output, in map order, local or
 * remote. For the remote ones fetch_open first requests their locations (run_part), one GET_INDEX
 * per executor; the responses contain the bytes of small parts inline. While the merge reads,
 * chunks of the other parts are prefetched from several executors at once. The bytes of all parts
 * in memory are limited by the task's window (FETCH_WINDOW_BYTES, at most half of the slot's
 * memory). The merge reads in map order, so the order of arrival does not change the result.
 *
 * Slot's thread; reading blocks until the bytes have arrived. No request waits forever: the fetcher
 * (fetch_client.h) ends each one at its deadline. */
#ifndef GLINT_TRANSFER_FETCH_H
#define GLINT_TRANSFER_FETCH_H

#include "engine/records/run.h"
#include "engine/transfer/wire_fetch.h"

#include <pthread.h>

/* One map output. */
struct fetch_input {
    uint32_t executor, map, attempt; /* where it is, and which map task attempt wrote it */
    const struct run *local;         /* in this process, read without fetching; NULL: remote */
};

struct fetch; /* of one task and shuffle */

/* Requests the locations of all remote inputs, waits for them, and starts to prefetch. `inputs`, in
 * map order, is copied, but the local runs are borrowed until fetch_close. Sets *out (in the task's
 * arena, valid until fetch_close) to one slice per input whose partition has records, in map order.
 * Returns NULL with the task's error set: FETCH_FAILED if a map output is lost, with *out_lost its
 * index in `inputs`; INTERRUPTED, NO_MEMORY. */
struct fetch *fetch_open(struct glint_task *task, const struct fetcher *fetcher, uint64_t shuffle,
                         uint32_t partition, const struct fetch_input *inputs, uint32_t count,
                         struct run_slice **out, uint32_t *out_count, uint32_t *out_lost);
/* Returns the index of the input that caused the task's FETCH_FAILED or SHUFFLE_CORRUPT, or
 * UINT32_MAX. The driver recomputes that map output. */
uint32_t fetch_find_lost_input(const struct fetch *f);
/* Cancels the requests in flight and waits for their end before it frees their buffers, since the
 * fetcher writes into them. NULL is fine. */
void fetch_close(struct fetch *f);

/* The requests of one task that are in flight, and waiting for them.
 *
 * The slot's thread submits and waits; the fetcher's loop thread calls `done` of each request.
 *
 * Cancellation races with submission. The executor sets the task's cancel flag first and cancels
 * its requests afterwards; fetch_wait_submit submits first and reads the flag afterwards. So either
 * the executor's cancel or that of fetch_wait_submit covers each request, and no wait lasts until
 * the deadline. */

/* A request and whether it has finished. */
struct pending_fetch {
    struct fetch_request request; /* first: on_fetch_done casts it back */
    struct fetch_wait *wait;
    bool finished; /* guarded by the lock */
    bool ready;    /* slot's thread only: it finished without error, no need to lock again */
};

/* One lock and one condition variable per task and shuffle. */
struct fetch_wait {
    struct glint_task *task;
    const struct fetcher *fetcher;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Guarded by the lock. */
    uint32_t in_flight;                     /* requests */
    const struct pending_fetch *waited_for; /* by the slot; NULL: none, or all in flight */
};

void fetch_wait_init(struct fetch_wait *w, struct glint_task *task, const struct fetcher *fetcher);
/* Cancels the requests in flight and blocks until all have finished. */
void fetch_wait_cancel_all(struct fetch_wait *w);
/* Destroys the lock. No request may be in flight. */
void fetch_wait_fini(struct fetch_wait *w);
/* Submits a list, linked by request.next; each request must be the member of a pending_fetch. Sets
 * owner and done. NULL is fine. */
void fetch_wait_submit(struct fetch_wait *w, struct fetch_request *first);
/* Blocks until `a`, which was submitted, has finished; then a->request.error is valid. Adds the
 * time to COUNT_FETCH_WAIT_US. */
void fetch_wait_until_done(struct fetch_wait *w, struct pending_fetch *a);

#endif

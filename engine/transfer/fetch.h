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
 * (transfer/peers.h) ends each one at its deadline. */
#ifndef GLINT_TRANSFER_FETCH_H
#define GLINT_TRANSFER_FETCH_H

#include "engine/records/run.h"
#include "engine/transfer/fetcher.h"

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
uint32_t fetch_lost_input(const struct fetch *f);
/* Cancels the requests in flight and waits for their end before it frees their buffers, since the
 * fetcher writes into them. NULL is fine. */
void fetch_close(struct fetch *f);

#endif

/* The requests of one task that are in flight, and waiting for them. Internal to fetch*.c.
 *
 * The slot's thread submits and waits; the fetcher's loop thread calls `done` of each request.
 *
 * Cancellation races with submission. The executor sets the task's cancel flag first and cancels
 * its requests afterwards; fetch_wait_submit submits first and reads the flag afterwards. So either
 * the executor's cancel or that of fetch_wait_submit covers each request, and no wait lasts until
 * the deadline. */
#ifndef GLINT_TRANSFER_FETCH_WAIT_H
#define GLINT_TRANSFER_FETCH_WAIT_H

#include "engine/transfer/fetch.h"

#include <pthread.h>

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

/* The location of one remote input's part, and its bytes if it is small. */
struct fetch_index_entry {
    uint32_t input; /* index in the inputs */
    struct index_entry response;
};
struct index_request;
/* The locations of all remote inputs. */
struct fetch_index {
    struct fetch_index_entry *entries; /* [count] in the order of the inputs */
    uint32_t count;
    struct index_request *requests; /* [request_count]; own the bytes of the small parts */
    uint32_t request_count;
    uint32_t lost; /* after FETCH_FAILED: the index of the input that is lost */
};
/* Sets and returns the task's error after a request failed with `why`: INTERRUPTED if the task was
 * cancelled, NO_MEMORY for want of local memory, else FETCH_FAILED, which makes the driver
 * recompute the map output. Also sets task->unreachable if the connection failed. */
int fetch_set_error(struct glint_task *task, const struct glint_error *why);

#endif

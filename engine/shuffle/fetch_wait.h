/* Requests of one task that are out, and waiting for them. Internal to fetch*.c.
 *
 * The slot submits and waits; `done` of each request is called by the fetcher's loop. A cancelled
 * task asks for nothing new, and what it has asked for is cancelled, so that its waits end soon:
 * the flag is looked at after the submission, since whoever sets it cancels after that. */
#ifndef GLINT_SHUFFLE_FETCH_WAIT_H
#define GLINT_SHUFFLE_FETCH_WAIT_H

#include "engine/shuffle/fetch.h"

#include <pthread.h>

/* What asks: a request and whether it is over. The request comes first. */
struct pending_fetch {
    struct fetch_request request;
    struct fetch_wait *wait;
    bool finished; /* guarded by the lock */
    bool ready;    /* the slot has seen it over without error */
};

struct fetch_wait {
    struct glint_task *task;
    const struct fetcher *fetcher;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Guarded by the lock. */
    uint32_t in_flight;                     /* requests */
    const struct pending_fetch *waited_for; /* by the slot; NULL: none, or all */
};

void fetch_wait_init(struct fetch_wait *w, struct glint_task *task, const struct fetcher *fetcher);
/* Cancels what is out and waits for it. */
void fetch_wait_cancel_all(struct fetch_wait *w);
/* Frees what init made; nothing is out. */
void fetch_wait_fini(struct fetch_wait *w);
/* `first`: a list of requests by request.next, each part of an `asked`. */
void fetch_wait_submit(struct fetch_wait *w, struct fetch_request *first);
/* Until it is over. */
void fetch_wait_until_done(struct fetch_wait *w, struct pending_fetch *a);

/* Where the parts of the inputs that are elsewhere lie, and the small ones' bytes. */
struct fetch_index_entry {
    uint32_t input; /* index in the inputs */
    struct index_entry response;
};
struct index_request;
struct fetch_index {
    struct fetch_index_entry *entries; /* [count] in the order of the inputs */
    uint32_t count;
    struct index_request *requests; /* [request_count] hold the bytes */
    uint32_t request_count;
    uint32_t lost; /* the input that is not to be had, after FETCH_FAILED */
};
/* Asks the inputs' executors; up to `bytes_max` bytes of small parts come along, of all of them
 * together. 0, or a code with the task's error set; free it in any case. Zeros are fine. */
int fetch_index_request(struct fetch_index *p, struct fetch_wait *w, uint64_t bytes_max,
                        uint64_t shuffle, uint32_t partition, const struct fetch_input *inputs,
                        uint32_t count);
void fetch_index_free(struct fetch_index *p);
/* The task's error, from a request's that has failed: FETCH_FAILED unless it is our own. */
int fetch_set_error(struct glint_task *task, const struct glint_error *why);

#endif

/* The reducer's way to map outputs on other executors: run_source (data/run.h) with read-ahead.
 *
 * A task's inputs are the parts of its partition in map order, here or elsewhere. For those
 * elsewhere their places (run_part) are asked for first, one GET_INDEX per executor, and small ones
 * come along whole; then, while the merge reads, chunks of the others are asked for ahead from
 * several executors at once. All parts' bytes together are within the task's window
 * (FETCH_WINDOW_BYTES, at most half of the slot's memory). Data is merged in map order however it
 * arrives.
 *
 * Slot's thread; it blocks until bytes are there. Each request ends by itself: the fetcher
 * (executor/peers.h) has a deadline for every one of them. */
#ifndef GLINT_SHUFFLE_FETCH_H
#define GLINT_SHUFFLE_FETCH_H

#include "engine/data/run.h"
#include "engine/net/wire.h"

/* One request. Whoever submits it owns it again from `done` on. */
struct fetch_request {
    uint32_t executor; /* the driver's number */
    uint64_t owner;    /* on whose behalf: a task's attempt_id; 0: nobody's in particular */
    struct get_request get;
    uint8_t *into; /* MAP_OUTPUT, BROADCAST_BLOCK, RESULT: exactly get.size bytes. INDEX: NULL */
    struct buffer
        response; /* of INDEX, and of a BROADCAST_BLOCK that is packed; for the owner to free */
    /* Loop's thread, once; must not block. error.code OK: the bytes are there. */
    void (*done)(struct fetch_request *r);
    void *arg;
    struct glint_error error;
    /* The fetcher's own. */
    struct fetch_request *next;
    uint64_t id, deadline_ns;
    void *peer;
};

/* How requests get to other executors: executor/peers.h, or a test. */
struct fetcher {
    /* A list, linked by next. Any thread; never blocks. */
    void (*submit)(void *arg, struct fetch_request *first);
    void *arg;
    /* What `owner` has asked for so far ends soon, with INTERRUPTED where no answer has come. Any
     * thread; never blocks. NULL: requests end by themselves only. */
    void (*cancel)(void *arg, uint64_t owner);
};

struct fetch_input {
    uint32_t executor, map, attempt;
    const struct run *local; /* here: no fetching; else NULL */
};

struct fetch; /* of one task and shuffle */

/* `inputs` in map order is copied. *out, in the task's arena: one slice per input whose partition
 * has records, in map order, valid until fetch_close. NULL: the task's error is set; if an output
 * was not to be had FETCH_FAILED, and *out_lost is its index in `inputs`. */
struct fetch *fetch_open(struct glint_task *task, const struct fetcher *fetcher, uint64_t shuffle,
                         uint32_t partition, const struct fetch_input *inputs, uint32_t count,
                         struct run_slice **out, uint32_t *out_count, uint32_t *out_lost);
/* Which input the task's FETCH_FAILED (or SHUFFLE_CORRUPT) was about; UINT32_MAX: none. */
uint32_t fetch_lost_input(const struct fetch *f);
/* Waits for what was asked for, so that no byte arrives in memory that is gone. NULL is fine. */
void fetch_close(struct fetch *f);

#endif

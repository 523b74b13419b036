/* Fetches data that is too large for one request, in chunks, with several requests in flight. Loop
 * thread only. */
#ifndef GLINT_TRANSFER_CHUNKED_FETCH_H
#define GLINT_TRANSFER_CHUNKED_FETCH_H

#include "engine/transfer/fetcher.h"

#define CHUNKED_FETCH_REQUESTS 8u /* in flight at a time */

/* The caller's memory, zeroed, until `done`. */
struct chunked_fetch {
    /* Set by the caller. */
    struct fetcher fetcher; /* its `submit` is called on the loop's thread */
    uint32_t executor;
    struct get_request get; /* kind and id of data that is served in ranges; size: all its bytes */
    uint8_t *into;          /* get.size bytes */
    /* Called once, when nothing is in flight. error.code OK: all bytes have arrived; else the error
     * of the first request that failed. May free the fetch. */
    void (*done)(struct chunked_fetch *f);
    void *arg;
    struct glint_error error;
    /* Private. */
    uint64_t requested; /* bytes */
    uint32_t in_flight;
    struct fetch_request requests[CHUNKED_FETCH_REQUESTS];
};

/* `done` may be called before this returns. */
void chunked_fetch_start(struct chunked_fetch *f);

#endif

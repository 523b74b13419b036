/* A request for bytes of another process, and the interface of what sends it: a connection
 * or the connections to all peers (fetch_client.h), or a test. */
#ifndef GLINT_TRANSFER_FETCHER_H
#define GLINT_TRANSFER_FETCHER_H

#include "engine/transfer/wire_fetch.h"

/* One request. The fetcher owns it from `submit` until it calls `done`; then the submitter does. */
struct fetch_request {
    uint32_t executor; /* its id, given by the driver, or EXECUTOR_ID_DRIVER */
    uint64_t owner;    /* for `cancel`: the attempt_id of the task; 0: of no task */
    struct get_request get;
    uint8_t *into; /* MAP_OUTPUT, BROADCAST_BLOCK, RESULT: exactly get.size bytes. INDEX: NULL */
    /* Of INDEX and of a compressed BROADCAST_BLOCK. The submitter frees it. */
    struct buffer response;
    /* Called once, on the loop's thread; must not block. If error.code is OK, the bytes have
     * arrived. */
    void (*done)(struct fetch_request *r);
    void *arg; /* the submitter's */
    struct glint_error error;
    struct fetch_request *next; /* of the list for `submit`; then private to the fetcher */
};

struct fetcher {
    /* `first` is a list linked by next. Never blocks. Any thread, except for a fetch_client. */
    void (*submit)(void *arg, struct fetch_request *first);
    void *arg;
    /* Ends the requests that `owner` has submitted so far: `done` is called soon, with INTERRUPTED
     * if no response has arrived. Later requests are not affected. Any thread; never blocks. NULL:
     * not supported, requests end at their deadline. */
    void (*cancel)(void *arg, uint64_t owner);
};

#endif

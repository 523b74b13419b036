/* Sends one request to every executor daemon of a cluster, concurrently. */
#ifndef GLINT_CLI_CLUSTER_REQUEST_H
#define GLINT_CLI_CLUSTER_REQUEST_H

#include "engine/glint.h"
#include "engine/net/cluster.h"
#include "engine/net/frame.h"

/* Exactly one of the two callbacks is called per executor, on the calling thread. */
struct cluster_request {
    const struct cluster *cluster;
    enum frame_type request_type, response_type;
    struct glint_slice payload; /* of the request */
    /* The response of one daemon; the payload is borrowed. Returns 0, or a code with *error set,
     * which then counts as a failure of that daemon. */
    int (*responded)(void *arg, uint32_t executor, const struct frame *f,
                     struct glint_slice payload, struct glint_error *error);
    /* Called instead if there is no valid response. */
    void (*failed)(void *arg, uint32_t executor, const struct glint_error *why);
    void *arg;
};

/* Returns when all daemons have responded or failed; each has connect_ms. Returns 0, or a code with
 * *error set if no request was sent. */
int cluster_request_send(const struct cluster_request *request, struct glint_error *error);

#endif

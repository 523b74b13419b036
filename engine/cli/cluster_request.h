/* One question to every daemon of a cluster, all at once. */
#ifndef GLINT_CLI_CLUSTER_REQUEST_H
#define GLINT_CLI_CLUSTER_REQUEST_H

#include "engine/glint.h"
#include "engine/net/cluster.h"
#include "engine/net/frame.h"

struct cluster_request {
    const struct cluster *cluster;
    enum frame_type request_type, response_type;
    struct glint_slice payload; /* of the question */
    /* The answer of one daemon; the payload is borrowed. 0, or a code with *error set: it counts as
     * none. */
    int (*responded)(void *arg, uint32_t executor, const struct frame *f,
                     struct glint_slice payload, struct glint_error *error);
    /* Instead: why there is none. Each executor gets one of the two, once. */
    void (*failed)(void *arg, uint32_t executor, const struct glint_error *why);
    void *arg;
};

/* Returns when all have answered, or connect_ms are over for those that have not. 0, or a code with
 * *error set: nobody was asked. */
int cluster_request_send(const struct cluster_request *request, struct glint_error *error);

#endif

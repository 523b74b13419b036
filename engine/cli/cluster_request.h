/* Sends one request to every executor daemon of a cluster, concurrently. */
#ifndef GLINT_CLI_CLUSTER_REQUEST_H
#define GLINT_CLI_CLUSTER_REQUEST_H

#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/net/cluster.h"
#include "engine/net/frame.h"

struct cluster_request {
    const struct cluster *cluster;
    enum frame_type request_type, response_type;
    struct glint_slice payload; /* of the request */
};

/* The response of one executor daemon, or why there is none. */
struct cluster_response {
    struct buffer payload;
    struct glint_error why; /* code OK: it has responded */
};

/* Returns when all daemons have responded or failed; each has connect_ms. Sets *out to an array
 * [executor_count], for cluster_responses_free. Returns 0, or a code with *error set and *out NULL
 * if no request was sent. */
int cluster_request_send(const struct cluster_request *request, struct cluster_response **out,
                         struct glint_error *error);
/* `responses` may be NULL. */
void cluster_responses_free(struct cluster_response *responses, const struct cluster *cluster);

#endif

/* A network of executors that fetch broadcast values from a driver and from one another, without
 * sockets: the real tracker and the real values, and queues instead of connections.
 *
 * One thread, the caller of net_step, is the loop of all of them; slots may wait in values_get on
 * others. Faults are drawn from a seed. */
#ifndef TESTS_SUPPORT_VALUES_NET_H
#define TESTS_SUPPORT_VALUES_NET_H

#include "engine/driver/tracker.h"
#include "engine/executor/values.h"

#include <pthread.h>

#define NET_NODES_MAX 16u

struct net_letter; /* a message on its way, or a request */

struct values_net;
struct net_node {
    struct values_net *net;
    uint32_t number;
    struct values *values;
    struct fetcher fetcher;
    bool mute; /* its TRACKs cannot be sent */
};

struct values_net {
    struct glint_slice value; /* the driver's own */
    uint64_t id, random;
    uint32_t node_count;
    struct net_node nodes[NET_NODES_MAX];
    struct tracker *tracker;
    struct net_letter *first, *last;
    /* Shares of 256 of the requests that end otherwise. */
    unsigned fail_share, corrupt_share;
    bool corrupt_always; /* whoever sends */
    uint64_t driver_blocks, peer_blocks, failures;
    uint32_t requests_out, requests_most; /* of all nodes */
};

void net_open(struct values_net *net, uint32_t nodes, uint64_t id, struct glint_slice value,
              uint64_t fetch_ms, uint64_t seed);
/* Delivers one message or request. False: none is on its way. */
bool net_step(struct values_net *net);
/* Everything on its way fails or is dropped. */
void net_close(struct values_net *net);

#endif

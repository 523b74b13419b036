/* A network of executors that fetch broadcast values from a driver and from one another, without
 * sockets: the real tracker and the real values, and queues instead of connections.
 *
 * One thread, the caller of net_step, is the loop of all of them; slots may wait in
 * broadcast_client_wait on others. Faults are drawn from a seed. */
#ifndef TESTS_SUPPORT_BROADCAST_NET_H
#define TESTS_SUPPORT_BROADCAST_NET_H

#include "engine/driver/broadcast_tracker.h"
#include "engine/executor/broadcast_client.h"

#include <pthread.h>

#define NET_NODES_MAX 16u

struct net_packet; /* a message on its way, or a request */

struct broadcast_net;
struct net_node {
    struct broadcast_net *net;
    uint32_t number;
    struct broadcast_client *broadcasts;
    struct fetcher fetcher;
    bool mute; /* its TRACKs cannot be sent */
};

struct broadcast_net {
    struct glint_slice value; /* the driver's own */
    uint64_t id, random;
    uint32_t node_count;
    struct net_node nodes[NET_NODES_MAX];
    struct tracker *tracker;
    struct net_packet *first, *last;
    /* Shares of 256 of the requests that end otherwise. */
    unsigned fail_share, corrupt_share;
    bool corrupt_always; /* whoever sends */
    uint64_t driver_blocks, peer_blocks, failures;
    uint32_t requests_out, requests_most; /* of all nodes */
};

void net_open(struct broadcast_net *net, uint32_t nodes, uint64_t id, struct glint_slice value,
              uint64_t fetch_ms, uint64_t seed);
/* Delivers one message or request. False: none is on its way. */
bool net_step(struct broadcast_net *net);
/* Everything on its way fails or is dropped. */
void net_close(struct broadcast_net *net);

#endif

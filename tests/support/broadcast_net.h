/* A simulated network of executors that fetch broadcast values from a driver and from each other:
 * the real tracker and broadcast clients, with queues instead of connections.
 *
 * The thread that calls net_step is the loop of all nodes; slots may wait in broadcast_client_wait
 * on other threads. Faults are drawn from a seed. */
#ifndef TESTS_SUPPORT_BROADCAST_NET_H
#define TESTS_SUPPORT_BROADCAST_NET_H

#include "engine/transfer/broadcast.h"

#include <pthread.h>

#define NET_NODES_MAX 16u

struct net_packet; /* a message or request in transit */

struct broadcast_net;
struct net_node {
    struct broadcast_net *net;
    uint32_t number;
    struct broadcast_client *broadcasts;
    struct fetcher fetcher;
    bool disconnected; /* cannot send BLOCK_REQUEST */
    bool dialling;     /* cannot yet */
};

struct broadcast_net {
    struct glint_slice value; /* the driver's copy */
    uint64_t id, random;
    uint32_t node_count;
    struct net_node nodes[NET_NODES_MAX];
    struct tracker *tracker;
    struct net_packet *first, *last;
    /* How many of 256 requests fail or are corrupted. */
    unsigned fail_share, corrupt_share;
    bool corrupt_always; /* from any sender */
    uint64_t driver_blocks, peer_blocks, failures;
    uint32_t requests_out, requests_most; /* of all nodes: now, maximum */
};

void net_open(struct broadcast_net *net, uint32_t nodes, uint64_t id, struct glint_slice value,
              uint64_t fetch_ms, uint64_t seed);
/* Delivers one message or request. Returns false if none is in transit. */
bool net_step(struct broadcast_net *net);
/* Fails requests in transit and drops messages. */
void net_close(struct broadcast_net *net);

#endif

/* Shared by the files of the fake cluster. */
#ifndef TESTS_SUPPORT_FAKE_NODES_H
#define TESTS_SUPPORT_FAKE_NODES_H

#include "engine/net/listener.h"
#include "engine/net/wire.h"
#include "tests/support/fake_cluster.h"

#include <pthread.h>

struct node;

#define BLOCKS_MAX 16u

struct process {
    struct node *node;
    struct net net;
    struct tls_context *tls; /* with the key of the job; NULL: a node that dials, or without TLS */
    struct conn *control, *data;
    bool ignores_messages, received_job;
    unsigned opened; /* connections */
    bool start_pending; /* start it when the connections of the old one have closed */
    uint64_t value_id, value_size;
    uint8_t *value, *arriving;
    uint64_t checksums[BLOCKS_MAX]; /* of the value's blocks, from BLOCK_ASSIGN */
    uint32_t blocks_left;
};

struct node {
    struct fake_cluster *cluster;
    struct fake_node *spec;
    struct net net;
    struct listener *listener;
    struct conn *driver; /* connection of the driver to the daemon */
    struct executor_request request;
    struct process process;
};

struct act {
    struct act *next;
    struct node *node;
    enum fake_act act;
    int value;
};

struct fake_cluster {
    uv_loop_t loop;
    uv_async_t wakeup;
    uv_timer_t heartbeat_timer;
    pthread_t thread;
    pthread_mutex_t lock;
    struct act *acts;
    bool stop, stopping;
    struct tls_context *tls, *other_tls;
    struct node nodes[FAKE_NODES_MAX];
    uint32_t count;
    uint16_t driver_port;
    uint8_t *result;
    uint64_t result_bytes;
};

/* Exits the process if not `ok`: a fake cannot report an error. */
void check_or_exit(bool ok, const char *what);
void send_or_exit(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload);

/* fake_process.c */
extern const struct conn_events process_events;
/* fake_cluster.c */
void process_dial_again(struct process *p);
void process_exited(struct process *p);

#endif

/* Executors that only serve map outputs, and one that fetches them: real connections over loopback,
 * all in one loop; slots are threads that fetch. No test library: plain programs use it too. */
#ifndef TESTS_SUPPORT_BLOCK_PLANE_H
#define TESTS_SUPPORT_BLOCK_PLANE_H

#include "engine/executor/fetch_server.h"
#include "engine/executor/peers.h"
#include "engine/executor/store.h"
#include "engine/net/listener.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/test_task.h"

enum { PLANE_SERVERS = 3, PLANE_SLOTS_MAX = 4, PLANE_MAPS = 24, PLANE_PARTITIONS = 4 };
#define PLANE_SHUFFLE 9

enum plane_fault {
    PLANE_FINE,
    PLANE_CUTS_ONCE, /* the GET of number fault_at ends its connection */
    PLANE_CUTS,      /* likewise every later one */
    PLANE_TEARS,     /* from fault_at on an answer begins, and the connection ends in it */
    PLANE_STRAY,     /* before the answer to fault_at comes DATA for a request that there is not */
    PLANE_SILENT,    /* from fault_at on nothing is answered */
};

struct plane;

struct plane_server {
    struct plane *plane;
    uint32_t number; /* executor number + 1 in the driver's eyes: from 1 */
    struct net net;
    struct store *store;
    struct fetch_server *serve;
    struct listener *listener;
    enum plane_fault fault;
    uint64_t fault_at, gets;
    uint32_t conns;
};

struct plane_slot {
    struct plane *plane;
    pthread_t thread;
    struct test_task t;
    atomic_bool cancel;
    struct fetch_input inputs[PLANE_MAPS];
    uint32_t partition;
    struct seen seen;
    int result;
    uint32_t lost;
};

struct plane {
    uv_loop_t loop;
    uv_async_t woken;
    struct net net; /* of the one that fetches */
    struct tls_context *tls;
    struct peers *peers;
    struct fetcher fetcher;
    bool peers_closed;
    struct plane_server servers[PLANE_SERVERS];
    struct test_task t; /* has made the runs */
    const struct run *runs[PLANE_MAPS];
    struct plane_slot slots[PLANE_SLOTS_MAX];
    uint32_t slot_count;
    atomic_uint running;
    struct seen expected[PLANE_PARTITIONS];
    uint32_t wrong_map; /* tasks ask for an attempt of it that is not there; UINT32_MAX: none */
};

/* Half of the map outputs are files, the rest in memory. False: something could not be had. */
bool plane_open(struct plane *p, bool tls, uint64_t fetch_ms, uint32_t value_bytes);
/* The slots fetch one partition each; `here` of 8 inputs are local. */
void plane_start(struct plane *p, uint32_t slots, uint64_t seed, uint32_t here);
/* The loop, until all slots are through. */
void plane_run(struct plane *p);
/* As plane_run, but peers are closed when half of what was expected has been served. */
void plane_close_peers(struct plane *p);
/* Slots whose bytes were right. */
uint32_t plane_right(const struct plane *p);
/* False: something was left. */
bool plane_close(struct plane *p);

#endif

/* Executors that only serve map outputs, and one that fetches them: real connections over loopback
 * in one loop; each slot is a thread that fetches. Does not need the test library, so that plain
 * programs can use it. */
#ifndef TESTS_SUPPORT_BLOCK_PLANE_H
#define TESTS_SUPPORT_BLOCK_PLANE_H

#include "engine/executor/store.h"
#include "engine/net/listener.h"
#include "engine/transfer/fetch_client.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/test_task.h"

enum { PLANE_SERVERS = 3, PLANE_SLOTS_MAX = 4, PLANE_MAPS = 24, PLANE_PARTITIONS = 4 };
#define PLANE_SHUFFLE 9

enum plane_fault {
    PLANE_FINE,
    PLANE_CLOSES_ONCE, /* GET number fault_at closes its connection */
    PLANE_CLOSES,      /* so does every later one */
    PLANE_TRUNCATES,   /* from fault_at on the connection closes in the middle of a response */
    PLANE_STRAY,       /* before the response to GET fault_at comes DATA for an unknown request */
    PLANE_SILENT,      /* from fault_at on there is no response */
};

struct plane;

struct plane_server {
    struct plane *plane;
    uint32_t number; /* the driver's executor number + 1 */
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
    struct net net; /* of the executor that fetches */
    struct tls_context *tls;
    struct peers *peers;
    struct fetcher fetcher;
    bool peers_closed;
    struct plane_server servers[PLANE_SERVERS];
    struct test_task t; /* created the runs */
    const struct run *runs[PLANE_MAPS];
    struct plane_slot slots[PLANE_SLOTS_MAX];
    uint32_t slot_count;
    atomic_uint running;
    struct seen expected[PLANE_PARTITIONS];
    uint32_t wrong_map; /* map task of which a wrong attempt is requested; UINT32_MAX: none */
};

/* Half of the map outputs are files, the others are in memory. Returns false if a resource
 * is missing. */
bool plane_open(struct plane *p, bool tls, uint64_t fetch_ms, uint32_t value_bytes);
/* Each slot fetches one partition; `here` of 8 inputs are local. */
void plane_start(struct plane *p, uint32_t slots, uint64_t seed, uint32_t here);
/* Runs the loop until all slots have finished. */
void plane_run(struct plane *p);
/* As plane_run, but closes the peers when half of the expected requests have been served. */
void plane_close_peers(struct plane *p);
/* The number of slots that fetched the right bytes. */
uint32_t plane_right(const struct plane *p);
/* Returns false if a resource was not freed. */
bool plane_close(struct plane *p);

#endif

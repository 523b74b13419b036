/* A cluster in one thread: the real driver, scheduler, commit, liveness, store and pipelines, over
 * a simulated clock, network and disks. One seed decides everything, so a run that fails can be
 * replayed.
 *
 *   world.c      clock, events, random numbers, files that fail
 *   network.c    links between the driver and executors: FIFO each, with latency, cuts, duplicates
 *   executors.c  processes on nodes: slots, tasks, fetching from one another, dying, coming back
 *   transport.c  the driver's side: a struct transport whose `wait` lets the events happen
 *   faults.c     what goes wrong, and when
 *   main.c       seeds, jobs, and what must hold at the end */
#ifndef GLINT_TESTS_SIM_H
#define GLINT_TESTS_SIM_H

#include "engine/driver/driver.h"
#include "engine/executor/attempt.h"
#include "engine/net/cluster.h"
#include "engine/net/liveness.h"

#include <limits.h>

#define SECOND UINT64_C(1000000000)
#define MILLI  UINT64_C(1000000)

enum { NODES_MAX = 8, EXECUTORS_SIM_MAX = 512, FILES_MAX = 1024 };

enum event_kind {
    EVENT_MESSAGE_TO_EXECUTOR,
    EVENT_MESSAGE_TO_DRIVER,
    EVENT_PING_TO_EXECUTOR,
    EVENT_PING_TO_DRIVER,
    EVENT_TASK_ENDS,
    EVENT_LOOK,   /* both sides of a connection look at their liveness */
    EVENT_CLOSED, /* the driver notices that a connection has ended */
    EVENT_GONE,   /* the executor notices it */
    EVENT_JOIN,   /* a node's new process is ready */
    EVENT_FAULT,
};

struct event {
    uint64_t at, order;
    enum event_kind kind;
    uint32_t executor, node; /* node: JOIN only */
    struct buffer bytes;     /* a message */
    struct sim_task *task;
};

struct sim;

/* Files of one process, on a disk that can be full. */
struct sim_env {
    struct env env; /* first */
    struct sim *sim;
    bool full;
    int64_t clock_off_ns; /* of the wall clock */
};

struct sim_task {
    struct sim_task *next;
    struct message *message;
    bool killed, started;
};

struct sim_executor {
    uint32_t number, node;
    bool alive;     /* the process */
    bool connected; /* as the driver sees it */
    struct store *store;
    struct executor_config config;
    struct sim_env env;
    char work_dir[PATH_MAX];
    struct sim_task *tasks; /* received and not ended, oldest first */
    uint32_t busy;
    bool cancel;
    uint64_t attempts;
    atomic_bool cancel_flag;
    atomic_uint_fast64_t run_memory;
    uint64_t last_to_driver, last_to_executor; /* delivery times: links are FIFO */
    struct liveness seen_by_driver, seen_by_executor;
};

struct sim_node {
    uint32_t slots;
    uint64_t paused_until;               /* SIGSTOP */
    uint64_t cut_to_driver, cut_to_node; /* until then nothing gets through */
    uint64_t cut_peer[NODES_MAX];        /* from this node to that one */
    uint64_t slow;                       /* tasks take so many times longer */
    bool disk_full;
    bool starting, gone; /* a process is on its way; the node never comes back */
};

struct sim_options {
    bool trace;
};

struct sim_counts {
    uint32_t crashes, stops, cuts, peer_cuts, duplicates, drops, flips, full_disks, slow_nodes,
        jumps;
    uint32_t joins, losses, tasks, fetch_failures;
};

struct sim {
    struct sim_options options;
    uint64_t random;
    uint64_t now, order, end_of_faults;
    struct event *events; /* a heap */
    uint32_t event_count, event_capacity;
    uint32_t node_count;
    struct sim_node nodes[NODES_MAX];
    struct sim_executor *executors[EXECUTORS_SIM_MAX];
    uint32_t executor_count;
    struct sim_env driver_env;
    bool shared_disk[FILES_MAX];
    struct glint_config config;
    struct cluster cluster;
    struct driver *driver;
    struct glint *g;
    bool heard; /* something has reached the driver */
    bool deserted;
    unsigned faults; /* bits: which kinds this seed has */
    char folder[PATH_MAX];
    struct sim_counts counts;
};

/* world.c */
uint64_t sim_random(struct sim *s, uint64_t below);
bool sim_chance(struct sim *s, uint32_t one_in);
void sim_env_init(struct sim_env *env, struct sim *s);
void sim_push(struct sim *s, struct event event);
bool sim_pop(struct sim *s, uint64_t until, struct event *out);
void sim_drop_events(struct sim *s);
void sim_trace(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* network.c */
/* Takes the message. */
void net_to_executor(struct sim *s, struct sim_executor *e, struct message *m);
void net_to_driver(struct sim *s, struct sim_executor *e, struct message *m);
void net_ping(struct sim *s, struct sim_executor *e, bool to_driver);
/* The connection ends: each side notices when the network lets it. */
void net_close(struct sim *s, struct sim_executor *e);
bool net_peer_open(struct sim *s, uint32_t from, uint32_t to);
void net_forget(struct sim *s, uint32_t executor);

/* executors.c */
void executor_join(struct sim *s, uint32_t node);
void executor_receives(struct sim *s, struct sim_executor *e, struct message *m);
void executor_task_ends(struct sim *s, struct sim_executor *e, struct sim_task *task);
/* The process ends; its node starts another one after a while, if it can. */
void executor_dies(struct sim *s, struct sim_executor *e, const char *why);
void executors_destroy(struct sim *s);

/* transport.c */
int transport_start(struct sim *s, struct glint *g);
void transport_happens(struct sim *s, struct event *event);

/* faults.c */
void faults_begin(struct sim *s);
void faults_happen(struct sim *s);

#endif

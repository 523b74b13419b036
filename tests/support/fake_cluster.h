/* Fake daemons and executor processes for tests of a driver, in one thread of the test's process:
 * real connections and frames over loopback, but no tasks are run. Each node responds as
 * configured, also wrongly; fake_do changes its behaviour later. */
#ifndef TESTS_SUPPORT_FAKE_CLUSTER_H
#define TESTS_SUPPORT_FAKE_CLUSTER_H

#include "engine/net/cluster.h"
#include "engine/net/secret.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FAKE_NODES_MAX 16u

enum fake_result {
    FAKE_SMALL,    /* inline: eight bytes, the task number */
    FAKE_LARGE,    /* `result_bytes`, to be fetched */
    FAKE_LOST,     /* as FAKE_LARGE, but the bytes are lost */
    FAKE_SHORT,    /* responds with fewer bytes than requested */
    FAKE_DAMAGED,  /* bytes that do not match the checksum */
    FAKE_HUGE,     /* claims a result over the limit of any job */
    FAKE_SILENT,   /* never responds to a GET */
    FAKE_NONSENSE, /* a message that does not parse */
};

/* A daemon and, once requested, its executor process. Set before fake_start. */
struct fake_node {
    const char *name;
    uint32_t slots;
    uint32_t queue;      /* number of QUEUED before it starts an executor */
    bool never_starts;   /* and never starts an executor */
    bool port_closed;    /* its port is closed */
    bool dials;          /* no daemon: a process that dials `driver_port` */
    const char *build;   /* NULL: this program's */
    const char *cluster; /* NULL: the driver's */
    bool other_secret;   /* has a different secret */
    bool no_heartbeat;   /* sends no heartbeat after REGISTER */
    bool never_ready;    /* never sends REGISTER */
    bool never_connects; /* its process never connects to the driver */
    enum fake_result result;
    uint64_t result_bytes;
    /* Counts of received frames and events; any thread. */
    atomic_uint executor_requests, joined, jobs, peers, tasks, releases, pings, cancels, ends;
    atomic_uint daemon_pings;    /* `pings` counts those to the process */
    atomic_uint leaves;          /* the driver closed its connection to the daemon */
    atomic_uint_fast64_t number; /* JOB's id */
    atomic_uint values;          /* complete broadcasts with the right bytes (i * 31 + id) */
    uint16_t port;               /* of the daemon, set by fake_start; > 0: use this one */
};

struct fake_cluster;
/* Opens the ports; the nodes respond after fake_cluster_run. `secrets` NULL: without TLS.
 * `driver_port`: for nodes that dial. Exits the process on failure. */
struct fake_cluster *fake_start(struct fake_node *nodes, uint32_t count, const char *name,
                                const struct secrets *secrets, uint16_t driver_port);
void fake_cluster_run(struct fake_cluster *f);
enum fake_act {
    FAKE_CLOSE,            /* the process's connections close; the daemon sends nothing */
    FAKE_DIE,              /* they close, and the daemon sends the wait status `value` */
    FAKE_STOP_HEARTBEAT,   /* no more heartbeats or responses */
    FAKE_RESUME_HEARTBEAT, /* heartbeats again */
    FAKE_DRAIN,            /* the process sends DRAIN */
    FAKE_CANCEL,           /* the daemon sends CANCEL */
    FAKE_DAEMON_ENDS,      /* the daemon's connection and port close */
    FAKE_DAEMON_STARTS,    /* a daemon with port_closed opens its port */
    FAKE_BAD_FRAME,        /* the process sends a frame that only a daemon may send */
    FAKE_QUEUED,           /* the daemon sends QUEUED with position `value` */
    FAKE_START_EXECUTOR,   /* the daemon starts the requested executor */
    FAKE_PROGRAM_REQUEST,  /* the daemon asks for the driver's program */
    FAKE_STARTED,          /* the daemon sends EXECUTOR_STARTED */
    FAKE_BAD_EXIT,         /* the daemon sends an EXECUTOR_EXITED that does not parse */
};
void fake_do(struct fake_cluster *f, uint32_t node, enum fake_act act, int value);
/* After fake_cluster_run. */
void fake_stop(struct fake_cluster *f);

#endif

/* Daemons and executor processes as a driver sees them, in one thread of the test's process: real
 * connections and frames over loopback, and nothing behind them. Each answers as it was told, also
 * wrongly; what happens to it later is told by fake_do. */
#ifndef TESTS_SUPPORT_FAKE_CLUSTER_H
#define TESTS_SUPPORT_FAKE_CLUSTER_H

#include "engine/net/cluster.h"
#include "engine/net/secret.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FAKE_NODES_MAX 16u

enum fake_result {
    FAKE_SMALL,    /* a body of its own: eight bytes, the task's number */
    FAKE_LARGE,    /* `result_bytes`, to be fetched */
    FAKE_LOST,     /* likewise, but the bytes are gone */
    FAKE_SHORT,    /* answers with fewer bytes than were asked for */
    FAKE_DAMAGED,  /* other bytes than its checksum says */
    FAKE_HUGE,     /* says that it has more than any job may answer */
    FAKE_SILENT,   /* never answers a GET */
    FAKE_NONSENSE, /* a message that does not parse */
};

/* One daemon and, once it is asked, its process. Set before fake_start. */
struct fake_node {
    const char *name;
    uint32_t slots;
    uint32_t queue;      /* so many QUEUED before it admits, counting down */
    bool never_starts;   /* and never admits */
    bool port_closed;    /* its port is closed */
    bool dials;          /* no daemon: a process that dials `driver_port` */
    const char *build;   /* NULL: this program's */
    const char *cluster; /* NULL: the driver's */
    bool other_secret;   /* knows another one */
    bool no_heartbeat;   /* after REGISTER it gives no sign of life */
    bool never_ready;    /* it does not say REGISTER */
    enum fake_result result;
    uint64_t result_bytes;
    /* What it saw; any thread. */
    atomic_uint executor_requests, joined, jobs, peers, tasks, releases, pings, cancels, ends;
    atomic_uint daemon_pings;    /* `pings` are those to the process */
    atomic_uint leaves;          /* the driver closed its connection to the daemon */
    atomic_uint_fast64_t number; /* JOB's id */
    atomic_uint values;          /* broadcasts that it has whole, bytes checked (i * 31 + id) */
    uint16_t port;               /* of the daemon, once started; or keep it: > 0 */
};

struct fake_cluster;
/* `secrets` NULL: without TLS. `driver_port`: for nodes that dial. Ends the process when it cannot.
 */
struct fake_cluster *fake_start(struct fake_node *nodes, uint32_t count, const char *name,
                                const struct secrets *secrets, uint16_t driver_port);
enum fake_act {
    FAKE_CLOSE,            /* the process's connections end, the daemon says nothing */
    FAKE_DIE,              /* they end, and the daemon says with which wait status: `value` */
    FAKE_STOP_HEARTBEAT,   /* no more signs of life, nothing is answered */
    FAKE_RESUME_HEARTBEAT, /* signs of life again */
    FAKE_DRAIN,            /* it wants no more tasks */
    FAKE_CANCEL,           /* the daemon passes on that somebody wants the job to end */
    FAKE_DAEMON_ENDS,      /* the daemon's connection ends, its port closes */
    FAKE_DAEMON_STARTS,    /* one that stays away opens its port */
    FAKE_BAD_FRAME,        /* the process sends what only a daemon may send */
    FAKE_QUEUED,           /* the daemon, asked before, says that the job is at place `value` */
    FAKE_START_EXECUTOR,   /* the daemon, asked before, gives the driver a process */
};
void fake_do(struct fake_cluster *f, uint32_t node, enum fake_act act, int value);
void fake_stop(struct fake_cluster *f);

#endif

/* The configuration of a cluster, from cluster.toml (parsed by cli/cluster_file.h) or from
 * command-line options. Constant after loading. */
#ifndef GLINT_NET_CLUSTER_H
#define GLINT_NET_CLUSTER_H

#include "engine/limits.h"
#include "engine/net/deadline.h"

#include <stdbool.h>
#include <stddef.h>

#define CLUSTER_EXECUTORS_MAX 1024u

/* For a driver that executors cannot reach. */
#define DRIVER_HOST_HINT                                                                           \
    "set driver_host to an address of the driver's machine that its executors can connect to, "    \
    "and driver_ports to ports that are open"

/* How the driver starts executor daemons: not at all, as local processes, or over SSH. */
enum launch { LAUNCH_NONE, LAUNCH_LOCAL, LAUNCH_SSH };

/* An inclusive range of ports; zeros: the system chooses any free port. */
struct port_range {
    uint16_t first, last;
};

/* One `[[executor]]` entry: an executor daemon. */
struct cluster_executor {
    const char *id;
    const char *host;
    uint16_t port;
    uint32_t slots;        /* of the daemon; each driver's executor gets 1/drivers_max */
    uint64_t memory_bytes; /* as slots */
    const char *work_dir;  /* parent directory; NULL: $TMPDIR or /tmp */
};

struct cluster {
    /* What executors run, if the driver is embedded in a program that is no glint: the path and the
     * build of a glint command; both NULL: the driver's own program. */
    const char *program, *program_build;
    const char *path;        /* of the file; NULL: from options only (--listen) */
    const char *name;        /* the cluster id */
    const char *secret_file; /* NULL: the user's default secret, loopback only */
    bool insecure_plaintext;
    bool allow_programs; /* daemons may fetch and run a program of another build from a driver */
    bool allow_commands; /* tasks may run commands (glint_pipe) */
    const char *python;  /* the interpreter of Python's workers; NULL: python3 in $PATH */
    enum launch launch;
    const char *const *launch_command; /* LAUNCH_SSH: argv; {host}, {id}, {config} are replaced */
    /* NAME=value pairs that pass command-line options on to launched daemons through their
     * environment; NULL-terminated; NULL: none. */
    const char *const *launch_variables;
    const char *log_dir;    /* for launched executor daemons */
    uint64_t log_bytes_max; /* per log file */
    uint32_t drivers_max;
    struct port_range ports; /* that executor processes listen on */
    /* The address that executors use to connect to the driver. NULL: the local address of the
     * driver's connection to each daemon. */
    const char *driver_host;
    struct port_range driver_ports; /* that the driver listens on */
    struct liveness_limits heartbeat;
    uint64_t connect_ms; /* from dialling or accepting to an open connection */
    uint64_t start_ms;   /* longest wait for executors, at the start or after losing all */
    uint64_t drain_ms;
    uint64_t fetch_ms; /* per request, without progress */
    uint32_t executor_count;
    struct cluster_executor *executors;
    /* submit --listen HOST:PORT --executors N: the driver listens, and executors connect to it.
     * NULL: the driver connects to the daemons. */
    const char *listen_host;
    uint16_t listen_port;
    uint32_t executors_min; /* before the first task starts; 0: 1 */
    bool speculate;
};

#endif

/* A cluster as its file describes it (cluster.toml; read by cli/cluster_file.h). Constant once
 * read.
 */
#ifndef GLINT_NET_CLUSTER_H
#define GLINT_NET_CLUSTER_H

#include "engine/limits.h"
#include "engine/net/liveness.h"

#include <stdbool.h>
#include <stddef.h>

#define CLUSTER_EXECUTORS_MAX 1024u

enum launch { LAUNCH_NONE, LAUNCH_LOCAL, LAUNCH_SSH };

/* Zeros: any, which the system chooses. */
struct port_range {
    uint16_t first, last;
};

struct cluster_executor {
    const char *id;
    const char *host;
    uint16_t port;
    uint32_t slots;        /* of the daemon, divided by drivers_max */
    uint64_t memory_bytes; /* likewise */
    const char *work_dir;  /* parent; NULL: $TMPDIR or /tmp */
};

struct cluster {
    const char *path;        /* of the file; NULL: made from options (--listen) */
    const char *name;        /* the cluster id */
    const char *secret_file; /* NULL: the user's own, loopback only */
    bool insecure_plaintext;
    enum launch launch;
    const char *const *launch_command; /* LAUNCH_SSH: argv; {host}, {id}, {config} are replaced */
    /* NAME=value of what options said, which started executors take from their environment; ends
     * with NULL; NULL: none. */
    const char *const *launch_variables;
    const char *log_dir;    /* of launched executors */
    uint64_t log_bytes_max; /* per log file */
    uint32_t drivers_max;
    struct port_range ports; /* that processes for jobs listen on */
    struct liveness_limits heartbeat;
    uint64_t connect_ms; /* of one connection */
    uint64_t start_ms;   /* until the first executor is there */
    uint64_t drain_ms;
    uint64_t fetch_ms; /* of one request without progress */
    uint32_t executor_count;
    struct cluster_executor *executors;
    /* submit --listen HOST:PORT --executors N: waits for executors that dial. NULL: dials itself.
     */
    const char *listen_host;
    uint16_t listen_port;
    uint32_t executors_min; /* wait for so many before the first task; 0: for one */
    bool speculate;
};

#endif

/* An executor process: runs one driver's tasks, serves blocks, and ends with its driver.
 *
 * Started by a daemon (for one driver; a pipe at descriptor CONTROL_PIPE_FD brings its
 * configuration, takes back its port, and tells by its end that the daemon is gone), or alone by
 * `glint executor
 * --join HOST:PORT`, which dials a driver that waits. One libuv loop: the gate, the control
 * connection, data connections, peers (peers.h), serving (fetch_server.h), signs of life. Slots are
 * threads of executor.h.
 *
 *   control connection: REGISTER -> driver; JOB, EXECUTOR_ADDED, MESSAGE <- driver; MESSAGE (DONE,
 * FAILED), DRAIN data connections:   GET, BLOCK_REQUEST and answers, any side
 *
 * The driver is gone when its control connection ends or is silent for dead_ns: tasks are
 * cancelled, everything in the work directory is removed, the process ends with 0. SIGTERM drains:
 * DRAIN to the driver, running tasks end, map outputs are served for as long as the driver wants
 * them, at most drain_ms. */
#ifndef GLINT_EXECUTOR_EXECUTOR_PROCESS_H
#define GLINT_EXECUTOR_EXECUTOR_PROCESS_H

#include "engine/net/cluster.h"
#include "engine/net/conn.h"
#include "engine/plan/progress.h"

#define CONTROL_PIPE_FD 3

struct executor_process_config {
    const struct glint_config *registry; /* operators and functions; borrowed */
    struct env *env;
    const char *cluster, *node;
    const char *secret_file; /* NULL: the user's own */
    bool insecure_plaintext;
    const char *host; /* to listen on */
    uint16_t port;    /* 0: one of `ports` */
    struct port_range ports;
    uint32_t slots;
    uint64_t memory_bytes;
    const char *work_dir;
    struct liveness_limits heartbeat;
    uint64_t connect_ms, fetch_ms, drain_ms, start_ms;
    const char *join_host; /* --join; NULL: started by a daemon */
    uint16_t join_port;
    bool log_json;
    uint64_t log_bytes_max; /* of the file that standard error is; 0: no bound */
};

/* Runs to the end. Answers GLINT_OK or the code of why it could not serve, with *error set. */
int executor_process_run(const struct executor_process_config *config, struct glint_error *error);
/* The process that a daemon spawns: reads its configuration from CONTROL_PIPE_FD. An exit status.
 */
int executor_process_main(const struct glint_config *registry);

#endif

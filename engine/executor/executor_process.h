/* An executor process: runs one driver's tasks, serves blocks, and exits with its driver.
 *
 * It is spawned by an executor daemon for one driver (the control pipe at CONTROL_PIPE_FD brings
 * its configuration, returns its port, and signals by end of file that the daemon is gone), or
 * started alone by `glint executor --join HOST:PORT`, which dials a listening driver. One libuv
 * loop runs the listener, the driver's connections, peers (peers.h), the fetch server
 * (fetch_server.h) and heartbeats. Slots are threads of executor.h.
 *
 *    control connection:  driver -> executor: JOB, EXECUTOR_ADDED, MESSAGE, PING
 *                         executor -> driver: REGISTER, MESSAGE (DONE, FAILED), DRAIN, PING
 *    data connections:    GET, DATA and FETCH_ERROR both ways; BLOCK_REQUEST, BLOCK_ASSIGN
 *
 * The driver is lost when one of its connections closes or it sends nothing for dead_ns: tasks are
 * cancelled, the work directory is removed, the process exits with 0. SIGTERM drains: the executor
 * sends DRAIN, lets running tasks finish, and serves map outputs until the driver releases them, at
 * most drain_ms. */
#ifndef GLINT_EXECUTOR_EXECUTOR_PROCESS_H
#define GLINT_EXECUTOR_EXECUTOR_PROCESS_H

#include "engine/net/cluster.h"
#include "engine/net/conn.h"
#include "engine/plan/progress.h"

#define CONTROL_PIPE_FD 3

/* What an executor needs to start; strings are borrowed. A daemon sends it over the control pipe
 * (executor_process_config.h), --join fills it from options. */
struct executor_process_config {
    const struct glint_config *registry; /* operators and functions; borrowed */
    struct env *env;
    const char *cluster, *node;
    const char *secret_file; /* NULL: the user's default */
    bool insecure_plaintext;
    const char *host; /* address to listen on */
    uint16_t port;    /* 0: one of `ports` */
    struct port_range ports;
    uint32_t slots;
    uint64_t memory_bytes;
    const char *work_dir;
    struct liveness_limits heartbeat;
    uint64_t connect_ms, fetch_ms, drain_ms, start_ms;
    const char *join_host; /* --join; NULL: spawned by a daemon */
    uint16_t join_port;
    bool log_json;
    uint64_t log_bytes_max; /* of the log file at standard error; 0: no limit */
};

/* --join: runs until the driver is done; blocks. Returns GLINT_OK, or a code with *error set if it
 * could not serve. */
int executor_process_run(const struct executor_process_config *config, struct glint_error *error);
/* Main function of the process that a daemon spawns: reads its configuration from CONTROL_PIPE_FD
 * and runs until the driver is done. Returns the exit status. */
int executor_process_main(const struct glint_config *registry);

#endif

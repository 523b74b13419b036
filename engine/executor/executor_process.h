/* An executor process: runs one driver's tasks, serves blocks, and exits with its driver.
 *
 * It is `glint executor --join HOST:PORT`, started by a user, or by an executor daemon for one
 * driver (wire.h: the pipe between them). It connects to the driver, twice, and registers.
 * One libuv loop runs these connections, a listener for other executors, connections to them
 * (fetch_client.h), the fetch server (fetch_server.h) and heartbeats. Slots are threads of
 * executor.h.
 *
 *    control connection:  driver -> executor: JOB_KEY, JOB, EXECUTOR_ADDED, MESSAGE, PING
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

struct process_credentials;

/* What an executor needs to start, from options; strings are borrowed. */
struct executor_process_config {
    const struct context_config *registry; /* operators and functions; borrowed */
    struct env *env;
    const struct cluster *cluster; /* its keys */
    const char *node;
    const char *host; /* address to listen on */
    uint16_t port;    /* 0: one of the cluster's `ports` */
    uint32_t slots;
    uint64_t memory_bytes;
    const char *work_dir;
    const char *join_host; /* of the driver */
    uint16_t join_port;
    const struct process_credentials *from_daemon; /* NULL: started by a user, with a secret */
    bool log_json;
    uint64_t log_bytes_max; /* of the log file at standard error; 0: no limit */
};

/* A process started by a daemon: reads what the daemon gave it. Returns 0, or USAGE with *error set
 * if there is none. */
int executor_process_read_credentials(struct process_credentials *out, struct glint_error *error);
/* Runs until the driver is done; blocks. Once per program. Returns GLINT_OK, or a code with *error
 * set if it could not serve. */
int executor_process_run(const struct executor_process_config *config, struct glint_error *error);

#endif

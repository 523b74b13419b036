/* The executor daemon, `glint executor --cluster FILE --id ID`: listens on one port of a node and
 * spawns one executor process per driver.
 *
 * The daemon runs no task and parses no plan, so a job cannot crash it. It serves drivers_max
 * drivers at a time; others queue and receive their position. It spawns an executor for each
 * (executor_runner.c), sends the driver the executor's port (EXECUTOR_STARTED) and
 * later its exit (EXECUTOR_EXITED: wait status, and whether the cgroup counted an OOM kill). When a
 * driver's connection closes or misses its heartbeats the daemon stops its executor. It replies to
 * STATUS and forwards CANCEL to the job's driver. SIGTERM: no new drivers, executors drain; the
 * daemon exits when they have, at most drain_ms later.
 *
 * Prints one line to standard error when it is ready: "executor e1 ready on 127.0.0.1:7401". */
#ifndef GLINT_NODE_DAEMON_H
#define GLINT_NODE_DAEMON_H

#include "engine/base/error.h"
#include "engine/net/cluster.h"

struct daemon_config {
    const struct cluster *cluster;
    const struct cluster_executor *self; /* its [[executor]] section in the cluster file */
    bool log_json;
    /* Started by a job (--launched), not by an operator: exits if no driver connects within
     * start_ms, or dead_ns after the last one has gone, so that it does not outlive a job that was
     * killed. */
    bool launched;
};

/* Runs the daemon until it exits; blocks. Returns GLINT_OK, or a code with *error set if it could
 * not start. */
int daemon_run(const struct daemon_config *config, struct glint_error *error);

#endif

/* `glint executor --cluster FILE --id ID`: one port of one node, and a child process per driver.
 *
 * The daemon runs no task and parses no plan, so that no job can hurt it: it admits drivers_max
 * drivers (the rest queue and are told their place), starts a child for each by posix_spawn
 * (executor_process.h), tells the driver where it listens (EXECUTOR_STARTED), and how it ended
 * (EXECUTOR_EXITED: wait status, OOM kill where the cgroup says so). A driver's connection that
 * ends or is silent ends its child. Answers STATUS, passes CANCEL on to the driver's connection.
 * SIGTERM: no new drivers, children drain; ends when they have, at most drain_ms later.
 *
 * Prints one line on standard error when it is ready: "executor e1 ready on 127.0.0.1:7401". */
#ifndef GLINT_EXECUTOR_DAEMON_H
#define GLINT_EXECUTOR_DAEMON_H

#include "engine/base/error.h"
#include "engine/net/cluster.h"

struct daemon_config {
    const struct cluster *cluster;
    const char *id; /* of one of its executors */
    bool log_json;
    /* A job has started it: it ends when no driver has come for start_ms, or none is left for
     * dead_ns, so that it stays nobody's when its job is killed. */
    bool launched;
};

/* Runs to the end. Answers GLINT_OK or a code with *error set. */
int daemon_run(const struct daemon_config *config, struct glint_error *error);

#endif

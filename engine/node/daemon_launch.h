/* Starts executor daemons of cluster.toml that are unreachable, and stops them again.
 *
 * LAUNCH_LOCAL runs this program with `executor --cluster FILE --id ID`. LAUNCH_SSH runs
 * launch_command with {host}, {id} and {config} replaced, without a shell. Standard output and
 * standard error go to log_dir/ID.log. Loop thread only. */
#ifndef GLINT_NODE_DAEMON_LAUNCH_H
#define GLINT_NODE_DAEMON_LAUNCH_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/net/cluster.h"

#include <uv.h>

struct launched_daemon;

/* Starts the daemon of cluster->executors[executor]. Returns NULL with *error set on failure.
 * `ended` is called at most once, on the loop thread: when the process exits before
 * launched_daemon_stop was called. The loop frees the object after `ended` has returned. */
struct launched_daemon *launched_daemon_start(uv_loop_t *loop, struct env *env,
                                              const struct cluster *cluster, uint32_t executor,
                                              void (*ended)(void *arg, int wait_status), void *arg,
                                              struct glint_error *error);
/* The path is valid as long as `p` is. */
const char *launched_daemon_log_path(const struct launched_daemon *p);
/* Sends SIGTERM, and SIGKILL if the process still runs after `grace_ms`. The loop frees `p` when
 * the process has exited; the caller must not use it any more. Call once. */
void launched_daemon_stop(struct launched_daemon *p, uint64_t grace_ms);

#endif

/* Starting daemons that a cluster's file names and that do not answer, and ending them again.
 *
 * LAUNCH_LOCAL starts this program's own `executor --cluster FILE --id ID`; LAUNCH_SSH the words of
 * launch_command, with {host}, {id} and {config} replaced, no shell between. Standard output and
 * error go to log_dir/ID.log. Loop thread only. */
#ifndef GLINT_DRIVER_DAEMON_LAUNCH_H
#define GLINT_DRIVER_DAEMON_LAUNCH_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/net/cluster.h"

#include <uv.h>

struct launched_daemon;

/* NULL: *error set. `ended`: loop thread, once, when the process ended by itself. */
struct launched_daemon *launched_daemon_start(uv_loop_t *loop, struct env *env,
                                              const struct cluster *cluster, uint32_t executor,
                                              void (*ended)(void *arg, int wait_status), void *arg,
                                              struct glint_error *error);
const char *launched_daemon_log_path(const struct launched_daemon *p);
/* SIGTERM, and SIGKILL after `grace_ms`; freed by the loop when it has ended. */
void launched_daemon_stop(struct launched_daemon *p, uint64_t grace_ms);

#endif

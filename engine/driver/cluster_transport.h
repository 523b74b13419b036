/* The cluster transport: connects the driver to executors on other machines (driver.h) over TCP.
 *
 * A thread of its own runs a libuv loop with all connections. Heartbeats are sent and broadcasts
 * are served even while the job's code keeps the driver's thread busy. Events are queued in an
 * inbox until the driver calls transport->wait. The loop dials the daemons of cluster.toml, which
 * start executors; these connect to the driver, as do those started by users with --join
 * (cluster->listen_host). With `launch` it starts daemons that are unreachable, and stops those it
 * started.
 *
 * It calls the driver only from `wait`, on the driver's thread: driver_on_executor_added when an
 * executor has joined, driver_on_message, driver_on_executor_suspect, driver_on_executor_draining,
 * and driver_on_executor_lost once per executor, after which nothing more comes from it. Results
 * above RESULT_INLINE_BYTES_MAX are fetched before the driver sees them. BROADCAST messages above
 * BROADCAST_INLINE_BYTES_MAX are sent without their body; executors GET its blocks. */
#ifndef GLINT_DRIVER_CLUSTER_TRANSPORT_H
#define GLINT_DRIVER_CLUSTER_TRANSPORT_H

#include "engine/driver/driver.h"
#include "engine/net/cluster.h"

/* Starts the loop's thread; does not wait for executors. `cluster` is borrowed until
 * out->destroy. Returns 0, or a code with *error set: CONFIG, SYSTEM, NO_MEMORY, and those of
 * net_init and listener_open. */
int cluster_transport_create(struct glint *g, const struct cluster *cluster, struct transport *out,
                             struct glint_error *error);
/* Returns the bytes of broadcasts sent so far, after compression. Any thread. */
uint64_t cluster_transport_broadcast_bytes(const struct transport *t);

#endif

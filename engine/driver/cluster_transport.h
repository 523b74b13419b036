/* The driver's way to executors of a cluster: a transport (driver.h) over TCP.
 *
 * One thread runs a libuv loop with all connections, so that signs of life go out and broadcasts
 * are served while a job's own code keeps the driver's thread busy; what comes in waits in an inbox
 * for transport->wait. The loop dials daemons (REQUEST_EXECUTOR), or waits for executors that dial
 * (cluster->listen_host); with launch it starts daemons that do not answer, and ends what it
 * started.
 *
 * Towards the driver it calls, all in `wait`, on the driver's thread: driver_on_executor_added when
 * one is ready, driver_on_message, driver_on_executor_draining, driver_on_executor_lost once for
 * each, and nothing of an executor after that. Results above RESULT_INLINE_BYTES_MAX are fetched
 * before the driver sees them; BROADCAST messages above BROADCAST_INLINE_BYTES_MAX go out without
 * their body, whose blocks executors then GET. */
#ifndef GLINT_DRIVER_CLUSTER_TRANSPORT_H
#define GLINT_DRIVER_CLUSTER_TRANSPORT_H

#include "engine/driver/driver.h"
#include "engine/net/cluster.h"

/* Starts the loop; does not wait for executors. 0, or a code with *error set. */
int cluster_transport_create(struct glint *g, const struct cluster *cluster, struct transport *out,
                             struct glint_error *error);
/* Bytes of broadcasts that went out so far, as they travel. Any thread. */
uint64_t cluster_transport_broadcast_bytes(const struct transport *t);

#endif

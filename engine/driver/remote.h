/* The driver's way to executors of a cluster: a transport (driver.h) over TCP.
 *
 * One thread runs a libuv loop with all connections, so that signs of life go out and broadcasts
 * are served while a job's own code keeps the driver's thread busy; what comes in waits in an inbox
 * for transport->wait. The loop dials daemons (ADMIT), or waits for executors that dial
 * (cluster->listen_host); with launch it starts daemons that do not answer, and ends what it
 * started.
 *
 * Towards the driver it calls, all in `wait`, on the driver's thread: driver_on_executor when one
 * is ready, driver_on_message, driver_on_draining, driver_on_lost once for each, and nothing of an
 * executor after that. Results above RESULT_INLINE_BYTES_MAX are fetched before the driver sees
 * them; BROADCAST messages above VALUE_INLINE_BYTES_MAX go out without their body, whose blocks
 * executors then GET. */
#ifndef GLINT_DRIVER_REMOTE_H
#define GLINT_DRIVER_REMOTE_H

#include "engine/driver/driver.h"
#include "engine/net/cluster.h"

/* Starts the loop; does not wait for executors. 0, or a code with *error set. */
int remote_create(struct glint *g, const struct cluster *cluster, struct transport *out,
                  struct glint_error *error);
/* Bytes of broadcasts that went out so far, as they travel. Any thread. */
uint64_t remote_broadcast_bytes(const struct transport *t);

#endif

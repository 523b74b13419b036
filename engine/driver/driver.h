/* The driver: runs actions on executors, through a transport.
 *
 * An action becomes stages: one per shuffle that it reads, and one for the action itself. A stage
 * becomes tasks; the scheduler decides which executor runs which task. Results are passed on in
 * order of the partitions, in whatever order they arrive. The driver has no threads and no sockets:
 * the transport's `wait` calls driver_on_message and the other events. Driver thread only, except
 * driver_interrupt. */
#ifndef GLINT_DRIVER_DRIVER_H
#define GLINT_DRIVER_DRIVER_H

#include "engine/driver/transport.h"
#include "engine/plan/context.h"
#include "engine/plan/context_config.h"

/* Creates the context's driver. Takes ownership of the transport; *transport is copied. Returns
 * NULL with the context's error set; then the transport still belongs to the caller. */
struct driver *driver_create(struct glint *g, const struct transport *transport);
/* Frees it with its transport. */
void driver_destroy(struct driver *d);

/* Creates contexts; glint_finish and glint_destroy end them. */

/* Returns NULL with *error set. */
struct glint *context_create(const struct context_config *config, struct glint_error *error);

#endif

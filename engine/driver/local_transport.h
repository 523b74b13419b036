/* Local mode: the driver and one executor in this process. */
#ifndef GLINT_DRIVER_LOCAL_TRANSPORT_H
#define GLINT_DRIVER_LOCAL_TRANSPORT_H

#include "engine/driver/driver.h"

/* Starts the executor, number 0. Returns 0, or a code with the context's error set. */
int local_transport_create(struct glint *g, struct transport *out);

#endif

/* Local mode: the driver and one executor in this process. */
#ifndef GLINT_CONTEXT_LOCAL_TRANSPORT_H
#define GLINT_CONTEXT_LOCAL_TRANSPORT_H

#include "engine/plan/context.h"

/* Creates the driver and the executor, and sets g->runner, whose destroy ends both. Returns 0, or a
 * code with the context's error set. */
int local_start(struct glint *g);

#endif

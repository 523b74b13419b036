/* Starts the single-process mode for a context: its runner, over one executor in this process. 0,
 * or the context's code. */
#ifndef GLINT_LOCAL_LOCAL_H
#define GLINT_LOCAL_LOCAL_H

#include "engine/plan/context.h"

int local_start(struct glint *g);

#endif

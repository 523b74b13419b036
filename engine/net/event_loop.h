/* A libuv loop that starts or says why not: libuv itself ends the process where the system has no
 * descriptor left for what a loop opens. */
#ifndef GLINT_NET_EVENT_LOOP_H
#define GLINT_NET_EVENT_LOOP_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#include <uv.h>

/* uv_loop_init. 0, or SYSTEM with *error set, and nothing is open. */
int event_loop_init(uv_loop_t *loop, struct env *env, struct glint_error *error);
/* For a process that ends: closes a handler of signals. From then on SIGTERM, SIGINT and SIGHUP do
 * nothing, instead of killing it before it has tidied up, which libuv would go back to. */
void signal_close_and_ignore(uv_signal_t *handler);

#endif

/* Creation of libuv loops without the abort: uv_loop_init itself aborts the process when no file
 * descriptor is left for what a loop opens. */
#ifndef GLINT_NET_EVENT_LOOP_H
#define GLINT_NET_EVENT_LOOP_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#include <uv.h>

/* As uv_loop_init. Returns 0, or SYSTEM with *error set and nothing open. */
int event_loop_init(uv_loop_t *loop, struct env *env, struct glint_error *error);
/* For a process that is shutting down: closes a signal handler and ignores SIGTERM, SIGINT and
 * SIGHUP from then on. Otherwise libuv would restore their default action, and a second signal
 * would kill the process before it has cleaned up. Loop thread. */
void signal_close_and_ignore(uv_signal_t *handler);

#endif

/* Tells the service manager that started this process (systemd, Type=notify) when it is ready and
 * when it stops, and that it is alive: the protocol of sd_notify(3). Without a service manager,
 * which sets $NOTIFY_SOCKET, all functions do nothing. Loop thread only. */
#ifndef GLINT_NODE_SERVICE_NOTIFY_H
#define GLINT_NODE_SERVICE_NOTIFY_H

#include "engine/base/env.h"
#include "engine/net/deadline.h"

struct service_notify {
    struct env *env;
    char socket[108];   /* a path, as long as sun_path; "": no service manager */
    uint64_t period_ms; /* of the watchdog: half of what the service manager allows; 0: none */
    struct deadline watchdog; /* only with a period */
};

/* Reads and removes the service manager's variables, so that no child process inherits them: call
 * it while the process has one thread. */
void service_notify_init(struct service_notify *n, uv_loop_t *loop, struct env *env);
void service_notify_ready(struct service_notify *n);
/* The process drains; it still answers the watchdog. */
void service_notify_stopping(struct service_notify *n);
/* Required before the loop is closed. */
void service_notify_close(struct service_notify *n);

#endif

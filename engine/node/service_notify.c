/* See service_notify.h. A notification that cannot be sent is logged and otherwise ignored: the
 * service manager then does what its unit says. */
#include "engine/node/service_notify.h"

#include "engine/base/log.h"
#include "engine/base/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void notify(struct service_notify *n, const char *state)
{
    if (n->socket[0] == '\0') return;
    const int r = n->env->send_datagram(n->env, n->socket, state);
    if (r < 0)
        log_line(LOG_WARN, NULL, "cannot notify the service manager at %s: %s", n->socket,
                 strerror(-r));
}

static void on_watchdog(void *arg)
{
    struct service_notify *n = arg;
    notify(n, "WATCHDOG=1");
    deadline_start(&n->watchdog, n->period_ms);
}

/* Returns the time after which the service manager takes this process for hung; 0: never. */
static uint64_t watchdog_us(void)
{
    const char *time = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    int64_t us = 0, own = getpid();
    if (pid != NULL && !text_parse_i64((const uint8_t *)pid, strlen(pid), &own)) return 0;
    if (time == NULL || own != getpid()) return 0;
    return text_parse_i64((const uint8_t *)time, strlen(time), &us) && us > 0 ? (uint64_t)us : 0;
}

void service_notify_init(struct service_notify *n, uv_loop_t *loop, struct env *env)
{
    const char *socket = getenv("NOTIFY_SOCKET");
    *n = (struct service_notify){.env = env};
    if (socket != NULL && !text_format(n->socket, sizeof n->socket, "%s", socket))
        n->socket[0] = '\0';
    const uint64_t us = n->socket[0] != '\0' ? watchdog_us() : 0;
    if (us > 0) n->period_ms = us / 2 / 1000 > 0 ? us / 2 / 1000 : 1;
    if (n->period_ms > 0) deadline_init(&n->watchdog, loop, on_watchdog, n);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void service_notify_ready(struct service_notify *n)
{
    notify(n, "READY=1");
    if (n->period_ms > 0) deadline_start(&n->watchdog, n->period_ms);
}

void service_notify_stopping(struct service_notify *n)
{
    notify(n, "STOPPING=1");
}

void service_notify_close(struct service_notify *n)
{
    if (n->period_ms > 0) deadline_close(&n->watchdog, NULL);
    n->period_ms = 0;
}

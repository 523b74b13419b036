/* --join: the executor dials the driver. A scheduler such as Slurm starts processes in any order,
 * so a driver that does not listen yet is dialled again, with growing backoff, for start_ms. */
#include "engine/executor/executor_process_internal.h"

#include "engine/base/log.h"
#include "engine/net/backoff.h"

#include <assert.h>

#define BACKOFF_MS_MIN 50u
#define BACKOFF_MS_MAX 1000u

void driver_dial(struct executor_process *c)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(c->phase == PROCESS_WAITING && c->control == NULL && c->data == NULL);
    c->redial_at_ns = UINT64_MAX;
    c->last.code = GLINT_OK;
    c->control = conn_dial(&c->net, c->config.join_host, c->config.join_port, CHANNEL_CONTROL, NULL,
                           &driver_conn_events, c, &why);
    if (c->control == NULL) driver_dial_failed(c, &why);
}

static uint64_t backoff_ns(struct executor_process *c)
{
    uint64_t backoff_ms = BACKOFF_MS_MIN << (c->dial_attempts < 8 ? c->dial_attempts : 8);
    if (backoff_ms > BACKOFF_MS_MAX || c->auth_failures > 0) backoff_ms = BACKOFF_MS_MAX;
    return backoff_with_jitter(c->env, backoff_ms * MS_NS);
}

void driver_dial_failed(struct executor_process *c, const struct glint_error *why)
{
    if (c->control != NULL) conn_close(c->control, false);
    if (c->data != NULL) conn_close(c->data, false);
    if (c->last.code == GLINT_OK) c->last = *why;
    if (c->last.code == GLINT_OK)
        error_set(&c->last, GLINT_E_CONNECTION, NULL, "the driver closed the connection");
    /* Called again when the other connection has closed. */
    if (c->control != NULL || c->data != NULL) return;
    /* Any process that has the driver's port for a moment can cause one TLS failure; only several
     * in a row are permanent. */
    c->auth_failures = c->last.code == GLINT_E_AUTH ? c->auth_failures + 1 : 0;
    if (c->last.code == GLINT_E_PEER_MISMATCH || c->auth_failures == AUTH_FAILURES_MAX) {
        executor_process_end(c, &c->last); /* a retry would fail in the same way */
        return;
    }
    /* Log only the first failure: retries are frequent. */
    if (!c->waiting_logged)
        log_line(LOG_INFO, NULL, "waiting for a driver at %s:%u: %s", c->config.join_host,
                 c->config.join_port, c->last.cause);
    c->waiting_logged = true;
    c->redial_at_ns = executor_process_now(c) + backoff_ns(c);
    c->dial_attempts++;
    executor_process_arm_timer(c, c->redial_at_ns);
}

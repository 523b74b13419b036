/* Connections accepted on an executor's port: from the one driver it was started for, and from
 * other executors of the job, which may only send GET frames. */
#include "engine/executor/executor_process_internal.h"

#include "engine/limits.h"

#include <assert.h>
#include <string.h>

#define INBOUND_PEERS_MAX (2 * CLUSTER_EXECUTORS_MAX)

/* ---- Other executors */

/* The handshake only proves that the peer belongs to the cluster: it may read blocks. */
static int inbound_peer_on_frame(void *arg, struct conn *conn, const struct frame *f,
                                 struct glint_slice payload, struct glint_error *error)
{
    struct inbound_peer *g = arg;
    struct executor_process *c = g->executor_process;
    if (c->phase >= PROCESS_ENDING) return 0;
    if (f->type == FRAME_GET && c->fetch_server != NULL)
        return fetch_server_on_get(c->fetch_server, conn, f, payload, error);
    return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected %s frame from an executor",
                     frame_type_name(f->type));
}

static void inbound_peer_on_closed(void *arg, struct conn *conn, const struct glint_error *why)
{
    struct inbound_peer *g = arg;
    struct executor_process *c = g->executor_process;
    struct inbound_peer **at = &c->inbound_peers;
    (void)why; /* the peer decides whether to reconnect */
    assert(g->conn == conn && c->inbound_peer_count > 0);
    while (*at != g) at = &(*at)->next;
    *at = g->next;
    c->inbound_peer_count--;
    if (c->fetch_server != NULL) fetch_server_on_closed(c->fetch_server, conn);
    mem_free(g);
    /* The shutdown waits for the last connection. */
    if (c->phase == PROCESS_ENDING) executor_process_arm_timer(c, executor_process_now(c));
}

static const struct conn_events inbound_peer_events = {.frame = inbound_peer_on_frame,
                                                       .closed = inbound_peer_on_closed};

static bool accept_inbound_peer(struct executor_process *c, struct conn *conn,
                                struct glint_error *error)
{
    /* More than one per executor: an old connection may still be open when its peer has
     * reconnected. */
    if (c->inbound_peer_count == INBOUND_PEERS_MAX) {
        error_set(error, GLINT_E_CONNECTION, NULL, "too many executor connections (max %u)",
                  INBOUND_PEERS_MAX);
        return false;
    }
    struct inbound_peer *g = mem_alloc(sizeof *g);
    if (g == NULL) {
        error_no_memory(error);
        return false;
    }
    *g = (struct inbound_peer){c->inbound_peers, c, conn};
    c->inbound_peers = g;
    c->inbound_peer_count++;
    conn_set_events(conn, &inbound_peer_events, g);
    return true;
}

/* ---- The driver */

static bool incarnation_is_zero(const uint8_t incarnation[INCARNATION_BYTES])
{
    static const uint8_t zeros[INCARNATION_BYTES];
    return memcmp(incarnation, zeros, sizeof zeros) == 0;
}

static bool accept_driver(struct executor_process *c, struct conn *conn, struct glint_error *error)
{
    const struct hello *peer = conn_peer_hello(conn);
    bool control = peer->channel == CHANNEL_CONTROL;
    bool first = c->control == NULL && c->data == NULL;
    bool known = first || memcmp(c->driver, peer->incarnation, sizeof c->driver) == 0;
    /* A connection of a lost driver is not replaced: the executor ends with it. */
    bool again = (control ? c->control : c->data) != NULL;
    /* Reject any other driver. Only the one that requested this executor got its incarnation, in
     * EXECUTOR_STARTED; both its connections must have the same incarnation. */
    if (c->config.join_host != NULL || c->phase != PROCESS_WAITING ||
        incarnation_is_zero(peer->expected_incarnation) || !known || again) {
        error_set(error, GLINT_E_PEER_MISMATCH, "request an executor from its daemon",
                  "%s serves another driver", c->config.node);
        return false;
    }
    memcpy(c->driver, peer->incarnation, sizeof c->driver);
    if (control)
        c->control = conn;
    else
        c->data = conn;
    conn_set_events(conn, &driver_conn_events, c);
    driver_conn_on_opened(c, conn);
    return true;
}

bool executor_process_on_accepted(void *arg, struct conn *conn, struct glint_error *error)
{
    struct executor_process *c = arg;
    enum role role = conn_peer_hello(conn)->role;
    if (c->phase >= PROCESS_ENDING) {
        error_set(error, GLINT_E_CONNECTION, NULL, "%s is shutting down", c->config.node);
        return false;
    }
    if (role == ROLE_DRIVER) return accept_driver(c, conn, error);
    if (role == ROLE_EXECUTOR) return accept_inbound_peer(c, conn, error);
    error_set(error, GLINT_E_PEER_MISMATCH, NULL, "%s is an executor, not a daemon",
              c->config.node);
    return false;
}

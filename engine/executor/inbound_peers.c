/* Connections accepted on an executor's port: of other executors of the job, which may only send
 * GET frames. */
#include "engine/executor/executor_process_internal.h"

#include "engine/limits.h"

#include <assert.h>
#include <string.h>

#define INBOUND_PEERS_MAX (2 * CLUSTER_EXECUTORS_MAX)

/* The handshake only proves that the peer belongs to the job: it may read blocks. */
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

bool executor_process_on_accepted(void *arg, struct conn *conn, struct glint_error *error)
{
    struct executor_process *c = arg;
    if (c->phase >= PROCESS_ENDING) {
        error_set(error, GLINT_E_CONNECTION, NULL, "%s is shutting down", c->config.node);
        return false;
    }
    /* With TLS only the job's key opens it: until the driver has sent that, the process still has
     * the cluster's secret. */
    bool of_job = c->net.tls == NULL || conn_secret_kind(conn) == SECRET_JOB;
    if (conn_peer_hello(conn)->role == ROLE_EXECUTOR && of_job)
        return accept_inbound_peer(c, conn, error);
    error_set(error, GLINT_E_PEER_MISMATCH, "check the addresses in cluster.toml",
              "%s is an executor process, not a daemon", c->config.node);
    return false;
}

/* Accepts executors that dial the driver (submit --listen). Each opens a control and a data
 * connection, in any order; both carry the same incarnation in their hello. */
#include "engine/driver/cluster_transport_internal.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

static struct executor_conn *find_by_incarnation(const struct cluster_transport *r,
                                                 const uint8_t *incarnation)
{
    for (struct executor_conn *l = r->executor_conns; l != NULL; l = l->next)
        if (l->state < EXECUTOR_CONN_CLOSING &&
            memcmp(l->incarnation, incarnation, sizeof l->incarnation) == 0)
            return l;
    return NULL;
}

/* Names must be unique: name and host identify a node in the scheduler, and the user knows an
 * executor by its name. */
static bool name_is_free(const struct cluster_transport *r, const char *name,
                         struct glint_error *error)
{
    for (const struct executor_conn *l = r->executor_conns; l != NULL; l = l->next) {
        if (l->state >= EXECUTOR_CONN_CLOSING || strcmp(l->name, name) != 0) continue;
        error_set(error, GLINT_E_PEER_MISMATCH, "give each executor a unique --id",
                  "executor %s is already connected from %s", name, l->host);
        return false;
    }
    return true;
}

/* Returns false with *error set to reject the connection. */
static bool on_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    struct cluster_transport *r = arg;
    const struct hello *peer = conn_peer_hello(c);
    bool control = peer->channel == CHANNEL_CONTROL;
    if (peer->role != ROLE_EXECUTOR || r->stopping || r->no_executors_reported) {
        error_set(error, GLINT_E_PEER_MISMATCH, NULL, "only executors are accepted here");
        return false;
    }
    struct executor_conn *l = find_by_incarnation(r, peer->incarnation);
    if (l != NULL && (control ? l->control : l->data) != NULL) {
        error_set(error, GLINT_E_PROTOCOL, NULL, "duplicate connection");
        return false;
    }
    if (l == NULL) { /* the first of its two connections */
        if (!name_is_free(r, peer->node, error)) return false;
        l = executor_conn_create(r, peer->incarnation, error);
        if (l == NULL) return false;
        text_format(l->name, sizeof l->name, "%s", peer->node);
        conn_peer_host(c, l->host, sizeof l->host);
    }
    executor_conn_attach(l, c);
    return true;
}

int executor_listener_open(struct cluster_transport *r, struct glint_error *error)
{
    const struct cluster *c = r->cluster;
    r->listener = listener_open(&r->net, c->listen_host, c->listen_port, on_accepted, r, error);
    if (r->listener == NULL) return error->code;
    assert(listener_port(r->listener) != 0);
    const uint32_t wanted = c->executors_min > 0 ? c->executors_min : 1;
    inbox_push_note(r, "waiting for %u executor%s on %s:%u", wanted, wanted == 1 ? "" : "s",
                    c->listen_host, listener_port(r->listener));
    return 0;
}

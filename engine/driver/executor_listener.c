/* Where executors connect to the driver. It listens on the address by which it reaches a daemon,
 * since the daemon's processes then reach it there too: one listener per such address, opened when
 * the first daemon is connected. cluster->driver_host names another address, for example the one
 * outside of a container. With submit --listen there are no daemons: it listens from the start.
 *
 * Each executor opens a control and a data connection, in any order; both have its incarnation. A
 * process that a daemon started has the incarnation that the driver requested, and the job's key.
 */
#include "engine/driver/cluster_transport_internal.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

struct driver_listener {
    struct driver_listener *next;
    struct listener *listener;
    char host[HOST_BYTES_MAX]; /* that executors connect to */
};

/* ---- Accepting */

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

/* --listen: the executor has the cluster's secret, and gets the job's key. */
static struct executor_conn *add_joining_executor(struct cluster_transport *r, struct conn *c,
                                                  struct glint_error *error)
{
    const struct hello *peer = conn_peer_hello(c);
    if (!name_is_free(r, peer->node, error)) return NULL;
    struct executor_conn *l = executor_conn_create(r, peer->incarnation, error);
    if (l != NULL) text_format(l->name, sizeof l->name, "%s", peer->node);
    return l;
}

/* A process that a daemon started. EXECUTOR_STARTED may arrive after it. */
static struct executor_conn *add_requested_executor(struct cluster_transport *r, struct conn *c,
                                                    struct glint_error *error)
{
    const struct hello *peer = conn_peer_hello(c);
    struct daemon_conn *p = daemon_conn_find_requested(r, peer->incarnation);
    if (p != NULL) return daemon_conn_add_executor(p, error);
    error_set(error, GLINT_E_PEER_MISMATCH,
              "it came too late, or --join is used without submit --listen",
              "the driver has not requested executor %s", peer->node);
    return NULL;
}

/* Returns false with *error set to reject the connection. */
static bool on_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    struct cluster_transport *r = arg;
    const struct hello *peer = conn_peer_hello(c);
    bool control = peer->channel == CHANNEL_CONTROL;
    if (peer->role != ROLE_EXECUTOR || r->stopping || r->no_executors_reported) {
        error_set(error, GLINT_E_PEER_MISMATCH, NULL,
                  peer->role != ROLE_EXECUTOR ? "only executors are accepted here"
                                              : "the job has ended");
        return false;
    }
    /* Whether EXECUTOR_STARTED came first or not. */
    if (r->daemon_conns != NULL && r->net.tls != NULL && conn_secret_kind(c) != SECRET_JOB) {
        error_set(error, GLINT_E_PEER_MISMATCH, "--join needs submit --listen",
                  "executor %s does not have the key of the job", peer->node);
        return false;
    }
    struct executor_conn *l = find_by_incarnation(r, peer->incarnation);
    if (l != NULL && (control ? l->control : l->data) != NULL) {
        error_set(error, GLINT_E_PROTOCOL, NULL, "duplicate connection");
        return false;
    }
    if (l == NULL)
        l = r->daemon_conns != NULL ? add_requested_executor(r, c, error)
                                    : add_joining_executor(r, c, error);
    if (l == NULL) return false;
    if (l->state >= EXECUTOR_CONN_CLOSING) { /* released by the order of acquisition */
        error_set(error, GLINT_E_INTERRUPTED, NULL, "the driver released it");
        return false;
    }
    if (l->host[0] == '\0') conn_peer_host(c, l->host, sizeof l->host);
    executor_conn_attach(l, c);
    return true;
}

/* ---- Listening */

/* An address given by the user may belong to a router or a container's host: then the driver
 * listens on all of its addresses. */
static struct listener *listen_for_executors(struct cluster_transport *r, const char *host,
                                             struct port_range ports, struct glint_error *error)
{
    struct listener *listener = listener_open_in_range(&r->net, host, ports, on_accepted, r, error);
    if (listener != NULL || r->cluster->driver_host == NULL || host_is_loopback(host))
        return listener;
    struct glint_error ignored = {.code = GLINT_OK};
    listener = listener_open_in_range(&r->net, "::", ports, on_accepted, r, &ignored);
    if (listener == NULL) /* this host has no IPv6 */
        listener = listener_open_in_range(&r->net, "0.0.0.0", ports, on_accepted, r, &ignored);
    if (listener != NULL) error->code = GLINT_OK;
    return listener;
}

static struct driver_listener *add_listener(struct cluster_transport *r, const char *host,
                                            struct port_range ports, struct glint_error *error)
{
    struct driver_listener *added = mem_zalloc(sizeof *added);
    if (added == NULL) {
        error_no_memory(error);
        return NULL;
    }
    added->listener = listen_for_executors(r, host, ports, error);
    if (added->listener == NULL) {
        mem_free(added);
        return NULL;
    }
    text_format(added->host, sizeof added->host, "%s", host);
    added->next = r->listeners;
    r->listeners = added;
    return added;
}

int executor_listener_open(struct cluster_transport *r, struct glint_error *error)
{
    const struct cluster *c = r->cluster;
    const struct port_range port = {c->listen_port, c->listen_port};
    if (add_listener(r, c->listen_host, port, error) == NULL) return error->code;
    const uint32_t wanted = registration_executors_min(r);
    inbox_push_note(r, "waiting for %u executor%s on %s:%u", wanted, wanted == 1 ? "" : "s",
                    c->listen_host, executor_listener_port(r));
    return 0;
}

int executor_listener_address(struct cluster_transport *r, const struct conn *daemon,
                              char out_host[HOST_BYTES_MAX], uint16_t *out_port,
                              struct glint_error *error)
{
    const char *configured = r->cluster->driver_host;
    if (configured != NULL)
        text_format(out_host, HOST_BYTES_MAX, "%s", configured);
    else if (!conn_local_host(daemon, out_host, HOST_BYTES_MAX))
        return error_set(error, GLINT_E_CONNECTION, NULL, "the connection was closed");
    struct driver_listener *found = r->listeners;
    while (found != NULL && strcmp(found->host, out_host) != 0) found = found->next;
    struct glint_error why = {.code = GLINT_OK};
    if (found == NULL) found = add_listener(r, out_host, r->cluster->driver_ports, &why);
    if (found == NULL) return error_set(error, why.code, why.hint, "the driver: %s", why.cause);
    *out_port = listener_port(found->listener);
    return 0;
}

uint16_t executor_listener_port(const struct cluster_transport *r)
{
    return r->listeners != NULL ? listener_port(r->listeners->listener) : 0;
}

void executor_listener_close(struct cluster_transport *r)
{
    for (struct driver_listener *l = r->listeners, *next; l != NULL; l = next) {
        next = l->next;
        listener_close(l->listener);
        mem_free(l);
    }
    r->listeners = NULL;
}

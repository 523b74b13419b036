/* A listening port, and its connections until their handshake is done.
 *
 * TLS and hello must be done within net->connect_ms. Limits the number of pending
 * connections and chooses which to drop; the limit is lower while few file descriptors are left.
 * With no descriptor left the listener stops accepting for LISTENER_BACKOFF_MS instead of
 * spinning. Logs each rejected connection, and a warning every minute if the port has no TLS. Loop
 * thread only. */
#ifndef GLINT_NET_LISTENER_H
#define GLINT_NET_LISTENER_H

#include "engine/net/cluster.h"
#include "engine/net/conn.h"

#define LISTENER_BACKOFF_MS 100u
#define LISTENER_WARN_MS    60000u

struct listener;

/* Called with each connection once it is OPEN. To accept it, calls conn_set_events and returns true
 * (`opened` is not called; frames sent from inside this call follow our hello). If it returns false
 * with *error set, e.g. for a second executor with the same id, the peer gets *error in a REJECT,
 * the connection is closed and none of its callbacks is called. */
typedef bool listener_accepted_fn(void *arg, struct conn *c, struct glint_error *error);

/* Opens a listener. Port 0: any free port. A host name is resolved synchronously, which may
 * block. Returns NULL with *error set (ADDRESS, SYSTEM, NO_MEMORY). */
struct listener *listener_open(struct net *net, const char *host, uint16_t port,
                               listener_accepted_fn *accepted, void *arg,
                               struct glint_error *error);
/* As listener_open, on the first free port of `ports`; zeros: any free port. */
struct listener *listener_open_in_range(struct net *net, const char *host, struct port_range ports,
                                        listener_accepted_fn *accepted, void *arg,
                                        struct glint_error *error);
/* The bound port. */
uint16_t listener_port(const struct listener *g);
/* Closes the port and all pending connections; accepted connections stay open. The memory is freed
 * later, by the loop. NULL is allowed. */
void listener_close(struct listener *g);

/* Whether an address is always this host: "localhost", 127.0.0.0/8, ::1. */
bool host_is_loopback(const char *host);

#endif

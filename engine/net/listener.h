/* The gate: one listening port of a process, and what comes in there before it is trusted.
 *
 * TLS, then hello, within net->connect_ms; how many connections may be on their way at a time, and
 * which of them are dropped for others, is pending_conns.h's to say; where few file descriptors are
 * left, fewer. With no descriptor left at all it rests for LISTENER_BACKOFF_MS, without spinning.
 * What did not get in is logged, and each minute that there is no TLS. Loop thread only. */
#ifndef GLINT_NET_LISTENER_H
#define GLINT_NET_LISTENER_H

#include "engine/net/conn.h"

#define LISTENER_BACKOFF_MS 100u
#define LISTENER_WARN_MS    60000u

struct listener;

/* `accepted` gets each connection once it is OPEN and calls conn_set_events (`opened` is not
 * called; what is sent from inside it goes out behind our hello); answering false closes it, with
 * the REJECT that *error holds, e.g. a second executor of the same id, and its events are never
 * called. Port 0: any. NULL: *error set (ADDRESS, SYSTEM, NO_MEMORY). A name is resolved at once,
 * which may block. */
struct listener *listener_open(struct net *net, const char *host, uint16_t port,
                               bool (*accepted)(void *arg, struct conn *c,
                                                struct glint_error *error),
                               void *arg, struct glint_error *error);
uint16_t listener_port(const struct listener *g);
/* Closes the port and what has not come through; accepted connections live on. The memory is freed
 * by the loop, later. NULL is fine. */
void listener_close(struct listener *g);

/* Whether an address is this host's own and no other's: "localhost", 127.0.0.0/8, ::1. */
bool host_is_loopback(const char *host);

#endif

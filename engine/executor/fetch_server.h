/* Answers GET frames from what this process keeps: map outputs, broadcast blocks, results.
 *
 * Loop thread. Memory goes to the socket from where it is, small parts of map outputs in one
 * answer; files are read on libuv's pool into a few blocks, for the loop must not wait for a disk.
 * A connection that has FETCH_SERVER_WINDOW_BYTES waiting to be sent is answered no more until they
 * are sent: its asker has asked for more than it reads. What is being sent is held (references), so
 * that forgetting it meanwhile is safe. */
#ifndef GLINT_EXECUTOR_FETCH_SERVER_H
#define GLINT_EXECUTOR_FETCH_SERVER_H

#include "engine/executor/broadcast_client.h"
#include "engine/executor/store.h"
#include "engine/net/conn.h"
#include "engine/net/wire.h"

#define FETCH_SERVER_WINDOW_BYTES (32 * MIB)

struct fetch_server; /* of one process */

/* `values` may be NULL. NULL: no memory. */
struct fetch_server *fetch_server_create(struct net *net, struct store *store,
                                         struct broadcast_client *broadcasts);
/* A GET frame that came by `c`. 0, or PROTOCOL with *error set: the connection is to end. What is
 * not here, or asks beyond its end, is answered by FETCH_ERROR. */
int fetch_server_on_get(struct fetch_server *s, struct conn *c, const struct frame *f,
                        struct glint_slice payload, struct glint_error *error);
void fetch_server_on_closed(struct fetch_server *s, struct conn *c);
uint64_t fetch_server_bytes_sent(const struct fetch_server *s); /* sent so far */
/* After the last connection has closed. */
void fetch_server_destroy(struct fetch_server *s);

#endif

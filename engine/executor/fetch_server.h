/* Serves GET frames: map outputs, broadcast blocks and results of this process.
 *
 * Loop thread only. Data in memory is sent without a copy, except small segments of map outputs,
 * which are inlined in the response to GET_INDEX. Files are read on libuv's thread pool into a few
 * buffers, so the loop never waits for a disk. A connection with FETCH_SERVER_WINDOW_BYTES queued
 * gets no further responses until some are sent: its peer requests more than it reads. Data being
 * sent is referenced, so it may be removed from the store meanwhile. */
#ifndef GLINT_EXECUTOR_FETCH_SERVER_H
#define GLINT_EXECUTOR_FETCH_SERVER_H

#include "engine/executor/broadcast_client.h"
#include "engine/executor/store.h"
#include "engine/net/conn.h"
#include "engine/net/wire.h"

#define FETCH_SERVER_WINDOW_BYTES (32 * MIB)

struct fetch_server; /* one per executor process */

/* `broadcasts` may be NULL; all three are borrowed. Returns NULL when out of memory. */
struct fetch_server *fetch_server_create(struct net *net, struct store *store,
                                         struct broadcast_client *broadcasts);
/* Queues a GET frame that arrived on `c`. Data that does not exist, or a range outside it, gets a
 * FETCH_ERROR. Returns 0, or PROTOCOL or NO_MEMORY with *error set: the caller closes the
 * connection. */
int fetch_server_on_get(struct fetch_server *s, struct conn *c, const struct frame *f,
                        struct glint_slice payload, struct glint_error *error);
/* `c` has closed: drops its queued requests. */
void fetch_server_on_closed(struct fetch_server *s, struct conn *c);
uint64_t fetch_server_bytes_sent(const struct fetch_server *s); /* sent since the start */
/* Call after fetch_server_on_closed for every connection. Memory is freed after the last file read
 * ends, maybe later. NULL is allowed. */
void fetch_server_destroy(struct fetch_server *s);

#endif

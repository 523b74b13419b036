/* Answers GET frames from what this process keeps: map outputs, broadcast blocks, results.
 *
 * Loop thread. Memory goes to the socket from where it is, small parts of map outputs in one
 * answer; files are read on libuv's pool into a few blocks, for the loop must not wait for a disk.
 * A connection that has SERVE_WINDOW_BYTES waiting to be sent is answered no more until they are
 * sent: its asker has asked for more than it reads. What is being sent is held (references), so
 * that forgetting it meanwhile is safe. */
#ifndef GLINT_EXECUTOR_SERVE_H
#define GLINT_EXECUTOR_SERVE_H

#include "engine/executor/store.h"
#include "engine/executor/values.h"
#include "engine/net/conn.h"
#include "engine/net/wire.h"

#define SERVE_WINDOW_BYTES (32 * MIB)

struct serve; /* of one process */

/* `values` may be NULL. NULL: no memory. */
struct serve *serve_create(struct net *net, struct store *store, struct values *values);
/* A GET frame that came by `c`. 0, or PROTOCOL with *error set: the connection is to end. What is
 * not here, or asks beyond its end, is answered by GONE. */
int serve_on_get(struct serve *s, struct conn *c, const struct frame *f, struct glint_slice payload,
                 struct glint_error *error);
void serve_on_closed(struct serve *s, struct conn *c);
uint64_t serve_bytes(const struct serve *s); /* sent so far */
/* After the last connection has closed. */
void serve_destroy(struct serve *s);

#endif

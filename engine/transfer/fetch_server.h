/* Responds to GET frames from a table with one source of bytes per kind of request.
 *
 * Loop thread only. Data in memory is sent without a copy. Files are read on libuv's thread pool
 * into a few buffers, so the loop never waits for a disk. A connection with
 * FETCH_SERVER_WINDOW_BYTES queued gets no further responses until some are sent: its peer requests
 * more than it reads. Data being sent is referenced, so its owner may remove it meanwhile. */
#ifndef GLINT_TRANSFER_FETCH_SERVER_H
#define GLINT_TRANSFER_FETCH_SERVER_H

#include "engine/net/conn.h"
#include "engine/transfer/wire_fetch.h"

#include <stdatomic.h>

#define FETCH_SERVER_WINDOW_BYTES (32 * MIB)

/* The data of which a GET requests a range, or all. */
struct fetch_found {
    struct glint_slice bytes; /* borrowed until `release` */
    const struct run *file;   /* instead of bytes: a run in a file; as long */
    void *ref;                /* for `release` */
};

/* Where the data of one kind of GET comes from. */
struct fetch_source {
    /* Sets *out (zeroed) to the data, or *why if it does not exist. Does not block. NULL: this kind
     * is not served, a request closes the connection. */
    void (*find)(void *arg, const struct get_request *g, struct fetch_found *out,
                 struct glint_error *why);
    void (*release)(void *arg, void *ref); /* called once for what `find` found; may be NULL */
    void *arg;
    atomic_uint_fast64_t *bytes_sent; /* incremented; may be NULL */
};

struct fetch_server; /* one per process and job */

/* Copies the table; arguments of sources stay borrowed. Returns NULL when out of memory. */
struct fetch_server *fetch_server_create(uv_loop_t *loop,
                                         const struct fetch_source sources[GET_KINDS_END]);
/* Queues a GET frame that arrived on `c`. Data that does not exist, or a range outside it, gets a
 * FETCH_ERROR. Returns 0, or PROTOCOL or NO_MEMORY with *error set: the caller closes the
 * connection. */
int fetch_server_on_get(struct fetch_server *s, struct conn *c, const struct frame *f,
                        struct glint_slice payload, struct glint_error *error);
/* `c` has closed: drops its queued requests. */
void fetch_server_on_closed(struct fetch_server *s, struct conn *c);
/* Call after fetch_server_on_closed for every connection. Memory is freed after the last file read
 * ends, maybe later. NULL is allowed. */
void fetch_server_destroy(struct fetch_server *s);

#endif

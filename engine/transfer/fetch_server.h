/* Responds to GET frames from a table with one source of bytes per kind of request.
 *
 * Loop thread only. Data in memory is sent without a copy. Files are read on libuv's thread pool
 * into a few buffers, so the loop never waits for a disk. A connection with
 * FETCH_SERVER_WINDOW_BYTES queued gets no further responses until some are sent: its peer requests
 * more than it reads. Data being sent is referenced, so its owner may remove it meanwhile. */
#ifndef GLINT_TRANSFER_FETCH_SERVER_H
#define GLINT_TRANSFER_FETCH_SERVER_H

#include "engine/net/conn.h"
#include "engine/records/run.h"
#include "engine/transfer/wire_fetch.h"

#include <stdatomic.h>
#include <sys/queue.h>
#include <uv.h>

#define FETCH_SERVER_WINDOW_BYTES (32 * MIB)

/* The data of which a GET requests a range, or all. */
struct fetch_found {
    struct glint_slice bytes; /* borrowed until `release` */
    bool is_range;            /* `bytes` are the range that was requested, not all of the data */
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

/* Reads ranges of map output files for sending, on libuv's thread pool. A few buffers, small enough
 * to be still in the CPU cache when they are sent. Reads complete in any order. All functions and
 * `done` run on the loop thread; none blocks. */

#define FILE_READER_BUFFERS_MAX 16u

/* One read, in the caller's memory, which must stay at its address from file_reader_start to
 * file_reader_release_buffer. */
struct file_read {
    const struct run *run; /* of a run in a file; borrowed */
    uint64_t offset, size; /* range in the run; size at most FETCH_CHUNK_BYTES_MAX */
    /* code 0: `bytes` contains the range. Else a libuv error; UV_EOF: the file is too short. */
    void (*done)(struct file_read *r, int code);
    void *arg;
    uint8_t *bytes; /* the buffer while the read owns one; else NULL */
    /* Internal to fetch_server.c. */
    struct file_reader *file_reader;
    STAILQ_ENTRY(file_read) next;
    int64_t read; /* bytes read, or a negative errno */
    uv_work_t work;
};

struct file_reader {
    uv_loop_t *loop;
    SLIST_HEAD(, free_buffer) free;
    uint32_t count;                  /* buffers allocated */
    STAILQ_HEAD(, file_read) queued; /* reads */
    uint32_t waiting;                /* their number */
    uint32_t jobs;                   /* running on the pool */
};

enum { FILE_READER_BUSY = 1 };

void file_reader_init(struct file_reader *b, uv_loop_t *loop);
/* Returns 0: `done` will be called, never before this returns. GLINT_E_NO_MEMORY or
 * FILE_READER_BUSY (no buffer until one is released): the read was not started. */
int file_reader_start(struct file_reader *b, struct file_read *r);
/* Returns the buffer of a completed read; does nothing if it has none. */
void file_reader_release_buffer(struct file_reader *b, struct file_read *r);
/* The caller ensures that no read is running and no buffer is in use. */
void file_reader_fini(struct file_reader *b);

#endif

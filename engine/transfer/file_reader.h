/* Reads ranges of map output files for sending, on libuv's thread pool. A few buffers, small enough
 * to be still in the CPU cache when they are sent. Reads complete in any order. All functions and
 * `done` run on the loop thread; none blocks. */
#ifndef GLINT_TRANSFER_FILE_READER_H
#define GLINT_TRANSFER_FILE_READER_H

#include "engine/records/run.h"

#include <sys/queue.h>
#include <uv.h>

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
    /* Internal to file_reader.c. */
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
/* Frees the unused buffers. */
void file_reader_free_buffers(struct file_reader *b);
/* The caller ensures that no read is running and no buffer is in use. */
void file_reader_fini(struct file_reader *b);

#endif

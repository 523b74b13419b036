/* Files' bytes on their way to sockets: a few blocks, small enough to be in the processor's cache
 * still when they are sent, filled on libuv's pool, in any order. All calls, and `done`, on the
 * loop's thread; none of them blocks. */
#ifndef GLINT_EXECUTOR_FILE_READER_H
#define GLINT_EXECUTOR_FILE_READER_H

#include "engine/data/run.h"

#include <uv.h>

#define FILE_READER_BUFFERS_MAX 16u

/* Its asker's; from file_reader_start until file_reader_release_buffer it stays where it is. */
struct file_read {
    const struct run *run; /* in a file */
    uint64_t offset, size; /* of its bytes; at most FETCH_CHUNK_BYTES_MAX */
    /* 0: `bytes` hold them. Else libuv's code; UV_EOF where the file ends early. */
    void (*done)(struct file_read *r, int code);
    void *arg;
    uint8_t
        *bytes; /* a block, from file_reader_start until file_reader_release_buffer; else NULL */
    /* file_reader.c: */
    struct file_reader *file_reader;
    struct file_read *next;
    int64_t read; /* how many bytes, or a negative errno */
    uv_work_t work;
};

struct file_reader {
    uv_loop_t *loop;
    struct free_buffer *free;
    uint32_t count;                 /* of all blocks */
    struct file_read *first, *last; /* wait for a job */
    uint32_t waiting;               /* those */
    uint32_t jobs;                  /* on the pool */
};

enum { FILE_READER_BUSY = 1 };

void file_reader_init(struct file_reader *b, uv_loop_t *loop);
/* 0: `done` will be called, not before this returns. Else nothing was begun: GLINT_E_NO_MEMORY, or
 * FILE_READER_BUSY: no block is free until one is released. */
int file_reader_start(struct file_reader *b, struct file_read *r);
/* Of a read that is done; any other has no block, and nothing happens. */
void file_reader_release_buffer(struct file_reader *b, struct file_read *r);
/* Frees those that are not in use. */
void file_reader_free_buffers(struct file_reader *b);
/* None is in use. */
void file_reader_fini(struct file_reader *b);

#endif

/* Files' bytes on their way to sockets: a few blocks, small enough to be in the processor's cache
 * still when they are sent, filled on libuv's pool, in any order. All calls, and `done`, on the
 * loop's thread; none of them blocks. */
#ifndef GLINT_EXECUTOR_BLOCKS_H
#define GLINT_EXECUTOR_BLOCKS_H

#include "engine/data/run.h"

#include <uv.h>

#define BLOCKS_MAX 16u

/* Its asker's; from blocks_read until blocks_release it stays where it is. */
struct block_read {
    const struct run *run; /* in a file */
    uint64_t offset, size; /* of its bytes; at most FETCH_CHUNK_BYTES_MAX */
    /* 0: `bytes` hold them. Else libuv's code; UV_EOF where the file ends early. */
    void (*done)(struct block_read *r, int code);
    void *arg;
    uint8_t *bytes; /* a block, from blocks_read until blocks_release; else NULL */
    /* blocks.c: */
    struct blocks *blocks;
    struct block_read *next;
    int64_t read; /* how many bytes, or a negative errno */
    uv_work_t work;
};

struct blocks {
    uv_loop_t *loop;
    struct free_block *free;
    uint32_t count;                  /* of all blocks */
    struct block_read *first, *last; /* wait for a job */
    uint32_t waiting;                /* those */
    uint32_t jobs;                   /* on the pool */
};

enum { BLOCKS_BUSY = 1 };

void blocks_init(struct blocks *b, uv_loop_t *loop);
/* 0: `done` will be called, not before this returns. Else nothing was begun: GLINT_E_NO_MEMORY, or
 * BLOCKS_BUSY: no block is free until one is released. */
int blocks_read(struct blocks *b, struct block_read *r);
/* Of a read that is done; any other has no block, and nothing happens. */
void blocks_release(struct blocks *b, struct block_read *r);
/* Frees those that are not in use. */
void blocks_trim(struct blocks *b);
/* None is in use. */
void blocks_fini(struct blocks *b);

#endif

/* A cached block and its store, for block_store.c and block_store.c only. */
#ifndef GLINT_EXECUTOR_CACHED_BLOCK_H
#define GLINT_EXECUTOR_CACHED_BLOCK_H

#include "engine/executor/block_store.h"

#include <pthread.h>

#define BLOCK_BUCKETS 1024u

/* One encoded batch (records/batch_codec.h). */
struct block_chunk {
    uint8_t *data; /* NULL: in the block's file only */
    uint64_t size;
    uint64_t checksum; /* XXH3-64, once it is in the file */
};

struct cached_block {
    struct cached_block *next;          /* in the bucket */
    struct cached_block *older, *newer; /* by last use */
    uint32_t rdd, partition;
    unsigned level;
    struct block_chunk *chunks;
    uint64_t chunk_count, chunk_capacity;
    uint64_t bytes;   /* of all chunks */
    bool in_memory;   /* counted in the store's memory */
    char *path;       /* of its file; NULL: none */
    uint32_t refs;    /* under the lock, as the fields below */
    bool removed;     /* not in a bucket: freed with the last reference */
    bool drop_memory; /* it is in its file now: the last reference frees its memory */
};

struct block_store {
    struct env *env;
    const char *work_dir;
    uint64_t memory_max;
    pthread_mutex_t lock; /* guards the fields below */
    uint64_t memory_bytes, file_count;
    struct cached_block *buckets[BLOCK_BUCKETS];
    struct cached_block *oldest, *newest;
    struct cached_block_state *changes;
    uint64_t change_count, change_capacity;
};

#endif

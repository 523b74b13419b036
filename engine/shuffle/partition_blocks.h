/* Uncombined records of a map task, appended to blocks of their partition: no sort brings them into
 * order of the partition, and each record is copied once.
 *
 * A block contains whole records in the byte form of runs (data/run.h). The first block of a
 * partition is small, later ones double up to RUN_BLOCK_BYTES, so that few records in many
 * partitions take little memory. Blocks are cut from slabs, which are reused by the next task.
 * Internal to the map side. Task's thread. */
#ifndef GLINT_SHUFFLE_PARTITION_BLOCKS_H
#define GLINT_SHUFFLE_PARTITION_BLOCKS_H

#include "engine/data/bytes.h"
#include "engine/data/run.h"

struct partition_block;

/* The open block of a partition. Zeros: none yet. */
struct partition_tail {
    uint8_t *at, *end; /* the next record goes to [at, end) */
    uint64_t records;  /* of the partition */
    struct partition_block *first, *last;
};

/* Zeros are not initialized. */
struct partition_blocks {
    struct partition_tail *tails; /* [partitions] */
    uint32_t partitions;
    uint64_t records, raw;      /* raw: of the blocks that are not open */
    uint64_t slab_bytes;        /* of all slabs */
    uint8_t *free_at, *free_end; /* of the last slab */
    uint8_t **slabs;
    uint64_t slab_count, slab_capacity;
};
/* Returns false when out of memory. */
bool partition_blocks_init(struct partition_blocks *b, uint32_t partitions);
static inline bool partition_blocks_are_used(const struct partition_blocks *b)
{
    return b->tails != NULL;
}
/* Makes room for a record of so many bytes. Returns false when out of memory. */
bool partition_blocks_extend(struct partition_blocks *b, uint32_t partition, uint64_t bytes);

/* Appends a record, copied. Returns 0, NO_MEMORY or VALUE_LIMIT with the task's error set. */
static inline int partition_blocks_add(struct partition_blocks *b, struct glint_task *task,
                                       uint32_t partition, struct glint_slice key,
                                       struct glint_slice value)
{
    struct partition_tail *t = &b->tails[partition];
    const uint64_t bytes = RUN_RECORD_HEADER_MAX + key.size + value.size;
    if ((uint64_t)(t->end - t->at) < bytes) {
        if (!run_record_fits(key, value)) return run_set_record_too_large(task, key, value);
        if (!partition_blocks_extend(b, partition, bytes)) return error_no_memory(&task->error);
    }
    uint8_t *at = t->at;
    at += codec_put_varint(at, key.size);
    at += codec_put_varint(at, value.size);
    bytes_copy(at, key.data, key.size);
    at += key.size;
    bytes_copy(at, value.data, value.size);
    t->at = at + value.size;
    t->records++;
    b->records++;
    return 0;
}

/* The memory of the blocks. */
static inline uint64_t partition_blocks_bytes(const struct partition_blocks *b)
{
    return b->slab_bytes - (uint64_t)(b->free_end - b->free_at);
}
/* The bytes of the records as in a run. */
uint64_t partition_blocks_raw(const struct partition_blocks *b);
/* The bytes of a run of all records, not compressed, at most. */
static inline uint64_t partition_blocks_run_bytes(const struct partition_blocks *b)
{
    const uint64_t bytes = partition_blocks_bytes(b);
    return bytes + (bytes / KIB + b->partitions) * RUN_BLOCK_HEADER_BYTES;
}
/* Writes all records to `out`, which is empty. Returns 0 or a negative code with the task's error
 * set. */
int partition_blocks_write(const struct partition_blocks *b, struct run_writer *out);
/* Calls `add` for each record, those of a partition in the order in which they were appended, until
 * it returns a negative code. Returns that or 0. Key and value are valid until
 * partition_blocks_fini. */
int partition_blocks_each(const struct partition_blocks *b,
                          int (*add)(void *arg, uint32_t partition, struct glint_slice key,
                                     struct glint_slice value),
                          void *arg);
/* Frees everything. Zeros are fine. */
void partition_blocks_fini(struct partition_blocks *b);

#endif

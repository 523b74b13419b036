/* Sorted runs: records ordered by (partition, key), as a shuffle and a spill keep them.
 *
 * A run is a stream of blocks; each partition starts on a block boundary and is found through an
 * index that stays in memory. A block of at most RUN_BLOCK_BYTES raw bytes:
 *
 *     0         8        12       16                    16 + stored
 *     +---------+--------+--------+------------------------+
 *     | XXH3-64 | stored | raw    | payload                |   numbers little-endian
 *     +---------+--------+--------+------------------------+
 *
 * The payload is lz4 where stored < raw, and the raw bytes where both are equal. The checksum
 * covers all that follows it and is seeded with the block's offset in its partition, so that a
 * block that was answered for another one is noticed too. The raw bytes of a partition's blocks,
 * put together, are its records: varint key size, varint value size, key, value; one may span any
 * number of blocks.
 *
 * Nothing read is believed: sizes are checked against the index and the limits, then the checksum
 * against the bytes. What does not fit is SHUFFLE_CORRUPT. */
#ifndef GLINT_DATA_RUN_H
#define GLINT_DATA_RUN_H

#include "engine/data/codec.h"
#include "engine/data/task.h"

#define RUN_BLOCK_HEADER_BYTES 16
static_assert(RUN_BLOCK_BYTES <= UINT32_MAX, "sizes in a block header have 32 bits");

/* Where a reader's bytes come from: a run of this process, or of another one. Several threads may
 * read one source at a time; it has no cursor. */
struct run_source {
    /* All of the run's bytes, or NULL: ask `read`. READ_SLACK readable beyond `bytes`. */
    const uint8_t *memory;
    uint64_t bytes;
    /* Puts exactly [offset, offset + size) at `out`: 0, or a negative code with the task's error
     * set. Called on the task's thread; may block. `source` is this one. */
    int (*read)(const struct run_source *source, struct glint_task *task, uint64_t offset,
                uint64_t size, uint8_t *out);
    /* What `read` answers next comes from where the bytes are kept, whatever has arrived here, and
     * `memory` is NULL: a block that was damaged on its way is read again. NULL: memory stays as it
     * is, and `read` has nothing in between. */
    void (*reread)(const struct run_source *source);
    const char *name; /* for error messages: a path or an address */
};

/* One partition's share of a run. */
struct run_part {
    uint64_t offset;  /* of its first block */
    uint64_t bytes;   /* of its blocks, headers included */
    uint64_t raw;     /* of its records */
    uint64_t records; /* 0: no blocks */
};

/* A finished run: constant, so any thread may read it. Owned by whom run_writer_finish gave it to;
 * it must not move while readers stand on it. Small ones stay in memory, others are a file that is
 * opened for each read only, so that runs cost no file descriptors. Zeros are an empty run. */
struct run {
    struct run_source source; /* bytes, memory or read; name is the path */
    struct run_part *parts;   /* [partitions] */
    uint32_t partitions;
    uint64_t records;
    uint8_t *memory;
    uint64_t memory_taken; /* from *run_memory of the task that wrote it, given back at the end */
    atomic_uint_fast64_t *run_memory;
    char *path; /* NULL while in memory */
    struct env *env;
};
/* Frees it and removes its file. Zeros are fine. */
void run_destroy(struct run *run);

/* What a reader needs: where the bytes are, and what they must be. */
struct run_slice {
    const struct run_source *source;
    struct run_part part;
};
static inline struct run_slice run_slice(const struct run *run, uint32_t partition)
{
    return (struct run_slice){&run->source, run->parts[partition]};
}

/* No run holds a larger record. */
static inline bool run_record_fits(struct glint_slice key, struct glint_slice value)
{
    return key.size <= KEY_BYTES_MAX && value.size <= VALUE_BYTES_MAX;
}
/* Sets VALUE_LIMIT, and answers it. */
int run_set_record_too_large(struct glint_task *task, struct glint_slice key,
                             struct glint_slice value);

/* Writes one run, on the task's thread. Zeros are a writer that was never begun. */
struct run_writer {
    struct glint_task *task;
    struct run_part *parts;
    uint32_t partitions, partition; /* the one at hand */
    uint64_t memory_max, memory_taken;
    uint64_t flushed;     /* bytes that are in the file already */
    struct buffer stored; /* blocks that are not */
    uint8_t *block;       /* raw bytes of the block at hand */
    uint32_t block_size;
    uint32_t lz4_pause, lz4_skip; /* blocks not to try next; how many after the next failure */
    uint64_t records;
    int file; /* -1: none yet */
    char *path;
};
/* Up to `memory_max` bytes stay in memory, as far as task->run_memory has them; more go to a new
 * file in the work directory. All answer 0 or a negative code with the task's error set; after an
 * error only abort may follow. */
int run_writer_init(struct run_writer *w, struct glint_task *task, uint32_t partitions,
                    uint64_t memory_max);
/* Records come in order of (partition, key); `partition` may not go back, which is asserted, and
 * the order of keys is the caller's word. */
int run_writer_add(struct run_writer *w, uint32_t partition, struct glint_slice key,
                   struct glint_slice value);
/* Gives the run to *out and ends the writer. */
int run_writer_finish(struct run_writer *w, struct run *out);
/* Frees everything and removes the file. For writers that were not finished; zeros are fine. */
void run_writer_abort(struct run_writer *w);

/* Reads one partition of one run, on the task's thread. Its memory is two blocks at most, plus a
 * key that spans blocks. Zeros are a reader that was never opened. */
struct run_reader {
    struct glint_slice
        key; /* of the record at hand; valid until the next call of run_reader_next */
    uint64_t value_size;
    /* The rest is the reader's own. */
    struct glint_task *task;
    const struct run_source *source;
    struct run_part part;
    uint64_t stored_at; /* bytes of the part that were consumed */
    uint64_t raw_at;    /* raw bytes of the blocks that were opened */
    uint64_t records_left;
    const uint8_t *at, *limit; /* unread raw bytes of the block at hand */
    uint64_t value_left;       /* of the record at hand, not read yet */
    uint8_t *raw, *ahead;      /* a decompressed block; stored bytes that were read */
    uint64_t raw_capacity, ahead_capacity;
    uint64_t ahead_begin, ahead_size; /* what of the part `ahead` holds */
    struct buffer key_bytes;
};
/* An opened reader may be opened again: it keeps its memory. `slice.source` is borrowed. */
int run_reader_open(struct run_reader *r, struct glint_task *task, struct run_slice slice);
/* 1: `key` and `value_size` are the next record's; 0: no more; negative: an error. */
int run_reader_next(struct run_reader *r);
/* The value of the record at hand, once per record, or never: then it is skipped. It lies in the
 * reader's block where it can, else it is put together in `scratch`, which readers may share, at
 * scratch->data. Valid until the reader moves on or scratch changes. */
int run_reader_value(struct run_reader *r, struct buffer *scratch, struct glint_slice *out);
void run_reader_close(struct run_reader *r);

/* Sets SHUFFLE_CORRUPT, naming the source. */
int run_set_corrupt(struct glint_task *task, const struct run_source *source, const char *what);

#endif

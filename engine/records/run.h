/* Runs: records in order of the partition, the format of map outputs and spills. Spills, and the
 * outputs of map tasks that spilled, are also in order of the key within each partition.
 *
 * A run is a stream of blocks; each partition starts on a block boundary and is found through an
 * index that stays in memory. A block of at most RUN_BLOCK_BYTES raw bytes:
 *
 *     0         8        12       16                    16 + stored
 *     +---------+--------+--------+------------------------+
 *     | XXH3-64 | stored | raw    | payload                |   numbers little-endian
 *     +---------+--------+--------+------------------------+
 *
 * The payload is lz4 if stored < raw, and the raw bytes if both are equal. The checksum covers
 * everything after it and is seeded with the block's offset in its partition, so that an intact
 * block at the wrong offset is detected too. The concatenated raw bytes of a partition's blocks are
 * its records: varint key size, varint value size, key, value. A record may span any number of
 * blocks.
 *
 * A reader trusts no bytes: sizes are checked against the index and the limits, then the bytes
 * against the checksum. A mismatch is SHUFFLE_CORRUPT. */
#ifndef GLINT_RECORDS_RUN_H
#define GLINT_RECORDS_RUN_H

#include "engine/base/hash.h"
#include "engine/records/codec.h"
#include "engine/records/task.h"

#include <endian.h>

#define RUN_BLOCK_HEADER_BYTES 16
#define RUN_RECORD_HEADER_MAX  20u /* the two sizes of a record */

/* The bytes of a run, of this process or of another executor (transfer/fetch.c). It has no cursor,
 * so several threads may read it at the same time. */
struct run_source {
    /* All bytes of the run, with READ_SLACK readable bytes after them, or NULL: use `read`. */
    const uint8_t *memory;
    uint64_t bytes;
    /* Reads exactly [offset, offset + size) into `out`. Returns 0, or a negative code with the
     * task's error set. Called on the task's thread; may block. */
    int (*read)(const struct run_source *source, struct glint_task *task, uint64_t offset,
                uint64_t size, uint8_t *out);
    /* Discards all copies of the bytes in this process and sets `memory` to NULL, so that `read`
     * gets them from their origin again: a block may have been damaged in transit. NULL: there are
     * no copies, `memory` is the origin. */
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

/* A finished run. Constant, so any thread may read it. Owned by the caller of run_writer_finish; it
 * must not move while a reader or a run_slice refers to it. Small runs are in memory; others are a
 * file that is opened only for each read, so that runs use no file descriptors. Zeros are an empty
 * run. */
struct run {
    struct run_source source; /* first: run_file_read casts it back; its name is the path */
    /* The index: [partitions], or, if `numbers` is not NULL, [used]: only partitions that have
     * records, whose ascending numbers these are. So the index of many partitions with few records
     * is as small as its records. */
    struct run_part *parts;
    uint32_t *numbers;
    uint32_t partitions, used;
    bool sorted; /* by key within each partition; run_writer_finish sets it to false */
    uint64_t records;
    uint8_t *memory;
    uint64_t memory_taken; /* bytes reserved in *run_memory, which run_destroy returns */
    atomic_uint_fast64_t *run_memory;
    char *path; /* NULL while in memory */
    struct env *env;
};
/* Frees the run and removes its file. Zeros are fine. */
void run_destroy(struct run *run);

/* Returns the share of a partition; zeros if it has no records. */
struct run_part run_find_part(const struct run *run, uint32_t partition);

/* One partition of a run: the argument of a reader. */
struct run_slice {
    const struct run_source *source;
    struct run_part part;
    bool sorted; /* by key */
};
static inline struct run_slice run_slice(const struct run *run, uint32_t partition)
{
    return (struct run_slice){&run->source, run_find_part(run, partition), run->sorted};
}

/* Whether a record is within the size limits of a run. */
static inline bool run_record_fits(struct glint_slice key, struct glint_slice value)
{
    return key.size <= KEY_BYTES_MAX && value.size <= VALUE_BYTES_MAX;
}
/* Sets the task's error to VALUE_LIMIT and returns it. */
int run_set_record_too_large_error(struct glint_task *task, struct glint_slice key,
                                   struct glint_slice value);

/* Writes one run. Zeros are a writer that was not initialized. Task's thread. */
struct run_writer {
    struct glint_task *task;
    struct run_part *parts;
    uint32_t partitions, partition;    /* their number; the current one */
    uint64_t memory_max, memory_taken; /* memory_taken: reserved in task->run_memory */
    uint64_t flushed;                  /* bytes that are in the file already */
    struct buffer stored;              /* finished blocks that are not in the file */
    uint8_t *block;                    /* raw bytes of the current block */
    uint32_t block_size;
    bool compress;                /* spills, and outputs that other processes may fetch */
    uint32_t lz4_pause, lz4_skip; /* blocks to store without trying lz4; the last such number */
    uint64_t records;
    int file; /* -1: none yet */
    char *path;
};
/* The run stays in memory up to `memory_max` bytes (0: a spill, which does not) if task->run_memory
 * has as many left; a larger one is written to a new file in the work directory. All calls return
 * 0, or a negative code with the task's error set; after an error only run_writer_abort may follow.
 */
int run_writer_init(struct run_writer *w, struct glint_task *task, uint32_t partitions,
                    uint64_t memory_max);
/* A hint after init: the run will have about `bytes`. Memory for them is allocated at once. */
void run_writer_reserve(struct run_writer *w, uint64_t bytes);
/* Appends a record, copied. The caller adds records in order of the partition. */
int run_writer_add(struct run_writer *w, uint32_t partition, struct glint_slice key,
                   struct glint_slice value);
/* Appends records of `partition` that are in byte form already, `records` in all: first their
 * number, then the bytes, in any pieces. */
int run_writer_begin_records(struct run_writer *w, uint32_t partition, uint64_t records);
int run_writer_append_records(struct run_writer *w, const uint8_t *data, uint64_t size);
/* Moves the run to *out, which the caller owns, and closes the writer. */
int run_writer_finish(struct run_writer *w, struct run *out);
/* Frees everything and removes the file of an unfinished writer. Zeros and a finished one are
 * fine. */
void run_writer_abort(struct run_writer *w);

/* Reads one partition of one run. Needs memory for two blocks at most, plus a key that spans
 * blocks. Zeros are a closed reader. Task's thread. */
struct run_reader {
    /* Of the current record; valid until the next call of run_reader_next. */
    struct glint_slice key;
    uint64_t value_size;
    /* Private. */
    struct glint_task *task;
    const struct run_source *source;
    struct run_part part;
    uint64_t stored_at; /* bytes of the part that were consumed */
    uint64_t raw_at;    /* raw bytes of the blocks that were read */
    uint64_t records_left;
    const uint8_t *at, *limit; /* unread raw bytes of the current block */
    uint64_t value_left;       /* of the current record, not read yet */
    struct buffer raw, ahead;  /* the decompressed block; stored bytes that were read */
    uint64_t ahead_begin;      /* where `ahead` begins in the part */
    struct buffer key_bytes;
};
/* Borrows `slice.source`. An open reader may be opened again and reuses its memory. Returns 0, or
 * SHUFFLE_CORRUPT if the index (slice.part) cannot be right. */
int run_reader_open(struct run_reader *r, struct glint_task *task, struct run_slice slice);
/* Returns 1 and sets key and value_size to those of the next record; 0 at the end; a negative code
 * with the task's error set. */
int run_reader_next(struct run_reader *r);
/* Reads the value of the current record, at most once per record; a value that is not read is
 * skipped. *out points into the reader's block, or to scratch->data if the value spans blocks;
 * readers may share `scratch`. Valid until the next call on the reader or until scratch changes.
 * Returns 0 or a negative code with the task's error set. */
int run_reader_value(struct run_reader *r, struct buffer *scratch, struct glint_slice *out);
/* Frees the memory. Zeros are fine. */
void run_reader_close(struct run_reader *r);

/* Encoding and decoding of a block header; the format is in run.h. Internal to run_*.c. */
struct run_block {
    uint32_t stored, raw; /* payload bytes: as stored; after decompression */
};

static_assert(RUN_BLOCK_HEADER_BYTES == sizeof(uint64_t) + 2 * sizeof(uint32_t),
              "the header is a checksum and two sizes");
static_assert(RUN_BLOCK_BYTES <= UINT32_MAX, "sizes in a block header have 32 bits");

/* Returns the checksum of everything after the checksum field: `block` points to the header, which
 * its payload follows. `offset` is that of the block in its partition. */
static inline uint64_t run_block_checksum(const uint8_t *block, uint32_t stored, uint64_t offset)
{
    return XXH3_64bits_withSeed(block + 8, 8 + (size_t)stored, offset);
}

/* Writes the header of a block whose payload is in place already. */
static inline void run_block_write_header(uint8_t *block, struct run_block b, uint64_t offset)
{
    uint32_t sizes[2] = {htole32(b.stored), htole32(b.raw)};
    memcpy(block + 8, sizes, sizeof sizes);
    uint64_t checksum = htole64(run_block_checksum(block, b.stored, offset));
    memcpy(block, &checksum, sizeof checksum);
}

/* Decodes the sizes only: the payload may not have been read yet. */
static inline struct run_block run_block_decode_sizes(const uint8_t *block)
{
    uint32_t sizes[2];
    memcpy(sizes, block + 8, sizeof sizes);
    return (struct run_block){le32toh(sizes[0]), le32toh(sizes[1])};
}

/* Whether the block, header and payload, matches its checksum. */
static inline bool run_block_is_intact(const uint8_t *block, uint32_t stored, uint64_t offset)
{
    uint64_t checksum;
    memcpy(&checksum, block, sizeof checksum);
    return le64toh(checksum) == run_block_checksum(block, stored, offset);
}

/* ---- A k-way merge of sorted runs with a loser tree; the least key wins.
 *
 * The tree contains the first sixteen key bytes of each loser as a number, so most matches are one
 * comparison without a cache miss. Equal keys are returned in order of the inputs, which is the
 * order of the map partitions. Values are read on demand. */

/* The first sixteen bytes of a key: all of it for most ids. */
typedef unsigned __int128 merge_prefix;

/* An input's current record in the tree. */
struct merge_player {
    merge_prefix prefix; /* of the key; inverted when descending */
    uint32_t input;
    bool done; /* no more records: loses every match */
};

/* Zeros are a closed merge. Task's thread. */
struct merge {
    struct glint_slice key; /* of the current record; valid until the next call of merge_next */
    uint32_t input;         /* index of its input */
    /* Private. */
    struct run_reader *readers;
    uint32_t capacity, count;
    bool descending, started;
    struct merge_player winner;
    struct merge_player *losers; /* [count], [0] unused */
    struct buffer scratch;       /* of values that span blocks */
};
/* Opens at most MERGE_FAN_IN_MAX inputs; their sources are borrowed. An open merge may be opened
 * again and reuses its memory. Returns 0 or a negative code with the task's error set; call
 * merge_close in both cases. */
int merge_open(struct merge *m, struct glint_task *task, const struct run_slice *inputs,
               uint32_t count, bool descending);
/* Returns 1 and sets key and input to the next record; 0 at the end; a negative code with the
 * task's error set. */
int merge_next(struct merge *m);
/* Reads the value of the current record, at most once per record; valid until merge_next. Returns 0
 * or a negative code with the task's error set. */
int merge_value(struct merge *m, struct glint_slice *out);
void merge_close(struct merge *m);

#endif

/* Reads a partition of a run block by block, and verifies everything.
 *
 * A damaged block is read a second time, since it may have been damaged in transit.
 *
 * An uncompressed block in memory is used in place. Otherwise there are two buffers: for bytes read
 * ahead and for the decompressed block. A key that spans blocks is copied when its record is read;
 * a value only on demand. */
#include "engine/records/run_block.h"

#include "engine/base/text.h"

#include <lz4.h>

#define LZ4_RATIO_MAX 255u

static int set_reader_corrupt(struct run_reader *r, const char *what)
{
    return run_set_corrupt(r->task, r->source, what);
}

static bool ensure_capacity(uint8_t **data, uint64_t *capacity, uint64_t size)
{
    if (*capacity >= size) return true;
    mem_free(*data);
    *data = mem_alloc(size);
    *capacity = *data != NULL ? size : 0;
    return *data != NULL;
}

int run_reader_open(struct run_reader *r, struct glint_task *task, struct run_slice slice)
{
    struct run_part p = slice.part;
    r->task = task;
    r->source = slice.source;
    r->part = p;
    r->key = (struct glint_slice){NULL, 0};
    r->value_size = r->value_left = 0;
    r->stored_at = r->raw_at = 0;
    r->records_left = p.records;
    r->at = r->limit = NULL;
    r->ahead_begin = r->ahead_size = 0;
    if (p.records == 0)
        return p.bytes == 0 && p.raw == 0 ? 0 : set_reader_corrupt(r, "invalid index");
    /* A record has at least two bytes, and lz4 compresses at most 255 times: this bounds what a
     * wrong index can make the reader allocate. */
    bool inside = p.offset <= slice.source->bytes && p.bytes <= slice.source->bytes - p.offset;
    bool sane = p.raw / 2 >= p.records && p.raw / LZ4_RATIO_MAX <= p.bytes;
    return inside && sane ? 0 : set_reader_corrupt(r, "invalid index");
}

/* Sets *out to the bytes [stored_at, stored_at + size) of the part. Reads ahead up to one whole
 * block, so that most blocks need one read. */
static int read_stored_bytes(struct run_reader *r, uint64_t size, const uint8_t **out)
{
    assert(size <= r->part.bytes - r->stored_at);
    if (r->source->memory != NULL) {
        *out = r->source->memory + r->part.offset + r->stored_at;
        return 0;
    }
    uint64_t have = r->ahead_begin + r->ahead_size - r->stored_at;
    if (have < size) {
        uint64_t most = RUN_BLOCK_HEADER_BYTES + RUN_BLOCK_BYTES;
        uint64_t left = r->part.bytes - r->stored_at, want = left < most ? left : most;
        assert(size <= most && have <= r->ahead_size);
        assert(have == 0 || r->ahead_capacity >= want);
        if (!ensure_capacity(&r->ahead, &r->ahead_capacity, want))
            return error_no_memory(&r->task->error);
        if (have > 0) memmove(r->ahead, r->ahead + (r->stored_at - r->ahead_begin), have);
        r->ahead_begin = r->stored_at;
        r->ahead_size = have;
        uint64_t more = want - have;
        int e = r->source->read(r->source, r->task, r->part.offset + r->stored_at + have, more,
                                r->ahead + have);
        if (e < 0) return e;
        r->ahead_size += more;
    }
    *out = r->ahead + (r->stored_at - r->ahead_begin);
    return 0;
}

static int decompress_block(struct run_reader *r, const uint8_t *payload, struct run_block b)
{
    if (b.stored == b.raw) {
        r->at = payload;
        r->limit = payload + b.raw;
        return 0;
    }
    uint64_t most = r->part.raw < RUN_BLOCK_BYTES ? r->part.raw : RUN_BLOCK_BYTES;
    if (!ensure_capacity(&r->raw, &r->raw_capacity, most)) return error_no_memory(&r->task->error);
    int n = LZ4_decompress_safe((const char *)payload, (char *)r->raw, (int)b.stored, (int)b.raw);
    if (n < 0 || (uint32_t)n != b.raw)
        return set_reader_corrupt(r, "a block cannot be decompressed");
    r->at = r->raw;
    r->limit = r->raw + b.raw;
    return 0;
}

static int read_run_block(struct run_reader *r)
{
    const uint8_t *block = NULL;
    uint64_t left = r->part.bytes - r->stored_at;
    if (left <= RUN_BLOCK_HEADER_BYTES) return set_reader_corrupt(r, "the blocks end early");
    int e = read_stored_bytes(r, RUN_BLOCK_HEADER_BYTES, &block);
    if (e < 0) return e;
    /* Check the sizes before they are used; the checksum covers them, but needs the payload. */
    struct run_block b = run_block_decode_sizes(block);
    if (b.raw == 0 || b.raw > RUN_BLOCK_BYTES || b.raw > r->part.raw - r->raw_at || b.stored == 0 ||
        b.stored > b.raw || b.stored > left - RUN_BLOCK_HEADER_BYTES)
        return set_reader_corrupt(r, "a block has an invalid size");
    e = read_stored_bytes(r, RUN_BLOCK_HEADER_BYTES + (uint64_t)b.stored, &block);
    if (e < 0) return e;
    if (!run_block_is_intact(block, b.stored, r->stored_at))
        return set_reader_corrupt(r, "a block does not match its checksum");
    e = decompress_block(r, block + RUN_BLOCK_HEADER_BYTES, b);
    if (e < 0) return e;
    r->stored_at += RUN_BLOCK_HEADER_BYTES + (uint64_t)b.stored;
    r->raw_at += b.raw;
    assert(r->stored_at <= r->part.bytes && r->raw_at <= r->part.raw);
    return 0;
}

/* Reads the current block again from its origin. Returns the first error if the source has no other
 * copy. */
static int reread_block(struct run_reader *r)
{
    /* Clear the first error: only the result of the second read counts. */
    struct glint_task *task = r->task;
    struct glint_error first = task->error;
    if (r->source->reread != NULL) r->source->reread(r->source);
    if (r->source->memory != NULL) return first.code;
    r->ahead_begin = r->stored_at;
    r->ahead_size = 0;
    task->error.code = GLINT_OK;
    task->failed_source = NULL;
    int e = read_run_block(r);
    if (e == GLINT_E_SHUFFLE_CORRUPT)
        text_format(task->error.cause, sizeof task->error.cause, "%s; the second read failed too",
                    first.cause);
    return e;
}

/* Reads the next block, of which the current record needs bytes. */
static int load_block(struct run_reader *r)
{
    assert(r->at == r->limit);
    if (task_is_cancelled(r->task))
        return error_set(&r->task->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    int e = read_run_block(r);
    return e == GLINT_E_SHUFFLE_CORRUPT ? reread_block(r) : e;
}

/* Copies the next `size` raw bytes, which may span blocks, to `out`; skips them if it is NULL. */
static int read_raw_bytes(struct run_reader *r, uint8_t *out, uint64_t size)
{
    while (size > 0) {
        if (r->at == r->limit) {
            int e = load_block(r);
            if (e < 0) return e;
        }
        uint64_t n = (uint64_t)(r->limit - r->at);
        if (n > size) n = size;
        if (out != NULL) {
            memcpy(out, r->at, n);
            out += n;
        }
        r->at += n;
        size -= n;
    }
    return 0;
}

/* Reads a varint whose bytes may span blocks. */
static int read_varint(struct run_reader *r, uint64_t *out)
{
    uint8_t bytes[10];
    unsigned n = 0;
    do {
        int e = read_raw_bytes(r, &bytes[n], 1);
        if (e < 0) return e;
    } while (bytes[n++] >= 0x80 && n < sizeof bytes);
    return codec_get_varint(bytes, bytes + n, out) == n
               ? 0
               : set_reader_corrupt(r, "a record is malformed");
}

/* The fast path needs no bounds checks; sizes below 128 are one byte each. */
static int read_record_sizes(struct run_reader *r, uint64_t *key_size, uint64_t *value_size)
{
    if (r->limit - r->at >= RUN_RECORD_HEADER_MAX) {
        if ((r->at[0] | r->at[1]) < 0x80) {
            *key_size = r->at[0];
            *value_size = r->at[1];
            r->at += 2;
            return 0;
        }
        unsigned a = codec_get_varint(r->at, r->limit, key_size);
        unsigned b = a > 0 ? codec_get_varint(r->at + a, r->limit, value_size) : 0;
        r->at += a + b;
        return b > 0 ? 0 : set_reader_corrupt(r, "a record is malformed");
    }
    int e = read_varint(r, key_size);
    return e < 0 ? e : read_varint(r, value_size);
}

/* Reads the key of a record that is not completely in the current block. */
static int read_spanning_key(struct run_reader *r, uint64_t size)
{
    r->key_bytes.size = 0;
    if (!buffer_reserve(&r->key_bytes, size + 1)) return error_no_memory(&r->task->error);
    int e = read_raw_bytes(r, r->key_bytes.data, size);
    r->key = (struct glint_slice){r->key_bytes.data, size};
    return e;
}

int run_reader_next(struct run_reader *r)
{
    if (r->value_left > 0) {
        int e = read_raw_bytes(r, NULL, r->value_left);
        if (e < 0) return e;
        r->value_left = 0;
    }
    if (r->records_left == 0) {
        /* Bytes left over mean that the index or the blocks are wrong: records may be missing. */
        bool whole = r->at == r->limit && r->stored_at == r->part.bytes && r->raw_at == r->part.raw;
        return whole ? 0 : set_reader_corrupt(r, "it contains more than its index says");
    }
    uint64_t key_size, value_size;
    int e = read_record_sizes(r, &key_size, &value_size);
    if (e < 0) return e;
    uint64_t in_block = (uint64_t)(r->limit - r->at);
    uint64_t left = in_block + (r->part.raw - r->raw_at);
    if (key_size > KEY_BYTES_MAX || value_size > VALUE_BYTES_MAX || key_size + value_size > left)
        return set_reader_corrupt(r, "a record is larger than its partition");
    r->records_left--;
    r->value_size = r->value_left = value_size;
    if (key_size + value_size <= in_block) {
        r->key = (struct glint_slice){r->at, key_size};
        r->at += key_size;
        return 1;
    }
    e = read_spanning_key(r, key_size);
    return e < 0 ? e : 1;
}

int run_reader_value(struct run_reader *r, struct buffer *scratch, struct glint_slice *out)
{
    assert(r->value_left == r->value_size);
    uint64_t size = r->value_size;
    r->value_left = 0;
    if (size <= (uint64_t)(r->limit - r->at)) {
        *out = (struct glint_slice){r->at, size};
        r->at += size;
        return 0;
    }
    scratch->size = 0;
    if (!buffer_reserve(scratch, size)) return error_no_memory(&r->task->error);
    int e = read_raw_bytes(r, scratch->data, size);
    if (e < 0) return e;
    scratch->size = size;
    *out = (struct glint_slice){scratch->data, size};
    return 0;
}

void run_reader_close(struct run_reader *r)
{
    mem_free(r->raw);
    mem_free(r->ahead);
    buffer_fini(&r->key_bytes);
    *r = (struct run_reader){.source = NULL};
}

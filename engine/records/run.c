/* A finished run as a source of bytes, and its destruction.
 *
 * A file is opened for each read and closed again. A read is a whole block or more, so that costs
 * little, and a merge of 128 runs in every slot needs only one file descriptor per slot. */
#include "engine/records/run.h"

#include "engine/base/text.h"
#include "engine/records/bytes.h"

#include <assert.h>
#include <limits.h>
#include <lz4.h>

/* Only the first error is kept, so only its source. */
static void task_set_failed_source(struct glint_task *task, const struct run_source *source)
{
    if (task->error.code == GLINT_OK) task->failed_source = source;
}

/* Sets the task's error to SHUFFLE_CORRUPT, with the source's name and `what`, and
 * task->failed_source. Returns the code. */
static int run_set_corrupt_error(struct glint_task *task, const struct run_source *source,
                                 const char *what)
{
    task_set_failed_source(task, source);
    return error_set(&task->error, GLINT_E_SHUFFLE_CORRUPT, "check the disk under --work-dir",
                     "%s: %s", source->name, what);
}

/* run_source.read of a run that is a file. */
static int run_file_read(const struct run_source *source, struct glint_task *task, uint64_t offset,
                         uint64_t size, uint8_t *out)
{
    const struct run *run = (const struct run *)source;
    static_assert(offsetof(struct run, source) == 0, "cast back from its first member");
    assert(run->path != NULL && offset + size <= source->bytes);
    int file = run->env->open(run->env, ENV_CWD, run->path, ENV_READ);
    int64_t n = file;
    if (file >= 0) {
        n = env_read_full(run->env, file, out, size, offset);
        run->env->close(run->env, file); /* read only: an error of close does not matter */
    }
    if (n < 0) {
        task_set_failed_source(task, source);
        return error_set_system(&task->error, GLINT_E_SPILL_IO, (int)n, file < 0 ? "open" : "read",
                                run->path);
    }
    if ((uint64_t)n < size) return run_set_corrupt_error(task, source, "the file ends early");
    return 0;
}

void run_destroy(struct run *run)
{
    if (run->path != NULL) run->env->remove(run->env, ENV_CWD, run->path, false);
    mem_free(run->path);
    mem_free(run->memory);
    if (run->memory_taken > 0) atomic_fetch_add(run->run_memory, run->memory_taken);
    mem_free(run->parts);
    mem_free(run->numbers);
    *run = (struct run){.path = NULL};
}

/* ---- The index */

#define SPARSE_PARTITIONS_MIN 64u /* with fewer a search costs more than it saves */

struct run_part run_find_part(const struct run *run, uint32_t partition)
{
    assert(partition < run->partitions);
    if (run->numbers == NULL) return run->parts[partition];
    uint32_t low = 0, high = run->used;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (run->numbers[middle] < partition)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < run->used && run->numbers[low] == partition) return run->parts[low];
    return (struct run_part){.records = 0};
}

/* Leaves only partitions with records in the index, if that makes it small. When out of memory it
 * stays as it is. */
static void run_compact_index(struct run *run)
{
    uint32_t used = 0, n = 0;
    assert(run->numbers == NULL);
    if (run->partitions < SPARSE_PARTITIONS_MIN) return;
    for (uint32_t p = 0; p < run->partitions; p++) used += run->parts[p].records > 0;
    if (used > run->partitions / 2) return;
    /* + 1: no allocation of 0 bytes for an empty run. */
    struct run_part *parts = mem_alloc(sizeof *parts * (used + 1));
    uint32_t *numbers = mem_alloc(sizeof *numbers * (used + 1));
    if (parts == NULL || numbers == NULL) {
        mem_free(parts);
        mem_free(numbers);
        return;
    }
    for (uint32_t p = 0; p < run->partitions; p++) {
        if (run->parts[p].records == 0) continue;
        parts[n] = run->parts[p];
        numbers[n++] = p;
    }
    assert(n == used);
    mem_free(run->parts);
    run->parts = parts;
    run->numbers = numbers;
    run->used = used;
}

/* ---- Reads a partition of a run block by block, and verifies everything.
 *
 * A damaged block is read a second time, since it may have been damaged in transit.
 *
 * An uncompressed block in memory is used in place. Otherwise there are two buffers: for bytes read
 * ahead and for the decompressed block. A key that spans blocks is copied when its record is read;
 * a value only on demand. */

#define LZ4_RATIO_MAX 255u

static int set_reader_corrupt_error(struct run_reader *r, const char *what)
{
    return run_set_corrupt_error(r->task, r->source, what);
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
    r->ahead_begin = r->ahead.size = 0;
    if (p.records == 0)
        return p.bytes == 0 && p.raw == 0 ? 0 : set_reader_corrupt_error(r, "invalid index");
    /* A record has at least two bytes, and lz4 compresses at most 255 times: this bounds what a
     * wrong index can make the reader allocate. */
    bool inside = p.offset <= slice.source->bytes && p.bytes <= slice.source->bytes - p.offset;
    bool sane = p.raw / 2 >= p.records && p.raw / LZ4_RATIO_MAX <= p.bytes;
    return inside && sane ? 0 : set_reader_corrupt_error(r, "invalid index");
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
    uint64_t have = r->ahead_begin + r->ahead.size - r->stored_at;
    if (have < size) {
        uint64_t most = RUN_BLOCK_HEADER_BYTES + RUN_BLOCK_BYTES;
        uint64_t left = r->part.bytes - r->stored_at, want = left < most ? left : most;
        assert(size <= most && have <= r->ahead.size);
        if (have > 0) memmove(r->ahead.data, r->ahead.data + (r->stored_at - r->ahead_begin), have);
        r->ahead_begin = r->stored_at;
        r->ahead.size = have;
        uint64_t more = want - have;
        if (!buffer_reserve(&r->ahead, more)) return error_no_memory(&r->task->error);
        int e = r->source->read(r->source, r->task, r->part.offset + r->stored_at + have, more,
                                r->ahead.data + have);
        if (e < 0) return e;
        r->ahead.size += more;
    }
    *out = r->ahead.data + (r->stored_at - r->ahead_begin);
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
    if (!buffer_reserve(&r->raw, most)) return error_no_memory(&r->task->error);
    int n =
        LZ4_decompress_safe((const char *)payload, (char *)r->raw.data, (int)b.stored, (int)b.raw);
    if (n < 0 || (uint32_t)n != b.raw)
        return set_reader_corrupt_error(r, "a block cannot be decompressed");
    r->at = r->raw.data;
    r->limit = r->raw.data + b.raw;
    return 0;
}

static int read_run_block(struct run_reader *r)
{
    const uint8_t *block = NULL;
    uint64_t left = r->part.bytes - r->stored_at;
    if (left <= RUN_BLOCK_HEADER_BYTES) return set_reader_corrupt_error(r, "the blocks end early");
    int e = read_stored_bytes(r, RUN_BLOCK_HEADER_BYTES, &block);
    if (e < 0) return e;
    /* Check the sizes before they are used; the checksum covers them, but needs the payload. */
    struct run_block b = run_block_decode_sizes(block);
    if (b.raw == 0 || b.raw > RUN_BLOCK_BYTES || b.raw > r->part.raw - r->raw_at || b.stored == 0 ||
        b.stored > b.raw || b.stored > left - RUN_BLOCK_HEADER_BYTES)
        return set_reader_corrupt_error(r, "a block has an invalid size");
    e = read_stored_bytes(r, RUN_BLOCK_HEADER_BYTES + (uint64_t)b.stored, &block);
    if (e < 0) return e;
    if (!run_block_is_intact(block, b.stored, r->stored_at))
        return set_reader_corrupt_error(r, "a block does not match its checksum");
    e = decompress_block(r, block + RUN_BLOCK_HEADER_BYTES, b);
    if (e < 0) return e;
    r->stored_at += RUN_BLOCK_HEADER_BYTES + (uint64_t)b.stored;
    r->raw_at += b.raw;
    assert(r->stored_at <= r->part.bytes && r->raw_at <= r->part.raw);
    return 0;
}

/* Reads the current block again from its origin. Returns the first error if the source has no other
 * copy. */
static int reread_run_block(struct run_reader *r)
{
    /* Clear the first error: only the result of the second read counts. */
    struct glint_task *task = r->task;
    struct glint_error first = task->error;
    if (r->source->reread != NULL) r->source->reread(r->source);
    if (r->source->memory != NULL) return first.code;
    r->ahead_begin = r->stored_at;
    r->ahead.size = 0;
    task->error.code = GLINT_OK;
    task->failed_source = NULL;
    int e = read_run_block(r);
    if (e == GLINT_E_SHUFFLE_CORRUPT)
        text_format(task->error.cause, sizeof task->error.cause, "%s; the second read failed too",
                    first.cause);
    return e;
}

/* Reads the next block, of which the current record needs bytes. */
static int load_next_run_block(struct run_reader *r)
{
    assert(r->at == r->limit);
    if (task_check_cancelled(r->task) != 0) return GLINT_E_INTERRUPTED;
    int e = read_run_block(r);
    return e == GLINT_E_SHUFFLE_CORRUPT ? reread_run_block(r) : e;
}

/* Copies the next `size` raw bytes, which may span blocks, to `out`; skips them if it is NULL. */
static int read_raw_bytes(struct run_reader *r, uint8_t *out, uint64_t size)
{
    while (size > 0) {
        if (r->at == r->limit) {
            int e = load_next_run_block(r);
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
               : set_reader_corrupt_error(r, "a record is malformed");
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
        return b > 0 ? 0 : set_reader_corrupt_error(r, "a record is malformed");
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
        return whole ? 0 : set_reader_corrupt_error(r, "it contains more than its index says");
    }
    uint64_t key_size, value_size;
    int e = read_record_sizes(r, &key_size, &value_size);
    if (e < 0) return e;
    uint64_t in_block = (uint64_t)(r->limit - r->at);
    uint64_t left = in_block + (r->part.raw - r->raw_at);
    if (key_size > KEY_BYTES_MAX || value_size > VALUE_BYTES_MAX || key_size + value_size > left)
        return set_reader_corrupt_error(r, "a record is larger than its partition");
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
    buffer_fini(&r->raw);
    buffer_fini(&r->ahead);
    buffer_fini(&r->key_bytes);
    *r = (struct run_reader){.source = NULL};
}

/* ---- Writing a run: records are collected in a block, blocks in a buffer, which is flushed to a
 * file when it exceeds the memory limit. lz4 is tried on each block; after a block that does not
 * compress a number of blocks are stored without trying, up to LZ4_SKIP_MAX, so that incompressible
 * data such as hashes costs little CPU time. */

#define WRITE_BYTES        (256 * KIB) /* per system call, about */
#define MEMORY_STEP_BYTES  (256 * KIB)
#define MEMORY_LARGE_BYTES MIB /* from this size on reserve the maximum at once */
#define LZ4_RAW_MIN        256u
#define LZ4_SKIP_MAX       63u

int run_writer_init(struct run_writer *w, struct glint_task *task, uint32_t partitions,
                    uint64_t memory_max)
{
    assert(partitions > 0 && partitions <= PARTITIONS_MAX);
    *w = (struct run_writer){.task = task, .partitions = partitions, .memory_max = memory_max};
    w->file = -1;
    w->compress = memory_max == 0 || task->compress_outputs;
    w->parts = mem_zalloc(partitions * sizeof *w->parts);
    w->block = mem_alloc(RUN_BLOCK_BYTES);
    if (w->parts != NULL && w->block != NULL) return 0;
    run_writer_abort(w);
    return error_no_memory(&task->error);
}

/* Of a run that will be compressed, or go to a file, the size in memory is not known. If memory is
 * short, store_run_block says so. */
void run_writer_reserve(struct run_writer *w, uint64_t bytes)
{
    if (!w->compress && bytes <= w->memory_max) buffer_reserve(&w->stored, bytes);
}

static int create_run_file(struct run_writer *w)
{
    assert(w->file < 0 && w->path == NULL);
    struct glint_task *task = w->task;
    char path[PATH_MAX];
    if (!text_format(path, sizeof path, "%s/run-%llu-%llu", task->options->work_dir,
                     (unsigned long long)task->attempt_id, (unsigned long long)task->file_count++))
        return error_set(&task->error, GLINT_E_WORK_DIR,
                         "use a shorter directory: --work-dir, or work_dir in cluster.toml",
                         "the path %s is too long", path);
    char *path_copy = mem_strdup(path);
    if (path_copy == NULL) return error_no_memory(&task->error);
    int file = task->env->open(task->env, ENV_CWD, path, ENV_CREATE);
    if (file < 0) {
        mem_free(path_copy);
        return error_set_system(&task->error, GLINT_E_SPILL_IO, file, "create", path);
    }
    w->file = file;
    w->path = path_copy;
    return 0;
}

/* Returns the reserved bytes to the budget that all runs of the process share. */
static void release_run_memory(struct run_writer *w)
{
    if (w->memory_taken > 0) atomic_fetch_add(w->task->run_memory, w->memory_taken);
    w->memory_taken = 0;
}

/* Returns whether the run may have `size` bytes in memory. Reserves missing bytes from the shared
 * budget, in large steps, since all tasks compete for the one atomic. */
static bool reserve_run_memory(struct run_writer *w, uint64_t size)
{
    if (size <= w->memory_taken) return true;
    if (size > w->memory_max || w->task->run_memory == NULL) return false;
    uint64_t step = size - w->memory_taken, left = atomic_load(w->task->run_memory);
    if (step < MEMORY_STEP_BYTES) step = MEMORY_STEP_BYTES;
    do
        if (left < step) return false;
    while (!atomic_compare_exchange_weak(w->task->run_memory, &left, left - step));
    w->memory_taken += step;
    return true;
}

/* Writes the finished blocks to the file. From then on the run is not in memory, so its reservation
 * is released. */
static int flush_run_to_file(struct run_writer *w)
{
    if (w->file < 0) {
        int r = create_run_file(w);
        if (r < 0) return r;
    }
    int r = env_write_all(w->task->env, w->file, w->stored.data, w->stored.size);
    if (r < 0)
        return error_set_write(&w->task->error, GLINT_E_SPILL_IO, r, w->path, w->flushed,
                               w->stored.size);
    w->flushed += w->stored.size;
    w->stored.size = 0;
    release_run_memory(w);
    return 0;
}

/* Writes the payload of a block to `out`, which has space for RUN_BLOCK_BYTES, and returns its
 * size. lz4 must save at least an eighth: otherwise decompressing costs more than it saves. */
static uint32_t compress_payload(struct run_writer *w, const uint8_t *raw, uint32_t size,
                                 uint8_t *out)
{
    if (w->compress && size >= LZ4_RAW_MIN && w->lz4_pause == 0) {
        uint32_t most = size - size / 8;
        int n = LZ4_compress_default((const char *)raw, (char *)out, (int)size, (int)most);
        if (n > 0) {
            w->lz4_skip = 0;
            return (uint32_t)n;
        }
        w->lz4_skip = w->lz4_skip * 2 + 1 < LZ4_SKIP_MAX ? w->lz4_skip * 2 + 1 : LZ4_SKIP_MAX;
        w->lz4_pause = w->lz4_skip;
    } else if (w->lz4_pause > 0) {
        w->lz4_pause--;
    }
    memcpy(out, raw, size);
    return size;
}

static int store_run_block(struct run_writer *w, const uint8_t *raw, uint32_t size)
{
    assert(size > 0 && size <= RUN_BLOCK_BYTES);
    if (task_check_cancelled(w->task) != 0) return GLINT_E_INTERRUPTED;
    struct buffer *stored = &w->stored;
    /* A run in a file collects WRITE_BYTES before each write; one in memory may grow further. */
    if (w->file >= 0 && stored->size >= WRITE_BYTES) {
        int r = flush_run_to_file(w);
        if (r < 0) return r;
    }
    uint64_t room = RUN_BLOCK_HEADER_BYTES + (uint64_t)size;
    if (room > stored->capacity - stored->size && stored->size >= MEMORY_LARGE_BYTES)
        room += w->memory_max; /* grow once, to the maximum: doubling would copy each time */
    if (!buffer_reserve(stored, room)) return error_no_memory(&w->task->error);
    uint8_t *out = stored->data + stored->size;
    /* part->bytes is the block's offset in its partition, the seed of its checksum. */
    struct run_part *part = &w->parts[w->partition];
    struct run_block b = {.stored = compress_payload(w, raw, size, out + RUN_BLOCK_HEADER_BYTES),
                          .raw = size};
    assert(b.stored > 0 && b.stored <= b.raw);
    run_block_write_header(out, b, part->bytes);
    stored->size += RUN_BLOCK_HEADER_BYTES + (uint64_t)b.stored;
    part->bytes += RUN_BLOCK_HEADER_BYTES + (uint64_t)b.stored;
    part->raw += b.raw;
    return w->file < 0 && !reserve_run_memory(w, stored->size) ? flush_run_to_file(w) : 0;
}

static int finish_run_block(struct run_writer *w)
{
    const uint32_t size = w->block_size;
    w->block_size = 0;
    return size > 0 ? store_run_block(w, w->block, size) : 0;
}

/* Appends bytes to the block. Whole blocks are stored directly from `data`, without a copy. */
static int append_to_run_block(struct run_writer *w, const uint8_t *data, uint64_t size)
{
    int r = 0;
    while (size > 0 && r == 0) {
        uint64_t room = RUN_BLOCK_BYTES - w->block_size, n = size < room ? size : room;
        if (n == RUN_BLOCK_BYTES) {
            r = store_run_block(w, data, RUN_BLOCK_BYTES);
        } else {
            memcpy(w->block + w->block_size, data, n);
            w->block_size += (uint32_t)n;
            if (n == room) r = finish_run_block(w);
        }
        data += n;
        size -= n;
    }
    return r;
}

/* Ends the current partition and starts `partition`, on a block boundary. */
static int begin_run_partition(struct run_writer *w, uint32_t partition)
{
    assert(partition > w->partition && partition < w->partitions);
    int r = finish_run_block(w);
    if (r < 0) return r;
    w->partition = partition;
    w->parts[partition].offset = w->flushed + w->stored.size;
    return 0;
}

int run_set_record_too_large_error(struct glint_task *task, struct glint_slice key,
                                   struct glint_slice value)
{
    assert(!run_record_fits(key, value));
    return error_set(
        &task->error, GLINT_E_VALUE_LIMIT,
        "a key has at most 16 MiB, a value 4 GiB: check that the right column is the key",
        "a record with a key of %llu and a value of %llu bytes cannot be shuffled",
        (unsigned long long)key.size, (unsigned long long)value.size);
}

int run_writer_add(struct run_writer *w, uint32_t partition, struct glint_slice key,
                   struct glint_slice value)
{
    int r = partition != w->partition ? begin_run_partition(w, partition) : 0;
    if (r < 0) return r;
    if (!run_record_fits(key, value)) return run_set_record_too_large_error(w->task, key, value);
    w->parts[partition].records++;
    w->records++;
    /* Records that fit into the current block take this fast path, others span blocks. */
    if (RUN_RECORD_HEADER_MAX + key.size + value.size <= RUN_BLOCK_BYTES - w->block_size) {
        uint8_t *out = w->block + w->block_size;
        out += codec_put_varint(out, key.size);
        out += codec_put_varint(out, value.size);
        bytes_copy(out, key.data, key.size);
        out += key.size;
        bytes_copy(out, value.data, value.size);
        w->block_size = (uint32_t)(out + value.size - w->block);
        return 0;
    }
    uint8_t header[RUN_RECORD_HEADER_MAX];
    unsigned n = codec_put_varint(header, key.size);
    n += codec_put_varint(header + n, value.size);
    r = append_to_run_block(w, header, n);
    if (r == 0) r = append_to_run_block(w, key.data, key.size);
    if (r == 0) r = append_to_run_block(w, value.data, value.size);
    return r;
}

int run_writer_begin_records(struct run_writer *w, uint32_t partition, uint64_t records)
{
    int r = partition != w->partition ? begin_run_partition(w, partition) : 0;
    w->parts[partition].records += records;
    w->records += records;
    return r;
}

/* Blocks that are not compressed may be small; lz4 finds more in a full one. */
int run_writer_append_records(struct run_writer *w, const uint8_t *data, uint64_t size)
{
    if (w->compress) return append_to_run_block(w, data, size);
    int r = finish_run_block(w);
    while (size > 0 && r == 0) {
        const uint32_t n = size < RUN_BLOCK_BYTES ? (uint32_t)size : (uint32_t)RUN_BLOCK_BYTES;
        r = store_run_block(w, data, n);
        data += n;
        size -= n;
    }
    return r;
}

/* Trims the memory of a run that stays in memory: there may be thousands of them. */
static uint8_t *trim_run_memory(struct buffer *stored)
{
    uint8_t *memory = stored->data;
    const uint64_t unused = stored->capacity - stored->size;
    if (unused > 4 * KIB && unused > stored->size / 8) memory = mem_trim(memory, stored->size);
    *stored = (struct buffer){NULL, 0, 0};
    return memory;
}

int run_writer_finish(struct run_writer *w, struct run *out)
{
    int r = finish_run_block(w);
    if (r == 0 && w->file >= 0 && w->stored.size > 0) r = flush_run_to_file(w);
    if (r == 0 && w->file >= 0) {
        int file = w->file;
        w->file = -1;
        r = w->task->env->close(w->task->env, file);
        if (r < 0) r = error_set_system(&w->task->error, GLINT_E_SPILL_IO, r, "close", w->path);
    }
    if (r < 0) return r;
    *out = (struct run){.parts = w->parts,
                        .partitions = w->partitions,
                        .records = w->records,
                        .path = w->path,
                        .env = w->task->env};
    out->source = (struct run_source){.bytes = w->flushed + w->stored.size,
                                      .read = run_file_read,
                                      .name = w->path != NULL ? w->path : "a run in memory"};
    if (w->path == NULL) {
        out->memory = trim_run_memory(&w->stored);
        out->source.memory = out->memory;
        out->memory_taken =
            out->source.bytes < w->memory_taken ? out->source.bytes : w->memory_taken;
        out->run_memory = w->task->run_memory;
        w->memory_taken -= out->memory_taken; /* run_writer_abort releases the rest */
    }
    w->parts = NULL;
    w->path = NULL;
    run_compact_index(out);
    run_writer_abort(w);
    return 0;
}

void run_writer_abort(struct run_writer *w)
{
    if (w->task == NULL) return;
    if (w->file >= 0) w->task->env->close(w->task->env, w->file);
    if (w->path != NULL) w->task->env->remove(w->task->env, ENV_CWD, w->path, false);
    release_run_memory(w);
    mem_free(w->path);
    mem_free(w->parts);
    mem_free(w->block);
    buffer_fini(&w->stored);
    *w = (struct run_writer){.file = -1};
}

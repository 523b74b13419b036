/* Writing a run: records are collected in a block, blocks in a buffer, which is flushed to a file
 * when it exceeds the memory limit. lz4 is tried on each block; after a block that does not
 * compress a number of blocks are stored without trying, up to LZ4_SKIP_MAX, so that incompressible
 * data such as hashes costs little CPU time. */
#include "engine/records/run_block.h"

#include "engine/base/text.h"
#include "engine/records/bytes.h"

#include <limits.h>
#include <lz4.h>

#define WRITE_BYTES        (256 * KIB) /* per system call, about */
#define MEMORY_STEP_BYTES  (256 * KIB)
#define MEMORY_LARGE_BYTES MIB /* from this size on reserve the maximum at once */
#define LZ4_RAW_MIN        256u
#define LZ4_SKIP_MAX       63u

int run_file_read(const struct run_source *source, struct glint_task *task, uint64_t offset,
                  uint64_t size, uint8_t *out);

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
 * short, store_block says so. */
void run_writer_expect(struct run_writer *w, uint64_t bytes)
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
static int flush_stored(struct run_writer *w)
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

static int store_block(struct run_writer *w, const uint8_t *raw, uint32_t size)
{
    assert(size > 0 && size <= RUN_BLOCK_BYTES);
    if (task_is_cancelled(w->task))
        return error_set(&w->task->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    struct buffer *stored = &w->stored;
    /* A run in a file collects WRITE_BYTES before each write; one in memory may grow further. */
    if (w->file >= 0 && stored->size >= WRITE_BYTES) {
        int r = flush_stored(w);
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
    run_block_encode(out, b, part->bytes);
    stored->size += RUN_BLOCK_HEADER_BYTES + (uint64_t)b.stored;
    part->bytes += RUN_BLOCK_HEADER_BYTES + (uint64_t)b.stored;
    part->raw += b.raw;
    return w->file < 0 && !reserve_run_memory(w, stored->size) ? flush_stored(w) : 0;
}

static int flush_block(struct run_writer *w)
{
    const uint32_t size = w->block_size;
    w->block_size = 0;
    return size > 0 ? store_block(w, w->block, size) : 0;
}

/* Appends bytes to the block. Whole blocks are stored directly from `data`, without a copy. */
static int append_raw(struct run_writer *w, const uint8_t *data, uint64_t size)
{
    int r = 0;
    while (size > 0 && r == 0) {
        uint64_t room = RUN_BLOCK_BYTES - w->block_size, n = size < room ? size : room;
        if (n == RUN_BLOCK_BYTES) {
            r = store_block(w, data, RUN_BLOCK_BYTES);
        } else {
            memcpy(w->block + w->block_size, data, n);
            w->block_size += (uint32_t)n;
            if (n == room) r = flush_block(w);
        }
        data += n;
        size -= n;
    }
    return r;
}

/* Ends the current partition and starts `partition`, on a block boundary. */
static int begin_partition(struct run_writer *w, uint32_t partition)
{
    assert(partition > w->partition && partition < w->partitions);
    int r = flush_block(w);
    if (r < 0) return r;
    w->partition = partition;
    w->parts[partition].offset = w->flushed + w->stored.size;
    return 0;
}

int run_set_record_too_large(struct glint_task *task, struct glint_slice key,
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
    int r = partition != w->partition ? begin_partition(w, partition) : 0;
    if (r < 0) return r;
    if (!run_record_fits(key, value)) return run_set_record_too_large(w->task, key, value);
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
    r = append_raw(w, header, n);
    if (r == 0) r = append_raw(w, key.data, key.size);
    if (r == 0) r = append_raw(w, value.data, value.size);
    return r;
}

int run_writer_begin_records(struct run_writer *w, uint32_t partition, uint64_t records)
{
    int r = partition != w->partition ? begin_partition(w, partition) : 0;
    w->parts[partition].records += records;
    w->records += records;
    return r;
}

/* Blocks that are not compressed may be small; lz4 finds more in a full one. */
int run_writer_append_records(struct run_writer *w, const uint8_t *data, uint64_t size)
{
    if (w->compress) return append_raw(w, data, size);
    int r = flush_block(w);
    while (size > 0 && r == 0) {
        const uint32_t n = size < RUN_BLOCK_BYTES ? (uint32_t)size : (uint32_t)RUN_BLOCK_BYTES;
        r = store_block(w, data, n);
        data += n;
        size -= n;
    }
    return r;
}

/* Trims the memory of a run that stays in memory: there may be thousands of them. */
static uint8_t *shrink_to_size(struct buffer *stored)
{
    uint8_t *memory = stored->data;
    const uint64_t unused = stored->capacity - stored->size;
    if (unused > 4 * KIB && unused > stored->size / 8) {
        uint8_t *exact = mem_grow(memory, stored->size, stored->size);
        if (exact != NULL) memory = exact;
    }
    *stored = (struct buffer){NULL, 0, 0};
    return memory;
}

int run_writer_finish(struct run_writer *w, struct run *out)
{
    int r = flush_block(w);
    if (r == 0 && w->file >= 0 && w->stored.size > 0) r = flush_stored(w);
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
        out->memory = shrink_to_size(&w->stored);
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

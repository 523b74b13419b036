/* Writes and reads the batches of cached blocks. A writer keeps its chunks in memory as long as the
 * store has room, and then moves to a file, or gives up. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/data/batch_codec.h"
#include "engine/executor/cached_block.h"

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <xxhash.h>

#define RESERVE_STEP_BYTES MIB

struct block_writer {
    struct block_store *store;
    struct glint_task *task;
    struct cached_block *block; /* NULL: given up, or added to the store */
    uint64_t reserved;
    int file; /* -1: in memory */
    struct batch_collector collector;
};

/* ---- Files */

static int create_block_file(struct block_store *s, struct cached_block *b, char **out_path,
                             struct glint_error *error)
{
    char path[PATH_MAX];
    pthread_mutex_lock(&s->lock);
    const uint64_t number = s->file_count++;
    pthread_mutex_unlock(&s->lock);
    if (!text_format(path, sizeof path, "%s/block-%u-%u-%llu", s->work_dir, b->rdd, b->partition,
                     (unsigned long long)number))
        return error_set(error, GLINT_E_WORK_DIR, "use a shorter directory: --work-dir",
                         "the path %s is too long", path);
    const int file = s->env->open(s->env, ENV_CWD, path, ENV_CREATE);
    if (file < 0) return error_set_system(error, GLINT_E_SPILL_IO, file, "create", path);
    *out_path = mem_strdup(path);
    if (*out_path != NULL) return file;
    s->env->close(s->env, file);
    s->env->remove(s->env, ENV_CWD, path, false);
    return error_no_memory(error);
}

static int write_chunk(struct block_store *s, int file, struct block_chunk *c, const char *path,
                       struct glint_error *error)
{
    c->checksum = XXH3_64bits(c->data, c->size);
    const int r = env_write_all(s->env, file, c->data, c->size);
    return r == 0 ? 0 : error_set_write(error, GLINT_E_SPILL_IO, r, path, 0, c->size);
}

/* Returns the open file, or a code with *error set and no file. */
static int write_new_file(struct block_store *s, struct cached_block *b, char **out_path,
                          struct glint_error *error)
{
    const int file = create_block_file(s, b, out_path, error);
    int r = file < 0 ? file : 0;
    for (uint64_t i = 0; r == 0 && i < b->chunk_count; i++)
        r = write_chunk(s, file, &b->chunks[i], *out_path, error);
    if (r == 0) return file;
    if (file >= 0) {
        s->env->close(s->env, file);
        s->env->remove(s->env, ENV_CWD, *out_path, false);
        mem_free(*out_path);
    }
    *out_path = NULL;
    return r;
}

int cached_block_write_file(struct block_store *s, struct cached_block *b, char **out_path,
                            struct glint_error *error)
{
    const int file = write_new_file(s, b, out_path, error);
    if (file < 0) return file;
    s->env->close(s->env, file);
    return 0;
}

/* ---- The writer */

struct block_writer *block_writer_open(struct block_store *s, struct glint_task *task, uint32_t rdd,
                                       uint32_t partition, unsigned level,
                                       struct glint_schema schema)
{
    assert((level & ~(unsigned)(GLINT_MEMORY | GLINT_DISK)) == 0 && level != 0);
    struct block_writer *w = mem_zalloc(sizeof *w);
    if (w != NULL) w->block = mem_zalloc(sizeof *w->block);
    if (w == NULL || w->block == NULL) {
        mem_free(w);
        error_no_memory(&task->error);
        return NULL;
    }
    w->store = s;
    w->task = task;
    w->file = -1;
    w->collector.schema = schema;
    *w->block = (struct cached_block){
        .rdd = rdd, .partition = partition, .level = level, .refs = 1, .in_memory = true};
    return w;
}

static void unreserve(struct block_writer *w)
{
    if (w->reserved > 0) block_store_unreserve(w->store, w->reserved);
    w->reserved = 0;
}

static void give_up(struct block_writer *w, const struct glint_error *why)
{
    if (why != NULL && why->code != GLINT_OK) log_error(LOG_WARN, NULL, why);
    if (w->file >= 0) w->store->env->close(w->store->env, w->file);
    w->file = -1;
    unreserve(w);
    if (w->block == NULL) return;
    w->block->refs = 0;
    cached_block_free(w->store, w->block);
    w->block = NULL;
}

/* Writes all chunks so far to a file, frees their memory, and goes on there. */
static int move_to_file(struct block_writer *w, struct glint_error *error)
{
    struct cached_block *b = w->block;
    w->file = write_new_file(w->store, b, &b->path, error);
    if (w->file < 0) return error->code;
    for (uint64_t i = 0; i < b->chunk_count; i++) {
        mem_free(b->chunks[i].data);
        b->chunks[i].data = NULL;
    }
    b->in_memory = false;
    unreserve(w);
    return 0;
}

/* Whether `size` more bytes fit into memory. */
static bool reserve(struct block_writer *w, uint64_t size)
{
    const uint64_t need = w->block->bytes + size;
    if ((w->block->level & GLINT_MEMORY) == 0) return false;
    if (need <= w->reserved) return true;
    uint64_t step = need - w->reserved;
    if (step < RESERVE_STEP_BYTES &&
        block_store_reserve(w->store, w->task, w->block->rdd, RESERVE_STEP_BYTES))
        step = RESERVE_STEP_BYTES;
    else if (!block_store_reserve(w->store, w->task, w->block->rdd, step))
        return false;
    w->reserved += step;
    return true;
}

static void add_block_chunk(struct block_writer *w, const struct glint_batch *batch)
{
    struct cached_block *b = w->block;
    struct glint_error error = {.code = GLINT_OK};
    struct block_chunk c = {.size = batch_encoded_size(batch)};
    if (w->file < 0 && !reserve(w, c.size)) {
        if ((b->level & GLINT_DISK) == 0 || move_to_file(w, &error) != 0) {
            give_up(w, &error);
            return;
        }
    }
    c.data = mem_alloc(c.size);
    if (c.data == NULL ||
        !array_reserve(&b->chunks, &b->chunk_capacity, b->chunk_count + 1, sizeof *b->chunks)) {
        mem_free(c.data);
        give_up(w, NULL); /* as without room */
        return;
    }
    batch_encode(batch, c.data);
    if (w->file >= 0) {
        const int r = write_chunk(w->store, w->file, &c, b->path, &error);
        mem_free(c.data);
        c.data = NULL;
        if (r != 0) {
            give_up(w, &error);
            return;
        }
    }
    b->bytes += c.size;
    b->chunks[b->chunk_count++] = c;
}

static void flush_collector(struct block_writer *w)
{
    struct glint_batch batch;
    if (w->collector.rows == 0) return;
    batch_collector_take(&w->collector, &batch);
    if (w->block != NULL) add_block_chunk(w, &batch);
}

void block_writer_push(struct block_writer *w, const struct glint_batch *batch)
{
    if (w->block == NULL) return;
    assert(batch->rows > 0);
    if (!batch_collector_fits(&w->collector, batch)) flush_collector(w);
    if (w->block == NULL) return;
    /* A batch that is nearly full is encoded as it is. */
    if (batch->rows > BATCH_ROWS_MAX / 2 || !batch_collector_fits(&w->collector, batch)) {
        flush_collector(w);
        if (w->block != NULL) add_block_chunk(w, batch);
    } else if (!batch_collector_add(&w->collector, batch)) {
        give_up(w, NULL);
    }
}

void block_writer_commit(struct block_writer *w)
{
    flush_collector(w);
    struct cached_block *b = w->block;
    if (b == NULL) return;
    struct glint_error error = {.code = GLINT_OK};
    if (w->file < 0 && (b->level & GLINT_MEMORY) == 0 && move_to_file(w, &error) != 0) {
        give_up(w, &error); /* on disk only, and empty */
        return;
    }
    if (w->reserved > b->bytes) {
        block_store_unreserve(w->store, w->reserved - b->bytes);
        w->reserved = b->bytes;
    }
    if (!block_store_add(w->store, b)) {
        give_up(w, NULL); /* another attempt has added it */
        return;
    }
    w->reserved = 0; /* the block's now */
    w->block = NULL;
    block_store_release(w->store, b);
}

void block_writer_close(struct block_writer *w)
{
    if (w == NULL) return;
    give_up(w, NULL);
    batch_collector_fini(&w->collector);
    mem_free(w);
}

/* ---- Reading */

static int read_chunk(struct block_store *s, const struct cached_block *b, int file,
                      uint64_t offset, const struct block_chunk *c, uint8_t *out,
                      struct glint_error *error)
{
    const int64_t n = env_read_full(s->env, file, out, c->size, offset);
    if (n < 0) return error_set_system(error, GLINT_E_SPILL_IO, (int)n, "read", b->path);
    if ((uint64_t)n == c->size && XXH3_64bits(out, c->size) == c->checksum) return 0;
    return error_set(error, GLINT_E_SPILL_IO, NULL, "a cached block is damaged: %s", b->path);
}

struct block_cursor {
    struct glint_schema schema;
    enum flow (*push)(void *arg, const struct glint_batch *batch);
    void *arg;
};

static enum flow push_chunk(const struct block_cursor *to, struct glint_task *task,
                            const uint8_t *data, uint64_t size)
{
    struct glint_batch batch;
    if (batch_decode((struct glint_slice){data, size}, to->schema, &batch))
        return to->push(to->arg, &batch);
    error_set(&task->error, GLINT_E_SPILL_IO, NULL, "a cached block does not parse");
    return FLOW_FAIL;
}

static enum flow read_block_file(struct block_store *s, const struct cached_block *b,
                                 struct glint_task *task, const struct block_cursor *to,
                                 bool *out_bad)
{
    enum flow flow = FLOW_MORE;
    uint64_t offset = 0, largest = 0;
    for (uint64_t i = 0; i < b->chunk_count; i++)
        if (b->chunks[i].size > largest) largest = b->chunks[i].size;
    uint8_t *data = mem_alloc(largest);
    int r = data == NULL ? error_no_memory(&task->error) : 0;
    const int file = r == 0 ? s->env->open(s->env, ENV_CWD, b->path, ENV_READ) : -1;
    if (r == 0 && file < 0) {
        *out_bad = true;
        r = error_set_system(&task->error, GLINT_E_SPILL_IO, file, "open", b->path);
    }
    for (uint64_t i = 0; r == 0 && flow == FLOW_MORE && i < b->chunk_count; i++) {
        r = read_chunk(s, b, file, offset, &b->chunks[i], data, &task->error);
        *out_bad = r != 0;
        if (r == 0) flow = push_chunk(to, task, data, b->chunks[i].size);
        offset += b->chunks[i].size;
    }
    if (file >= 0) s->env->close(s->env, file);
    mem_free(data);
    return r != 0 ? FLOW_FAIL : flow;
}

enum flow cached_block_read(struct block_store *s, struct cached_block *b, struct glint_task *task,
                            struct glint_schema schema,
                            enum flow (*push)(void *arg, const struct glint_batch *batch),
                            void *arg)
{
    const struct block_cursor to = {schema, push, arg};
    enum flow flow = FLOW_MORE;
    bool bad = false;
    pthread_mutex_lock(&s->lock);
    const bool in_memory = b->in_memory;
    pthread_mutex_unlock(&s->lock);
    if (!in_memory) {
        flow = read_block_file(s, b, task, &to, &bad);
        if (bad) block_store_remove(s, b);
        return flow;
    }
    for (uint64_t i = 0; flow == FLOW_MORE && i < b->chunk_count; i++)
        flow = push_chunk(&to, task, b->chunks[i].data, b->chunks[i].size);
    return flow;
}

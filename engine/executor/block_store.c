/* See store.h. A hash table and a list by last use, under one lock. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/executor/store.h"
#include "engine/records/batch_codec.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

#define BLOCK_BUCKETS 1024u

/* A header and an encoded batch (remote_block.c). A block is its chunks, one after the other: in
 * memory, in a file and on the way to another executor. */
struct block_chunk {
    uint8_t *data;         /* NULL: in the block's file only */
    uint64_t offset, size; /* in the block; the header included */
};

struct cached_block {
    struct cached_block *next;     /* in the bucket */
    TAILQ_ENTRY(cached_block) use; /* by last use, the oldest first */
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
    TAILQ_HEAD(, cached_block) uses;
    struct cached_block_state *changes;
    uint64_t change_count, change_capacity;
};

static void cached_block_free(struct block_store *s, struct cached_block *b);
static int write_block_file(struct block_store *s, struct cached_block *b, char **out_path,
                            struct glint_error *error);

struct block_store *block_store_create(struct env *env, const char *work_dir, uint64_t memory_max)
{
    struct block_store *s = mem_zalloc(sizeof *s);
    if (s == NULL) return NULL;
    s->env = env;
    s->work_dir = work_dir;
    s->memory_max = memory_max;
    pthread_mutex_init(&s->lock, NULL);
    TAILQ_INIT(&s->uses);
    return s;
}

void block_store_destroy(struct block_store *s)
{
    if (s == NULL) return;
    for (uint32_t i = 0; i < BLOCK_BUCKETS; i++)
        for (struct cached_block *b = s->buckets[i], *next; b != NULL; b = next) {
            next = b->next;
            cached_block_free(s, b);
        }
    pthread_mutex_destroy(&s->lock);
    mem_free(s->changes);
    mem_free(s);
}

/* ---- Lists; called with the lock */

static uint32_t block_bucket_of(uint32_t rdd, uint32_t partition)
{
    return (rdd * 31 + partition) % BLOCK_BUCKETS;
}

static struct cached_block **find_cached_block(struct block_store *s, uint32_t rdd,
                                               uint32_t partition)
{
    struct cached_block **link = &s->buckets[block_bucket_of(rdd, partition)];
    while (*link != NULL && ((*link)->rdd != rdd || (*link)->partition != partition))
        link = &(*link)->next;
    return link;
}

/* Out of memory a change is not reported: the driver's knowledge is a hint. */
static void record_block_change(struct block_store *s, const struct cached_block *b)
{
    if (!array_reserve(&s->changes, &s->change_capacity, s->change_count + 1, sizeof *s->changes))
        return;
    s->changes[s->change_count++] = (struct cached_block_state){
        .rdd = b->rdd,
        .partition = b->partition,
        .memory_bytes = !b->removed && b->in_memory && !b->drop_memory ? b->bytes : 0,
        .disk_bytes = !b->removed && b->path != NULL ? b->bytes : 0};
}

/* Returns the block if the caller must free it, without the lock. */
static struct cached_block *remove_cached_block(struct block_store *s, struct cached_block **link)
{
    struct cached_block *b = *link;
    assert(!b->removed);
    *link = b->next;
    TAILQ_REMOVE(&s->uses, b, use);
    b->removed = true;
    record_block_change(s, b);
    if (b->refs > 0) return NULL;
    if (b->in_memory) s->memory_bytes -= b->bytes;
    b->in_memory = false;
    return b;
}

static void free_block_chunks(struct cached_block *b)
{
    for (uint64_t i = 0; i < b->chunk_count; i++) {
        mem_free(b->chunks[i].data);
        b->chunks[i].data = NULL;
    }
}

/* Frees a block that is in no list and has no references; removes its file. */
static void cached_block_free(struct block_store *s, struct cached_block *b)
{
    assert(b->refs == 0);
    free_block_chunks(b);
    if (b->path != NULL) s->env->remove(s->env, ENV_CWD, b->path, false);
    mem_free(b->path);
    mem_free(b->chunks);
    mem_free(b);
}

void block_store_remove_rdd(struct block_store *s, uint32_t rdd)
{
    struct cached_block *removed = NULL;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < BLOCK_BUCKETS; i++)
        for (struct cached_block **link = &s->buckets[i]; *link != NULL;) {
            if ((*link)->rdd != rdd) {
                link = &(*link)->next;
                continue;
            }
            struct cached_block *b = remove_cached_block(s, link);
            if (b == NULL) continue;
            b->next = removed;
            removed = b;
        }
    pthread_mutex_unlock(&s->lock);
    for (struct cached_block *next; removed != NULL; removed = next) {
        next = removed->next;
        cached_block_free(s, removed);
    }
}

uint64_t block_store_memory_bytes(struct block_store *s)
{
    pthread_mutex_lock(&s->lock);
    const uint64_t bytes = s->memory_bytes;
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

uint32_t block_store_take_changes(struct block_store *s, struct cached_block_state **out)
{
    pthread_mutex_lock(&s->lock);
    const uint64_t count = s->change_count;
    *out = count > 0 ? s->changes : NULL;
    if (count > 0) {
        s->changes = NULL;
        s->change_count = s->change_capacity = 0;
    }
    pthread_mutex_unlock(&s->lock);
    return (uint32_t)count;
}

/* ---- References */

struct cached_block *block_store_acquire(struct block_store *s, uint32_t rdd, uint32_t partition)
{
    pthread_mutex_lock(&s->lock);
    struct cached_block *b = *find_cached_block(s, rdd, partition);
    if (b != NULL) {
        b->refs++;
        TAILQ_REMOVE(&s->uses, b, use);
        TAILQ_INSERT_TAIL(&s->uses, b, use);
    }
    pthread_mutex_unlock(&s->lock);
    return b;
}

void block_store_release(struct block_store *s, struct cached_block *b)
{
    pthread_mutex_lock(&s->lock);
    assert(b->refs > 0);
    const bool last = --b->refs == 0;
    if (last && b->in_memory && (b->removed || b->drop_memory)) {
        s->memory_bytes -= b->bytes;
        b->in_memory = b->drop_memory = false;
        free_block_chunks(b);
    }
    const bool removed = last && b->removed;
    pthread_mutex_unlock(&s->lock);
    if (removed) cached_block_free(s, b);
}

/* Takes ownership of a finished block, with one reference. Its reserved memory becomes the
 * block's. Returns false if the store has a block of that partition. */
static bool block_store_add(struct block_store *s, struct cached_block *b)
{
    assert(b->refs == 1 && !b->removed && b->in_memory == (b->path == NULL));
    pthread_mutex_lock(&s->lock);
    struct cached_block **link = find_cached_block(s, b->rdd, b->partition);
    const bool added = *link == NULL;
    if (added) {
        *link = b;
        TAILQ_INSERT_TAIL(&s->uses, b, use);
        record_block_change(s, b);
    }
    pthread_mutex_unlock(&s->lock);
    return added;
}

/* Removes a block to which the caller has a reference. */
static void block_store_remove(struct block_store *s, struct cached_block *b)
{
    pthread_mutex_lock(&s->lock);
    assert(b->refs > 0);
    if (!b->removed) remove_cached_block(s, find_cached_block(s, b->rdd, b->partition));
    pthread_mutex_unlock(&s->lock);
}

/* ---- Eviction */

/* Returns the least recently used block that can be evicted for one of `rdd`, with a reference. */
static struct cached_block *find_block_to_evict(struct block_store *s, uint32_t rdd)
{
    struct cached_block *b;
    TAILQ_FOREACH(b, &s->uses, use)
    if (b->refs == 0 && b->in_memory && b->rdd != rdd) break;
    if (b != NULL) b->refs++;
    return b;
}

/* The block has one more reference, from find_block_to_evict. */
static void evict_block(struct block_store *s, struct glint_task *task, struct cached_block *b)
{
    struct glint_error error = {.code = GLINT_OK};
    char *path = NULL;
    if ((b->level & GLINT_DISK) != 0) {
        const int file = write_block_file(s, b, &path, &error);
        if (file >= 0)
            s->env->close(s->env, file);
        else
            log_error(LOG_WARN, NULL, &error);
    }
    task->counters.values[COUNT_CACHE_EVICTIONS]++;
    pthread_mutex_lock(&s->lock);
    if (path != NULL) {
        b->path = path;
        b->drop_memory = true;
        if (!b->removed) record_block_change(s, b);
    } else if (!b->removed) {
        remove_cached_block(s, find_cached_block(s, b->rdd, b->partition)); /* freed below */
    }
    pthread_mutex_unlock(&s->lock);
    block_store_release(s, b);
}

/* Evicts until `bytes` more fit beside the blocks of `rdd`, and reserves them. Returns false if
 * that is not possible. Counts evictions in the task. */
static bool block_store_reserve(struct block_store *s, struct glint_task *task, uint32_t rdd,
                                uint64_t bytes)
{
    for (;;) {
        pthread_mutex_lock(&s->lock);
        const bool fits = bytes <= s->memory_max && s->memory_bytes <= s->memory_max - bytes;
        if (fits) s->memory_bytes += bytes;
        struct cached_block *victim =
            !fits && bytes <= s->memory_max ? find_block_to_evict(s, rdd) : NULL;
        pthread_mutex_unlock(&s->lock);
        if (victim == NULL) return fits;
        evict_block(s, task, victim);
    }
}

/* ---- Writes and reads the batches of cached blocks. A writer keeps its chunks in memory as long
 * as the store has room, and then moves to a file, or gives up. */

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

static int write_block_chunk(struct block_store *s, int file, const struct block_chunk *c,
                             const char *path, struct glint_error *error)
{
    const int r = env_write_all(s->env, file, c->data, c->size);
    return r == 0 ? 0 : error_set_write(error, GLINT_E_SPILL_IO, r, path, 0, c->size);
}

/* Writes all chunks to a new file and sets their checksums and *out_path. Returns the open file, or
 * a code with *error set, *out_path NULL and no file. */
static int write_block_file(struct block_store *s, struct cached_block *b, char **out_path,
                            struct glint_error *error)
{
    const int file = create_block_file(s, b, out_path, error);
    int r = file < 0 ? file : 0;
    for (uint64_t i = 0; r == 0 && i < b->chunk_count; i++)
        r = write_block_chunk(s, file, &b->chunks[i], *out_path, error);
    if (r == 0) return file;
    if (file >= 0) {
        s->env->close(s->env, file);
        s->env->remove(s->env, ENV_CWD, *out_path, false);
        mem_free(*out_path);
    }
    *out_path = NULL;
    return r;
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

/* Returns what is reserved beyond `bytes`. */
static void unreserve_block_memory(struct block_writer *w, uint64_t bytes)
{
    if (w->reserved <= bytes) return;
    pthread_mutex_lock(&w->store->lock);
    assert(w->store->memory_bytes >= w->reserved);
    w->store->memory_bytes -= w->reserved - bytes;
    pthread_mutex_unlock(&w->store->lock);
    w->reserved = bytes;
}

static void block_writer_abandon(struct block_writer *w, const struct glint_error *why)
{
    if (why != NULL && why->code != GLINT_OK) log_error(LOG_WARN, NULL, why);
    if (w->file >= 0) w->store->env->close(w->store->env, w->file);
    w->file = -1;
    unreserve_block_memory(w, 0);
    if (w->block == NULL) return;
    w->block->refs = 0;
    cached_block_free(w->store, w->block);
    w->block = NULL;
}

/* Writes all chunks so far to a file, frees their memory, and goes on there. */
static int block_writer_move_to_file(struct block_writer *w, struct glint_error *error)
{
    struct cached_block *b = w->block;
    w->file = write_block_file(w->store, b, &b->path, error);
    if (w->file < 0) return error->code;
    free_block_chunks(b);
    b->in_memory = false;
    unreserve_block_memory(w, 0);
    return 0;
}

/* Whether `size` more bytes fit into memory. */
static bool reserve_block_memory(struct block_writer *w, uint64_t size)
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
    struct block_chunk c = {.offset = b->bytes, .size = block_chunk_size(batch)};
    if (w->file < 0 && !reserve_block_memory(w, c.size)) {
        if ((b->level & GLINT_DISK) == 0 || block_writer_move_to_file(w, &error) != 0) {
            block_writer_abandon(w, &error);
            return;
        }
    }
    c.data = mem_alloc(c.size);
    if (c.data == NULL ||
        !array_reserve(&b->chunks, &b->chunk_capacity, b->chunk_count + 1, sizeof *b->chunks)) {
        mem_free(c.data);
        block_writer_abandon(w, NULL); /* as without room */
        return;
    }
    block_chunk_encode(batch, c.offset, c.data);
    if (w->file >= 0) {
        const int r = write_block_chunk(w->store, w->file, &c, b->path, &error);
        mem_free(c.data);
        c.data = NULL;
        if (r != 0) {
            block_writer_abandon(w, &error);
            return;
        }
    }
    b->bytes += c.size;
    b->chunks[b->chunk_count++] = c;
}

static void block_writer_flush_collector(struct block_writer *w)
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
    if (!batch_collector_fits(&w->collector, batch)) block_writer_flush_collector(w);
    if (w->block == NULL) return;
    /* A batch that is nearly full is encoded as it is. */
    if (batch->rows > BATCH_ROWS_MAX / 2 || !batch_collector_fits(&w->collector, batch)) {
        block_writer_flush_collector(w);
        if (w->block != NULL) add_block_chunk(w, batch);
    } else if (!batch_collector_add(&w->collector, batch)) {
        block_writer_abandon(w, NULL);
    }
}

void block_writer_commit(struct block_writer *w)
{
    block_writer_flush_collector(w);
    struct cached_block *b = w->block;
    if (b == NULL) return;
    struct glint_error error = {.code = GLINT_OK};
    if (w->file < 0 && (b->level & GLINT_MEMORY) == 0 &&
        block_writer_move_to_file(w, &error) != 0) {
        block_writer_abandon(w, &error); /* on disk only, and empty */
        return;
    }
    unreserve_block_memory(w, b->bytes);
    if (!block_store_add(w->store, b)) {
        block_writer_abandon(w, NULL); /* another attempt has added it */
        return;
    }
    w->reserved = 0; /* the block's now */
    w->block = NULL;
    block_store_release(w->store, b);
}

void block_writer_close(struct block_writer *w)
{
    if (w == NULL) return;
    block_writer_abandon(w, NULL);
    batch_collector_fini(&w->collector);
    mem_free(w);
}

/* ---- Reading */

/* It does not change while the caller has a reference. */
static bool is_block_in_memory(struct block_store *s, const struct cached_block *b)
{
    pthread_mutex_lock(&s->lock);
    const bool in_memory = b->in_memory;
    pthread_mutex_unlock(&s->lock);
    return in_memory;
}

static int read_block_chunk(struct block_store *s, const struct cached_block *b, int file,
                            const struct block_chunk *c, uint8_t *out, struct glint_error *error)
{
    const int64_t n = env_read_full(s->env, file, out, c->size, c->offset);
    if (n < 0) return error_set_system(error, GLINT_E_SPILL_IO, (int)n, "read", b->path);
    if ((uint64_t)n == c->size && block_chunk_is_intact(out, c->size, c->offset)) return 0;
    return error_set(error, GLINT_E_SPILL_IO, NULL, "a cached block is damaged: %s", b->path);
}

static enum flow push_chunk_rows(const struct block_reader *to, struct glint_task *task,
                                 const uint8_t *data, uint64_t size)
{
    struct glint_batch batch;
    if (block_chunk_decode((struct glint_slice){data, size}, to->schema, &batch))
        return to->push(to->arg, &batch);
    error_set(&task->error, GLINT_E_SPILL_IO, NULL, "a cached block does not parse");
    return FLOW_FAIL;
}

static enum flow read_block_file(struct block_store *s, const struct cached_block *b,
                                 struct glint_task *task, const struct block_reader *to,
                                 bool *out_bad)
{
    enum flow flow = FLOW_MORE;
    uint64_t largest = 0;
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
        r = read_block_chunk(s, b, file, &b->chunks[i], data, &task->error);
        *out_bad = r != 0;
        if (r == 0) flow = push_chunk_rows(to, task, data, b->chunks[i].size);
    }
    if (file >= 0) s->env->close(s->env, file);
    mem_free(data);
    return r != 0 ? FLOW_FAIL : flow;
}

enum flow cached_block_read(struct block_store *s, struct cached_block *b, struct glint_task *task,
                            const struct block_reader *to)
{
    enum flow flow = FLOW_MORE;
    bool bad = false;
    if (!is_block_in_memory(s, b)) {
        flow = read_block_file(s, b, task, to, &bad);
        if (bad) block_store_remove(s, b);
        return flow;
    }
    for (uint64_t i = 0; flow == FLOW_MORE && i < b->chunk_count; i++)
        flow = push_chunk_rows(to, task, b->chunks[i].data, b->chunks[i].size);
    return flow;
}

/* ---- Serving other executors */

/* What `find_block_range` found: a copy of the bytes, since they may be of several chunks, or the
 * block's file. */
struct served_range {
    struct cached_block *block; /* NULL: the bytes are a copy */
    struct run file;
    uint8_t bytes[];
};

/* The chunk that contains byte `offset` of the block. */
static const struct block_chunk *find_block_chunk(const struct cached_block *b, uint64_t offset)
{
    uint64_t from = 0, to = b->chunk_count;
    assert(offset < b->bytes);
    while (to - from > 1) {
        const uint64_t middle = from + (to - from) / 2;
        if (b->chunks[middle].offset <= offset)
            from = middle;
        else
            to = middle;
    }
    return &b->chunks[from];
}

/* The block has a reference and is in memory; the bytes are in it. */
static void copy_block_range(const struct cached_block *b, uint64_t offset, uint64_t size,
                             uint8_t *out)
{
    for (const struct block_chunk *c = find_block_chunk(b, offset); size > 0; c++) {
        const uint64_t at = offset - c->offset, left = c->size - at;
        const uint64_t n = left < size ? left : size;
        memcpy(out, c->data + at, n);
        out += n;
        offset += n;
        size -= n;
    }
}

static void find_block_range(void *arg, const struct get_request *g, struct fetch_found *out,
                             struct glint_error *why)
{
    struct block_store *s = arg;
    struct cached_block *b =
        g->id <= UINT32_MAX ? block_store_acquire(s, (uint32_t)g->id, g->partition) : NULL;
    const bool found = b != NULL && g->offset <= b->bytes && g->size <= b->bytes - g->offset;
    const bool in_memory = found && is_block_in_memory(s, b);
    struct served_range *r = found ? mem_zalloc(sizeof *r + (in_memory ? g->size : 0)) : NULL;
    if (r != NULL && in_memory) {
        copy_block_range(b, g->offset, g->size, r->bytes);
        *out = (struct fetch_found){.bytes = {r->bytes, g->size}, .is_range = true, .ref = r};
    } else if (r != NULL) {
        r->block = b;
        r->file = (struct run){.source.bytes = b->bytes, .path = b->path, .env = s->env};
        *out = (struct fetch_found){.file = &r->file, .ref = r};
    } else if (found) {
        error_no_memory(why);
    } else {
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "it was removed");
    }
    if (b != NULL && (r == NULL || in_memory)) block_store_release(s, b);
}

static void release_block_range(void *arg, void *ref)
{
    struct served_range *r = ref;
    if (r->block != NULL) block_store_release(arg, r->block);
    mem_free(r);
}

struct fetch_source block_store_source(struct block_store *s)
{
    return (struct fetch_source){
        .find = find_block_range, .release = release_block_range, .arg = s};
}

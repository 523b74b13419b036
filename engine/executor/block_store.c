/* See block_store.h. A hash table and a list by last use, under one lock. */
#include "engine/base/log.h"
#include "engine/executor/cached_block.h"

#include <assert.h>
#include <string.h>

struct block_store *block_store_create(struct env *env, const char *work_dir, uint64_t memory_max)
{
    struct block_store *s = mem_zalloc(sizeof *s);
    if (s == NULL) return NULL;
    s->env = env;
    s->work_dir = work_dir;
    s->memory_max = memory_max;
    pthread_mutex_init(&s->lock, NULL);
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

static uint32_t bucket_of(uint32_t rdd, uint32_t partition)
{
    return (rdd * 31 + partition) % BLOCK_BUCKETS;
}

static struct cached_block **find_cached_block(struct block_store *s, uint32_t rdd,
                                               uint32_t partition)
{
    struct cached_block **link = &s->buckets[bucket_of(rdd, partition)];
    while (*link != NULL && ((*link)->rdd != rdd || (*link)->partition != partition))
        link = &(*link)->next;
    return link;
}

static void unlink_use(struct block_store *s, struct cached_block *b)
{
    *(b->older != NULL ? &b->older->newer : &s->oldest) = b->newer;
    *(b->newer != NULL ? &b->newer->older : &s->newest) = b->older;
    b->older = b->newer = NULL;
}

static void link_newest(struct block_store *s, struct cached_block *b)
{
    b->older = s->newest;
    *(s->newest != NULL ? &s->newest->newer : &s->oldest) = b;
    s->newest = b;
}

/* Out of memory a change is not reported: the driver's knowledge is a hint. */
static void report_change(struct block_store *s, const struct cached_block *b)
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
    unlink_use(s, b);
    b->removed = true;
    report_change(s, b);
    if (b->refs > 0) return NULL;
    if (b->in_memory) s->memory_bytes -= b->bytes;
    b->in_memory = false;
    return b;
}

static void free_chunks(struct cached_block *b)
{
    for (uint64_t i = 0; i < b->chunk_count; i++) {
        mem_free(b->chunks[i].data);
        b->chunks[i].data = NULL;
    }
}

void cached_block_free(struct block_store *s, struct cached_block *b)
{
    assert(b->refs == 0);
    free_chunks(b);
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
        unlink_use(s, b);
        link_newest(s, b);
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
        free_chunks(b);
    }
    const bool removed = last && b->removed;
    pthread_mutex_unlock(&s->lock);
    if (removed) cached_block_free(s, b);
}

bool block_store_add(struct block_store *s, struct cached_block *b)
{
    assert(b->refs == 1 && !b->removed && b->in_memory == (b->path == NULL));
    pthread_mutex_lock(&s->lock);
    struct cached_block **link = find_cached_block(s, b->rdd, b->partition);
    const bool added = *link == NULL;
    if (added) {
        *link = b;
        link_newest(s, b);
        report_change(s, b);
    }
    pthread_mutex_unlock(&s->lock);
    return added;
}

void block_store_remove(struct block_store *s, struct cached_block *b)
{
    pthread_mutex_lock(&s->lock);
    assert(b->refs > 0);
    if (!b->removed) remove_cached_block(s, find_cached_block(s, b->rdd, b->partition));
    pthread_mutex_unlock(&s->lock);
}

/* ---- Eviction */

/* Returns the least recently used block that can be evicted for one of `rdd`, with a reference. */
static struct cached_block *find_victim(struct block_store *s, uint32_t rdd)
{
    struct cached_block *b = s->oldest;
    while (b != NULL && (b->refs > 0 || !b->in_memory || b->rdd == rdd)) b = b->newer;
    if (b != NULL) b->refs++;
    return b;
}

/* The block has one more reference, from find_victim. */
static void evict(struct block_store *s, struct glint_task *task, struct cached_block *b)
{
    struct glint_error error = {.code = GLINT_OK};
    char *path = NULL;
    if ((b->level & GLINT_DISK) != 0 && cached_block_write_file(s, b, &path, &error) != 0)
        log_error(LOG_WARN, NULL, &error);
    task->counters.values[COUNT_CACHE_EVICTIONS]++;
    pthread_mutex_lock(&s->lock);
    if (path != NULL) {
        b->path = path;
        b->drop_memory = true;
        if (!b->removed) report_change(s, b);
    } else if (!b->removed) {
        remove_cached_block(s, find_cached_block(s, b->rdd, b->partition)); /* freed below */
    }
    pthread_mutex_unlock(&s->lock);
    block_store_release(s, b);
}

bool block_store_reserve(struct block_store *s, struct glint_task *task, uint32_t rdd,
                         uint64_t bytes)
{
    for (;;) {
        pthread_mutex_lock(&s->lock);
        const bool fits = bytes <= s->memory_max && s->memory_bytes <= s->memory_max - bytes;
        if (fits) s->memory_bytes += bytes;
        struct cached_block *victim = !fits && bytes <= s->memory_max ? find_victim(s, rdd) : NULL;
        pthread_mutex_unlock(&s->lock);
        if (victim == NULL) return fits;
        evict(s, task, victim);
    }
}

void block_store_unreserve(struct block_store *s, uint64_t bytes)
{
    pthread_mutex_lock(&s->lock);
    assert(s->memory_bytes >= bytes);
    s->memory_bytes -= bytes;
    pthread_mutex_unlock(&s->lock);
}

/* See mem_cache.h. There are few large blocks, so a list in order of age serves.
 *
 * The limit is of the blocks in use and of those that are kept together: what a task has freed is
 * there for the next one, and many kept blocks do not add to a task that needs all memory. */
#include "engine/base/mem_cache.h"

#include "engine/base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_MAX 32u

struct kept_block {
    void *block;
    uint64_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by the lock, as are the blocks: the oldest first. */
static uint64_t bytes_limit, bytes_in_use, bytes;
static uint32_t count;
static struct kept_block kept[BLOCKS_MAX];

static void *remove_cached_memory(uint32_t at)
{
    void *block = kept[at].block;
    assert(at < count && bytes >= kept[at].size);
    bytes -= kept[at].size;
    count--;
    memmove(&kept[at], &kept[at + 1], (count - at) * sizeof kept[0]);
    return block;
}

/* Frees the oldest blocks until there are at most so many and `more` bytes are within the limit. */
static void shrink_to(uint32_t blocks, uint64_t more)
{
    const uint64_t used = bytes_in_use + more;
    const uint64_t room = bytes_limit > used ? bytes_limit - used : 0;
    while (count > blocks || bytes > room) free(remove_cached_memory(0));
}

void *mem_cache_take(uint64_t size)
{
    pthread_mutex_lock(&lock);
    uint32_t best = count;
    /* A block of twice the size or more would waste memory. */
    for (uint32_t i = 0; i < count; i++)
        if (kept[i].size >= size && kept[i].size / 2 < size &&
            (best == count || kept[i].size < kept[best].size))
            best = i;
    uint64_t found = best < count ? kept[best].size : 0;
    void *block = best < count ? remove_cached_memory(best) : NULL;
    bytes_in_use += found;
    pthread_mutex_unlock(&lock);
    return block;
}

void mem_cache_add(uint64_t size)
{
    pthread_mutex_lock(&lock);
    bytes_in_use += size;
    shrink_to(BLOCKS_MAX, 0);
    pthread_mutex_unlock(&lock);
}

bool mem_cache_give(void *block, uint64_t size, bool keep)
{
    pthread_mutex_lock(&lock);
    assert(bytes_in_use >= size);
    bytes_in_use -= size;
    const bool fits = keep && size <= bytes_limit && bytes_in_use <= bytes_limit - size;
    if (fits) {
        shrink_to(BLOCKS_MAX - 1, size);
        kept[count++] = (struct kept_block){block, size};
        bytes += size;
    }
    pthread_mutex_unlock(&lock);
    return fits;
}

bool mem_cache_clear(void)
{
    pthread_mutex_lock(&lock);
    const bool any = count > 0;
    shrink_to(0, 0);
    pthread_mutex_unlock(&lock);
    return any;
}

void mem_keep_large_blocks(int64_t more_bytes)
{
    pthread_mutex_lock(&lock);
    assert(more_bytes >= 0 || bytes_limit >= (uint64_t)-more_bytes);
    bytes_limit += (uint64_t)more_bytes;
    shrink_to(BLOCKS_MAX, 0);
    pthread_mutex_unlock(&lock);
}

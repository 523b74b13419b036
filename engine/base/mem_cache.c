/* See mem_cache.h. There are few large blocks, so a list in order of age serves. */
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
static uint64_t bytes_limit, bytes; /* guarded by the lock, as are the blocks: the oldest first */
static uint32_t count;
static struct kept_block kept[BLOCKS_MAX];

static void *remove_block(uint32_t at)
{
    void *block = kept[at].block;
    assert(at < count && bytes >= kept[at].size);
    bytes -= kept[at].size;
    count--;
    memmove(&kept[at], &kept[at + 1], (count - at) * sizeof kept[0]);
    return block;
}

static void shrink_to(uint64_t limit, uint32_t blocks)
{
    while (count > blocks || bytes > limit) free(remove_block(0));
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
    void *block = best < count ? remove_block(best) : NULL;
    pthread_mutex_unlock(&lock);
    return block;
}

bool mem_cache_give(void *block, uint64_t size)
{
    pthread_mutex_lock(&lock);
    const bool fits = size <= bytes_limit;
    if (fits) {
        shrink_to(bytes_limit - size, BLOCKS_MAX - 1);
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
    shrink_to(bytes_limit, BLOCKS_MAX);
    pthread_mutex_unlock(&lock);
}

/* A counter in front of malloc provides fault injection; arenas and buffers are built on top. */
#include "engine/base/mem.h"

#include "engine/base/error.h"
#include "engine/limits.h"

#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- There are few large blocks, so a list in order of age serves.
 *
 * The limit is of the blocks in use and of those that are kept together: what a task has freed is
 * there for the next one, and many kept blocks do not add to a task that needs all memory. */

#define BLOCKS_MAX 32u

struct kept_block {
    void *block;
    uint64_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by the lock, as are the blocks: the oldest first. */
static uint64_t bytes_limit, bytes_in_use, bytes;
static uint32_t kept_count;
static struct kept_block kept_blocks[BLOCKS_MAX];

static void *remove_cached_memory(uint32_t at)
{
    void *block = kept_blocks[at].block;
    assert(at < kept_count && bytes >= kept_blocks[at].size);
    bytes -= kept_blocks[at].size;
    kept_count--;
    memmove(&kept_blocks[at], &kept_blocks[at + 1], (kept_count - at) * sizeof kept_blocks[0]);
    return block;
}

/* Frees the oldest blocks until there are at most so many and `more` bytes are within the limit. */
static void mem_cache_shrink(uint32_t blocks, uint64_t more)
{
    const uint64_t used = bytes_in_use + more;
    const uint64_t room = bytes_limit > used ? bytes_limit - used : 0;
    while (kept_count > blocks || bytes > room) free(remove_cached_memory(0));
}

/* Returns a block of `size` bytes or more, not cleared, or NULL. The caller owns it. */
static void *mem_cache_take(uint64_t size)
{
    pthread_mutex_lock(&lock);
    uint32_t best = kept_count;
    /* A block of twice the size or more would waste memory. */
    for (uint32_t i = 0; i < kept_count; i++)
        if (kept_blocks[i].size >= size && kept_blocks[i].size / 2 < size &&
            (best == kept_count || kept_blocks[i].size < kept_blocks[best].size))
            best = i;
    uint64_t found = best < kept_count ? kept_blocks[best].size : 0;
    void *block = best < kept_count ? remove_cached_memory(best) : NULL;
    bytes_in_use += found;
    pthread_mutex_unlock(&lock);
    return block;
}

/* Returns the largest kept block of less than `size` bytes, or NULL. The caller owns it; it is not
 * in use. Sets *out_size. */
static void *mem_cache_take_smaller(uint64_t size, uint64_t *out_size)
{
    pthread_mutex_lock(&lock);
    uint32_t best = kept_count;
    for (uint32_t i = 0; i < kept_count; i++)
        if (kept_blocks[i].size < size &&
            (best == kept_count || kept_blocks[i].size > kept_blocks[best].size))
            best = i;
    *out_size = best < kept_count ? kept_blocks[best].size : 0;
    void *block = best < kept_count ? remove_cached_memory(best) : NULL;
    pthread_mutex_unlock(&lock);
    return block;
}

/* A new block of `size` bytes is in use, for which kept ones may be freed. */
static void mem_cache_count_in_use(uint64_t size)
{
    pthread_mutex_lock(&lock);
    bytes_in_use += size;
    mem_cache_shrink(BLOCKS_MAX, 0);
    pthread_mutex_unlock(&lock);
}

/* A block of `size` bytes is no longer in use. With `keep` it is kept, for which older ones may be
 * freed. Returns false if it is not, or is too large for the limit: the caller still owns it. */
static bool mem_cache_give_back(void *block, uint64_t size, bool keep)
{
    pthread_mutex_lock(&lock);
    assert(bytes_in_use >= size);
    bytes_in_use -= size;
    const bool fits = keep && size <= bytes_limit && bytes_in_use <= bytes_limit - size;
    if (fits) {
        mem_cache_shrink(BLOCKS_MAX - 1, size);
        kept_blocks[kept_count++] = (struct kept_block){block, size};
        bytes += size;
    }
    pthread_mutex_unlock(&lock);
    return fits;
}

/* Frees all blocks. Returns whether there were any. */
static bool mem_cache_clear(void)
{
    pthread_mutex_lock(&lock);
    const bool any = kept_count > 0;
    mem_cache_shrink(0, 0);
    pthread_mutex_unlock(&lock);
    return any;
}

void mem_cache_raise_limit(int64_t more_bytes)
{
    pthread_mutex_lock(&lock);
    assert(more_bytes >= 0 || bytes_limit >= (uint64_t)-more_bytes);
    bytes_limit += (uint64_t)more_bytes;
    mem_cache_shrink(BLOCKS_MAX, 0);
    pthread_mutex_unlock(&lock);
}

/* ---- mem */

#define BLOCK_BYTES_MAX   ((uint64_t)1 << 47) /* adding a few sizes cannot overflow */
#define ARRAY_ITEMS_FIRST 16u

static atomic_int_fast64_t live_blocks;
static atomic_int_fast64_t fail_countdown; /* 0: off */
static atomic_bool fail_stays;

static bool should_allocation_fail(void)
{
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) <= 0) return false;
    int64_t left = atomic_fetch_sub(&fail_countdown, 1);
    if (left != 1) return false;
    if (atomic_load(&fail_stays)) atomic_store(&fail_countdown, 1);
    return true;
}

void mem_fail_at(int64_t n, bool from_then_on)
{
    atomic_store(&fail_stays, from_then_on);
    atomic_store(&fail_countdown, n);
}

int64_t mem_live_blocks(void)
{
    return atomic_load(&live_blocks);
}

#define LARGE_BLOCK_BYTES (4 * MIB)
#define HUGE_PAGE_BYTES   (2 * MIB) /* a multiple of all page sizes */

void mem_set_malloc_thresholds(void)
{
    /* Larger blocks are mmapped and unmapped when freed. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    mallopt(M_TRIM_THRESHOLD, 32 * MIB);
}

/* A large block is freshly mapped each time; huge pages cost one fault per 2 MiB instead of 4 KiB.
 * Only advice: failure is ignored. Not used for all blocks: broadcasts, whose blocks arrive in any
 * order in eight processes at once, took 20 % longer. */
static void advise_huge_pages(uint8_t *block, uint64_t size)
{
    assert(size >= LARGE_BLOCK_BYTES && (uintptr_t)block % HUGE_PAGE_BYTES == 0);
    madvise(block, size & ~(HUGE_PAGE_BYTES - 1), MADV_HUGEPAGE);
}

uint64_t mem_round_up_to_huge_pages(uint64_t size)
{
    if (size < HUGE_PAGE_BYTES || size > BLOCK_BYTES_MAX) return size;
    const uint64_t whole = (size + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    return whole < LARGE_BLOCK_BYTES ? LARGE_BLOCK_BYTES : whole;
}

/* Returns the size to allocate for `size` bytes. Large sizes are rounded to an eighth of a power of
 * two, so that the blocks of similar tasks can be reused; pages that are not used cost nothing. */
static uint64_t rounded_allocation_size(uint64_t size)
{
    const uint64_t whole = (size + READ_SLACK + 63) & ~(uint64_t)63;
    if (whole < LARGE_BLOCK_BYTES) return whole;
    const uint64_t step = ((uint64_t)1 << (63 - __builtin_clzll(whole))) / 8;
    return (whole + step - 1) & ~(step - 1);
}

/* Whether the block can be kept for large ones. malloc may round a smaller one up to that size, but
 * does not align it to a huge page. */
static bool is_large_allocation(void *block)
{
    return malloc_usable_size(block) >= LARGE_BLOCK_BYTES &&
           (uintptr_t)block % HUGE_PAGE_BYTES == 0;
}

/* Gives pages of one large block to another, of the first `size` bytes. Returns how many bytes were
 * moved. */
static uint64_t move_huge_pages(uint8_t *to, uint8_t *from, uint64_t size)
{
    uint64_t at = 0;
    /* One by one: they may come from several mappings, of which mremap takes one at a time. */
    for (; size - at >= HUGE_PAGE_BYTES; at += HUGE_PAGE_BYTES)
        if (mremap(from + at, HUGE_PAGE_BYTES, HUGE_PAGE_BYTES,
                   MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to + at) == MAP_FAILED)
            break;
    return at;
}

/* Gives a new block of `size` bytes the pages of kept ones that are smaller: the kernel need not
 * clear as many. What they contain does not matter. */
static void move_kept_pages(uint8_t *block, uint64_t size)
{
    uint64_t at = 0, kept_size, moved;
    do {
        uint8_t *kept = mem_cache_take_smaller(size - at + 1, &kept_size);
        moved = kept != NULL ? move_huge_pages(block + at, kept, kept_size) : 0;
        at += moved;
        free(kept);
    } while (moved > 0);
}

static void *allocate_fresh_block(uint64_t whole)
{
    const uint64_t alignment = whole < LARGE_BLOCK_BYTES ? 64 : HUGE_PAGE_BYTES;
    void *block = NULL;
    if (posix_memalign(&block, alignment, whole) != 0 &&
        !(mem_cache_clear() && posix_memalign(&block, alignment, whole) == 0))
        return NULL;
    if (!is_large_allocation(block)) return block;
    move_kept_pages(block, whole);
    mem_cache_count_in_use(malloc_usable_size(block));
    return block;
}

/* SIMD loads may read the slack: zeros keep results deterministic and sanitizers quiet. */
static void zero_block_slack(uint8_t *block, uint64_t size)
{
    const uint64_t slack = rounded_allocation_size(size) - size;
    memset(block + size, 0, slack < 64 + READ_SLACK ? slack : READ_SLACK);
}

/* `out_kept`: the block was in use before, so it has its pages. */
static void *find_large_allocation(uint64_t size, bool *out_kept)
{
    if (size > BLOCK_BYTES_MAX || should_allocation_fail()) return NULL;
    const uint64_t whole = rounded_allocation_size(size);
    uint8_t *block = whole >= LARGE_BLOCK_BYTES ? mem_cache_take(whole) : NULL;
    *out_kept = block != NULL;
    if (block == NULL) block = allocate_fresh_block(whole);
    if (block == NULL) return NULL;
    zero_block_slack(block, size);
    atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    return block;
}

void *mem_alloc(uint64_t size)
{
    bool kept;
    return find_large_allocation(size, &kept);
}

void *mem_alloc_small(uint64_t size)
{
    assert(size > 0);
    if (size >= LARGE_BLOCK_BYTES) return mem_alloc(size);
    void *block = should_allocation_fail() ? NULL : malloc(size);
    if (block != NULL) atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    return block;
}

void *mem_zalloc(uint64_t size)
{
    void *block = mem_alloc(size);
    if (block == NULL) return NULL;
    if (size >= LARGE_BLOCK_BYTES) advise_huge_pages(block, size);
    memset(block, 0, size);
    return block;
}

void *mem_zalloc_or_fail(uint64_t size, struct glint_error *error)
{
    void *memory = mem_zalloc(size);
    if (memory == NULL) error_no_memory(error);
    return memory;
}

/* `keep`: for the next allocation, if the block is large. */
static void cache_or_free_block(void *block, bool keep)
{
    if (block == NULL) return;
    int64_t before = atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
    assert(before > 0);
    if (!is_large_allocation(block) || !mem_cache_give_back(block, malloc_usable_size(block), keep))
        free(block);
}

/* Moves bytes from one large block to another by giving it the pages, so that nothing is copied or
 * cleared. What the system does not move is copied. Returns whether `from` has lost pages. */
static bool move_bytes_to_block(uint8_t *to, uint8_t *from, uint64_t size)
{
    const uint64_t at = move_huge_pages(to, from, size);
    memcpy(to + at, from + at, size - at);
    return at > 0;
}

void *mem_grow(void *block, uint64_t old_size, uint64_t size)
{
    bool kept;
    uint8_t *grown = find_large_allocation(size, &kept);
    if (grown == NULL) return NULL;
    if (size >= LARGE_BLOCK_BYTES) advise_huge_pages(grown, size);
    const uint64_t used = old_size < size ? old_size : size;
    bool moved = false;
    if (block != NULL && is_large_allocation(block) && is_large_allocation(grown) && !kept)
        moved = move_bytes_to_block(grown, block, used);
    else if (block != NULL)
        memcpy(grown, block, used);
    cache_or_free_block(block, !moved);
    return grown;
}

void *mem_trim(void *block, uint64_t size)
{
    if (is_large_allocation(block)) {
        void *exact = mem_grow(block, size, size);
        return exact != NULL ? exact : block;
    }
    assert(rounded_allocation_size(size) <= malloc_usable_size(block));
    uint8_t *same = realloc(block, rounded_allocation_size(size));
    if (same == NULL) return block;
    zero_block_slack(same, size);
    return same;
}

void mem_free(void *block)
{
    cache_or_free_block(block, true);
}

static pthread_key_t thread_block_key;

static void create_thread_block_key(void)
{
    const int r = pthread_key_create(&thread_block_key, free);
    assert(r == 0); /* a process may have 1,024 keys; few libraries need one */
    (void)r;
}

void *mem_block_of_thread(uint64_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, create_thread_block_key);
    void *block = pthread_getspecific(thread_block_key);
    if (block != NULL) return block;
    if (posix_memalign(&block, 64, size) != 0) return NULL;
    if (pthread_setspecific(thread_block_key, block) == 0) return block;
    free(block);
    return NULL;
}

char *mem_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = mem_alloc(size);
    if (copy != NULL) memcpy(copy, text, size);
    return copy;
}

#define ARENA_BLOCK_BYTES (64 * KIB)

struct arena_block {
    struct arena_block *next;
    uint64_t capacity, used;
    _Alignas(64) uint8_t data[];
};

static struct arena_block *arena_add_block(struct arena *a, uint64_t size)
{
    assert((a->first == NULL) == (a->current == NULL) && size <= BLOCK_BYTES_MAX);
    uint64_t last = a->current != NULL ? a->current->capacity : 0;
    uint64_t capacity = last * 2 > MIB ? MIB : last * 2;
    if (capacity < ARENA_BLOCK_BYTES) capacity = ARENA_BLOCK_BYTES;
    if (capacity < size) capacity = size;
    struct arena_block *b = mem_grow(NULL, 0, sizeof *b + capacity);
    if (b == NULL) return NULL;
    b->capacity = capacity;
    b->used = 0;
    b->next = NULL;
    if (a->current != NULL) {
        b->next = a->current->next;
        a->current->next = b;
    } else {
        b->next = a->first;
        a->first = b;
    }
    a->current = b;
    return b;
}

static void *arena_alloc_align(struct arena *a, uint64_t size, uint64_t align)
{
    if (size > BLOCK_BYTES_MAX) return NULL;
    for (struct arena_block *b = a->current; b != NULL; b = b->next) {
        uint64_t at = (b->used + align - 1) & ~(align - 1);
        if (at > b->capacity || b->capacity - at < size) continue;
        assert(at >= b->used);
        b->used = at + size;
        a->current = b;
        a->used += size;
        return b->data + at;
    }
    struct arena_block *b = arena_add_block(a, size);
    if (b == NULL) return NULL;
    b->used = size;
    a->used += size;
    return b->data;
}

void *arena_alloc(struct arena *a, uint64_t size)
{
    return arena_alloc_align(a, size, 16);
}

void *arena_alloc_aligned(struct arena *a, uint64_t size)
{
    return size <= BLOCK_BYTES_MAX - READ_SLACK ? arena_alloc_align(a, size + READ_SLACK, 64)
                                                : NULL;
}

void *arena_copy(struct arena *a, const void *data, uint64_t size)
{
    uint8_t *copy = arena_alloc(a, size + 1);
    if (copy == NULL) return NULL;
    if (size > 0) memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
    return arena_copy(a, text, strlen(text));
}

char *arena_format(struct arena *a, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    char *text = arena_alloc(a, (uint64_t)size + 1);
    if (text != NULL) vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

void arena_reset(struct arena *a, uint64_t keep)
{
    uint64_t kept = 0;
    struct arena_block **link = &a->first;
    while (*link != NULL) {
        struct arena_block *b = *link;
        if (kept + b->capacity > keep) {
            *link = b->next;
            mem_free(b);
            continue;
        }
        kept += b->capacity;
        b->used = 0;
        link = &b->next;
    }
    a->current = a->first;
    a->used = 0;
}

void arena_fini(struct arena *a)
{
    arena_reset(a, 0);
    assert(a->first == NULL);
}

/* From this size on a buffer grows by a quarter: doubling would waste too much memory. One that has
 * grown to 2 MiB has huge pages, with one fault each. */
#define BUFFER_LARGE_BYTES (8 * MIB)

bool buffer_grow(struct buffer *b, uint64_t extra)
{
    assert(b->size <= b->capacity && extra > b->capacity - b->size);
    if (extra > BLOCK_BYTES_MAX) return false;
    uint64_t more = b->capacity < BUFFER_LARGE_BYTES ? b->capacity : b->capacity / 4;
    uint64_t capacity = b->capacity + more;
    if (capacity < 256) capacity = 256;
    if (capacity - b->size < extra) capacity = b->size + extra;
    if (b->capacity > 0) capacity = mem_round_up_to_huge_pages(capacity);
    uint8_t *data = mem_grow(b->data, b->size, capacity);
    if (data == NULL) return false;
    b->data = data;
    b->capacity = capacity;
    return true;
}

bool buffer_append(struct buffer *b, const void *data, uint64_t size)
{
    if (!buffer_reserve(b, size)) return false;
    if (size > 0) memcpy(b->data + b->size, data, size);
    b->size += size;
    return true;
}

void buffer_fini(struct buffer *b)
{
    mem_free(b->data);
    *b = (struct buffer){NULL, 0, 0};
}

bool array_grow(void *items, uint64_t *capacity, uint64_t count, uint64_t item_bytes)
{
    uint64_t wanted = *capacity > ARRAY_ITEMS_FIRST / 2 ? 2 * *capacity : ARRAY_ITEMS_FIRST;
    if (count > wanted) wanted = count;
    assert(item_bytes > 0);
    if (wanted > BLOCK_BYTES_MAX / item_bytes) return false;
    void *old, *grown;
    memcpy(&old, items, sizeof old); /* a pointer of any type */
    grown = mem_grow(old, *capacity * item_bytes, wanted * item_bytes);
    if (grown == NULL) return false;
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

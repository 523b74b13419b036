/* Memory: the engine allocates only here, so that a test can make the n-th allocation fail.
 *
 * mem_*: the heap. Blocks are 64-byte aligned, with at least READ_SLACK zeroed bytes readable past
 * their end. struct arena: memory of one task, freed as a whole; its blocks are kept for the next
 * task. */
#ifndef GLINT_BASE_MEM_H
#define GLINT_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return NULL when out of memory. mem_zalloc zeroes the block. Free with mem_free. */
void *mem_alloc(uint64_t size);
/* For many blocks of a few bytes: aligned as malloc does, and without slack. */
void *mem_alloc_small(uint64_t size);
void *mem_zalloc(uint64_t size);
struct glint_error;
/* The same; sets *error to NO_MEMORY before it returns NULL. */
void *mem_zalloc_or_fail(uint64_t size, struct glint_error *error);
/* Returns a new block with the first min(old_size, size) bytes of the old one, which is freed; on
 * NULL the old block is unchanged. Large blocks use huge pages, which reduces page faults for
 * blocks that are filled from front to back, and grow by moving pages instead of bytes. */
void *mem_grow(void *block, uint64_t old_size, uint64_t size);
/* The size with which mem_grow uses huge pages for all of `size` bytes, from 2 MiB on. Pages that
 * are not used cost nothing. */
uint64_t mem_round_up_to_huge_pages(uint64_t size);
/* Gives back what is behind the first `size` bytes: of a small block in place, without a copy.
 * Returns the block, which may be another one, and need not be aligned. */
void *mem_trim(void *block, uint64_t size);
/* NULL is allowed, here and below. */
void mem_free(void *block);
char *mem_strdup(const char *text);
/* Returns a block of this thread, the same at each call, freed when the thread ends; `size` is the
 * same for all. It is no live block and does not fail in tests. NULL when out of memory. */
void *mem_block_of_thread(uint64_t size);
/* Makes malloc keep freed memory for the next task instead of returning it to the kernel, which
 * would have to zero it again. Call it once, at the start of main. */
void mem_set_malloc_thresholds(void);
/* Adds to the limit, at first 0, up to which freed large blocks are kept for the next allocations:
 * of the bytes of those and of the large blocks in use. A negative number takes back. The kernel
 * clears the pages of new blocks, which costs more than filling them. Any thread. */
void mem_cache_raise_limit(int64_t more_bytes);
/* Returns the number of allocated blocks: for tests that look for leaks. */
int64_t mem_live_blocks(void);
/* Makes the n-th allocation from now on fail (1: the next), or that and all later ones. 0: off.
 * Tests only. */
void mem_fail_at(int64_t n, bool from_then_on);

struct arena_block;
/* Memory that is freed as a whole. One thread at a time. */
struct arena {
    struct arena_block *first, *current;
    uint64_t used; /* bytes allocated since the last reset */
};
/* Returns 16-byte aligned memory, or NULL when out of memory. A zeroed arena is empty. */
void *arena_alloc(struct arena *a, uint64_t size);
/* Like arena_alloc, 64-byte aligned and with READ_SLACK readable bytes past the end. */
void *arena_alloc_aligned(struct arena *a, uint64_t size);
/* Copies `size` bytes, after which there is a NUL. */
void *arena_copy(struct arena *a, const void *data, uint64_t size);
char *arena_strdup(struct arena *a, const char *text);
/* Formats a text of any length. */
char *arena_format(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Frees all allocations at once. Keeps up to `keep` bytes of blocks for reuse. */
void arena_reset(struct arena *a, uint64_t keep);
void arena_fini(struct arena *a);

/* A growing byte array. Zeros are empty. Free with buffer_fini. */
struct buffer {
    uint8_t *data;
    uint64_t size, capacity;
};
/* Ensures room for `extra` bytes after `size`. Returns false when out of memory, without
 * changes. */
bool buffer_grow(struct buffer *b, uint64_t extra);
static inline bool buffer_reserve(struct buffer *b, uint64_t extra)
{
    return extra <= b->capacity - b->size || buffer_grow(b, extra);
}
bool buffer_append(struct buffer *b, const void *data, uint64_t size);
void buffer_fini(struct buffer *b);

/* Growing arrays: a pointer, a count and a capacity. Use array_reserve. */
bool array_grow(void *items, uint64_t *capacity, uint64_t count, uint64_t item_bytes);
/* Ensures room for `count` items of `item_bytes` each. `items` is the address of the pointer to the
 * array, which is NULL or from here, and has room for *capacity items; a larger array has at least
 * twice the room, new items are not initialized. Free with mem_free. Returns false when out of
 * memory, without changes. */
static inline bool array_reserve(void *items, uint64_t *capacity, uint64_t count,
                                 uint64_t item_bytes)
{
    return count <= *capacity || array_grow(items, capacity, count, item_bytes);
}

#endif

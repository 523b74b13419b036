/* Memory: every allocation of the engine passes here, so a test can let the n-th one fail.
 *
 * mem_*: the heap. Blocks are 64-byte aligned, with READ_SLACK zeroed-or-owned bytes readable
 * beyond their end. struct arena: memory of one task, given back whole; its blocks stay for the
 * next task. */
#ifndef GLINT_BASE_MEM_H
#define GLINT_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL without memory. */
void *mem_alloc(uint64_t size);
void *mem_zalloc(uint64_t size);
/* Keeps the first min(old_size, size) bytes; on NULL the old block stays. For blocks that are
 * filled from front to back: large ones are in huge pages, a fault for each 2 MiB. */
void *mem_grow(void *block, uint64_t old_size, uint64_t size);
void mem_free(void *block);
char *mem_strdup(const char *text);
/* For the process that owns main: the C library keeps what is freed for the next task instead of
 * handing it to the system, which would have to clear it again. Once, at the start. */
void mem_set_malloc_thresholds(void);
/* Blocks in use: for tests that look for leaks. */
int64_t mem_live_blocks(void);
/* The n-th allocation from now on fails (1: the next), once, or from then on. 0: none. Tests only.
 */
void mem_fail_at(int64_t n, bool from_then_on);

struct arena_block;
struct arena {
    struct arena_block *first, *current;
    uint64_t used; /* bytes handed out since the last reset */
};
/* Zeros are an empty arena. 16-byte aligned; NULL without memory. */
void *arena_alloc(struct arena *a, uint64_t size);
/* As arena_alloc, 64-byte aligned. */
void *arena_alloc_aligned(struct arena *a, uint64_t size);
/* Gives everything back at once. Blocks stay, up to `keep` bytes of them. */
void arena_reset(struct arena *a, uint64_t keep);
void arena_fini(struct arena *a);

/* A growing run of bytes. Zeros are empty. */
struct buffer {
    uint8_t *data;
    uint64_t size, capacity;
};
/* Room for `extra` more bytes beyond size; false without memory, and nothing changed. */
bool buffer_reserve(struct buffer *b, uint64_t extra);
bool buffer_append(struct buffer *b, const void *data, uint64_t size);
void buffer_fini(struct buffer *b);

#endif

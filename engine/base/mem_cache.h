/* Freed large blocks that are kept for the next allocation: a fresh block costs page faults, and
 * the kernel clears its pages. Internal to mem.c. Any thread. */
#ifndef GLINT_BASE_MEM_CACHE_H
#define GLINT_BASE_MEM_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns a block of `size` bytes or more, not cleared, or NULL. The caller owns it. */
void *mem_cache_take(uint64_t size);
/* A new block of `size` bytes is in use, for which kept ones may be freed. */
void mem_cache_add(uint64_t size);
/* A block of `size` bytes is no longer in use. With `keep` it is kept, for which older ones may be
 * freed. Returns false if it is not, or is too large for the limit: the caller still owns it. */
bool mem_cache_give(void *block, uint64_t size, bool keep);
/* Frees all blocks. Returns whether there were any. */
bool mem_cache_clear(void);

#endif

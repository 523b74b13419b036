/* A hierarchical bitmap: a set of small numbers that finds its next member quickly.
 *
 * Level 0 has a bit per number; each level above has a bit per word of the level below that is not
 * zero. Adding, removing and finding the next member take one step per level (three levels for
 * 200,000 numbers), and iterating skips empty ranges. */
#ifndef GLINT_SCHED_HBITMAP_H
#define GLINT_SCHED_HBITMAP_H

#include <stdbool.h>
#include <stdint.h>

#define HBITMAP_NONE       UINT32_MAX
#define HBITMAP_LEVELS_MAX 6u

/* Zero-initialized: an empty set with capacity 0. */
struct hbitmap {
    uint64_t *words;                      /* of all levels, level 0 first */
    uint32_t offsets[HBITMAP_LEVELS_MAX]; /* index of each level's first word */
    uint32_t capacity, levels, word_count;
};

/* Makes numbers below `capacity` valid; members are kept, it never shrinks. Returns false, with the
 * set unchanged, when out of memory. */
bool hbitmap_reserve(struct hbitmap *b, uint32_t capacity);
void hbitmap_fini(struct hbitmap *b); /* leaves an empty set with capacity 0 */
/* `number` is below the capacity. Adding a member or removing a number that is none is allowed. */
void hbitmap_set(struct hbitmap *b, uint32_t number);
void hbitmap_clear(struct hbitmap *b, uint32_t number);
void hbitmap_assign(struct hbitmap *b, uint32_t number, bool member); /* set or clear */
/* Returns the smallest member >= `from`, which may exceed the capacity; HBITMAP_NONE: no such. */
uint32_t hbitmap_next(const struct hbitmap *b, uint32_t from);
bool hbitmap_is_empty(const struct hbitmap *b);
uint64_t hbitmap_memory_bytes(const struct hbitmap *b);

#endif

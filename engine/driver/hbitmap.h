/* A set of small numbers that knows its smallest member from a given one on.
 *
 * Bits, and above them a bit per word that is not empty, level upon level: adding, removing and
 * finding the next member take one step per level (three for 200,000 numbers), and walking the set
 * in order costs nothing for what is not in it. */
#ifndef GLINT_DRIVER_HBITMAP_H
#define GLINT_DRIVER_HBITMAP_H

#include <stdbool.h>
#include <stdint.h>

#define HBITMAP_NONE       UINT32_MAX
#define HBITMAP_LEVELS_MAX 6u

/* Zeros are an empty set with room for nothing. */
struct hbitmap {
    uint64_t *words;                 /* of all levels, the members' own first */
    uint32_t at[HBITMAP_LEVELS_MAX]; /* where each level begins */
    uint32_t capacity, levels, word_count;
};

/* Room for numbers below `capacity`; members stay. False without memory, and nothing changed. */
bool hbitmap_reserve(struct hbitmap *b, uint32_t capacity);
void hbitmap_fini(struct hbitmap *b);
/* Adding what is there, removing what is not: no harm. */
void hbitmap_set(struct hbitmap *b, uint32_t number);
void hbitmap_clear(struct hbitmap *b, uint32_t number);
void hbitmap_assign(struct hbitmap *b, uint32_t number, bool member);
/* The smallest member that is not below `from`; HBITMAP_NONE: there is none. */
uint32_t hbitmap_next(const struct hbitmap *b, uint32_t from);
bool hbitmap_is_empty(const struct hbitmap *b);
uint64_t hbitmap_memory_bytes(const struct hbitmap *b);

#endif

/* A set of small numbers that knows its smallest member from a given one on.
 *
 * Bits, and above them a bit per word that is not empty, level upon level: adding, removing and
 * finding the next member take one step per level (three for 200,000 numbers), and walking the set
 * in order costs nothing for what is not in it. */
#ifndef GLINT_DRIVER_BITS_H
#define GLINT_DRIVER_BITS_H

#include <stdbool.h>
#include <stdint.h>

#define BITS_NONE       UINT32_MAX
#define BITS_LEVELS_MAX 6u

/* Zeros are an empty set with room for nothing. */
struct bits {
    uint64_t *words;              /* of all levels, the members' own first */
    uint32_t at[BITS_LEVELS_MAX]; /* where each level begins */
    uint32_t capacity, levels, word_count;
};

/* Room for numbers below `capacity`; members stay. False without memory, and nothing changed. */
bool bits_reserve(struct bits *b, uint32_t capacity);
void bits_fini(struct bits *b);
/* Adding what is there, removing what is not: no harm. */
void bits_add(struct bits *b, uint32_t number);
void bits_remove(struct bits *b, uint32_t number);
void bits_put(struct bits *b, uint32_t number, bool member);
/* The smallest member that is not below `from`; BITS_NONE: there is none. */
uint32_t bits_next(const struct bits *b, uint32_t from);
bool bits_empty(const struct bits *b);
uint64_t bits_memory_bytes(const struct bits *b);

#endif

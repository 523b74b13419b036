/* An exact hash set of strings: the baseline of filter-vs-set. The table is uthash's, hashed by
 * XXH3, so that the hash function is no disadvantage. One thread may add; look-ups change nothing.
 */
#ifndef GLINT_JOBS_PAPERS_EXACT_SET_H
#define GLINT_JOBS_PAPERS_EXACT_SET_H

#include "engine/glint.h"

struct exact_set;

/* Creates a set for `capacity` strings, at least 1. Returns NULL with the context's error set. */
struct exact_set *exact_set_new(struct glint *g, uint64_t capacity);
void exact_set_free(struct exact_set *set); /* accepts NULL */
/* Adds a string; borrows the bytes until exact_set_free. Does nothing if the string is in the set.
 * Returns false when out of memory, with the context's error set. */
bool exact_set_add(struct exact_set *set, const uint8_t *data, uint32_t size);
bool exact_set_contains(const struct exact_set *set, const uint8_t *data, uint32_t size);
uint64_t exact_set_count(const struct exact_set *set);
/* Size of the table, the entries and the strings, which a set has to store. */
uint64_t exact_set_bytes(const struct exact_set *set);
/* Maximum size of a set of `count` strings while it grows, without the strings. */
uint64_t exact_set_bytes_max(uint64_t count);

#endif

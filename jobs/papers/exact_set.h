/* A hash set of strings that never errs: what filters are held against in filter-vs-set. The table
 * is uthash's, hashed by XXH3, so that it does not lose by its hash. Adding belongs to one thread,
 * asking does not change anything. */
#ifndef GLINT_JOBS_PAPERS_EXACT_SET_H
#define GLINT_JOBS_PAPERS_EXACT_SET_H

#include "engine/glint.h"

struct exact_set;

/* Room for `capacity` strings, at least 1. NULL: the context's sticky error. */
struct exact_set *exact_set_new(struct glint *g, uint64_t capacity);
void exact_set_free(struct exact_set *set); /* NULL too */
/* The bytes are borrowed until exact_set_free. A string that is there already changes nothing.
 * False: no memory, the context's sticky error. */
bool exact_set_add(struct exact_set *set, const uint8_t *data, uint32_t size);
bool exact_set_contains(const struct exact_set *set, const uint8_t *data, uint32_t size);
uint64_t exact_set_count(const struct exact_set *set);
/* Table, entries and the strings themselves, which a set has to keep. */
uint64_t exact_set_bytes(const struct exact_set *set);
/* What a set of so many may take at most while it grows, without the strings. */
uint64_t exact_set_bytes_max(uint64_t count);

#endif

/* Filters by key, mapped from the files that bloom-build writes: for `glint filter query` and
 * `serve`.
 *
 * All of it is validated at first, and only read from then on (filter_each_mapped). */
#ifndef GLINT_JOBS_COMMANDS_FILTER_TABLE_H
#define GLINT_JOBS_COMMANDS_FILTER_TABLE_H

#include "jobs/commands/filter_parts.h"

struct table_filter {
    struct filter_key key;      /* in the arena, or owned by the parts */
    struct bloom_filter filter; /* a view of a mapped file; of one in segments only the params */
    struct bloom_set set;       /* of this filter only, over the same bits; zeros: none */
    struct filter_whole whole;  /* of a filter in segments; else count is 0 */
    uint64_t bits_set;
};

struct filter_table {
    struct table_filter *filters; /* by key */
    uint64_t count, capacity;
    uint64_t *slots; /* number of a filter + 1, by the hash of its key's text; 0: none */
    uint64_t slot_count, seed;
    struct filter_maps maps;
    struct filter_parts parts;
    struct arena arena;
};

/* Maps and validates the filters in a file, a directory of parts or a glob. Keys whose texts are
 * equal are an error. `batches`: for filter_table_contains_many. Returns 0, or a code with *error
 * set and the table empty. */
int filter_table_open(struct filter_table *t, struct env *env, const char *path, bool batches,
                      struct glint_error *error);
void filter_table_close(struct filter_table *t); /* accepts zeros */
/* The filter of the key that is printed like this; NULL: none. */
const struct table_filter *filter_table_find(const struct filter_table *t, const void *key,
                                             uint64_t size);
/* The id whose text this is: of a filter whose ids have a type it is a value. Returns 1, 0, or -1
 * if it is none; then *out_wrong says why, or is NULL when out of memory. */
int filter_table_contains_text(const struct table_filter *f, struct glint_slice text,
                               const char **out_wrong);

#define TABLE_IDS_MAX 256u
/* out_hit[i] = 1 if the filter may contain the id `data` + start[i] to end[i], else 0; of at most
 * TABLE_IDS_MAX. BLOOM_ID_SLACK bytes after each id must be readable. */
void filter_table_contains_many(const struct table_filter *f, const uint8_t *data,
                                const uint32_t *start, const uint32_t *end, uint32_t count,
                                uint8_t *out_hit);

#endif

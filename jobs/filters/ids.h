/* Sizes joined with ids: builds and tests filters if there are too many keys to broadcast the
 * sizes.
 *
 *     sizes -> (key, size) --------.
 *     filters -> (key, filter) ----+- cogroup -> a key's size, its filter (bloom-test), its ids
 *     rows -> (key, id) -----------'
 *
 * A task has one key's filter in memory at a time, so memory does not grow with the number of keys.
 * Keys are partitioned as with broadcast sizes, so the outputs have the same bytes. */
#ifndef GLINT_JOBS_FILTERS_IDS_H
#define GLINT_JOBS_FILTERS_IDS_H

#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/size_lines.h"

/* Counter of the rows of a key beyond its count. */
#define IDS_SURPLUS "rows over their count"
/* Counter of filters for which sizes_rate_above_planned is not 0. */
#define IDS_HIGHER_RATE "filters with a higher rate"

/* (key, filter as msgpack): a filter for each key that has rows. Returns NULL if `lines` is NULL.
 */
struct glint_rdd *ids_build_filters(struct glint_rdd *lines, const struct sizes_source *source,
                                    const struct fields *fields, const struct bloom_sizing *sizing);
/* (key, bloom_tally) of the rows in `lines`, each looked up in the filter of its key. `filters`:
 * (key, filter as bytes); `path` names them in errors; `sizing` applies to all. */
struct glint_rdd *ids_test_filters(struct glint_rdd *lines, struct glint_rdd *filters,
                                   const char *path, const struct sizes_source *source,
                                   const struct fields *fields, const struct bloom_sizing *sizing);

/* ---- The state that both group functions begin with: the current key */

struct ids_group {
    struct bloom_sizing sizing;
    int64_t text, params;            /* keys are text; the sizes are PARAMS, not COUNTS */
    int64_t room_max;                /* maximum bytes of a filter in memory */
    struct glint_slice source, path; /* names of sizes and filters, for errors */
    bool sized, filled;              /* the key has a size; its filter is in memory */
    struct bloom_filter filter;      /* bits at memory + BLOOM_HEADER_MAX */
    uint8_t *memory;
    uint64_t room; /* allocated bytes for the bits */
    uint64_t rows;
};

int ids_group_open(struct glint_task *task, struct ids_group *group);
void ids_group_begin(struct ids_group *group);
/* Decodes a value of a cogroup: its side, and its bytes. Returns 0 or a code. */
int ids_group_decode_value(struct glint_task *task, const struct glint_record *in, bool *out_right,
                           struct glint_slice *out_bytes);
/* Sets the key's size in filter.params; called once per key. Returns 0 or a code. */
int ids_group_set_size(struct glint_task *task, struct ids_group *group,
                       const union glint_value *key, struct glint_slice bytes);
/* Reserves memory for the filter's bits, uninitialized. Returns 0 or a code. */
int ids_group_reserve(struct glint_task *task, struct ids_group *group,
                      const union glint_value *key);

extern const struct glint_function ids_of_ratings, ids_of_texts, ids_fill, ids_test;

#endif

/* Sizes joined with ids: how filters are built and tested when there are too many keys to broadcast
 * the sizes.
 *
 *     sizes -> (key, size) --------.
 *     filters -> (key, filter) ----+- cogroup -> a key's size, its filter (bloom-test), its ids
 *     rows -> (key, id) -----------'
 *
 * A task holds one key's filter at a time, so memory does not grow with the number of keys. The
 * keys are partitioned as where sizes are broadcast, so the outputs are the same bytes. */
#ifndef GLINT_JOBS_FILTERS_IDS_H
#define GLINT_JOBS_FILTERS_IDS_H

#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/size_lines.h"

/* The counter of rows that a key has beyond its count. */
#define IDS_SURPLUS "rows over their count"

/* (key, filter as msgpack): a filter for each key that has rows. NULL in, NULL out. */
struct glint_rdd *ids_build_filters(struct glint_rdd *lines, const struct sizes_source *source,
                                    const struct fields *fields, const struct bloom_sizing *sizing);
/* (key, bloom_tally) of the rows in `lines`, each looked up in the filter of its own key.
 * `filters`: (key, filter as bytes); `path` names them in errors; `sizing` is that of all. */
struct glint_rdd *ids_test_filters(struct glint_rdd *lines, struct glint_rdd *filters,
                                   const char *path, const struct sizes_source *source,
                                   const struct fields *fields, const struct bloom_sizing *sizing);

/* ---- The state that both group functions begin with: the key at hand */

struct ids_group {
    struct bloom_sizing sizing;
    int64_t text, params;            /* keys are text; the sizes are PARAMS, not COUNTS */
    int64_t room_max;                /* of a filter in memory, bytes */
    struct glint_slice source, path; /* of the sizes, of the filters: names for errors */
    bool sized, filled;              /* the key has a size; its filter is in memory */
    struct bloom_filter filter;      /* bits at memory + BLOOM_HEADER_MAX */
    uint8_t *memory;
    uint64_t room; /* for so many bytes of bits */
    uint64_t rows;
};

int ids_group_open(struct glint_task *task, struct ids_group *group);
void ids_group_begin(struct ids_group *group);
/* The value of a cogroup: from which side, and its bytes. 0 or a code. */
int ids_group_decode_value(struct glint_task *task, const struct glint_record *in, bool *out_right,
                           struct glint_slice *out_bytes);
/* The key's size: filter.params; once for each key. 0 or a code. */
int ids_group_set_size(struct glint_task *task, struct ids_group *group,
                       const union glint_value *key, struct glint_slice bytes);
/* Room for the filter's bits, of any content. 0 or a code. */
int ids_group_reserve(struct glint_task *task, struct ids_group *group,
                      const union glint_value *key);

extern const struct glint_function ids_of_ratings, ids_of_texts, ids_fill, ids_test;

#endif

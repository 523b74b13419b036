/* Which segments exist: the driver of bloom-test collects the headers of filters in segments. */
#ifndef GLINT_JOBS_FILTERS_SEGMENTS_HEADS_H
#define GLINT_JOBS_FILTERS_SEGMENTS_HEADS_H

#include "jobs/filters/sizes.h"

struct segments_heads {
    struct segments_head {
        uint32_t number;              /* number of the key */
        struct bloom_segment segment; /* without bits */
    } * items;
    uint64_t count, capacity;
};

/* Filters as in the file; of segments, only the header, after verification. Takes a msgpack file of
 * filters, gives (key, bytes). */
struct glint_rdd *segments_heads_of(struct glint_rdd *filters, bool text);

/* Returns 0 or the context's code. */
int segments_heads_add(struct glint *g, struct segments_heads *heads, uint32_t number,
                       const struct bloom_segment *segment);
/* Call after the last add: checks that each filter is complete and that all are from one build.
 * Returns 0, or FILTER_MISMATCH or FILTER_INVALID naming `path` and the key. */
int segments_heads_check(struct glint *g, struct segments_heads *heads, const struct sizes *sizes,
                         const char *path);
/* log2 of a segment's bits, after the check. */
static inline uint32_t segments_heads_log2(const struct segments_heads *heads)
{
    return (uint32_t)__builtin_ctzll(heads->items[0].segment.size);
}
void segments_heads_fini(struct segments_heads *heads); /* accepts zeros */

extern const struct glint_function segments_head_of;

#endif

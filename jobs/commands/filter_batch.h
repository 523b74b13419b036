/* The ids of a request over HTTP: lines, or an array of strings in JSON. Pure. */
#ifndef GLINT_JOBS_COMMANDS_FILTER_BATCH_H
#define GLINT_JOBS_COMMANDS_FILTER_BATCH_H

#include "engine/base/mem.h"

#define BATCH_IDS_MAX (1u << 20)

/* Id i is the bytes [start[i], end[i]) of `data`, BLOOM_ID_SLACK bytes behind it are readable.
 * Zeros are empty; it is used again for the next request. */
struct filter_batch {
    const uint8_t *data;
    uint32_t *start, *end;
    uint32_t count;
    uint64_t start_capacity, end_capacity;
    struct buffer texts; /* of JSON: the ids without their escapes */
};

/* Both take a body of less than 2^31 bytes with READ_SLACK readable bytes behind it, borrowed as
 * long as the batch. They return NULL, or what is wrong (static), with *out_at the offset of it;
 * "out of memory" is one of these. */

/* An id ends with a line feed, or a carriage return and one; the last one may have no end. An empty
 * line is the empty id. */
const char *filter_batch_read_lines(struct filter_batch *b, const uint8_t *body, uint64_t size,
                                    uint64_t *out_at);
/* ["a", "b"]: only strings, since the text of a number is not unique (1, 1.0, 1e0). Escapes \udc80
 * to \udcff are single bytes, as Python's surrogateescape has them. */
const char *filter_batch_read_json(struct filter_batch *b, const uint8_t *body, uint64_t size,
                                   uint64_t *out_at);
extern const char filter_batch_no_memory[], filter_batch_too_many[];
void filter_batch_fini(struct filter_batch *b);

#endif

/* Batches as bytes, for records that are kept: cached blocks and checkpoints. Both columns are
 * stored as a batch has them, so that decoding only sets pointers.
 *
 *     0      4   8           16            24
 *     +------+---+-----------+-------------+-----------+-------------+
 *     | rows | 0 | key bytes | value bytes | key column| value column|   in the byte order of this
 *     +------+---+-----------+-------------+-----------+-------------+   machine
 *
 * A column of numbers is its array. A column of bytes is rows + 1 offsets of 32 bits, then the
 * bytes of its cells; with one row it has no offsets. Each of these is padded to 8 bytes. */
#ifndef GLINT_RECORDS_BATCH_CODEC_H
#define GLINT_RECORDS_BATCH_CODEC_H

#include "engine/base/mem.h"
#include "engine/batch.h"
#include "engine/limits.h"

/* The size of the encoded batch. */
uint64_t batch_encoded_size(const struct glint_batch *batch);
/* Writes batch_encoded_size bytes to `out`, which is 8-byte aligned. */
void batch_encode(const struct glint_batch *batch, uint8_t *out);
/* Sets *out to the batch in `bytes`, which it borrows; they are 8-byte aligned, with READ_SLACK
 * readable bytes after them. Returns false if they are not an encoded batch of this schema. */
bool batch_decode(struct glint_slice bytes, struct glint_schema schema, struct glint_batch *out);

/* Collects batches with few rows into larger ones. Zeros, then the caller sets `schema`. */
struct batch_collector {
    struct glint_schema schema;
    uint32_t rows;
    struct batch_collector_column {
        struct buffer bytes; /* of cells, or numbers */
        uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    } key, value;
};
/* Whether the batch's rows can be added to those that were collected. */
bool batch_collector_fits(const struct batch_collector *c, const struct glint_batch *batch);
/* Copies the rows of a batch that fits. False when out of memory. */
bool batch_collector_add(struct batch_collector *c, const struct glint_batch *batch);
/* Sets *out to the collected rows, at least one, borrowed until the next call of add, and removes
 * them. */
void batch_collector_take(struct batch_collector *c, struct glint_batch *out);
void batch_collector_fini(struct batch_collector *c);

#endif

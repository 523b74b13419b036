/* Builds batches from records in byte form: numbers go into arrays, bytes are copied or borrowed, a
 * large record is referenced. Internal to the reduce side. Task's thread. */
#ifndef GLINT_SHUFFLE_BATCH_BUILDER_H
#define GLINT_SHUFFLE_BATCH_BUILDER_H

#include "engine/base/mem.h"
#include "engine/batch.h"
#include "engine/glint.h"
#include "engine/limits.h"

/* One column of the batch; only the arrays of its type are used. */
struct batch_builder_column {
    enum glint_type type;
    const struct buffer *borrowed; /* cells are in its memory and not copied; NULL: copied */
    struct buffer bytes;           /* of copies */
    uint64_t used;                 /* bytes of all cells */
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    union {
        int64_t i64[BATCH_ROWS_MAX];
        double f64[BATCH_ROWS_MAX];
    } numbers;
};

/* Zeros, then the caller sets key.type and value.type. */
struct batch_builder {
    uint32_t count; /* rows */
    bool full;      /* the only row references the caller's bytes */
    struct batch_builder_column key, value;
    struct glint_slice single_key, single_value; /* of that row */
};

enum batch_builder_result {
    BATCH_BUILDER_ADDED,
    BATCH_BUILDER_FULL,       /* not added: use and clear the batch, then add it again */
    BATCH_BUILDER_WRONG_SIZE, /* a number that is not 8 bytes, or a NONE that is not empty */
    BATCH_BUILDER_NO_MEMORY
};
/* Keys, and values unless `keys_only`, will be in `memory`, which is borrowed and must not change.
 * Does nothing if offsets into it do not fit in 32 bits. */
void batch_builder_borrow(struct batch_builder *r, const struct buffer *memory, bool keys_only);
/* Adds a record; key and value are in byte form. They are copied, unless they do not fit into
 * EMIT_BUFFER_BYTES: then they are borrowed until batch_builder_clear and are the batch's only
 * row. */
enum batch_builder_result batch_builder_add(struct batch_builder *r, struct glint_slice key,
                                            struct glint_slice value);
/* Sets *out to the rows so far, at least one, borrowed until batch_builder_clear. */
void batch_builder_get_batch(const struct batch_builder *r, struct glint_batch *out);
/* Removes all rows and keeps the memory. */
void batch_builder_clear(struct batch_builder *r);
void batch_builder_fini(struct batch_builder *r);

#endif

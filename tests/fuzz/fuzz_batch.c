/* Arbitrary bytes as an encoded batch, the first byte being its schema: either rejected, or a batch
 * whose cells are inside the bytes, and which is unchanged by a round trip. */
#include "engine/records/batch_codec.h"
#include "engine/records/codec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Compares the cells of two columns, and so reads them all. */
static void check_column(const struct glint_column *a, const struct glint_column *b, uint32_t rows)
{
    if (a->type == GLINT_NONE) return;
    if (!codec_type_is_bytes(a->type)) {
        const void *x = a->type == GLINT_I64 ? (const void *)a->i64 : (const void *)a->f64;
        const void *y = a->type == GLINT_I64 ? (const void *)b->i64 : (const void *)b->f64;
        if (memcmp(x, y, sizeof(int64_t) * (size_t)rows) != 0) abort();
        return;
    }
    if (a->size != b->size || (a->start == NULL) != (b->start == NULL)) abort();
    for (uint32_t i = 0; i < rows; i++) {
        const uint64_t from = a->start != NULL ? a->start[i] : 0;
        const uint64_t to = a->start != NULL ? a->end[i] : a->size;
        if (from > to || to > a->size) abort();
        if (a->start != NULL && (b->start[i] != from || b->end[i] != to)) abort();
        if (to > from && memcmp(a->base + from, b->base + from, to - from) != 0) abort();
    }
}

static uint8_t *copy_with_slack(const uint8_t *data, size_t size)
{
    uint8_t *copy = aligned_alloc(8, (size + READ_SLACK + 7) / 8 * 8);
    if (copy == NULL) abort();
    memset(copy + size, 0, READ_SLACK);
    if (size > 0) memcpy(copy, data, size);
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum glint_type types[] = {GLINT_NONE, GLINT_I64,   GLINT_F64,
                                            GLINT_TEXT, GLINT_BYTES, GLINT_MSGPACK};
    if (size == 0) return 0;
    const struct glint_schema schema = {types[data[0] % 6], types[data[0] / 6 % 6]};
    struct glint_batch batch, again;
    uint8_t *bytes = copy_with_slack(data + 1, size - 1);
    if (batch_decode((struct glint_slice){bytes, size - 1}, schema, &batch)) {
        if (batch.rows == 0 || batch.rows > BATCH_ROWS_MAX) abort();
        if (batch_encoded_size(&batch) != size - 1) abort();
        uint8_t *out = copy_with_slack(data + 1, size - 1);
        batch_encode(&batch, out);
        if (!batch_decode((struct glint_slice){out, size - 1}, schema, &again)) abort();
        check_column(&batch.key, &again.key, batch.rows);
        check_column(&batch.value, &again.value, batch.rows);
        free(out);
    }
    free(bytes);
    return 0;
}

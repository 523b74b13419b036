/* See batch_codec.h. */
#include "engine/records/batch_codec.h"

#include "engine/records/bytes.h"
#include "engine/records/codec.h"

#include <assert.h>
#include <string.h>

#define COLLECT_BYTES_MAX (256 * KIB)

struct batch_header {
    uint32_t rows, zero;
    uint64_t key_bytes, value_bytes; /* of the cells */
};
static_assert(sizeof(struct batch_header) == 24, "the header has no padding");

static uint64_t padded_size(uint64_t size)
{
    return (size + 7) & ~(uint64_t)7;
}

/* The bytes of all cells. */
static uint64_t column_cells_bytes(const struct glint_column *c, uint32_t rows)
{
    if (c->type == GLINT_NONE) return 0;
    if (!codec_type_is_bytes(c->type)) return CODEC_NUMBER_BYTES * (uint64_t)rows;
    if (c->start == NULL) return c->size;
    uint64_t size = 0;
    for (uint32_t i = 0; i < rows; i++) size += c->end[i] - c->start[i];
    return size;
}

static uint64_t column_offsets_bytes(enum glint_type type, uint32_t rows)
{
    if (!codec_type_is_bytes(type) || rows == 1) return 0;
    return padded_size(sizeof(uint32_t) * ((uint64_t)rows + 1));
}

uint64_t batch_encoded_size(const struct glint_batch *b)
{
    return sizeof(struct batch_header) + column_offsets_bytes(b->key.type, b->rows) +
           padded_size(column_cells_bytes(&b->key, b->rows)) +
           column_offsets_bytes(b->value.type, b->rows) +
           padded_size(column_cells_bytes(&b->value, b->rows));
}

/* Copies the cells one after the other. Returns the end of what was written. */
static uint8_t *copy_cells(const struct glint_column *c, uint32_t rows, uint8_t *out)
{
    if (c->start == NULL) {
        if (c->size > 0) memcpy(out, c->base, c->size);
        return out + c->size;
    }
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t size = c->end[i] - c->start[i];
        bytes_copy(out, c->base + c->start[i], size);
        out += size;
    }
    return out;
}

static uint8_t *encode_column(const struct glint_column *c, uint32_t rows, uint8_t *out)
{
    if (c->type == GLINT_NONE) return out;
    uint8_t *end = out + CODEC_NUMBER_BYTES * (uint64_t)rows;
    if (!codec_type_is_bytes(c->type)) {
        memcpy(out, c->type == GLINT_I64 ? (const void *)c->i64 : (const void *)c->f64,
               CODEC_NUMBER_BYTES * (uint64_t)rows);
        return end;
    }
    if (rows > 1) {
        uint32_t at = 0;
        const uint64_t size = column_offsets_bytes(c->type, rows);
        memset(out + size - CODEC_NUMBER_BYTES, 0, CODEC_NUMBER_BYTES);
        for (uint32_t i = 0; i <= rows; i++) {
            memcpy(out + sizeof at * i, &at, sizeof at);
            if (i < rows) at += c->end[i] - c->start[i];
        }
        out += size;
    }
    end = copy_cells(c, rows, out);
    uint8_t *const limit = out + padded_size((uint64_t)(end - out));
    while (end < limit) *end++ = 0;
    return limit;
}

void batch_encode(const struct glint_batch *b, uint8_t *out)
{
    assert(b->rows > 0 && b->rows <= BATCH_ROWS_MAX && (uintptr_t)out % 8 == 0);
    const struct batch_header h = {.rows = b->rows,
                                   .key_bytes = column_cells_bytes(&b->key, b->rows),
                                   .value_bytes = column_cells_bytes(&b->value, b->rows)};
    memcpy(out, &h, sizeof h);
    encode_column(&b->value, b->rows, encode_column(&b->key, b->rows, out + sizeof h));
}

/* Reads one column of `bytes` cell bytes at *at. */
static bool decode_column(struct glint_slice all, uint64_t *at, uint32_t rows, uint64_t bytes,
                          struct glint_column *out)
{
    const uint64_t offsets = column_offsets_bytes(out->type, rows);
    const uint8_t *data = all.data + *at;
    if (bytes > all.size || offsets + padded_size(bytes) > all.size - *at) return false;
    *at += offsets + padded_size(bytes);
    if (out->type == GLINT_NONE) return bytes == 0;
    if (!codec_type_is_bytes(out->type)) {
        if (out->type == GLINT_I64)
            out->i64 = (const int64_t *)(const void *)data;
        else
            out->f64 = (const double *)(const void *)data;
        return bytes == CODEC_NUMBER_BYTES * (uint64_t)rows;
    }
    out->base = data + offsets;
    out->size = bytes;
    if (rows == 1) return true;
    out->start = (const uint32_t *)(const void *)data;
    out->end = out->start + 1;
    bool valid = out->start[0] == 0 && out->start[rows] == bytes;
    for (uint32_t i = 0; i < rows; i++) valid &= out->start[i] <= out->end[i];
    return valid;
}

bool batch_decode(struct glint_slice bytes, struct glint_schema schema, struct glint_batch *out)
{
    struct batch_header h;
    uint64_t at = sizeof h;
    assert((uintptr_t)bytes.data % 8 == 0);
    if (bytes.size < sizeof h) return false;
    memcpy(&h, bytes.data, sizeof h);
    *out = (struct glint_batch){
        .rows = h.rows, .key = {.type = schema.key}, .value = {.type = schema.value}};
    return h.rows > 0 && h.rows <= BATCH_ROWS_MAX && h.zero == 0 &&
           decode_column(bytes, &at, h.rows, h.key_bytes, &out->key) &&
           decode_column(bytes, &at, h.rows, h.value_bytes, &out->value) && at == bytes.size;
}

/* ---- The collector */

bool batch_collector_fits(const struct batch_collector *c, const struct glint_batch *batch)
{
    return batch->rows <= BATCH_ROWS_MAX - c->rows &&
           c->key.bytes.size + c->value.bytes.size + column_cells_bytes(&batch->key, batch->rows) +
                   column_cells_bytes(&batch->value, batch->rows) <=
               COLLECT_BYTES_MAX;
}

static bool batch_collector_add_column(struct batch_collector_column *c, uint32_t before,
                                       const struct glint_column *in, uint32_t rows)
{
    const uint64_t size = column_cells_bytes(in, rows);
    if (!buffer_reserve(&c->bytes, size + READ_SLACK)) return false;
    uint32_t at = (uint32_t)c->bytes.size;
    if (codec_type_is_bytes(in->type)) {
        copy_cells(in, rows, c->bytes.data + at);
        for (uint32_t i = 0; i < rows; i++) {
            c->start[before + i] = at;
            at += in->start == NULL ? (uint32_t)in->size : in->end[i] - in->start[i];
            c->end[before + i] = at;
        }
    } else {
        encode_column(in, rows, c->bytes.data + at);
    }
    c->bytes.size += size;
    return true;
}

bool batch_collector_add(struct batch_collector *c, const struct glint_batch *batch)
{
    assert(batch_collector_fits(c, batch));
    if (!batch_collector_add_column(&c->key, c->rows, &batch->key, batch->rows) ||
        !batch_collector_add_column(&c->value, c->rows, &batch->value, batch->rows))
        return false;
    c->rows += batch->rows;
    return true;
}

static struct glint_column batch_collector_take_column(struct batch_collector_column *c,
                                                       enum glint_type type)
{
    const void *data = c->bytes.data;
    struct glint_column out = {.type = type, .base = data, .size = c->bytes.size};
    c->bytes.size = 0;
    if (type == GLINT_I64) out.i64 = data;
    if (type == GLINT_F64) out.f64 = data;
    if (!codec_type_is_bytes(type)) return out;
    out.start = c->start;
    out.end = c->end;
    return out;
}

void batch_collector_take(struct batch_collector *c, struct glint_batch *out)
{
    assert(c->rows > 0);
    *out = (struct glint_batch){.rows = c->rows,
                                .key = batch_collector_take_column(&c->key, c->schema.key),
                                .value = batch_collector_take_column(&c->value, c->schema.value)};
    c->rows = 0;
}

void batch_collector_fini(struct batch_collector *c)
{
    buffer_fini(&c->key.bytes);
    buffer_fini(&c->value.bytes);
}

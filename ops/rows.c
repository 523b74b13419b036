/* Rows that come back to the driver: written by tasks, read by jobs. */
#include "engine/data/codec.h"
#include "ops/ops.h"

#include <string.h>

static bool cell_append(struct buffer *out, enum glint_type type, const union glint_value *v)
{
    uint8_t scratch[CODEC_NUMBER_BYTES];
    if (type == GLINT_NONE) return true;
    struct glint_slice s = codec_encode(type, v, scratch);
    if (!buffer_reserve(out, s.size + 10)) return false;
    out->size += codec_put_varint(out->data + out->size, s.size);
    return buffer_append(out, s.data, s.size);
}

bool rows_append(struct buffer *out, struct glint_shape shape, const struct glint_record *record)
{
    return cell_append(out, shape.key, &record->key) && cell_append(out, shape.value, &record->value);
}

static bool cell_next(struct glint_slice result, uint64_t *at, enum glint_type type,
                      union glint_value *out)
{
    if (type == GLINT_NONE) return true;
    uint64_t size;
    unsigned n = codec_get_varint(result.data + *at, result.data + result.size, &size);
    if (n == 0 || size > result.size - *at - n) return false;
    bool fits = codec_decode(type, (struct glint_slice){result.data + *at + n, size}, out);
    if (fits) *at += n + size;
    return fits;
}

bool rows_next(struct glint_slice result, uint64_t *at, struct glint_shape shape,
               struct glint_record *out)
{
    if (*at >= result.size) return false;
    return cell_next(result, at, shape.key, &out->key) &&
           cell_next(result, at, shape.value, &out->value);
}

int record_compare(struct glint_shape shape, const struct glint_record *a,
                   const struct glint_record *b)
{
    uint8_t x[CODEC_NUMBER_BYTES], y[CODEC_NUMBER_BYTES];
    int c = codec_compare(codec_encode(shape.key, &a->key, x), codec_encode(shape.key, &b->key, y));
    if (c != 0) return c;
    return codec_compare(codec_encode(shape.value, &a->value, x),
                         codec_encode(shape.value, &b->value, y));
}

/* Offsets grow by doubling; data by appending. */
static bool offsets_reserve(struct glint_rows *rows)
{
    if (rows->count < rows->capacity) return true;
    uint64_t capacity = rows->capacity ? rows->capacity * 2 : 64;
    uint64_t *grown = mem_grow(rows->offsets, sizeof *grown * rows->count, sizeof *grown * capacity);
    if (grown == NULL) return false;
    rows->offsets = grown;
    rows->capacity = capacity;
    return true;
}

int rows_take(struct glint *g, struct glint_rows *rows, struct glint_slice result)
{
    struct buffer data = {rows->data, rows->size, rows->size_capacity};
    uint64_t at = 0, base = rows->size;
    struct glint_record r;
    if (base + result.size > RESULT_BYTES_MAX)
        return error_set(&g->error, GLINT_E_RESULT_LIMIT,
                         "save the result as files instead of collecting it",
                         "the rows of one action take more than %llu bytes",
                         (unsigned long long)RESULT_BYTES_MAX);
    bool ok = buffer_append(&data, result.data, result.size);
    rows->data = data.data;
    rows->size = data.size;
    rows->size_capacity = data.capacity;
    while (ok && at < result.size) {
        ok = offsets_reserve(rows);
        if (!ok) break;
        rows->offsets[rows->count] = base + at;
        if (!rows_next(result, &at, rows->shape, &r))
            return error_set(&g->error, GLINT_E_PROTOCOL, NULL, "a task's rows do not parse");
        rows->count++;
    }
    return ok ? 0 : error_no_memory(&g->error);
}

struct glint_record glint_rows_at(const struct glint_rows *rows, uint64_t i)
{
    struct glint_record r = {.key = {.i64 = 0}};
    uint64_t at = rows->offsets[i];
    rows_next((struct glint_slice){rows->data, rows->size}, &at, rows->shape, &r);
    return r;
}

void glint_rows_free(struct glint_rows *rows)
{
    mem_free(rows->data);
    mem_free(rows->offsets);
    memset(rows, 0, sizeof *rows);
}

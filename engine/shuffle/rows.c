/* Cells go where their column's type wants them. What would not fit into the buffer is never
 * copied: it makes a batch of its own, over the bytes where they are. */
#include "engine/shuffle/rows.h"

#include "engine/data/codec.h"

#include <assert.h>

static bool is_bytes(enum glint_type type)
{
    return type == GLINT_BYTES || type == GLINT_TEXT || type == GLINT_MSGPACK;
}

static bool fits_type(const struct rows_column *c, struct glint_slice cell)
{
    if (is_bytes(c->type)) return true;
    return cell.size == (c->type == GLINT_NONE ? 0 : CODEC_NUMBER_BYTES);
}

static bool fits_buffer(const struct rows_column *c, struct glint_slice cell)
{
    return !is_bytes(c->type) || c->bytes.size + cell.size <= EMIT_BUFFER_BYTES;
}

static bool add_cell(struct rows_column *c, uint32_t row, struct glint_slice cell)
{
    if (is_bytes(c->type)) {
        c->start[row] = (uint32_t)c->bytes.size;
        if (!buffer_append(&c->bytes, cell.data, cell.size)) return false;
        c->end[row] = (uint32_t)c->bytes.size;
        return true;
    }
    union glint_value v = {.i64 = 0};
    bool decoded = codec_decode(c->type, cell, &v);
    assert(decoded);
    if (c->type == GLINT_I64) c->numbers.i64[row] = v.i64;
    if (c->type == GLINT_F64) c->numbers.f64[row] = v.f64;
    return true;
}

enum rows_added rows_add(struct rows *r, struct glint_slice key, struct glint_slice value)
{
    assert(r->count <= BATCH_ROWS_MAX);
    if (!fits_type(&r->key, key) || !fits_type(&r->value, value)) return ROWS_WRONG_SIZE;
    if (r->full || r->count == BATCH_ROWS_MAX) return ROWS_NO_ROOM;
    if (!fits_buffer(&r->key, key) || !fits_buffer(&r->value, value)) {
        if (r->count > 0) return ROWS_NO_ROOM;
        /* One record, by reference; numbers still need their cells. */
        r->full = true;
        r->alone_key = key;
        r->alone_value = value;
        if (!is_bytes(r->key.type)) add_cell(&r->key, 0, key);
        if (!is_bytes(r->value.type)) add_cell(&r->value, 0, value);
    } else if (!add_cell(&r->key, r->count, key) || !add_cell(&r->value, r->count, value)) {
        return ROWS_NO_MEMORY;
    }
    r->count++;
    return ROWS_ADDED;
}

static struct glint_column column(const struct rows_column *c, bool alone, struct glint_slice cell)
{
    struct glint_column out = {.type = c->type};
    if (c->type == GLINT_I64) out.i64 = c->numbers.i64;
    if (c->type == GLINT_F64) out.f64 = c->numbers.f64;
    if (!is_bytes(c->type)) return out;
    if (alone) {
        out.base = cell.data;
        out.size = cell.size;
    } else {
        out.base = c->bytes.data;
        out.size = c->bytes.size;
        out.start = c->start;
        out.end = c->end;
    }
    return out;
}

void rows_batch(const struct rows *r, struct glint_batch *out)
{
    assert(r->count > 0 && (!r->full || r->count == 1));
    *out = (struct glint_batch){.rows = r->count,
                                .key = column(&r->key, r->full, r->alone_key),
                                .value = column(&r->value, r->full, r->alone_value)};
}

void rows_clear(struct rows *r)
{
    r->count = 0;
    r->full = false;
    r->key.bytes.size = r->value.bytes.size = 0;
}

void rows_fini(struct rows *r)
{
    buffer_fini(&r->key.bytes);
    buffer_fini(&r->value.bytes);
}

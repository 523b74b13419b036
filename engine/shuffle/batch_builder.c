/* See batch_builder.h. A record that does not fit into the column's buffer is never copied, since
 * it may have gigabytes: it becomes the only row of a batch that points to its bytes. */
#include "engine/shuffle/batch_builder.h"

#include "engine/batch.h"
#include "engine/records/codec.h"

#include <assert.h>

static bool fits_type(const struct batch_builder_column *c, struct glint_slice cell)
{
    if (codec_type_is_bytes(c->type)) return true;
    return cell.size == (c->type == GLINT_NONE ? 0 : CODEC_NUMBER_BYTES);
}

static bool fits_buffer(const struct batch_builder_column *c, struct glint_slice cell)
{
    return !codec_type_is_bytes(c->type) || c->used + cell.size <= EMIT_BUFFER_BYTES;
}

static bool add_cell(struct batch_builder_column *c, uint32_t row, struct glint_slice cell)
{
    if (codec_type_is_bytes(c->type)) {
        uint64_t at = c->bytes.size;
        if (c->borrowed == NULL) {
            if (!buffer_append(&c->bytes, cell.data, cell.size)) return false;
        } else {
            at = (uint64_t)(cell.data - c->borrowed->data);
            assert(at + cell.size <= c->borrowed->size);
        }
        c->start[row] = (uint32_t)at;
        c->end[row] = (uint32_t)(at + cell.size);
        c->used += cell.size;
        return true;
    }
    union glint_value v = {.i64 = 0};
    bool decoded = codec_decode(c->type, cell, &v);
    assert(decoded);
    if (c->type == GLINT_I64) c->numbers.i64[row] = v.i64;
    if (c->type == GLINT_F64) c->numbers.f64[row] = v.f64;
    return true;
}

void batch_builder_borrow(struct batch_builder *r, const struct buffer *memory, bool keys_only)
{
    assert(r->count == 0);
    if (memory->size > UINT32_MAX) return;
    r->key.borrowed = memory;
    if (!keys_only) r->value.borrowed = memory;
}

enum batch_builder_result batch_builder_add(struct batch_builder *r, struct glint_slice key,
                                            struct glint_slice value)
{
    assert(r->count <= BATCH_ROWS_MAX);
    if (!fits_type(&r->key, key) || !fits_type(&r->value, value)) return BATCH_BUILDER_WRONG_SIZE;
    if (r->full || r->count == BATCH_ROWS_MAX) return BATCH_BUILDER_FULL;
    if (!fits_buffer(&r->key, key) || !fits_buffer(&r->value, value)) {
        if (r->count > 0) return BATCH_BUILDER_FULL;
        /* Reference the record; a number column still needs its array element. */
        r->full = true;
        r->single_key = key;
        r->single_value = value;
        if (!codec_type_is_bytes(r->key.type)) add_cell(&r->key, 0, key);
        if (!codec_type_is_bytes(r->value.type)) add_cell(&r->value, 0, value);
    } else if (!add_cell(&r->key, r->count, key) || !add_cell(&r->value, r->count, value)) {
        return BATCH_BUILDER_NO_MEMORY;
    }
    r->count++;
    return BATCH_BUILDER_ADDED;
}

static struct glint_column make_column(const struct batch_builder_column *c, bool single,
                                       struct glint_slice cell)
{
    struct glint_column out = {.type = c->type};
    if (c->type == GLINT_I64) out.i64 = c->numbers.i64;
    if (c->type == GLINT_F64) out.f64 = c->numbers.f64;
    if (!codec_type_is_bytes(c->type)) return out;
    if (single) {
        out.base = cell.data;
        out.size = cell.size;
    } else {
        const struct buffer *bytes = c->borrowed != NULL ? c->borrowed : &c->bytes;
        out.base = bytes->data;
        out.size = bytes->size;
        out.start = c->start;
        out.end = c->end;
    }
    return out;
}

void batch_builder_get_batch(const struct batch_builder *r, struct glint_batch *out)
{
    assert(r->count > 0 && (!r->full || r->count == 1));
    *out = (struct glint_batch){.rows = r->count,
                                .key = make_column(&r->key, r->full, r->single_key),
                                .value = make_column(&r->value, r->full, r->single_value)};
}

void batch_builder_clear(struct batch_builder *r)
{
    r->count = 0;
    r->full = false;
    r->key.bytes.size = r->value.bytes.size = r->key.used = r->value.used = 0;
}

void batch_builder_fini(struct batch_builder *r)
{
    buffer_fini(&r->key.bytes);
    buffer_fini(&r->value.bytes);
}

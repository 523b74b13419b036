/* See msgpack_cell.h. Also the calls of functions that encode and decode cells: glint_pack and
 * glint_pair, for the values of joins. */
#include "ops/msgpack_cell.h"

#include "engine/records/codec.h"

bool msgpack_cell_check(struct glint_task *task, enum glint_type type, struct glint_slice bytes)
{
    uint64_t size;
    if (bytes.size > VALUE_BYTES_MAX)
        error_set(&task->error, GLINT_E_VALUE_LIMIT, "split the value into several records",
                  "a value of %llu bytes; the limit of msgpack is %llu",
                  (unsigned long long)bytes.size, (unsigned long long)VALUE_BYTES_MAX);
    else if (type == GLINT_MSGPACK &&
             (!msgpack_validate(bytes.data, bytes.size, &size) || size != bytes.size))
        error_set(&task->error, GLINT_E_FUNCTION_FAILED, NULL,
                  "a cell of %llu bytes has the type msgpack but is not exactly one msgpack value",
                  (unsigned long long)bytes.size);
    else
        return true;
    return false;
}

bool msgpack_cell_decode(enum glint_type type, const struct msgpack_head *h, const uint8_t *p,
                         union glint_value *out)
{
    assert(type >= GLINT_NONE && type < GLINT_MSGPACK);
    switch (type) {
    case GLINT_NONE: return h->kind == MSGPACK_KIND_NIL;
    case GLINT_I64:
        out->i64 = h->i64;
        return h->kind == MSGPACK_KIND_INT || (h->kind == MSGPACK_KIND_UINT && h->u64 <= INT64_MAX);
    case GLINT_F64: out->f64 = h->f64; return h->kind == MSGPACK_KIND_FLOAT;
    default: out->bytes = (struct glint_slice){p + h->head_size, h->size};
    }
    return h->kind == (type == GLINT_TEXT ? MSGPACK_KIND_STR : MSGPACK_KIND_BIN);
}

bool glint_unpack(struct glint_slice msgpack, enum glint_type type, union glint_value *out)
{
    struct msgpack_head h;
    if (type == GLINT_MSGPACK) {
        out->bytes = msgpack;
        return msgpack.size > 0;
    }
    if (type < GLINT_NONE || !msgpack_read_head(msgpack.data, msgpack.size, &h) ||
        !msgpack_cell_decode(type, &h, msgpack.data, out))
        return false;
    bool bytes = type == GLINT_TEXT || type == GLINT_BYTES;
    /* Trailing bytes are an error. */
    return h.head_size + (bytes ? h.size : 0) == msgpack.size;
}

/* Decodes the value at *at, and moves *at behind it. */
static bool unpack_next_cell(const uint8_t **at, const uint8_t *end, struct glint_cell *out)
{
    static const enum glint_type types[] = {
        [MSGPACK_KIND_NIL] = GLINT_NONE,      [MSGPACK_KIND_BOOL] = GLINT_MSGPACK,
        [MSGPACK_KIND_UINT] = GLINT_I64,      [MSGPACK_KIND_INT] = GLINT_I64,
        [MSGPACK_KIND_FLOAT] = GLINT_F64,     [MSGPACK_KIND_STR] = GLINT_TEXT,
        [MSGPACK_KIND_BIN] = GLINT_BYTES,     [MSGPACK_KIND_EXT] = GLINT_MSGPACK,
        [MSGPACK_KIND_ARRAY] = GLINT_MSGPACK, [MSGPACK_KIND_MAP] = GLINT_MSGPACK};
    struct msgpack_head h;
    uint64_t size = 0;
    const uint64_t rest = (uint64_t)(end - *at);
    if (!msgpack_read_head(*at, rest, &h)) return false;
    *out = (struct glint_cell){.type = types[h.kind]};
    if (out->type != GLINT_MSGPACK && msgpack_cell_decode(out->type, &h, *at, &out->value)) {
        size = h.head_size + (codec_type_is_bytes(out->type) ? h.size : 0);
    } else { /* containers, and unsigned numbers that are not in the range of i64 */
        if (!msgpack_validate(*at, rest, &size)) return false;
        *out = (struct glint_cell){GLINT_MSGPACK, {.bytes = {*at, size}}};
    }
    *at += size;
    return true;
}

int64_t glint_unpack_cells(struct glint_slice array, struct glint_cell *out, uint32_t capacity)
{
    struct msgpack_head h;
    if (!msgpack_read_head(array.data, array.size, &h) || h.kind != MSGPACK_KIND_ARRAY ||
        h.count > capacity)
        return -1;
    const uint8_t *at = array.data + h.head_size, *end = array.data + array.size;
    for (uint64_t i = 0; i < h.count; i++)
        if (!unpack_next_cell(&at, end, &out[i])) return -1;
    return at == end ? (int64_t)h.count : -1;
}

struct glint_pair glint_pair(const union glint_value *value)
{
    struct glint_cell cells[2];
    if (glint_unpack_cells(value->bytes, cells, 2) == 2)
        return (struct glint_pair){cells[0], cells[1]};
    return (struct glint_pair){{.type = GLINT_NONE}, {.type = GLINT_NONE}};
}

int glint_pack(struct glint_task *task, struct glint_buffer *buffer, const struct glint_cell *cells,
               uint32_t count)
{
    uint8_t head[MSGPACK_HEAD_BYTES_MAX + 8];
    head[0] = (uint8_t)(0x90 | count);
    unsigned size = count <= 15           ? 1
                    : count <= UINT16_MAX ? msgpack_put_number(head, 0xdc, count, 2)
                                          : msgpack_put_number(head, 0xdd, count, 4);
    int r = glint_append(task, buffer, head, size);
    for (uint32_t i = 0; i < count && r == 0; i++) {
        const struct glint_cell *c = &cells[i];
        const bool bytes = codec_type_is_bytes(c->type);
        if (bytes && !msgpack_cell_check(task, c->type, c->value.bytes)) return task->error.code;
        r = glint_append(task, buffer, head,
                         (uint64_t)(msgpack_put_head(head, c->type, &c->value) - head));
        if (r == 0 && bytes)
            r = glint_append(task, buffer, c->value.bytes.data, c->value.bytes.size);
    }
    return r;
}

/* Numbers have their byte form. In texts 00 becomes 00 ff, and 00 00 ends them, so that a text that
 * another one begins with is less. */
int glint_append_order(struct glint_task *task, struct glint_buffer *buffer,
                       const struct glint_cell *cell, bool descending)
{
    const uint64_t start = buffer->size;
    uint8_t number[CODEC_NUMBER_BYTES];
    struct glint_slice rest = codec_encode(cell->type, &cell->value, number);
    int r = 0;
    if (!codec_type_is_bytes(cell->type)) {
        r = glint_append(task, buffer, rest.data, rest.size);
    } else {
        for (const uint8_t *zero; r == 0 && rest.size > 0 && /* each run up to a zero */
                                  (zero = memchr(rest.data, 0, rest.size)) != NULL;) {
            const uint64_t run = (uint64_t)(zero - rest.data) + 1;
            r = glint_append(task, buffer, rest.data, run);
            if (r == 0) r = glint_append(task, buffer, "\xff", 1);
            rest = (struct glint_slice){rest.data + run, rest.size - run};
        }
        if (r == 0) r = glint_append(task, buffer, rest.data, rest.size);
        if (r == 0) r = glint_append(task, buffer, "\0", 2);
    }
    for (uint64_t i = start; descending && i < buffer->size; i++)
        buffer->data[i] = (uint8_t)~buffer->data[i];
    return r;
}

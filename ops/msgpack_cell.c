/* See msgpack_cell.h. Also glint_unpack_pair and glint_unpack, which decode the values that joins
 * make. */
#include "ops/msgpack_cell.h"

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

bool glint_unpack_pair(struct glint_slice pair, struct glint_slice *out_first,
                       struct glint_slice *out_second)
{
    struct msgpack_head h;
    uint64_t size;
    if (!msgpack_read_head(pair.data, pair.size, &h) || h.kind != MSGPACK_KIND_ARRAY ||
        h.count != 2)
        return false;
    const uint8_t *at = pair.data + h.head_size, *end = pair.data + pair.size;
    if (!msgpack_validate(at, (uint64_t)(end - at), &size) || size == (uint64_t)(end - at))
        return false;
    *out_first = (struct glint_slice){at, size};
    *out_second = (struct glint_slice){at + size, (uint64_t)(end - at) - size};
    return true;
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

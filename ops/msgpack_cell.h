/* Cells as msgpack: written by saveAsMsgpackFile, read by msgpackFile, and used for the values of
 * joins. Encoding is inline, because it dominates the cost of saving. */
#ifndef GLINT_OPS_MSGPACK_CELL_H
#define GLINT_OPS_MSGPACK_CELL_H

#include "engine/records/pack.h"
#include "engine/records/task.h"

#include <assert.h>
#include <string.h>

#define MSGPACK_HEAD_BYTES_MAX 9    /* of one cell, without its bytes */
#define MSGPACK_PAIR           0x92 /* header of an array of two */
#define MSGPACK_NIL            0xc0

/* Writes `code` and a big-endian number of `width` bytes. Always writes 8 bytes after the code;
 * `out` must have room. Returns the encoded size. */
static inline unsigned msgpack_put_number(uint8_t *out, uint8_t code, uint64_t v, unsigned width)
{
    uint64_t bits = __builtin_bswap64(v << (64 - 8 * width));
    assert(width > 0 && width < MSGPACK_HEAD_BYTES_MAX);
    out[0] = code;
    memcpy(out + 1, &bits, sizeof bits);
    return 1 + width;
}

/* Writes the shortest encoding. Returns its size. */
static inline unsigned msgpack_put_i64(uint8_t *out, int64_t v)
{
    if (v >= -32 && v <= 127) {
        out[0] = (uint8_t)v;
        return 1;
    }
    const uint64_t u = (uint64_t)v;
    if (v < 0)
        return v >= INT8_MIN    ? msgpack_put_number(out, 0xd0, u, 1)
               : v >= INT16_MIN ? msgpack_put_number(out, 0xd1, u, 2)
               : v >= INT32_MIN ? msgpack_put_number(out, 0xd2, u, 4)
                                : msgpack_put_number(out, 0xd3, u, 8);
    return v <= UINT8_MAX    ? msgpack_put_number(out, 0xcc, u, 1)
           : v <= UINT16_MAX ? msgpack_put_number(out, 0xcd, u, 2)
           : v <= UINT32_MAX ? msgpack_put_number(out, 0xce, u, 4)
                             : msgpack_put_number(out, 0xcf, u, 8);
}

/* Writes the header of a str or bin. Returns its size. */
static inline unsigned msgpack_put_size(uint8_t *out, bool str, uint64_t size)
{
    if (str && size <= 31) {
        out[0] = (uint8_t)(0xa0 | size);
        return 1;
    }
    const uint8_t code = str ? 0xd9 : 0xc4;
    return size <= UINT8_MAX    ? msgpack_put_number(out, code, size, 1)
           : size <= UINT16_MAX ? msgpack_put_number(out, code + 1, size, 2)
                                : msgpack_put_number(out, code + 2, size, 4);
}

/* Writes a cell except the content of bytes-like types, and returns the end. May write up to
 * MSGPACK_HEAD_BYTES_MAX bytes, even if the cell is shorter. */
static inline uint8_t *msgpack_put_head(uint8_t *out, enum glint_type type,
                                        const union glint_value *v)
{
    uint64_t bits;
    switch (type) {
    case GLINT_NONE: *out = MSGPACK_NIL; return out + 1;
    case GLINT_I64: return out + msgpack_put_i64(out, v->i64);
    case GLINT_F64:
        memcpy(&bits, &v->f64, sizeof bits);
        return out + msgpack_put_number(out, 0xcb, bits, 8);
    case GLINT_MSGPACK: return out;
    default: return out + msgpack_put_size(out, type == GLINT_TEXT, v->bytes.size);
    }
}

/* Checks that a bytes-like cell can be encoded: not over the size limit and, for type msgpack,
 * exactly one value. Returns false with the task's error set. */
bool msgpack_cell_check(struct glint_task *task, enum glint_type type, struct glint_slice bytes);

/* Decodes the cell at `p` whose header is `h`; slices point behind the header. Returns false if it
 * has another type; NONE must be nil. Not for cells of type msgpack. */
bool msgpack_cell_decode(enum glint_type type, const struct msgpack_head *h, const uint8_t *p,
                         union glint_value *out);

#endif

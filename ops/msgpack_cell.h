/* Cells as msgpack: how saveAsMsgpackFile writes them, msgpackFile reads them, and joins carry
 * them. Writing is inline, since it is most of what saving costs. */
#ifndef GLINT_OPS_MSGPACK_CELL_H
#define GLINT_OPS_MSGPACK_CELL_H

#include "engine/data/msgpack_validate.h"
#include "engine/data/task.h"

#include <assert.h>
#include <string.h>

#define MSGPACK_HEAD_BYTES_MAX 9    /* of a cell, its bytes not counted */
#define MSGPACK_PAIR           0x92 /* an array of two follows */
#define MSGPACK_NIL            0xc0

/* `code` and then a big-endian number of `width` bytes; eight bytes behind the code are written. */
static inline unsigned msgpack_put_number(uint8_t *out, uint8_t code, uint64_t v, unsigned width)
{
    uint64_t bits = __builtin_bswap64(v << (64 - 8 * width));
    assert(width > 0 && width < MSGPACK_HEAD_BYTES_MAX);
    out[0] = code;
    memcpy(out + 1, &bits, sizeof bits);
    return 1 + width;
}

/* In its smallest form. */
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

/* What stands before the bytes of a str or a bin. */
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

/* All of a cell but the bytes of bytes-like ones; answers its end. MSGPACK_HEAD_BYTES_MAX may be
 * written, whatever the cell takes. */
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

/* Whether a bytes-like cell can be msgpack: not over its limit, and of type msgpack exactly one
 * value. False: the task's error is set. */
bool msgpack_cell_check(struct glint_task *task, enum glint_type type, struct glint_slice bytes);

/* The cell whose head was read at `p`, its bytes where they lie. False: it is of another type; NONE
 * is nil. Not for cells of type msgpack. */
bool msgpack_cell_decode(enum glint_type type, const struct msgpack_head *h, const uint8_t *p,
                         union glint_value *out);

#endif

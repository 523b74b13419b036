/* The byte form of values, used in shuffles and results, and their text form.
 *
 * memcmp on byte forms gives the order of the type, so sorting, runs and merging do not depend on
 * types. i64: big-endian with the sign bit flipped. f64: big-endian with the sign bit flipped and
 * negative numbers inverted; -0.0 becomes 0.0, and all NaNs become one, which sorts last. Bytes,
 * text and msgpack are unchanged. */
#ifndef GLINT_RECORDS_CODEC_H
#define GLINT_RECORDS_CODEC_H

#include "engine/base/mem.h"
#include "engine/glint.h"

#include <assert.h>
#include <string.h>

#define CODEC_NUMBER_BYTES 8
static_assert(sizeof(int64_t) == CODEC_NUMBER_BYTES && sizeof(double) == CODEC_NUMBER_BYTES,
              "numbers have one size in byte form");

static inline uint64_t codec_encode_i64(int64_t v)
{
    return __builtin_bswap64((uint64_t)v ^ ((uint64_t)1 << 63));
}

static inline int64_t codec_decode_i64(uint64_t bits)
{
    return (int64_t)(__builtin_bswap64(bits) ^ ((uint64_t)1 << 63));
}

/* As codec_encode_i64 and codec_decode_i64: the byte form of a number as the bits to store. */
uint64_t codec_encode_f64(double v);
double codec_decode_f64(uint64_t bits);

/* Of a type in a function's schema: the size of a GLINT_STRUCT, 0: none; and the type of the
 * column, which is BYTES for it. */
static inline uint32_t codec_struct_size(enum glint_type type)
{
    return (uint32_t)type >> 8;
}
static inline enum glint_type codec_column_type(enum glint_type type)
{
    return codec_struct_size(type) != 0 ? GLINT_BYTES : type;
}

/* Returns true if values of the type are bytes in memory, not numbers. */
static inline bool codec_type_is_bytes(enum glint_type type)
{
    return type == GLINT_BYTES || type == GLINT_TEXT || type == GLINT_MSGPACK;
}

/* Returns the byte form: in `scratch` for numbers, else the value's bytes, borrowed. NONE is
 * empty. */
static inline struct glint_slice codec_encode(enum glint_type type, const union glint_value *v,
                                              uint8_t scratch[CODEC_NUMBER_BYTES])
{
    if (type == GLINT_NONE) return (struct glint_slice){scratch, 0};
    if (type != GLINT_I64 && type != GLINT_F64) return v->bytes;
    uint64_t bits = type == GLINT_I64 ? codec_encode_i64(v->i64) : codec_encode_f64(v->f64);
    memcpy(scratch, &bits, sizeof bits);
    return (struct glint_slice){scratch, CODEC_NUMBER_BYTES};
}

/* The inverse; bytes are borrowed, not copied. Returns false if the size does not fit the type. */
static inline bool codec_decode(enum glint_type type, struct glint_slice bytes,
                                union glint_value *out)
{
    if (type == GLINT_NONE) return bytes.size == 0;
    if (type != GLINT_I64 && type != GLINT_F64) {
        out->bytes = bytes;
        return true;
    }
    if (bytes.size != CODEC_NUMBER_BYTES) return false;
    uint64_t bits;
    memcpy(&bits, bytes.data, sizeof bits);
    if (type == GLINT_I64)
        out->i64 = codec_decode_i64(bits);
    else
        out->f64 = codec_decode_f64(bits);
    return true;
}

/* Compares byte forms as memcmp; a prefix sorts first. */
static inline int codec_compare(struct glint_slice a, struct glint_slice b)
{
    uint64_t n = a.size < b.size ? a.size : b.size;
    int c = n > 0 ? memcmp(a.data, b.data, n) : 0;
    return c != 0 ? c : (a.size > b.size) - (a.size < b.size);
}

/* Writes `v` as LEB128 and returns its size, at most 10 bytes. */
static inline unsigned codec_put_varint(uint8_t *out, uint64_t v)
{
    unsigned n = 0;
    for (; v >= 0x80; v >>= 7) out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return n;
}

/* Reads a LEB128 number and returns its size, or 0 if [p, end) does not start with a complete one
 * of at most 64 bits. */
static inline unsigned codec_get_varint(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned n = 0; n < 10 && p + n < end; n++) {
        v |= (uint64_t)(p[n] & 0x7f) << (7 * n);
        if (p[n] < 0x80) {
            *out = v;
            return n < 9 || p[n] < 2 ? n + 1 : 0;
        }
    }
    return 0;
}

/* Appends the value to `out` as saveAsTextFile prints it. Returns false when out of memory. */
bool codec_print(enum glint_type type, const union glint_value *v, struct buffer *out);

/* Returns the type's name for messages, static. */
const char *codec_type_name(enum glint_type type);

#endif

/* Encodings of a list of bit indexes in the shuffle: as in memory, as varints of 7 bits per byte,
 * or as Hadoop's VIntWritable. A list is the concatenation of its codes. */
#ifndef GLINT_JOBS_FILTERS_INDEX_CODES_H
#define GLINT_JOBS_FILTERS_INDEX_CODES_H

#include "jobs/filters/bloom_pipeline.h"

#include <string.h>

enum {
    INDEX_CODE_MAX = 10,  /* maximum bytes of a code */
    INDEX_CODE_SLACK = 8, /* writable and readable after the last one */
    VINT_ONE_BYTE = 127,  /* the largest number that Hadoop writes in one byte */
    VINT_FIRST = -112,    /* a first byte of VINT_FIRST - n is followed by n bytes */
};

/* Encodes varints of up to 35 bits without a branch per byte: spreads the groups of 7 bits over 5
 * bytes, and sets the top bit of all but the last one. Writes 8 bytes, returns how many are used.
 */
static inline uint32_t put_varint_narrow(uint8_t *at, uint32_t v)
{
    uint64_t spread = (v & 0x7fu) | (uint64_t)(v & 0x3f80u) << 1 | (uint64_t)(v & 0x1fc000u) << 2 |
                      (uint64_t)(v & 0xfe00000u) << 3 | (uint64_t)(v >> 28) << 32;
    uint32_t size = (uint32_t)(38 - __builtin_clz(v | 1)) / 7;
    spread |= 0x8080808080808080u & (((uint64_t)1 << (8 * size - 8)) - 1);
    memcpy(at, &spread, sizeof spread);
    return size;
}

static inline uint32_t put_varint(uint8_t *at, uint64_t v)
{
    uint32_t size = 0;
    for (; v >= 0x80; v >>= 7) at[size++] = (uint8_t)(v | 0x80);
    at[size++] = (uint8_t)v;
    return size;
}

/* Decodes the varint at `at`, where 8 bytes must be readable; returns 0 if it has more than 5
 * bytes. */
static inline uint32_t get_varint_narrow(const uint8_t *at, uint32_t *out)
{
    uint64_t w;
    memcpy(&w, at, sizeof w);
    uint32_t size = ((uint32_t)__builtin_ctzll(~w & 0x8080808080808080u) >> 3) + 1;
    w &= UINT64_MAX >> (64 - 8 * size);
    *out = (uint32_t)((w & 0x7f) | (w & 0x7f00) >> 1 | (w & 0x7f0000) >> 2 | (w & 0x7f000000) >> 3 |
                      (w & 0x0f00000000) >> 4);
    return size <= 5 ? size : 0;
}

/* Returns 0 if it does not end before `end`. */
static inline uint32_t get_varint(const uint8_t *at, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    *out = 0;
    for (uint32_t n = 0; n < INDEX_CODE_MAX && at + n < end; n++) {
        v |= (uint64_t)(at[n] & 0x7f) << (7 * n);
        *out = v;
        if (at[n] < 0x80) return n + 1;
    }
    return 0;
}

/* WritableUtils.writeVLong of a number that is not negative: one byte up to 127, else a byte with
 * the number of bytes that follow, and these, most significant first. */
static inline uint32_t put_vint(uint8_t *at, uint64_t v)
{
    at[0] = (uint8_t)v;
    if (v <= VINT_ONE_BYTE) return 1;
    const uint32_t bytes = (71 - (uint32_t)__builtin_clzll(v)) / 8;
    at[0] = (uint8_t)(VINT_FIRST - (int32_t)bytes);
    for (uint32_t i = 0; i < bytes; i++) at[1 + i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
    return 1 + bytes;
}

/* Returns 0 if it does not end before `end`, or is negative. */
static inline uint32_t get_vint(const uint8_t *at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    if (at >= end) return 0;
    const int32_t first = (int8_t)at[0], bytes = VINT_FIRST - first;
    if (first >= 0) {
        *out = (uint64_t)first;
        return 1;
    }
    if (bytes < 1 || bytes > 8 || end - at <= bytes) return 0;
    uint64_t v = 0;
    for (int32_t i = 1; i <= bytes; i++) v = v << 8 | at[i];
    *out = v;
    return 1 + (uint32_t)bytes;
}

/* Bytes of a varint of v, such as the largest index of a filter with m bits. */
static inline uint64_t varint_bytes(uint64_t v)
{
    uint64_t bytes = 1;
    for (v >>= 7; v > 0; v >>= 7) bytes++;
    return bytes;
}
static inline uint64_t vint_bytes(uint64_t v)
{
    uint8_t code[INDEX_CODE_MAX];
    return put_vint(code, v);
}

#endif

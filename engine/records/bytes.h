/* Inline copy and comparison of short byte strings, as most keys and values are: a few overlapping
 * loads and stores of fixed size, none out of bounds. Longer ones use the C library. */
#ifndef GLINT_RECORDS_BYTES_H
#define GLINT_RECORDS_BYTES_H

#include "engine/glint.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BYTES_SHORT_MAX 32

/* As memcpy; `in` may be NULL if `size` is 0. */
static inline void bytes_copy(uint8_t *out, const uint8_t *in, uint64_t size)
{
    if (size > BYTES_SHORT_MAX) {
        memcpy(out, in, size);
    } else if (size >= 16) {
        uint64_t a[2], b[2];
        memcpy(a, in, 16);
        memcpy(b, in + size - 16, 16);
        memcpy(out, a, 16);
        memcpy(out + size - 16, b, 16);
    } else if (size >= 8) {
        uint64_t a, b;
        memcpy(&a, in, 8);
        memcpy(&b, in + size - 8, 8);
        memcpy(out, &a, 8);
        memcpy(out + size - 8, &b, 8);
    } else if (size >= 4) {
        uint32_t a, b;
        memcpy(&a, in, 4);
        memcpy(&b, in + size - 4, 4);
        memcpy(out, &a, 4);
        memcpy(out + size - 4, &b, 4);
    } else if (size > 0) {
        out[0] = in[0];
        out[size / 2] = in[size / 2];
        out[size - 1] = in[size - 1];
    }
}

/* As memcmp(a, b, size) == 0. */
static inline bool bytes_equal(const uint8_t *a, const uint8_t *b, uint64_t size)
{
    if (size > 16) return memcmp(a, b, size) == 0;
    if (size >= 8) {
        uint64_t x[2], y[2];
        memcpy(&x[0], a, 8);
        memcpy(&x[1], a + size - 8, 8);
        memcpy(&y[0], b, 8);
        memcpy(&y[1], b + size - 8, 8);
        return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
    }
    if (size >= 4) {
        uint32_t x[2], y[2];
        memcpy(&x[0], a, 4);
        memcpy(&x[1], a + size - 4, 4);
        memcpy(&y[0], b, 4);
        memcpy(&y[1], b + size - 4, 4);
        return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
    }
    return size == 0 || (a[0] == b[0] && a[size / 2] == b[size / 2] && a[size - 1] == b[size - 1]);
}

static inline bool slices_equal(struct glint_slice a, struct glint_slice b)
{
    return a.size == b.size && bytes_equal(a.data, b.data, a.size);
}

#endif

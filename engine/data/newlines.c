/* The portable index, eight bytes at a time, and the choice between it and the SIMD ones. */
#include "engine/data/newlines.h"

#include "engine/data/newlines_x86.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (uint64_t)(b))

static inline uint64_t load_le(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

/* 0x80 in each byte of `word` that equals `byte`, exactly. */
static inline uint64_t bytes_equal(uint64_t word, uint8_t byte)
{
    const uint64_t low = EACH_BYTE(0x7f);
    const uint64_t x = word ^ EACH_BYTE(byte);
    return ~(((x & low) + low) | x | low);
}

static struct newlines index_scalar(const uint8_t *base, uint32_t from, uint32_t to,
                                    uint32_t *out_start, uint32_t *out_end)
{
    assert(from <= to);
    uint32_t count = 0, at = from;
    uint64_t any_cr = 0;
    while (at < to && count <= BATCH_ROWS_MAX - NEWLINES_CHUNK) {
        const uint32_t stop = to - at > NEWLINES_CHUNK ? at + NEWLINES_CHUNK : to;
        for (; at < stop; at += 8) {
            const uint64_t word = load_le(base + at);
            const uint64_t inside =
                stop - at >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * (stop - at))) - 1;
            any_cr |= bytes_equal(word, '\r') & inside;
            for (uint64_t lf = bytes_equal(word, '\n') & inside; lf != 0; lf &= lf - 1) {
                const uint32_t position = at + ((uint32_t)__builtin_ctzll(lf) >> 3);
                out_end[count++] = position;
                out_start[count] = position + 1;
            }
        }
        at = stop;
    }
    return (struct newlines){.count = count, .scanned = at, .any_cr = any_cr != 0};
}

newlines_index newlines_at(enum newlines_level level)
{
    switch (level) {
    case NEWLINES_SCALAR: return index_scalar;
    case NEWLINES_AVX2: return newlines_avx2();
    case NEWLINES_AVX512: return newlines_avx512();
    default: assert(level == NEWLINES_LEVELS); return NULL;
    }
}

newlines_index newlines_best(void)
{
    for (int level = NEWLINES_LEVELS - 1; level > NEWLINES_SCALAR; level--) {
        newlines_index index = newlines_at((enum newlines_level)level);
        if (index != NULL) return index;
    }
    return index_scalar;
}

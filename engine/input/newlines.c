/* The portable variant, eight bytes at a time, and the choice of the variant. */
#include "engine/input/newlines.h"

#include "engine/input/newlines_x86.h"

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

/* Returns 0x80 in each byte that equals `byte`, 0 in the others; there are no false matches. */
static inline uint64_t match_bytes(uint64_t word, uint8_t byte)
{
    const uint64_t low = EACH_BYTE(0x7f);
    const uint64_t x = word ^ EACH_BYTE(byte);
    return ~(((x & low) + low) | x | low);
}

/* Packs such a result into one bit per byte: the factor moves bit 8 i + 7 to bit 56 + i. */
static inline uint64_t pack_match_bits(uint64_t equal)
{
    return (equal >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* Returns the LFs of the 64 bytes at p as bits. Sets bits in *any_cr for CRs. `inside` masks the
 * valid bytes. */
static inline uint64_t chunk_bits(const uint8_t *p, uint64_t inside, uint64_t *any_cr)
{
    uint64_t lf = 0, cr = 0;
    for (unsigned i = 0; i < NEWLINES_CHUNK; i += 8) {
        const uint64_t word = load_le(p + i);
        lf |= pack_match_bits(match_bytes(word, '\n')) << i;
        cr |= pack_match_bits(match_bytes(word, '\r')) << i;
    }
    *any_cr |= cr & inside;
    return lf & inside;
}

static struct newlines index_scalar(const uint8_t *base, uint32_t from, uint32_t to,
                                    uint32_t *out_start, uint32_t *out_end)
{
    assert(from <= to);
    uint32_t count = 0, at = from;
    uint64_t any_cr = 0;
    while (at < to && count <= BATCH_ROWS_MAX - NEWLINES_CHUNK) {
        uint64_t lf = chunk_bits(base + at, newlines_valid_mask(at, to), &any_cr);
        for (; lf != 0; lf &= lf - 1) {
            const uint32_t position = at + (uint32_t)__builtin_ctzll(lf);
            out_end[count++] = position;
            out_start[count] = position + 1;
        }
        at += NEWLINES_CHUNK;
    }
    return (struct newlines){.count = count, .scanned = at < to ? at : to, .any_cr = any_cr != 0};
}

newlines_index newlines_index_for_level(enum newlines_level level)
{
    switch (level) {
    case NEWLINES_SCALAR: return index_scalar;
    case NEWLINES_AVX2: return newlines_index_avx2();
    case NEWLINES_AVX512: return newlines_index_avx512();
    default: assert(level == NEWLINES_LEVELS); return NULL;
    }
}

newlines_index newlines_index_for_cpu(void)
{
    for (int level = NEWLINES_LEVELS - 1; level > NEWLINES_SCALAR; level--) {
        newlines_index index = newlines_index_for_level((enum newlines_level)level);
        if (index != NULL) return index;
    }
    return index_scalar;
}

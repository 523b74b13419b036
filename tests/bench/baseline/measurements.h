/* Parsing a line STATION;TEMPERATURE: parts of baseline_stations. */
#ifndef BASELINE_MEASUREMENTS_H
#define BASELINE_MEASUREMENTS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#define MEASUREMENTS_AVX512 1
#elif defined(__AVX2__)
#include <immintrin.h>
#endif

enum { NAME_BYTES_FAST = 32 };

/* The first bytes of a name, with zeros behind it. */
#if defined(MEASUREMENTS_AVX512)
typedef __m256i name_bytes;
#else
typedef struct {
    uint64_t word[NAME_BYTES_FAST / 8];
} name_bytes;
#endif

struct name {
    name_bytes bytes;
    uint32_t size;
};

struct station {
    struct name name;
    int32_t min, max; /* tenths */
    uint32_t count;   /* 0: the slot is free */
    int64_t sum;
    uint8_t *text; /* the whole name, with a zero behind it */
} __attribute__((aligned(64)));

/* Bit i: bytes[i] is a newline. */
static inline uint64_t newline_bits(const uint8_t *bytes)
{
#if defined(MEASUREMENTS_AVX512)
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bytes), _mm512_set1_epi8('\n'));
#elif defined(__AVX2__)
    const __m256i newline = _mm256_set1_epi8('\n');
    const __m256i low = _mm256_loadu_si256((const __m256i *)bytes);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(bytes + 32));
    const uint64_t bits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, newline));
    return bits | (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, newline)) << 32;
#else
    uint64_t bits = 0;
    for (int i = 0; i < 64; i++) bits |= (uint64_t)(bytes[i] == '\n') << i;
    return bits;
#endif
}

#if defined(MEASUREMENTS_AVX512)

static inline struct name name_load(const uint8_t *text, uint32_t size)
{
    const __mmask32 inside = _bzhi_u32(UINT32_MAX, size);
    return (struct name){_mm256_maskz_loadu_epi8(inside, text), size};
}

static inline bool name_equal(const struct name *a, const struct name *b)
{
    return a->size == b->size && _mm256_cmpneq_epi64_mask(a->bytes, b->bytes) == 0;
}

static inline uint64_t name_word(const struct name *name, int word)
{
    const __m128i low = _mm256_castsi256_si128(name->bytes);
    return (uint64_t)(word == 0 ? _mm_cvtsi128_si64(low) : _mm_extract_epi64(low, 1));
}

#else

static inline struct name name_load(const uint8_t *text, uint32_t size)
{
    struct name name = {.size = size};
    for (uint32_t i = 0; i < NAME_BYTES_FAST / 8; i++) {
        uint64_t word = 0;
        if (size > 8 * i) memcpy(&word, text + 8 * i, 8); /* the buffer is padded */
        if (size < 8 * i + 8 && size > 8 * i) word &= (UINT64_C(1) << 8 * (size - 8 * i)) - 1;
        name.bytes.word[i] = word;
    }
    return name;
}

static inline bool name_equal(const struct name *a, const struct name *b)
{
    return a->size == b->size && memcmp(&a->bytes, &b->bytes, NAME_BYTES_FAST) == 0;
}

static inline uint64_t name_word(const struct name *name, int word)
{
    return name->bytes.word[word];
}

#endif

static inline uint32_t name_hash(const struct name *name)
{
    const uint64_t word = name_word(name, 0) ^ name_word(name, 1) << 7 ^ name->size;
    return (uint32_t)(word * 0x9e3779b97f4a7c15 >> 40);
}

struct temperature {
    int32_t tenths;
    uint32_t size; /* of its text: 3 to 5 */
};

/* The number that ends before `newline`: "1.5", "-1.5", "21.5" or "-21.5". */
static inline struct temperature temperature_before(const uint8_t *newline)
{
    uint64_t word; /* its last byte, the tenth, is the highest */
    memcpy(&word, newline - 8, 8);
    const uint32_t tenth = (uint32_t)(word >> 56) - '0', one = (word >> 40 & 0xff) - '0';
    const uint32_t ten = (word >> 32 & 0xff) - '0', two_digits = ten <= 9;
    const int32_t size = (int32_t)(one * 10 + tenth + (ten & -two_digits) * 100);
    const uint32_t before = (uint32_t)(word >> (32 - 8 * two_digits)) & 0xff;
    const int32_t negative = before == '-';
    return (struct temperature){(size ^ -negative) + negative,
                                3 + two_digits + (uint32_t)negative};
}

/* The mean in tenths, halves rounded up. */
static inline int64_t mean_tenths(int64_t sum, int64_t count)
{
    assert(count > 0);
    const int64_t twice = 2 * sum + count, divisor = 2 * count;
    return twice / divisor - (twice % divisor < 0);
}

#endif

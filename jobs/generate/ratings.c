/* The table of ratings, row by row: row r uses draws 2r and 2r + 1, so rows share no state. */
#include "jobs/generate/ratings.h"

#include "jobs/generate/draw.h"

#include <assert.h>
#include <string.h>

static const char HEADER[] = "tconst\taverageRating\tnumVotes\n";
static_assert(sizeof HEADER - 1 == RATINGS_HEADER_BYTES, "the header's length is in the interface");

/* Rows of the real table up to and including each class, 1..10. */
enum { CLASSES = 10, REAL_ROWS = 499428 };
static const uint32_t CLASS_END[CLASSES] = {556,    3128,   11806,  33985,  83727,
                                            184634, 332693, 459020, 495593, REAL_ROWS};

/* Ratings of each class in tenths: the first, and how many. */
static const uint8_t TENTHS_FIRST[CLASSES] = {10, 15, 25, 35, 45, 55, 65, 75, 85, 95};
static const uint8_t TENTHS_COUNT[CLASSES] = {5, 10, 10, 10, 10, 10, 10, 10, 10, 6};

/* Votes are 5 * 2^octave, interpolated linearly within the octave. Octaves are in units of 1/2^32;
 * their end, 18 + 1077/2048, is where 5 * 2^18 * (1 + 1077/2048) reaches 2,000,000. */
#define VOTES_OCTAVES ((UINT64_C(18) << 32) + (UINT64_C(1077) << 21))
enum { VOTES_MIN = 5, VOTES_MAX = 2000000 };

static const char DIGIT_PAIRS[] = "0001020304050607080910111213141516171819202122232425262728293031"
                                  "3233343536373839404142434445464748495051525354555657585960616263"
                                  "6465666768697071727374757677787980818283848586878889909192939495"
                                  "96979899";
static_assert(sizeof DIGIT_PAIRS == 201, "a hundred pairs");

/* Returns 10..100, in tenths. The upper half of `random` selects the class, the lower half the
 * position in it. */
static uint32_t draw_rating_tenths(uint64_t random)
{
    uint32_t place = (uint32_t)((random >> 32) * REAL_ROWS >> 32);
    uint32_t class = 0;
    for (int i = 0; i < CLASSES - 1; i++) class += place >= CLASS_END[i];
    assert(class < CLASSES);
    return TENTHS_FIRST[class] + (uint32_t)((random & UINT32_MAX) * TENTHS_COUNT[class] >> 32);
}

static uint32_t random_votes(uint64_t random)
{
    uint64_t position = (uint64_t)((unsigned __int128)random * VOTES_OCTAVES >> 64);
    uint64_t base = (uint64_t)VOTES_MIN << (position >> 32);
    uint64_t n = base + (base * (position & UINT32_MAX) >> 32);
    assert(n >= VOTES_MIN && n <= VOTES_MAX);
    return (uint32_t)n;
}

static uint32_t decimal_digits(uint32_t n)
{
    uint32_t digits = 1;
    for (uint64_t limit = 10; n >= limit; limit *= 10) digits++;
    return digits;
}

/* Writes exactly `digits` decimal digits of n, with leading zeros; returns the end. */
static uint8_t *write_padded_decimal(uint8_t *out, uint32_t n, uint32_t digits)
{
    uint32_t at = digits;
    for (; at >= 2; at -= 2, n /= 100) memcpy(out + at - 2, DIGIT_PAIRS + 2 * (n % 100), 2);
    if (at == 1) {
        out[0] = (uint8_t)('0' + n % 10);
        n /= 10;
    }
    assert(n == 0);
    return out + digits;
}

static uint8_t *put_rating(uint8_t *out, uint32_t tenths)
{
    assert(tenths >= 10 && tenths <= 100);
    if (tenths == 100) *out++ = '1';
    *out++ = (uint8_t)('0' + tenths / 10 % 10);
    *out++ = '.';
    *out++ = (uint8_t)('0' + tenths % 10);
    return out;
}

static uint8_t *put_rating_row(uint8_t *out, uint64_t stream, uint64_t row)
{
    uint32_t id = (uint32_t)(row + 1);
    uint32_t id_digits = decimal_digits(id);
    *out++ = 't';
    *out++ = 't';
    out = write_padded_decimal(out, id, id_digits < 7 ? 7 : id_digits);
    *out++ = '\t';
    out = put_rating(out, draw_rating_tenths(draw_u64(stream, 2 * row)));
    *out++ = '\t';
    uint32_t n = random_votes(draw_u64(stream, 2 * row + 1));
    out = write_padded_decimal(out, n, decimal_digits(n));
    *out++ = '\n';
    return out;
}

size_t ratings_header(uint8_t *out, size_t capacity)
{
    assert(out != NULL && capacity >= RATINGS_HEADER_BYTES);
    memcpy(out, HEADER, RATINGS_HEADER_BYTES);
    return RATINGS_HEADER_BYTES;
}

size_t ratings_format_rows(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                           size_t capacity)
{
    assert(first_row <= RATINGS_ROWS_MAX && rows <= RATINGS_ROWS_MAX - first_row);
    assert(capacity / RATINGS_ROW_BYTES_MAX >= rows);
    uint64_t stream = draw_stream(seed);
    uint8_t *at = out;
    for (uint64_t row = first_row; row < first_row + rows; row++)
        at = put_rating_row(at, stream, row);
    assert((size_t)(at - out) <= capacity);
    return (size_t)(at - out);
}

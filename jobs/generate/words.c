/* Syllables are digits to the base 100. The random ones are the first digits of a draw, read as a
 * fraction of 2^64; those that make rows unique are the row's number times a factor that is coprime
 * to 100^5, which permutes the rows. */
#include "jobs/generate/words.h"

#include "jobs/generate/draw.h"

#include <assert.h>
#include <string.h>

enum {
    SYLLABLES = 100,
    DRAW_SYLLABLES = 5,
    URL_HOST_SYLLABLES = 4,
    URL_VALUE_MAX = 999999,
    VISIT_DRAWS = 4, /* of DRAW_SYLLABLES each */
    VISIT_DIGITS = 7,
};

/* 20 consonants, 5 vowels. */
static const char SYLLABLE[] =
    "babebibobucacecicocudadedidodufafefifofugagegigoguhahehihohujajejijojukakekikoku"
    "lalelilolumamemimomunaneninonupapepipopurarerirorusasesisosutatetitotuvavevivovu"
    "wawewiwowuxaxexixoxuyayeyiyoyuzazezizozu";
static_assert(sizeof SYLLABLE == 2 * SYLLABLES + 1, "two letters each");

/* The permutation of a stream: row r has the number (r * factor + shift) mod WORDS_ROWS_MAX. */
struct numbering {
    uint64_t factor, number; /* of the current row */
};

static struct numbering numbering_start_at(uint64_t stream, uint64_t row)
{
    static const uint8_t last_digit[] = {1, 3, 7, 9};
    /* Counters that are not used by rows: rows draw from 0 on. */
    const uint64_t tens = draw_below(stream, UINT64_MAX - 2, WORDS_ROWS_MAX / 10);
    const uint64_t shift = draw_below(stream, UINT64_MAX - 3, WORDS_ROWS_MAX);
    struct numbering n = {.factor = tens * 10 + last_digit[stream % 4]};
    n.number =
        (uint64_t)(((unsigned __int128)row * n.factor + shift) % (unsigned __int128)WORDS_ROWS_MAX);
    return n;
}

static void numbering_next_row(struct numbering *n)
{
    n->number += n->factor;
    if (n->number >= WORDS_ROWS_MAX) n->number -= WORDS_ROWS_MAX;
}

static uint8_t *put_syllable(uint8_t *out, uint64_t digit)
{
    assert(digit < SYLLABLES);
    memcpy(out, SYLLABLE + 2 * digit, 2);
    return out + 2;
}

static uint8_t *put_random_syllables(uint8_t *out, uint64_t random, uint32_t syllables)
{
    for (uint32_t i = 0; i < syllables; i++) {
        const unsigned __int128 wide = (unsigned __int128)random * SYLLABLES;
        out = put_syllable(out, (uint64_t)(wide >> 64));
        random = (uint64_t)wide;
    }
    return out;
}

static uint8_t *put_word_number(uint8_t *out, uint64_t number)
{
    for (uint32_t i = 0; i < DRAW_SYLLABLES; i++, number /= SYLLABLES)
        out = put_syllable(out, number % SYLLABLES);
    assert(number == 0);
    return out;
}

static uint8_t *put_word_text(uint8_t *out, const char *text)
{
    const size_t size = strlen(text);
    memcpy(out, text, size);
    return out + size;
}

static uint8_t *put_decimal(uint8_t *out, uint32_t value)
{
    uint8_t digits[6];
    uint32_t n = 0;
    assert(value <= URL_VALUE_MAX);
    do {
        digits[n++] = (uint8_t)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (n > 0) *out++ = digits[--n];
    return out;
}

size_t words_format_rows(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                         size_t capacity)
{
    assert(first_row <= WORDS_ROWS_MAX && rows <= WORDS_ROWS_MAX - first_row);
    assert(capacity / WORDS_ROW_BYTES >= rows);
    const uint64_t stream = draw_stream(seed);
    struct numbering numbering = numbering_start_at(stream, first_row);
    uint8_t *at = out;
    for (uint64_t row = first_row; row < first_row + rows; row++) {
        at = put_random_syllables(at, draw_u64(stream, 2 * row), DRAW_SYLLABLES);
        at = put_word_number(at, numbering.number);
        at = put_random_syllables(at, draw_u64(stream, 2 * row + 1), DRAW_SYLLABLES);
        *at++ = '\n';
        numbering_next_row(&numbering);
    }
    assert((size_t)(at - out) == rows * WORDS_ROW_BYTES);
    return (size_t)(at - out);
}

size_t urls_format_rows(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                        size_t capacity)
{
    assert(first_row <= WORDS_ROWS_MAX && rows <= WORDS_ROWS_MAX - first_row);
    assert(capacity / URLS_ROW_BYTES_MAX >= rows);
    const uint64_t stream = draw_stream(seed);
    struct numbering numbering = numbering_start_at(stream, first_row);
    uint8_t *at = out;
    for (uint64_t row = first_row; row < first_row + rows; row++) {
        const uint64_t path = draw_u64(stream, 2 * row + 1);
        at = put_word_text(at, "https://");
        at = put_random_syllables(at, draw_u64(stream, 2 * row), URL_HOST_SYLLABLES);
        at = put_word_text(at, ".example/");
        at = put_random_syllables(at, path, DRAW_SYLLABLES);
        *at++ = '-';
        at = put_word_number(at, numbering.number);
        *at++ = '\t';
        at = put_decimal(at, (uint32_t)(path % (URL_VALUE_MAX + 1)));
        *at++ = '\n';
        numbering_next_row(&numbering);
    }
    assert((size_t)(at - out) <= capacity);
    return (size_t)(at - out);
}

size_t visits_format_rows(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                          size_t capacity)
{
    assert(first_row <= WORDS_ROWS_MAX && rows <= WORDS_ROWS_MAX - first_row);
    assert(capacity / VISITS_ROW_BYTES >= rows);
    const uint64_t stream = draw_stream(seed);
    uint8_t *at = out;
    for (uint64_t row = first_row; row < first_row + rows; row++) {
        const uint64_t counter = row * (VISIT_DRAWS + 1);
        uint64_t user = draw_below(stream, counter, VISITS_USERS);
        *at++ = 'u';
        for (uint32_t i = VISIT_DIGITS; i > 0; i--, user /= 10)
            at[i - 1] = (uint8_t)('0' + user % 10);
        at += VISIT_DIGITS;
        *at++ = '\t';
        for (uint32_t i = 1; i <= VISIT_DRAWS; i++)
            at = put_random_syllables(at, draw_u64(stream, counter + i), DRAW_SYLLABLES);
        *at++ = '\n';
    }
    assert((size_t)(at - out) == rows * VISITS_ROW_BYTES);
    return (size_t)(at - out);
}

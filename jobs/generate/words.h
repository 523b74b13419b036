/* Generated text: words, and URLs with a value, for filters over plain lists; visits, for joins.
 *
 *     kewexunepesakukujoteyukarugoco \n                                word of row 0, seed 1
 *     https://kugifeme.example/comidemoba-bovecijoye \t 815500 \n        URL of row 0, seed 2
 *     u0000000 \t 40 letters \n                                           visit of a user
 *
 * A word is 15 syllables of a consonant and a vowel: 30 pronounceable letters. A row depends only
 * on (seed, row), so any range can be generated anywhere, in any order, and the bytes of a (seed,
 * row) never change. All rows of one seed are different: five syllables are the row's number,
 * permuted. Rows of two seeds are equal with a probability below 10^-25 per pair.
 *
 * A visit is of one of 10,000,000 users with equal probability; its 40 letters are random.
 *
 * Pure functions: any thread, no allocation, no errors. */
#ifndef GLINT_JOBS_GENERATE_WORDS_H
#define GLINT_JOBS_GENERATE_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* The number of values of five syllables. */
#define WORDS_ROWS_MAX UINT64_C(10000000000)

enum {
    WORDS_LETTERS = 30,
    WORDS_ROW_BYTES = WORDS_LETTERS + 1,
    /* "https://", 8 letters, ".example/", 10 letters, "-", 10 letters, tab, 6 digits, newline */
    URLS_ROW_BYTES_MAX = 8 + 8 + 9 + 10 + 1 + 10 + 1 + 6 + 1,
    VISITS_USERS = 10000000,
    VISITS_ROW_BYTES = 8 + 1 + 40 + 1,
};

/* Write the rows first_row .. first_row + rows - 1 of a seed to `out`, which has at least rows
 * times the largest row size; return the bytes written. Rows count from 0, and first_row + rows is
 * at most WORDS_ROWS_MAX. */
size_t words_format_rows(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                         size_t capacity);
size_t urls_format_rows(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                        size_t capacity);
size_t visits_format_rows(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                          size_t capacity);

#endif

/* Generated names of two or three Chinese characters, for filters over short strings.
 *
 * A row depends only on (seed, row), so any range can be generated anywhere, in any order, and the
 * bytes of a (seed, row) never change. All names of one seed are different, so two disjoint lists
 * are two ranges of one seed. Nine of eleven names have three characters.
 *
 * Pure functions: any thread, no allocation, no errors. */
#ifndef GLINT_JOBS_GENERATE_NAMES_H
#define GLINT_JOBS_GENERATE_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum {
    NAMES_ROWS_MAX = 110000,         /* limited by the number of names of two characters */
    NAMES_ROW_BYTES_MAX = 3 * 3 + 1, /* UTF-8, newline */
};

/* Writes the rows first_row .. first_row + rows - 1 of a seed to `out`, which has at least rows *
 * NAMES_ROW_BYTES_MAX bytes; returns the bytes written. Rows count from 0, and first_row + rows is
 * at most NAMES_ROWS_MAX. */
size_t names_format_rows(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                         size_t capacity);

#endif

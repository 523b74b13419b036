/* Made-up names of two or three Chinese characters, for filters over short strings.
 *
 * A row follows from (seed, row) alone, so any range can be made anywhere, in any order, and the
 * bytes of a (seed, row) never change. All names of one seed are different, so two lists that must
 * not clash are two ranges of one seed. Nine names of eleven have three characters.
 *
 * Pure functions: any thread, no allocation, no errors. */
#ifndef GLINT_JOBS_GENERATE_NAMES_H
#define GLINT_JOBS_GENERATE_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum {
    NAMES_ROWS_MAX = 110000,         /* there are no more names of two characters */
    NAMES_ROW_BYTES_MAX = 3 * 3 + 1, /* UTF-8, newline */
};

/* Writes the rows first_row .. first_row + rows - 1 of a seed into `out`, which must hold rows *
 * NAMES_ROW_BYTES_MAX bytes; returns the bytes written. Rows count from 0, and first_row + rows is
 * at most NAMES_ROWS_MAX. */
size_t names_format(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                    size_t capacity);

#endif

/* A generated table of ratings, used by the quickstart, the tests and the benchmarks.
 *
 *     tconst \t averageRating \t numVotes \n       the header line
 *     tt0000001 \t 5.7 \t 1234 \n                  row 0, then one line per row
 *
 * Row r has the id tt%07u of r + 1, a rating with one decimal whose class (floor(rating + 0.5),
 * 1..10) is distributed as in IMDb's table, and 5..2,000,000 votes, about equally many rows per
 * factor of two. A row depends only on (seed, row), so any range can be generated anywhere, in any
 * order, and the bytes of a (seed, row) never change: tests and published counts depend on them.
 *
 * Pure functions: any thread, no allocation, no errors. */
#ifndef GLINT_JOBS_GENERATE_RATINGS_H
#define GLINT_JOBS_GENERATE_RATINGS_H

#include <stddef.h>
#include <stdint.h>

/* Ids are below 2^32 (ten digits), so that any tool can sort the table. */
#define RATINGS_ROWS_MAX UINT64_C(4294967295)

/* The longest row: "tt" + 10 digits, tab, "10.0", tab, 7 digits, newline. */
enum { RATINGS_ROW_BYTES_MAX = 26, RATINGS_HEADER_BYTES = 30 };

/* Writes the header line to `out` (at least RATINGS_HEADER_BYTES); returns its size. */
size_t ratings_header(uint8_t *out, size_t capacity);

/* Writes the rows first_row .. first_row + rows - 1 of the table of `seed` to `out`, which has at
 * least rows * RATINGS_ROW_BYTES_MAX bytes; returns the bytes written. Rows count from 0, and
 * first_row + rows is at most RATINGS_ROWS_MAX. */
size_t ratings_format_rows(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                           size_t capacity);

#endif

/* Rows that were made up, and what holds for every kind of them. */
#ifndef TESTS_UNIT_JOBS_GENERATE_GENERATED_H
#define TESTS_UNIT_JOBS_GENERATE_GENERATED_H

#include <stddef.h>
#include <stdint.h>

typedef size_t (*format_fn)(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                            size_t capacity);

/* A NUL stands behind the bytes; free them. */
struct table {
    uint8_t *bytes;
    size_t length;
};
struct table make_rows(format_fn format, uint64_t seed, uint64_t first_row, uint64_t rows);
/* The XXH64 of the rows. */
void expect_digest(format_fn format, uint64_t seed, uint64_t first_row, uint64_t rows,
                   uint64_t digest);
/* Any range of rows is what stands there in the whole. */
void expect_ranges(format_fn format);

#endif

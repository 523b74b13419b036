/* Helpers for generated rows, and properties that all kinds of them must have. */
#ifndef TESTS_UNIT_JOBS_GENERATE_GENERATED_H
#define TESTS_UNIT_JOBS_GENERATE_GENERATED_H

#include <stddef.h>
#include <stdint.h>

typedef size_t (*format_fn)(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                            size_t capacity);

/* The bytes are followed by a NUL; the caller frees them. */
struct table {
    uint8_t *bytes;
    size_t length;
};
struct table make_rows(format_fn format, uint64_t seed, uint64_t first_row, uint64_t rows);
/* The XXH64 of the rows must be `digest`. */
void expect_digest(format_fn format, uint64_t seed, uint64_t first_row, uint64_t rows,
                   uint64_t digest);
/* Each range of rows, generated separately, must equal that part of the whole table. */
void expect_ranges(format_fn format);

#endif

/* See generated.h. */
#include "tests/unit/jobs_generate/generated.h"

#include "jobs/generate/words.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <xxhash.h>

struct table make_rows(format_fn format, uint64_t seed, uint64_t first_row, uint64_t rows)
{
    struct table table = {.length = 0};
    const size_t capacity = (size_t)rows * URLS_ROW_BYTES_MAX; /* the longest of all kinds */
    table.bytes = malloc(capacity + 1);
    cr_assert_not_null(table.bytes);
    table.length = format(seed, first_row, rows, table.bytes, capacity);
    table.bytes[table.length] = '\0';
    return table;
}

void expect_digest(format_fn format, uint64_t seed, uint64_t first_row, uint64_t rows,
                   uint64_t digest)
{
    struct table table = make_rows(format, seed, first_row, rows);
    uint64_t got = XXH64(table.bytes, table.length, 0);
    cr_expect_eq(got, digest, "seed %llu, row %llu: digest 0x%016llx", (unsigned long long)seed,
                 (unsigned long long)first_row, (unsigned long long)got);
    free(table.bytes);
}

void expect_ranges(format_fn format)
{
    struct table whole = make_rows(format, 3, 0, 500);
    size_t at = 0;
    for (uint64_t row = 0, rows = 1; row < 500; row += rows, rows = 1 + row % 97) {
        if (rows > 500 - row) rows = 500 - row;
        struct table part = make_rows(format, 3, row, rows);
        cr_assert_leq(at + part.length, whole.length);
        cr_expect_arr_eq(part.bytes, whole.bytes + at, part.length);
        at += part.length;
        free(part.bytes);
    }
    cr_expect_eq(at, whole.length);
    free(whole.bytes);
}

/* The synthetic table of ratings: its format, its distribution, and its bytes, which must never
 * change: the digests were computed by an independent program. */
#include "jobs/generate/ratings.h"
#include "tests/unit/jobs_generate/generated.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(ratings, bytes_never_change)
{
    expect_digest(ratings_format_rows, 1, 0, 100000, UINT64_C(0x6c7b7b6b164147b7));
    expect_digest(ratings_format_rows, UINT64_C(18446744073709551615), 0, 1000,
                  UINT64_C(0x652783ba397cdbe0));
    expect_digest(ratings_format_rows, 7, 9999500, 1000, UINT64_C(0x88b7aa3ba863f536));
    expect_digest(ratings_format_rows, 7, RATINGS_ROWS_MAX - 1000, 1000,
                  UINT64_C(0xd5dae91b0537fba4));
}

Test(ratings, first_lines_never_change)
{
    uint8_t header[RATINGS_HEADER_BYTES];
    cr_assert_eq(ratings_header(header, sizeof header), RATINGS_HEADER_BYTES);
    cr_expect_arr_eq(header, "tconst\taverageRating\tnumVotes\n", RATINGS_HEADER_BYTES);

    struct table table = make_rows(ratings_format_rows, 1, 0, 3);
    cr_expect_str_eq((char *)table.bytes, "tt0000001\t5.9\t970166\n"
                                          "tt0000002\t3.6\t114909\n"
                                          "tt0000003\t6.4\t110299\n");
    free(table.bytes);
}

Test(ratings, any_range_equals_its_part_of_the_table)
{
    expect_ranges(ratings_format_rows);
}

Test(ratings, no_rows_give_no_bytes)
{
    uint8_t nothing = 0x5a;
    cr_expect_eq(ratings_format_rows(1, 0, 0, &nothing, 1), 0);
    cr_expect_eq(ratings_format_rows(1, RATINGS_ROWS_MAX, 0, &nothing, 1), 0);
    cr_expect_eq(nothing, 0x5a);
}

/* Reads the table back with the C library and compares it with what the header documents. */
Test(ratings, rows_are_valid_and_distributed_as_documented)
{
    enum { ROWS = 499428 };
    static const double REAL[11] = {0,      556,    2572,   8678,  22179, 49742,
                                    100907, 148059, 126327, 36573, 3835};
    uint64_t per_class[11] = {0}, per_digits[8] = {0};
    struct table table = make_rows(ratings_format_rows, 1, 0, ROWS);
    const char *line = (const char *)table.bytes;
    for (unsigned row = 0; row < ROWS; row++) {
        unsigned id, whole, tenth, votes;
        int used = 0;
        /* sscanf calls strlen on its whole input: pass it one line. */
        char own[RATINGS_ROW_BYTES_MAX + 1] = {0};
        cr_assert_not_null(memccpy(own, line, '\n', RATINGS_ROW_BYTES_MAX));
        cr_assert_eq(sscanf(own, "tt%u\t%u.%1u\t%u%n", &id, &whole, &tenth, &votes, &used), 4);
        char again[RATINGS_ROW_BYTES_MAX + 1];
        int length =
            snprintf(again, sizeof again, "tt%07u\t%u.%u\t%u\n", row + 1, whole, tenth, votes);
        cr_assert_eq(length, used + 1);
        cr_assert_arr_eq(line, again, length);
        unsigned tenths = whole * 10 + tenth;
        cr_assert(tenths >= 10 && tenths <= 100);
        cr_assert(votes >= 5 && votes <= 2000000);
        per_class[(tenths + 5) / 10]++;
        per_digits[snprintf(again, sizeof again, "%u", votes)]++;
        line += length;
    }
    cr_expect_eq(line, (const char *)table.bytes + table.length);
    for (int class = 1; class <= 10; class ++) {
        double off = (double)per_class[class] - REAL[class];
        cr_expect_lt(off * off, 25 * REAL[class], "class %d: %llu rows", class,
                     (unsigned long long)per_class[class]);
    }
    /* 2 to 6 digits are complete decades, with about ROWS / 5.6 rows each. */
    for (int digits = 2; digits <= 6; digits++)
        cr_expect(per_digits[digits] > ROWS / 6 && per_digits[digits] < ROWS / 5);
    free(table.bytes);
}

Test(ratings, different_seeds_give_different_rows)
{
    struct table one = make_rows(ratings_format_rows, 1, 0, 1000),
                 two = make_rows(ratings_format_rows, 2, 0, 1000);
    cr_expect(one.length != two.length || memcmp(one.bytes, two.bytes, one.length) != 0);
    free(one.bytes);
    free(two.bytes);
}

/* Synthetic words and URLs: their form, that no word is a duplicate, and their bytes, which must
 * never change: the digests were computed by an independent program. */
#include "jobs/generate/words.h"
#include "tests/unit/jobs_generate/generated.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(words, bytes_never_change)
{
    expect_digest(words_format_rows, 1, 0, 20000, UINT64_C(0x81b4eb611ccab70a));
    expect_digest(words_format_rows, UINT64_MAX, 0, 1000, UINT64_C(0x2ce2261e30e6a506));
    expect_digest(words_format_rows, 7, WORDS_ROWS_MAX - 1000, 1000, UINT64_C(0xdc7043ae55bb510e));
    expect_digest(urls_format_rows, 1, 0, 20000, UINT64_C(0x244c59670dee3f3e));
    expect_digest(urls_format_rows, UINT64_MAX, 0, 1000, UINT64_C(0xb4f6a1a08f338153));
    expect_digest(urls_format_rows, 7, WORDS_ROWS_MAX - 1000, 1000, UINT64_C(0xd3eb2268195374e4));
    expect_digest(visits_format_rows, 1, 0, 20000, UINT64_C(0x16153b258e44fa19));
    expect_digest(visits_format_rows, UINT64_MAX, 0, 1000, UINT64_C(0xdf79080a6d6a0eed));
    expect_digest(visits_format_rows, 7, WORDS_ROWS_MAX - 1000, 1000, UINT64_C(0x12987a7df89466f6));
}

Test(words, first_lines_never_change)
{
    struct table words = make_rows(words_format_rows, 1, 0, 2),
                 urls = make_rows(urls_format_rows, 2, 0, 2);
    cr_expect_str_eq((char *)words.bytes, "kewexunepesakukujoteyukarugoco\n"
                                          "bunipezuvivoxohezacavitukeyewu\n");
    cr_expect_str_eq((char *)urls.bytes,
                     "https://kugifeme.example/comidemoba-bovecijoye\t815500\n"
                     "https://wugidana.example/patesalohi-jarayejaca\t921128\n");
    free(words.bytes);
    free(urls.bytes);
}

static int compare_words(const void *a, const void *b)
{
    return memcmp(a, b, WORDS_ROW_BYTES);
}

Test(words, words_are_pronounceable_and_unique)
{
    enum { ROWS = 100000 };
    struct table table = make_rows(words_format_rows, 5, 0, ROWS);
    cr_assert_eq(table.length, (size_t)ROWS * WORDS_ROW_BYTES);
    for (size_t i = 0; i < table.length; i++) {
        const size_t letter = i % WORDS_ROW_BYTES;
        const char *of = letter == WORDS_LETTERS ? "\n"
                         : letter % 2 == 0       ? "bcdfghjklmnprstvwxyz"
                                                 : "aeiou";
        cr_assert_not_null(strchr(of, table.bytes[i]), "byte %zu: %c", i, table.bytes[i]);
    }
    qsort(table.bytes, ROWS, WORDS_ROW_BYTES, compare_words);
    for (size_t row = 1; row < ROWS; row++) {
        const uint8_t *word = table.bytes + row * WORDS_ROW_BYTES;
        cr_assert_neq(compare_words(word - WORDS_ROW_BYTES, word), 0, "%.30s", (const char *)word);
    }
    free(table.bytes);
}

/* Only the five syllables that encode the row number, for rows that are far apart. */
Test(words, row_numbers_are_a_permutation)
{
    enum { ROWS = 4096, AT = 10, BYTES = 10 };
    static uint8_t numbers[ROWS * WORDS_ROW_BYTES];
    for (uint64_t i = 0; i < ROWS; i++) {
        uint8_t row[WORDS_ROW_BYTES];
        words_format_rows(3, i * (WORDS_ROWS_MAX / ROWS), 1, row, sizeof row);
        memset(numbers + i * WORDS_ROW_BYTES, 0, WORDS_ROW_BYTES);
        memcpy(numbers + i * WORDS_ROW_BYTES, row + AT, BYTES);
    }
    qsort(numbers, ROWS, WORDS_ROW_BYTES, compare_words);
    for (size_t i = 1; i < ROWS; i++)
        cr_assert_neq(
            memcmp(numbers + (i - 1) * WORDS_ROW_BYTES, numbers + i * WORDS_ROW_BYTES, BYTES), 0,
            "%.10s is a duplicate", (const char *)numbers + i * WORDS_ROW_BYTES);
}

Test(words, any_range_equals_its_part_of_the_table)
{
    expect_ranges(words_format_rows);
    expect_ranges(urls_format_rows);
}

Test(words, no_rows_give_no_bytes)
{
    uint8_t nothing = 0x5a;
    cr_expect_eq(words_format_rows(1, 0, 0, &nothing, 1), 0);
    cr_expect_eq(urls_format_rows(1, WORDS_ROWS_MAX, 0, &nothing, 1), 0);
    cr_expect_eq(nothing, 0x5a);
}

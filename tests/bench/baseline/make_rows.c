/* make_rows KIND ROWS: writes the input of a row of programs.py to stdout. The same arguments give
 * the same bytes.
 *
 *     records   100 bytes: 10 random characters, the number of the row, letters, LF
 *     stations  STATION;TEMPERATURE with one decimal; 413 made up names of 3 to 26 bytes
 *     text      lines of 10 words, of ranks 1 to 2^20 by Zipf's law (exponent 1, continuous)
 *     edges     FROM TO: pages, a tenth of ROWS; a few are linked to by many
 *     points    8 numbers around one of 20 centers */
#include "die.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES_MAX = 256,
    STATIONS = 413,
    NAME_BYTES_MAX = 32,
    WORDS_PER_LINE = 10,
    WORD_RANK_BITS = 20,
    LINKS_PER_PAGE = 10,
    CENTERS = 20,
    DIMENSIONS = 8
};

static char station[STATIONS][NAME_BYTES_MAX];

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static double uniform(uint64_t random)
{
    return (double)(random >> 11) * 0x1p-53;
}

/* About normally distributed, with a standard deviation of 1: the sum of four uniform numbers. */
static double normal(uint64_t random)
{
    double sum = -2;
    for (int i = 0; i < 4; i++, random >>= 16) sum += (double)(random & 0xffff) / 65536;
    return sum * 1.7320508;
}

/* Syllables of `number` in base 100. */
static char *syllables(char *at, uint64_t number)
{
    static const char consonants[] = "bcdfghjklmnpqrstvwxz", vowels[] = "aeiou";
    for (; number > 0; number /= 100) {
        *at++ = consonants[number % 20];
        *at++ = vowels[number / 20 % 5];
    }
    return at;
}

/* One word or several, each of one to three syllables; the number makes it unique. */
static void name_station(int number)
{
    char *name = station[number], *at = syllables(name, (uint64_t)number * 97 % 10000 + 100);
    for (uint64_t more = mix((uint64_t)number) % 5; more > 2; more--) {
        *at++ = ' ';
        at = syllables(at, mix((uint64_t)number * 8 + more) % 990000 + 100);
    }
    if (number % 3 == 0) *at++ = 'n'; /* odd lengths, too */
    *at = '\0';
    name[0] = (char)(name[0] - 'a' + 'A');
}

static char *write_number(char *at, uint64_t number)
{
    char digits[20];
    int count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0) *at++ = digits[--count];
    return at;
}

/* A number of tenths, as its decimal. */
static char *write_tenths(char *at, int64_t tenths)
{
    if (tenths < 0) *at++ = '-';
    const uint64_t size = (uint64_t)(tenths < 0 ? -tenths : tenths);
    at = write_number(at, size / 10);
    *at++ = '.';
    *at++ = (char)('0' + size % 10);
    return at;
}

static char *record(char *at, uint64_t row, uint64_t rows)
{
    (void)rows;
    const char *const begin = at;
    for (uint64_t i = 0, random = mix(row); i < 10; i++, random /= 90) {
        if (i == 5) random = mix(~row);
        *at++ = (char)('!' + random % 90);
    }
    at += snprintf(at, LINE_BYTES_MAX / 2, "  %032" PRIX64 "  ", row);
    for (; at - begin < 99; at++) *at = (char)('A' + (at - begin) / 4 % 26);
    return at;
}

static char *measurement(char *at, uint64_t row, uint64_t rows)
{
    (void)rows;
    const uint64_t random = mix(row), number = random % STATIONS;
    const double mean = -15 + 50 * uniform(mix(number));
    const size_t size = strlen(station[number]);
    at = (char *)memcpy(at, station[number], size) + size;
    *at++ = ';';
    return write_tenths(at, llrint(10 * (mean + 10 * normal(mix(random)))));
}

static char *text(char *at, uint64_t row, uint64_t rows)
{
    (void)rows;
    for (uint64_t i = 0; i < WORDS_PER_LINE; i++) {
        if (i > 0) *at++ = ' ';
        at = syllables(
            at, (uint64_t)exp2(uniform(mix(row * WORDS_PER_LINE + i)) * WORD_RANK_BITS));
    }
    return at;
}

static char *edge(char *at, uint64_t row, uint64_t rows)
{
    const uint64_t pages = rows / LINKS_PER_PAGE + 1, from = mix(row) % pages;
    const double to = uniform(mix(~row));
    at = write_number(at, from);
    *at++ = ' ';
    return write_number(at, (uint64_t)((double)pages * to * to * to) * 7919 % pages);
}

static char *point(char *at, uint64_t row, uint64_t rows)
{
    (void)rows;
    const uint64_t center = mix(row) % CENTERS;
    for (uint64_t i = 0; i < DIMENSIONS; i++) {
        const double x = 100 * uniform(mix(center * DIMENSIONS + i)) + 6 * normal(mix(row * 8 + i));
        at += snprintf(at, LINE_BYTES_MAX / DIMENSIONS, "%s%.4f", i > 0 ? " " : "", x);
    }
    return at;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        char *(*write)(char *at, uint64_t row, uint64_t rows);
    } kinds[] = {{"records", record},
                 {"stations", measurement},
                 {"text", text},
                 {"edges", edge},
                 {"points", point}};
    char line[LINE_BYTES_MAX];
    unsigned kind = 0;
    if (argc != 3) die("usage: make_rows KIND ROWS");
    while (kind < 5 && strcmp(kinds[kind].name, argv[1]) != 0) kind++;
    if (kind == 5) die("%s: no such kind", argv[1]);
    for (int number = 0; number < STATIONS; number++) name_station(number);
    const uint64_t rows = strtoull(argv[2], NULL, 10);
    for (uint64_t row = 0; row < rows; row++) {
        char *end = kinds[kind].write(line, row, rows);
        *end++ = '\n';
        const size_t size = (size_t)(end - line);
        if (fwrite_unlocked(line, 1, size, stdout) != size) die_errno("write");
    }
    if (fflush(stdout) != 0) die_errno("write");
    return 0;
}

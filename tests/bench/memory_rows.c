/* Writes input for tests/bench/memory to standard output: memory_rows KIND BYTES SEED.
 *
 * Rows are `key TAB number` unless a kind says otherwise. Keys of `distinct` are a permutation,
 * which depends on the seed, so that two files of one size have the same keys in different orders.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE_COLUMNS = 2000, LONG_LINE_BYTES = 100000000 };

static uint64_t bits_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct rows {
    uint64_t state, count; /* of random numbers; rows of the file */
    uint64_t offset;       /* of the permutation */
};

/* A number below count that no other row of the file has. */
static uint64_t distinct(const struct rows *r, uint64_t row)
{
    const uint64_t prime =
        2305843009213693951u; /* so that it has no divisor in common with count */
    return (uint64_t)(((__uint128_t)row * prime + r->offset) % r->count);
}

/* Few keys are frequent, most are rare. */
static uint64_t skewed(struct rows *r)
{
    const double u = (double)(bits_next(&r->state) >> 11) * 0x1p-53;
    return (uint64_t)(u * u * u * u * (double)r->count / 8);
}

static uint64_t number(struct rows *r)
{
    return bits_next(&r->state) % 1000;
}

/* Without printf, which takes most of the time of an input of short rows. */
static void write_digits(uint64_t value, int width)
{
    char digits[20];
    for (int i = width; i-- > 0; value /= 10) digits[i] = (char)('0' + value % 10);
    fwrite_unlocked(digits, 1, (size_t)width, stdout);
}

static void write_row(uint64_t key, uint64_t value)
{
    putchar_unlocked('k');
    write_digits(key, 11);
    putchar_unlocked('\t');
    write_digits(value, 3);
    putchar_unlocked('\n');
}

static void write_distinct(struct rows *r, uint64_t row)
{
    write_row(distinct(r, row), number(r));
}

static void write_skewed(struct rows *r, uint64_t row)
{
    (void)row;
    write_row(skewed(r), number(r));
}

static void write_hot(struct rows *r, uint64_t row)
{
    fwrite_unlocked("hot\t", 1, 4, stdout);
    write_digits(distinct(r, row), 11);
    putchar_unlocked('\n');
}

static void write_same(struct rows *r, uint64_t row)
{
    (void)r;
    (void)row;
    fputs("the same line\t1\n", stdout);
}

/* 1,024 keys: of each as many rows as the file has, by 1,024. */
static void write_few(struct rows *r, uint64_t row)
{
    printf("k%05" PRIu64 "\t%09" PRIu64 "\n", row % 1024, distinct(r, row));
}

/* Keys that occur 16 times each. */
static void write_sixteen(struct rows *r, uint64_t row)
{
    write_row(distinct(r, row) / 16, number(r));
}

static void write_ids(struct rows *r, uint64_t row)
{
    printf("tt%09" PRIu64 "\t%" PRIu64 ".0\n", distinct(r, row), bits_next(&r->state) % 10 + 1);
}

static void write_one_rating(struct rows *r, uint64_t row)
{
    printf("tt%09" PRIu64 "\t7.0\n", distinct(r, row));
}

static void write_json(struct rows *r, uint64_t row)
{
    printf("{\"id\": \"k%011" PRIu64 "\", \"n\": %" PRIu64 ", \"tags\": [\"a\", \"b\"]}\n",
           distinct(r, row), number(r));
}

static void write_quoted(struct rows *r, uint64_t row)
{
    printf("\"k, %011" PRIu64 "\",\"a \"\"b\"\"\",%" PRIu64 "\n", distinct(r, row), number(r));
}

static void write_words(struct rows *r, uint64_t row)
{
    printf("word%" PRIu64 " w%" PRIu64 " w%" PRIu64 " the\n", distinct(r, row), skewed(r),
           skewed(r));
}

static void write_wide(struct rows *r, uint64_t row)
{
    putchar_unlocked('k');
    write_digits(distinct(r, row), 11);
    for (int i = 1; i < WIDE_COLUMNS; i++) {
        putchar_unlocked('\t');
        write_digits(number(r), 3);
    }
    putchar_unlocked('\n');
}

static void write_long(struct rows *r, uint64_t row)
{
    static char line[LONG_LINE_BYTES];
    memset(line, 'a' + (int)(row % 26), sizeof line);
    const int size =
        snprintf(line, sizeof line, "k%011" PRIu64 "\t%03" PRIu64, distinct(r, row), number(r));
    line[size] = '\t';
    fwrite(line, 1, sizeof line - 1, stdout);
    putchar('\n');
}

static const struct kind {
    const char *name;
    void (*write)(struct rows *r, uint64_t row);
    uint64_t bytes; /* of a row, roughly */
} kinds[] = {
    {"distinct", write_distinct, 17},
    {"skewed", write_skewed, 17},
    {"hot", write_hot, 16},
    {"same", write_same, 16},
    {"few", write_few, 17},
    {"sixteen", write_sixteen, 17},
    {"ids", write_ids, 16},
    {"one-rating", write_one_rating, 16},
    {"json", write_json, 53},
    {"quoted", write_quoted, 31},
    {"words", write_words, 40},
    {"wide", write_wide, 8009},
    {"long", write_long, LONG_LINE_BYTES},
};

int main(int argc, char **argv)
{
    const struct kind *kind = NULL;
    for (size_t i = 0; argc == 4 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], kinds[i].name) == 0) kind = &kinds[i];
    if (kind == NULL) {
        fputs("usage: memory_rows KIND BYTES SEED\n", stderr);
        return 2;
    }
    const uint64_t bytes = strtoull(argv[2], NULL, 10), seed = strtoull(argv[3], NULL, 10);
    struct rows rows = {.state = seed, .count = bytes / kind->bytes + 1};
    rows.offset = bits_next(&rows.state) % rows.count;
    for (uint64_t row = 0; row < rows.count; row++) kind->write(&rows, row);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}

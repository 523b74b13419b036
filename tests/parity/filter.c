/* Builds one filter with given m and k, using only jobs/bloom, for the golden families whose m is
 * not computed from a probability: no engine, no job.
 *
 *     parity_filter SCHEME M K IDS QUERIES OUT.bits
 *
 * IDS and QUERIES are files with one id per line. Writes the bits, and prints the number of bits
 * set and how many queries hit and missed. */
#include "jobs/bloom/bloom.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "parity_filter: %s: %s\n", what, why);
    exit(1);
}

static uint64_t number(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') fail(text, "not a number");
    return value;
}

/* Calls `each` for every line of a file, without its LF. */
static void for_lines(const char *path, void (*each)(void *arg, const char *id, size_t size),
                      void *arg)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail(path, strerror(errno));
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t size; (size = getline(&line, &capacity, file)) > 0;) {
        if (line[size - 1] == '\n') size--;
        each(arg, line, (size_t)size);
    }
    if (ferror(file)) fail(path, strerror(errno));
    free(line);
    fclose(file);
}

struct counts {
    const struct bloom_filter *filter;
    uint64_t admitted, rejected;
};

static void add(void *arg, const char *id, size_t size)
{
    bloom_add(arg, id, size);
}

static void query(void *arg, const char *id, size_t size)
{
    struct counts *counts = arg;
    if (bloom_contains(counts->filter, id, size))
        counts->admitted++;
    else
        counts->rejected++;
}

static void save(const struct bloom_filter *filter, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) fail(path, strerror(errno));
    size_t size = bloom_bytes(filter->params.m);
    if (fwrite(filter->bits, 1, size, file) != size) fail(path, strerror(errno));
    if (fclose(file) != 0) fail(path, strerror(errno));
}

int main(int argc, char **argv)
{
    if (argc != 7) fail("usage", "parity_filter SCHEME M K IDS QUERIES OUT.bits");
    struct bloom_params params = {.n = 1, .m = number(argv[2]), .k = (uint32_t)number(argv[3])};
    struct bloom_filter filter;
    enum bloom_result result = bloom_scheme_parse(argv[1], strlen(argv[1]), &params.scheme);
    if (result == BLOOM_OK) result = bloom_init(&filter, &params);
    if (result != BLOOM_OK) fail(argv[1], bloom_strerror(result));

    for_lines(argv[4], add, &filter);
    struct counts counts = {.filter = &filter};
    for_lines(argv[5], query, &counts);
    save(&filter, argv[6]);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", bloom_bits_set(&filter), counts.admitted,
           counts.rejected);
    bloom_fini(&filter);
    return 0;
}

/* baseline_count INPUT OUTPUT [naive]: rows per rating, as lines `rating TAB count` in order of
 * rating. naive: one row after the other, found and parsed as most programs do it. */
#include "die.h"
#include "files.h"
#include "rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void count_block(const char *path, uint64_t *counts)
{
    struct reader reader;
    rows_open(&reader, path, false);
    for (const struct rows *rows; (rows = rows_next(&reader)) != NULL;) rows_count(rows, counts);
    rows_close(&reader);
}

static void count_lines(const char *path, uint64_t *counts)
{
    FILE *file = fopen(path, "rb");
    char *line = NULL;
    size_t capacity = 0;
    if (file == NULL) die_errno(path);
    while (getline(&line, &capacity, file) > 0) {
        const char *tab = strchr(line, '\t');
        char *end;
        if (tab == NULL) die("not a row: %s", line);
        const double key = floor(strtod(tab + 1, &end) + 0.5);
        if (end == tab + 1 || !(key >= 0 && key < KEYS_MAX)) die("not a rating: %s", line);
        counts[(int)key]++;
    }
    if (ferror(file)) die_errno(path);
    free(line);
    fclose(file);
}

int main(int argc, char **argv)
{
    uint64_t counts[KEYS_MAX] = {0};
    const int naive = argc == 4 && strcmp(argv[3], "naive") == 0;
    if (argc != 3 && !naive) die("usage: baseline_count INPUT OUTPUT [naive]");
    if (naive)
        count_lines(argv[1], counts);
    else
        count_block(argv[1], counts);

    FILE *part = output_create(argv[2]);
    for (int key = 0; key < KEYS_MAX; key++)
        if (counts[key] > 0) fprintf(part, "%d\t%" PRIu64 "\n", key, counts[key]);
    output_finish(part, argv[2]);
    return 0;
}

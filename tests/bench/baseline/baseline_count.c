/* baseline_count INPUT OUTPUT: rows per rating, as lines `rating TAB count` in order of rating. */
#include "die.h"
#include "files.h"
#include "rows.h"

#include <inttypes.h>

int main(int argc, char **argv)
{
    if (argc != 3) die("usage: baseline_count INPUT OUTPUT");
    uint64_t counts[KEYS_MAX] = {0};
    struct reader reader;
    rows_open(&reader, argv[1], false);
    for (const struct rows *rows; (rows = rows_next(&reader)) != NULL;) rows_count(rows, counts);
    rows_close(&reader);

    FILE *part = output_create(argv[2]);
    for (int key = 0; key < KEYS_MAX; key++)
        if (counts[key] > 0) fprintf(part, "%d\t%" PRIu64 "\n", key, counts[key]);
    output_finish(part, argv[2]);
    return 0;
}

/* make_ratings SEED FIRST ROWS [header]: writes these rows of the table of ratings to stdout. The
 * command `glint generate ratings` writes the same bytes but always from row 0; the benchmark also
 * needs later rows (ids that are in no filter) and halves. */
#include "die.h"
#include "jobs/generate/ratings.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHUNK_ROWS = 32768 };

static uint64_t number(const char *text)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') die("not a number: %s", text);
    return value;
}

static void put(const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t done = write(STDOUT_FILENO, bytes, length);
        if (done < 0) die_errno("write");
        bytes += done;
        length -= (size_t)done;
    }
}

int main(int argc, char **argv)
{
    static uint8_t chunk[CHUNK_ROWS * RATINGS_ROW_BYTES_MAX];
    if (argc != 4 && argc != 5) die("usage: make_ratings SEED FIRST ROWS [header]");
    uint64_t seed = number(argv[1]), row = number(argv[2]), end = row + number(argv[3]);
    if (argc == 5) put(chunk, ratings_header(chunk, sizeof chunk));
    while (row < end) {
        uint64_t rows = end - row < CHUNK_ROWS ? end - row : CHUNK_ROWS;
        put(chunk, ratings_format_rows(seed, row, rows, chunk, sizeof chunk));
        row += rows;
    }
    return 0;
}

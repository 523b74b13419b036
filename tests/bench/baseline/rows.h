/* Reads a table of ratings in blocks of whole lines, and finds the ids and keys of each block's
 * rows. Shared by the three programs. One thread; invalid input ends the process. */
#ifndef BASELINE_ROWS_H
#define BASELINE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KEYS_MAX = 16,            /* keys are floor(rating + 0.5), 0..15 */
    BLOCK_BYTES = 256 * 1024, /* one pread: it stays in the second-level cache */
    LINE_BYTES_MAX = 64 * 1024,
    PAD_BYTES = 128, /* SIMD loads may read this far past the last line */
    BLOCK_ROWS_MAX = BLOCK_BYTES + LINE_BYTES_MAX, /* if every byte were a newline */
    ROWS_SLACK = 64,                               /* entries after the last row that may be read */
};

/* A block of whole lines, borrowed until the next call of rows_next. 16 rows of zeros follow the
 * last one, so that whole vectors of rows can be read. */
struct rows {
    const uint8_t *bytes;
    uint32_t count;
    uint32_t *start; /* offset in `bytes` of the id of each row */
    uint32_t *tab;   /* offset of the tab that ends the id */
    uint8_t *key;
};

struct reader {
    int fd;
    bool with_ids;
    int64_t offset; /* of the next pread */
    size_t rest;    /* size of the incomplete line at `rest_at` */
    uint8_t *rest_at;
    uint8_t *buffer; /* LINE_BYTES_MAX for the incomplete line, then the block, then the pad */
    struct rows rows;
};

/* Opens `path`. Without ids only `count` and `key` are filled. */
void rows_open(struct reader *reader, const char *path, bool with_ids);

/* Returns the next block, or NULL at the end. A first line whose rating is not a number is a
 * header. */
const struct rows *rows_next(struct reader *reader);

void rows_close(struct reader *reader);

/* Adds the number of rows of each key to counts[KEYS_MAX]. */
void rows_count(const struct rows *rows, uint64_t *counts);

#endif

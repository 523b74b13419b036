/* The rows of a text table, partitioned by the hash of their key, the first column. Shared by the
 * hand-written count and join. One thread; errors end the process. */
#ifndef BASELINE_KEYED_ROWS_H
#define BASELINE_KEYED_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { KEYED_PARTITIONS = 256 };

struct keyed_row {
    const uint8_t *line; /* the key is line[0, key_size) */
    uint32_t hash;
    uint16_t key_size, line_size;
};

struct keyed_rows {
    struct keyed_row *rows; /* partition p is [start[p], start[p + 1]) */
    size_t start[KEYED_PARTITIONS + 1];
};

/* Reads all of `path` into memory. With `copy_keys` the keys of a partition are behind each other,
 * and rows have no more than their keys. */
void keyed_rows_read(const char *path, bool copy_keys, struct keyed_rows *out);

static inline bool keyed_rows_equal(const struct keyed_row *a, const struct keyed_row *b)
{
    return a->hash == b->hash && a->key_size == b->key_size &&
           memcmp(a->line, b->line, a->key_size) == 0;
}

#endif

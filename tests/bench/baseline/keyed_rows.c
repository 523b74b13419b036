/* The rows are parsed once, then scattered to their partitions, so that the hash table of each
 * partition stays in the cache. */
#include "keyed_rows.h"
#include "die.h"
#include "files.h"

#include <stdlib.h>

enum { LINE_MAX_BYTES = UINT16_MAX, KEYED_ROWS_FIRST = 1 << 20 };

/* wyhash's mixing, eight bytes at a time. */
static uint32_t hash_key(const uint8_t *key, size_t size)
{
    uint64_t h = size * 0x9e3779b97f4a7c15;
    for (; size > 0; key += size < 8 ? size : 8, size -= size < 8 ? size : 8) {
        uint64_t word = 0;
        memcpy(&word, key, size < 8 ? size : 8);
        const __uint128_t product = (__uint128_t)(h ^ word) * 0xa0761d6478bd642f;
        h = (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

static struct keyed_row parse(const uint8_t *line, const uint8_t *end)
{
    const uint8_t *tab = memchr(line, '\t', (size_t)(end - line));
    const size_t key_size = (size_t)((tab != NULL ? tab : end) - line);
    if (end - line > LINE_MAX_BYTES) die("a line is too long");
    return (struct keyed_row){line, hash_key(line, key_size), (uint16_t)key_size,
                              (uint16_t)(end - line)};
}

static unsigned partition_of(const struct keyed_row *row)
{
    return row->hash >> 24;
}

/* Where the keys of each partition will be, in one block. */
static void plan_keys(const struct keyed_row *rows, size_t count, uint8_t *keys[KEYED_PARTITIONS])
{
    size_t bytes[KEYED_PARTITIONS] = {0}, total = 0;
    for (size_t i = 0; i < count; i++) {
        bytes[partition_of(&rows[i])] += rows[i].key_size;
        total += rows[i].key_size;
    }
    uint8_t *at = malloc(total + 1);
    if (at == NULL) die("out of memory");
    for (unsigned p = 0; p < KEYED_PARTITIONS; p++) {
        keys[p] = at;
        at += bytes[p];
    }
}

static void scatter(const struct keyed_row *rows, size_t count, bool copy_keys,
                    struct keyed_rows *out)
{
    uint8_t *keys[KEYED_PARTITIONS];
    size_t next[KEYED_PARTITIONS];
    out->rows = malloc((count + 1) * sizeof *out->rows);
    if (out->rows == NULL) die("out of memory");
    for (unsigned p = 0; p < KEYED_PARTITIONS; p++) out->start[p + 1] += out->start[p];
    memcpy(next, out->start, sizeof next);
    if (copy_keys) plan_keys(rows, count, keys);
    for (size_t i = 0; i < count; i++) {
        const unsigned p = partition_of(&rows[i]);
        struct keyed_row row = rows[i];
        if (copy_keys) {
            memcpy(keys[p], row.line, row.key_size);
            row.line = keys[p];
            keys[p] += row.key_size;
        }
        out->rows[next[p]++] = row;
    }
}

void keyed_rows_read(const char *path, bool copy_keys, struct keyed_rows *out)
{
    size_t size = 0, count = 0, capacity = KEYED_ROWS_FIRST;
    const uint8_t *at = input_read(path, &size), *end = at + size; /* kept: rows point into it */
    struct keyed_row *rows = malloc(capacity * sizeof *rows);
    memset(out->start, 0, sizeof out->start);
    while (at < end) {
        const uint8_t *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL) line_end = end;
        if (count == capacity) rows = realloc(rows, (capacity *= 2) * sizeof *rows);
        if (rows == NULL) die("out of memory");
        rows[count] = parse(at, line_end);
        out->start[partition_of(&rows[count++]) + 1]++;
        at = line_end + 1;
    }
    scatter(rows, count, copy_keys, out);
    free(rows);
}

/* See partition_path.h. What is no %XX stays as it is, as in pyarrow, DuckDB and Polars. */
#include "engine/input/partition_path.h"

#include "engine/base/text.h"
#include "engine/input/remote_url.h"

#include <assert.h>
#include <string.h>

static const char null_partition[] = "__HIVE_DEFAULT_PARTITION__";

/* Decodes into `arena`, with a NUL after it. Returns NULL when out of memory. */
static char *percent_decode(const char *text, size_t size, struct arena *arena, size_t *out_size)
{
    char *out = arena_alloc(arena, size + 1);
    size_t n = 0;
    for (size_t i = 0; out != NULL && i < size; i++) {
        const int high = text[i] == '%' && i + 2 < size ? text_hex_digit((uint8_t)text[i + 1]) : -1;
        const int low = high >= 0 ? text_hex_digit((uint8_t)text[i + 2]) : -1;
        out[n++] = low >= 0 ? (char)(high * 16 + low) : text[i];
        if (low >= 0) i += 2;
    }
    if (out != NULL) out[n] = '\0';
    *out_size = n;
    return out;
}

const struct partition_column *partition_column_find(const struct partition_column *columns,
                                                     int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(columns[i].name, name) == 0) return &columns[i];
    return NULL;
}

int partition_columns_of(const char *path, struct arena *arena,
                         struct partition_column out[PARTITION_COLUMNS_MAX])
{
    int count = 0;
    const bool query = remote_url_kind(path) == REMOTE_HTTP; /* elsewhere names may have a ? */
    for (const char *end; (end = strchr(path, '/')) != NULL; path = end + 1) {
        const char *sign = memchr(path, '=', (size_t)(end - path));
        if (query && memchr(path, '?', (size_t)(end - path)) != NULL) break;
        if (sign == NULL || sign == path) continue;
        size_t name_size, size;
        struct partition_column column;
        column.name = percent_decode(path, (size_t)(sign - path), arena, &name_size);
        char *value = percent_decode(sign + 1, (size_t)(end - sign - 1), arena, &size);
        if (column.name == NULL || value == NULL) return -1;
        if (strlen(column.name) != name_size) continue; /* no column has such a name */
        column.value = (struct glint_slice){(const uint8_t *)value, size};
        column.null = (size_t)(end - sign - 1) == strlen(null_partition) &&
                      memcmp(sign + 1, null_partition, strlen(null_partition)) == 0;
        const struct partition_column *before = partition_column_find(out, count, column.name);
        if (before != NULL)
            out[before - out] = column;
        else if (count < PARTITION_COLUMNS_MAX)
            out[count++] = column;
    }
    assert(count <= PARTITION_COLUMNS_MAX);
    return count;
}

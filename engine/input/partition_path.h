/* Columns that directories give to the files in them, as Hive names them: dt=2026-01-01/. */
#ifndef GLINT_INPUT_PARTITION_PATH_H
#define GLINT_INPUT_PARTITION_PATH_H

#include "engine/base/mem.h"
#include "engine/glint.h"

struct partition_column {
    const char *name; /* percent-decoded, as the value */
    struct glint_slice value;
    bool null; /* the value is __HIVE_DEFAULT_PARTITION__ */
};

enum { PARTITION_COLUMNS_MAX = 64 };

/* The directories of a path or URL that have the form NAME=VALUE, from the left; the value may be
 * empty and contain =. Of equal names only the last is returned. Sets out[0 .. count), in `arena`.
 * Returns count, at most PARTITION_COLUMNS_MAX: directories after that give none; or -1 when out of
 * memory. */
int partition_columns_of(const char *path, struct arena *arena,
                         struct partition_column out[PARTITION_COLUMNS_MAX]);
/* The column of this name, or NULL. */
const struct partition_column *partition_column_find(const struct partition_column *columns,
                                                     int count, const char *name);

#endif

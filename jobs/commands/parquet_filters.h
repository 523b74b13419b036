/* The Bloom filters inside Parquet files, one for each row group of a column, for `glint filter
 * import` and `info`. Files are read by the library of engine/input/format_library.h. */
#ifndef GLINT_JOBS_COMMANDS_PARQUET_FILTERS_H
#define GLINT_JOBS_COMMANDS_PARQUET_FILTERS_H

#include "engine/input/column_file.h"
#include "jobs/bloom/bloom.h"

/* A column of an open file. */
struct parquet_filters {
    struct column_file file;
    struct split_piece piece;
    struct arena arena;
    struct glint_error *error;
    uint32_t column;
    const char *name;    /* of the column */
    uint32_t row_groups; /* of the file */
    uint32_t id_type;    /* of the column's values */
};

/* Opens the file and finds the column, by its name or its number from 1. `id_type` UINT32_MAX: by
 * the type of the column. `path` and `error` are borrowed until parquet_filters_close, which is
 * called in any case. Returns 0 or a code. */
int parquet_filters_open(struct parquet_filters *p, struct env *env, const char *path,
                         const char *column, uint32_t id_type, struct glint_error *error);
/* Reads the filter of a row group. Its bits are in `bytes`, which the caller frees; n is 0. Returns
 * 0 or a code: FILTER_INVALID if there is none. */
int parquet_filters_read(struct parquet_filters *p, uint32_t row_group, struct buffer *bytes,
                         struct bloom_filter *out);
/* Reads those of all row groups and unites them; the size is that of the largest. FILTER_MISMATCH:
 * it is no multiple of another one. */
int parquet_filters_unite(struct parquet_filters *p, struct buffer *bytes,
                          struct bloom_filter *out);
void parquet_filters_close(struct parquet_filters *p);

#endif

/* How the rows of a file with another header get the columns of the first header: runs of fields,
 * in the new order. Columns of the first header come first, in its order; fields that the file does
 * not have are empty, and columns that only the file has follow at the end. Any thread. */
#ifndef GLINT_INPUT_COLUMN_MAP_H
#define GLINT_INPUT_COLUMN_MAP_H

#include "engine/base/mem.h"
#include "engine/glint.h"

/* In place of the first field of a run: its fields are empty. */
#define COLUMN_EMPTY UINT32_MAX
/* Columns of a header, and of a row that was mapped. */
#define HEADER_COLUMNS_MAX (1u << 24)

/* Runs of a map: it is part of the message that sends a task. */
#define COLUMN_RUNS_MAX (1u << 20)

struct column_run {
    uint32_t from, count; /* count > 0 */
};

struct column_map {
    const struct column_run *runs;
    uint32_t count;
    uint32_t fields; /* of a row of the file, at least; what follows them stays at the end */
    uint8_t separator;
};

/* A header, and its columns in the order of their names: for many files. */
struct column_index;
/* `header` is borrowed. Returns NULL when out of memory. */
struct column_index *column_index_create(struct glint_slice header, uint8_t separator);
void column_index_destroy(struct column_index *index);
/* The name of a column, from 0, which must exist. */
struct glint_slice column_index_name(const struct column_index *index, uint32_t column);
uint32_t column_index_count(const struct column_index *index);
/* How many columns have the name. */
uint32_t column_index_find(const struct column_index *index, struct glint_slice name);
/* Sets *out to the fields of `file` that have the names of the columns of `index`: array of
 * column_index_count numbers, COLUMN_EMPTY if there is none; of equal names the first one is the
 * first, and so on. Then *out_map is the map, in `arena`, or NULL if rows need not be changed.
 * `out` is borrowed memory. Returns false when out of memory. */
bool column_index_match(const struct column_index *index, const struct column_index *file,
                        uint32_t *out, struct arena *arena, const struct column_map **out_map);

/* Whether the runs are within the fields, and a mapped row has not too many columns. */
bool column_map_is_valid(const struct column_map *map);
/* Returns the size of the mapped row, or UINT64_MAX if it has fewer fields than the header. Sets
 * `starts`, which has room for fields + 1 numbers. */
uint64_t column_map_measure(const struct column_map *map, struct glint_slice row, uint64_t *starts);
/* Writes the mapped row that was measured to `out`. */
void column_map_write(const struct column_map *map, struct glint_slice row, const uint64_t *starts,
                      uint8_t *out);

#endif

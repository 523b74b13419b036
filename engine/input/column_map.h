/* How the rows of a file with another header get the columns of a header: runs of fields, in the
 * new order. Columns of the header come first, in its order; fields that the file does not have are
 * null, and columns that only the file has follow at the end. Any thread. */
#ifndef GLINT_INPUT_COLUMN_MAP_H
#define GLINT_INPUT_COLUMN_MAP_H

#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/input/input.h"

/* In place of the first field of a run: its fields are null. */
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

/* Whether the runs are within the fields, and a mapped row has not too many columns. */
bool column_map_is_valid(const struct column_map *map);
/* Returns the size of the mapped row, or UINT64_MAX if it has fewer fields than the header. `null`:
 * what null is in rows. Sets `starts`, which has room for fields + 1 numbers. */
uint64_t column_map_measure(const struct column_map *map, struct glint_slice row,
                            struct glint_slice null, uint64_t *starts);
/* Writes the mapped row that was measured to `out`. */
void column_map_write(const struct column_map *map, struct glint_slice row,
                      struct glint_slice null, const uint64_t *starts, uint8_t *out);

/* Columns by name in many files: each file's header is compared with the one that gave the names
 * their numbers. Driver, when splits are made. */

/* Reads the first line of each file of `list`, whose `columns` are set, and sets the `columns` of
 * the files whose header is another one. Returns 0 or a code: BAD_VALUE (a file does not have a
 * column), BAD_ROW (its header is no record of CSV), LINE_TOO_LONG, INPUT_*, COMPRESSED_*,
 * PLAN_LIMIT, NO_MEMORY. */
int input_list_match_columns(struct env *env, struct input_list *list, uint64_t line_bytes_max,
                             struct glint_error *error);
/* Sets the header of `list` to that of its first file and, behind it, the names that only other
 * files have; none if no file has a header. Returns as before. */
int input_list_merge_csv_headers(struct env *env, struct input_list *list, uint64_t line_bytes_max,
                                 struct glint_error *error);

#endif

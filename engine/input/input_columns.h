/* Columns by name in many files: each file's header is compared with the one that gave the names
 * their numbers. Driver, when splits are made. */
#ifndef GLINT_INPUT_INPUT_COLUMNS_H
#define GLINT_INPUT_INPUT_COLUMNS_H

#include "engine/input/input.h"

/* Reads the first line of each file of `list`, whose `columns` are set, and sets the `columns` of
 * the files whose header is another one. Returns 0 or a code: BAD_VALUE (a file does not have a
 * column), BAD_ROW (its header is no record of CSV), LINE_TOO_LONG, INPUT_*, COMPRESSED_*,
 * PLAN_LIMIT, NO_MEMORY. */
int input_list_match_columns(struct env *env, struct input_list *list, uint64_t line_bytes_max,
                             struct glint_error *error);

#endif

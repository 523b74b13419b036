/* Gives the rows of files with another header the columns of the first header, for the sources of
 * text (input/column_map.h). Task's thread. */
#ifndef GLINT_OPS_MAPPED_ROWS_H
#define GLINT_OPS_MAPPED_ROWS_H

#include "ops/row_batch.h"

struct split;

struct mapped_rows {
    struct row_batch out;
    uint64_t *starts; /* scratch of column_map_apply */
    uint64_t starts_count;
};

/* Whether a piece of the split has such rows. */
bool mapped_rows_needed(const struct split *split);
/* Passes a batch of lines, or of plain rows of CSV, with an origin, to out.push; copies it only if
 * the columns of its piece are elsewhere. `arg` is a struct mapped_rows, zeros except out.task,
 * out.push and out.arg. */
enum flow mapped_rows_push(void *arg, const struct glint_batch *lines);
void mapped_rows_close(struct mapped_rows *c);

#endif

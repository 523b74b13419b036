/* Rows that a source of text makes of the lines of a split: of CSV and JSON, and of files with
 * another header than the first one. Rows may be larger than their lines: they are copied, and the
 * batch's origin tells which line each row was. Task's thread. */
#ifndef GLINT_OPS_LINE_ROWS_H
#define GLINT_OPS_LINE_ROWS_H

#include "engine/batch.h"
#include "engine/input/line_reader.h"
#include "engine/plan/op.h"

/* Calls `push` with batches of rows until the split ends or `push` does not return
 * FLOW_MORE. A row is a line, or, if the piece has pointers, a line with values
 * (input/json_line.h). Blank lines are no rows. FLOW_FAIL with the task's error set. */
enum flow json_rows_read(struct line_reader *lines, struct glint_task *task,
                         const struct split_piece *piece,
                         enum flow (*push)(void *arg, const struct glint_batch *rows), void *arg);

/* The same with records of CSV, of which the piece has the delimiter, as plain rows. */
enum flow csv_rows_read(struct line_reader *lines, struct glint_task *task,
                        const struct split_piece *piece,
                        enum flow (*push)(void *arg, const struct glint_batch *rows), void *arg);

struct row_batch {
    struct glint_task *task;
    enum flow (*push)(void *arg, const struct glint_batch *rows);
    void *arg;
    const struct glint_batch *in; /* the lines that are converted, with their origin */
    uint8_t *bytes;               /* of the batch that is built; free with mem_free */
    uint64_t capacity, used;
    bool plain; /* no row has an escape */
    uint32_t rows;
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX], offset[BATCH_ROWS_MAX];
};

/* Gives rows the columns of the first header (input/column_map.h). */
struct mapped_rows {
    struct row_batch out;
    uint64_t *starts; /* scratch of column_map_apply */
    uint64_t starts_count;
    struct glint_slice null; /* what null is in rows of the batch's piece */
};

/* Whether a piece of the split has such rows. */
bool mapped_rows_needed(const struct split *split);
/* Passes a batch of lines, or of plain rows of CSV, with an origin, to out.push; copies it only if
 * the columns of its piece are elsewhere. `arg` is a struct mapped_rows, zeros except out.task,
 * out.push and out.arg. */
enum flow mapped_rows_push(void *arg, const struct glint_batch *lines);
void mapped_rows_close(struct mapped_rows *c);

#endif

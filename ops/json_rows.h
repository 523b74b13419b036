/* Reads the lines of a split as JSON, for the sources of text. */
#ifndef GLINT_OPS_JSON_ROWS_H
#define GLINT_OPS_JSON_ROWS_H

#include "engine/input/line_reader.h"
#include "engine/plan/op.h"

/* Task's thread. Calls `push` with batches of rows until the split ends or `push` does not return
 * FLOW_MORE. A row is a line, or, if the piece has pointers, a line with values
 * (input/json_line.h). Blank lines are no rows. FLOW_FAIL with the task's error set. */
enum flow json_rows_read(struct line_reader *lines, struct glint_task *task,
                         const struct split_piece *piece,
                         enum flow (*push)(void *arg, const struct glint_batch *rows), void *arg);

#endif

/* Rows of the input in messages, and bad rows: what operators need beside glint_bad_row and
 * glint_fail_row. Slot thread. */
#ifndef GLINT_INPUT_BAD_ROWS_H
#define GLINT_INPUT_BAD_ROWS_H

#include "engine/records/task.h"

/* As glint_bad_row, with the hint of the error; NULL: to skip such rows. */
int task_bad_row(struct glint_task *task, struct glint_slice row, const char *reason,
                 const char *hint);
/* As glint_bad_row, for a record of CSV; counts each of its lines, most probably rows after
 * a quote that is not closed. */
int task_bad_record(struct glint_task *task, struct glint_slice record, const char *reason);
/* Writes the location of a row, such as "ratings.tsv:17", into `out`. If the row is not inside the
 * origin's memory, only the path or the partition is known. Reads the file to count lines: for
 * errors only. */
void task_describe_row_location(struct glint_task *task, const uint8_t *row, char *out,
                                size_t capacity);
/* Whether the row, of the origin's memory, begins its file, which was read without a header. */
bool task_row_is_first(const struct glint_task *task, const uint8_t *row);

#endif

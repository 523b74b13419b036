/* Rejects rows of quoted CSV with INPUT_FORMAT, whatever --bad-rows is. */
#ifndef GLINT_JOBS_ROWS_FIELDS_QUOTES_H
#define GLINT_JOBS_ROWS_FIELDS_QUOTES_H

#include "engine/batch.h"
#include "engine/glint.h"

/* Only with these delimiters are quoted fields detected. */
static inline bool fields_may_quote(uint8_t delimiter)
{
    return delimiter == ',' || delimiter == ';';
}
/* Returns 0, or the code of the task's error, which has file and line. */
int fields_reject_quoted_row(struct glint_task *task, struct glint_slice row, uint8_t delimiter);
int fields_reject_quoted(struct glint_task *task, const struct glint_batch *lines,
                         uint8_t delimiter);

#endif

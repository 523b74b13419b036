/* Rows of quoted CSV, which are refused: INPUT_FORMAT, whatever --bad-rows says. */
#ifndef GLINT_JOBS_ROWS_FIELDS_QUOTES_H
#define GLINT_JOBS_ROWS_FIELDS_QUOTES_H

#include "engine/glint.h"

/* Quoted fields are looked for behind these delimiters only. */
static inline bool fields_may_quote(uint8_t delimiter)
{
    return delimiter == ',' || delimiter == ';';
}
/* 0, or the code of the task's error, which names file and line. */
int fields_refuse_quoted_row(struct glint_task *task, struct glint_slice row, uint8_t delimiter);
int fields_refuse_quoted(struct glint_task *task, const struct glint_batch *lines,
                         uint8_t delimiter);

#endif

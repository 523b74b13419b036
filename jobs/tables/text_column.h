/* Notes about columns of files of columns whose texts may be numbers. */
#ifndef GLINT_JOBS_TABLES_TEXT_COLUMN_H
#define GLINT_JOBS_TABLES_TEXT_COLUMN_H

#include "jobs/rows/columns.h"

/* If the column has texts by its type, or has several types, warns what the option does
 * with them, such as "the greatest text", and that :n compares numbers. */
void text_column_warn(const struct table *t, const char *option, uint32_t number,
                      const char *effect);

#endif

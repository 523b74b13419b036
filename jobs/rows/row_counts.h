/* Functions that make (key, 1) of each row, to be summed: kind MAP, arguments of fields_args. */
#ifndef GLINT_JOBS_ROWS_ROW_COUNTS_H
#define GLINT_JOBS_ROWS_ROW_COUNTS_H

#include "engine/glint.h"

/* By the type of the keys. */
extern const struct glint_function count_number, count_text;
/* The same without a batch form, to measure what a call per record costs (see tests/bench). */
extern const struct glint_function count_number_each, count_text_each;

#endif

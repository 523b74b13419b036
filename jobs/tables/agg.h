/* agg: numbers about the rows of each group. Shared by its files.
 *
 *     agg.c            the options and the plan
 *     agg_functions.c  rows and their numbers, accumulators, lines of the output
 *
 * Numbers of up to 38 digits are summed exactly; only others, and those with an exponent, make a
 * sum a double, whose last digits depend on the order of addition: that of the splits. */
#ifndef GLINT_JOBS_TABLES_AGG_H
#define GLINT_JOBS_TABLES_AGG_H

#include "jobs/rows/columns.h"
#include "jobs/rows/numbers.h"

enum agg_kind { AGG_SUM, AGG_MIN, AGG_MAX, AGG_MEAN, AGG_COUNT, AGG_DISTINCT, AGG_KINDS };

enum { AGG_OUTPUTS_MAX = 255 };

/* What a job computes: the arguments of all its functions. */
struct agg_plan {
    /* The columns: first those of the groups, then those of numbers, then those whose different
     * values are counted. */
    uint8_t by, numbers, distinct;
    uint8_t output_count;
    struct agg_output {
        uint8_t kind;  /* enum agg_kind */
        uint8_t index; /* of the column among the numbers, or among `distinct` */
    } outputs[AGG_OUTPUTS_MAX];
};

/* What is merged into an accumulator: a row and its numbers, or one different value. */
struct agg_input {
    int64_t distinct; /* AGG_ROW, AGG_NO_ROW, or the value's column */
    struct number numbers[COLUMNS_MAX];
};
enum { AGG_ROW = -1, AGG_NO_ROW = -2 };
#define AGG_HEAD_BYTES offsetof(struct agg_input, numbers)

/* lines -> (group, input as bytes); lines -> (group, value of a column of `distinct`); (group,
 * value) -> (group, input); accumulator; (group, accumulator) -> line. The second and the third
 * have an argument "column". */
extern const struct glint_function agg_row, agg_value, agg_seen, agg_merge, agg_line;

#endif

/* agg: numbers about the rows of each group. Shared by its files.
 *
 *     agg.c            the options, the plan, quantiles
 *     agg_functions.c  rows, lines of the output
 *     agg_output.c     names and types of results
 *     agg_merge.c      accumulators
 *     agg_texts.c      the texts of accumulators: first, last, least, greatest
 *
 * Numbers of up to 38 digits are summed exactly; only others, and those with an exponent, make a
 * sum a double, whose last digits depend on the order of addition: that of the splits. */
#ifndef GLINT_JOBS_TABLES_AGG_H
#define GLINT_JOBS_TABLES_AGG_H

#include "jobs/rows/columns.h"
#include "jobs/rows/variance.h"

/* In the order of the output. */
enum agg_kind {
    AGG_SUM,
    AGG_MIN,
    AGG_MIN_TEXT,
    AGG_MAX,
    AGG_MAX_TEXT,
    AGG_MEAN,
    AGG_COUNT,
    AGG_DISTINCT,
    AGG_VARIANCE,
    AGG_VARIANCE_POP,
    AGG_STDDEV,
    AGG_STDDEV_POP,
    AGG_QUANTILE,
    AGG_FIRST,
    AGG_LAST,
    AGG_KINDS
};

enum { AGG_OUTPUTS_MAX = 255, AGG_QUANTILES_MAX = 64 };

/* What a job computes: the arguments of all its functions. */
struct agg_plan {
    /* The columns: those of the groups, of numbers, those whose different values are counted, and
     * of texts. Variances are of the first ones of numbers. */
    uint8_t by, numbers, variances, distinct, texts;
    uint8_t quantile_count, text_count, output_count;
    uint8_t counted;                   /* 1: the number of rows is a result */
    uint8_t small_floats[COLUMNS_MAX]; /* 16 or 32: what a column of numbers has */
    struct agg_quantile {
        uint8_t column;   /* among the numbers */
        struct number at; /* 0 to 1, exact */
    } quantiles[AGG_QUANTILES_MAX];
    struct agg_text {
        uint8_t kind;   /* MIN_TEXT, MAX_TEXT, FIRST or LAST */
        uint8_t column; /* among `texts` */
        bool time;      /* compared by columns_time_text */
    } text[COLUMNS_MAX];
    struct agg_output {
        uint8_t kind;  /* enum agg_kind */
        uint8_t index; /* of the column among the numbers or `distinct`, or in the lists above */
    } outputs[AGG_OUTPUTS_MAX];
};

/* What is merged into an accumulator begins with one of these, or the column of one different
 * value, which is all. Of a row its numbers follow, as cells (cell.h), then its texts; of a
 * quantile its number. */
enum {
    AGG_ROW = (int8_t)GLINT_CELLS_NUMBERS,
    AGG_NO_ROW = -2,
    AGG_QUANTILES = -3 /* - the quantile */
};
enum { AGG_INPUT_MAX = 1 + COLUMNS_MAX * CELL_NUMBER_BYTES_MAX }; /* without texts */
static_assert(AGG_QUANTILES - AGG_QUANTILES_MAX >= INT8_MIN, "a byte tells what an input is");

/* lines -> (group, input as bytes); the same of pairs of glint_column_cells; lines -> (group, value
 * of a column of `distinct`); (group, value) -> (group, input); accumulator; (group, accumulator)
 * -> line. Those of values have an argument "column". */
extern const struct glint_function agg_row, agg_cells, agg_value, agg_seen, agg_merge, agg_line;

struct agg_merge_state {
    struct agg_plan plan;
    struct glint_buffer buffer; /* an accumulator that changes its size */
};

/* A row, for the functions that read some. */
struct agg_row_state {
    struct columns_reader reader;
    struct agg_plan plan;
    int64_t column;
    struct number numbers[COLUMNS_MAX];
    struct columns_joined group;
    struct glint_buffer buffer; /* an input with texts, or a key */
};
int agg_open_plan(struct glint_task *task, struct agg_plan *plan);
int agg_open_row(struct glint_task *task, void *state);
/* The same for rows that agg_row reads, too: it counts the bad ones. */
int agg_open_row_again(struct glint_task *task, void *state);
/* Reads all columns of a row: all functions find the same rows bad. Sets s->numbers. Returns
 * 1, 0 if the row was skipped, or a code. */
int agg_read_row(struct agg_row_state *s, struct glint_task *task, struct glint_slice row,
                 struct glint_slice *fields, struct glint_slice *out_group);

/* ---- Accumulators (agg_merge.c) */

/* The numbers of a column. */
struct __attribute__((packed, may_alias)) agg_column {
    struct exact_sum exact;  /* of the exact numbers */
    double inexact;          /* sum of the others; `scaled`: times AGG_INEXACT_SCALE; finite unless
                                one of them is not */
    int64_t values;          /* not empty */
    struct number min, max;  /* the first ones, of equal numbers */
    uint8_t rounded, scaled; /* 1: a number is not exact */
};
/* Sums of fewer than 2^63 finite doubles, times this, are finite. */
#define AGG_INEXACT_SCALE 0x1p-64

/* Accumulators may come from another process. Returns 0, or a code if no task of agg made it. */
int agg_acc_check(struct glint_task *task, const struct agg_plan *p, struct glint_slice acc);
/* Of one that was checked: the number of rows if it is a result, then those of different values;
 * the numbers and variance of a column; a quantile; a text for each of plan.text. */
int64_t agg_acc_count(const struct agg_plan *p, const uint8_t *acc, uint32_t index);
struct agg_column agg_acc_column(const struct agg_plan *p, const uint8_t *acc, uint32_t index);
struct variance agg_acc_variance(const struct agg_plan *p, const uint8_t *acc, uint32_t index);
struct number agg_acc_quantile(const struct agg_plan *p, const uint8_t *acc, uint32_t index);
void agg_acc_texts(const struct agg_plan *p, struct glint_slice acc, struct glint_slice *out);

extern const struct glint_function agg_quantile_value; /* agg.c */

/* ---- Results (agg_output.c) */

/* Formats a sum, or a least or greatest number, in EXACT_SUM_FORMAT_MAX bytes. Returns the size: 0
 * if there is no number, or AGG_NUMBER_TOO_LARGE. */
size_t agg_format_number(char *out, const struct agg_plan *p, struct agg_output output,
                         const uint8_t *acc);
#define AGG_NUMBER_TOO_LARGE SIZE_MAX
/* The forms of the numbers of all groups. */
extern const struct glint_function agg_number_forms;
/* Driver. Saves (group, accumulator) in the form of --output-format, or of the input;
 * `function_args` are those of agg_line. Returns 0 or the context's code. */
int agg_save(struct glint_rdd *groups, struct glint_args *function_args, const struct table *t,
             const struct glint_job_args *args, const struct columns *c, const struct agg_plan *p);

/* ---- Texts (agg_texts.c): in a row's input, and, for each of plan.text, at the end of an
 * accumulator. Each is a size, 8 bytes, and its bytes. In place of the size there may be AGG_NULL,
 * or AGG_NONE: no row yet; slices of these have no data. */
#define AGG_NULL UINT64_MAX
#define AGG_NONE (UINT64_MAX - 1)

/* Returns 0 or a code. */
int agg_texts_append(struct glint_task *task, struct glint_buffer *buffer, struct glint_slice text);
/* Sets out[0, count). Returns false if `bytes` are not this number of texts. */
bool agg_texts_read(struct glint_slice bytes, uint32_t count, struct glint_slice *out);
/* Merge the texts of a row, or of another accumulator that was checked, into those of `acc`, which
 * begin at `offset`. Return 0 or a code. */
int agg_texts_merge_row(struct glint_task *task, struct agg_merge_state *s, struct glint_acc *acc,
                        uint64_t offset, struct glint_slice row);
int agg_texts_combine(struct glint_task *task, struct agg_merge_state *s, struct glint_acc *acc,
                      uint64_t offset, struct glint_slice other);

#endif

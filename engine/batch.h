/* Batches: how records are passed between operators. A function may have a form that is called with
 * a whole batch, when a call per record is too expensive. Included by glint.h. */
#ifndef GLINT_BATCH_H
#define GLINT_BATCH_H

#include "engine/glint.h"

/* One column of a batch.
 *
 * For bytes, text and msgpack, the data is base[0, size) and row i is base[start[i], end[i]). If
 * `start` is NULL, the batch has one row, all of base[0, size), which may exceed 4 GiB. At least
 * READ_SLACK (64) bytes are readable past the end of any slice. If `lines` equals `start`, the rows
 * are consecutive lines: exactly one LF, not part of any row, follows each row, and the next row
 * starts after it.
 *
 * For i64 and f64, row i is i64[i] or f64[i]. For NONE, no pointer is used. */
struct glint_column {
    enum glint_type type;
    const uint8_t *base;
    const uint32_t *start, *end, *lines;
    uint64_t size;
    const int64_t *i64;
    const double *f64;
};

struct split_piece;

/* The input that a batch was read from, so that an error can name file and line. A slice inside
 * [base, base + size) is at offset + (slice - base) in the file, unless rows were converted. */
struct glint_origin {
    const char *path;
    const uint8_t *base;
    uint64_t size;
    uint64_t offset;     /* in the file, after decompression; with frames_start: after that byte */
    uint8_t compression; /* 0: none */
    uint64_t frames_start; /* of a compressed file that is read in ranges: the range's first byte */
    /* Rows that were converted: row i begins at base + row_start[i], and was read from
     * offset + row_offset[i]. */
    uint32_t rows; /* 0: not converted, or at unchanged offsets */
    const uint32_t *row_start, *row_offset;
    const struct split_piece *piece; /* for messages; may be NULL */
    /* Rows that were converted: the bytes that were read, at `offset`. NULL: those at `base`. */
    const uint8_t *input;
    uint64_t input_size;
    bool plain; /* no field of the rows has an escape (glint_field_has_escape) */
};

/* A batch of at most 1,024 rows. Rows are always dense: a filter compacts the 32-bit offsets and
 * never moves bytes. Borrowed: valid until the call that received it returns. */
struct glint_batch {
    uint32_t rows;
    struct glint_column key, value;
    const struct glint_origin *origin; /* may be NULL */
};

/* Whether it is known that no field of the rows, which are the values, has an escape
 * (glint_field_has_escape): they are in the memory of an origin that says so. */
static inline bool glint_rows_are_plain(const struct glint_batch *batch)
{
    const struct glint_origin *const o = batch->origin;
    const struct glint_column *const v = &batch->value;
    return o != NULL && o->plain && v->base <= o->base + o->size && o->base <= v->base + v->size;
}

/* What a file of columns says about the values of a column in a group of rows before they are read:
 * in Parquet, statistics and Bloom filters of a row group. */
enum glint_bounds_type {
    GLINT_BOUNDS_OTHER,
    GLINT_BOUNDS_TEXT,   /* in the order of bytes */
    GLINT_BOUNDS_NUMBER, /* integers and decimals; no floats: of NaN nothing is known */
    GLINT_BOUNDS_FLOAT,  /* without bounds */
    GLINT_BOUNDS_TIME,   /* dates and timestamps */
    GLINT_BOUNDS_BOOLEAN,
};
struct glint_bounds {
    enum glint_bounds_type type;
    bool known;                  /* no value is below min or above max, which need not be values */
    struct glint_slice min, max; /* as rows have them; until the group ends */
    bool nulls, values;          /* whether rows may be null, and not null */
};
struct glint_row_group {
    /* Of a column of the rows, from 0. */
    void (*bounds)(void *arg, uint32_t column, struct glint_bounds *out);
    /* Whether a value may be this one, as rows have it. Returns 1, 0 or a code. May block on disk
     * or the network. */
    int (*may_have)(void *arg, uint32_t column, struct glint_slice value);
    void *arg;
};
/* Returns 1, 0 if no row of the group is kept, or a code. */
typedef int (*glint_may_keep)(struct glint_task *task, void *state,
                              const struct glint_row_group *group);
/* For the `open` of a filter function: groups of which `may_keep` returns 0 are not read, if the
 * filter's input is rows of files. So their rows are not checked, either. */
#pragma GCC visibility push(default)
void glint_skip_row_groups(struct glint_task *task, glint_may_keep may_keep);
/* Sets keep[row] to 0 for rows that lead to no output, else to 1, by the `rows` values of a column.
 * What it sets for rows without a value does not matter. All `size` bytes of the column may be
 * read. Returns 0 or a code. */
typedef int (*glint_keep_rows)(struct glint_task *task, void *state,
                               const struct glint_column *values, uint32_t rows, uint8_t *keep);
/* For the `open` of a function of flatMap: of files of columns a row is not made, and the function
 * does not get it, if `keep` sets 0 for its value of this column, from 0. It is not asked about
 * all rows. */
void glint_skip_rows(struct glint_task *task, uint32_t column, glint_keep_rows keep);
/* In `open` of a function whose rows another function of the job reads, too, and counts if they are
 * bad: bad rows that this task skips are not counted. */
void glint_uncount_bad_rows(struct glint_task *task);
#pragma GCC visibility pop

/* Returns row `row` of a bytes-like column. */
static inline struct glint_slice glint_column_slice(const struct glint_column *c, uint32_t row)
{
    if (c->start == NULL) return (struct glint_slice){c->base, c->size};
    return (struct glint_slice){c->base + c->start[row], c->end[row] - c->start[row]};
}

/* Returns row `row` of any column; zeros for NONE. */
static inline union glint_value glint_column_value(const struct glint_column *c, uint32_t row)
{
    union glint_value v = {.bytes = {NULL, 0}};
    if (c->type == GLINT_I64)
        v.i64 = c->i64[row];
    else if (c->type == GLINT_F64)
        v.f64 = c->f64[row];
    else if (c->type != GLINT_NONE)
        v.bytes = glint_column_slice(c, row);
    return v;
}

/* Returns row `row` of a batch, by reference. */
static inline struct glint_record glint_batch_record(const struct glint_batch *b, uint32_t row)
{
    return (struct glint_record){glint_column_value(&b->key, row),
                                 glint_column_value(&b->value, row)};
}

#endif

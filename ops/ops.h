/* The operators, as the engine's tables name them, and what their files share.
 * One operator is one file: its driver half (the call in engine/glint.h), its executor half, and at the
 * bottom the table that shows all of it. ops/table.c lists them. */
#ifndef GLINT_OPS_H
#define GLINT_OPS_H

#include "engine/plan/context.h"

extern const struct op *const ops_table[]; /* ends with NULL */
extern const struct glint_module ops_module; /* functions that operators use themselves */

/* ---- Text sources (ops/text_source.c) */

struct lines;
struct input_list;
struct splits;
/* Lists `paths` and makes the source's RDD; `cut` makes its splits. */
struct glint_rdd *text_source(struct glint *g, const struct op *op, const char *paths,
                              struct glint_shape shape, struct glint_slice params,
                              int (*cut)(struct glint_rdd *rdd, uint64_t split_bytes));
/* By bytes: what textFile and its like use. */
int text_source_cut(struct glint_rdd *rdd, uint64_t split_bytes);
/* Adds each split to the RDD in its wire form. */
int text_source_add(struct glint_rdd *rdd, const struct splits *splits);
/* Runs `row` for each batch of lines of a split. */
enum flow text_source_run(struct glint_task *task, struct glint_slice split,
                          enum flow (*push)(void *arg, const struct glint_batch *lines), void *arg);

/* ---- Operators that call one function (ops/call_op.c) */

struct call_state {
    struct call call;
};
int call_op_open(void *state, const struct op_open *o);
void call_op_close(void *state);

/* ---- Saving (ops/save.c) */

struct gzip_writer;
struct save {
    struct glint_task *task;
    struct glint_shape shape;
    const char *folder;
    int file; /* -1: not open */
    char name[64];
    struct buffer buffer;
    struct gzip_writer *gzip;
    uint64_t bytes;
    bool finished;
};
int save_open(struct save *s, const struct op_open *o, const char *suffix);
/* Room for `size` bytes at buffer.data + buffer.size, which may write out what stands there. */
bool save_reserve(struct save *s, uint64_t size);
/* A large value, past the buffer. */
bool save_bytes(struct save *s, struct glint_slice bytes);
enum flow save_finish(struct save *s);
int save_result(struct save *s, struct buffer *out);
void save_close(struct save *s);

/* ---- Rows that come back (ops/rows.c): varint size, key, varint size, value; in byte form */

bool rows_append(struct buffer *out, struct glint_shape shape, const struct glint_record *record);
/* Adds a partition's rows to `rows`. 0 or a code with the context's error set. */
int rows_take(struct glint *g, struct glint_rows *rows, struct glint_slice result);
/* Reads the record at *at and moves on. False: at the end, or damaged (*at < result.size). */
bool rows_next(struct glint_slice result, uint64_t *at, struct glint_shape shape,
               struct glint_record *out);
/* Order of records: by key, then value, in byte form. */
int record_compare(struct glint_shape shape, const struct glint_record *a,
                   const struct glint_record *b);

#endif

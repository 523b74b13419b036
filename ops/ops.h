/* The operators, as the engine's tables name them, and what their files share.
 * One operator is one file: its driver half (the call in engine/glint.h), its executor half, and at
 * the bottom the table that shows all of it. ops/table.c lists them. */
#ifndef GLINT_OPS_H
#define GLINT_OPS_H

#include "engine/plan/context.h"

extern const struct op *const ops_table[];   /* ends with NULL */
extern const struct glint_module ops_module; /* functions that operators use themselves */

/* ---- Text sources (ops/text_source.c) */

struct line_reader;
struct input_list;
struct splits;
/* How a source of files comes to its RDD. */
struct file_source {
    const struct op *op;
    struct glint_schema schema;
    const uint64_t *parameter; /* NULL: none */
    bool binary;               /* its files hold no lines of text */
    int (*make_splits)(struct glint_rdd *rdd, uint64_t split_bytes); /* makes the splits */
};
/* Lists `paths` and makes the source's RDD. */
struct glint_rdd *file_source_create(struct glint *g, const char *paths,
                                     const struct file_source *source);
/* By bytes: what textFile and its like use. */
int text_source_make_splits(struct glint_rdd *rdd, uint64_t split_bytes);
/* Adds each split to the RDD in its wire form. */
int text_source_add_splits(struct glint_rdd *rdd, const struct splits *splits);
/* Runs `row` for each batch of lines of a split. */
enum flow text_source_read_split(struct glint_task *task, struct glint_slice split,
                                 enum flow (*push)(void *arg, const struct glint_batch *lines),
                                 void *arg);
/* open and run of sources whose records are the lines. */
struct text_source_state {
    struct glint_task *task;
};
int text_source_open(void *state, const struct op_open *o);
enum flow text_source_emit_lines(void *state, struct glint_slice split, struct glint_emitter *out);

/* ---- Operators that call one function (ops/function_op.c) */

struct function_op_state {
    struct function_call call;
};
int function_op_open(void *state, const struct op_open *o);
void function_op_close(void *state);

/* ---- Saving (ops/save.c) */

struct gzip_writer;
struct save {
    struct glint_task *task;
    struct glint_schema schema;
    const char *dir;
    int file; /* -1: not open */
    char name[64];
    struct buffer buffer;
    struct gzip_writer *gzip;
    uint64_t bytes;
    bool finished;
};
/* `output`: which of the action's outputs, from 0. An attempt's files have one name in all. */
int save_open(struct save *s, const struct op_open *o, uint32_t output, const char *suffix);
/* Room for `size` bytes at buffer.data + buffer.size, which may write out what stands there. */
bool save_reserve(struct save *s, uint64_t size);
/* A large value, past the buffer. */
bool save_write_bytes(struct save *s, struct glint_slice bytes);
enum flow save_finish(struct save *s);
int save_result(struct save *s, struct buffer *out);
/* The records of a batch as lines (ops/save_as_text_file.c). False: the task's error is set. */
bool save_write_lines(struct save *s, const struct glint_batch *batch);
void save_close(struct save *s);

/* ---- Rows that come back (ops/result_rows.c): varint size, key, varint size, value; in byte form
 */

bool result_rows_append(struct buffer *out, struct glint_schema schema,
                        const struct glint_record *record);
/* The same of a record in byte form. */
bool result_rows_append_bytes(struct buffer *out, struct glint_schema schema,
                              struct glint_slice key, struct glint_slice value);
/* result_rows_append to a task's result. False: the task's error is set, RESULT_LIMIT over the
 * limit. */
bool result_rows_append_limited(struct glint_task *task, struct buffer *out,
                                struct glint_schema schema, const struct glint_record *record);
/* What a state begins with whose operator answers rows, and their result and close. */
struct result_rows_state {
    struct buffer bytes;
};
int result_rows_state_result(void *state, struct buffer *out);
void result_rows_state_close(void *state);
/* RESULT_LIMIT, about the result of one partition. Answers false. */
bool result_rows_set_task_limit(struct glint_task *task);
/* RESULT_LIMIT, about the rows of all partitions together. */
int result_rows_set_action_limit(struct glint *g);
/* Adds a partition's rows to `rows`. 0 or a code with the context's error set. */
int result_rows_add_partition(struct glint *g, struct glint_rows *rows, struct glint_slice result);
/* Reads the record at *at and moves on. False: at the end, or damaged (*at < result.size). */
bool result_rows_next(struct glint_slice result, uint64_t *at, struct glint_schema schema,
                      struct glint_record *out);
/* Types that columns of an RDD can have; ANY and SAME are none. */
static inline bool schema_is_concrete(struct glint_schema schema)
{
    return schema.key >= GLINT_NONE && schema.key <= GLINT_MSGPACK && schema.value >= GLINT_NONE &&
           schema.value <= GLINT_MSGPACK;
}
/* Order of records: by key, then value, in byte form. */
int record_compare(struct glint_schema schema, const struct glint_record *a,
                   const struct glint_record *b);
/* By key; rows of one key stay in their order. 0 or a code with the context's error set. */
int result_rows_sort(struct glint *g, struct glint_rows *rows);
/* What an action answers that needs a record and found none. Frees `rows`. */
int result_rows_fail_empty(struct glint *g, struct glint_rows *rows, const char *action);
/* PROTOCOL: what a task answered does not parse. */
int result_set_malformed(struct glint *g, const struct op *op);

#endif

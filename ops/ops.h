/* Declarations that the operators share. One operator is one file: its driver half (the call in
 * engine/glint.h), its executor half, and at the bottom the table that describes it. OPS lists
 * them all. */
#ifndef GLINT_OPS_H
#define GLINT_OPS_H

#include "engine/batch.h"
#include "engine/plan/context.h"
#include "engine/plan/context_config.h"

/* Every operator, by name. A new one is a file and a line here. */
#define OPS(X)                                                                                     \
    X(text_file)                                                                                   \
    X(key_value_text_file)                                                                         \
    X(n_line_text_file)                                                                            \
    X(column_pairs)                                                                                \
    X(column_cells)                                                                                \
    X(column_batches)                                                                              \
    X(msgpack_file)                                                                                \
    X(whole_text_files)                                                                            \
    X(binary_files)                                                                                \
    X(binary_records)                                                                              \
    X(parallelize)                                                                                 \
    X(range)                                                                                       \
    X(map)                                                                                         \
    X(flat_map)                                                                                    \
    X(filter)                                                                                      \
    X(map_partitions)                                                                              \
    X(map_partitions_with_index)                                                                   \
    X(pipe)                                                                                        \
    X(map_values)                                                                                  \
    X(flat_map_values)                                                                             \
    X(key_by)                                                                                      \
    X(keys)                                                                                        \
    X(values)                                                                                      \
    X(union)                                                                                       \
    X(coalesce)                                                                                    \
    X(key_by_random_split)                                                                         \
    X(random_split)                                                                                \
    X(sample)                                                                                      \
    X(sample_exactly)                                                                              \
    X(sample_with_replacement)                                                                     \
    X(sample_by_key)                                                                               \
    X(reduce_by_key)                                                                               \
    X(fold_by_key)                                                                                 \
    X(aggregate_by_key)                                                                            \
    X(combine_by_key)                                                                              \
    X(group_by_key)                                                                                \
    X(side)                                                                                        \
    X(join)                                                                                        \
    X(left_outer_join)                                                                             \
    X(right_outer_join)                                                                            \
    X(full_outer_join)                                                                             \
    X(join_pairs)                                                                                  \
    X(cogroup)                                                                                     \
    X(group_with)                                                                                  \
    X(subtract_by_key)                                                                             \
    X(subtract_by_key_left)                                                                        \
    X(distinct)                                                                                    \
    X(intersection)                                                                                \
    X(intersection_both)                                                                           \
    X(subtract)                                                                                    \
    X(subtract_left)                                                                               \
    X(filter_by_range)                                                                             \
    X(record_pack)                                                                                 \
    X(record_unpack)                                                                               \
    X(zip_with_index)                                                                              \
    X(zip_with_unique_id)                                                                          \
    X(zip)                                                                                         \
    X(zip_partitions)                                                                              \
    X(cartesian)                                                                                   \
    X(glom)                                                                                        \
    X(pair_pack)                                                                                   \
    X(partition_by)                                                                                \
    X(repartition)                                                                                 \
    X(repartition_and_sort_within_partitions)                                                      \
    X(sort_by_keys)                                                                                \
    X(sort_by_key)                                                                                 \
    X(key_sample)                                                                                  \
    X(collect)                                                                                     \
    X(count)                                                                                       \
    X(count_by_key)                                                                                \
    X(count_by_value)                                                                              \
    X(take)                                                                                        \
    X(take_sample)                                                                                 \
    X(take_ordered)                                                                                \
    X(top)                                                                                         \
    X(min)                                                                                         \
    X(max)                                                                                         \
    X(reduce)                                                                                      \
    X(fold)                                                                                        \
    X(aggregate)                                                                                   \
    X(tree_reduce)                                                                                 \
    X(tree_aggregate)                                                                              \
    X(tree_merge)                                                                                  \
    X(tree_shuffle)                                                                                \
    X(tree_result)                                                                                 \
    X(sum)                                                                                         \
    X(stats)                                                                                       \
    X(histogram)                                                                                   \
    X(limits)                                                                                      \
    X(count_approx_distinct)                                                                       \
    X(lookup)                                                                                      \
    X(foreach)                                                                                     \
    X(save_as_text_file)                                                                           \
    X(save_as_column_file)                                                                         \
    X(save_as_partitioned_column_files)                                                            \
    X(save_as_text_files)                                                                          \
    X(save_as_gzip_text_file)                                                                      \
    X(save_as_zstd_text_file)                                                                      \
    X(save_as_gzip_text_files)                                                                     \
    X(save_as_zstd_text_files)                                                                     \
    X(save_as_msgpack_file)
#define DECLARE_OP(name) extern const struct op op_##name;
OPS(DECLARE_OP)
#undef DECLARE_OP

extern const struct op *const ops_table[];   /* ends with NULL */
extern const struct glint_module ops_module; /* built-in functions (ops/functions.c) */
extern const struct glint_function count_unless_negative, mean_i64, mean_f64, mean_divide;

/* ---- File sources (ops/text_source.c) */

struct splits;
/* Describes a source of files. */
struct file_source {
    const struct op *op;
    struct glint_schema schema;
    const uint64_t *parameter; /* packed as the operator's parameter; NULL: none */
    bool binary;               /* the files do not contain lines of text */
    bool skips_nested;         /* directories in a directory are no error, as in Spark */
    /* Completes the operator's parameters and its schema from the input; NULL: they are complete.
     * Returns 0 or the context's code. */
    int (*describe)(struct glint *g, struct input_list *list, const void *arg, struct packer *p,
                    struct glint_schema *schema);
    const void *describe_arg;
    int (*make_splits)(struct glint_rdd *rdd, uint64_t split_bytes); /* calls rdd_add_split */
};
/* Lists the files of `paths` and creates the source's RDD. Returns NULL with the error set. */
struct glint_rdd *file_source_create(struct glint *g, const char *paths,
                                     const struct file_source *source);
/* Compares the headers of the source's files (glint_with_columns), before splits are made; files of
 * columns are an error unless the job accepts them. Returns 0 or the context's code. */
int text_source_match_columns(struct glint_rdd *rdd);
/* The input of a source of text lines; NULL: it is none. */
struct input_list *text_source_list(struct glint_rdd *lines);
/* Warns, once, that files give one of these columns, which are keys, types that have no common one.
 * NULL: all. The schema was read. */
void text_source_warn_of_key_types(struct glint *g, const struct input_list *list,
                                   const uint32_t *numbers, uint32_t count);
/* Makes splits by bytes, for textFile and similar sources. Returns 0 or the context's code. */
int text_source_make_splits(struct glint_rdd *rdd, uint64_t split_bytes);
/* Adds each split to the RDD in its wire format. Returns 0 or the context's code. */
int text_source_add_splits(struct glint_rdd *rdd, const struct splits *splits);
/* Calls `push` for each batch of lines of a split, until it returns something else than
 * FLOW_MORE. */
enum flow text_source_read_split(struct glint_task *task, struct glint_slice split,
                                 enum flow (*push)(void *arg, const struct glint_batch *lines),
                                 void *arg);
/* open and run for sources whose records are the lines. */
struct text_source_state {
    struct glint_task *task;
};
int text_source_open(void *state, const struct op_open *o);
enum flow text_source_emit_lines(void *state, struct glint_slice split, struct glint_emitter *out);

/* ---- Operators that only call one function (ops/function_op.c) */

/* State, open and close of these operators. */
struct function_op_state {
    struct function_call call;
};
int function_op_open(void *state, const struct op_open *o);
void function_op_close(void *state);

/* ---- Checks (ops/function_op.c) */

/* For what a call makes of an RDD of pairs, or of one without keys. Return false with the error
 * set, also if it is NULL; `call` is its Spark name. */
bool rdd_has_keys(struct glint_rdd *rdd, const char *call);
bool rdd_has_single_elements(struct glint_rdd *rdd, const char *call);
/* The end of `open`: returns 0, or, if the parameters, which `what` names, are not `valid`,
 * PROTOCOL with the task's error set. */
int op_check_params(const struct op_open *o, bool valid, const char *what);

/* Runs an action whose parameters are those of the packer, which it ends. Returns 0 or the
 * context's code. */
int run_packed_action(struct action *a, struct packer *params);

/* ---- Indexes of records (ops/zip_with_index.c) */

/* Counts the records of the first `count` partitions by an internal action, for `prepare`.
 * `firsts`, zeros before, gets the index of the first record of each partition up to partition
 * `count`, 8 bytes each, little-endian. Returns 0 or the context's code. */
int first_indexes_count(struct glint_rdd *in, uint32_t count, uint8_t *firsts);

/* ---- Saving (ops/save.c) */

#define PATH_IS_NULL_HINT                                                                          \
    "an argument or option that was not given is NULL: positional_min, glint_job_option"
/* Returns 0, or the context's code if a path is NULL. `call` is what saves. */
int save_check_paths(struct glint_rdd *rdd, const char *call, const char *const *paths,
                     uint32_t count);

struct compressor;
/* One attempt file that a task is writing. */
struct save {
    struct glint_task *task;
    struct glint_schema schema;
    const char *dir;
    int file;                     /* -1: not open */
    struct remote_writer *remote; /* in place of a file, if the output is in a store */
    char name[64];
    struct buffer buffer;
    struct compressor *compressor; /* NULL: it is not compressed */
    uint8_t csv; /* the delimiter of CSV; JSON_ROW: rows of JSON lines; 0: plain lines */
    struct glint_slice nulls;           /* with `csv` (input/csv.h) */
    const struct save_objects *objects; /* rows become objects of JSON; NULL: they do not */
    struct buffer text;                 /* of a field with escapes */
    uint64_t bytes;
    bool finished;
};
/* Creates the attempt file of output number `output` (from 0). It has the same name in the
 * directories of all outputs of an action. Returns 0 or a code with the task's error set. */
int save_open(struct save *s, const struct op_open *o, uint32_t output,
              enum compression compression);
/* The same without the parameters of text; the part's name ends with `suffix`. */
int save_open_file(struct save *s, const struct op_open *o, uint32_t output,
                   enum compression compression, const char *suffix);
/* Creates the file `name` in a directory of the task, without compression. `dir` is borrowed. */
int save_open_in(struct save *s, struct glint_task *task, const char *dir, const char *name);
/* Ensures room for `size` bytes at buffer.data + buffer.size; may flush the buffer. Returns false
 * with the task's error set, as the next two. */
bool save_reserve(struct save *s, uint64_t size);
/* Replaces a field of a row, which is not null, by its text until the next call. Returns false with
 * the task's error set. */
bool save_unescape_field(struct save *s, struct glint_slice *field);
/* Writes bytes; large ones bypass the buffer. */
bool save_write_bytes(struct save *s, struct glint_slice bytes);
/* Flushes, syncs and closes the file. Until it succeeds, save_close removes the file. */
enum flow save_finish(struct save *s);
/* Appends what the driver commits an attempt by: the name of its files, which all outputs of the
 * action have in common, and for outputs in stores a NUL and an array of their uploads, in order
 * (remote_writer_pack). Returns 0 or NO_MEMORY. */
int save_results(const struct save *outputs, uint32_t count, struct buffer *out);
/* The same for one output: `state` is a struct save. */
int save_result(void *state, struct buffer *out);
/* Runs an action that saves text: adds the parameters that save_open reads: how the context writes
 * rows, or with `form` as GLINT_TSV or GLINT_JSON_LINES. Returns 0 or the context's code. */
int save_text_run(struct action *a, const struct glint_column_form *form);

/* glint_save_as_text_file and _files with `form`, as save_text_run has it; NULL: none. */
int save_as_text_file(struct glint_rdd *rdd, const char *path,
                      const struct glint_column_form *form);
int save_as_text_files(struct glint_rdd *rdd, const char *const *paths, uint32_t count,
                       const struct glint_column_form *form);

/* Reads the names and types of columns, `elements` in all. Returns 0 or a code. */
int save_objects_unpack(struct glint_task *task, struct unpacker *u, uint64_t elements,
                        const struct save_objects **out);
/* Fails the task with a value that its column of the output cannot have, or, without the name of a
 * column, with a row that has another number of fields. `others` are forms that keep such values.
 * Returns a code. */
int save_fail_value(struct glint_task *task, struct glint_slice row, uint32_t column,
                    const char *name, const char *problem, const char *others);
/* Appends the row as an object, without a line end. Returns 0 or a code; nothing of the row is left
 * then. */
int save_objects_append(struct save *s, struct glint_slice row);
/* Writes the records of a batch as lines (ops/save_as_text_file.c). */
bool save_write_lines(struct save *s, const struct glint_batch *batch);
/* Closes the file and frees memory; removes the file, or aborts the upload, unless save_finish
 * succeeded. `state` is a struct save. */
void save_close(void *state);

/* ---- Result rows (ops/result_rows.c): varint size, encoded key, varint size, encoded value. A
 * column of type NONE is omitted. */

bool result_rows_append(struct buffer *out, struct glint_schema schema,
                        const struct glint_record *record);
/* The same for encoded cells. Both return false when out of memory. */
bool result_rows_append_bytes(struct buffer *out, struct glint_schema schema,
                              struct glint_slice key, struct glint_slice value);
/* result_rows_append to a task's result. Returns false with the task's error set: NO_MEMORY, or
 * RESULT_LIMIT if the result gets too large. */
bool result_rows_append_limited(struct glint_task *task, struct buffer *out,
                                struct glint_schema schema, const struct glint_record *record);
/* First member of the state of an operator that returns rows, with its `result` and `close`. */
struct result_rows_state {
    struct buffer bytes;
};
int result_rows_state_result(void *state, struct buffer *out);
void result_rows_state_close(void *state);
/* Sets RESULT_LIMIT about the rows of one partition. Returns false. */
bool result_rows_set_task_limit(struct glint_task *task);
/* Sets RESULT_LIMIT about the rows of all partitions of an action. Returns the code. */
int result_rows_set_action_limit(struct glint *g);
/* Appends a partition's rows to `rows`. Returns 0 or a code with the context's error set. */
int result_rows_add_partition(struct glint *g, struct glint_rows *rows, struct glint_slice result);
/* Reads the record at *at and advances. Returns false at the end, or if it is malformed (then *at <
 * result.size). */
bool result_rows_next(struct glint_slice result, uint64_t *at, struct glint_schema schema,
                      struct glint_record *out);
/* True if both types can be types of a column; ANY and SAME cannot. */
static inline bool schema_is_concrete(struct glint_schema schema)
{
    return schema.key >= GLINT_NONE && schema.key <= GLINT_MSGPACK && schema.value >= GLINT_NONE &&
           schema.value <= GLINT_MSGPACK;
}
/* Compares encoded records by key, then value. Returns <0, 0 or >0. */
int record_compare(struct glint_schema schema, const struct glint_record *a,
                   const struct glint_record *b);
/* Sorts by key; stable. Returns 0 or a code with the context's error set. */
int result_rows_sort(struct glint *g, struct glint_rows *rows);
/* Sets EMPTY_COLLECTION for an action that needs a record, and frees `rows`. Returns the code. */
int result_rows_fail_empty(struct glint *g, struct glint_rows *rows, const char *action);
/* Sets PROTOCOL: the result of a task cannot be decoded. Returns the code. */
int set_malformed_result_error(struct glint *g, const struct op *op);

#endif

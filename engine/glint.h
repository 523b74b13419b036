/* The public API of glint: what jobs, their functions and programs that embed glint may use.
 *
 * A job chains RDDs and runs actions; no record is read before an action runs. The context keeps
 * the first error, and later calls return at once without effect, so a job only checks what its
 * last action returned. Names and semantics are Spark's; the comment at a call lists the
 * differences.
 *
 * A record is a key and a value. Each column of an RDD has one type, known when the plan is built.
 * An RDD of single elements (lines, numbers) has the key type GLINT_NONE; its elements are the
 * values.
 *
 * Calls that return an RDD return NULL after an error, and transformations and actions accept that
 * NULL and return the error again. Calls that return int return 0 or a negative code
 * (engine/codes.h). */
#ifndef GLINT_H
#define GLINT_H

#include "engine/codes.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * Values, records, batches */

/* The type of a column. */
enum glint_type {
    GLINT_ANY,   /* in a function's input schema: accepts every type */
    GLINT_SAME,  /* in a function's output schema: the same type as its input */
    GLINT_NONE,  /* no value in this column */
    GLINT_BYTES, /* any bytes: printed unchanged, ordered bytewise */
    GLINT_TEXT,  /* like bytes, but msgpack writes a str instead of a bin */
    GLINT_I64,   /* printed as decimal; ordered as numbers */
    GLINT_F64,   /* printed like Python's repr; -0.0 equals 0.0, all NaNs are equal and sort last */
    GLINT_MSGPACK, /* one msgpack value; ordered bytewise; printed as JSON */
};

/* A byte string, borrowed. */
struct glint_slice {
    const uint8_t *data;
    uint64_t size;
};

/* Cuts *rest at its first `separator`: *out is what is before it, *rest what follows. Returns
 * false, without a field, after the last one. A slice whose data is NULL has no fields. */
static inline bool glint_next_field(struct glint_slice *rest, char separator,
                                    struct glint_slice *out)
{
    if (rest->data == NULL) return false;
    const uint8_t *end = (const uint8_t *)memchr(rest->data, separator, rest->size);
    *out = *rest;
    rest->data = NULL;
    if (end == NULL) return true;
    out->size = (uint64_t)(end - out->data);
    rest->data = end + 1;
    rest->size -= out->size + 1;
    return true;
}

/* One cell. The column's type selects the member: `bytes` for bytes, text and msgpack. */
union glint_value {
    struct glint_slice bytes;
    int64_t i64;
    double f64;
};

struct glint_record {
    /* Cells of the batch's key and value column. */
    union glint_value key, value;
};
static_assert(sizeof(union glint_value) == 16 && sizeof(struct glint_record) == 32,
              "a cell is an address and a size: cheap to pass by value");

struct glint_batch;
#include "engine/glint_batch.h" /* columns and batches */

/* ------------------------------------------------------------------------------------------------
 * Functions: called on slots, one state per task */

struct glint_task;    /* the running task: errors, counters, scratch memory, arguments */
struct glint_emitter; /* where a function's output goes */

/* Emits one record. Slices inside the input batch are passed on by reference; all others are copied
 * before the call returns. */
void glint_emit(struct glint_emitter *out, const struct glint_record *record);
/* Emits (key, value). */
static inline void glint_emit_i64(struct glint_emitter *out, struct glint_slice key, int64_t value)
{
    const struct glint_record record = {.key = {.bytes = key}, .value = {.i64 = value}};
    glint_emit(out, &record);
}
/* Emits a batch by reference: its memory must stay valid until the call returns. Records emitted
 * earlier are passed on first. The types must be the function's output types. */
void glint_emit_batch(struct glint_emitter *out, const struct glint_batch *batch);

/* An accumulator: the running value of one key in reduceByKey and similar operators. For i64 and
 * f64 only `value` is used. Its bytes belong to the engine; change them only with the calls
 * below. */
struct glint_acc {
    union glint_value value;
    uint64_t capacity;
    void *memory; /* private to the engine */
};
/* Replace an accumulator's bytes, or append to them. `data` must not point into the accumulator.
 * Return 0, or a negative code with the task's error set. */
int glint_acc_set(struct glint_task *task, struct glint_acc *acc, const void *data, uint64_t size);
int glint_acc_append(struct glint_task *task, struct glint_acc *acc, const void *data,
                     uint64_t size);
/* Returns the accumulator's bytes, which may be modified in place. */
static inline uint8_t *glint_acc_bytes(struct glint_acc *acc)
{
    return (uint8_t *)acc->value.bytes.data;
}

/* What a function does, and which of its callbacks are used. */
enum glint_function_kind {
    GLINT_KIND_MAP,      /* `each` emits exactly one record */
    GLINT_KIND_FLAT_MAP, /* `each` emits any number; also mapPartitions (uses `end`) and foreach */
    GLINT_KIND_FILTER,   /* `keep` returns 1 or 0 */
    GLINT_KIND_GROUP,  /* groups of a grouped RDD: begin_group, `each` per value, end_group emits */
    GLINT_KIND_REDUCE, /* merge(acc, value), associative; acc starts as the first value */
    GLINT_KIND_AGGREGATE, /* create(acc, value), merge(acc, value), combine(acc, other acc) */
};

/* The types of both columns of an RDD. */
struct glint_schema {
    enum glint_type key, value;
};
static_assert(GLINT_ANY == 0, "a schema of zeros accepts all types");

/* One function of a job. Within a task, all calls come from one thread, in order, with the same
 * `state` (state_size bytes, zeroed). Callbacks that return int return 0, or the negative code that
 * glint_fail returned; any other number fails the job with an error that names it. Callbacks that
 * the kind does not use are NULL. */
struct glint_function {
    const char *name; /* "module.name", unique */
    enum glint_function_kind kind;
    struct glint_schema in;  /* ANY accepts every type; reduce and aggregate check only `value` */
    struct glint_schema out; /* SAME: as the input; aggregate: `value` is the accumulator's type */
    uint32_t state_size;
    /* Once per task, before any record: decode arguments, build tables. */
    int (*open)(struct glint_task *task, void *state);
    /* Once per record. */
    int (*each)(struct glint_task *task, void *state, const struct glint_record *in,
                struct glint_emitter *out);
    /* Optional replacement for `each`, once per batch, when a call per record is too expensive. */
    int (*batch)(struct glint_task *task, void *state, const struct glint_batch *in,
                 struct glint_emitter *out);
    /* FLAT_MAP: once, after the last record of the partition. */
    int (*end)(struct glint_task *task, void *state, struct glint_emitter *out);
    /* FILTER: 1 keeps the record, 0 drops it. */
    int (*keep)(struct glint_task *task, void *state, const struct glint_record *in);
    /* FILTER, batch version: writes the numbers of the kept rows, ascending, and their count. */
    int (*keep_batch)(struct glint_task *task, void *state, const struct glint_batch *in,
                      uint16_t *out_rows, uint32_t *out_count);
    /* GROUP: once before and once after the values of a key, which go to `each`. */
    int (*begin_group)(struct glint_task *task, void *state, const union glint_value *key);
    int (*end_group)(struct glint_task *task, void *state, const union glint_value *key,
                     struct glint_emitter *out);
    /* REDUCE (only `merge`) and AGGREGATE. */
    int (*create)(struct glint_task *task, void *state, struct glint_acc *acc,
                  const union glint_value *value);
    int (*merge)(struct glint_task *task, void *state, struct glint_acc *acc,
                 const union glint_value *value);
    int (*combine)(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *other);
    /* REDUCE of i64, batch version: merges value[i] into acc[slot[i]], for i in order. */
    void (*merge_i64)(int64_t *acc, const uint32_t *slot, const int64_t *value, uint32_t rows);
    /* REDUCE of i64, together with merge_i64: returns `acc` after merging `value` into it `times`
     * times. Lets the engine count equal values without one call for each. */
    int64_t (*repeat_i64)(int64_t acc, int64_t value, uint64_t times);
    /* REDUCE of bytes whose values may be cut into pieces: an accumulator that reaches this size is
     * emitted as its own record. A key's value is then a sequence of pieces, in order, and the
     * result is a grouped RDD. 0: values are never cut. */
    uint64_t chunk_bytes_max;
    /* Called exactly once if `open` was called, also after an error. */
    void (*close)(struct glint_task *task, void *state);
};

/* Initializers of a function: its name, its schemas or types, and its callbacks; more members may
 * follow, as `.state_size = sizeof(struct state), .open = open`. In GLINT_GROUP all callbacks are
 * such members.
 *
 *     static const struct glint_function split =
 *         GLINT_FLAT_MAP("words.split", GLINT_ELEMENTS(GLINT_TEXT),
 *                        GLINT_PAIRS(GLINT_TEXT, GLINT_I64), split_line); */
#define GLINT_PAIRS(key_, value_)                                                                  \
    {                                                                                              \
        key_, value_                                                                               \
    }
#define GLINT_ELEMENTS(type_)                                                                      \
    {                                                                                              \
        GLINT_NONE, type_                                                                          \
    }
#define GLINT_MAP(name_, in_, out_, ...)                                                           \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = in_, .out = out_, .each = __VA_ARGS__         \
    }
#define GLINT_FLAT_MAP(name_, in_, out_, ...)                                                      \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_FLAT_MAP, .in = in_, .out = out_, .each = __VA_ARGS__    \
    }
#define GLINT_FILTER(name_, in_, ...)                                                              \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_FILTER, .in = in_, .out = {GLINT_SAME, GLINT_SAME},      \
        .keep = __VA_ARGS__                                                                        \
    }
#define GLINT_GROUP(name_, in_, out_, ...)                                                         \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_GROUP, .in = in_, .out = out_, __VA_ARGS__               \
    }
#define GLINT_REDUCE(name_, type_, ...)                                                            \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_REDUCE, .in = {GLINT_ANY, type_},                        \
        .out = {GLINT_SAME, GLINT_SAME}, .merge = __VA_ARGS__                                      \
    }
/* create, merge, combine */
#define GLINT_AGGREGATE(name_, type_, acc_type_, create_, merge_, ...)                             \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_AGGREGATE, .in = {GLINT_ANY, type_},                     \
        .out = {GLINT_SAME, acc_type_}, .create = create_, .merge = merge_, .combine = __VA_ARGS__ \
    }

/* Built-in functions of kind REDUCE. Sums of i64 wrap around, as in Spark. */
extern const struct glint_function GLINT_SUM_I64, GLINT_SUM_F64;
extern const struct glint_function GLINT_OR_I64; /* bitwise or: merges sets of flags */
/* The least and the greatest value, in the order of sortByKey. */
extern const struct glint_function GLINT_MIN_I64, GLINT_MIN_F64, GLINT_MIN_TEXT;
extern const struct glint_function GLINT_MAX_I64, GLINT_MAX_F64, GLINT_MAX_TEXT;
/* All values of a key in order, one behind the other; and the first one, of any type. */
extern const struct glint_function GLINT_CONCAT_TEXT, GLINT_FIRST;
extern const struct glint_function GLINT_COUNT; /* AGGREGATE: how many values, of any type */

/* Functions of a program that creates its contexts itself; the table ends with NULL. */
struct glint_module {
    const char *name;
    const struct glint_function *const *functions;
};

/* ---- Calls for functions, on the task's own thread only */

/* Sets the task's error, unless it already has one, and returns `code`. `cause` and `hint` are
 * printf formats; `hint` may be NULL. */
int glint_fail(struct glint_task *task, enum glint_code code, const char *hint, const char *cause,
               ...) __attribute__((format(printf, 4, 5)));
/* Reports a bad row. With --bad-rows fail: sets an error with file:line, the row and the reason.
 * With --bad-rows skip: counts the row under its reason and returns 0, unless --max-bad-rows is
 * exceeded. `row` should point into the current batch. `reason` must be a string literal. */
int glint_bad_row(struct glint_task *task, struct glint_slice row, const char *reason);
/* The same with another error code, and with the text that the error shows instead of the row
 * (NULL: the row). */
int glint_bad_row_with_code(struct glint_task *task, enum glint_code code, struct glint_slice row,
                            const char *reason, const char *shown);
/* Sets an error about a row, which --bad-rows skip does not suppress: file:line, the reason, the
 * row. `hint` may be NULL. Returns `code`. */
int glint_fail_row(struct glint_task *task, enum glint_code code, struct glint_slice row,
                   const char *hint, const char *reason);
/* Returns the number of a named counter (Spark's accumulator) for glint_counter_add, or a negative
 * code with the task's error set. Call it once, in `open`. The driver adds only the counters of the
 * first successful attempt of each task. */
int glint_counter(struct glint_task *task, const char *name);
void glint_counter_add(struct glint_task *task, int counter, int64_t by);
/* Allocates memory that is freed with the task: 64-byte aligned, with READ_SLACK readable bytes
 * past its end. Returns NULL with the task's error set when out of memory. */
void *glint_scratch(struct glint_task *task, uint64_t size);
/* Returns the index of the current partition, for mapPartitionsWithIndex. It is the index in the
 * RDD that the function makes, even if a union or coalesce follows in the same stage. */
uint32_t glint_partition(const struct glint_task *task);
/* Returns the partition of the following shuffle that receives a record with this key; 0 if the
 * stage does not end in a shuffle, or its keys have another type. Large values emitted in the order
 * of (output partition, key) are written to disk once; in another order they are merged again. */
uint32_t glint_output_partition(const struct glint_task *task, enum glint_type type,
                                const union glint_value *key);

/* Splits a msgpack array of two, as join and cogroup make them, into its two values, which point
 * into `pair`. Returns false if it is anything else. */
bool glint_unpack_pair(struct glint_slice pair, struct glint_slice *out_first,
                       struct glint_slice *out_second);
/* Decodes a msgpack value as a cell of the given type (NONE: nil); slices point into `msgpack`.
 * Returns false if it has another type. */
bool glint_unpack(struct glint_slice msgpack, enum glint_type type, union glint_value *out);

/* Look up an argument by name; only inside `open`. Return 0, or a negative code with the task's
 * error set. The slice of glint_arg_slice lives as long as the task. */
int glint_arg_i64(struct glint_task *task, const char *name, int64_t *out);
int glint_arg_f64(struct glint_task *task, const char *name, double *out);
int glint_arg_slice(struct glint_task *task, const char *name, struct glint_slice *out);
/* Returns the broadcast value in `out`: read only, shared by all tasks of the process. */
int glint_arg_broadcast(struct glint_task *task, const char *name, struct glint_slice *out);

/* ------------------------------------------------------------------------------------------------
 * Contexts and plans: one thread, the one that created the context */

struct glint;
struct glint_rdd;
struct glint_args;
struct glint_broadcast;

/* Texts for people; `effect` and `hint` may be empty. */
struct glint_error {
    enum glint_code code; /* 0: no error */
    char cause[1024], effect[256], hint[512];
};
/* The text, and the process's exit status, of a code: columns of engine/codes.h. */
const char *glint_code_text(enum glint_code code);
int glint_code_exit_status(enum glint_code code);

/* The context's first error; code 0 if it has none. Valid until glint_destroy. */
const struct glint_error *glint_error(const struct glint *g);
/* Fails the job with its own error, unless there already is one. Returns `code`. */
int glint_abort(struct glint *g, enum glint_code code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));

/* Creates arguments for a function: a small map of named values, owned by the context. At most 1
 * MiB; broadcast larger values. Pass NULL where a function takes no arguments. */
struct glint_args *glint_args(struct glint *g);
/* Add a named value; data is copied. `args` NULL (a failed glint_args) is ignored. */
void glint_args_i64(struct glint_args *args, const char *name, int64_t value);
void glint_args_f64(struct glint_args *args, const char *name, double value);
void glint_args_bytes(struct glint_args *args, const char *name, const void *data, uint64_t size);
void glint_args_text(struct glint_args *args, const char *name, const char *text);
void glint_args_broadcast(struct glint_args *args, const char *name, struct glint_broadcast *b);

/* Creates a broadcast: a value that is sent to each executor at most once. Takes ownership of
 * `data`, which must come from glint_alloc; it is freed with the context, or at once on error. At
 * most 4 GiB. Returns NULL with the context's error set. */
struct glint_broadcast *glint_broadcast(struct glint *g, void *data, uint64_t size);
/* Allocates memory, 64-byte aligned with READ_SLACK readable bytes past its end. The caller frees
 * it with glint_free, or passes it to glint_broadcast. Returns NULL with the context's error set
 * when out of memory. */
void *glint_alloc(struct glint *g, uint64_t size);
/* Frees memory of glint_alloc; NULL is allowed. */
void glint_free(void *data);

/* ---- Sources */

/* Reads the lines of text files, without line endings (LF or CRLF), as (none, text). `paths` is
 * either the name of an existing file or a comma-separated list of files, directories, globs and
 * file URLs. Names that start with _ or . are skipped inside directories and globs. gzip is
 * decompressed; other compression formats are an error. Files are read in the order of the list,
 * directories and globs in the order of names. Differs from Spark: CR is stripped only before LF; a
 * byte order mark at the start of a file is dropped. */
struct glint_rdd *glint_text_file(struct glint *g, const char *paths);
/* Lines split at the first separator into (text, text). Without a separator the value is empty. */
struct glint_rdd *glint_key_value_text_file(struct glint *g, const char *paths, char separator);
/* Like textFile, with `lines` lines per partition (Hadoop's NLineInputFormat); counting restarts in
 * each file. Reads the input once when the plan is cut, to find the split positions. */
struct glint_rdd *glint_n_line_text_file(struct glint *g, const char *paths, uint64_t lines);
/* Reads what saveAsMsgpackFile wrote. Every record is checked against `schema`: i64 is an integer,
 * f64 a float, text a str, bytes a bin, msgpack any value, none nil. Paths as in textFile. A file
 * is never split; small files share a partition. */
struct glint_rdd *glint_msgpack_file(struct glint *g, const char *paths,
                                     struct glint_schema schema);
/* Distributes records of this process evenly over `partitions` partitions (0: 1). The records are
 * copied. The schema must not be (none, none). */
struct glint_rdd *glint_parallelize(struct glint *g, struct glint_schema schema,
                                    const struct glint_record *records, uint64_t count,
                                    uint32_t partitions);

/* Returns the first line of the first non-empty file, up to 4 KiB; empty if all files are empty, or
 * with an error set. The context owns it. `lines` must be a source of text lines. */
struct glint_slice glint_first_line(const struct glint_rdd *lines);

/* ---- Transformations. `function` is one of this program's, of the kind in brackets. Executors
 * find it by its name. */

/* [MAP], [MAP or FLAT_MAP], [FILTER]. filter keeps grouping and partitioning. */
struct glint_rdd *glint_map(struct glint_rdd *rdd, const struct glint_function *function,
                            struct glint_args *args);
struct glint_rdd *glint_flat_map(struct glint_rdd *rdd, const struct glint_function *function,
                                 struct glint_args *args);
struct glint_rdd *glint_filter(struct glint_rdd *rdd, const struct glint_function *function,
                               struct glint_args *args);
/* [MAP] The key is what the function emits, the value is kept. The input's key must be NONE. */
struct glint_rdd *glint_key_by(struct glint_rdd *rdd, const struct glint_function *function,
                               struct glint_args *args);
/* [MAP, or GROUP on a grouped RDD] Replaces the value by the emitted one; keeps the key and the
 * partitioning. */
struct glint_rdd *glint_map_values(struct glint_rdd *rdd, const struct glint_function *function,
                                   struct glint_args *args);
struct glint_rdd *glint_flat_map_values(struct glint_rdd *rdd,
                                        const struct glint_function *function,
                                        struct glint_args *args);
/* [FLAT_MAP, with or without `end`] */
struct glint_rdd *glint_map_partitions(struct glint_rdd *rdd, const struct glint_function *function,
                                       struct glint_args *args);
/* The same; the function calls glint_partition for the index. */
struct glint_rdd *glint_map_partitions_with_index(struct glint_rdd *rdd,
                                                  const struct glint_function *function,
                                                  struct glint_args *args);
/* One element per record, also for a grouped RDD. */
struct glint_rdd *glint_keys(struct glint_rdd *rdd);
struct glint_rdd *glint_values(struct glint_rdd *rdd);
/* The partitions of `a`, then those of `b`; keeps duplicates. The schemas must be equal. */
struct glint_rdd *glint_union(struct glint_rdd *a, struct glint_rdd *b);
/* Keeps each record with probability `fraction` (0 to 1). The choice depends only on (seed,
 * partition, index in the partition), so it is the same on every cluster and in every attempt.
 * Splitting the input differently (--split-size) changes the sample. */
struct glint_rdd *glint_sample(struct glint_rdd *rdd, double fraction, uint64_t seed);
/* Assigns each record to exactly one of out[0..count), by weight, chosen as in sample. Weights are
 * normalised; a weight of 0 gets no records. Each child reads `rdd` again. */
void glint_random_split(struct glint_rdd *rdd, const double *weights, uint32_t count, uint64_t seed,
                        struct glint_rdd **out);
/* The key is the number of the child that randomSplit would choose: (i64, element). With
 * glint_save_as_text_files all children are saved in one pass. The input's key must be NONE. */
struct glint_rdd *glint_key_by_random_split(struct glint_rdd *rdd, const double *weights,
                                            uint32_t count, uint64_t seed);
/* [REDUCE] */
struct glint_rdd *glint_reduce_by_key(struct glint_rdd *rdd, const struct glint_function *function,
                                      struct glint_args *args);
/* [REDUCE] Starts from `zero`, once per key and map partition, as in Spark. */
struct glint_rdd *glint_fold_by_key(struct glint_rdd *rdd, union glint_value zero,
                                    const struct glint_function *function, struct glint_args *args);
/* [AGGREGATE] Merging starts from `zero`; `create` is not called. `zero` must be neutral: as in
 * Spark it is used once per key and map partition, and again each time a map partition exceeds its
 * memory and spills. */
struct glint_rdd *glint_aggregate_by_key(struct glint_rdd *rdd, union glint_value zero,
                                         const struct glint_function *function,
                                         struct glint_args *args);
/* [AGGREGATE] */
struct glint_rdd *glint_combine_by_key(struct glint_rdd *rdd, const struct glint_function *function,
                                       struct glint_args *args);
/* Returns a grouped RDD: the values of a key are streamed, one record each, in the order of the map
 * partitions, and never collected in memory. mapValues takes a GROUP function here. */
struct glint_rdd *glint_group_by_key(struct glint_rdd *rdd);
/* [MAP] groupByKey with the key that the function emits. */
struct glint_rdd *glint_group_by(struct glint_rdd *rdd, const struct glint_function *function,
                                 struct glint_args *args);
/* One record of each set of equal records. Records of a pair RDD are at most 16 MiB. */
struct glint_rdd *glint_distinct(struct glint_rdd *rdd);
/* Joins records with equal keys; the key types must be equal. The value is the msgpack array [left,
 * right] (see glint_unpack_pair, glint_unpack); nil means that the side has no record, or that its
 * values are NONE. For each key, every left value is paired with every right value, in that order,
 * as in Spark. Left values are streamed; right values are buffered, in memory up to a share of the
 * slot's memory, then on disk: put the smaller side right. Differs from Spark: both sides are
 * always shuffled. */
struct glint_rdd *glint_join(struct glint_rdd *left, struct glint_rdd *right);
/* Like join, and [left, nil] for a left value without a match. */
struct glint_rdd *glint_left_outer_join(struct glint_rdd *left, struct glint_rdd *right);
/* Like join, and [nil, right] for a right value without a match. */
struct glint_rdd *glint_right_outer_join(struct glint_rdd *left, struct glint_rdd *right);
/* Like join, with the unmatched values of both sides. */
struct glint_rdd *glint_full_outer_join(struct glint_rdd *left, struct glint_rdd *right);
/* Returns a grouped RDD over both sides. The values of a key are streamed as msgpack [side, value],
 * first all of the left side (0), then all of the right side (1). Differs from Spark: nothing is
 * collected; a GROUP function sees the two lists one after the other. */
struct glint_rdd *glint_cogroup(struct glint_rdd *left, struct glint_rdd *right);
/* The records of `rdd` whose key does not occur in `other`. */
struct glint_rdd *glint_subtract_by_key(struct glint_rdd *rdd, struct glint_rdd *other);
/* The records that are in both, each once. The schemas must be equal; pairs are at most 16 MiB. */
struct glint_rdd *glint_intersection(struct glint_rdd *a, struct glint_rdd *b);
/* The records that are not in `other`; keeps duplicates. Same limits as intersection. */
struct glint_rdd *glint_subtract(struct glint_rdd *rdd, struct glint_rdd *other);
/* Each element with its index, (element, i64), counted over the partitions in order. The input's
 * key must be NONE. With more than one partition, the input is read once more to count it. */
struct glint_rdd *glint_zip_with_index(struct glint_rdd *rdd);
/* Sorts by key, within and across partitions. Range bounds come from a sample; unless there is only
 * one partition, the input is read once more to take it. Stable. Differs from Spark: with few
 * distinct keys, some partitions are empty. */
struct glint_rdd *glint_sort_by_key(struct glint_rdd *rdd, bool ascending);
/* [MAP] The function emits the sort key; the input's key must be NONE. */
struct glint_rdd *glint_sort_by(struct glint_rdd *rdd, const struct glint_function *function,
                                struct glint_args *args, bool ascending);
/* Hash-partitions by key into `partitions` (0: the default). Within a partition, records are
 * ordered by key. */
struct glint_rdd *glint_partition_by(struct glint_rdd *rdd, uint32_t partitions);
/* The same, with records sorted by key within a partition. Stable. */
struct glint_rdd *glint_repartition_and_sort_within_partitions(struct glint_rdd *rdd,
                                                               uint32_t partitions, bool ascending);
/* Redistributes records by (partition, index), never by order of arrival: the same result on every
 * cluster and after every retry. Within a partition, records of a pair RDD are ordered by key. */
struct glint_rdd *glint_repartition(struct glint_rdd *rdd, uint32_t partitions);
/* Reduces the number of partitions without a shuffle, by joining neighbouring partitions. */
struct glint_rdd *glint_coalesce(struct glint_rdd *rdd, uint32_t partitions);

/* Sets the number of partitions of a wide transformation (default: by input bytes, or
 * --partitions). Only before the plan is cut. Returns `rdd`. */
struct glint_rdd *glint_with_partitions(struct glint_rdd *rdd, uint32_t partitions);
/* Skips the first line of each file. `lines` must be a source of text lines that was just created.
 * Returns `lines`. */
struct glint_rdd *glint_with_header(struct glint_rdd *lines);
/* Requests splits of at least this many bytes (text sources only; --split-size takes precedence).
 * Returns `rdd`. */
struct glint_rdd *glint_with_split_bytes(struct glint_rdd *rdd, uint64_t bytes);
/* Returns the number of partitions, 0 after an error. Cuts the sources of the plan: their splits
 * and the numbers of partitions cannot be changed after this call. */
uint32_t glint_partitions(struct glint_rdd *rdd);
/* Returns the total size on disk, in bytes, of the input files that this RDD descends from. */
uint64_t glint_input_bytes(const struct glint_rdd *rdd);
/* Returns the context that owns the RDD. */
struct glint *glint_context(const struct glint_rdd *rdd);

#include "engine/glint_actions.h" /* actions: run the plan */
#include "engine/glint_context.h" /* create, finish and destroy a context */
#include "engine/glint_job.h"     /* the table of a job and its options */

#endif

/* glint's one public header: what a job, a function of a job, or a program around glint may see.
 *
 * A job chains RDDs and runs actions; nothing is read before an action runs. The first error sticks
 * to the context: later calls return at once, so a job checks only what its last action returned.
 * Words and semantics are Spark's; where ours differ, the comment at the call says so.
 *
 * A record is a key and a value. Each column of an RDD has one type, known when the plan is built.
 * An RDD of single elements (lines, numbers) has the key type GLINT_NONE: its elements are the
 * values. */
#ifndef GLINT_H
#define GLINT_H

#include "engine/codes.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------------
 * Values, records, batches */

enum glint_type {
    GLINT_ANY,     /* in a function's shape: every type will do */
    GLINT_SAME,    /* in a function's output shape: as its input */
    GLINT_NONE,    /* no value in this column */
    GLINT_BYTES,   /* printed as they are; ordered bytewise */
    GLINT_TEXT,    /* as bytes; msgpack writes str, not bin */
    GLINT_I64,     /* printed as decimal; ordered as numbers */
    GLINT_F64,     /* printed as Python does, shortest round trip; -0.0 = 0.0, one NaN, last */
    GLINT_MSGPACK, /* one msgpack value; ordered bytewise; printed as JSON */
};

struct glint_slice {
    const uint8_t *data;
    uint64_t size;
};

/* One cell. The column's type says which member counts: `bytes` for bytes, text and msgpack. */
union glint_value {
    struct glint_slice bytes;
    int64_t i64;
    double f64;
};

struct glint_record {
    union glint_value key, value;
};
static_assert(sizeof(union glint_value) == 16 && sizeof(struct glint_record) == 32,
              "a cell is an address and a size: cheap to pass by value");

/* A column of a batch. Bytes-like types: the memory base[0, size), row i is base[start[i], end[i]);
 * where `start` is NULL the batch has one row, all of base[0, size), which may be larger than 4
 * GiB. At least READ_SLACK (64) bytes can be read past the end of any slice. Where `lines` is
 * `start`, the rows are lines one behind the other: each ends with one LF, which is not in it, and
 * the next row begins there. i64 and f64: row i is i64[i] or f64[i]. NONE: nothing. */
struct glint_column {
    enum glint_type type;
    const uint8_t *base;
    const uint32_t *start, *end, *lines;
    uint64_t size;
    const int64_t *i64;
    const double *f64;
};

/* Where the bytes of a batch came from, so that an error can name file and line.
 * A slice inside [base, base + size) stands in the file at offset + (slice - base). */
struct glint_origin {
    const char *path;
    const uint8_t *base;
    uint64_t size;
    uint64_t offset; /* in the file, after decompression */
    bool compressed;
};

/* At most 1,024 rows. Always dense: a filter compacts the 32-bit offsets, never the bytes.
 * Borrowed: valid until the call that received it returns. */
struct glint_batch {
    uint32_t rows;
    struct glint_column key, value;
    const struct glint_origin *origin; /* may be NULL */
};

static inline struct glint_slice glint_column_slice(const struct glint_column *c, uint32_t row)
{
    if (c->start == NULL) return (struct glint_slice){c->base, c->size};
    return (struct glint_slice){c->base + c->start[row], c->end[row] - c->start[row]};
}

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

static inline struct glint_record glint_batch_record(const struct glint_batch *b, uint32_t row)
{
    return (struct glint_record){glint_column_value(&b->key, row),
                                 glint_column_value(&b->value, row)};
}

/* ------------------------------------------------------------------------------------------------
 * Functions: registered by name, called on slots, one state per task */

struct glint_task;    /* the running task: errors, counters, scratch memory, arguments */
struct glint_emitter; /* where a function's output goes */

/* Emits one record. Slices that lie inside the input batch are passed on by reference, others are
 * copied before the call returns. */
void glint_emit(struct glint_emitter *out, const struct glint_record *record);
/* Emits a batch by reference: its memory must stay until the call returns. Rows of records emitted
 * before go first. Types must be the function's output types. */
void glint_emit_batch(struct glint_emitter *out, const struct glint_batch *batch);

/* The running value of one key in reduceByKey and its kin. For i64 and f64 only the number counts.
 * Bytes belong to the engine; change them through the calls below only. */
struct glint_acc {
    union glint_value value;
    uint64_t capacity;
    void *memory; /* the engine's */
};
/* Give an accumulator these bytes, or more bytes at its end. `data` must not lie inside it.
 * 0 or a negative code (the task's error is set). */
int glint_acc_set(struct glint_task *task, struct glint_acc *acc, const void *data, uint64_t size);
int glint_acc_append(struct glint_task *task, struct glint_acc *acc, const void *data,
                     uint64_t size);
/* The accumulator's bytes, writable. */
static inline uint8_t *glint_acc_bytes(struct glint_acc *acc)
{
    return (uint8_t *)acc->value.bytes.data;
}

enum glint_function_kind {
    GLINT_MAP,       /* each emits exactly one record */
    GLINT_FLAT_MAP,  /* each emits any number; also mapPartitions (with `end`) and foreach (none) */
    GLINT_FILTER,    /* keep returns 1 or 0 */
    GLINT_GROUP,     /* groups of a grouped RDD: begin, each per value, end_group emits */
    GLINT_REDUCE,    /* merge(acc, value): associative; acc starts as the first value */
    GLINT_AGGREGATE, /* create(acc, value), merge(acc, value), combine(acc, other acc) */
};

struct glint_schema {
    enum glint_type key, value;
};
static_assert(GLINT_ANY == 0, "a shape of zeros takes everything");

/* One function. All calls of one task come from one thread, in order, with the same `state`
 * (state_size zeroed bytes). Those that return int return 0, or the negative code that
 * glint_fail gave; any other number ends the job with an error that names it. A slot that the form
 * does not use is NULL. */
struct glint_function {
    const char *name; /* "module.name", unique */
    enum glint_function_kind kind;
    struct glint_schema in;  /* ANY accepts every type; reduce and aggregate look at `value` only */
    struct glint_schema out; /* SAME: as in; aggregate: `value` is the accumulator's type */
    uint32_t state_size;
    /* Once per task, before any record: decode arguments, prepare tables. */
    int (*open)(struct glint_task *task, void *state);
    /* Once per record. */
    int (*each)(struct glint_task *task, void *state, const struct glint_record *in,
                struct glint_emitter *out);
    /* Instead of `each`, where a call per record is too dear: once per batch. */
    int (*batch)(struct glint_task *task, void *state, const struct glint_batch *in,
                 struct glint_emitter *out);
    /* FLAT_MAP: once, after the partition's last record. */
    int (*end)(struct glint_task *task, void *state, struct glint_emitter *out);
    /* FILTER: 1 keeps the record, 0 drops it. */
    int (*keep)(struct glint_task *task, void *state, const struct glint_record *in);
    /* FILTER, batch form: writes the kept row numbers, ascending, and how many. */
    int (*keep_batch)(struct glint_task *task, void *state, const struct glint_batch *in,
                      uint16_t *out_rows, uint32_t *out_count);
    /* GROUP. */
    int (*begin_group)(struct glint_task *task, void *state, const union glint_value *key);
    int (*end_group)(struct glint_task *task, void *state, const union glint_value *key,
                     struct glint_emitter *out);
    /* REDUCE and AGGREGATE. */
    int (*create)(struct glint_task *task, void *state, struct glint_acc *acc,
                  const union glint_value *value);
    int (*merge)(struct glint_task *task, void *state, struct glint_acc *acc,
                 const union glint_value *value);
    int (*combine)(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *other);
    /* REDUCE of i64, batch form: acc[slot[i]] takes value[i], for i in order. */
    void (*merge_i64)(int64_t *acc, const uint32_t *slot, const int64_t *value, uint32_t rows);
    /* REDUCE of i64, beside merge_i64: `acc` after `value` was merged into it `times` times. Makes
     * counting cheap. */
    int64_t (*repeat_i64)(int64_t acc, int64_t value, uint64_t times);
    /* REDUCE of bytes whose value may be cut: an accumulator that has reached this size is passed
     * on as a record of its own, so a key's value is a stream of pieces, in order, and the result
     * is grouped. 0: values are whole. */
    uint64_t chunk_bytes_max;
    /* Always called if open was, also after an error. */
    void (*close)(struct glint_task *task, void *state);
};

/* What a module registers: a table that ends with NULL. */
struct glint_module {
    const char *name;
    const struct glint_function *const *functions;
};

/* For functions, on the task's own thread. */

/* Sets the task's error once (the first stays) and returns `code`. `cause` and `hint` are printf
 * formats; hint may be NULL. */
int glint_fail(struct glint_task *task, enum glint_code code, const char *hint, const char *cause,
               ...) __attribute__((format(printf, 4, 5)));
/* A row that does not fit. Under --bad-rows fail: an error with file:line, the row and the reason.
 * Under skip: counts it by reason and returns 0, unless --max-bad-rows is reached. `row` should lie
 * inside the batch at hand. `reason` is a string literal. */
int glint_bad_row(struct glint_task *task, struct glint_slice row, const char *reason);
/* The same with a code of its own, and what the error shows instead of the row (NULL: the row). */
int glint_bad_row_with_code(struct glint_task *task, enum glint_code code, struct glint_slice row,
                            const char *reason, const char *shown);
/* An error about a row, never skipped: file:line, the reason, the row. `hint` may be NULL. */
int glint_fail_row(struct glint_task *task, enum glint_code code, struct glint_slice row,
                   const char *hint, const char *reason);
/* A counter by name (an accumulator in Spark's words): its number for glint_count. Only the first
 * successful attempt of each task counts. Ask once, in open. */
int glint_counter(struct glint_task *task, const char *name);
void glint_counter_add(struct glint_task *task, int counter, int64_t by);
/* Memory of the task, freed with it. 64-byte aligned, READ_SLACK beyond its end. NULL: error set.
 */
void *glint_scratch(struct glint_task *task, uint64_t size);
/* The number of the partition at hand, for mapPartitionsWithIndex: that of the RDD which the
 * function makes, whatever unions and coalesces follow. */
uint32_t glint_partition(const struct glint_task *task);
/* The partition of the shuffle behind this stage that takes a record with this key; 0 where there
 * is no such shuffle, or its keys are of another type. Large values that a function emits in order
 * of (partition, key) go to disk once, as they come; others are merged after. */
uint32_t glint_output_partition(const struct glint_task *task, enum glint_type type,
                                const union glint_value *key);

/* The two values of a msgpack array of two, as a join or a cogroup makes them; they lie in it.
 * False: it is no such array. */
bool glint_unpack_pair(struct glint_slice pair, struct glint_slice *out_first,
                       struct glint_slice *out_second);
/* A msgpack value as a cell of a type, NONE being nil; slices lie in it. False: it is of another
 * type. */
bool glint_unpack(struct glint_slice msgpack, enum glint_type type, union glint_value *out);

/* Arguments by name, inside `open`. Each answers 0 or a negative code with the error set. */
int glint_arg_i64(struct glint_task *task, const char *name, int64_t *out);
int glint_arg_f64(struct glint_task *task, const char *name, double *out);
int glint_arg_slice(struct glint_task *task, const char *name, struct glint_slice *out);
/* The value that was broadcast: shared by all tasks of the process, read only. */
int glint_arg_broadcast(struct glint_task *task, const char *name, struct glint_slice *out);

/* ------------------------------------------------------------------------------------------------
 * Contexts and plans: one thread, the one that created the context */

struct glint;
struct glint_rdd;
struct glint_args;
struct glint_broadcast;

struct glint_error {
    enum glint_code code; /* 0: none */
    char cause[1024], effect[256], hint[512];
};
const char *glint_code_text(enum glint_code code);
int glint_code_exit_status(enum glint_code code);

const struct glint_error *glint_error(const struct glint *g);
/* Ends the job with an error of its own; the first one stays. Returns `code`. */
int glint_abort(struct glint *g, enum glint_code code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));

/* Function arguments: a small map of named values. Owned by the context. NULL is fine wherever no
 * argument is needed. */
struct glint_args *glint_args(struct glint *g);
void glint_args_i64(struct glint_args *args, const char *name, int64_t value);
void glint_args_f64(struct glint_args *args, const char *name, double value);
void glint_args_bytes(struct glint_args *args, const char *name, const void *data, uint64_t size);
void glint_args_text(struct glint_args *args, const char *name, const char *text);
void glint_args_broadcast(struct glint_args *args, const char *name, struct glint_broadcast *b);

/* Sends a value to every executor once. Takes `data`, which must come from glint_alloc, and frees
 * it with the context. */
struct glint_broadcast *glint_broadcast(struct glint *g, void *data, uint64_t size);
/* 64-byte aligned, READ_SLACK beyond its end; NULL and a sticky error without memory. */
void *glint_alloc(struct glint *g, uint64_t size);
void glint_free(void *data);

/* ---- Sources */

/* Lines of text files, without their line ends (LF or CRLF), as (none, text). `paths` is a
 * comma-separated list of files, folders, globs and file URLs, or one that exists under that name;
 * names that begin with _ or . are skipped inside folders and globs; gzip is decompressed, other
 * formats are refused. Files go in the order of the list, folders and globs by name. Differs from
 * Spark: CR is stripped only before LF; a byte order mark at a file's start is dropped. */
struct glint_rdd *glint_text_file(struct glint *g, const char *paths);
/* Lines cut at the first separator into (text, text); no separator: the value is empty. */
struct glint_rdd *glint_key_value_text_file(struct glint *g, const char *paths, char separator);
/* As textFile, with `lines` lines per partition (Hadoop's NLineInputFormat), counted anew in each
 * file. Reads the input once to find the cuts. */
struct glint_rdd *glint_n_line_text_file(struct glint *g, const char *paths, uint64_t lines);
/* What saveAsMsgpackFile wrote; `shape` is checked against every record: i64 is an integer, f64 a
 * float, text a str, bytes a bin, msgpack any value, none nil. Paths as in textFile; no file is
 * cut, small ones share a partition. */
struct glint_rdd *glint_msgpack_file(struct glint *g, const char *paths,
                                     struct glint_schema schema);
/* Records of this process, cut evenly into `partitions` (0: 1). Copied. Their shape must not be
 * (none, none). */
struct glint_rdd *glint_parallelize(struct glint *g, struct glint_schema schema,
                                    const struct glint_record *records, uint64_t count,
                                    uint32_t partitions);

/* The first line of the first file that has any, up to 4 KiB; empty: none. The context owns it. */
struct glint_slice glint_first_line(const struct glint_rdd *lines);

/* ---- Transformations. `function` is a registered name, of the form in brackets. */

struct glint_rdd *glint_map(struct glint_rdd *rdd, const char *function, struct glint_args *args);
struct glint_rdd *glint_flat_map(struct glint_rdd *rdd, const char *function,
                                 struct glint_args *args);
struct glint_rdd *glint_filter(struct glint_rdd *rdd, const char *function,
                               struct glint_args *args);
/* [MAP] Keeps the value, takes the key that the function emits. The input's key must be NONE. */
struct glint_rdd *glint_key_by(struct glint_rdd *rdd, const char *function,
                               struct glint_args *args);
/* [MAP, or GROUP on a grouped RDD] Keeps the key and the partitioning, takes the emitted value. */
struct glint_rdd *glint_map_values(struct glint_rdd *rdd, const char *function,
                                   struct glint_args *args);
struct glint_rdd *glint_flat_map_values(struct glint_rdd *rdd, const char *function,
                                        struct glint_args *args);
/* [FLAT_MAP with `end`] */
struct glint_rdd *glint_map_partitions(struct glint_rdd *rdd, const char *function,
                                       struct glint_args *args);
/* The same; the function asks glint_partition for the index. */
struct glint_rdd *glint_map_partitions_with_index(struct glint_rdd *rdd, const char *function,
                                                  struct glint_args *args);
/* One element per record, of a grouped RDD too. */
struct glint_rdd *glint_keys(struct glint_rdd *rdd);
struct glint_rdd *glint_values(struct glint_rdd *rdd);
/* Partitions of a, then of b; duplicates stay. Shapes must be equal. */
struct glint_rdd *glint_union(struct glint_rdd *a, struct glint_rdd *b);
/* Each record is kept with probability `fraction` (0 to 1), by (seed, partition, index), whatever
 * it holds: always the same records, on every cluster and in every attempt. The index counts the
 * rows of the partition, so an input that is cut in another way (--split-size) gives another
 * sample. */
struct glint_rdd *glint_sample(struct glint_rdd *rdd, double fraction, uint64_t seed);
/* out[0..count): each record in exactly one, by weight; chosen as by sample. Weights are
 * normalised; one of 0 gets nothing. Each child reads `rdd` for itself. */
void glint_random_split(struct glint_rdd *rdd, const double *weights, uint32_t count, uint64_t seed,
                        struct glint_rdd **out);
/* The number of each element's child in that randomSplit as its key: (i64, element). With
 * glint_save_as_text_files all children are saved in one pass. The input's key must be NONE. */
struct glint_rdd *glint_key_by_random_split(struct glint_rdd *rdd, const double *weights,
                                            uint32_t count, uint64_t seed);
/* [REDUCE] */
struct glint_rdd *glint_reduce_by_key(struct glint_rdd *rdd, const char *function,
                                      struct glint_args *args);
/* [REDUCE] from `zero`, once per key and map partition, as in Spark. */
struct glint_rdd *glint_fold_by_key(struct glint_rdd *rdd, union glint_value zero,
                                    const char *function, struct glint_args *args);
/* [AGGREGATE] create is not called, merge starts from `zero`, which must be neutral: as in Spark it
 * goes in once per key and map partition, and once more wherever such a partition outgrew its
 * memory. */
struct glint_rdd *glint_aggregate_by_key(struct glint_rdd *rdd, union glint_value zero,
                                         const char *function, struct glint_args *args);
/* [AGGREGATE] */
struct glint_rdd *glint_combine_by_key(struct glint_rdd *rdd, const char *function,
                                       struct glint_args *args);
/* A grouped RDD: a key's values stream by, one record each, in order of the map partitions, and are
 * never collected; mapValues takes a GROUP function here. */
struct glint_rdd *glint_group_by_key(struct glint_rdd *rdd);
struct glint_rdd *glint_group_by(struct glint_rdd *rdd, const char *function,
                                 struct glint_args *args);
/* Of equal records one. Records of pairs are at most 16 MiB. */
struct glint_rdd *glint_distinct(struct glint_rdd *rdd);
/* Joins: records of equal keys from both sides, whose keys must be of one type. The value is the
 * msgpack array [left, right] (glint_unpack_pair, glint_unpack); nil stands for a side that has no
 * record, or no values. Of a key each left value meets each right one, in that order, as in Spark.
 * The left values stream by; the right ones are held, in memory up to a share of the slot's and
 * beyond it on disk: where sizes differ much, the smaller side belongs right. Differs from Spark:
 * both sides are always shuffled. */
struct glint_rdd *glint_join(struct glint_rdd *left, struct glint_rdd *right);
/* And [left, nil] where a left value meets none. */
struct glint_rdd *glint_left_outer_join(struct glint_rdd *left, struct glint_rdd *right);
/* And [nil, right]. */
struct glint_rdd *glint_right_outer_join(struct glint_rdd *left, struct glint_rdd *right);
/* And both. */
struct glint_rdd *glint_full_outer_join(struct glint_rdd *left, struct glint_rdd *right);
/* A grouped RDD over both sides: a key's values stream by as msgpack [side, value], first those of
 * the left side, 0, then those of the right one, 1. Differs from Spark: nothing is collected; a
 * GROUP function sees the two lists one after the other. */
struct glint_rdd *glint_cogroup(struct glint_rdd *left, struct glint_rdd *right);
/* The records of `rdd` whose key `other` has not, whatever its values. */
struct glint_rdd *glint_subtract_by_key(struct glint_rdd *rdd, struct glint_rdd *other);
/* Of the records that are in both, each once. Shapes must be equal; pairs are at most 16 MiB. */
struct glint_rdd *glint_intersection(struct glint_rdd *a, struct glint_rdd *b);
/* The records that are not in `other`, as often as they were. As intersection. */
struct glint_rdd *glint_subtract(struct glint_rdd *rdd, struct glint_rdd *other);
/* Each element with its index, (element, i64), counted over the partitions in their order. The
 * input's key must be NONE. Where there are several partitions, the input is read once more, to
 * count. */
struct glint_rdd *glint_zip_with_index(struct glint_rdd *rdd);
/* Sorted by the key's order within and over partitions; the bounds come from a sample, for which
 * the input is read once more unless there is one partition only. Stable. Differs from Spark: where
 * there are few different keys, some partitions are empty. */
struct glint_rdd *glint_sort_by_key(struct glint_rdd *rdd, bool ascending);
/* [MAP] that emits the sort key; the input's key must be NONE. */
struct glint_rdd *glint_sort_by(struct glint_rdd *rdd, const char *function,
                                struct glint_args *args, bool ascending);
/* By hash of the key, into `partitions` (0: the default). In a partition records stand by key. */
struct glint_rdd *glint_partition_by(struct glint_rdd *rdd, uint32_t partitions);
/* The same, and in a partition records are sorted by key; those of one key stay in their order. */
struct glint_rdd *glint_repartition_and_sort_within_partitions(struct glint_rdd *rdd,
                                                               uint32_t partitions, bool ascending);
/* Spread by (partition, index), never by arrival: the same on every cluster and after every retry.
 * In a partition the records of a pair RDD stand by key. */
struct glint_rdd *glint_repartition(struct glint_rdd *rdd, uint32_t partitions);
/* Fewer partitions without a shuffle: neighbours are joined. */
struct glint_rdd *glint_coalesce(struct glint_rdd *rdd, uint32_t partitions);

/* Sets the partitions of a wide transformation (default: by input bytes, or --partitions). */
struct glint_rdd *glint_with_partitions(struct glint_rdd *rdd, uint32_t partitions);
/* The first line of each file is no row: for a source of text lines, right after it is made. */
struct glint_rdd *glint_with_header(struct glint_rdd *lines);
/* Asks for splits of at least this many bytes (text sources only; --split-size wins). */
struct glint_rdd *glint_with_split_bytes(struct glint_rdd *rdd, uint64_t bytes);
uint32_t glint_partitions(struct glint_rdd *rdd);
/* Bytes of the input files that this RDD descends from, as they are on disk. */
uint64_t glint_input_bytes(const struct glint_rdd *rdd);
struct glint *glint_context(const struct glint_rdd *rdd);

#include "engine/glint_actions.h" /* run the plan */
#include "engine/glint_context.h" /* a context of one's own */
#include "engine/glint_job.h"     /* the table of a job, its options */

#endif

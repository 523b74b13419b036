/* Functions of a job, and the calls that they may make. Included by glint.h. Functions are called
 * on slots, with one state per task. */
#ifndef GLINT_FUNCTION_H
#define GLINT_FUNCTION_H

#include "engine/glint.h"

struct glint_batch;   /* <glint/batch.h> */
struct glint_task;    /* the running task: errors, counters, scratch memory, arguments */
struct glint_emitter; /* where a function's output goes */

/* Emits one record. Slices inside the input batch are passed on by reference; all others are copied
 * before the call returns. */
void glint_emit(struct glint_emitter *out, const struct glint_record *record);
/* The same, with the types of the record's cells. Fails the job if the function's `out` has others;
 * bytes, text and msgpack are one type here. (A record does not say what is in it, so that
 * glint_emit cannot check it.) */
void glint_emit_typed(struct glint_emitter *out, struct glint_schema types,
                      const struct glint_record *record);
/* Emits (key, value). */
static inline void glint_emit_i64(struct glint_emitter *out, struct glint_slice key, int64_t value)
{
    const struct glint_schema types = {GLINT_BYTES, GLINT_I64};
    const struct glint_record record = {.key = {.bytes = key}, .value = {.i64 = value}};
    glint_emit_typed(out, types, &record);
}
/* Emits (key, value), and an element without a key. */
static inline void glint_emit_f64(struct glint_emitter *out, struct glint_slice key, double value)
{
    const struct glint_schema types = {GLINT_BYTES, GLINT_F64};
    const struct glint_record record = {.key = {.bytes = key}, .value = {.f64 = value}};
    glint_emit_typed(out, types, &record);
}
static inline void glint_emit_text(struct glint_emitter *out, struct glint_slice text)
{
    const struct glint_schema types = {GLINT_NONE, GLINT_TEXT};
    const struct glint_record record = {.key = {.i64 = 0}, .value = {.bytes = text}};
    glint_emit_typed(out, types, &record);
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
/* Makes the accumulator `size` zeros, and returns them: for `create` of a GLINT_STRUCT. Returns
 * NULL with the task's error set. */
void *glint_acc_zero(struct glint_task *task, struct glint_acc *acc, uint64_t size);
/* Returns the accumulator's bytes, which may be modified in place. */
static inline uint8_t *glint_acc_bytes(struct glint_acc *acc)
{
    return (uint8_t *)acc->value.bytes.data;
}

/* What a function does, and which of its callbacks are used. */
enum glint_function_kind {
    GLINT_KIND_MAP,       /* `each` emits exactly one record */
    GLINT_KIND_FLAT_MAP,  /* `each` emits any number; also mapPartitions (uses `end`) and foreach */
    GLINT_KIND_FILTER,    /* `keep` returns 1 or 0 */
    GLINT_KIND_GROUP,     /* groups: begin_group, `each` per value, end_group; the last two emit */
    GLINT_KIND_REDUCE,    /* merge(acc, value), associative; acc starts as the first value */
    GLINT_KIND_AGGREGATE, /* create(acc, value), merge(acc, value), combine(acc, other acc) */
    GLINT_KIND_PARTITION, /* `partition` chooses the partition of a key: glint_with_partitioner */
};

/* One function of a job. Within a task, all calls come from one thread, in order, with the same
 * `state`: state_size bytes, zeros or what glint_bind has bound. Callbacks that return int return
 * 0, or the negative code that glint_fail returned; any other number fails the job with an error
 * that names it. Callbacks that the kind does not use are NULL. */
struct glint_function {
    uint64_t struct_size; /* of the header that the program was compiled with; 0: this one's */
    const char *name;     /* "module.name", unique */
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
    /* PARTITION: returns the partition of a key, 0 <= index < partitions, or what glint_fail
     * returned. Equal keys must get equal indexes, in every task and attempt. */
    int64_t (*partition)(struct glint_task *task, void *state, const union glint_value *key,
                         uint32_t partitions);
    /* REDUCE (only `merge`) and AGGREGATE. */
    int (*create)(struct glint_task *task, void *state, struct glint_acc *acc,
                  const union glint_value *value);
    int (*merge)(struct glint_task *task, void *state, struct glint_acc *acc,
                 const union glint_value *value);
    int (*combine)(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *other);
    /* REDUCE of i64, batch version: merges value[i] into acc[slot[i]], for i in order. */
    int (*merge_i64)(struct glint_task *task, int64_t *acc, const uint32_t *slot,
                     const int64_t *value, uint32_t rows);
    int (*merge_f64)(struct glint_task *task, double *acc, const uint32_t *slot,
                     const double *value, uint32_t rows); /* of f64; beside `merge` */
    /* REDUCE of i64, together with merge_i64: merges `value` into *acc `times` times. Lets the
     * engine count equal values without one call for each. */
    int (*repeat_i64)(struct glint_task *task, int64_t *acc, int64_t value, uint64_t times);
    /* REDUCE of bytes whose values may be cut into pieces: an accumulator that reaches this size is
     * emitted as its own record. A key's value is then a sequence of pieces, in order, and the
     * result is a grouped RDD. 0: values are never cut. */
    uint64_t chunk_bytes_max;
    /* REDUCE and AGGREGATE: merging is not exactly associative, as sums of f64. The values of a key
     * are then merged one after the other, in order, so that the result does not depend on memory
     * or on the cluster. */
    bool sequential;
    /* Called exactly once if `open` was called, also after an error. */
    void (*close)(struct glint_task *task, void *state);
};

/* clang-format off */
/* Initializers of a function: its name, its schemas or types, and its callbacks; more members of
 * that kind may follow, as `.state_size = sizeof(struct state), .open = open`. In GLINT_GROUP all
 * callbacks are such members.
 *
 *     static const struct glint_function split =
 *         GLINT_FLAT_MAP("words.split", GLINT_ELEMENTS(GLINT_TEXT),
 *                        GLINT_PAIRS(GLINT_TEXT, GLINT_I64), split_line); */
#define GLINT_PAIRS(key_, value_)  {key_, value_}
#define GLINT_ELEMENTS(type_)      {GLINT_NONE, type_}
#define GLINT_MAP(name_, in_, out_, ...)                                                           \
    {.struct_size = GLINT_FUNCTION_SIZE(map, .each = __VA_ARGS__), .name = name_,                  \
     .kind = GLINT_KIND_MAP, .in = in_, .out = out_, .each = __VA_ARGS__}
#define GLINT_FLAT_MAP(name_, in_, out_, ...)                                                      \
    {.struct_size = GLINT_FUNCTION_SIZE(flat_map, .each = __VA_ARGS__), .name = name_,             \
     .kind = GLINT_KIND_FLAT_MAP, .in = in_, .out = out_, .each = __VA_ARGS__}
#define GLINT_FILTER(name_, in_, ...)                                                              \
    {.struct_size = GLINT_FUNCTION_SIZE(filter, .keep = __VA_ARGS__), .name = name_,               \
     .kind = GLINT_KIND_FILTER, .in = in_, .out = {GLINT_SAME, GLINT_SAME}, .keep = __VA_ARGS__}
#define GLINT_GROUP(name_, in_, out_, ...)                                                         \
    {.struct_size = GLINT_FUNCTION_SIZE(group, __VA_ARGS__), .name = name_,                        \
     .kind = GLINT_KIND_GROUP, .in = in_, .out = out_, __VA_ARGS__}
#define GLINT_REDUCE(name_, type_, ...)                                                            \
    {.struct_size = GLINT_FUNCTION_SIZE(reduce, .merge = __VA_ARGS__), .name = name_,              \
     .kind = GLINT_KIND_REDUCE, .in = {GLINT_ANY, type_}, .out = {GLINT_SAME, GLINT_SAME},         \
     .merge = __VA_ARGS__}
/* create, merge, combine */
#define GLINT_AGGREGATE(name_, type_, acc_type_, create_, merge_, ...)                             \
    {.struct_size = GLINT_FUNCTION_SIZE(aggregate, .combine = __VA_ARGS__), .name = name_,         \
     .kind = GLINT_KIND_AGGREGATE, .in = {GLINT_ANY, type_}, .out = {GLINT_SAME, acc_type_},       \
     .create = create_, .merge = merge_, .combine = __VA_ARGS__}
#define GLINT_PARTITION(name_, key_type_, ...)                                                     \
    {.struct_size = GLINT_FUNCTION_SIZE(partition, .partition = __VA_ARGS__), .name = name_,       \
     .kind = GLINT_KIND_PARTITION, .in = {key_type_, GLINT_ANY}, .partition = __VA_ARGS__}

/* clang-format on */

/* The size of struct glint_function, if the members are those of the kind: others do not compile.
 */
#define GLINT_FUNCTION_SIZE(kind_, ...)                                                            \
    (sizeof(struct glint_function) + 0 * sizeof((struct glint_##kind_##_members){__VA_ARGS__}))
#define GLINT_MEMBER(member) __typeof__(((struct glint_function *)0)->member) member
struct glint_map_members {
    GLINT_MEMBER(each);
    GLINT_MEMBER(batch);
    GLINT_MEMBER(state_size);
    GLINT_MEMBER(open);
    GLINT_MEMBER(close);
};
struct glint_flat_map_members {
    GLINT_MEMBER(each);
    GLINT_MEMBER(batch);
    GLINT_MEMBER(end);
    GLINT_MEMBER(state_size);
    GLINT_MEMBER(open);
    GLINT_MEMBER(close);
};
struct glint_filter_members {
    GLINT_MEMBER(keep);
    GLINT_MEMBER(keep_batch);
    GLINT_MEMBER(state_size);
    GLINT_MEMBER(open);
    GLINT_MEMBER(close);
};
struct glint_group_members {
    GLINT_MEMBER(begin_group);
    GLINT_MEMBER(each);
    GLINT_MEMBER(end_group);
    GLINT_MEMBER(state_size);
    GLINT_MEMBER(open);
    GLINT_MEMBER(close);
};
struct glint_reduce_members {
    GLINT_MEMBER(merge);
    GLINT_MEMBER(merge_i64);
    GLINT_MEMBER(merge_f64);
    GLINT_MEMBER(repeat_i64);
    GLINT_MEMBER(chunk_bytes_max);
    GLINT_MEMBER(sequential);
    GLINT_MEMBER(state_size);
    GLINT_MEMBER(open);
    GLINT_MEMBER(close);
};
struct glint_aggregate_members {
    GLINT_MEMBER(combine);
    GLINT_MEMBER(sequential);
    GLINT_MEMBER(state_size);
    GLINT_MEMBER(open);
    GLINT_MEMBER(close);
};
struct glint_partition_members {
    GLINT_MEMBER(partition);
    GLINT_MEMBER(state_size);
    GLINT_MEMBER(open);
    GLINT_MEMBER(close);
};

/* Built-in functions of kind REDUCE. A sum of i64, also of some of the values, that is no i64 fails
 * the job (VALUE_LIMIT). */
extern const struct glint_function GLINT_SUM_I64, GLINT_SUM_F64;
extern const struct glint_function GLINT_OR_I64; /* bitwise or: merges sets of flags */
/* The least and the greatest value, in the order of sortByKey. */
extern const struct glint_function GLINT_MIN_I64, GLINT_MIN_F64, GLINT_MIN_TEXT;
extern const struct glint_function GLINT_MAX_I64, GLINT_MAX_F64, GLINT_MAX_TEXT;
/* All values of a key in order, one behind the other; the first one, of any type; the last one. */
extern const struct glint_function GLINT_CONCAT_TEXT, GLINT_FIRST;
extern const struct glint_function GLINT_LAST_I64, GLINT_LAST_F64, GLINT_LAST_TEXT;
/* Sums of vectors: a value is the bytes of doubles, as many in all values of a key. */
extern const struct glint_function GLINT_SUM_F64S;
extern const struct glint_function GLINT_COUNT; /* AGGREGATE: how many values, of any type */
/* Built-in functions for text. FLAT_MAP: the words of an element, separated by white space of
 * ASCII; and the number that a value is in decimal, for flatMapValues: any other value is a bad
 * row. */
extern const struct glint_function GLINT_SPLIT_WORDS, GLINT_PARSE_I64, GLINT_PARSE_F64;
/* MAP: an element to (element, 1); and a line, split at the first TAB, to (key, value), whose value
 * is empty without a TAB. */
extern const struct glint_function GLINT_PAIR_WITH_ONE, GLINT_KEY_VALUE;
/* [PARTITION] The first 4 bytes of a key, big-endian, are its partition. */
extern const struct glint_function GLINT_PARTITION_IN_KEY;

/* ---- Calls for functions, on the task's own thread only */

/* Sets the task's error, unless it already has one, and returns `code`. `cause` and `hint` are
 * printf formats; `hint` may be NULL. */
int glint_fail(struct glint_task *task, enum glint_code code, const char *hint, const char *cause,
               ...) __attribute__((format(printf, 4, 5)));
/* Reports a bad row. With --bad-rows fail: sets an error with file:line, the row and the reason.
 * With --bad-rows skip: counts the row under its reason and returns 0, unless --max-bad-rows is
 * exceeded. `row` should point into the current batch. `reason` must be a string literal. */
int glint_bad_row(struct glint_task *task, struct glint_slice row, const char *reason);
/* The same for the value in a column, which the error shows first: "column 50 (c50): "1,234"; the
 * row: ...". A value whose data is NULL is missing: the hint is --delimiter. In line 1 of a table
 * it is --header, unless the value begins like a number. `hint` is for where nothing is known of
 * the value; NULL: --bad-rows skip. */
int glint_bad_value(struct glint_task *task, struct glint_slice row, const char *hint,
                    const char *reason, const char *column, struct glint_slice value);
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
/* Returns the number of a named accumulator for glint_accumulate, or a negative code with the
 * task's error set. Call it once, in `open`. `function` merges its values: of kind REDUCE
 * (GLINT_SUM_F64, GLINT_MAX_I64), or AGGREGATE with `create`, `merge` and `combine` for a type of
 * the job's own. It has no `open`, and is in the job's list of functions. When the action ends, the
 * driver merges the values of the first successful attempt of each task, in order of the tasks. */
int glint_accumulator(struct glint_task *task, const char *name,
                      const struct glint_function *function);
/* Adds a value, of the function's input type. Returns 0, or a code with the task's error set. */
int glint_accumulate(struct glint_task *task, int accumulator, const union glint_value *value);
/* Allocates memory that is freed with the task: 64-byte aligned, with 64 readable bytes past its
 * end. Returns NULL with the task's error set when out of memory. */
void *glint_scratch(struct glint_task *task, uint64_t size);
/* A growing buffer; zeros are an empty one. Set `size` to 0 to use it again. */
struct glint_buffer {
    uint8_t *data;
    uint64_t size, capacity;
};
/* Appends to the buffer; its memory is freed with the task. Returns 0, or a code with the task's
 * error set. */
int glint_append(struct glint_task *task, struct glint_buffer *buffer, const void *data,
                 uint64_t size);
/* Returns the index of the current partition, for mapPartitionsWithIndex. It is the index in the
 * RDD that the function makes, even if a union or coalesce follows in the same stage. */
uint32_t glint_partition(const struct glint_task *task);
/* Returns the partition of the following shuffle that receives a record with this key; 0 if the
 * stage does not end in a shuffle, or its keys have another type. Large values emitted in the order
 * of (output partition, key) are written to disk once; in another order they are merged again. */
uint32_t glint_output_partition(const struct glint_task *task, enum glint_type type,
                                const union glint_value *key);

/* Two cells: the values of a join, where the type of a side without a record, or without values, is
 * NONE; or what cogroup gives, whose first cell is the side (i64 0 or 1). */
struct glint_pair {
    struct glint_cell left, right;
};
/* Decodes a msgpack array of two, as join and cogroup make them: nil is NONE, numbers are I64 or
 * F64, str is TEXT, bin is BYTES, all else MSGPACK. Slices point into `value`. The types are NONE
 * if it is anything else. */
struct glint_pair glint_pair(const union glint_value *value);
/* The struct (GLINT_STRUCT) in a cell of a pair, 8-byte aligned: in place if it is, else in `copy`,
 * which has `size` bytes. Returns NULL if the cell is no struct of this size, as that of a side
 * without a record:
 *
 *     struct point copy;
 *     const struct point *p = glint_cell_struct(&pair.left, &copy, sizeof copy); */
static inline const void *glint_cell_struct(const struct glint_cell *cell, void *copy,
                                            uint64_t size)
{
    const struct glint_slice bytes = cell->value.bytes;
    if (cell->type != GLINT_BYTES || bytes.size != size) return NULL;
    if ((uintptr_t)bytes.data % 8 == 0) return bytes.data;
    memcpy(copy, bytes.data, size);
    return copy;
}
/* The same for an array of at most `capacity` cells, as glint_pack makes it. Returns how many it
 * has; -1 if it is anything else. */
int64_t glint_unpack_cells(struct glint_slice array, struct glint_cell *out, uint32_t capacity);
/* Appends a msgpack array of cells to a buffer. MSGPACK cells must be one value each. Returns 0, or
 * a code with the task's error set. */
int glint_pack(struct glint_task *task, struct glint_buffer *buffer, const struct glint_cell *cells,
               uint32_t count);
/* Appends a cell so that the buffers' bytes are ordered as the cells are: a sort key of several
 * columns, each ascending or descending. Returns 0, or a code with the task's error set. */
int glint_append_order(struct glint_task *task, struct glint_buffer *buffer,
                       const struct glint_cell *cell, bool descending);
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

/* ---- Slices */

/* As memchr, which most fields are too short for: they end in the first 16 or 32 bytes. */
static inline const uint8_t *glint_find_byte(const uint8_t *at, uint8_t byte, uint64_t size)
{
#ifdef __SSE2__ /* without its header, which every file would parse */
    typedef char vector __attribute__((vector_size(16)));
    for (int i = 0; i < 2 && size >= sizeof(vector); i++) {
        vector bytes;
        memcpy(&bytes, at, sizeof bytes);
        const vector equal = (vector)(bytes == (char)byte);
        const unsigned found = (unsigned)__builtin_ia32_pmovmskb128(equal);
        if (found != 0) return at + __builtin_ctz(found);
        at += sizeof bytes;
        size -= sizeof bytes;
    }
#endif
    return (const uint8_t *)memchr(at, byte, size);
}
/* Cuts *rest at its first `separator`: *out is what is before it, *rest what follows. Returns
 * false, without a field, after the last one. A slice whose data is NULL has no fields. */
static inline bool glint_next_field(struct glint_slice *rest, char separator,
                                    struct glint_slice *out)
{
    if (rest->data == NULL) return false;
    const uint8_t *end = glint_find_byte(rest->data, (uint8_t)separator, rest->size);
    *out = *rest;
    rest->data = NULL;
    rest->size = 0;
    if (end == NULL) return true;
    rest->data = end + 1;
    rest->size = out->size - (uint64_t)(rest->data - out->data);
    out->size = (uint64_t)(end - out->data);
    return true;
}
/* In rows of CSV, of lines of JSON and of files of columns a field is null if it is only the byte
 * GLINT_ROW_NULL. Of the text of another field this byte, the one that separates fields, and the
 * one before which a line of JSON is, 0x1d to 0x1f, are an escape: GLINT_ROW_NULL and the byte
 * plus 0x20. So the fields of rows have the order of their texts, and equal rows equal bytes. */
#define GLINT_ROW_NULL 0x1d
static inline bool glint_field_has_escape(struct glint_slice field)
{
    return field.size > 1 && glint_find_byte(field.data, GLINT_ROW_NULL, field.size) != NULL;
}
/* Writes the text of a field that is not null to `out`, which has field.size bytes and may be the
 * field. Returns its size. */
static inline uint64_t glint_unescape_field(struct glint_slice field, uint8_t *out)
{
    uint64_t size = 0;
    for (uint64_t i = 0; i < field.size; i++) {
        const bool escape = field.data[i] == GLINT_ROW_NULL && i + 1 < field.size;
        out[size++] = escape ? (uint8_t)(field.data[++i] - 0x20) : field.data[i];
    }
    return size;
}
/* As glint_next_field, for the names in a header. Where the separator is a comma or a semicolon, a
 * name may be quoted, and then contains separators; its quotes are not part of it. */
static inline bool glint_next_name(struct glint_slice *rest, char separator,
                                   struct glint_slice *out)
{
    const bool quoted = rest->data != NULL && rest->size >= 2 && rest->data[0] == '"' &&
                        (separator == ',' || separator == ';');
    const uint8_t *end =
        quoted ? (const uint8_t *)memchr(rest->data + 1, '"', rest->size - 1) : NULL;
    const uint64_t size = end != NULL ? (uint64_t)(end - rest->data) + 1 : 0;
    if (end == NULL || (size < rest->size && rest->data[size] != (uint8_t)separator))
        return glint_next_field(rest, separator, out);
    out->data = rest->data + 1;
    out->size = size - 2;
    rest->data = size < rest->size ? rest->data + size + 1 : NULL;
    rest->size = size < rest->size ? rest->size - size - 1 : 0;
    return true;
}
/* Whether the byte is one of those before the zero byte of `bytes`. */
static inline bool glint_is_one_of(uint8_t byte, const char *bytes)
{
    for (; *bytes != '\0'; bytes++)
        if ((uint8_t)*bytes == byte) return true;
    return false;
}
/* Cuts the next word off *rest: *out is what is before the next of the characters in `separators`,
 * of which any number separates words. Returns false after the last word. */
static inline bool glint_next_word(struct glint_slice *rest, const char *separators,
                                   struct glint_slice *out)
{
    while (rest->size > 0 && glint_is_one_of(*rest->data, separators)) {
        rest->data++;
        rest->size--;
    }
    *out = *rest;
    out->size = 0;
    while (rest->size > 0 && !glint_is_one_of(*rest->data, separators)) {
        rest->data++;
        rest->size--;
        out->size++;
    }
    return out->size > 0;
}
/* Returns the slice without white space of ASCII at its start and end. */
static inline struct glint_slice glint_trim(struct glint_slice s)
{
    while (s.size > 0 && (s.data[0] == ' ' || (s.data[0] >= '\t' && s.data[0] <= '\r'))) {
        s.data++;
        s.size--;
    }
    while (s.size > 0 && (s.data[s.size - 1] == ' ' ||
                          (s.data[s.size - 1] >= '\t' && s.data[s.size - 1] <= '\r')))
        s.size--;
    return s;
}

#endif

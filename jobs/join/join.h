/* join: rows of two tables that have equal keys. Shared by its files.
 *
 *     join.c            the options, the choice of a method, the plans of shuffle and bloom
 *     join_broadcast.c  the plan and the functions of broadcast
 *     join_rows.c       rows of a side: parsed, filtered, and as lines of the output
 *     join_keys.c       their keys as bytes: of one or several columns, text or values, null
 *     join_key_kinds.c  what key columns are compared as
 *     join_table.c      the build side as a table that is broadcast
 *     join_output.c     the names and types of the output's columns
 *     join_steps.c      the job join-steps: the same with a filter, as a chain of steps
 *
 * The build side is the one that is broadcast, or whose keys are, as a filter; the other one is the
 * probe side. A row without an equal key on the other side is unmatched. */
#ifndef GLINT_JOBS_JOIN_JOIN_H
#define GLINT_JOBS_JOIN_JOIN_H

#include "engine/batch.h"
#include "jobs/bloom/bloom.h"
#include "jobs/rows/columns.h"
#include "jobs/rows/fields.h"
#include "jobs/rows/row_output.h"

#include <assert.h>

enum join_type { JOIN_INNER, JOIN_LEFT, JOIN_RIGHT, JOIN_FULL, JOIN_SEMI, JOIN_ANTI, JOIN_TYPES };
enum join_method { JOIN_SHUFFLE, JOIN_BROADCAST, JOIN_BLOOM, JOIN_AUTO, JOIN_METHODS };
enum join_side { JOIN_SIDE_LEFT, JOIN_SIDE_RIGHT, JOIN_SIDES };

#define JOIN_ROWS_PROBED   "rows probed"
#define JOIN_ROWS_FILTERED "rows filtered out"
#define JOIN_SHUFFLE_BYTES "map output bytes"

/* The output has pairs of rows; otherwise rows of the left side. */
static inline bool join_has_pairs(enum join_type type)
{
    return type != JOIN_SEMI && type != JOIN_ANTI;
}

/* Unmatched rows of the side are in the output. */
static inline bool join_keeps_unmatched(enum join_type type, enum join_side side)
{
    if (type == JOIN_FULL) return true;
    return side == JOIN_SIDE_LEFT ? type == JOIN_LEFT || type == JOIN_ANTI : type == JOIN_RIGHT;
}

/* What the fields of a key column are compared as. */
enum join_key_kind {
    JOIN_KEY_TEXT,
    JOIN_KEY_INT,
    JOIN_KEY_NUMBER, /* exact */
    JOIN_KEY_F64,    /* doubles; texts of floats and half floats are read as such */
    JOIN_KEY_F32,
    JOIN_KEY_F16,
    JOIN_KEY_TIME,
    JOIN_KEY_KINDS
};

/* ---- Driver */

struct join {
    struct glint *g;
    enum join_type type;
    enum join_method method;
    bool chosen; /* by auto: a side that does not fit in memory is no error */
    struct table tables[JOIN_SIDES];
    struct columns keys[JOIN_SIDES];
    uint8_t kinds[JOIN_SIDES][COLUMNS_MAX]; /* enum join_key_kind, of the key columns */
    bool ints;                              /* --left-key int: the keys are integers */
    bool keep_types; /* rows may be typed: the tables of both sides are then */
    enum join_side build;
};

static inline enum join_side join_probe_side(const struct join *j)
{
    return j->build == JOIN_SIDE_LEFT ? JOIN_SIDE_RIGHT : JOIN_SIDE_LEFT;
}

/* Options of both jobs, for each side. */
#define JOIN_SIDE_OPTIONS                                                                          \
    FORMAT_OPTIONS, MISSING_OPTION, OUTPUT_FORMAT_OPTIONS,                                         \
        {"left-where", "EXPR", NULL, "only rows of LEFT for which this is true"},                  \
        {"right-where", "EXPR", NULL, "only rows of RIGHT for which this is true"},                \
        {"header", NULL, NULL, "both sides: the first line of each input file is a header"},       \
        {"left-header", NULL, NULL, "LEFT only"}, {"right-header", NULL, NULL, "RIGHT only"},      \
        {"key-column", "COLS", NULL, "both sides: one or more columns, as in 1,3 or id,day"},      \
        {"left-key-column", "COLS", "1", "LEFT's key: numbers or, with a header, names"},          \
        {"right-key-column", "COLS", "1", "RIGHT's key: as many numbers or names"},                \
        {"left-key", "text|int", "text", "type of LEFT's key columns"},                            \
        {"right-key", "text|int", "text", "type of RIGHT's key columns; must be the same"},        \
        {"left-delimiter", "C", NULL,                                                              \
         "of LEFT, and of the output: one byte, or \\t " FIELDS_DELIMITER_DEFAULT},                \
        {"right-delimiter", "C", NULL, "of RIGHT: one byte, or \\t " FIELDS_DELIMITER_DEFAULT},    \
    {                                                                                              \
        "p", "P", "0.01", "bloom: the filter's false positive probability"                         \
    }
/* Reads them into j->tables, j->keys and j->kinds. Returns 0 or the context's code. */
int join_side_options(struct join *j, const struct glint_job_args *args);
/* Sets j->kinds. Returns 0 or the context's code. */
int join_choose_key_kinds(struct join *j);
/* Saves the output in the form of --output-format, or of the inputs. Returns the context's code. */
int join_save(const struct join *j, struct glint_rdd *lines, const struct glint_job_args *args,
              const char *path);

/* A filter of the build side's keys, with its size and rate. */
struct key_filter {
    struct glint_broadcast *broadcast; /* NULL: no filter */
    uint64_t keys, bytes;
    double rate; /* false positive rate, from its bits */
};

/* Counts the rows of the build side; explain estimates them. Returns 0 or the context's code. */
int join_count_build_rows(const struct join *j, uint64_t *out);
/* The sizes of one filter of `keys` keys with rate `p`. Call sizes_fini afterwards in any case. */
struct sizes;
int join_filter_sizes(const struct join *j, double p, uint64_t keys, struct sizes *out);
/* (0, filter) of the build side's keys. */
struct glint_rdd *join_filter_rdd(const struct join *j, const struct sizes *sizes);
/* The side's rows with their keys, (key, line), or only the keys; rows of the probe side pass
 * through the filter if there is one. */
struct glint_rdd *join_side_rdd(const struct join *j, enum join_side side, bool lines,
                                const struct key_filter *filter);
/* The lines of the output, with one shuffle of both sides. */
struct glint_rdd *join_by_shuffle(const struct join *j, const struct key_filter *filter);

/* The side's lines; each call reads them again. */
struct glint_rdd *join_side_lines(const struct join *j, enum join_side side);
/* Arguments of every function that reads the side's lines. */
struct glint_args *join_function_args(const struct join *j, enum join_side side);
/* The lines of the output, by broadcast. Returns NULL if an error is set, or, if auto chose
 * broadcast, the build side does not fit in memory. */
struct glint_rdd *join_by_broadcast(const struct join *j);

/* ---- Task: the rows of a side */

struct join_rows {
    struct fields fields;         /* one key column, as text */
    struct columns_reader reader; /* several, or of typed rows */
    uint32_t key_columns;
    bool by_columns; /* `reader` is used */
    uint8_t kinds[COLUMNS_MAX]; /* enum join_key_kind */
    bool values;             /* not all key columns are text */
    bool keep_nulls;         /* rows whose key is null are rows */
    bool has_null_keys;      /* of either side */
    struct glint_slice null; /* what a null is in rows (nulls.h) */
    enum join_type type;
    enum join_side side;
    const struct glint_batch *lines; /* the last parsed batch */
    bool escapes;                    /* its fields may have some */
    /* Its rows: lines, and keys as bytes, in the batch or built (join_keys.c). */
    uint32_t rows;
    uint32_t line_start[FIELDS_ROWS_MAX], line_end[FIELDS_ROWS_MAX];
    const uint8_t *key_base;
    uint64_t key_size;
    uint32_t *key_start, *key_end;
    uint8_t *built;
    uint64_t built_size, built_capacity;
    uint32_t built_start[FIELDS_ROWS_MAX], built_end[FIELDS_ROWS_MAX];
    uint8_t delimiter;                      /* of the output: the left side's */
    bool json;                              /* rows are lines of JSON, and so is the output */
    bool typed;                             /* the rows of both sides */
    uint64_t fields_wanted;                 /* that a row must have; 0: any number */
    struct glint_slice missing[JOIN_SIDES]; /* in place of a row of this side: nulls */
    uint8_t *out;                           /* buffer of join_rows_emit */
    uint64_t out_capacity;
};

/* Opens by the arguments of join_function_args. Returns 0 or a code. */
int join_rows_open(struct glint_task *task, struct join_rows *r);
/* Finds the line and the key of each row. Returns 0 or a code. */
int join_rows_parse(struct join_rows *r, struct glint_task *task, const struct glint_batch *lines);
/* Keeps the rows for which keep[row] is `value`. */
void join_rows_select(struct join_rows *r, const uint8_t *keep, uint8_t value);
static inline struct glint_slice join_rows_key(const struct join_rows *r, uint32_t row)
{
    return (struct glint_slice){r->key_base + r->key_start[row],
                                r->key_end[row] - r->key_start[row]};
}
/* Whether a key of one text column is not as it is (join_keys.c). */
static inline bool join_key_is_special(const struct join_rows *r, struct glint_slice key)
{
    return r->has_null_keys && key.size > 0 && key.data[0] == 0;
}
static inline struct glint_slice join_rows_line(const struct join_rows *r, uint32_t row)
{
    return (struct glint_slice){r->lines->value.base + r->line_start[row],
                                r->line_end[row] - r->line_start[row]};
}
/* Keeps rows whose keys, which these values are, have to be made before they are looked up. */
void join_keep_special_keys(const struct join_rows *r, const struct glint_column *values,
                            uint32_t rows, uint8_t *keep);
/* Makes the keys of the rows whose lines, and key if there is one column, were found. Returns 0 or
 * a code. */
int join_keys_make(struct join_rows *r, struct glint_task *task);
/* The number of the only key column. */
static inline uint32_t join_key_column(const struct join_rows *r)
{
    assert(r->key_columns == 1);
    return r->by_columns ? r->reader.columns.number[0] : r->fields.key_column;
}
/* The keys as a column of a batch. */
struct glint_column join_rows_keys(const struct join_rows *r);
/* The lines as a column of a batch. */
struct glint_column join_rows_lines(const struct join_rows *r);
/* Emits the row of this side joined with one of the other side as a line; data NULL: with a null
 * for each column. Of lines of JSON that is an array of the two objects, or an object and null.
 * Returns 0 or a code. */
int join_rows_emit(struct join_rows *r, struct glint_task *task, struct glint_slice own,
                   struct glint_slice other, struct glint_emitter *out);
/* Emits the rows as unmatched ones: lines of the output. */
int join_rows_emit_unmatched(struct join_rows *r, struct glint_task *task,
                             struct glint_emitter *out);

/* Functions, by file. */
extern const struct glint_function join_side_rows, join_side_keys, join_ids, join_rejected,
    join_pairs, join_present; /* join_rows.c, join_pairs.c */
extern const struct glint_function join_probe, join_matched, join_build_rows; /* join_broadcast.c */

#endif

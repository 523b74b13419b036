/* The public API of glint, a dataflow engine: build a chain of RDDs from text files, transform it
 * with functions of your own, and run it in this process or on the executors of a cluster. Names
 * and semantics are Spark's; the comment at a call lists the differences. This is a whole program,
 * which counts words (examples/programs/wordcount.c):
 *
 *     #include <glint/glint.h>
 *
 *     static int split_line(struct glint_task *task, void *state, const struct glint_record *line,
 *                           struct glint_emitter *out)
 *     {
 *         struct glint_slice rest = line->value.bytes, word;
 *         while (glint_next_field(&rest, ' ', &word))
 *             if (word.size > 0) glint_emit_i64(out, word, 1);
 *         return 0;
 *     }
 *     static const struct glint_function split =
 *         GLINT_FLAT_MAP("wordcount.split", GLINT_ELEMENTS(GLINT_TEXT),
 *                        GLINT_PAIRS(GLINT_TEXT, GLINT_I64), split_line);
 *
 *     static int run(struct glint *g, const struct glint_job_args *args)
 *     {
 *         struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
 *         struct glint_rdd *ones = glint_flat_map(lines, &split, NULL);
 *         struct glint_rdd *counts = glint_reduce_by_key(ones, &GLINT_SUM_I64, NULL);
 *         return glint_save_as_text_file(counts, args->positional[1]);
 *     }
 *     GLINT_JOB(wordcount, .summary = "count words", .positional = {"INPUT", "OUTPUT"},
 *               .functions = {&split}, .run = run);
 *
 *     int main(int argc, char **argv) { return glint_main(argc, argv, &wordcount); }
 *
 *     cc -O2 wordcount.c $(pkg-config --cflags --libs glint) -o wordcount
 *     ./wordcount wordcount INPUT OUTPUT                           # in this process
 *     ./wordcount wordcount --cluster cluster.toml INPUT OUTPUT    # the same on a cluster
 *
 * A job chains RDDs and runs actions; no record is read before an action runs. A record is a key
 * and a value. Each column of an RDD has one type, known when the plan is built. An RDD of single
 * elements (lines, numbers) has the key type GLINT_NONE; its elements are the values.
 *
 * The context keeps the first error, and later calls return at once without effect, so a job only
 * checks what its last action returned. Calls that return an RDD return NULL after an error, and
 * transformations and actions accept that NULL and return the error again. Calls that return int
 * return 0 or a negative code (enum glint_code).
 *
 * In this order: values; programs and contexts; sources; transformations; actions; functions;
 * errors. <glint/batch.h> is for functions that take a whole batch of records at a time. */
#ifndef GLINT_H
#define GLINT_H

#include "engine/codes.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct glint;           /* a context: owns everything that a job builds */
struct glint_rdd;       /* a dataset that a plan describes */
struct glint_function;  /* what a transformation does to records */
struct glint_args;      /* values for a function */
struct glint_rows;      /* what an action returns */
struct glint_broadcast; /* a value that each executor gets once */
struct glint_error;
struct glint_job_args;

/* ------------------------------------------------------------------------------------------------
 * Values and records */

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

/* In the schema of a function, a value that is a struct of C: bytes of sizeof(type), less than
 * 1 MiB, which are 8-byte aligned when a callback gets them, also as an accumulator:
 *
 *     const struct point *p = (const void *)record->value.bytes.data;
 *
 * A value of another size is an error. The struct must not have pointers; padding is best zeroed,
 * since its bytes are data, too. Everywhere else such values are GLINT_BYTES. In a pair, of a join
 * or cogroup, they are at any address: glint_cell_struct aligns them. */
#define GLINT_STRUCT(type)                                                                         \
    ((enum glint_type)(GLINT_BYTES | (sizeof(type) < 1u << 20 ? sizeof(type) : 1u << 20) << 8))

/* A byte string, borrowed. */
struct glint_slice {
    const uint8_t *data;
    uint64_t size;
};

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

/* A value with its type. */
struct glint_cell {
    enum glint_type type;
    union glint_value value;
};

/* The types of both columns of an RDD. */
struct glint_schema {
    enum glint_type key, value;
};
static_assert(GLINT_ANY == 0, "a schema of zeros accepts all types");

/* ------------------------------------------------------------------------------------------------
 * Programs and contexts */

#include "engine/glint_job.h" /* jobs, their options, and the main function of a program */

#include "engine/glint_context.h" /* contexts without a job: for programs that embed glint */

/* ------------------------------------------------------------------------------------------------
 * Plans: one thread at a time */

/* Creates arguments for a function: a small map of named values, owned by the context. At most 1
 * MiB; broadcast larger values. Pass NULL where a function takes no arguments. */
struct glint_args *glint_args(struct glint *g);
/* Add a named value; data is copied. `args` NULL (a failed glint_args) is ignored. */
void glint_args_add_i64(struct glint_args *args, const char *name, int64_t value);
void glint_args_add_f64(struct glint_args *args, const char *name, double value);
void glint_args_add_bytes(struct glint_args *args, const char *name, const void *data,
                          uint64_t size);
void glint_args_add_text(struct glint_args *args, const char *name, const char *text);
void glint_args_add_broadcast(struct glint_args *args, const char *name, struct glint_broadcast *b);

/* Binds the first `size` bytes of a function's state: its state begins as a copy of `state`, and
 * zeros. Needs no names and no `open`. Pointers cannot be bound. Returns the arguments, to which
 * named ones may be added.
 *
 *     const struct model model = {.centers = k};
 *     glint_map(points, &nearest, glint_bind(g, &model, sizeof model)); */
struct glint_args *glint_bind(struct glint *g, const void *state, uint64_t size);

/* Creates a broadcast: a value that is sent to each executor at most once. Takes ownership of
 * `data`, which must come from glint_alloc; it is freed with the context, or at once on error. At
 * most 4 GiB. Returns NULL with the context's error set. */
struct glint_broadcast *glint_broadcast(struct glint *g, void *data, uint64_t size);
/* The same with a copy of `data`, which the caller keeps. */
struct glint_broadcast *glint_broadcast_copy(struct glint *g, const void *data, uint64_t size);
/* Allocates memory, 64-byte aligned with 64 readable bytes past its end. The caller frees
 * it with glint_free, or passes it to glint_broadcast. Returns NULL with the context's error set
 * when out of memory. */
void *glint_alloc(struct glint *g, uint64_t size);
/* Frees memory of glint_alloc; NULL is allowed. */
void glint_free(void *data);
/* Allocates memory that is freed with the context, for what its plan refers to. Returns NULL with
 * the context's error set when out of memory. */
void *glint_context_alloc(struct glint *g, uint64_t size);

/* ---- Sources */

/* Reads the lines of text files, without line endings (LF or CRLF), as (none, text). `paths` is
 * either the name of an existing file or a comma-separated list of files, directories, globs and
 * URLs. Names that start with _ or . are skipped inside directories and globs. gzip, zstd, bzip2,
 * xz and lz4 are decompressed. Files are read in the order of the list, directories and globs in
 * the order of names. Differs from Spark: CR is stripped only before LF; a byte order mark at the
 * start of a file is dropped. */
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
/* The same, and a value that is alone in its file, and no array of two, is a pair, too: its key is
 * the name of the file without its ending, an integer if `schema` says i64. The value's type is
 * msgpack, the key's i64 or text. */
struct glint_rdd *glint_msgpack_file_by_name(struct glint *g, const char *paths,
                                             struct glint_schema schema);
/* As by name, for values whose only large part is the last one: what is behind the first 4 KiB or
 * more of a value may be missing, and is then not read. Of plain files, not of objects at URLs. */
struct glint_rdd *glint_msgpack_file_heads(struct glint *g, const char *paths,
                                           struct glint_schema schema);
/* Each file as one pair: (path, content). wholeTextFiles decompresses; binaryFiles gives the
 * bytes as they are. Empty files are pairs, too; small files share a partition. A content has less
 * than 4 GiB and must fit into memory. Paths as in textFile. Differs from Spark: the key is the
 * path as given or listed, not a URI. */
struct glint_rdd *glint_whole_text_files(struct glint *g, const char *paths);
struct glint_rdd *glint_binary_files(struct glint *g, const char *paths);
/* Files of records of `record_bytes` each (1 byte to 1 MiB), as (none, bytes). The size of each
 * file must be a multiple; compressed files are an error. */
struct glint_rdd *glint_binary_records(struct glint *g, const char *paths, uint64_t record_bytes);
/* The integers from `start` up to, not including, `end`, by `step` (not 0), as (none, i64), in
 * `partitions` partitions (0: 1). */
struct glint_rdd *glint_range(struct glint *g, int64_t start, int64_t end, int64_t step,
                              uint32_t partitions);
/* Distributes records of this process evenly over `partitions` partitions (0: 1; no records: none).
 * The records are copied. The schema must not be (none, none). */
struct glint_rdd *glint_parallelize(struct glint *g, struct glint_schema schema,
                                    const struct glint_record *records, uint64_t count,
                                    uint32_t partitions);
/* The same with rows of an action, of their schema: for what a program collects, and continues
 * with. `rows` may be freed after the call. */
struct glint_rdd *glint_parallelize_rows(struct glint *g, const struct glint_rows *rows,
                                         uint32_t partitions);

/* Accepts files of columns (Parquet, Arrow) as this source of lines: their rows are plain rows, as
 * those of CSV (glint_with_csv), and glint_first_line gives the names of the columns. Returns what
 * the source's first file is. Without this call such files are an error, INPUT_FORMAT. */
enum glint_column_format {
    GLINT_NO_COLUMNS,
    GLINT_PARQUET,
    GLINT_ARROW,
    GLINT_TSV,       /* outputs only: as CSV, with a tab between fields */
    GLINT_JSON_LINES /* outputs only: an object per row */
};
enum glint_column_format glint_accept_columns(struct glint_rdd *lines);
/* Of files of columns only these columns are read, from 0; the others of a row are empty. Numbers
 * beyond the last column have no effect. */
void glint_read_columns(struct glint_rdd *lines, const uint32_t *numbers, uint32_t count);
/* Of files of columns: these columns are keys, which are compared as bytes. A zero of a float has
 * no sign in them: -0.0 and 0.0 are one key, as in SQL. Numbers as in glint_read_columns; NULL: all
 * columns. */
void glint_key_columns(struct glint_rdd *lines, const uint32_t *numbers, uint32_t count);
/* Rows of files of columns become typed: for a job that keeps them and saves them as files of
 * columns (struct glint_column_form). Rows of other files stay text. */
void glint_type_rows(struct glint_rdd *lines);
/* The types of all columns of a source whose rows are typed; they live as long as the context. Size
 * 0: rows are text. */
struct glint_slice glint_row_types(const struct glint_rdd *lines);
/* Returns the same as glint_accept_columns for a source of these paths, before it is made;
 * GLINT_NO_COLUMNS, without an error of the context, also if they cannot be read, which textFile
 * reports. */
enum glint_column_format glint_probe_columns(struct glint *g, const char *paths);
#define GLINT_NO_COLUMN UINT32_MAX
/* Columns of such files, by number from 0, in the order of glint_first_line. */
struct glint_column_pair {
    uint32_t key;   /* GLINT_NO_COLUMN: pairs without a key */
    uint32_t value; /* GLINT_NO_COLUMN: an empty text */
    /* GLINT_TEXT, or GLINT_ANY: i64 or f64 if the column has such values in all files, else text */
    enum glint_type key_type;
    enum glint_type value_type;
    const char *null_rows; /* the name of the counter */
};
/* A column: its name, and its type in the format of Arrow's C data interface, such as u (text), l
 * (64 bit integer), g (double), tdD (date), and for a nested type with its parts in brackets, as in
 * +s(a=i,b=+l(item=u)), where the bytes ( ) , = % of a part are %XX; NULL: text. */
struct glint_column_type {
    const char *name, *type;
    bool numbers, times, times_of_day; /* in all files that, perhaps of different types, or nulls */
    bool several_kinds;                /* in some files one of these, in others another or a text */
};
/* Returns the columns of such a source; *out_count is 0 with the context's error set. They live as
 * long as the context. */
const struct glint_column_type *glint_column_types(struct glint_rdd *lines, uint32_t *out_count);
/* A part of such a column: of a struct or list, by the path in it, such as b.c, b[0].c or [0]. */
struct glint_column_part {
    const char *pointer; /* the path as a JSON pointer; NULL: there is no such part */
    const char *type;    /* as in struct glint_column_type */
};
/* Finds a part of the column with this number. The texts live as long as the context. */
struct glint_column_part glint_find_column_part(struct glint_rdd *lines, uint32_t column,
                                                struct glint_slice path);
/* Two columns of such files as pairs, with no text in between. A row in which one of them is null
 * is left out and counted. */
struct glint_rdd *glint_column_pairs(struct glint *g, const char *paths,
                                     const struct glint_column_pair *pair);
/* Columns of such files by number: those of a key, and of numbers. */
struct glint_column_cells {
    const uint32_t *keys, *numbers;
    uint32_t key_count, number_count;
};
/* Such files as pairs: the texts of the keys' columns as rows have them, and the byte
 * GLINT_CELLS_NUMBERS with a cell (engine/base/cell.h) of each number, or GLINT_CELLS_TEXT with the
 * whole row, if one of them is no cell. `lines` is a source of the same paths. Returns NULL,
 * without an error, if they are no files of columns, a file lacks a column, or one of numbers has
 * another type: then read rows. */
enum { GLINT_CELLS_NUMBERS = 0xff, GLINT_CELLS_TEXT = 0xfe };
struct glint_rdd *glint_column_cells(struct glint_rdd *lines, const char *paths,
                                     const struct glint_column_cells *cells);

/* Such files as blocks (glint_columns.h), (none, bytes): the columns with these names, in this
 * order, or all of the files (NULL). Text and bytes are no views and no dictionaries, so that all
 * blocks have one type. A block has at most `rows` rows; 0: about 1 MiB. */
struct glint_rdd *glint_column_batches(struct glint *g, const char *paths, const char *const *names,
                                       uint32_t count, uint32_t rows);

/* Returns the first line that is not empty of all files, whole, as operators get it (a header
 * without nulls); empty if there is none, with an error set, and for a record of CSV that is a bad
 * row. The context, which owns the line, fails if the file cannot be read, the line is beyond
 * --max-line, or a header (glint_with_header) is empty or no record of CSV. `lines` must be a
 * source of text lines. */
struct glint_slice glint_first_line(const struct glint_rdd *lines);
/* How many files a source reads; 0 if `lines` is none. */
uint64_t glint_input_files(const struct glint_rdd *lines);

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
/* The lines that a command prints, (none, text), given the lines of a partition: its elements, or
 * key TAB value; a process per partition (docs/tables.md). `argv` and `env` (NAME=VALUE
 * pairs, added to the environment; may be NULL) end with NULL. No shell; argv[0] is searched in
 * $PATH. */
struct glint_rdd *glint_pipe(struct glint_rdd *rdd, const char *const *argv,
                             const char *const *env);
/* The same with options. */
struct glint_command {
    const char *const *argv, *const *env;
    const int *ok; /* exit statuses that mean success, ends with -1; NULL: only 0 */
    /* Sorts records by key before the process, as many as fit into memory, then the next ones with
     * another process: Hadoop's combiner. For pair RDDs. */
    bool combine;
    /* Records instead of lines, on standard input and output: the size of the key (0 without one)
     * and of the value, 32 bit little-endian, and the bytes of both; after the last one both sizes
     * are 2^32 - 1, without which the output is an error. An i64 or f64 of the input has 8 bytes,
     * little-endian, the value of a join is msgpack; `output` has the types of what it prints, text
     * or bytes. */
    bool record_input, record_output;
    struct glint_schema output;
    /* Not NULL: argv starts, once in an executor, a parent of workers (engine/base/worker_parent.h,
     * extras/python), and a partition goes through a worker that it forks, which gets these words.
     * Ends with NULL; as an executor of a cluster only. */
    const char *const *worker;
    /* Broadcasts (glint_args_add_broadcast) that a command gets as files: a word of argv or worker
     * that begins with {NAME} begins with the path of that one instead, and {python} is the
     * interpreter of the executor (`python` in cluster.toml). NULL: words are not changed. */
    struct glint_args *files;
};
/* The accumulator to which the record with a key of size 2^32 - 2 in a command's output adds its
 * value. */
#define GLINT_COMMAND_NOTES "command notes"
struct glint_rdd *glint_pipe_command(struct glint_rdd *rdd, const struct glint_command *command);
/* One element per record, also for a grouped RDD. */
struct glint_rdd *glint_keys(struct glint_rdd *rdd);
struct glint_rdd *glint_values(struct glint_rdd *rdd);
/* The partitions of `a`, then those of `b`; keeps duplicates. The schemas must be equal. If both
 * are partitioned alike and not grouped, partition p has the records of p of `a`, then of `b`. */
struct glint_rdd *glint_union(struct glint_rdd *a, struct glint_rdd *b);
/* The same of partition p, whatever partitioned them: both have equally many partitions. */
struct glint_rdd *glint_union_partitions(struct glint_rdd *a, struct glint_rdd *b);
/* Keeps each record with probability `fraction` (0 to 1). The choice depends only on (seed,
 * partition, index in the partition): the same on every cluster, another one for other splits. */
struct glint_rdd *glint_sample(struct glint_rdd *rdd, double fraction, uint64_t seed);
/* The same with replacement: each record as often as a Poisson distribution with the mean
 * `fraction` (0 to 1,000) says. */
struct glint_rdd *glint_sample_with_replacement(struct glint_rdd *rdd, double fraction,
                                                uint64_t seed);
/* Exactly `count` > 0 records in order, or all if there are fewer: each set is equally probable.
 * Depends only on `seed` and how many there are, which is counted first: computes `rdd` twice. */
struct glint_rdd *glint_sample_exactly(struct glint_rdd *rdd, uint64_t count, uint64_t seed);
/* Samples each key with its own fraction, with or without replacement. A key without a fraction is
 * an error, PLAN_ARGUMENT. All keys and fractions together have at most 1 MiB. */
struct glint_fraction {
    union glint_value key;
    double fraction;
};
struct glint_rdd *glint_sample_by_key(struct glint_rdd *rdd, bool with_replacement,
                                      const struct glint_fraction *fractions, uint32_t count,
                                      uint64_t seed);
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
/* The mean of the i64 or f64 values of each key, as f64: combineByKey and mapValues. */
struct glint_rdd *glint_mean_by_key(struct glint_rdd *rdd);
/* Returns a grouped RDD: the values of a key are streamed, one record each, in the order of the map
 * partitions, and never collected in memory. mapValues takes a GROUP function here. */
struct glint_rdd *glint_group_by_key(struct glint_rdd *rdd);
/* [MAP] groupByKey with the key that the function emits. */
struct glint_rdd *glint_group_by(struct glint_rdd *rdd, const struct glint_function *function,
                                 struct glint_args *args);
/* One record of each set of equal records. Records of a pair RDD are at most 16 MiB. */
struct glint_rdd *glint_distinct(struct glint_rdd *rdd);
/* Joins records with equal keys; the key types must be equal. The value is the msgpack array [left,
 * right] (see glint_pair); nil means that the side has no record, or that its
 * values are NONE. For each key, every left value is paired with every right value, in that order,
 * as in Spark. Left values are streamed; right values are buffered, in memory up to a share of the
 * slot's memory, then on disk: put the smaller side right. As all transformations by key, it
 * shuffles only what is not yet partitioned alike (docs/jobs.md: Partitions). */
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
/* cogroup of 1 to 127 RDDs; the side is the RDD's index. */
struct glint_rdd *glint_group_with(struct glint_rdd *const *rdds, uint32_t count);
/* The records of `rdd` whose key does not occur in `other`. */
struct glint_rdd *glint_subtract_by_key(struct glint_rdd *rdd, struct glint_rdd *other);
/* The records whose key is from `lower` to `upper`, both included, in the order of sortByKey. Keeps
 * partitioning. Differs from Spark: all partitions are read, also after sortByKey. */
struct glint_rdd *glint_filter_by_range(struct glint_rdd *rdd, union glint_value lower,
                                        union glint_value upper);
/* The records that are in both, each once. The schemas must be equal; pairs are at most 16 MiB. */
struct glint_rdd *glint_intersection(struct glint_rdd *a, struct glint_rdd *b);
/* The records that are not in `other`; keeps duplicates. Same limits as intersection. */
struct glint_rdd *glint_subtract(struct glint_rdd *rdd, struct glint_rdd *other);
/* Each element with its index, (element, i64), counted over the partitions in order. The input's
 * key must be NONE. With more than one partition, the input is read once more to count it. */
struct glint_rdd *glint_zip_with_index(struct glint_rdd *rdd);
/* Each element with a unique number, (element, i64): the i-th element of partition k of n gets
 * k + i * n. Reads the input once. The input's key must be NONE. */
struct glint_rdd *glint_zip_with_unique_id(struct glint_rdd *rdd);
/* The i-th element of `left` with the i-th of `right`, as (left, right). Both must have as many
 * partitions, and as many elements in each: else PLAN_ARGUMENT. A pair becomes a msgpack [key,
 * value] (glint_pair). The right partition is kept, in memory up to a share of the slot's memory,
 * then on disk. */
struct glint_rdd *glint_zip(struct glint_rdd *left, struct glint_rdd *right);
/* [FLAT_MAP, with or without `end`] mapPartitions over partition p of `a`, then partition p of `b`,
 * which must have as many partitions. Values are msgpack [side, value], as in cogroup; keys, of one
 * type or NONE, are kept. Differs from Spark: the function sees the two one after the other. */
struct glint_rdd *glint_zip_partitions(struct glint_rdd *a, struct glint_rdd *b,
                                       const struct glint_function *function,
                                       struct glint_args *args);
/* Each element of `left` with each of `right`, as (left, right), in one partition for each pair of
 * partitions. Pairs and the right partition are kept as in zip; that is read once per left element:
 * put the smaller one right. */
struct glint_rdd *glint_cartesian(struct glint_rdd *left, struct glint_rdd *right);
/* One element per partition: the msgpack array of its elements (glint_unpack_cells), of pairs as
 * arrays of two. As in Spark, a partition must fit into memory; at most 4 GiB. */
struct glint_rdd *glint_glom(struct glint_rdd *rdd);
/* Sorts by key, within and across partitions. Range bounds come from a sample; unless there is only
 * one partition, the input is read once more to take it. Stable. Differs from Spark: with few
 * distinct keys, some partitions are empty. */
struct glint_rdd *glint_sort_by_key(struct glint_rdd *rdd, bool ascending);
/* [MAP] The function emits the key to sort by, from an element or a pair; glint_append_order makes
 * one of several columns. Pairs are at most 16 MiB. */
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

/* Sets the number of partitions of a wide transformation, and of those that follow it, unless they
 * have their own (default: by input bytes, or --partitions). Of a source of files: cuts it into at
 * least about as many splits, as minPartitions in Spark. Only before the plan is cut. Returns
 * `rdd`. */
struct glint_rdd *glint_with_partitions(struct glint_rdd *rdd, uint32_t partitions);
/* The ranges of `sorted`, a sortByKey, are chosen by a sample of the keys of `keys`, which has
 * those of its input but may cost less to read: another source of fewer columns. Only before the
 * plan is cut. Returns `sorted`. */
struct glint_rdd *glint_with_sample(struct glint_rdd *sorted, struct glint_rdd *keys);
/* [PARTITION] The function chooses the partition of each key in the shuffle of a transformation by
 * key: partitionBy, repartitionAndSortWithinPartitions, reduceByKey and similar, groupByKey, joins,
 * cogroup, subtractByKey. It must give equal keys the same index: else they are grouped, reduced
 * and joined within each partition only. Only before the plan is cut. Later transformations by key
 * take it over, as in Spark, unless they have their own. Returns `rdd`.
 *
 *     glint_with_partitioner(glint_partition_by(rdd, 4), &by_country, NULL); */
struct glint_rdd *glint_with_partitioner(struct glint_rdd *rdd,
                                         const struct glint_function *function,
                                         struct glint_args *args);
/* Names an RDD, as Spark's setName: plans, stages in progress, status, history and event logs, and
 * errors show it. 1 to 127 bytes of UTF-8 without control characters. Returns `rdd`. */
struct glint_rdd *glint_with_name(struct glint_rdd *rdd, const char *name);
/* Skips the first line of each file. `lines` must be a source of text lines that was just created.
 * Returns `lines`. */
struct glint_rdd *glint_with_header(struct glint_rdd *lines);
/* A column that a job reads: its number, from 0, in the header that named it. */
struct glint_column_use {
    uint32_t number;
    bool by_name; /* else it is this position in every file */
};
/* Matches the columns of each file to `header` by their names, when partitions are computed. Rows
 * of a file with another header get the order of `header`: fields that the file does not have are
 * null (glint_with_nulls), columns that only the file has follow at the end. It is an error of the
 * job if a file does not have a column by name, or has it twice, or if a column by position is not
 * at its position. `header`: as glint_first_line returns it, of these files or others; it is
 * borrowed. With data NULL the headers of all files are read, and the names that only others have
 * follow those of the first one: so glint_first_line returns them from then on.
 * (Records of CSV must have equal headers.) `delimiter`: of lines; CSV knows its own. `uses` is
 * copied. Called again, replaces them. Only after glint_with_header; `lines` as there. Returns
 * `lines`. */
struct glint_rdd *glint_with_columns(struct glint_rdd *lines, struct glint_slice header,
                                     char delimiter, const struct glint_column_use *uses,
                                     uint32_t count);
/* Reads `lines` as CSV (RFC 4180) with this delimiter: a row is a record, its fields, without their
 * quotes, are separated by the byte 0x1f (glint_unescape_field). A record that is not valid is a
 * bad row. Text outputs of the job are then CSV, too, with the delimiter of its first such call, of
 * elements that are such rows, and of keys and values, texts as they are, with a tab in between.
 * `lines` as for glint_with_header. Returns `lines`. */
struct glint_rdd *glint_with_csv(struct glint_rdd *lines, char delimiter);
/* Reads `lines` as CSV: a row is a record, unchanged, which may contain line ends inside quotes.
 * `delimiter` 0: any of comma, semicolon, tab and |. Outputs are what the job makes
 * of it. `lines` as for glint_with_header. Returns `lines`. */
struct glint_rdd *glint_with_csv_records(struct glint_rdd *lines, char delimiter);
/* Reads `lines` as JSON: a line is an object, other lines are bad rows, and blank ones are left
 * out. With `count` paths, such as user.id, tags[0].name or the JSON pointer /user/id, a row is
 * the byte 0x1e, the line, and for each path the byte 0x1f and the value there as text: a number
 * as it is in the line, null as nothing; the values as glint_unescape_field has them. A line
 * without a value there, or with an object or array there, is a bad row. A path after the byte
 * 0x1e gives the value as JSON, a text in quotes, also an object or array. Text outputs then have
 * of such rows the line, and other rows are CSV with commas, or with a tab between key and value.
 * `paths` is copied. Called again, replaces the paths. `lines` as for glint_with_header. Returns
 * `lines`. */
struct glint_rdd *glint_with_json_lines(struct glint_rdd *lines, const struct glint_slice *paths,
                                        uint32_t count);
/* Tells nulls of CSV and JSON apart from text: a field of a row that is only the byte 0x1d is
 * null. In CSV that is a field without quotes that equals `text`, which is not empty; in JSON
 * null, and, with `missing`, the value at a path that a line does not have; in files of columns
 * null, and, with `missing`, a column that a file does not have, which is an error without. Text
 * outputs have `text` for null, and quotes around a field that equals it. Of lines with a header,
 * and CSV with an empty `text`, only columns that a file does not have are null: `text`. With
 * `missing`, columns by name may be so (glint_with_columns). After glint_with_csv,
 * glint_with_json_lines and glint_with_header; `lines` as there. Returns `lines`. */
struct glint_rdd *glint_with_nulls(struct glint_rdd *lines, const char *text, bool missing);
/* Requests splits of at least this many bytes (text sources, and what is made of one without a
 * shuffle; --split-size takes precedence). Returns `rdd`. */
struct glint_rdd *glint_with_split_bytes(struct glint_rdd *rdd, uint64_t bytes);
/* Returns the number of partitions, 0 after an error. Cuts the sources of the plan: their splits
 * and the numbers of partitions cannot be changed after this call. */
uint32_t glint_partitions(struct glint_rdd *rdd);
/* Returns the total size on disk, in bytes, of the input files that this RDD descends from. */
uint64_t glint_input_bytes(const struct glint_rdd *rdd);
/* Returns the context that owns the RDD. */
struct glint *glint_context(const struct glint_rdd *rdd);
/* Returns the types of its columns. */
struct glint_schema glint_schema(const struct glint_rdd *rdd);

/* ------------------------------------------------------------------------------------------------
 * Actions: run a plan */

#include "engine/glint_actions.h"

#include "engine/glint_persist.h" /* keeping and freeing what was computed */

/* ------------------------------------------------------------------------------------------------
 * Functions */

#include "engine/glint_function.h"

/* ------------------------------------------------------------------------------------------------
 * Errors */

/* Texts for people; `effect` and `hint` may be empty. */
struct glint_error {
    enum glint_code code; /* 0: no error */
    char cause[5 * 1024], effect[256], hint[512];
};
/* The name ("NO_MEMORY"; "OK" for a number that is none of them), the text, and the process's exit
 * status, of a code: columns of engine/codes.h. */
const char *glint_code_name(enum glint_code code);
const char *glint_code_text(enum glint_code code);
int glint_code_exit_status(enum glint_code code);

/* The context's first error; code 0 if it has none. Valid until glint_destroy. */
const struct glint_error *glint_error(const struct glint *g);
/* Fails the job with its own error, unless there already is one. Returns `code`. */
int glint_abort(struct glint *g, enum glint_code code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif

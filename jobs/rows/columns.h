/* Columns that options of a job choose: by number, from 1, or, with --header, by the name that the
 * first line of the input gives them. The driver resolves the names; tasks find the fields of the
 * columns in each row. */
#ifndef GLINT_JOBS_ROWS_COLUMNS_H
#define GLINT_JOBS_ROWS_COLUMNS_H

#include "jobs/rows/fields.h"

struct typed_form;

enum { COLUMNS_MAX = 64 };
/* In place of a column's number: the whole line. */
#define COLUMNS_LINE UINT32_MAX

/* In place of it, and the number of the part: a part of a column of files of columns. */
#define COLUMNS_PART 0x80000000u
static inline bool columns_is_part(uint32_t number)
{
    return number >= COLUMNS_PART && number != COLUMNS_LINE;
}

/* ---- Driver */

/* A part of a column that is a struct, such as user.id. */
struct table_part {
    uint32_t column;
    struct glint_column_part part;
    struct glint_slice name; /* as in the option */
};

/* Options of every job with an input table. */
#define TABLE_OPTIONS                                                                              \
    HEADER_OPTION, FORMAT_OPTIONS, MISSING_OPTION, WHERE_OPTION,                                   \
    {                                                                                              \
        "delimiter", "C", NULL, "one byte, or \\t " FIELDS_DELIMITER_DEFAULT                       \
    }

struct table {
    struct glint *g;
    const char *paths;
    struct glint_rdd *lines;  /* the source, without header lines: all rows */
    struct glint_args *where; /* of --where (where.h); NULL: all rows */
    uint8_t delimiter;
    uint8_t csv; /* as struct fields */
    const char *delimiter_option; /* its name; NULL: delimiter */
    struct nulls nulls;
    bool header;
    struct glint_slice json_paths[COLUMNS_MAX]; /* in JSON; columns 1 and on of a row */
    uint32_t json_count;
    struct table_part parts[COLUMNS_MAX]; /* by number of part */
    uint32_t part_count;
    struct glint_slice names; /* the first line, with `header`: read when a column is chosen */
    bool all_names;           /* it has those of all files */
    struct glint_column_use uses[COLUMNS_MAX];
    uint32_t use_count;
    uint32_t where_columns[COLUMNS_MAX]; /* that --where uses */
    uint32_t where_count;
    uint32_t needed[2 * COLUMNS_MAX]; /* table_read_only_columns */
    uint32_t needed_count;
    bool some; /* only those are needed */
    uint32_t keys[COLUMNS_MAX]; /* table_key_columns */
    uint32_t key_count;
    bool typed;      /* rows are typed, if the source has types */
    bool saves_rows; /* table_saves_rows */
};

/* Creates the source by --header, --csv and --delimiter, and reads --where. Returns 0 or the
 * context's code. */
int table_open(struct glint *g, const struct glint_job_args *args, const char *paths,
               struct table *out);
/* The same; rows are `typed` if the output keeps their columns (row_output_type_rows). Functions of
 * the job must read them by columns_find alone, and no whole lines. */
int table_open_typed(struct glint *g, const struct glint_job_args *args, const char *paths,
                     bool typed, struct table *out);
/* The job saves rows as a whole: with headers those of CSV have the order of the first file's one,
 * as columns_match_rows, and a number is a position in that, whose name all files must have. */
void table_saves_rows(struct table *t);
struct columns;
/* The job needs no other columns of the rows, which it does not keep: of files of columns no others
 * are read. */
void table_read_only_columns(struct table *t, const struct columns *c);
/* Columns [from, to) are compared as bytes, so that equal values must be equal texts
 * (glint_key_columns). */
void table_key_columns(struct table *t, const struct columns *c, uint32_t from, uint32_t to);
/* The rows for which --where is true. Call it when all columns are resolved. */
struct glint_rdd *table_rows(const struct table *t);
/* The same of a source of its own, for another action. */
struct glint_rdd *table_read_again(const struct table *t);
/* Such a source, before --where. */
struct glint_rdd *table_source(const struct table *t);

struct columns {
    uint32_t count;
    uint32_t number[COLUMNS_MAX]; /* from 0, in the order of the options */
    uint8_t letters[COLUMNS_MAX]; /* bit i: the column has letter i */
};

/* Adds the columns that an option lists, such as 3,name; nothing if the option is not set. A name
 * that is a number is name=2019 or, as one with commas or colons, in quotes: "price, total". An
 * item may end with a colon and some of `letters` ("": none), as in 3:nr. Of files of columns
 * user.id is a part of the column user, unless a column has this name. Names are those of the first
 * file, and behind them those that only others have; files with another header are read by their
 * own (glint_with_columns). Returns 0 or the context's code. */
int columns_read_option(struct table *t, const struct glint_job_args *args, const char *option,
                        const char *letters, struct columns *out);
/* One item of such a list, which is all of `item`. Returns 0 or the context's code. */
int columns_resolve(struct table *t, const char *option, const char *letters,
                    struct glint_slice item, uint32_t *out_number, uint8_t *out_letters);
/* What the values of a column are, of files of columns: their types are known. */
enum column_values {
    VALUES_UNKNOWN,
    VALUES_NUMBERS,
    VALUES_TIMES, /* these and the next ones are compared as texts */
    VALUES_TIMES_OF_DAY,
    VALUES_BOOLEANS,
    VALUES_TEXTS,
    VALUES_NESTED /* lists, structs and maps, as JSON */
};
/* A time as a text whose order is that of the times: without the Z behind it, which is greater than
 * the point of a fraction. */
static inline struct glint_slice columns_time_text(struct glint_slice time)
{
    const bool zoned = time.size > 0 && time.data[time.size - 1] == 'Z';
    return (struct glint_slice){time.data, time.size - zoned};
}
enum column_values columns_value_kind(const struct table *t, uint32_t number);
/* Of files of columns: 16, 32 or 64 if its type is one of floats, in all files; else 0. */
uint32_t columns_float_bits(const struct table *t, uint32_t number);
/* Fails the context if a column is a part of one. Returns its code. */
int columns_reject_parts(struct glint *g, const char *option, const uint32_t *numbers,
                         uint32_t count);
/* Matches the columns of each file of a source by name, if one of `uses` is by name. */
void columns_match(struct glint_rdd *lines, struct glint_slice names, uint8_t delimiter,
                   const struct glint_column_use *uses, uint32_t count);
/* The same for rows that are compared or saved as a whole, without a column: those of CSV files
 * with another header get the order of the first one. `csv`: as struct fields. */
void columns_match_rows(struct glint_rdd *lines, uint8_t csv, bool header);
/* The header that the rows of all files have: that of the only file, or, if a column is chosen by
 * name, the first one; else none. */
struct glint_slice columns_names(const struct table *t);
/* How many columns the first line has; 1 without any line. */
uint32_t columns_count(const struct table *t);
/* Adds the whole line, instead of columns. */
void columns_add_whole_line(struct columns *c);
/* How messages name a column: "column 50 (c50)", or its path in JSON. */
#define COLUMN_LABEL_BYTES 128
void columns_label(struct glint_slice names, uint8_t delimiter, uint32_t number, char *out);
void columns_label_of(const struct table *t, uint32_t number, char *out);
/* Arguments for columns_open. */
void columns_args(struct glint_args *args, const struct table *t, const struct columns *c);

/* Whether rows without any byte are left out: of a table with several columns. It is one if the job
 * reads another column than the first (`last` > 0), or if the first line has the delimiter. Warns
 * if another delimiter would split that line and the job reads column 1 (`first`), not by its name:
 * it would be the whole row. */
bool table_skip_empty(const struct table *t, uint32_t last, bool first);

/* ---- Task */

struct columns_reader {
    struct columns columns;
    uint8_t delimiter;
    struct glint_slice null;        /* what a null is in rows (nulls.h) */
    bool quotes;                    /* a field that begins with a quote is an error */
    bool escapes;                   /* fields may have some (glint_field_has_escape) */
    bool skip_empty;                /* empty rows are left out (table_skip_empty) */
    uint8_t sorted[COLUMNS_MAX];    /* the columns by ascending number */
    struct columns_parts *parts;    /* of columns; NULL: there are none */
    const struct typed_form *typed; /* of the rows; NULL: they are text */
    char *numbers;                  /* texts of typed rows' numbers: by column */
    struct columns_joined *escaped; /* their texts with escapes */
    const char *labels[COLUMNS_MAX];
};

/* Returns 0 or a code. */
int columns_open(struct glint_task *task, struct columns_reader *r);
/* Finds the field of each column, as rows of text have it: out[i] is that of columns.number[i].
 * Returns 1, 0 if the row is left out or was bad and skipped, or a code. */
int columns_find(const struct columns_reader *r, struct glint_task *task, struct glint_slice row,
                 struct glint_slice *out);

/* Whether fields of the rows of a batch may have escapes. */
static inline bool columns_may_escape(const struct columns_reader *r,
                                      const struct glint_batch *rows)
{
    return r->escapes && !glint_rows_are_plain(rows);
}

/* Whether column i of the reader is a part of one. */
bool columns_has_part(const struct columns_reader *r, uint32_t i);

/* Reports a field of a row that is no value of its column, as glint_bad_value. */
int columns_bad_value(const struct columns_reader *r, struct glint_task *task,
                      struct glint_slice row, uint32_t column, struct glint_slice value,
                      const char *reason);

/* Memory for fields that are not adjacent, or have escapes. */
struct columns_joined {
    uint8_t *bytes;
    uint64_t capacity;
};
/* The first `count` fields of a row with delimiters between them: a part of the row if they are
 * adjacent, else valid until the next call. Different fields differ when joined. Returns 0 or a
 * code. */
int columns_join(const struct columns_reader *r, struct glint_task *task,
                 const struct glint_slice *fields, uint32_t count, struct columns_joined *memory,
                 struct glint_slice *out);

/* Sets out[i] to the texts of the fields that columns_find has found: parts of them, or valid until
 * the next call; of those that are null, data NULL. Returns 0 or a code. */
int columns_unescape(const struct columns_reader *r, struct glint_task *task,
                     const struct glint_slice *fields, struct columns_joined *memory,
                     struct glint_slice *out);

#endif

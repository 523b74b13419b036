/* Rows of a delimited table: which column is the id, which is the key, and the type of the key.
 *
 * The plan writes the choice into the function's arguments, and tasks read it in `open`. Rows are
 * parsed a batch at a time into columns; an invalid row is passed to glint_bad_row. A row is valid
 * if it has both columns, whether the ids are needed or not: all jobs accept the same rows. */
#ifndef GLINT_JOBS_ROWS_FIELDS_H
#define GLINT_JOBS_ROWS_FIELDS_H

#include "engine/batch.h"
#include "engine/glint.h"
#include "jobs/rows/nulls.h"

/* A scan stores whole groups: FIELDS_SLACK entries after the rows are scratch. */
enum { FIELDS_ROWS_MAX = 1024, FIELDS_SLACK = 80, FIELDS_COLUMN_MAX = 1 << 24 };

enum fields_key {
    FIELDS_RATING, /* a number from 0 to 10; the key is floor(x + 0.5) */
    FIELDS_INT,    /* an i64 */
    FIELDS_TEXT,   /* the unchanged bytes */
    FIELDS_NONE,   /* no key column is read; the key of every row is 0 */
};

/* In place of the delimiter of CSV: lines are objects of JSON. Column 0 of a row is the line. */
#define FIELDS_JSON 0x1e
/* Before a path: the value as JSON (glint_with_json_lines). */
#define FIELDS_JSON_VALUE 0x1e
/* Files of columns: a row has the fields in their order. */
#define FIELDS_COLUMNS 0x1c

struct fields_kernel; /* fields_kernel.h */

struct fields {
    /* The options. */
    uint32_t id_column, key_column; /* from 0 */
    uint8_t delimiter;
    enum fields_key key;
    /* The delimiter of CSV, FIELDS_JSON, FIELDS_COLUMNS, or 0: plain lines; driver only. */
    uint8_t csv;
    bool pairs;  /* batches are pairs of key and id, not rows (glint_column_pairs) */
    bool no_ids; /* the caller needs no ids, with `pairs`; driver only */
    struct glint_slice json_paths[2]; /* in JSON; columns 1 and 2 of a row; driver only */
    uint32_t json_count;
    struct glint_slice names;        /* of the header that gave names their numbers; driver only */
    struct glint_column_use uses[2]; /* with a header; driver only */
    uint32_t use_count;
    bool whole;              /* the id is the whole row, with any content; no columns */
    bool escapes;            /* fields may have some (glint_field_has_escape) */
    bool as_in_rows;         /* the caller takes keys and ids with them */
    const char *where;       /* the text of --where; NULL: all rows; driver only */
    struct nulls nulls;      /* driver only */
    bool header;             /* the first line of each file is a header; driver only */
    bool skip_empty;         /* empty rows are left out (table_skip_empty) */
    bool ids;                /* the caller reads id_start and id_end */
    struct glint_slice null; /* what a null is in rows (nulls.h) */
    bool keep_nulls;         /* rows whose key or id is null are rows; else they are left out */
    int null_rows;           /* counter of those */
    const char *key_label, *id_label; /* of columns in messages; NULL: not known; tasks only */
    uint32_t id_type;                 /* of the ids (jobs/bloom/id_type.h); 0: text */
    uint32_t id_width;                /* bytes of their values; 0: as many as the text says */
    uint8_t *values;                  /* of the ids, if they are no texts */
    uint64_t values_size;
    struct fields_texts { /* without escapes */
        uint8_t *bytes;
        uint64_t capacity;
    } key_texts, id_texts;
    bool quotes;                        /* a field that begins with a quote is an error */
    const struct fields_kernel *kernel; /* of the scan; NULL: rows are searched one by one */
    /* The last parsed rows, without bad rows that were skipped. */
    uint32_t rows;
    const uint8_t *base;     /* of the offsets of ids */
    uint64_t size;           /* of base */
    const uint8_t *key_base; /* of the offsets of texts */
    uint64_t key_size;
    int64_t number[FIELDS_ROWS_MAX + FIELDS_SLACK];      /* RATING, INT */
    uint32_t text_start[FIELDS_ROWS_MAX + FIELDS_SLACK]; /* TEXT; else scratch */
    uint32_t text_end[FIELDS_ROWS_MAX + FIELDS_SLACK];
    uint32_t id_start[FIELDS_ROWS_MAX + FIELDS_SLACK]; /* `ids` */
    uint32_t id_end[FIELDS_ROWS_MAX + FIELDS_SLACK];
};

/* An option of every job that reads rows. */
#define HEADER_OPTION                                                                              \
    {                                                                                              \
        "header", NULL, NULL, "the first line of each input file is a header"                      \
    }

/* Also of every such job; not of jobs that take rows as lines without fields. */
#define CSV_OPTION                                                                                 \
    {                                                                                              \
        "csv", NULL, NULL,                                                                         \
            "rows are CSV with quotes, and commas by default; text outputs are CSV, too"           \
    }
#define JSON_LINES_OPTION                                                                          \
    {                                                                                              \
        "json-lines", NULL, NULL,                                                                  \
            "each line is a JSON object; columns are paths in it, such as user.id or tags[0]"      \
    }
#define FORMAT_OPTIONS CSV_OPTION, JSON_LINES_OPTION, NULL_OPTION

/* Rows that the job reads (where.h). */
#define WHERE_OPTION                                                                               \
    {                                                                                              \
        "where", "EXPR", NULL,                                                                     \
            "only rows for which this is true, such as 'votes > 100 AND title IS NOT NULL'"        \
    }

/* A delimiter is NULL if it is not given, so that a tab can be given with --csv. */
#define FIELDS_DELIMITER_DEFAULT "(default: \\t, with --csv a comma)"

/* Options of jobs whose rows have no columns, for fields_rows. */
#define ROWS_OPTIONS                                                                               \
    HEADER_OPTION, FORMAT_OPTIONS, MISSING_OPTION, WHERE_OPTION,                                   \
    {                                                                                              \
        "delimiter", "C", NULL, "with --csv or --where: one byte, or \\t, between fields"          \
    }

/* Counter of rows that are left out. */
#define FIELDS_NULL_ROWS "rows with a null key or id"
/* Options of every job that reads tables: --id-column, --key-column, --delimiter, --key. */
#define FIELDS_OPTIONS                                                                             \
    HEADER_OPTION, FORMAT_OPTIONS, MISSING_OPTION, WHERE_OPTION,                                   \
        {"id-column", "COL", "1", "column of the id: number or, with --header, name"},             \
        {"key-column", "COL", "2", "column of the key: number or name"},                           \
        {"delimiter", "C", NULL, "one byte, or \\t " FIELDS_DELIMITER_DEFAULT},                    \
    {                                                                                              \
        "key", "rating|text|int|none", "rating",                                                   \
            "type of the key column; rating: 0 to 10, rounded half up; none: all rows have "       \
            "the key 0"                                                                            \
    }

/* Options of jobs that read ids only. */
#define FIELDS_ID_OPTIONS                                                                          \
    HEADER_OPTION, FORMAT_OPTIONS, MISSING_OPTION, WHERE_OPTION,                                   \
        {"id-column", "COL", "1", "column of the id: number or, with --header, name"},             \
    {                                                                                              \
        "delimiter", "C", NULL, "one byte, or \\t " FIELDS_DELIMITER_DEFAULT                       \
    }

/* Driver: reads the options. With --header, columns may be names: those of the first line of
 * `paths`. Returns 0 or the context's code. */
int fields_read_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                        struct fields *out);
int fields_read_id_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                           struct fields *out);
/* As fields_read_options, for jobs that need no ids: lines of JSON then need no --id-column. */
int fields_read_key_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                            struct fields *out);
/* Reads an option that is a delimiter, of the rows in `paths`. With --csv that is *out_csv, with
 * --json-lines FIELDS_JSON, with files of columns FIELDS_COLUMNS, and *out the separator of plain
 * rows (glint_with_csv); else *out_csv is 0. `paths` NULL: the job reads no files of columns.
 * Returns 0 or the context's code. */
int fields_delimiter(struct glint *g, const struct glint_job_args *args, const char *option,
                     const char *paths, uint8_t *out, uint8_t *out_csv);
/* The name that is between quotes, of whose doubled ones one stays; it lives as long as the
 * context. Sets the context's error if memory is short. */
struct glint_slice fields_unquote_name(struct glint *g, struct glint_slice name);
/* Cuts name= or quotes off a column of an option: it is a name. Returns whether there were some. */
bool fields_cut_name_marks(struct glint *g, struct glint_slice *item);
/* Makes the path in JSON of a column of an option, which must not be a number without these marks.
 * Returns 0 or the context's code. */
int fields_read_path(struct glint *g, const char *option, struct glint_slice *path);
/* Applies --csv, or --json-lines without paths, and --header to a source. */
struct glint_rdd *fields_source(struct glint_rdd *lines, uint8_t csv, bool header);
/* The rows of files, by ROWS_OPTIONS; *out_source: before --where. NULL with the context's error
 * set. */
struct glint_rdd *fields_rows(struct glint *g, const struct glint_job_args *args, const char *paths,
                              struct glint_rdd **out_source);
/* The rows of files, as lines, without header lines if the options say so. */
struct glint_rdd *fields_text_file(struct glint *g, const char *paths, const struct fields *f);
struct glint_rdd *fields_n_line_text_file(struct glint *g, const char *paths, uint64_t lines,
                                          const struct fields *f);
/* Ids that are whole rows, with any content; none is null. */
struct fields fields_of_lines(void);
void fields_args(struct glint_args *args, const struct fields *f);
enum glint_type fields_key_type(const struct fields *f);

/* Task: opens by the arguments. `ids`: ids are needed, not only keys. Returns 0 or a code. */
int fields_open(struct glint_task *task, struct fields *f, bool ids);
/* Parses all rows of a batch of lines. Returns 0 or a code. The arrays refer to the batch's memory,
 * or ids with a type to the values' bytes, until the next call. */
int fields_parse(struct fields *f, struct glint_task *task, const struct glint_batch *lines);
/* Replaces keys and ids with escapes by their texts: of a caller that took them as they are in the
 * rows of this batch. Returns 0 or a code. */
int fields_unescape(struct fields *f, struct glint_task *task, const struct glint_batch *lines);
/* Why a text that glint_parse_i64 does not accept is no key. */
const char *fields_int_problem(struct glint_slice text);
/* Reports the key of a row, which is none for its user, as glint_bad_value. */
int fields_bad_key(const struct fields *f, struct glint_task *task, struct glint_slice row,
                   struct glint_slice value, const char *reason);
/* Parses one row, after which READ_SLACK bytes must be readable. Returns 1 with *key and *id set,
 * valid until the next call, 0 if the row was left out because it is bad or has a null, or a code.
 */
int fields_parse_row(struct fields *f, struct glint_task *task, struct glint_slice row,
                     union glint_value *key, struct glint_slice *id);
/* Whether any of the fields may have this size, as all that are null have; reads up to FIELDS_SLACK
 * more entries. */
static inline bool fields_any_size(const uint32_t *start, const uint32_t *end, uint32_t rows,
                                   uint32_t size)
{
    typedef uint32_t lanes __attribute__((vector_size(16)));
    lanes found = {0};
    for (uint32_t row = 0; row < rows; row += 4) {
        lanes from, to;
        memcpy(&from, start + row, sizeof from);
        memcpy(&to, end + row, sizeof to);
        found |= (lanes)(to - from == size);
    }
    return (found[0] | found[1] | found[2] | found[3]) != 0;
}
/* The line of a row of JSON lines. */
struct glint_slice fields_json_line(struct glint_slice row);
/* The parsed keys as a column of a batch. */
struct glint_column fields_key_column(const struct fields *f);

#endif

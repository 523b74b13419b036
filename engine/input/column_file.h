/* Files of columns (Parquet, Arrow), through a library that glint loads when the first is opened
 * (input/format_library.h). The driver reads what they contain; tasks read their pieces. */
#ifndef GLINT_INPUT_COLUMN_FILE_H
#define GLINT_INPUT_COLUMN_FILE_H

#include "engine/base/env.h"
#include "engine/base/name_table.h"
#include "engine/input/arrow.h"
#include "engine/input/input.h"
#include "engine/input/input_stream.h"

/* Loads the library. Returns NULL with *error set, INPUT_LIBRARY. Any thread; blocks on disk the
 * first time. */
const struct format_library *format_library_load(struct glint_error *error);
/* The name of a format in messages, such as "Parquet file". */
const char *format_kind_name(uint8_t format);

/* An open file. One thread. */
struct column_file {
    const struct format_library *library;
    struct input_stream stream;
    struct format_input input;
    struct format_file *file;
    struct arrow_field schema; /* a struct: its children are the columns; in the arena of open */
    struct name_table names;   /* of the columns */
    uint64_t bytes_read;
    struct glint_error *error;
};

/* Opens the file of a piece and reads its schema. `task` NULL: on the driver. `f` may be
 * uninitialized; it is not moved, and `piece`, `arena` and `error` are borrowed, until
 * column_file_close, which is called in any case. Returns 0 or a code with *error set:
 * INPUT_LIBRARY, INPUT_DAMAGED, INPUT_FORMAT, and as input_stream_open. */
int column_file_open(struct column_file *f, struct env *env, struct glint_task *task,
                     const struct split_piece *piece, struct arena *arena,
                     struct glint_error *error);
/* Sets the error of a call of the library, unless reading the file has set one; returns its code.
 */
int column_file_set_error(struct column_file *f, const struct format_error *error);
void column_file_close(struct column_file *f);

/* A column of all files of a list. */
enum column_class {
    COLUMN_TEXT, /* what is no number */
    COLUMN_I64,  /* in every file an integer that fits an i64, */
    COLUMN_F64,  /* or a floating-point number */
};

/* What types files give a column, as far as texts of a value differ; bits of a set. Values whose
 * forms are of one of the sets below can be compared. */
enum column_form {
    FORM_INTEGER = 0x1,
    FORM_DECIMAL = 0x2,
    FORM_HALF = 0x4,
    FORM_FLOAT = 0x8,
    FORM_DOUBLE = 0x10,
    FORM_DURATION = 0x20,
    FORM_DATE = 0x40,
    FORM_TIMESTAMP = 0x80,
    FORM_INSTANT = 0x100,
    FORM_TIME_OF_DAY = 0x200,
    FORM_OTHER = 0x400,
    FORMS_FLOATS = FORM_HALF | FORM_FLOAT | FORM_DOUBLE,
    FORMS_NUMBERS = FORM_INTEGER | FORM_DECIMAL | FORMS_FLOATS | FORM_DURATION,
    FORMS_TIMES = FORM_DATE | FORM_TIMESTAMP | FORM_INSTANT,
};

struct schema_column {
    const char *name;
    enum column_class class;
    const char *type;    /* as arrow_type.h has it; "u" if files do not agree */
    bool several_types;  /* files do not agree */
    uint16_t forms;      /* set of enum column_form; 0: all values are null */
    uint8_t common;      /* enum arrow_common */
    int32_t scale;       /* the most digits after the point of its decimals */
    uint64_t lacking;    /* a file that does not have it; UINT64_MAX: none */
    const char *problem; /* why it cannot be read, of a file; NULL: it can */
};

/* Whether all values are of one of these sets. */
static inline bool schema_column_is(const struct schema_column *c, unsigned forms)
{
    return c->forms != 0 && (c->forms & ~forms) == 0;
}
static inline bool schema_column_is_comparable(const struct schema_column *c)
{
    return c->forms == 0 || schema_column_is(c, FORMS_NUMBERS) ||
           schema_column_is(c, FORMS_TIMES) || schema_column_is(c, FORM_TIME_OF_DAY) ||
           schema_column_is(c, FORM_OTHER);
}

struct column_schema {
    uint32_t count;
    const struct schema_column *columns; /* of the first file, then those that others have */
    struct glint_slice header;           /* the names, with CSV_SEPARATOR between them */
    /* The pieces of file i are pieces[starts[i]] up to starts[i + 1]. */
    const struct format_piece *pieces;
    const uint32_t *starts;
};

/* What was read of the files of lists, for other lists of the same files; zeros are empty. */
struct kept_schema;
struct column_schemas {
    struct kept_schema *first;
};
/* When no list is used any more. */
void column_schemas_fini(struct column_schemas *kept);

/* Reads what all files contain, once; sets list->schema, and the layout of rows of all columns
 * unless there is one. Returns 0, or a code as column_file_open, also PLAN_LIMIT. Driver. */
int input_list_read_schema(struct env *env, struct input_list *list, struct glint_error *error);
/* Sets the layout to the columns with these numbers, from 0. The schema was read. Returns 0 or
 * NO_MEMORY. */
int input_list_set_needed_columns(struct input_list *list, const uint32_t *numbers, uint32_t count,
                                  struct glint_error *error);
/* Marks columns as keys, in the layout and in later ones; numbers beyond the last column have no
 * effect, NULL: all columns. The schema was read. Returns 0 or NO_MEMORY. */
int input_list_set_key_columns(struct input_list *list, const uint32_t *numbers, uint32_t count,
                               struct glint_error *error);

#endif

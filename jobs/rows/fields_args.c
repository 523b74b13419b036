/* The arguments by which a plan passes the choice of columns to tasks. */
#include "engine/base/text.h"
#include "jobs/rows/columns.h"
#include "jobs/rows/fields_kernel.h"
#include "jobs/rows/fields_quotes.h"
#include "jobs/rows/id_values.h"

#include <assert.h>
#include <string.h>

static void add_column_label_arg(struct glint_args *args, const char *name, const struct fields *f,
                                 uint32_t column)
{
    char label[COLUMN_LABEL_BYTES];
    if (f->csv == FIELDS_JSON && column > 0 && column <= f->json_count)
        header_name_append(label, 0, sizeof label, f->json_paths[column - 1]);
    else
        columns_label(f->names, f->delimiter, column, label);
    glint_args_add_bytes(args, name, label, strlen(label) + 1);
}

void fields_args(struct glint_args *args, const struct fields *f)
{
    add_column_label_arg(args, "key_label", f, f->key_column);
    add_column_label_arg(args, "id_label", f, f->id_column);
    glint_args_add_i64(args, "id_column", f->id_column);
    glint_args_add_i64(args, "key_column", f->key_column);
    glint_args_add_i64(args, "delimiter", f->delimiter);
    glint_args_add_i64(args, "whole", f->whole);
    glint_args_add_i64(args, "escapes", f->csv != 0 && !f->pairs && !f->whole);
    glint_args_add_i64(args, "pairs", f->pairs);
    glint_args_add_i64(args, "skip_empty", f->skip_empty);
    glint_args_add_i64(args, "key", f->key);
    glint_args_add_i64(args, "keep_nulls", f->keep_nulls);
    glint_args_add_i64(args, "id_type", f->id_type);
    glint_args_add_i64(args, "id_width", f->id_width);
    nulls_args(args, &f->nulls);
}

/* A scan parses numbers without comparing them with a null such as -1. */
static bool is_null_a_number(const struct fields *f)
{
    double number;
    return !f->keep_nulls && (f->key == FIELDS_RATING || f->key == FIELDS_INT) &&
           glint_parse_f64(f->null, &number);
}

static int read_label_argument(struct glint_task *task, const char *name, const char **out)
{
    struct glint_slice label;
    int r = glint_arg_slice(task, name, &label);
    if (r != 0) return r;
    if (label.size == 0 || label.data[label.size - 1] != '\0')
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "a column's name is out of range");
    *out = (const char *)label.data;
    return 0;
}

int fields_open(struct glint_task *task, struct fields *f, bool ids)
{
    int64_t id_column, key_column, delimiter, whole, escapes, pairs, skip_empty, key, keep_nulls,
        type, width;
    int r = glint_arg_i64(task, "id_column", &id_column);
    if (r == 0) r = glint_arg_i64(task, "key_column", &key_column);
    if (r == 0) r = glint_arg_i64(task, "delimiter", &delimiter);
    if (r == 0) r = glint_arg_i64(task, "whole", &whole);
    if (r == 0) r = glint_arg_i64(task, "escapes", &escapes);
    if (r == 0) r = glint_arg_i64(task, "pairs", &pairs);
    if (r == 0) r = glint_arg_i64(task, "skip_empty", &skip_empty);
    if (r == 0) r = glint_arg_i64(task, "key", &key);
    if (r == 0) r = glint_arg_i64(task, "keep_nulls", &keep_nulls);
    if (r == 0) r = glint_arg_i64(task, "id_type", &type);
    if (r == 0) r = glint_arg_i64(task, "id_width", &width);
    if (r == 0) r = nulls_open(task, &f->null);
    if (r == 0) r = read_label_argument(task, "key_label", &f->key_label);
    if (r == 0) r = read_label_argument(task, "id_label", &f->id_label);
    if (r != 0) return r;
    if (id_column < 0 || id_column >= FIELDS_COLUMN_MAX || key_column < 0 ||
        key_column >= FIELDS_COLUMN_MAX || delimiter < 0 || delimiter > 255 || key < 0 ||
        key > FIELDS_NONE || type < 0 || type > UINT32_MAX || width < 0 || width > ID_VALUE_MAX ||
        !bloom_id_type_is_valid((uint32_t)type))
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL,
                          "the table's columns are out of range");
    f->id_column = (uint32_t)id_column;
    f->key_column = (uint32_t)key_column;
    f->delimiter = (uint8_t)delimiter;
    f->whole = whole != 0;
    f->escapes = escapes != 0;
    f->pairs = pairs != 0;
    f->skip_empty = skip_empty != 0;
    f->key = (enum fields_key)key;
    f->ids = ids;
    f->id_type = (uint32_t)type;
    f->id_width = (uint32_t)width;
    f->quotes = fields_may_quote(f->delimiter);
    memset(f->number, 0, sizeof f->number); /* the key of every row if no key is read */
    assert(f->delimiter == delimiter && f->key == (enum fields_key)key);
    f->keep_nulls = keep_nulls != 0;
    f->null_rows = f->keep_nulls ? 0 : glint_counter(task, FIELDS_NULL_ROWS);
    f->kernel = f->whole || is_null_a_number(f) ? NULL : fields_kernel_best(f);
    return f->null_rows >= 0 ? 0 : f->null_rows;
}

/* count-keys: how many rows each key has.
 *
 *     line -> (key, 1) -> reduceByKey(+) -> key TAB count */
#include "jobs/rows/fields.h"
#include "jobs/rows/row_counts.h"

static int count_keys_run(struct glint *g, const struct glint_job_args *args)
{
    static const struct glint_function *const count_row[2][2] = {
        {&count_number, &count_number_each}, {&count_text, &count_text_each}};
    struct fields fields;
    if (fields_read_key_options(g, args, args->positional[0], &fields) != 0)
        return glint_error(g)->code;
    struct glint_args *columns = glint_args(g);
    fields_args(columns, &fields);
    bool each = glint_job_option(args, "record-form") != NULL;

    if (each && fields.pairs)
        return glint_abort(g, GLINT_E_USAGE, "leave it out",
                           "--record-form has no meaning with files of columns");

    struct glint_rdd *lines = fields_text_file(g, args->positional[0], &fields);
    struct glint_rdd *ones =
        glint_map(lines, count_row[fields_key_type(&fields) == GLINT_TEXT][each], columns);
    struct glint_rdd *counts = glint_reduce_by_key(ones, &GLINT_SUM_I64, NULL);
    glint_save_as_text_file(counts, args->positional[1]);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    {"record-form", NULL, NULL, "call the function for each record instead of each batch"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job count_keys_job = {
    .name = "count-keys",
    .summary = "count the rows of each key",
    .help = "Saves one line per key: KEY TAB COUNT, sorted by key within each part.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&count_number, &count_text, &count_number_each, &count_text_each},
    .run = count_keys_run};

/* distinct: each different row once. */
#include "jobs/rows/fields.h"
#include "jobs/rows/row_output.h"

static int distinct_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *source, *lines = fields_rows(g, args, args->positional[0], &source);
    glint_key_columns(source, NULL, 0);
    return row_output_save(glint_distinct(lines), source, args, args->positional[1]);
}

static const struct glint_job_option options[] = {
    ROWS_OPTIONS, OUTPUT_FORMAT_OPTIONS, {NULL, NULL, NULL, NULL}};

const struct glint_job distinct_job = {
    .name = "distinct",
    .summary = "save each different line once",
    .help =
        "The lines of OUTPUT are sorted bytewise within each part. Lines of JSON are different if "
        "their bytes are.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .run = distinct_run};

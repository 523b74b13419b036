/* Counts the records of a source: one job that can read each of them, for tests of their memory. */
#include "tests/jobs/jobs.h"

#include <string.h>

#define RECORD_BYTES 100

static struct glint_rdd *open_source(struct glint *g, const char *kind, const char *input)
{
    static const struct glint_slice path = {(const uint8_t *)"a", 1};
    const struct glint_schema texts = {GLINT_NONE, GLINT_TEXT};
    if (strcmp(kind, "textFile") == 0) return glint_text_file(g, input);
    if (strcmp(kind, "json") == 0)
        return glint_with_json_lines(glint_text_file(g, input), &path, 1);
    if (strcmp(kind, "csv") == 0) return glint_with_csv(glint_text_file(g, input), ',');
    if (strcmp(kind, "keyValueTextFile") == 0) return glint_key_value_text_file(g, input, ',');
    if (strcmp(kind, "nLineTextFile") == 0) return glint_n_line_text_file(g, input, 1000000);
    if (strcmp(kind, "binaryRecords") == 0) return glint_binary_records(g, input, RECORD_BYTES);
    if (strcmp(kind, "msgpackFile") == 0) return glint_msgpack_file(g, input, texts);
    if (strcmp(kind, "wholeTextFiles") == 0) return glint_whole_text_files(g, input);
    if (strcmp(kind, "binaryFiles") == 0) return glint_binary_files(g, input);
    glint_abort(g, GLINT_E_USAGE, NULL, "no source is called %s", kind);
    return NULL;
}

static int read_run(struct glint *g, const struct glint_job_args *args)
{
    int64_t records = 0;
    struct glint_rdd *rdd = open_source(g, args->positional[0], args->positional[1]);
    int r = rdd != NULL ? glint_count(rdd, &records) : glint_error(g)->code;
    if (r == 0) glint_answer_i64(g, "records", records);
    return r;
}

const struct glint_job read_job = {.name = "read",
                                   .summary = "count the records of a source",
                                   .positional = {"KIND", "INPUT"},
                                   .run = read_run};

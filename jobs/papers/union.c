/* union: builds one filter of a whole file like the papers' MapReduce job.
 *
 *     key-value text -> elements -> a filter per split -> one reduce task combines by OR -> one
 * file
 */
#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/bloom_pipeline.h"
#include "jobs/filters/one_filter.h"

#include <assert.h>
#include <string.h>

/* The elements as lines, or, with --csv and --json-lines, as rows whose first field is the element.
 */
static struct glint_rdd *read_union_elements(struct glint *g, const struct glint_job_args *args,
                                             const struct fields *fields, uint64_t split_bytes)
{
    const char *name = glint_job_option(args, "element");
    const struct glint_slice path = {(const uint8_t *)name, strlen(name)};
    const bool json = fields->csv == FIELDS_JSON;
    struct glint_rdd *pairs =
        glint_key_value_text_file(g, args->positional[0], (char)fields->delimiter);
    pairs = fields_source(pairs, fields->csv, glint_job_option(args, "header") != NULL);
    if (json) pairs = glint_with_json_lines(pairs, &path, 1); /* the key is the line */
    pairs = nulls_source(pairs, &fields->nulls);
    if (split_bytes > 0) glint_with_split_bytes(pairs, split_bytes);
    if (!json && strcmp(name, "key") == 0) return glint_keys(pairs);
    if (json || strcmp(name, "value") == 0) return glint_values(pairs);
    glint_abort(g, GLINT_E_BAD_VALUE, "use key or value", "unknown --element \"%s\"", name);
    return NULL;
}

static int union_run(struct glint *g, const struct glint_job_args *args)
{
    struct fields source = {.csv = 0};
    struct one_filter choice;
    struct sizes sizes = {.count = 0};
    uint64_t n = 0;
    if (fields_delimiter(g, args, "separator", NULL, &source.delimiter, &source.csv) != 0 ||
        nulls_read_option(g, args, source.csv, source.delimiter, &source.nulls) != 0 ||
        one_filter_options(g, args, &choice) != 0)
        return glint_error(g)->code;
    nulls_read_missing_option(g, args, source.csv, source.header, &source.nulls);
    struct fields fields = fields_of_lines();
    fields.keep_nulls = false;
    fields.nulls = source.nulls;
    if (source.csv != 0) { /* the first of the fields that follow */
        fields.whole = false;
        fields.delimiter = source.delimiter;
        fields.csv = source.csv;
    }
    if (glint_job_option(args, "n") != NULL)
        n = (uint64_t)glint_job_i64(g, args, "n", 1, INT64_MAX);
    struct glint_rdd *elements = read_union_elements(g, args, &source, 0);
    int r = glint_error(g)->code;
    if (r == 0 && n == 0) r = one_filter_count_rows(elements, &fields, args->positional[0], &n);
    if (r == 0) r = one_filter_sizes(g, &choice, n, &sizes);
    if (r == 0) r = bloom_check_memory(g, &sizes);
    if (r == 0) {
        assert(sizes.count == 1);
        elements = read_union_elements(g, args, &source, bloom_split_bytes(&sizes));
        struct glint_rdd *filter = bloom_pipeline(elements, &sizes, BLOOM_PARTIALS, &fields);
        if (glint_save_as_msgpack_file(glint_coalesce(filter, 1), args->positional[1]) == 0 &&
            glint_counter_value(g, BLOOM_OVERFULL) > 0)
            glint_warn(g,
                       "the filter has more than the %llu ids that it is sized for, and a higher "
                       "rate: see glint filter info",
                       (unsigned long long)n);
    }
    sizes_fini(&sizes);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    HEADER_OPTION,
    FORMAT_OPTIONS,
    MISSING_OPTION,
    {"separator", "C", NULL,
     "one byte, or \\t: a line is KEY C VALUE, split at the first C " FIELDS_DELIMITER_DEFAULT},
    {"element", "key|value|PATH", "key",
     "part of a line that is added; with --csv the first or second field, with --json-lines the "
     "value at a path"},
    {"n", "N", NULL, "number of elements to size the filter for (default: counted first)"},
    ONE_FILTER_OPTIONS,
    {NULL, NULL, NULL, NULL}};

const struct glint_job union_job = {
    .name = "union",
    .summary = "build one filter of a file: one per split, combined by OR",
    .help = "Saves one file with one filter, under key 0: glint filter info and query, and "
            "membership, read it. Each split of INPUT is added to a filter; one reduce task "
            "combines them by OR. A line without the separator is a key, with an empty value.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .run = union_run};

/* split-dataset: splits a table without its header into two at random, for training and testing.
 *
 *     header = the first line; lines.filter(line != header).randomSplit([0.6, 0.4], seed)
 *
 * Both parts are written in one pass, so the input is read once. */
#include "engine/batch.h"
#include "jobs/rows/fields.h"
#include "jobs/rows/ratio.h"
#include "jobs/rows/row_output.h"

#include <assert.h>
#include <string.h>

struct differs_state {
    struct glint_slice header;
};

static int header_filter_init(struct glint_task *task, void *state)
{
    return glint_arg_slice(task, "header", &((struct differs_state *)state)->header);
}

static int differs_from_header(struct glint_task *task, void *state, const struct glint_record *in)
{
    (void)task;
    const struct glint_slice *header = &((struct differs_state *)state)->header;
    const struct glint_slice *line = &in->value.bytes;
    return line->size != header->size || memcmp(line->data, header->data, line->size) != 0;
}

static int select_non_header_rows(struct glint_task *task, void *state,
                                  const struct glint_batch *in, uint16_t *out_rows,
                                  uint32_t *out_count)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < in->rows; row++) {
        struct glint_record record = {.value = {.bytes = glint_column_slice(&in->value, row)}};
        out_rows[count] = (uint16_t)row;
        count += (uint32_t)differs_from_header(task, state, &record);
    }
    assert(count <= in->rows);
    *out_count = count;
    return 0;
}

static const struct glint_function differs = {.name = "split.differs",
                                              .kind = GLINT_KIND_FILTER,
                                              .in = {GLINT_ANY, GLINT_TEXT},
                                              .out = {GLINT_SAME, GLINT_SAME},
                                              .state_size = sizeof(struct differs_state),
                                              .open = header_filter_init,
                                              .keep = differs_from_header,
                                              .keep_batch = select_non_header_rows};
int ratio_parse(struct glint *g, const char *text, double out[2])
{
    const char *slash = strchr(text, '/');
    struct glint_slice a = {(const uint8_t *)text, slash != NULL ? (uint64_t)(slash - text) : 0};
    struct glint_slice b = {(const uint8_t *)slash + 1, slash != NULL ? strlen(slash + 1) : 0};
    if (slash != NULL && glint_parse_f64(a, &out[0]) && glint_parse_f64(b, &out[1]) &&
        out[0] >= 0 && out[1] >= 0 && out[0] + out[1] > 0)
        return 0;
    return glint_abort(g, GLINT_E_BAD_VALUE, "use two weights, such as 60/40",
                       "--ratio \"%s\" is not A/B", text);
}

/* All lines except those equal to the first one. */
static struct glint_rdd *remove_header_lines(struct glint *g, struct glint_rdd *lines)
{
    const struct glint_slice header = glint_first_line(lines);
    if (header.data == NULL && !glint_explaining(g)) return lines;
    struct glint_args *args = glint_args(g);
    glint_args_add_bytes(args, "header", header.data, header.size);
    return glint_filter(lines, &differs, args);
}

static int split_dataset_run(struct glint *g, const struct glint_job_args *args)
{
    double weights[2];
    int64_t seed = glint_job_i64(g, args, "seed", 0, INT64_MAX);
    if (ratio_parse(g, glint_job_option(args, "ratio"), weights) != 0) return glint_error(g)->code;

    const bool header = glint_job_option(args, "header") != NULL;
    struct glint_rdd *source, *lines = fields_rows(g, args, args->positional[0], &source);
    uint8_t separator, csv;
    if (fields_delimiter(g, args, "delimiter", args->positional[0], &separator, &csv) != 0)
        return glint_error(g)->code;
    const bool no_header = glint_job_option(args, "no-header") != NULL;
    if (header && no_header)
        return glint_abort(g, GLINT_E_USAGE, "use only one of them",
                           "--header and --no-header cannot both be set");
    if (!header && !no_header && csv != FIELDS_JSON && csv != FIELDS_COLUMNS &&
        glint_job_option(args, "where") != NULL)
        return glint_abort(g, GLINT_E_USAGE, "add one of them",
                           "--where needs --header or --no-header");
    if (!header && !no_header && csv != FIELDS_JSON && csv != FIELDS_COLUMNS) {
        /* Fails for a header that would be skipped as a bad row, or is empty. */
        glint_first_line(fields_source(glint_text_file(g, args->positional[0]), csv, true));
        lines = remove_header_lines(g, lines);
    }
    struct glint_rdd *rows = glint_key_by_random_split(lines, weights, 2, (uint64_t)seed);
    return row_output_save_several(rows, source, args, args->positional + 1, 2);
}

static const struct glint_job_option options[] = {
    {"ratio", "A/B", "60/40", "weights of TRAIN and TEST"},
    {"seed", "N", "42", "seed of the random split"},
    ROWS_OPTIONS,
    OUTPUT_FORMAT_OPTIONS,
    {"no-header", NULL, NULL, "the input has no header line"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job split_dataset_job = {
    .name = "split-dataset",
    .summary = "split a table into two at random",
    .help = "The first line is the header; lines equal to it are dropped, or, with --header, the "
            "first line of each file. Every other line goes to TRAIN or TEST, by the seed and its "
            "position in the input. Both outputs are committed together.",
    .positional = {"INPUT", "TRAIN", "TEST"},
    .outputs = {"TRAIN", "TEST"},
    .options = options,
    .functions = {&differs},
    .run = split_dataset_run};

/* sample: lines chosen at random. */
#include "jobs/jobs.h"
#include "jobs/rows/fields.h"

static int sample_run(struct glint *g, const struct glint_job_args *args)
{
    double fraction = glint_job_f64(g, args, "fraction");
    int64_t seed = glint_job_i64(g, args, "seed", 0, INT64_MAX);
    struct glint_rdd *lines = fields_rows(g, args, args->positional[0]);
    return glint_save_as_text_file(glint_sample(lines, fraction, (uint64_t)seed),
                                   args->positional[1]);
}

static const struct glint_job_option options[] = {
    {"fraction", "P", "0.1", "probability of each line, from 0 to 1"},
    {"seed", "N", "42", "seed of the random choice"},
    ROWS_OPTIONS,
    {NULL, NULL, NULL, NULL}};

const struct glint_job sample_job = {
    .name = "sample",
    .summary = "save lines chosen at random",
    .help =
        "Each line is chosen with probability P, independently of the others. The choice depends "
        "on the seed and on the splits of the input (--split-size) only.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .run = sample_run};

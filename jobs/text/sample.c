/* sample: lines chosen at random. */
#include "jobs/rows/fields.h"
#include "jobs/rows/row_output.h"

static int sample_run(struct glint *g, const struct glint_job_args *args)
{
    const bool rows = glint_job_option(args, "rows") != NULL;
    const bool fraction = glint_job_option(args, "fraction") != NULL;
    if (rows && fraction)
        return glint_abort(g, GLINT_E_USAGE, "use only one of them",
                           "--rows and --fraction cannot both be set");
    const double share = fraction ? glint_job_f64(g, args, "fraction") : 0.1;
    const int64_t count = rows ? glint_job_i64(g, args, "rows", 1, INT64_MAX) : 0;
    const uint64_t seed = (uint64_t)glint_job_i64(g, args, "seed", 0, INT64_MAX);
    struct glint_rdd *source, *lines = fields_rows(g, args, args->positional[0], &source);
    if (lines == source) row_output_type_rows(source, args); /* --where has found its columns */
    struct glint_rdd *sample = rows ? glint_sample_exactly(lines, (uint64_t)count, seed)
                                    : glint_sample(lines, share, seed);
    return row_output_save(sample, source, args, args->positional[1]);
}

static const struct glint_job_option options[] = {
    {"fraction", "P", NULL, "probability of each line, from 0 to 1 (default: 0.1)"},
    {"rows", "N", NULL, "exactly N lines, or all if there are fewer; reads INPUT twice"},
    {"seed", "N", "42", "seed of the random choice"},
    ROWS_OPTIONS,
    OUTPUT_FORMAT_OPTIONS,
    {NULL, NULL, NULL, NULL}};

const struct glint_job sample_job = {
    .name = "sample",
    .summary = "save lines chosen at random",
    .help =
        "Each line is chosen with probability P, independently of the others. The choice depends "
        "on the seed and on the splits of the input (--split-size) only. With --rows N exactly N "
        "lines are chosen, by the seed only: the same ones for any splits. Lines stay in order.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .run = sample_run};

/* distinct: each different line once. */
#include "jobs/jobs.h"

static int distinct_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    return glint_save_as_text_file(glint_distinct(lines), args->positional[1]);
}

const struct glint_job distinct_job = {
    .name = "distinct",
    .summary = "save each different line once",
    .help = "The lines of OUTPUT are sorted bytewise within each part.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .run = distinct_run};

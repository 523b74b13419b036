/* glint clean URL: finishes or removes what jobs left in a store when they died, which no process
 * of the job can do any more. What they left on file systems, the next job removes. */
#include "engine/base/env.h"
#include "engine/cli/cli.h"
#include "engine/driver/commit.h"
#include "engine/input/remote_store.h"

#include <inttypes.h>
#include <stdio.h>

static void print_count(const char *what, const char *unit, uint64_t count)
{
    if (count > 0) printf("%s %" PRIu64 " %s%s\n", what, count, unit, count == 1 ? "" : "s");
}

static void clean_leftover_commits(const struct cli_line *line, struct glint_error *error)
{
    const char *url = line->arguments[0];
    struct commit_objects_left left;
    if (!remote_output_is_in_store(url)) {
        error_set(error, GLINT_E_BAD_VALUE,
                  "what jobs left on a file system, the next job with the output removes",
                  "URL is not one of s3");
        return;
    }
    if (commit_objects_clean(env_real(), url, cli_line_flag(line, "finish"), &left, error) != 0)
        return;
    print_count("finished", "commit", left.finished);
    print_count("removed", "commit", left.removed);
    print_count("aborted", "upload", left.aborted);
    if (left.finished + left.removed + left.aborted == 0) puts("nothing is left there");
}

static const struct glint_job_option own_options[] = {
    {.name = "finish", .help = "complete commits that were started, instead of removing them"},
    {.name = NULL}};

const struct cli_command cmd_clean = {
    .name = "clean",
    .summary = "finish or remove what a dead job left in S3",
    .syntax = {.command = "glint clean",
               .summary = "Removes what jobs that died left of the output at URL, in S3.",
               .help = "A job that died while it committed its output left a commit record. With "
                       "--finish the output is completed, as the next job that writes there would "
                       "do; without it, what that job wrote is removed, and an older output stays. "
                       "Then uploads of parts are aborted: no job may be writing there.",
               .arguments = "URL",
               .arguments_min = 1,
               .arguments_max = 1,
               .own = own_options},
    .execute = clean_leftover_commits};

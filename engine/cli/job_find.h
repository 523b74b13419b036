/* The arguments of a job that are paths: its outputs, and the input that --input gives. */
#ifndef GLINT_CLI_JOB_FIND_H
#define GLINT_CLI_JOB_FIND_H

#include "engine/base/mem.h"
#include "engine/cli/options.h"

/* The argument that --input replaces. */
#define JOB_INPUT "INPUT"

/* Returns the index of the positional argument with this name; `count`: none of the `count` given.
 */
uint32_t job_argument_index(const struct glint_job *job, uint32_t count, const char *name);
bool job_has_argument(const struct glint_job *job, const char *name);
/* Returns the path of an output, an argument or option in job->outputs; NULL: not given. */
const char *job_output_path(const struct glint_job *job, const struct glint_job_args *args,
                            const char *name);
/* Inserts the paths of --input, as a list (input/input.h) in `list`, as the job's argument INPUT.
 * Does nothing if the option is not given. Returns 0, USAGE or NO_MEMORY. */
int job_insert_input(const struct glint_job *job, struct cli_line *line, struct buffer *list,
                     struct glint_error *error);

#endif

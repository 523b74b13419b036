/* Jobs on a command line, for submit, explain and stage. */
#ifndef GLINT_CLI_JOB_H
#define GLINT_CLI_JOB_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/cli/cli.h"

/* Finds the job that argv names, which may be anywhere among options; ignores argv[0]. *out_at: the
 * job's index in argv. Returns NULL with *error set, or with code 0 if only --help was given. */
const struct glint_job *job_find(const struct cli_program *program, const char *command, int argc,
                                 char **argv, int *out_at, struct glint_error *error);

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

struct stage_session;
/* Runs the job that argv names as far as the session says, with the reports of `glint submit`.
 * Returns an exit status. */
int job_run_staged(const struct cli_program *program, const char *command,
                   struct stage_session *stage, int argc, char **argv);

#endif

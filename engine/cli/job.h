/* Jobs on a command line, for submit, explain and stage. */
#ifndef GLINT_CLI_JOB_H
#define GLINT_CLI_JOB_H

#include "engine/base/error.h"
#include "engine/cli/cli.h"

/* Finds the job that argv names, which may be anywhere among options; ignores argv[0]. *out_at: the
 * job's index in argv. Returns NULL with *error set, or with code 0 if only --help was given. */
const struct glint_job *job_find(const struct cli_program *program, const char *command, int argc,
                                 char **argv, int *out_at, struct glint_error *error);

struct stage_session;
/* Runs the job that argv names as far as the session says, with the reports of `glint submit`.
 * Returns an exit status. */
int job_run_staged(const struct cli_program *program, const char *command,
                   struct stage_session *stage, int argc, char **argv);

#endif

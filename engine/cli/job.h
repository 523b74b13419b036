/* Running one job from a command line: what submit and explain share. */
#ifndef GLINT_CLI_JOB_H
#define GLINT_CLI_JOB_H

#include "engine/base/error.h"
#include "engine/cli/cli.h"

/* Finds the job that the words name, wherever it stands among options; argv[0] is passed over.
 * *out_at: its place in argv. NULL: *error says why, or, with code 0, only --help was asked for. */
const struct glint_job *job_find(const struct cli_program *program, const char *command, int argc,
                                 char **argv, int *out_at, struct glint_error *error);
/* The whole verb; `command` is "glint submit" or "glint explain". Answers the exit status. */
int job_command_run(const struct cli_program *program, const char *command, bool explain, int argc,
                    char **argv);

#endif

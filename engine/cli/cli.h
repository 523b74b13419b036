/* The `glint` command, as a table: whoever has a main() says which jobs, operators, functions and
 * further verbs there are, and cli_main does the rest. Nothing here knows a job by name.
 *
 * All calls: the main thread. Errors are printed where they are found, in one form (cli/print.h),
 * so a verb answers nothing but the exit status of the process. */
#ifndef GLINT_CLI_CLI_H
#define GLINT_CLI_CLI_H

#include "engine/glint.h"

struct op;
struct cli_program;

/* One verb. `argv[0]` is its name and argv[argc] is NULL, as in main. Answers an exit status. */
struct cli_command {
    const char *name;
    const char *summary; /* one line, lower case, no full stop */
    const char *usage;   /* what follows the name: "info|query|export PATH..." */
    int (*run)(const struct cli_program *program, int argc, char **argv);
};

/* Constant; every list ends with NULL. */
struct cli_program {
    const char *name;
    const struct glint_job *const *jobs;
    const struct op *const *ops;
    const struct glint_module *const *modules;
    const struct cli_command *const *commands; /* beside submit, explain, version and help */
};

/* The whole process: makes standard streams safe, runs the verb, flushes standard output. Answers
 * what main must return. */
int cli_main(const struct cli_program *program, int argc, char **argv);

/* A verb that has verbs of its own: runs the one named by argv[1], or prints their list for --help.
 * `command` is what stands before the name in usage lines: "glint filter". */
int cli_dispatch(const struct cli_program *program, const char *prefix, const char *about,
                 const struct cli_command *const *commands, int argc, char **argv);

#endif

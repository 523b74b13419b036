/* The `glint` command line, as a table: the program's main() lists jobs, operators, functions and
 * additional commands, and cli_main does the rest. Nothing here depends on a particular job.
 *
 * Main thread only. Errors are printed where they occur, in one format (cli/print.h), so a command
 * returns only the exit status of the process. */
#ifndef GLINT_CLI_CLI_H
#define GLINT_CLI_CLI_H

#include "engine/glint.h"

struct op;
struct cli_program;
struct cli_syntax;
struct cli_line;

/* One command. `argv[0]` is its name and argv[argc] is NULL, as in main. Returns an exit status. */
struct cli_command {
    const char *name;
    const char *summary; /* one line, lower case, no full stop */
    int (*run)(const struct cli_program *program, int argc, char **argv);
};

/* Constant; every list ends with NULL. */
struct cli_program {
    const char *name;
    const struct glint_job *const *jobs;
    const struct op *const *ops;
    const struct glint_module *const *modules;
    /* In addition to the built-in ones (cli/commands.h). */
    const struct cli_command *const *commands;
};

/* The whole process: opens missing standard streams, runs the command, flushes standard output.
 * Returns what main must return. */
int cli_main(const struct cli_program *program, int argc, char **argv);

/* For a command without subcommands: parses its line, and runs it or prints its help. Prints the
 * error that `run` sets. Returns the exit status. */
int cli_run(const struct cli_program *program, const struct cli_syntax *syntax, int argc,
            char **argv,
            void (*run)(const struct cli_program *program, const struct cli_line *line,
                        struct glint_error *error));

/* For a command with subcommands: runs the one that argv[1] names, or prints the list for --help.
 * `prefix` precedes the name in usage lines: "glint filter". Returns the exit status. */
int cli_dispatch(const struct cli_program *program, const char *prefix, const char *about,
                 const struct cli_command *const *commands, int argc, char **argv);

#endif

/* The `glint` command line, as a table: the program's main() lists jobs, operators, functions and
 * additional commands, and cli_main does the rest. Nothing here depends on a particular job.
 *
 * Main thread only. Errors are printed where they occur, in one format (cli/print.h), so a command
 * returns only the exit status of the process. */
#ifndef GLINT_CLI_CLI_H
#define GLINT_CLI_CLI_H

#include "engine/cli/options.h"
#include "engine/plan/context_config.h"

/* One command, of one of three kinds. */
struct cli_command {
    const char *name;
    const char *summary; /* one line, lower case, no full stop */
    struct cli_syntax syntax;
    /* Runs a parsed line. The caller prints the error that it sets, or flushes standard output. */
    void (*execute)(const struct cli_line *line, struct glint_error *error);
    /* Or: the subcommands; ends with NULL. The syntax has only `command` and `summary`. */
    const struct cli_command *const *commands;
    /* Or: parses its own line. `argv[0]` is its name and argv[argc] is NULL, as in main. Returns an
     * exit status. */
    int (*run)(const struct cli_program *program, int argc, char **argv);
};

/* A library, for `glint version --libraries`. */
struct cli_library {
    const char *name;
    const char *version; /* of the running code, if the library has a function that returns it */
    const char *symbol;  /* one of its symbols; NULL: headers only */
};

/* Constant; every list ends with NULL. */
struct cli_program {
    const char *name, *summary;
    const struct glint_job *const *jobs;
    const struct op *const *ops;
    const struct glint_module *const *modules; /* functions in addition to those of the jobs */
    /* In addition to the built-in ones (below). */
    const struct cli_command *const *commands;
    /* Of the jobs, in addition to those of the engine; ends with a NULL name; may be NULL. */
    const struct cli_library *libraries;
    const struct cli_alias *aliases; /* of options of its jobs; as in struct cli_syntax */
};

/* The whole process, where the name of a job is short for `submit` and that name: opens missing
 * standard streams, runs the command, flushes standard output. Returns what main must return. */
int cli_main(const struct cli_program *program, int argc, char **argv);

/* Returns a command of glint, "glint submit", with the program's own name in front. */
#define CLI_COMMAND_BYTES 128
const char *cli_own_command(const struct cli_program *program, const char *command,
                            char out[CLI_COMMAND_BYTES]);

/* Runs the command that argv[1] names, which may have subcommands. Returns the exit status. */
int cli_run_words(const struct cli_program *program, int argc, char **argv);

/* The built-in commands of every glint program; one file each. */
extern const struct cli_command cmd_submit, cmd_explain, cmd_executor, cmd_status, cmd_cancel,
    cmd_history, cmd_clean, cmd_stage, cmd_config, cmd_secret, cmd_version, cmd_help;

/* ---- Help, from the tables of commands and jobs, to standard output */

enum help_format {
    HELP_TEXT,  /* for people: --help */
    HELP_MAN,   /* a page in man(7) format */
    HELP_WORDS, /* for completion: WORD TAB SUMMARY for each word that may follow; an option that
                 * takes a value is --NAME=PLACEHOLDER */
};

/* Prints usage and options. */
void help_print_syntax(const struct cli_syntax *syntax);
/* The same for a command whose syntax has the name "glint ...". Returns its exit status. */
int help_print_own(const struct cli_program *program, const struct cli_syntax *syntax);
/* Prints the commands of a group, whose syntax.command is its name with the program's own. */
void help_print_group(const struct cli_command *group);
/* Prints the jobs; follows one of the above. */
void help_print_jobs(const struct cli_program *program);
/* cli_line_parse for commands: prints errors, and the help if requested. Returns false if the
 * command must end with *status; no cli_line_fini is needed then. */
bool cli_line_parse_or_report(struct cli_line *line, const struct cli_syntax *syntax, int argc,
                              char **argv, int *status);

/* Finds the job that argv names, which may be anywhere among options; ignores argv[0]. *out_at: the
 * job's index in argv. Returns NULL with *error set, or with code 0 if only --help was given. */
const struct glint_job *job_find(const struct cli_program *program, const char *command, int argc,
                                 char **argv, int *out_at, struct glint_error *error);
/* Returns the rows for struct cli_syntax.common: job_keys and the options of a cluster. */
const struct glint_job_option *settings_option_table(void);

#endif

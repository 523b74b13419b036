/* Options and arguments of any verb, from tables that also make its help. The tables have the form
 * of a job's own (struct glint_job_option), so jobs and verbs are parsed, checked and described
 * alike.
 *
 * Options may stand before or after arguments; "--" ends them. Names must be written out: an
 * abbreviation that works today would mean something else once a job gets a longer option. */
#ifndef GLINT_CLI_OPTIONS_H
#define GLINT_CLI_OPTIONS_H

#include "engine/base/error.h"
#include "engine/glint.h"

#include <stdbool.h>

#define CLI_OPTIONS_MAX   64u /* of one command, all tables together */
#define CLI_ARGUMENTS_ANY UINT32_MAX

/* What one command takes. Everything is borrowed. --help, -h is known everywhere; rows without a
 * help text work and are not shown. -q and -v are short for rows named quiet and verbose. */
struct cli_syntax {
    const char *command;   /* "glint submit count-keys" */
    const char *summary;   /* one line */
    const char *help;      /* more, may be NULL */
    const char *arguments; /* as the usage line shows them: "INPUT OUTPUT"; NULL: none */
    uint32_t arguments_min, arguments_max;
    const struct glint_job_option *own;    /* these two end with a NULL name and may be NULL; */
    const struct glint_job_option *common; /* they share no names */
    const char *common_title;              /* of the common ones, where there are own ones, too */
};

struct cli_line {
    const struct cli_syntax *syntax;
    const char *values[CLI_OPTIONS_MAX]; /* by row: own, common, help; NULL: not given */
    const char **arguments;              /* in argv */
    uint32_t argument_count;
    bool help; /* --help was there: nothing else has been checked */
};

/* argv[0] is passed over, argv stays as it is. False: *error says why. cli_line_fini in any case.
 */
bool cli_line_parse(struct cli_line *line, const struct cli_syntax *syntax, int argc, char **argv,
                    struct glint_error *error);
void cli_line_fini(struct cli_line *line);

/* cli_line_parse for verbs: prints errors, and the help where it is asked for. False: the verb is
 * over, with *status, and needs no cli_line_fini. */
bool cli_line_parse_or_report(struct cli_line *line, const struct cli_syntax *syntax, int argc,
                              char **argv, int *status);

/* What was given, or the preset, or NULL. The name must be in one of the tables. */
const char *cli_line_option(const struct cli_line *line, const char *name);
/* Was it given, on this line? A preset does not count. */
bool cli_line_has(const struct cli_line *line, const char *name);
bool cli_line_flag(const struct cli_line *line, const char *name);

/* The n-th row over all tables; NULL behind the last. */
const struct glint_job_option *cli_syntax_row(const struct cli_syntax *syntax, uint32_t n);
/* The row of that name in a table (may be NULL), of which `size` bytes count; NULL: none. */
const struct glint_job_option *cli_option_find(const struct glint_job_option *table,
                                               const char *name, size_t size);
/* Prints usage and options on standard output; false without memory. */
bool cli_syntax_help(const struct cli_syntax *syntax);
/* The error for an option that is in no table; `nearest` may be NULL. */
void cli_unknown_option(struct glint_error *error, const char *command, const char *option,
                        const char *suggest);

#endif

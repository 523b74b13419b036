/* Prints the help of commands and jobs to standard output, from their tables. Main thread only. */
#ifndef GLINT_CLI_HELP_H
#define GLINT_CLI_HELP_H

#include "engine/cli/cli.h"

enum help_format {
    HELP_TEXT,  /* for people: --help */
    HELP_MAN,   /* a page in man(7) format */
    HELP_WORDS, /* for completion: WORD TAB SUMMARY for each word that may follow; an option that
                 * takes a value is --NAME=PLACEHOLDER */
};

/* Prints usage and options. */
void help_print_syntax(const struct cli_syntax *syntax);
/* Prints the commands of a group, whose syntax.command is its name with the program's own. */
void help_print_commands(const struct cli_command *group);
/* Prints the jobs; follows one of the above. */
void help_print_jobs(const struct cli_program *program);

#endif

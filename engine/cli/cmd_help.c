/* glint help [--man|--words] [COMMAND|JOB [NAME]]: prints the same text as --help, a manual page,
 * or words for completion. */
#include "engine/cli/commands.h"
#include "engine/cli/help.h"
#include "engine/cli/print.h"

#include <string.h>

enum { WORDS_MAX = 8 };

static const struct glint_job_option options[] = {
    {"man", NULL, NULL, "print a manual page, as in: glint help --man submit | man -l -"},
    {"words", NULL, NULL, "print the words that may follow, for completion"},
    {.name = NULL}};

static int print_own_help(const struct cli_program *program)
{
    char name[CLI_COMMAND_BYTES];
    const struct cli_syntax syntax = {.command = cli_own_command(program, "glint help", name),
                                      .summary = "Describes a command or a job, as its --help.",
                                      .arguments = "[COMMAND|JOB [NAME]]",
                                      .own = options};
    help_print_syntax(&syntax);
    return cli_flush_stdout(0);
}

static int help_run(const struct cli_program *program, int argc, char **argv)
{
    static char help[] = "--help", submit[] = "submit";
    char *words[WORDS_MAX + 4];
    int count = 0, first = 1;
    const char *option = argc > 1 ? argv[1] : "";
    if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) return print_own_help(program);
    if (strcmp(option, "--man") == 0) help_set_format(HELP_MAN);
    if (strcmp(option, "--words") == 0) help_set_format(HELP_WORDS);
    if (strcmp(option, "--man") == 0 || strcmp(option, "--words") == 0) first = 2;
    words[count++] = argv[0];
    /* The help of a job is printed by submit. */
    for (uint32_t i = 0; argc > first && program->jobs[i] != NULL; i++)
        if (strcmp(program->jobs[i]->name, argv[first]) == 0) words[count++] = submit;
    for (int i = first; i < argc && i < first + WORDS_MAX; i++) words[count++] = argv[i];
    words[count++] = help;
    words[count] = NULL;
    return cli_run_words(program, count, words);
}

const struct cli_command cmd_help = {
    .name = "help", .summary = "describe a command or a job", .run = help_run};

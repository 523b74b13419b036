/* glint help [COMMAND|JOB [NAME]]: prints the same text as --help. */
#include "engine/cli/commands.h"
#include "engine/cli/print.h"

#include <string.h>

enum { WORDS_MAX = 8 };

static const struct cli_command *find_command(const struct cli_program *program, const char *name)
{
    const struct cli_command *commands[CLI_COMMANDS_MAX + 1];
    cli_commands(program, commands);
    for (uint32_t i = 0; commands[i] != NULL; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static int help_run(const struct cli_program *program, int argc, char **argv)
{
    static char help[] = "--help";
    char *words[WORDS_MAX + 3];
    int count = 0;
    words[count++] = argv[0];
    bool about_job = false;
    for (uint32_t i = 0; argc > 1 && program->jobs[i] != NULL; i++)
        about_job = about_job || strcmp(program->jobs[i]->name, argv[1]) == 0;
    for (int i = 1; i < argc && i <= WORDS_MAX; i++) words[count++] = argv[i];
    words[count++] = help;
    words[count] = NULL;
    /* The help of a job is printed by submit. */
    if (about_job) return cmd_submit.run(program, count, words);
    const struct cli_command *command = argc > 1 ? find_command(program, argv[1]) : NULL;
    if (command != NULL && command != &cmd_help) return command->run(program, count - 1, words + 1);
    const struct cli_command *commands[CLI_COMMANDS_MAX + 1];
    cli_commands(program, commands);
    if (command == &cmd_help) words[1] = help;
    return cli_dispatch(program, program->name, cli_about, commands, count, words);
}

const struct cli_command cmd_help = {.name = "help",
                                     .summary = "describe a command or a job",
                                     .usage = "[COMMAND|JOB]",
                                     .run = help_run};

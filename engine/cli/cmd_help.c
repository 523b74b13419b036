/* glint help [--man|--words] [COMMAND|JOB [NAME]]: prints the same text as --help, as a manual
 * page, or as words for completion. */
#include "engine/cli/commands.h"
#include "engine/cli/help.h"

#include <string.h>

enum { WORDS_MAX = 8 };

static int help_run(const struct cli_program *program, int argc, char **argv)
{
    static char help[] = "--help", submit[] = "submit";
    char *words[WORDS_MAX + 4];
    int count = 0;
    if (argc > 1 && strcmp(argv[1], "--man") == 0) help_set_format(HELP_MAN);
    if (argc > 1 && strcmp(argv[1], "--words") == 0) help_set_format(HELP_WORDS);
    const int options =
        argc > 1 && strncmp(argv[1], "--", 2) == 0 && strcmp(argv[1], "--help") != 0;
    argc -= options;
    argv += options;
    words[count++] = argv[0];
    /* The help of a job is printed by submit. */
    for (uint32_t i = 0; argc > 1 && program->jobs[i] != NULL; i++)
        if (strcmp(program->jobs[i]->name, argv[1]) == 0) words[count++] = submit;
    for (int i = 1; i < argc && i <= WORDS_MAX; i++) words[count++] = argv[i];
    words[count++] = help;
    words[count] = NULL;
    return cli_run_words(program, count, words);
}

const struct cli_command cmd_help = {
    .name = "help", .summary = "describe a command or a job", .run = help_run};

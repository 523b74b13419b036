/* glint help [VERB|JOB [NAME]]: the same text as --help, for those who ask this way. */
#include "engine/cli/print.h"
#include "engine/cli/verbs.h"

#include <string.h>

enum { WORDS_MAX = 8 };

static const struct cli_verb *find_verb(const struct cli_program *program, const char *name)
{
    const struct cli_verb *verbs[CLI_VERBS_MAX + 1];
    cli_verbs(program, verbs);
    for (uint32_t i = 0; verbs[i] != NULL; i++)
        if (strcmp(verbs[i]->name, name) == 0) return verbs[i];
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
    if (about_job) return verb_submit.run(program, count, words);
    const struct cli_verb *verb = argc > 1 ? find_verb(program, argv[1]) : NULL;
    if (verb != NULL && verb != &verb_help) return verb->run(program, count - 1, words + 1);
    const struct cli_verb *verbs[CLI_VERBS_MAX + 1];
    cli_verbs(program, verbs);
    if (verb == &verb_help) words[1] = help;
    return cli_dispatch(program, program->name, cli_about, verbs, count, words);
}

const struct cli_verb verb_help = {
    .name = "help", .summary = "describe a verb or a job", .usage = "[VERB|JOB]", .run = help_run};

/* Finds the job's name on the command line. Before the job is known, it is unknown whether a word
 * is the value of an option: "--ratio 0.5" is an option and its value only for a job with that
 * option. So options before the name are looked up in the tables of all jobs; the line is then
 * parsed again with the job's own table. */
#include "engine/base/text.h"
#include "engine/cli/job.h"
#include "engine/cli/settings.h"
#include "engine/cli/suggest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct glint_job_option *find_anywhere(const struct cli_program *program,
                                                    const char *name, size_t size)
{
    const struct glint_job_option *row = cli_option_find(settings_options(), name, size);
    for (uint32_t i = 0; row == NULL && program->jobs[i] != NULL; i++)
        row = cli_option_find(program->jobs[i]->options, name, size);
    return row;
}

static void unknown_option(const struct cli_program *program, const char *command, const char *name,
                           size_t size, struct glint_error *error)
{
    char option[128 + 2];
    text_format(option, sizeof option, "--%.*s", (int)size, name);
    struct suggest suggest;
    suggest_init(&suggest, option + 2);
    cli_offer_options(&suggest, settings_options());
    for (uint32_t i = 0; program->jobs[i] != NULL; i++)
        cli_offer_options(&suggest, program->jobs[i]->options);
    cli_unknown_option(error, command, option, suggest.name);
}

static const struct glint_job *find_name(const struct cli_program *program, const char *command,
                                         const char *name, struct glint_error *error)
{
    struct suggest suggest;
    suggest_init(&suggest, name);
    for (uint32_t i = 0; program->jobs[i] != NULL; i++) {
        if (strcmp(program->jobs[i]->name, name) == 0) return program->jobs[i];
        suggest_offer(&suggest, program->jobs[i]->name);
    }
    char hint[128];
    if (suggest.name != NULL)
        snprintf(hint, sizeof hint, "did you mean %s?  all jobs: %s --help", suggest.name, command);
    else
        snprintf(hint, sizeof hint, "all jobs: %s --help", command);
    error_set(error, GLINT_E_UNKNOWN_JOB, hint, "unknown job %s", name);
    return NULL;
}

/* Returns true if the option's value is the next argument; false with *error set if no job has it.
 */
static bool value_follows(const struct cli_program *program, const char *command, const char *word,
                          struct glint_error *error)
{
    assert(word[0] == '-' && word[1] == '-');
    const char *name = word + 2, *end = strchrnul(word, '=');
    size_t size = (size_t)(end - name);
    if (size == 4 && memcmp(name, "help", 4) == 0) return false;
    const struct glint_job_option *row = find_anywhere(program, name, size);
    if (row == NULL) unknown_option(program, command, name, size, error);
    return row != NULL && cli_option_takes_next(row) && *end == '\0';
}

const struct glint_job *job_find(const struct cli_program *program, const char *command, int argc,
                                 char **argv, int *out_at, struct glint_error *error)
{
    bool help = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        bool ended = strcmp(word, "--") == 0;
        /* After "--" the next argument is the job, even if it starts with a dash. */
        if (ended && ++i == argc) break;
        if (ended || word[0] != '-') {
            *out_at = i;
            return find_name(program, command, argv[i], error);
        }
        help = help || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
        if (word[1] == '-' && value_follows(program, command, word, error)) i++;
        if (error->code != GLINT_OK) return NULL;
    }
    if (help) return NULL;
    char hint[128];
    snprintf(hint, sizeof hint, "usage: %s JOB ARGUMENTS... [OPTION...]", command);
    error_set(error, GLINT_E_USAGE, hint, "the job's name is missing");
    return NULL;
}

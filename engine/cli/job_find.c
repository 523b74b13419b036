/* Finds the job's name on the command line. Before the job is known, it is unknown whether a word
 * is the value of an option: "--ratio 0.5" is an option and its value only for a job with that
 * option. So options before the name are looked up in the tables of all jobs; the line is then
 * parsed again with the job's own table. */

#include "engine/base/text.h"
#include "engine/cli/job.h"
#include "engine/cli/options.h"
#include "engine/cli/settings.h"
#include "engine/cli/suggest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- Access to a job's options. glint_job_args.options points to the parsed command line. */

/* False with the context's error set if the job's table does not have the option. */
static bool option_exists(const struct cli_line *line, const char *name)
{
    if (name != NULL && cli_option_find(line->syntax->own, name, strlen(name)) != NULL) return true;
    glint_abort(line->context, GLINT_E_PLAN_ARGUMENT, "add it to the job's table of options",
                "the job of \"%s\" reads the option --%s, which it does not have",
                line->syntax->command, name != NULL ? name : "(NULL)");
    return false;
}

const char *glint_job_option(const struct glint_job_args *args, const char *name)
{
    return option_exists(args->options, name) ? cli_line_option(args->options, name) : NULL;
}

bool glint_job_given(const struct glint_job_args *args, const char *name)
{
    return option_exists(args->options, name) && cli_line_has(args->options, name);
}

/* The value of an option that must have one; NULL with the context's error set. */
static const char *required_option_value(struct glint *g, const struct glint_job_args *args,
                                         const char *name)
{
    const char *text = glint_job_option(args, name);
    if (text == NULL) /* no effect if the option does not exist */
        glint_abort(g, GLINT_E_PLAN_ARGUMENT,
                    "give it a default, or ask first if it is set: glint_job_option",
                    "the job reads --%s as a number; it is not set, and has no default",
                    name != NULL ? name : "(NULL)");
    return text;
}

int64_t glint_job_i64(struct glint *g, const struct glint_job_args *args, const char *name,
                      int64_t min, int64_t max)
{
    assert(min <= max);
    const char *text = required_option_value(g, args, name);
    int64_t value;
    if (text == NULL) return min;
    if (text_parse_i64((const uint8_t *)text, strlen(text), &value) && value >= min && value <= max)
        return value;
    glint_abort(g, GLINT_E_BAD_VALUE, NULL, "--%s %s: it must be a whole number from %lld to %lld",
                name, text, (long long)min, (long long)max);
    return min;
}

double glint_job_f64(struct glint *g, const struct glint_job_args *args, const char *name)
{
    const char *text = required_option_value(g, args, name);
    double value;
    if (text == NULL) return 0;
    if (text_parse_f64((const uint8_t *)text, strlen(text), &value)) return value;
    glint_abort(g, GLINT_E_BAD_VALUE, NULL, "--%s %s: it must be a number", name, text);
    return 0;
}

bool glint_parse_f64(struct glint_slice text, double *out)
{
    return text_parse_f64(text.data, text.size, out);
}

bool glint_parse_i64(struct glint_slice text, int64_t *out)
{
    return text_parse_i64(text.data, text.size, out);
}

/* ---- A job gets a list of paths in one text, in which a comma that belongs to a name
 * has a backslash before it. */

uint32_t job_argument_index(const struct glint_job *job, uint32_t count, const char *name)
{
    uint32_t names = 0;
    while (job->positional[names] != NULL) names++;
    assert(count <= names);
    uint32_t left_out = names - count; /* optional arguments are the first ones */
    for (uint32_t i = left_out; i < names; i++)
        if (strcmp(job->positional[i], name) == 0) return i - left_out;
    return count;
}

bool job_has_argument(const struct glint_job *job, const char *name)
{
    for (uint32_t i = 0; job->positional[i] != NULL; i++)
        if (strcmp(job->positional[i], name) == 0) return true;
    return false;
}

const char *job_output_path(const struct glint_job *job, const struct glint_job_args *args,
                            const char *name)
{
    const uint32_t index = job_argument_index(job, args->count, name);
    return index < args->count ? args->positional[index] : glint_job_option(args, name);
}

/* Backslashes before a comma, of the name or of the list, are doubled. */
static bool append_backslashes(struct buffer *list, uint64_t count)
{
    for (; count > 0; count--)
        if (!buffer_append(list, "\\", 1)) return false;
    return true;
}

static bool append_path_to_list(struct buffer *list, const char *path, bool last)
{
    uint64_t backslashes = 0; /* just before this byte */
    for (const char *p = path; *p != '\0'; p++) {
        if (*p == ',' && !append_backslashes(list, backslashes + 1)) return false;
        backslashes = *p == '\\' ? backslashes + 1 : 0;
        if (!buffer_append(list, p, 1)) return false;
    }
    return last || (append_backslashes(list, backslashes) && buffer_append(list, ",", 1));
}

int job_insert_input(const struct glint_job *job, struct cli_line *line, struct buffer *list,
                     struct glint_error *error)
{
    uint32_t at = 0;
    const char *path = cli_line_value(line, "input", &at);
    if (path == NULL) return 0;
    if (!job_has_argument(job, JOB_INPUT))
        return error_set(error, GLINT_E_USAGE, "give its inputs as arguments",
                         "--input: the job %s has no argument " JOB_INPUT, job->name);
    bool ok = true;
    while (path != NULL && ok) {
        const char *next = cli_line_value(line, "input", &at);
        ok = append_path_to_list(list, path, next == NULL);
        path = next;
    }
    if (!ok || !buffer_append(list, "", 1)) return error_no_memory(error);
    /* Jobs whose optional arguments are left out may have INPUT first. */
    uint32_t index = job_argument_index(job, line->argument_count + 1, JOB_INPUT);
    if (index > line->argument_count) index = 0;
    memmove(line->arguments + index + 1, line->arguments + index,
            (line->argument_count - index) * sizeof *line->arguments);
    line->arguments[index] = (const char *)list->data;
    line->argument_count++;
    return 0;
}

/* ---- job find */

static const struct glint_job_option *find_option_of_any_job(const struct cli_program *program,
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

static const struct glint_job *find_job_by_name(const struct cli_program *program,
                                                const char *command, const char *name,
                                                struct glint_error *error)
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
static bool option_takes_next_word(const struct cli_program *program, const char *command,
                                   const char *word, struct glint_error *error)
{
    assert(word[0] == '-' && word[1] == '-');
    const char *name = word + 2, *end = strchrnul(word, '=');
    size_t size = (size_t)(end - name);
    if (size == 4 && memcmp(name, "help", 4) == 0) return false;
    const struct glint_job_option *row = find_option_of_any_job(program, name, size);
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
            return find_job_by_name(program, command, argv[i], error);
        }
        help = help || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
        if (word[1] == '-' && option_takes_next_word(program, command, word, error)) i++;
        if (error->code != GLINT_OK) return NULL;
    }
    if (help) return NULL;
    char hint[128];
    snprintf(hint, sizeof hint, "usage: %s JOB ARGUMENTS... [OPTION...]", command);
    error_set(error, GLINT_E_USAGE, hint, "the job's name is missing");
    return NULL;
}

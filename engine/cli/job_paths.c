/* See job_paths.h. A job gets a list of paths in one text, in which a comma that belongs to a name
 * has a backslash before it. */
#include "engine/cli/job_paths.h"

#include <assert.h>
#include <string.h>

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

static bool append_path(struct buffer *list, const char *path, bool last)
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
        ok = append_path(list, path, next == NULL);
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

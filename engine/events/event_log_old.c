/* An event log that exists already is replaced; any other file is left alone. */
#include "engine/events/event_log.h"

#include <errno.h>
#include <string.h>

/* Returns the text after `name` and one or more of `characters`, or NULL if it does not match. */
static const char *skip_field(const char *text, const char *name, const char *characters)
{
    if (text == NULL || strncmp(text, name, strlen(name)) != 0) return NULL;
    size_t size = strspn(text + strlen(name), characters);
    return size > 0 ? text + strlen(name) + size : NULL;
}

/* Whether the text begins like the first line of every log (event_log_job_start). */
static bool starts_as_event_log(const char *text)
{
    text = skip_field(text, "{\"schema\":", "0123456789");
    text = skip_field(text, ",\"event\":\"job\",\"ms\":", "0123456789.");
    text = skip_field(text, ",\"time\":\"", "0123456789-:.TZ");
    text = skip_field(text, "\",\"id\":\"", "0123456789abcdef");
    return text != NULL && strncmp(text, "\",", 2) == 0;
}

/* Returns why the file may not be replaced, or NULL. */
static const char *why_not_replaceable(struct env *env, int file, const struct env_stat *stat)
{
    char text[128] = "";
    if (stat->kind != ENV_FILE) return "is not an event log";
    if (!stat->mine) return "belongs to another user";
    int64_t n = env_read_full(env, file, text, sizeof text - 1, 0);
    return n == 0 || starts_as_event_log(text) ? NULL : "is not an event log";
}

/* Removes an existing event log or empty file of this user; rejects anything else, so that a
 * mistyped --event-log never overwrites another file. Returns 0 or a code. */
int event_log_remove_old(struct env *env, const char *path, struct glint_error *error)
{
    int file = env->open(env, ENV_CWD, path, ENV_READ_NOFOLLOW);
    if (file == -ENOENT) return 0;
    if (file < 0 && file != -ELOOP)
        return error_set_system(error, GLINT_E_OUTPUT_CREATE, file, "open", path);
    struct env_stat stat;
    int r = file >= 0 ? env->stat_open(env, file, &stat) : 0;
    const char *wrong = file == -ELOOP ? "is a symbolic link" : NULL;
    if (file >= 0 && r == 0) wrong = why_not_replaceable(env, file, &stat);
    if (file >= 0) env->close(env, file);
    if (r != 0) return error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "stat", path);
    if (wrong != NULL)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "name another file, or remove it",
                         "%s exists and %s", path, wrong);
    r = env->remove(env, ENV_CWD, path, false);
    return r == 0 ? 0 : error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "replace", path);
}

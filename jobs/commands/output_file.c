/* The output of a command is written under a hidden name until it is complete, so that a failed
 * command does not change an existing file. */
#include "jobs/commands/output_file.h"

#include "engine/base/text.h"
#include "engine/cli/signals.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

/* A directory or a device is never replaced, whatever the options are. */
static int check_output_file_replaceable(const struct output_file *f)
{
    struct env_stat stat;
    if (f->env->stat(f->env, f->output, &stat) != 0) return GLINT_OK;
    if (stat.kind != ENV_FILE)
        return error_set(f->error, GLINT_E_OUTPUT_EXISTS,
                         "name a file; without a name, the output goes to standard output",
                         "%s is not a regular file", f->output);
    if (f->overwrite) return GLINT_OK;
    return error_set(f->error, GLINT_E_OUTPUT_EXISTS, "name another file, or add --overwrite",
                     "%s exists", f->output);
}

int output_file_open(struct output_file *f, struct env *env, const char *output, bool overwrite,
                     struct glint_error *error)
{
    const bool is_file = output != NULL && strcmp(output, "-") != 0;
    *f = (struct output_file){.env = env,
                              .output = is_file ? output : NULL,
                              .overwrite = overwrite,
                              .file = STDOUT_FILENO,
                              .error = error};
    if (!is_file) return GLINT_OK;
    int code = atomic_output_init(&f->atomic, env, output, error);
    if (code == 0) code = check_output_file_replaceable(f);
    if (code != 0) return code;
    f->file = env->open(env, ENV_CWD, f->atomic.hidden, ENV_CREATE_PUBLIC);
    if (f->file < 0)
        return error_set_system(error, GLINT_E_OUTPUT_CREATE, f->file, "create", f->atomic.path);
    signals_start("a hidden file next to the output remains");
    return GLINT_OK;
}

int output_file_write(struct output_file *f, const void *data, uint64_t size)
{
    assert(f->file >= 0);
    int failed = env_write_all(f->env, f->file, data, size);
    if (failed == 0) return GLINT_OK;
    if (f->output != NULL)
        return error_set_system(f->error, GLINT_E_OUTPUT_IO, failed, "write", f->output);
    return error_set(f->error, GLINT_E_STDOUT_IO, NULL, "cannot write to standard output: %s",
                     strerror(-failed));
}

int output_file_close(struct output_file *f, int code)
{
    struct env *env = f->env;
    if (f->output == NULL) return code;
    int closed = env->close(env, f->file);
    if (code == 0 && closed != 0)
        code = error_set_system(f->error, GLINT_E_OUTPUT_IO, closed, "close", f->atomic.path);
    if (code == 0)
        code = atomic_output_publish(
            &f->atomic, env, f->overwrite ? ENV_RENAME_REPLACE : ENV_RENAME_NOREPLACE, f->error);
    if (code == 0) return code;
    int left = env->remove(env, ENV_CWD, f->atomic.hidden, false);
    text_format(f->error->effect, sizeof f->error->effect, "%s is unchanged%s%s", f->atomic.path,
                left != 0 ? "; remaining files: " : "", left != 0 ? f->atomic.hidden : "");
    return code;
}

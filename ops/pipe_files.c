/* Files of a command: broadcasts, which an executor writes to its work directory when a command
 * first needs them. They are removed with the broadcast (executor.c), or at the executor's end. */
#include "engine/base/text.h"
#include "ops/pipe.h"

#include <errno.h>

#define PYTHON        "python"
#define PYTHON_NORMAL "python3" /* found in $PATH */

/* Attempts in this process may write at the same time: each has a file; the last rename wins. */
static int write_command_file(struct glint_task *task, const char *path, struct glint_slice data)
{
    struct env *env = task->env;
    char attempt[PATH_MAX];
    if (!text_format(attempt, sizeof attempt, "%s.%llu", path,
                     (unsigned long long)task->attempt_id))
        return -ENAMETOOLONG;
    const int file = env->open(env, ENV_CWD, attempt, ENV_CREATE);
    if (file < 0) return file;
    int r = env_write_all(env, file, data.data, data.size);
    env->close(env, file);
    if (r == 0) r = env->rename(env, ENV_CWD, attempt, ENV_CWD, path, ENV_RENAME_REPLACE);
    if (r != 0) (void)env->remove(env, ENV_CWD, attempt, false); /* the first error counts */
    return r;
}

/* Returns the path of the file, in the task's arena; NULL with the task's error set. */
static const char *find_command_file(struct glint_task *task, const char *name)
{
    struct env *env = task->env;
    struct glint_slice data;
    struct env_stat stat;
    char path[PATH_MAX];
    uint64_t id;
    if (arg_broadcast_find(task, name, &id, &data) != 0) return NULL;
    if (!task_command_file(task->options, id, path)) {
        error_set(&task->error, GLINT_E_WORK_DIR, "use a shorter work_dir",
                  "the work directory's path is too long");
        return NULL;
    }
    int r = env->stat(env, path, &stat);
    if (r == -ENOENT) r = write_command_file(task, path, data);
    if (r != 0) error_set_system(&task->error, GLINT_E_SPILL_IO, r, "write", path);
    if (r != 0) return NULL;
    const char *copy = arena_strdup(&task->arena, path);
    if (copy == NULL) error_no_memory(&task->error);
    return copy;
}

/* Replaces a word {NAME}REST. */
static int expand_word(struct glint_task *task, char **word)
{
    const char *end = **word == '{' ? strchr(*word, '}') : NULL;
    if (end == NULL) return 0;
    const char *name = arena_format(&task->arena, "%.*s", (int)(end - *word - 1), *word + 1);
    if (name == NULL) return error_no_memory(&task->error);
    const char *python = task->options->python != NULL ? task->options->python : PYTHON_NORMAL;
    const char *path = strcmp(name, PYTHON) == 0 ? python : find_command_file(task, name);
    if (path == NULL) return task->error.code;
    *word = arena_format(&task->arena, "%s%s", path, end + 1);
    return *word != NULL ? 0 : error_no_memory(&task->error);
}

int pipe_files_expand(struct glint_task *task, struct pipe_command *command)
{
    const struct glint_slice before = task->args;
    int r = 0;
    if (command->files.size == 0) return 0;
    task->args = command->files;
    for (char **word = command->words; *word != NULL && r == 0; word++) r = expand_word(task, word);
    for (char **word = command->worker; word != NULL && *word != NULL && r == 0; word++)
        r = expand_word(task, word);
    task->args = before;
    return r;
}

/* See stdout_output.h. */
#include "engine/cli/stdout_output.h"

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/cli/job_find.h"
#include "engine/cli/signals.h"
#include "engine/input/input.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX     "glint-stdout-"
#define DEPTH      2 /* levels of directories: of the output and of its attempts */
#define COPY_BYTES ((size_t)1 << 20)

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

/* Returns the index of the argument; argument_count: none, or with an error. */
static uint32_t find_argument(const struct glint_job *job, const struct cli_line *line,
                              struct glint_error *error)
{
    uint32_t found = line->argument_count;
    for (uint32_t i = 0; job->outputs[i] != NULL; i++) {
        const uint32_t index = job_argument_index(job, line->argument_count, job->outputs[i]);
        if (index == line->argument_count || !is_stdout(line->arguments[index])) continue;
        if (found < line->argument_count) {
            error_set(error, GLINT_E_USAGE, "name a directory for one of them",
                      "two outputs cannot both be standard output");
            return line->argument_count;
        }
        found = index;
    }
    return found;
}

static int make_directory(struct stdout_output *o, const char *parent, struct glint_error *error)
{
    uint64_t id = 0;
    if (parent == NULL) parent = getenv("TMPDIR");
    if (parent == NULL || parent[0] == '\0') parent = "/tmp";
    locked_dir_remove_stale(o->env, parent, PREFIX, DEPTH);
    if (o->env->random(o->env, &id, sizeof id) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    char path[PATH_MAX];
    if (!text_format(path, sizeof path, "%s/" PREFIX "%016llx", parent, (unsigned long long)id))
        return error_set(error, GLINT_E_WORK_DIR, "use a shorter --work-dir",
                         "the work directory's path is too long");
    const int r = locked_dir_create(o->env, path, true, &o->lock);
    if (r != 0) {
        error_set_system(error, GLINT_E_WORK_DIR, r, "create", path);
        if (error->hint[0] == '\0')
            text_format(error->hint, sizeof error->hint, "use a writable directory: --work-dir");
        return error->code;
    }
    memcpy(o->directory, path, sizeof path);
    if (text_format(o->path, sizeof o->path, "%s/output", o->directory)) return 0;
    stdout_output_close(o);
    return error_set(error, GLINT_E_WORK_DIR, "use a shorter --work-dir",
                     "the work directory's path is too long");
}

int stdout_output_open(struct stdout_output *o, struct env *env, const struct glint_job *job,
                       struct cli_line *line, const char *parent, struct glint_error *error)
{
    *o = (struct stdout_output){.env = env, .lock = LOCKED_DIR_NONE};
    const uint32_t index = find_argument(job, line, error);
    if (index == line->argument_count) return error->code;
    const int r = make_directory(o, parent, error);
    if (r == 0) line->arguments[index] = o->path;
    return r;
}

static int copy_part(const struct stdout_output *o, const struct input_file *part, uint8_t *bytes,
                     struct glint_error *error)
{
    struct env *env = o->env;
    const int file = env->open(env, ENV_CWD, part->path, ENV_READ);
    if (file < 0) return error_set_system(error, GLINT_E_OUTPUT_IO, file, "open", part->path);
    int64_t n = 1;
    for (uint64_t at = 0; n > 0 && at < part->size && error->code == GLINT_OK; at += (uint64_t)n) {
        n = env_read_full(env, file, bytes, COPY_BYTES, at);
        const int failed = n > 0 ? env_write_all(env, STDOUT_FILENO, bytes, (uint64_t)n) : 0;
        const enum glint_code stop = signals_pending();
        if (n < 0)
            error_set_system(error, GLINT_E_OUTPUT_IO, (int)n, "read", part->path);
        else if (failed != 0)
            error_set(error, GLINT_E_STDOUT_IO, NULL, "cannot write to standard output: %s",
                      strerror(-failed));
        else if (stop != GLINT_OK)
            error_set(error, stop, NULL, "interrupted by a signal");
    }
    env->close(env, file);
    return error->code;
}

int stdout_output_copy(const struct stdout_output *o, struct glint_error *error)
{
    if (o->path[0] == '\0') return 0;
    fflush(stdout); /* what the job has printed */
    struct input_list parts = {.files = NULL};
    uint8_t *bytes = mem_alloc(COPY_BYTES);
    int r = bytes != NULL ? input_list_resolve(o->env, o->path, INPUT_BINARY, &parts, error)
                          : error_no_memory(error);
    for (uint64_t i = 0; r == 0 && i < parts.count; i++)
        r = copy_part(o, &parts.files[i], bytes, error);
    mem_free(bytes);
    input_list_fini(&parts);
    return r;
}

void stdout_output_close(struct stdout_output *o)
{
    if (o->directory[0] == '\0') return;
    locked_dir_remove(o->env, o->directory, &o->lock, DEPTH);
    locked_dir_unlock(o->env, &o->lock);
    o->directory[0] = o->path[0] = '\0';
}

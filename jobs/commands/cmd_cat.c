/* glint cat: copies the parts of a job's output into one file, like Hadoop's getmerge. The bytes of
 * the parts are concatenated in the order of the parts' names. */
#include "engine/base/mem.h"
#include "engine/cli/signals.h"
#include "engine/data/input.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/output_file.h"

#include <assert.h>
#include <stddef.h>

enum { COPY_BYTES = 1 << 20 };

/* Copies one part, which must still have the size that it had when the parts were listed. */
static int copy_bytes(struct output_file *out, int part, const struct input_file *from,
                      uint8_t *data)
{
    uint64_t at = 0;
    while (at < from->size) {
        const uint64_t more = from->size - at < COPY_BYTES ? from->size - at : COPY_BYTES;
        const int64_t n = env_read_full(out->env, part, data, more, at);
        const enum glint_code stop = signals_pending();
        if (stop != GLINT_OK) return error_set(out->error, stop, NULL, "interrupted by a signal");
        if (n < 0)
            return error_set_system(out->error, GLINT_E_INPUT_IO, (int)n, "read", from->path);
        if ((uint64_t)n < more)
            return error_set(out->error, GLINT_E_INPUT_CHANGED, NULL,
                             "%s was truncated while it was read", from->path);
        int code = output_file_write(out, data, more);
        if (code != 0) return code;
        at += more;
    }
    assert(at == from->size);
    return GLINT_OK;
}

static int copy_part(struct output_file *out, const struct input_file *from, uint8_t *data)
{
    const int part = out->env->open(out->env, ENV_CWD, from->path, ENV_READ);
    if (part < 0)
        return error_set_system(out->error, GLINT_E_INPUT_PERMISSION, part, "open", from->path);
    const int code = copy_bytes(out, part, from, data);
    out->env->close(out->env, part);
    return code;
}

static int copy_all(struct output_file *out, const struct input_list *parts)
{
    uint8_t *data = mem_alloc(COPY_BYTES);
    if (data == NULL) return error_no_memory(out->error);
    int code = 0;
    for (uint64_t i = 0; code == 0 && i < parts->count; i++)
        code = copy_part(out, &parts->files[i], data);
    mem_free(data);
    return code;
}

static void cat_parts(const struct cli_line *line, struct glint_error *error)
{
    struct input_list parts = {.files = NULL};
    struct output_file out;
    int code = input_list_resolve(env_real(), line->arguments[0], INPUT_BINARY, &parts, error);
    if (code == 0)
        code =
            output_file_open(&out, env_real(), line->argument_count > 1 ? line->arguments[1] : NULL,
                             cli_line_flag(line, "overwrite"), error);
    if (code == 0) output_file_close(&out, copy_all(&out, &parts));
    input_list_fini(&parts);
}

static const struct glint_job_option cat_options[] = {
    {"overwrite", NULL, NULL, "replace FILE if it is a regular file"}, {.name = NULL}};

const struct cli_command cmd_cat = {
    .name = "cat",
    .summary = "write the parts of a job's output as one file",
    .syntax = {.command = "glint cat",
               .summary = "Writes the parts of a job's output one after another.",
               .help = "Without FILE, or for -, they go to standard output. FILE is created "
                       "atomically, at the end. Parts are copied byte by byte, in the order of "
                       "their names.",
               .arguments = "OUTPUT [FILE]",
               .arguments_min = 1,
               .arguments_max = 2,
               .own = cat_options},
    .execute = cat_parts};

/* glint cat: copies the parts of a job's output into one file, like Hadoop's getmerge. The bytes of
 * the parts, decompressed, are concatenated in the order of the parts' names. */
#include "engine/base/mem.h"
#include "engine/cli/signals.h"
#include "engine/input/input_stream.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/output_file.h"

#include <stddef.h>
#include <string.h>

enum { COPY_BYTES = 1 << 20 };

/* Copies one part, which must not change since the parts were listed. */
static int write_part_bytes(struct output_file *out, struct input_stream *part, uint8_t *data)
{
    while (!part->ended) {
        const int64_t n = input_stream_read(part, data, COPY_BYTES);
        const enum glint_code stop = signals_pending();
        if (stop != GLINT_OK) return error_set(out->error, stop, NULL, "interrupted by a signal");
        if (n < 0) return (int)n;
        int code = n > 0 ? output_file_write(out, data, (uint64_t)n) : 0;
        if (code != 0) return code;
    }
    return input_stream_check_unchanged(part);
}

static int cat_part(struct output_file *out, const struct input_file *from, uint8_t *data)
{
    struct input_stream part;
    const struct split_piece whole = split_whole_file(from);
    int code = input_stream_open(&part, out->env, &whole, 0, out->error);
    if (code == 0) code = write_part_bytes(out, &part, data);
    input_stream_close(&part);
    return code;
}

static int cat_all_parts(struct output_file *out, const struct input_list *parts)
{
    uint8_t *data = mem_alloc(COPY_BYTES);
    if (data == NULL) return error_no_memory(out->error);
    int code = 0;
    for (uint64_t i = 0; code == 0 && i < parts->count; i++)
        code = cat_part(out, &parts->files[i], data);
    mem_free(data);
    return code;
}

static void cat_parts(const struct cli_line *line, struct glint_error *error)
{
    struct input_list parts = {.files = NULL};
    struct output_file out;
    int code = 0;
    if (strcmp(line->arguments[0], "-") == 0)
        code =
            error_set(error, GLINT_E_INPUT_KIND, "name the directory of a job's output, or a file",
                      "-: standard input is no output of a job");
    if (code == 0)
        code = input_list_resolve(env_real(), line->arguments[0], INPUT_BINARY, &parts, error);
    if (code == 0)
        code =
            output_file_open(&out, env_real(), line->argument_count > 1 ? line->arguments[1] : NULL,
                             cli_line_flag(line, "overwrite"), error);
    if (code == 0) output_file_close(&out, cat_all_parts(&out, &parts));
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
                       "atomically, at the end. Parts are copied in the order of their names; "
                       "compressed ones are decompressed.",
               .arguments = "OUTPUT [FILE]",
               .arguments_min = 1,
               .arguments_max = 2,
               .own = cat_options},
    .execute = cat_parts};

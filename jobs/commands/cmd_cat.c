/* glint cat: copies the parts of a job's output into one file, like Hadoop's getmerge. The bytes of
 * the parts, decompressed, are concatenated in the order of the parts' names. Parts that are files
 * of columns become CSV. */
#include "engine/base/mem.h"
#include "engine/cli/signals.h"
#include "engine/glint.h"
#include "engine/input/csv.h"
#include "engine/input/format.h"
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

/* Whether the first part is a file of columns, as all are then; 1, 0 or a code. */
static int are_parts_column_files(const struct output_file *out, const struct input_list *parts)
{
    uint8_t head[FORMAT_HEAD_BYTES];
    struct input_stream part;
    if (parts->count == 0) return 0;
    const struct split_piece whole = split_whole_file(&parts->files[0]);
    int64_t n = input_stream_open(&part, out->env, &whole, 0, out->error);
    if (n == 0) n = input_stream_read(&part, head, sizeof head);
    input_stream_close(&part);
    return n < 0 ? (int)n : format_detect_columns(head, (uint64_t)n) != 0;
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

/* ---- Files of columns, as CSV with the names of the columns */

#define CAT_NULL "\\N"

struct cat_rows {
    struct output_file *out;
    struct buffer lines;
};

static int flush_cat_lines(struct cat_rows *c)
{
    const int code = output_file_write(c->out, c->lines.data, c->lines.size);
    c->lines.size = 0;
    return code;
}

static int cat_row(struct cat_rows *c, struct glint_slice row)
{
    static const uint8_t nulls[] = "0" CAT_NULL;
    const struct glint_slice null = {nulls, sizeof nulls - 1};
    if (!csv_append_row(&c->lines, row, ',', null) || !buffer_append(&c->lines, "\n", 1))
        return error_no_memory(c->out->error);
    return c->lines.size < COPY_BYTES ? 0 : flush_cat_lines(c);
}

static int cat_record(void *arg, const struct glint_record *record)
{
    struct cat_rows *const c = arg;
    const enum glint_code stop = signals_pending();
    if (stop != GLINT_OK) return error_set(c->out->error, stop, NULL, "interrupted by a signal");
    return cat_row(c, record->value.bytes);
}

static int cat_rows_of(struct glint *g, const char *path, struct cat_rows *c)
{
    struct glint_rdd *rows = glint_text_file(g, path);
    glint_accept_columns(rows);
    rows = glint_with_nulls(rows, CAT_NULL, true);
    const struct glint_slice names = glint_first_line(rows);
    int code = glint_error(g)->code;
    if (code == 0) code = cat_row(c, names);
    if (code == 0) code = glint_collect_each(rows, cat_record, c);
    if (code == 0) code = flush_cat_lines(c);
    if (code != 0 && c->out->error->code == GLINT_OK) *c->out->error = *glint_error(g);
    return code;
}

static int cat_columns(struct output_file *out, const char *path)
{
    struct glint_config *config = glint_config_create();
    struct glint *g = glint_create(config, out->error);
    struct cat_rows c = {.out = out};
    int code = out->error->code;
    if (g != NULL) {
        code = cat_rows_of(g, path, &c);
        glint_finish(g);
    }
    glint_destroy(g);
    glint_config_destroy(config);
    buffer_fini(&c.lines);
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
    if (code == 0) {
        code = are_parts_column_files(&out, &parts);
        if (code == 0) code = cat_all_parts(&out, &parts);
        if (code > 0) code = cat_columns(&out, line->arguments[0]);
        output_file_close(&out, code);
    }
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
                       "compressed ones are decompressed. Parquet and Arrow files become CSV, with "
                       "the names of the columns as first line, and \\N for null.",
               .arguments = "OUTPUT [FILE]",
               .arguments_min = 1,
               .arguments_max = 2,
               .own = cat_options},
    .execute = cat_parts};

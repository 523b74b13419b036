/* saveAsColumnFile: rows of tables as a Parquet or Arrow file per partition. */
#include "engine/base/text.h"
#include "engine/input/arrow_builder.h"
#include "engine/input/column_file.h"
#include "engine/input/csv.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

#define ARRAY_ROWS_MAX  8192
#define ARRAY_BYTES_MAX (4 * MIB)

extern const struct op op_save_as_column_file;

struct column_save {
    struct save save;
    const struct format_library *library;
    struct format_output output;
    struct format_writer *writer;
    uint8_t kind, compression;
    uint32_t count;
    struct arrow_field *fields;
    struct arrow_builder *builders;
    int64_t rows; /* in the builders */
    uint64_t bytes;
};

/* ---- Driver */

static int check_form(struct glint_rdd *rows, const struct glint_column_form *form)
{
    if (rows->schema.key == GLINT_NONE && rows->schema.value == GLINT_TEXT && form->count > 0)
        return 0;
    rdd_fail(rows, GLINT_E_PLAN_TYPE, "saveAsColumnFile needs rows with columns");
    return rows->g->error.code;
}

int glint_save_as_column_file(struct glint_rdd *rows, const char *path,
                              const struct glint_column_form *form)
{
    if (rows == NULL) return rdd_null_error("saveAsColumnFile");
    struct glint *g = rows->g;
    if (save_check_paths(rows, "saveAsColumnFile", &path, 1) != 0 || check_form(rows, form) != 0)
        return g->error.code;
    if (format_library_load(&g->error) == NULL) return g->error.code;
    struct packer p = {.failed = false};
    pack_array(&p, 2 + 2 * (uint64_t)form->count);
    pack_u64(&p, form->format == GLINT_PARQUET ? FORMAT_PARQUET : FORMAT_ARROW_FILE);
    static const uint8_t by_option[COMPRESSION_COUNT] = {[COMPRESSION_NONE] = FORMAT_SNAPPY,
                                                         [COMPRESSION_GZIP] = FORMAT_GZIP,
                                                         [COMPRESSION_ZSTD] = FORMAT_ZSTD};
    const bool parquet = form->format == GLINT_PARQUET;
    if (!parquet && g->config.compress == COMPRESSION_GZIP)
        return glint_abort(g, GLINT_E_USAGE, "use zstd",
                           "Arrow files cannot be compressed by gzip");
    pack_u64(&p, parquet                                  ? by_option[g->config.compress]
                 : g->config.compress == COMPRESSION_ZSTD ? FORMAT_ZSTD
                                                          : FORMAT_UNCOMPRESSED);
    for (uint32_t i = 0; i < form->count; i++) {
        pack_text(&p, form->columns[i].name);
        pack_text(&p, form->columns[i].type);
    }
    struct action a = {.op = &op_save_as_column_file,
                       .rdd = rows,
                       .outputs = &path,
                       .output_count = 1,
                       .params = {p.out.data, p.out.size}};
    const int r = p.failed ? error_no_memory(&g->error) : run_action_of_rdd(&a);
    packer_fini(&p);
    return r;
}

/* ---- Task */

static int write_output(void *context, const void *data, uint64_t size)
{
    struct column_save *s = context;
    return save_write_bytes(&s->save, (struct glint_slice){data, size}) ? 0 : -1;
}

static int set_format_error(struct column_save *s, const struct format_error *e)
{
    if (s->save.task->error.code != GLINT_OK) return s->save.task->error.code;
    return error_set(&s->save.task->error, GLINT_E_OUTPUT_IO, NULL, "%s/%s: %s", s->save.dir,
                     s->save.name, e->message);
}

/* Types that are not built are text. */
static int read_fields(struct column_save *s, struct unpacker *u)
{
    char name[PATH_MAX], type[256];
    struct glint_task *task = s->save.task;
    s->fields = task_alloc(task, s->count * sizeof *s->fields);
    s->builders = task_alloc(task, s->count * sizeof *s->builders);
    if (s->fields == NULL || s->builders == NULL) return GLINT_E_NO_MEMORY;
    for (uint32_t i = 0; i < s->count; i++) {
        unpack_text(u, name, sizeof name);
        unpack_text(u, type, sizeof type);
        struct ArrowSchema schema = {.format = type, .name = name};
        const char *problem = arrow_field_read(&schema, &task->arena, &s->fields[i]);
        if (problem != NULL || !arrow_can_build(&s->fields[i])) {
            schema.format = "u";
            problem = arrow_field_read(&schema, &task->arena, &s->fields[i]);
        }
        if (problem != NULL)
            return error_set(&task->error, GLINT_E_PROTOCOL, NULL, "a column: %s", problem);
        s->builders[i] = (struct arrow_builder){.field = &s->fields[i]};
    }
    return unpack_is_complete(u)
               ? 0
               : error_set(&task->error, GLINT_E_PROTOCOL, NULL, "an output has wrong columns");
}

static int create_writer(struct column_save *s)
{
    assert(s->count > 0 && s->writer == NULL);
    struct glint_task *task = s->save.task;
    struct ArrowSchema *children = task_alloc(task, s->count * sizeof *children);
    struct ArrowSchema **pointers = task_alloc(task, s->count * sizeof *pointers);
    if (children == NULL || pointers == NULL) return GLINT_E_NO_MEMORY;
    for (uint32_t i = 0; i < s->count; i++) {
        children[i] = (struct ArrowSchema){
            .format = s->fields[i].format, .name = s->fields[i].name, .flags = ARROW_FLAG_NULLABLE};
        pointers[i] = &children[i];
    }
    const struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = s->count, .children = pointers};
    const struct format_write options = {.kind = s->kind,
                                         .compression = s->compression,
                                         .level = -1,
                                         .row_group_rows = 1u << 20,
                                         .row_group_bytes = 128 * MIB};
    struct format_error e = {.piece = -1};
    s->output = (struct format_output){.context = s, .write = write_output};
    if (s->library->create(&s->output, &options, &schema, &s->writer, &e) != 0)
        return set_format_error(s, &e);
    return 0;
}

static int column_save_open(void *state, const struct op_open *o)
{
    struct column_save *s = state;
    struct unpacker u = unpack_begin(o->params);
    const uint64_t elements = u.count;
    s->save.task = o->task;
    s->save.file = -1;
    s->kind = (uint8_t)unpack_u64(&u, FORMAT_ORC);
    s->compression = (uint8_t)unpack_u64(&u, FORMAT_BROTLI);
    if (elements < 4 || elements % 2 != 0 || elements / 2 > UINT32_MAX)
        return error_set(&o->task->error, GLINT_E_PROTOCOL, NULL, "an output has no columns");
    s->count = (uint32_t)(elements / 2 - 1);
    s->library = format_library_load(&o->task->error);
    if (s->library == NULL) return o->task->error.code;
    int r = read_fields(s, &u);
    if (r == 0)
        r = save_open_file(&s->save, o, 0, COMPRESSION_NONE,
                           s->kind == FORMAT_PARQUET ? ".parquet" : ".arrow");
    return r == 0 ? create_writer(s) : r;
}

static int write_array(struct column_save *s)
{
    assert(s->writer != NULL && s->rows <= ARRAY_ROWS_MAX);
    struct ArrowArray array;
    struct format_error e = {.piece = -1};
    if (s->rows == 0) return 0;
    if (!arrow_builders_finish(s->builders, s->count, s->rows, &array))
        return error_no_memory(&s->save.task->error);
    s->rows = 0;
    s->bytes = 0;
    return s->library->write(s->writer, &array, &e) == 0 ? 0 : set_format_error(s, &e);
}

/* Why a row cannot be written: nothing of it stays in the builders. */
static int bad_row(struct column_save *s, struct glint_slice row, const char *problem)
{
    return glint_fail_row(s->save.task, GLINT_E_BAD_ROW, row, NULL, problem);
}

static int append_row(struct column_save *s, struct glint_slice row)
{
    static const uint8_t null = ROW_NULL;
    struct glint_slice rest = row, field;
    assert(s->rows < ARRAY_ROWS_MAX);
    for (uint32_t i = 0; i < s->count; i++) {
        if (!glint_next_field(&rest, CSV_SEPARATOR, &field))
            return bad_row(s, row, "it has fewer fields than the output has columns");
        bool no_memory;
        if (field.size == 1 && *field.data == null)
            field = (struct glint_slice){NULL, 0};
        else if (field.data == NULL)
            field.data = &null; /* empty, not null */
        const char *problem = arrow_builder_append(&s->builders[i], field, &no_memory);
        if (no_memory) return error_no_memory(&s->save.task->error);
        if (problem != NULL) return bad_row(s, row, problem);
    }
    if (glint_next_field(&rest, CSV_SEPARATOR, &field))
        return bad_row(s, row, "it has more fields than the output has columns");
    s->bytes += row.size;
    s->rows++;
    return s->rows < ARRAY_ROWS_MAX && s->bytes < ARRAY_BYTES_MAX ? 0 : write_array(s);
}

static enum flow column_save_push(void *state, const struct glint_batch *batch,
                                  struct glint_emitter *out)
{
    struct column_save *s = state;
    (void)out;
    s->save.task->counters.values[COUNT_ROWS_WRITTEN] += batch->rows;
    for (uint32_t row = 0; row < batch->rows; row++)
        if (append_row(s, glint_column_slice(&batch->value, row)) != 0) return FLOW_FAIL;
    return FLOW_MORE;
}

static enum flow column_save_finish(void *state, struct glint_emitter *out)
{
    struct column_save *s = state;
    struct format_error e = {.piece = -1};
    (void)out;
    if (write_array(s) != 0) return FLOW_FAIL;
    if (s->library->finish(s->writer, &e) != 0) {
        set_format_error(s, &e);
        return FLOW_FAIL;
    }
    return save_finish(&s->save);
}

static int column_save_result(void *state, struct buffer *out)
{
    return save_result(&((struct column_save *)state)->save, out);
}

static void column_save_close(void *state)
{
    struct column_save *s = state;
    if (s->library != NULL) s->library->destroy(s->writer);
    for (uint32_t i = 0; s->builders != NULL && i < s->count; i++)
        arrow_builder_fini(&s->builders[i]);
    save_close(&s->save);
}

const struct op op_save_as_column_file = {.name = "saveAsColumnFile",
                                          .kind = OP_ACTION,
                                          .state_size = sizeof(struct column_save),
                                          .open = column_save_open,
                                          .push = column_save_push,
                                          .finish = column_save_finish,
                                          .close = column_save_close,
                                          .result = column_save_result};

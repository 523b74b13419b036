/* saveAsColumnFile: rows of tables as a Parquet or Arrow file per partition; saveAsColumnFiles: as
 * one per output, whose number is the record's key; saveAsPartitionedColumnFiles: one per
 * directory, which is the key, below a directory of the attempt that the driver commits as a whole.
 * All files of a task have the same name, which is its result: the driver commits all of them or
 * none. */
#include "engine/base/text.h"
#include "engine/input/arrow_builder.h"
#include "engine/input/arrow_type.h"
#include "engine/input/column_file.h"
#include "engine/input/csv.h"
#include "engine/input/remote_store.h"
#include "engine/input/typed_row.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define ARRAY_ROWS_MAX  8192
#define ARRAY_BYTES_MAX (4 * MIB)
#define ROW_GROUP_ROWS  (1u << 20)
#define ROW_GROUP_BYTES (128 * MIB)
#define BLOOM_FPP       0.01

/* Of the parameters, before those of columns: kind, compression, rows of a group, filters, whether
 * empty fields are null, types of rows. */
enum { HEAD_ELEMENTS = 7, ROW_FORMS = 2 };

struct column_output {
    struct save *save;
    struct format_output output;
    struct format_writer *writer;
    struct arrow_builder *builders;
    uint32_t built; /* of them are initialized */
    int64_t rows;   /* in the builders */
    uint64_t bytes;
};

struct column_save {
    struct glint_task *task;
    const struct format_library *library;
    uint8_t kind, compression;
    uint32_t group_rows;
    bool empty_is_null;
    uint32_t *bloom_columns;
    uint32_t bloom_count;
    uint32_t count;
    const struct typed_form *forms[ROW_FORMS]; /* of a row, one after the other; NULL: text */
    bool *copied; /* by column: values of typed rows, else their texts are read */
    struct arrow_field *fields;
    struct ArrowSchema *schemas; /* theirs */
    struct ArrowSchema **children;
    uint32_t output_count, opened;
    struct column_output *outputs;
    struct save *saves; /* theirs */
    /* Of files in directories: the only output is that of the current one. */
    bool partitioned, complete;
    char root[PATH_MAX];        /* of the attempt */
    char part[64], attempt[64]; /* names of files, and of the root */
    struct buffer directory;    /* the current one, below the root; ends with a NUL */
    char path[PATH_MAX];        /* of it */
    uint32_t directory_count;
};

/* ---- Driver */

static int check_rows_have_columns(struct glint_rdd *rows, enum glint_type key,
                                   const struct glint_column_form *form)
{
    if (rows->schema.key == key && rows->schema.value == GLINT_TEXT && form->count > 0) return 0;
    rdd_fail(rows, GLINT_E_PLAN_TYPE,
             key == GLINT_NONE ? "saveAsColumnFile needs rows with columns"
                               : "saveAsColumnFiles needs rows with columns, by number of output");
    return rows->g->error.code;
}

static int check_compression(struct glint *g, enum glint_column_format format)
{
    if (format == GLINT_PARQUET || g->config.compress != OUTPUT_GZIP) return 0;
    return glint_abort(g, GLINT_E_USAGE, "use zstd", "Arrow files cannot be compressed by gzip");
}

/* Parts of such files, one after another, are none. */
static int check_not_stdout(struct glint *g, const char *const *paths, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (glint_is_stdout(g, paths[i]))
            return glint_abort(g, GLINT_E_USAGE,
                               "add --output-format csv or jsonl, or name a directory",
                               "files of columns cannot be written to standard output");
    return 0;
}

static bool pack_column_form(struct packer *p, const struct glint *g,
                             const struct glint_column_form *form)
{
    static const uint8_t by_option[OUTPUT_COMPRESSIONS] = {[OUTPUT_AUTO] = FORMAT_SNAPPY,
                                                           [OUTPUT_UNCOMPRESSED] =
                                                               FORMAT_UNCOMPRESSED,
                                                           [OUTPUT_GZIP] = FORMAT_GZIP,
                                                           [OUTPUT_ZSTD] = FORMAT_ZSTD};
    const bool parquet = form->format == GLINT_PARQUET;
    pack_array(p, HEAD_ELEMENTS + 2 * (uint64_t)form->count);
    pack_u64(p, parquet ? FORMAT_PARQUET : FORMAT_ARROW_FILE);
    pack_u64(p, parquet || g->config.compress != OUTPUT_AUTO ? by_option[g->config.compress]
                                                             : FORMAT_UNCOMPRESSED);
    pack_u64(p, form->row_group_rows > 0 ? form->row_group_rows : ROW_GROUP_ROWS);
    const uint64_t bloom_bytes = form->bloom_count * sizeof *form->bloom_columns;
    pack_bytes(p, (struct glint_slice){(const uint8_t *)form->bloom_columns, bloom_bytes});
    pack_u64(p, form->empty_is_null);
    for (int i = 0; i < ROW_FORMS; i++) pack_bytes(p, form->row_types[i]);
    for (uint32_t i = 0; i < form->count; i++) {
        pack_text(p, form->columns[i].name);
        const char *const type = form->columns[i].type;
        pack_bytes(p, (struct glint_slice){(const uint8_t *)type, type != NULL ? strlen(type) : 0});
    }
    return !p->failed;
}

/* The schema of an output without any partition is in a file without rows. */
static struct glint_rdd *ensure_any_partition(struct glint_rdd *rows)
{
    const bool none = glint_partitions(rows) == 0 && !context_failed(rows->g);
    return none ? glint_parallelize(rows->g, rows->schema, NULL, 0, 1) : rows;
}

static int save_columns(struct glint_rdd *rows, enum glint_type key, const char *const *paths,
                        uint32_t count, const struct glint_column_form *form)
{
    const struct op *op =
        key == GLINT_TEXT ? &op_save_as_partitioned_column_files : &op_save_as_column_file;
    struct glint *g = rows->g;
    assert(count > 0 && count <= ACTION_OUTPUTS_MAX);
    if (save_check_paths(rows, op->name, paths, count) != 0 ||
        check_rows_have_columns(rows, key, form) != 0)
        return g->error.code;
    if (form->format == GLINT_TSV || form->format == GLINT_JSON_LINES)
        return key == GLINT_NONE ? save_as_text_file(rows, paths[0], form)
                                 : save_as_text_files(rows, paths, count, form);
    if (check_not_stdout(g, paths, count) != 0 || check_compression(g, form->format) != 0 ||
        format_library_load(&g->error) == NULL)
        return g->error.code;
    rows = ensure_any_partition(rows);
    if (rows == NULL || context_failed(g)) return g->error.code;
    struct packer p = {.failed = false};
    const bool packed = pack_column_form(&p, g, form);
    struct action a = {.op = op,
                       .rdd = rows,
                       .outputs = paths,
                       .output_count = count,
                       .params = {p.out.data, p.out.size}};
    const int r = packed ? run_action_of_rdd(&a) : error_no_memory(&g->error);
    packer_fini(&p);
    return r;
}

int glint_save_as_column_file(struct glint_rdd *rows, const char *path,
                              const struct glint_column_form *form)
{
    if (rows == NULL) return rdd_null_error("saveAsColumnFile");
    return save_columns(rows, GLINT_NONE, &path, 1, form);
}

int glint_save_as_partitioned_column_files(struct glint_rdd *pairs, const char *path,
                                           const struct glint_column_form *form)
{
    if (pairs == NULL) return rdd_null_error("saveAsPartitionedColumnFiles");
    if (form->format != GLINT_PARQUET && form->format != GLINT_ARROW)
        return glint_abort(pairs->g, GLINT_E_PLAN_ARGUMENT, NULL,
                           "saveAsPartitionedColumnFiles: directories are for Parquet and Arrow");
    if (path != NULL && remote_output_is_in_store(path))
        return glint_abort(pairs->g, GLINT_E_OUTPUT_CREATE,
                           "save to a directory of a file system, and copy it",
                           "%s: directories by column are not written to stores", path);
    return save_columns(pairs, GLINT_TEXT, &path, 1, form);
}

int glint_save_as_column_files(struct glint_rdd *rows, const char *const *paths, uint32_t count,
                               const struct glint_column_form *form)
{
    if (rows == NULL) return rdd_null_error("saveAsColumnFiles");
    if (count == 0 || count > ACTION_OUTPUTS_MAX)
        return glint_abort(rows->g, GLINT_E_PLAN_LIMIT, "error in the job's plan, not in its input",
                           "saveAsColumnFiles: %u outputs; it accepts 1 to %u", count,
                           ACTION_OUTPUTS_MAX);
    return save_columns(rows, GLINT_I64, paths, count, form);
}

/* ---- Task */

static int write_output(void *context, const void *data, uint64_t size)
{
    struct column_output *o = context;
    return save_write_bytes(o->save, (struct glint_slice){data, size}) ? 0 : -1;
}

static int set_format_error(struct column_output *o, const struct format_error *e)
{
    struct glint_error *error = &o->save->task->error;
    if (error->code != GLINT_OK) return error->code;
    return error_set(error, GLINT_E_OUTPUT_IO, NULL, "%s/%s: %s", o->save->dir, o->save->name,
                     e->message);
}

/* Parquet has no seconds and no days in milliseconds: a library writes them as plain integers
 * (findings/arrow-rs-parquet-seconds.sh). */
static void change_to_parquet_format(char *format)
{
    if (strcmp(format, "tdm") == 0) format[2] = 'D';
    if (strcmp(format, "tts") == 0 || strncmp(format, "tss:", 4) == 0) format[2] = 'm';
}

/* Reads the type of a column; one that is not built is text. */
static int unpack_output_column(struct column_save *s, struct unpacker *u, uint32_t i)
{
    char name[PATH_MAX];
    struct glint_task *task = s->task;
    assert(i < s->count);
    unpack_text(u, name, sizeof name);
    const struct glint_slice text = unpack_bytes(u);
    char *type = task_alloc(task, text.size + 1);
    if (type == NULL) return GLINT_E_NO_MEMORY;
    if (text.size > 0) memcpy(type, text.data, text.size);
    type[text.size] = '\0';
    void (*const change)(char *) = s->kind == FORMAT_PARQUET ? change_to_parquet_format : NULL;
    struct ArrowSchema *schema = &s->schemas[i];
    struct arrow_field *field = &s->fields[i];
    const char *problem = arrow_type_read(name, type, change, &task->arena, schema);
    if (problem == NULL) problem = arrow_field_read(schema, &task->arena, field);
    if (problem == NULL && arrow_can_build(field)) return 0;
    const char *as = problem != NULL ? "u" : arrow_format_string_to_build(field);
    problem = arrow_type_read(name, as, NULL, &task->arena, schema);
    if (problem == NULL) problem = arrow_field_read(schema, &task->arena, field);
    if (problem == NULL) return 0;
    return error_set(&task->error, GLINT_E_PROTOCOL, NULL, "a column: %s", problem);
}

/* Finds which values of typed rows are as those of the output's columns. */
static int match_typed_forms_to_output(struct column_save *s)
{
    uint64_t count = 0, column = 0;
    for (int i = 0; i < ROW_FORMS && s->forms[i] != NULL; i++) count += s->forms[i]->count;
    s->copied = task_alloc(s->task, s->count * sizeof *s->copied);
    if (s->copied == NULL) return GLINT_E_NO_MEMORY;
    for (int i = 0; count == s->count && i < ROW_FORMS && s->forms[i] != NULL; i++)
        for (uint32_t c = 0; c < s->forms[i]->count; c++, column++) {
            const struct typed_column *from = &s->forms[i]->columns[c];
            s->copied[column] =
                from->size > 0 && strcmp(from->field->format, s->fields[column].format) == 0;
        }
    if (count == 0 || count == s->count) return 0;
    return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "an output has rows of other types");
}

static int unpack_typed_forms(struct column_save *s, struct unpacker *u)
{
    for (int i = 0; i < ROW_FORMS; i++) {
        const struct glint_slice types = unpack_bytes(u);
        if (types.size == 0) continue;
        s->forms[i] = typed_form_read(s->task, types);
        if (s->forms[i] == NULL) return s->task->error.code;
    }
    return 0;
}

static int unpack_output_fields(struct column_save *s, struct unpacker *u)
{
    struct glint_task *task = s->task;
    s->fields = task_alloc(task, s->count * sizeof *s->fields);
    s->schemas = task_alloc(task, s->count * sizeof *s->schemas);
    s->children = task_alloc(task, s->count * sizeof *s->children);
    if (s->fields == NULL || s->schemas == NULL || s->children == NULL) return GLINT_E_NO_MEMORY;
    for (uint32_t i = 0; i < s->count; i++) {
        s->children[i] = &s->schemas[i];
        if (unpack_output_column(s, u, i) != 0) return task->error.code;
    }
    return unpack_is_complete(u)
               ? 0
               : error_set(&task->error, GLINT_E_PROTOCOL, NULL, "an output has wrong columns");
}

/* A writer has a row group in memory, encoded: at most half of the slot's for all of them. */
static uint64_t row_group_bytes(const struct column_save *s)
{
    assert(s->output_count > 0);
    const uint64_t share = s->task->options->memory_bytes / 2 / s->output_count;
    return share < ROW_GROUP_BYTES ? share > MIB ? share : MIB : ROW_GROUP_BYTES;
}

/* Copies the numbers of the columns that get a Bloom filter. */
static int unpack_bloom_columns(struct column_save *s, struct glint_slice bytes)
{
    const uint64_t count = bytes.size / sizeof *s->bloom_columns;
    if (count == 0) return 0;
    s->bloom_columns = task_alloc(s->task, bytes.size);
    if (s->bloom_columns == NULL) return GLINT_E_NO_MEMORY;
    memcpy(s->bloom_columns, bytes.data, count * sizeof *s->bloom_columns);
    s->bloom_count = (uint32_t)count;
    for (uint64_t i = 0; i < count; i++)
        if (s->bloom_columns[i] >= s->count || count > s->count)
            return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL,
                             "a Bloom filter of a column that an output does not have");
    return 0;
}

static int create_writer(struct column_save *s, struct column_output *o)
{
    assert(s->count > 0 && o->writer == NULL);
    struct glint_task *task = s->task;
    if (o->builders == NULL) o->builders = task_alloc(task, s->count * sizeof *o->builders);
    if (o->builders == NULL) return GLINT_E_NO_MEMORY;
    for (uint32_t i = 0; i < s->count; i++)
        if (!arrow_builder_init(&o->builders[o->built++], &s->fields[i]))
            return error_no_memory(&task->error);
    const struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = s->count, .children = s->children};
    const struct format_write options = {.kind = s->kind,
                                         .compression = s->compression,
                                         .level = -1,
                                         .row_group_rows = s->group_rows,
                                         .row_group_bytes = row_group_bytes(s),
                                         .bloom_columns = s->bloom_columns,
                                         .bloom_count = s->bloom_count,
                                         .bloom_fpp = BLOOM_FPP};
    struct format_error e = {.piece = -1};
    o->output = (struct format_output){.context = o, .write = write_output};
    return s->library->create(&o->output, &options, &schema, &o->writer, &e) == 0
               ? 0
               : set_format_error(o, &e);
}

static int open_outputs(struct column_save *s, const struct op_open *open)
{
    int r = 0;
    s->output_count = open->output_count;
    assert(s->output_count <= ACTION_OUTPUTS_MAX);
    s->outputs = task_alloc(s->task, (s->output_count + 1) * sizeof *s->outputs);
    s->saves = task_alloc(s->task, (s->output_count + 1) * sizeof *s->saves);
    if (s->outputs == NULL || s->saves == NULL) return GLINT_E_NO_MEMORY;
    while (r == 0 && s->opened < s->output_count) {
        struct column_output *o = &s->outputs[s->opened];
        *o = (struct column_output){.save = &s->saves[s->opened]};
        *o->save = (struct save){.task = s->task, .file = -1};
        r = save_open_file(o->save, open, s->opened++, COMPRESSION_NONE,
                           s->kind == FORMAT_PARQUET ? ".parquet" : ".arrow");
        if (r == 0) r = create_writer(s, o);
    }
    return r;
}

/* Creates the directory of an attempt, whose name the driver commits as that of a part. */
static int open_partitioned_output_root(struct column_save *s, const struct op_open *o)
{
    struct glint_task *task = s->task;
    const char *suffix = s->kind == FORMAT_PARQUET ? ".parquet" : ".arrow";
    assert(s->partitioned && s->outputs == NULL);
    s->output_count = 1;
    s->outputs = task_alloc(task, sizeof *s->outputs);
    s->saves = task_alloc(task, sizeof *s->saves);
    if (s->outputs == NULL || s->saves == NULL) return GLINT_E_NO_MEMORY;
    s->outputs[0] = (struct column_output){.save = &s->saves[0]};
    if (o->output_count != 1)
        return error_set(&task->error, GLINT_E_PROTOCOL, NULL, "a stage has too few outputs");
    if (!text_format(s->part, sizeof s->part, "part-%05u%s", task->partition, suffix) ||
        !text_format(s->attempt, sizeof s->attempt, "%s.attempt-%u", s->part, task->attempt) ||
        !text_format(s->root, sizeof s->root, "%s/%s", o->outputs[0], s->attempt)) {
        s->root[0] = '\0';
        return error_set(&task->error, GLINT_E_OUTPUT_CREATE, "use a shorter path",
                         "the output path is too long: %s", o->outputs[0]);
    }
    const int r = task->env->make_dir(task->env, ENV_CWD, s->root, false);
    return r == 0 ? 0
                  : error_set_shared_path(&task->error, GLINT_E_OUTPUT_IO, r, "create", s->root);
}

static int column_save_open(void *state, const struct op_open *o)
{
    struct column_save *s = state;
    struct unpacker u = unpack_begin(o->params);
    const uint64_t elements = u.count;
    s->task = o->task;
    s->kind = (uint8_t)unpack_u64(&u, FORMAT_ORC);
    s->compression = (uint8_t)unpack_u64(&u, FORMAT_BROTLI);
    s->group_rows = (uint32_t)unpack_u64(&u, UINT32_MAX);
    const struct glint_slice bloom = unpack_bytes(&u);
    s->empty_is_null = unpack_u64(&u, 1) == 1;
    if (unpack_typed_forms(s, &u) != 0) return o->task->error.code;
    if (elements <= HEAD_ELEMENTS || (elements - HEAD_ELEMENTS) % 2 != 0 ||
        elements / 2 > UINT32_MAX || s->group_rows == 0)
        return error_set(&o->task->error, GLINT_E_PROTOCOL, NULL, "an output has no columns");
    s->count = (uint32_t)((elements - HEAD_ELEMENTS) / 2);
    if (unpack_bloom_columns(s, bloom) != 0) return o->task->error.code;
    s->library = format_library_load(&o->task->error);
    if (s->library == NULL) return o->task->error.code;
    int r = unpack_output_fields(s, &u);
    if (r == 0) r = match_typed_forms_to_output(s);
    if (r != 0) return r;
    return s->partitioned ? open_partitioned_output_root(s, o) : open_outputs(s, o);
}

static int partitioned_save_open(void *state, const struct op_open *o)
{
    ((struct column_save *)state)->partitioned = true;
    return column_save_open(state, o);
}

static int write_array(struct column_save *s, struct column_output *o)
{
    assert(o->writer != NULL && o->rows <= ARRAY_ROWS_MAX);
    struct ArrowArray array;
    struct format_error e = {.piece = -1};
    if (o->rows == 0) return 0;
    if (!arrow_builders_finish(o->builders, s->count, o->rows, &array))
        return error_no_memory(&s->task->error);
    o->rows = 0;
    o->bytes = 0;
    return s->library->write(o->writer, &array, &e) == 0 ? 0 : set_format_error(o, &e);
}

/* Why a row cannot be written: nothing of it stays in the builders. */
static int report_unwritable_row(struct column_save *s, struct glint_slice row, const char *problem)
{
    return save_fail_value(s->task, row, 0, NULL, problem, NULL);
}

/* The same of a value of column `i` of the output. */
static int report_unwritable_value(struct column_save *s, struct glint_slice row, uint32_t i,
                                   const char *problem)
{
    const bool utf8 = arrow_has_utf8(s->fields[i].type);
    return save_fail_value(s->task, row, i, s->fields[i].name, problem,
                           utf8 ? "csv or tsv" : "csv, tsv or jsonl");
}

/* The same of a typed row, or the part of a pair that has the value; it is shown as text. */
static int report_unwritable_typed_row(struct column_save *s, const struct typed_form *f,
                                       const uint8_t *row, uint32_t i, const char *problem)
{
    struct buffer text = {NULL, 0, 0};
    int r = typed_row_append_row(f, row, &text)
                ? report_unwritable_value(s, (struct glint_slice){text.data, text.size}, i, problem)
                : error_no_memory(&s->task->error);
    buffer_fini(&text);
    return r;
}

/* Appends the values of a column of typed rows to column `out`. Returns 0 or a code. */
static int append_typed_column(struct column_save *s, struct arrow_builder *b, uint32_t out,
                               const struct typed_form *f, uint32_t column,
                               const uint8_t *const *rows, uint32_t count)
{
    char number[ARROW_NUMBER_TEXT_MAX];
    struct glint_slice texts[BATCH_ROWS_MAX];
    const char *problem = NULL;
    uint32_t at = 0, appended;
    bool no_memory = false;
    if (s->copied[out]) {
        no_memory = !arrow_builder_append_values(b, rows, count, column, f->columns[column].at);
        return no_memory ? error_no_memory(&s->task->error) : 0;
    }
    /* Texts of numbers have no memory of their own: one by one. */
    const uint32_t step = f->columns[column].size > 0 ? 1 : count;
    for (; at < count && problem == NULL && !no_memory; at += appended) {
        for (uint32_t i = 0; i < step; i++) {
            texts[i] = (struct glint_slice){NULL, 0};
            if (!typed_row_is_null(rows[at + i], column))
                texts[i] = typed_row_text(f, rows[at + i], column, number);
        }
        problem = arrow_builder_append_texts(b, texts, step, &appended, &no_memory);
    }
    if (no_memory) return error_no_memory(&s->task->error);
    return problem != NULL ? report_unwritable_typed_row(s, f, rows[at], out, problem) : 0;
}

/* Appends rows of a batch, of which the next array has room for all. The types of typed rows are
 * those of the columns: none has too few or too many. */
static int append_typed_rows(struct column_save *s, struct column_output *o,
                             const struct glint_column *values, uint32_t from, uint32_t count)
{
    const uint8_t *rows[BATCH_ROWS_MAX];
    uint32_t column = 0;
    assert(count <= BATCH_ROWS_MAX);
    for (uint32_t i = 0; i < count; i++) rows[i] = glint_column_slice(values, from + i).data;
    for (int i = 0; i < ROW_FORMS && s->forms[i] != NULL; i++) {
        const struct typed_form *const f = s->forms[i];
        for (uint32_t c = 0; c < f->count; c++, column++)
            if (append_typed_column(s, &o->builders[column], column, f, c, rows, count) != 0)
                return s->task->error.code;
        for (uint32_t k = 0; k < count; k++) rows[k] += typed_row_size(f, rows[k]);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct glint_slice row = glint_column_slice(values, from + i);
        assert(rows[i] == row.data + row.size);
    }
    return 0;
}

/* An array ends where it would if its rows came one by one. */
static int save_typed_rows(struct column_save *s, struct column_output *o,
                           const struct glint_batch *batch, uint32_t from, uint32_t end)
{
    const struct glint_column *const values = &batch->value;
    for (uint32_t row = from; row < end;) {
        const uint32_t first = row;
        bool full = false;
        for (; row < end && !full; row++) {
            o->bytes += glint_column_slice(values, row).size;
            full = ++o->rows == ARRAY_ROWS_MAX || o->bytes >= ARRAY_BYTES_MAX;
        }
        int r = append_typed_rows(s, o, values, first, row - first);
        if (r == 0 && full) r = write_array(s, o);
        if (r != 0) return r;
    }
    return 0;
}

static int append_text_row_to_builders(struct column_save *s, struct column_output *o,
                                       struct glint_slice row)
{
    static const uint8_t null = ROW_NULL;
    struct glint_slice rest = row, field;
    const bool escapes = glint_field_has_escape(row); /* or nulls */
    for (uint32_t i = 0; i < s->count; i++) {
        if (!glint_next_field(&rest, CSV_SEPARATOR, &field))
            return report_unwritable_row(s, row, "it has fewer fields than the output has columns");
        bool no_memory;
        if (field.size == 1 && *field.data == null)
            field = (struct glint_slice){NULL, 0};
        else if (field.size == 0)
            field.data = s->empty_is_null ? NULL : &null;
        else if (escapes && !save_unescape_field(o->save, &field))
            return s->task->error.code;
        const char *problem = arrow_builder_append(&o->builders[i], field, &no_memory);
        if (no_memory) return error_no_memory(&s->task->error);
        if (problem != NULL) return report_unwritable_value(s, row, i, problem);
    }
    if (glint_next_field(&rest, CSV_SEPARATOR, &field))
        return report_unwritable_row(s, row, "it has more fields than the output has columns");
    return 0;
}

static int save_text_row(struct column_save *s, struct column_output *o, struct glint_slice row)
{
    assert(o->rows < ARRAY_ROWS_MAX);
    const int r = append_text_row_to_builders(s, o, row);
    if (r != 0) return r;
    o->bytes += row.size;
    o->rows++;
    return o->rows < ARRAY_ROWS_MAX && o->bytes < ARRAY_BYTES_MAX ? 0 : write_array(s, o);
}

static int save_rows_of_batch(struct column_save *s, struct column_output *o,
                              const struct glint_batch *batch, uint32_t from, uint32_t end)
{
    int r = 0;
    if (s->forms[0] != NULL) return save_typed_rows(s, o, batch, from, end);
    for (uint32_t row = from; r == 0 && row < end; row++)
        r = save_text_row(s, o, glint_column_slice(&batch->value, row));
    return r;
}

static enum flow column_save_push(void *state, const struct glint_batch *batch,
                                  struct glint_emitter *out)
{
    struct column_save *s = state;
    (void)out;
    s->task->counters.values[COUNT_ROWS_WRITTEN] += batch->rows;
    const bool numbered = batch->key.type == GLINT_I64;
    for (uint32_t row = 0, end; row < batch->rows; row = end) {
        const int64_t output = numbered ? batch->key.i64[row] : 0;
        end = numbered ? row + 1 : batch->rows;
        if ((uint64_t)output >= s->output_count) { /* also a negative number */
            error_set(&s->task->error, GLINT_E_FUNCTION_FAILED,
                      "the key of a record is the number of its output, from 0",
                      "saveAsColumnFiles: a record for output %lld, but there are %u outputs",
                      (long long)output, s->output_count);
            return FLOW_FAIL;
        }
        if (save_rows_of_batch(s, &s->outputs[output], batch, row, end) != 0) return FLOW_FAIL;
    }
    return FLOW_MORE;
}

static bool finish_output(struct column_save *s, struct column_output *o)
{
    struct format_error e = {.piece = -1};
    if (write_array(s, o) != 0) return false;
    if (s->library->finish(o->writer, &e) == 0) return save_finish(o->save) == FLOW_MORE;
    set_format_error(o, &e);
    return false;
}

static enum flow column_save_finish(void *state, struct glint_emitter *out)
{
    struct column_save *s = state;
    (void)out;
    for (uint32_t i = 0; i < s->output_count; i++)
        if (!finish_output(s, &s->outputs[i])) return FLOW_FAIL;
    return FLOW_MORE;
}

static int column_save_result(void *state, struct buffer *out)
{
    const struct column_save *s = state;
    return save_results(s->saves, s->output_count, out);
}

static void close_output(struct column_save *s, struct column_output *o)
{
    s->library->destroy(o->writer);
    for (uint32_t c = 0; c < o->built; c++) arrow_builder_fini(&o->builders[c]);
    save_close(o->save);
    o->writer = NULL;
    o->built = 0;
}

/* If any file is not finished, removes all: a failed attempt leaves no files. */
static void column_save_close(void *state)
{
    struct column_save *s = state;
    bool finished = s->opened == s->output_count;
    for (uint32_t i = 0; i < s->opened; i++) finished = finished && s->saves[i].finished;
    for (uint32_t i = 0; i < s->opened; i++) {
        s->outputs[i].save->finished = finished;
        close_output(s, &s->outputs[i]);
    }
}

/* ---- Directories */

/* Whether it is NAME=VALUE/NAME=VALUE, which stays below the root. */
static bool is_partition_directory(struct glint_slice d)
{
    struct glint_slice rest = d, level;
    uint32_t count = 0;
    bool valid = d.size > 0 && memchr(d.data, '\0', d.size) == NULL;
    while (valid && glint_next_field(&rest, '/', &level))
        valid = level.size > 1 && *level.data != '=' &&
                memchr(level.data, '=', level.size) != NULL &&
                ++count <= GLINT_PARTITION_COLUMNS_MAX;
    return valid;
}

/* Creates the directory s->path, and those above it, below the root. */
static int make_directories(struct column_save *s)
{
    struct env *env = s->task->env;
    for (char *at = s->path + strlen(s->root) + 1; at != NULL; *at++ = '/') {
        at = strchr(at, '/');
        if (at != NULL) *at = '\0';
        const int r = env->make_dir(env, ENV_CWD, s->path, false);
        if (r != 0 && r != -EEXIST)
            return error_set_system(&s->task->error, GLINT_E_OUTPUT_IO, r, "create", s->path);
        if (at == NULL) break;
    }
    return 0;
}

static int end_directory(struct column_save *s)
{
    if (s->opened == 0) return 0;
    assert(s->partitioned && s->opened == 1);
    const bool finished = finish_output(s, &s->outputs[0]);
    close_output(s, &s->outputs[0]);
    s->opened = 0;
    return finished ? 0 : s->task->error.code;
}

static int begin_directory(struct column_save *s, struct glint_slice directory)
{
    struct glint_task *task = s->task;
    if (end_directory(s) != 0) return task->error.code;
    if (!is_partition_directory(directory))
        return error_set(&task->error, GLINT_E_FUNCTION_FAILED,
                         "the key of a record is a path of names and values, as in a=1/b=2",
                         "saveAsPartitionedColumnFiles: a record has another directory");
    if (++s->directory_count > GLINT_PARTITIONS_SAVED_MAX)
        return error_set(&task->error, GLINT_E_PLAN_LIMIT, "choose columns with fewer values",
                         "an output has more than %d directories", GLINT_PARTITIONS_SAVED_MAX);
    s->directory.size = 0;
    if (!buffer_append(&s->directory, directory.data, directory.size))
        return error_no_memory(&task->error);
    if (!text_format(s->path, sizeof s->path, "%s/%.*s", s->root, (int)directory.size,
                     (const char *)directory.data))
        return error_set(&task->error, GLINT_E_OUTPUT_CREATE, "use a shorter path",
                         "the path of a directory is too long: %s", s->root);
    struct column_output *o = &s->outputs[0];
    *o = (struct column_output){.save = &s->saves[0], .builders = o->builders};
    s->opened = 1;
    int r = make_directories(s);
    *o->save = (struct save){.task = task, .file = -1};
    if (r == 0) r = save_open_in(o->save, task, s->path, s->part);
    return r == 0 ? create_writer(s, o) : r;
}

static enum flow partitioned_save_push(void *state, const struct glint_batch *batch,
                                       struct glint_emitter *out)
{
    struct column_save *s = state;
    (void)out;
    s->task->counters.values[COUNT_ROWS_WRITTEN] += batch->rows;
    for (uint32_t row = 0; row < batch->rows; row++) {
        const struct glint_slice key = glint_column_slice(&batch->key, row);
        const bool same = s->opened > 0 && key.size == s->directory.size &&
                          memcmp(key.data, s->directory.data, key.size) == 0;
        if (!same && begin_directory(s, key) != 0) return FLOW_FAIL;
        if (save_rows_of_batch(s, &s->outputs[0], batch, row, row + 1) != 0) return FLOW_FAIL;
    }
    return FLOW_MORE;
}

static enum flow partitioned_save_finish(void *state, struct glint_emitter *out)
{
    struct column_save *s = state;
    (void)out;
    s->complete = end_directory(s) == 0;
    return s->complete ? FLOW_MORE : FLOW_FAIL;
}

static int partitioned_save_result(void *state, struct buffer *out)
{
    const struct column_save *s = state;
    assert(s->complete);
    return buffer_append(out, s->attempt, strlen(s->attempt)) ? 0
                                                              : error_no_memory(&s->task->error);
}

static void partitioned_save_close(void *state)
{
    struct column_save *s = state;
    if (s->opened > 0) close_output(s, &s->outputs[0]);
    buffer_fini(&s->directory);
    if (!s->complete && s->root[0] != '\0')
        env_remove_tree(s->task->env, ENV_CWD, s->root, GLINT_PARTITION_COLUMNS_MAX);
}

const struct op op_save_as_partitioned_column_files = {.name = "saveAsPartitionedColumnFiles",
                                                       .kind = OP_ACTION,
                                                       .state_size = sizeof(struct column_save),
                                                       .open = partitioned_save_open,
                                                       .push = partitioned_save_push,
                                                       .finish = partitioned_save_finish,
                                                       .close = partitioned_save_close,
                                                       .result = partitioned_save_result};

const struct op op_save_as_column_file = {.name = "saveAsColumnFile",
                                          .kind = OP_ACTION,
                                          .state_size = sizeof(struct column_save),
                                          .open = column_save_open,
                                          .push = column_save_push,
                                          .finish = column_save_finish,
                                          .close = column_save_close,
                                          .result = column_save_result};

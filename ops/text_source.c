/* Shared by all file sources: lists the input when the RDD is created, cuts it into splits when
 * partitions are counted, and reads a split on the executor. */
#include "engine/base/text.h"
#include "engine/batch.h"
#include "engine/input/arrow_type.h"
#include "engine/input/bad_rows.h"
#include "engine/input/column_file.h"
#include "engine/input/column_map.h"
#include "engine/input/csv.h"
#include "engine/input/input.h"
#include "engine/input/json_line.h"
#include "engine/input/line_reader.h"
#include "engine/input/split.h"
#include "engine/input/typed_row.h"
#include "engine/records/pack.h"
#include "ops/column_source.h"
#include "ops/json_members.h"
#include "ops/line_rows.h"
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

static void free_input_list(void *source)
{
    input_list_fini(source);
    mem_free(source);
}

/* One for each task; the process that runs it knows where its lines are. */
static int make_stdin_splits(struct glint_rdd *rdd, uint64_t split_bytes)
{
    const struct input_list *list = rdd->source;
    const struct split_piece piece = {.path = SPLIT_STDIN,
                                      .length = SPLIT_TO_END,
                                      .csv = list->csv,
                                      .json = input_list_json(list)};
    const struct split split = {&piece, 1};
    struct buffer wire = {NULL, 0, 0};
    (void)split_bytes;
    if (!split_encode(&split, &wire)) error_no_memory(&rdd->g->error);
    for (uint32_t i = 0; i < rdd->g->config.stdin_tasks && rdd->g->error.code == GLINT_OK; i++)
        rdd_add_split(rdd, (struct glint_slice){wire.data, wire.size});
    buffer_fini(&wire);
    return rdd->g->error.code;
}

struct glint_rdd *file_source_create(struct glint *g, const char *paths,
                                     const struct file_source *source)
{
    assert(source->op->kind == OP_SOURCE && source->op->run != NULL && source->make_splits != NULL);
    if (context_failed(g)) return NULL;
    if (paths == NULL) {
        glint_abort(g, GLINT_E_PLAN_ARGUMENT, PATH_IS_NULL_HINT, "%s: the path is NULL",
                    source->op->name);
        return NULL;
    }
    struct input_list *list = mem_zalloc(sizeof *list);
    if (list == NULL) {
        error_no_memory(&g->error);
        return NULL;
    }
    struct rdd_spec spec = {.op = source->op, .schema = source->schema};
    struct packer p = {.failed = false};
    if (source->parameter != NULL) {
        pack_array(&p, 1);
        pack_u64(&p, *source->parameter);
    }
    /* Paths of outputs that earlier actions of this job saved resolve to their unpublished
     * parts. */
    list->saved = g->saved;
    if (g->config.cluster == NULL && g->config.stage == NULL && !g->config.explain)
        list->spool = &g->spool;
    list->schemas = &g->schemas;
    list->cancelled = g->runner->cancel_file(g->driver);
    list->nul_is_text = g->config.nul_is_text;
    list->skips_nested = source->skips_nested;
    const bool fed =
        g->config.stdin_tasks > 0 && !source->binary && strcmp(paths, SPLIT_STDIN) == 0;
    if (!fed && list->cancelled >= 0 &&
        input_list_resolve(g->config.env, paths, source->binary ? INPUT_BINARY : INPUT_TEXT, list,
                           &g->error) == GLINT_E_INPUT_NOT_FOUND)
        context_set_hint_of_saved_output(g, paths);
    context_check_interrupt(g);
    if (source->describe != NULL && g->error.code == GLINT_OK)
        source->describe(g, list, source->describe_arg, &p, &spec.schema);
    struct glint_rdd *rdd = rdd_create_packed(g, &spec, &p);
    if (rdd == NULL) {
        free_input_list(list);
        return NULL;
    }
    rdd->inputs = rdd->source = list;
    /* Also identifies sources of files: glint_first_line and others compare it. */
    rdd->source_free = free_input_list;
    rdd->input_bytes = list->bytes;
    rdd->unsized = list->unwritten_count > 0;
    for (uint32_t i = 0; i < list->unwritten_count; i++)
        rdd->unwritten_parts += list->unwritten[i]->parts;
    rdd->make_splits = fed ? make_stdin_splits : source->make_splits;
    return rdd;
}

int text_source_add_splits(struct glint_rdd *rdd, const struct splits *splits)
{
    struct buffer wire = {NULL, 0, 0};
    struct glint_error *error = &rdd->g->error;
    for (uint32_t i = 0; i < splits->count && error->code == GLINT_OK; i++) {
        wire.size = 0;
        if (!split_encode(&splits->items[i], &wire))
            error_no_memory(error);
        else
            rdd_add_split(rdd, (struct glint_slice){wire.data, wire.size});
    }
    buffer_fini(&wire);
    return error->code;
}

/* A column that the job chose by its name, and that a file does not have. */
static int check_chosen_columns(struct glint *g, const struct input_list *list)
{
    const struct column_schema *schema = list->schema;
    if (nulls_have_missing(list->nulls)) return 0;
    for (uint32_t i = 0; i < list->columns.count; i++) {
        const uint32_t number = list->columns.uses[i].number;
        if (number >= schema->count || schema->columns[number].lacking == UINT64_MAX) continue;
        char names[HEADER_NAMES_BYTES];
        header_names_format(schema->header, CSV_SEPARATOR, names, sizeof names);
        return error_set(&g->error, GLINT_E_BAD_VALUE,
                         "leave the file out; or with --missing null, the column is null there",
                         "%s: no column is named \"%s\"; the columns of all files are: %s",
                         list->files[schema->columns[number].lacking].path,
                         schema->columns[number].name, names);
    }
    return 0;
}

/* Files of columns are input of jobs that can read them. */
static int check_columns(struct glint *g, struct input_list *list)
{
    if (!list->has_columns) return 0;
    if (list->accepts_columns) return input_list_read_schema(g->config.env, list, &g->error);
    return error_set(&g->error, GLINT_E_INPUT_FORMAT,
                     "use a job that reads rows of tables, or write its rows as text first",
                     "%s: it is a%s %s", list->files[0].path,
                     list->files[0].format == FORMAT_PARQUET ? "" : "n",
                     format_kind_name(list->files[0].format));
}

int text_source_match_columns(struct glint_rdd *rdd)
{
    struct glint *g = rdd->g;
    struct input_list *list = rdd->source;
    if (check_columns(g, list) != 0) return g->error.code;
    if (list->columns.header.data == NULL) return 0;
    if (list->has_columns) return check_chosen_columns(g, list);
    int r = input_list_match_columns(g->config.env, list, g->config.line_bytes_max, &g->error);
    const uint64_t more = list->columns.moved - 1;
    if (r == 0 && list->columns.moved > 0 && !g->noted_columns) {
        glint_note(g,
                   "%s%s: the header is not that of the first input; columns are matched by name",
                   list->columns.first_moved, more > 0 ? " and other files" : "");
        g->noted_columns = true;
    }
    return r;
}

int text_source_make_splits(struct glint_rdd *rdd, uint64_t split_bytes)
{
    struct splits splits = {NULL, 0, {NULL, NULL, 0}};
    int r = text_source_match_columns(rdd);
    if (r == 0)
        r = splits_make_by_bytes(rdd->g->config.env, rdd->source, split_bytes, &splits,
                                 &rdd->g->error);
    if (r == 0) r = text_source_add_splits(rdd, &splits);
    splits_fini(&splits);
    return r;
}

enum flow text_source_read_split(struct glint_task *task, struct glint_slice split,
                                 enum flow (*push)(void *arg, const struct glint_batch *lines),
                                 void *arg)
{
    struct split s;
    struct line_reader lines;
    struct glint_batch batch;
    if (split_decode(split, &task->arena, &s, &task->error) != 0) return FLOW_FAIL;
    const bool fed = s.pieces[0].stored == NULL && strcmp(s.pieces[0].path, SPLIT_STDIN) == 0;
    if (task->input_path == NULL && !fed) task->input_path = s.pieces[0].path;
    struct mapped_rows *columns = NULL;
    if (s.pieces[0].format != 0) return column_rows_read(task, &s, push, arg);
    int r = line_reader_open(&lines, task, &s);
    enum flow flow = FLOW_MORE;
    if (r == 0 && mapped_rows_needed(&s)) {
        columns = task_alloc(task, sizeof *columns);
        if (columns == NULL) r = GLINT_E_NO_MEMORY;
        if (columns != NULL)
            *columns = (struct mapped_rows){.out = {.task = task, .push = push, .arg = arg}};
        push = mapped_rows_push;
        arg = columns;
    }
    if (r == 0 && s.pieces[0].json.data != NULL) {
        flow = json_rows_read(&lines, task, &s.pieces[0], push, arg);
    } else if (r == 0 && s.pieces[0].csv != 0 && !s.pieces[0].records) {
        flow = csv_rows_read(&lines, task, &s.pieces[0], push, arg);
    } else if (r == 0) {
        while (flow == FLOW_MORE && (r = line_reader_next(&lines, &batch)) > 0)
            flow = push(arg, &batch);
    }
    if (columns != NULL) mapped_rows_close(columns);
    line_reader_close(&lines);
    return r < 0 ? FLOW_FAIL : flow;
}

/* Returns 1 if one of the files has a first line, 0, or a code. */
static int find_first_line(const struct glint_rdd *lines, struct buffer *line,
                           struct glint_error *error)
{
    const struct input_list *list = lines->source;
    const struct context_config *c = &lines->g->config;
    bool found = false;
    int r = 0;
    for (uint64_t i = 0; r == 0 && line->size == 0 && i < list->count; i++) {
        bool any = false;
        struct split_piece piece = split_whole_file(&list->files[i]);
        piece.csv = list->csv;
        piece.records = list->records;
        piece.header = list->header;
        if (!piece.header) piece.nulls = list->nulls; /* names are none */
        if (list->files[i].size > 0)
            r = read_first_line(c->env, &piece, c->line_bytes_max, line, &any, error);
        found |= any;
    }
    return r == 0 ? found : r;
}

struct glint_slice glint_first_line(const struct glint_rdd *lines)
{
    struct glint_slice copy = {NULL, 0};
    struct glint_error error = {.code = GLINT_OK};
    struct buffer line = {NULL, 0, 0};
    if (lines == NULL || lines->source_free != free_input_list || context_failed(lines->g))
        return copy;
    struct input_list *list = lines->source;
    if (list->has_columns && list->accepts_columns) {
        input_list_read_schema(lines->g->config.env, list, &lines->g->error);
        return list->schema != NULL ? scope_copy_slice(lines->g, list->schema->header) : copy;
    }
    if (list->columns.united) return scope_copy_slice(lines->g, list->columns.header);
    const int found = find_first_line(lines, &line, &error);
    if (found > 0) copy = scope_copy_slice(lines->g, (struct glint_slice){line.data, line.size});
    /* The first row may be a bad one, which tasks report or skip. */
    const bool row = !list->header;
    if (error.code != GLINT_OK && !(row && error.code == GLINT_E_BAD_ROW))
        error_set(&lines->g->error, error.code, error.hint, "%s", error.cause);
    buffer_fini(&line);
    return copy;
}

uint64_t glint_input_files(const struct glint_rdd *lines)
{
    if (lines == NULL || lines->source_free != free_input_list) return 0;
    return ((const struct input_list *)lines->source)->count;
}

/* Returns the input whose rows a call describes, or NULL with the context's error set. */
static struct input_list *find_input(struct glint_rdd *lines, const char *call)
{
    struct input_list *list = lines->source_free == free_input_list ? lines->source : NULL;
    if (list != NULL && list->content == INPUT_TEXT && !lines->counted) return list;
    rdd_fail(lines, GLINT_E_PLAN_ARGUMENT,
             "%s needs a source of text lines whose partitions are not computed yet", call);
    return NULL;
}

struct input_list *text_source_list(struct glint_rdd *lines)
{
    return lines != NULL && lines->source_free == free_input_list ? lines->source : NULL;
}

enum glint_column_format glint_accept_columns(struct glint_rdd *lines)
{
    struct input_list *list = text_source_list(lines);
    if (list == NULL || !list->has_columns) return GLINT_NO_COLUMNS;
    list->accepts_columns = true;
    lines->g->csv = JSON_ROW; /* rows of outputs are CSV with commas; keys have tabs behind them */
    return list->files[0].format == FORMAT_PARQUET ? GLINT_PARQUET : GLINT_ARROW;
}

void glint_read_columns(struct glint_rdd *lines, const uint32_t *numbers, uint32_t count)
{
    struct input_list *list = text_source_list(lines);
    if (list == NULL || !list->has_columns || context_failed(lines->g)) return;
    struct glint_error *error = &lines->g->error;
    if (input_list_read_schema(lines->g->config.env, list, error) != 0) return;
    assert(numbers != NULL && !lines->counted);
    uint32_t *known = mem_alloc(((uint64_t)count + 1) * sizeof *known), n = 0;
    if (known == NULL) error_no_memory(error);
    for (uint32_t i = 0; known != NULL && i < count; i++)
        if (numbers[i] < list->schema->count) known[n++] = numbers[i];
    if (known != NULL) input_list_set_needed_columns(list, known, n, error);
    mem_free(known);
}

void text_source_warn_of_key_types(struct glint *g, const struct input_list *list,
                                   const uint32_t *numbers, uint32_t count)
{
    const struct column_schema *schema = list->schema;
    if (numbers == NULL) count = schema->count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t number = numbers != NULL ? numbers[i] : i;
        if (number >= schema->count) continue;
        const struct schema_column *c = &schema->columns[number];
        if (schema_column_is_comparable(c)) continue;
        glint_warn(g,
                   "column \"%s\" has types in different files that have no common one: its values "
                   "are compared as texts",
                   c->name);
    }
}

void glint_key_columns(struct glint_rdd *lines, const uint32_t *numbers, uint32_t count)
{
    struct input_list *list = text_source_list(lines);
    if (list == NULL || !list->has_columns || context_failed(lines->g)) return;
    struct glint_error *error = &lines->g->error;
    assert(!lines->counted);
    if (input_list_read_schema(lines->g->config.env, list, error) != 0) return;
    text_source_warn_of_key_types(lines->g, list, numbers, count);
    input_list_set_key_columns(list, numbers, count, error);
}

static bool set_row_types(struct input_list *list)
{
    struct buffer types = {NULL, 0, 0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < list->schema->count; i++)
        ok = typed_form_append(&types, list->schema->columns[i].type);
    struct row_layout *layout =
        ok ? arena_copy(&list->arena, list->layout, sizeof *list->layout) : NULL;
    list->types.data = layout != NULL ? arena_copy(&list->arena, types.data, types.size) : NULL;
    ok = list->types.data != NULL;
    list->types.size = ok ? types.size : 0;
    buffer_fini(&types);
    if (!ok) return false;
    layout->types = list->types;
    list->layout = layout;
    return true;
}

void glint_type_rows(struct glint_rdd *lines)
{
    struct input_list *list = text_source_list(lines);
    if (list == NULL || !list->has_columns || context_failed(lines->g)) return;
    assert(!lines->counted);
    if (input_list_read_schema(lines->g->config.env, list, &lines->g->error) != 0) return;
    if (list->types.size == 0 && !set_row_types(list)) error_no_memory(&lines->g->error);
}

struct glint_slice glint_row_types(const struct glint_rdd *lines)
{
    const struct glint_slice none = {NULL, 0};
    if (lines == NULL || lines->source_free != free_input_list) return none;
    const struct input_list *list = lines->source;
    return list->types.size > 0 ? scope_copy_slice(lines->g, list->types) : none;
}

const struct glint_column_type *glint_column_types(struct glint_rdd *lines, uint32_t *out_count)
{
    struct input_list *list = text_source_list(lines);
    *out_count = 0;
    if (list == NULL || !list->has_columns ||
        input_list_read_schema(lines->g->config.env, list, &lines->g->error) != 0)
        return NULL;
    const uint32_t count = list->schema->count;
    struct glint_column_type *types = arena_alloc(&lines->g->arena, (count + 1) * sizeof *types);
    if (types == NULL) {
        error_no_memory(&lines->g->error);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct schema_column *c = &list->schema->columns[i];
        types[i] = (struct glint_column_type){.name = c->name,
                                              .type = c->type,
                                              .numbers = schema_column_is(c, FORMS_NUMBERS),
                                              .times = schema_column_is(c, FORMS_TIMES),
                                              .times_of_day = schema_column_is(c, FORM_TIME_OF_DAY),
                                              .several_kinds = !schema_column_is_comparable(c)};
    }
    *out_count = count;
    return types;
}

struct glint_column_part glint_find_column_part(struct glint_rdd *lines, uint32_t column,
                                                struct glint_slice path)
{
    struct glint_column_part none = {NULL, NULL}, part = none;
    struct json_paths paths;
    struct buffer pointer = {NULL, 0, 0};
    uint32_t count;
    bool no_memory = false;
    const struct glint_column_type *types = glint_column_types(lines, &count);
    if (column >= count) return none;
    struct arena *arena = &lines->g->arena;
    if (path.size == 0 || path.data[0] == JSON_PATH_RAW ||
        json_path_append(&pointer, path, &no_memory) != NULL) {
        if (no_memory) error_no_memory(&lines->g->error);
        return none;
    }
    part.pointer = arena_strdup(arena, (const char *)pointer.data);
    bool ok = part.pointer != NULL &&
              json_paths_read((struct glint_slice){(const uint8_t *)part.pointer, pointer.size},
                              arena, &paths) &&
              arrow_type_of_part(types[column].type, &paths.items[0], arena, &part.type);
    buffer_fini(&pointer);
    if (!ok) error_no_memory(&lines->g->error);
    return ok && part.type != NULL ? part : none;
}

struct glint_rdd *glint_with_header(struct glint_rdd *lines)
{
    if (lines == NULL) return rdd_fail_null("withHeader");
    struct input_list *list = find_input(lines, "withHeader");
    if (list == NULL) return NULL;
    if (list->json_lines)
        return rdd_fail(lines, GLINT_E_PLAN_ARGUMENT, "lines of JSON have no header");
    list->header = lines->header = true;
    return lines;
}

static int unite_columns(struct glint *g, struct input_list *list)
{
    list->columns.count = 0;
    int r = input_list_merge_csv_headers(g->config.env, list, g->config.line_bytes_max, &g->error);
    if (r == 0 && list->records && list->columns.differ)
        r = error_set(&g->error, GLINT_E_USAGE,
                      "add --column, or bring them into one form first: glint submit select --csv "
                      "--header --output-header",
                      "%s and other files: their headers differ, but an output with columns of "
                      "records that stay as they are needs one",
                      list->files[0].path);
    return r;
}

struct glint_rdd *glint_with_columns(struct glint_rdd *lines, struct glint_slice header,
                                     char delimiter, const struct glint_column_use *uses,
                                     uint32_t count)
{
    if (lines == NULL) return rdd_fail_null("withColumns");
    struct input_list *list = find_input(lines, "withColumns");
    if (list == NULL) return NULL;
    const bool unite = header.data == NULL && list->header;
    if ((!list->header && !list->has_columns) || (header.data == NULL && !unite))
        return rdd_fail(lines, GLINT_E_PLAN_ARGUMENT, "withColumns: there is no header");
    list->columns.delimiter = (uint8_t)delimiter;
    if (unite && unite_columns(lines->g, list) != 0) return NULL;
    if (unite) header = list->columns.header;
    if (header.data == NULL) return lines; /* no file has a line */
    struct glint_column_use *copy = arena_alloc(&list->arena, (count + 1) * sizeof *copy);
    uint8_t *names = arena_alloc(&list->arena, header.size + 1);
    if (copy == NULL || names == NULL) {
        error_no_memory(&lines->g->error);
        return NULL;
    }
    if (count > 0) memcpy(copy, uses, count * sizeof *copy);
    memcpy(names, header.data, header.size);
    list->columns.header = (struct glint_slice){names, header.size};
    list->columns.uses = copy;
    list->columns.count = count;
    return lines;
}

/* Returns the input, or NULL with the context's error set. */
static struct input_list *set_input_csv(struct glint_rdd *lines, const char *call, char delimiter,
                                        bool records)
{
    struct input_list *list = find_input(lines, call);
    if (list == NULL) return NULL;
    if (list->json_lines) {
        rdd_fail(lines, GLINT_E_PLAN_ARGUMENT, "rows are either CSV or JSON");
        return NULL;
    }
    if (delimiter == '\0' ? !records : strchr("\"\n\r\x1f", delimiter) != NULL) {
        rdd_fail(lines, GLINT_E_PLAN_ARGUMENT,
                 "%s: the delimiter cannot be a quote, a line end or the byte 0x1f", call);
        return NULL;
    }
    list->csv = delimiter != '\0' ? (uint8_t)delimiter : CSV_ANY;
    list->records = records;
    return list;
}

struct glint_rdd *glint_with_csv(struct glint_rdd *lines, char delimiter)
{
    if (lines == NULL) return rdd_fail_null("withCsv");
    const struct input_list *list = set_input_csv(lines, "withCsv", delimiter, false);
    if (list == NULL) return NULL;
    if (lines->g->csv == 0) lines->g->csv = list->csv;
    return lines;
}

struct glint_rdd *glint_with_csv_records(struct glint_rdd *lines, char delimiter)
{
    if (lines == NULL) return rdd_fail_null("withCsvRecords");
    return set_input_csv(lines, "withCsvRecords", delimiter, true) != NULL ? lines : NULL;
}

struct glint_rdd *glint_with_json_lines(struct glint_rdd *lines, const struct glint_slice *paths,
                                        uint32_t count)
{
    if (lines == NULL) return rdd_fail_null("withJsonLines");
    struct input_list *list = find_input(lines, "withJsonLines");
    if (list == NULL) return NULL;
    if (list->csv != 0 || list->header)
        return rdd_fail(lines, GLINT_E_PLAN_ARGUMENT, "lines of JSON are no CSV, without a header");
    if (count > JSON_PATHS_MAX)
        return rdd_fail(lines, GLINT_E_PLAN_LIMIT, "more than %d paths of JSON", JSON_PATHS_MAX);
    list->json_lines = true;
    list->json.size = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool no_memory;
        const char *reason = json_path_append(&list->json, paths[i], &no_memory);
        if (no_memory) error_no_memory(&lines->g->error);
        if (reason != NULL && !no_memory)
            glint_abort(lines->g, GLINT_E_BAD_VALUE,
                        "use names and dots, as in user.id or tags[0], or a JSON pointer: /user/id",
                        "\"%.*s\" is no path in JSON: %s", (int)paths[i].size,
                        (const char *)paths[i].data, reason);
        if (reason != NULL) return NULL;
    }
    if (count > 0) lines->g->csv = JSON_ROW;
    if (count > 0) json_members_warn_of_missing_paths(lines->g, list);
    return lines;
}

/* The form of struct split_piece. */
static bool set_nulls(struct input_list *list, const char *text, bool missing)
{
    const uint64_t size = 1 + strlen(text);
    uint8_t *nulls = arena_alloc(&list->arena, size);
    if (nulls == NULL) return false;
    nulls[0] = missing ? '1' : '0';
    memcpy(nulls + 1, text, size - 1);
    list->nulls = (struct glint_slice){nulls, size};
    return true;
}

struct glint_rdd *glint_with_nulls(struct glint_rdd *lines, const char *text, bool missing)
{
    if (lines == NULL) return rdd_fail_null("withNulls");
    struct input_list *list = find_input(lines, "withNulls");
    if (list == NULL) return NULL;
    const bool csv = list->csv != 0 && !list->records;
    list->columns.missing = missing;
    if (!list->json_lines && !list->has_columns && list->header && (!csv || text[0] == '\0')) {
        const bool line = strlen(text) <= NULL_TEXT_MAX && !list->records && !csv;
        if (line && !set_nulls(list, text, missing)) error_no_memory(&lines->g->error);
        return lines;
    }
    if (!csv && !list->json_lines && !list->has_columns)
        return rdd_fail(lines, GLINT_E_PLAN_ARGUMENT, "withNulls needs rows of CSV or JSON");
    if (strlen(text) > NULL_TEXT_MAX || (csv && text[0] == '\0') ||
        strpbrk(text, "\"\n\r\x1d\x1e\x1f") != NULL || (csv && strchr(text, list->csv) != NULL) ||
        (!csv && strchr(text, ',') != NULL))
        return rdd_fail(lines, GLINT_E_PLAN_ARGUMENT,
                        "withNulls: the text cannot be in a field without quotes");
    if (!set_nulls(list, text, missing)) {
        error_no_memory(&lines->g->error);
        return NULL;
    }
    lines->g->nulls = scope_copy_slice(lines->g, list->nulls);
    return lines;
}

struct glint_rdd *glint_as_side_file(struct glint_rdd *source)
{
    if (source == NULL) return rdd_fail_null("asSideFile");
    if (source->source_free != free_input_list)
        return rdd_fail(source, GLINT_E_PLAN_ARGUMENT, "asSideFile needs a source of files");
    source->side = !source->unsized; /* explain: an output that was not saved cannot be read */
    return source;
}

struct glint_rdd *glint_with_partitions_of_one_file(struct glint_rdd *lines)
{
    if (lines == NULL) return rdd_fail_null("withPartitionsOfOneFile");
    struct input_list *list = find_input(lines, "withPartitionsOfOneFile");
    if (list == NULL) return NULL;
    list->apart = true;
    return lines;
}

int text_source_open(void *state, const struct op_open *o)
{
    ((struct text_source_state *)state)->task = o->task;
    return 0;
}

static enum flow emit_lines(void *arg, const struct glint_batch *lines)
{
    struct glint_emitter *out = arg;
    glint_emit_batch(out, lines);
    return out->flow;
}

enum flow text_source_emit_lines(void *state, struct glint_slice split, struct glint_emitter *out)
{
    return text_source_read_split(((struct text_source_state *)state)->task, split, emit_lines,
                                  out);
}

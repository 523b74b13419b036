/* See column_file.h. */
#include "engine/input/column_file.h"

#include "engine/base/shared_library.h"
#include "engine/base/text.h"
#include "engine/input/arrow_type.h"
#include "engine/input/csv.h"
#include "engine/input/partition_path.h"
#include "engine/input/remote_reader.h"
#include "engine/records/task.h"

#include <assert.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY_NAME "libglint_formats.so"

/* ---- The library. It is searched in two fixed places, never in the system's path. */

struct entry_table {
    format_library_entry glint_formats;
};
static struct entry_table entry;
static const char hint_to_install[] =
    "build it with glint: cmake -DGLINT_FORMATS=ON (extras/formats/README.md)";

static int check_format_library_version(struct glint_error *error)
{
    const struct format_library *library = entry.glint_formats();
    if (library != NULL && library->abi == FORMAT_LIBRARY_ABI &&
        library->size == sizeof(struct format_library))
        return 0;
    return error_set(error, GLINT_E_INPUT_LIBRARY, "build both from one version of glint",
                     LIBRARY_NAME " has interface %u, and this glint needs %u",
                     library != NULL ? library->abi : 0, FORMAT_LIBRARY_ABI);
}

/* The directory formats/ beside the file that contains this code: a program or libglint. */
static char beside[PATH_MAX];
static void find_format_library_path(void)
{
    char path[PATH_MAX];
    Dl_info info;
    struct link_map *map = NULL;
    text_format(beside, sizeof beside, "%s", GLINT_FORMATS_DIR "/" LIBRARY_NAME);
    if (dladdr1(&entry, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) return;
    const char *file = map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe";
    const ssize_t n = readlink(file, path, sizeof path - 1);
    if (n > 0 && map->l_name[0] == '\0') {
        path[n] = '\0';
        file = path;
    }
    const char *slash = strrchr(file, '/');
    if (slash != NULL && file[0] == '/')
        text_format(beside, sizeof beside, "%.*s/formats/" LIBRARY_NAME, (int)(slash - file), file);
}

const struct format_library *format_library_load(struct glint_error *error)
{
    static const struct shared_symbol symbol = {"glint_formats", 0};
    static struct shared_library formats = {
        .names = {beside, GLINT_FORMATS_DIR "/" LIBRARY_NAME},
        .purpose = "files of columns, such as Parquet, are read with " LIBRARY_NAME,
        .hint = hint_to_install,
        .code = GLINT_E_INPUT_LIBRARY,
        .symbols = &symbol,
        .symbol_count = 1,
        .table = &entry,
        .initialize = check_format_library_version,
        .lock = PTHREAD_MUTEX_INITIALIZER};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_format_library_path);
    return shared_library_load(&formats, error) == 0 ? entry.glint_formats() : NULL;
}

const char *format_kind_name(uint8_t format)
{
    static const char *const names[] = {[FORMAT_PARQUET] = "Parquet file",
                                        [FORMAT_ARROW_FILE] = "Arrow file",
                                        [FORMAT_ARROW_STREAM] = "Arrow stream",
                                        [FORMAT_AVRO] = "Avro file",
                                        [FORMAT_ORC] = "ORC file"};
    return format > 0 && format < sizeof names / sizeof names[0] ? names[format] : "file";
}

/* ---- A file */

static int read_input_for_library(void *context, uint64_t offset, void *out, uint64_t size)
{
    struct column_file *f = context;
    f->bytes_read += size;
    return input_stream_read_at(&f->stream, out, size, offset);
}

static const char *row_group_name_of_format(uint8_t format)
{
    if (format == FORMAT_PARQUET) return "row group";
    return format == FORMAT_ORC ? "stripe" : "batch";
}

int column_file_set_error(struct column_file *f, const struct format_error *e)
{
    assert(f->library != NULL);
    const struct split_piece *piece = f->stream.piece;
    char where[64] = "";
    if (f->error->code != GLINT_OK) return f->error->code;
    if (e->piece >= 0)
        text_format(where, sizeof where, "%s %" PRId64 ": ",
                    row_group_name_of_format(piece->format), e->piece);
    switch (e->kind) {
    case FORMAT_ERROR_MEMORY:
        return error_set(f->error, GLINT_E_MEMORY_LIMIT, "raise --memory", "%s: %s%s", piece->path,
                         where, e->message);
    case FORMAT_ERROR_UNSUPPORTED:
        return error_set(f->error, GLINT_E_INPUT_FORMAT,
                         "write the file again in a form that glint reads, or choose other columns",
                         "%s: %s%s", piece->path, where, e->message);
    case FORMAT_ERROR_INTERNAL:
        return error_set(f->error, GLINT_E_INPUT_DAMAGED, "write the file again, or leave it out",
                         "%s: %sthe library of formats failed: %s", piece->path, where, e->message);
    default:
        return error_set(f->error, GLINT_E_INPUT_DAMAGED, "write the file again, or leave it out",
                         "%s: %s%s", piece->path, where, e->message);
    }
}

static int read_column_file_schema(struct column_file *f, struct arena *arena)
{
    assert(f->library != NULL && f->file == NULL && f->stream.open);
    struct ArrowSchema schema = {.release = NULL};
    struct format_error e = {.piece = -1};
    if (f->library->open(&f->input, f->stream.piece->format, &f->file, &e) != 0 ||
        f->library->schema(f->file, &schema, &e) != 0)
        return column_file_set_error(f, &e);
    const char *problem = arrow_table_read(&schema, arena, &f->schema);
    if (schema.release != NULL) schema.release(&schema);
    for (uint32_t i = 0; problem == NULL && i < f->schema.child_count; i++)
        if (!name_table_add(&f->names, f->schema.children[i].name))
            return error_no_memory(f->error);
    if (problem == NULL) return 0;
    return error_set(f->error, GLINT_E_INPUT_FORMAT, "write the file again with other types",
                     "%s: %s", f->stream.piece->path, problem);
}

int column_file_open(struct column_file *f, struct env *env, struct glint_task *task,
                     const struct split_piece *piece, struct arena *arena,
                     struct glint_error *error)
{
    *f = (struct column_file){.error = error};
    f->input = (struct format_input){.context = f,
                                     .size = piece->file_size,
                                     .remote = piece->remote != NULL,
                                     .read = read_input_for_library};
    f->library = format_library_load(error);
    if (f->library == NULL) return error->code;
    int r = task != NULL ? input_stream_open_in_task(&f->stream, task, piece, 0)
                         : input_stream_open(&f->stream, env, piece, 0, error);
    return r == 0 ? read_column_file_schema(f, arena) : r;
}

void column_file_close(struct column_file *f)
{
    if (f->library != NULL) f->library->close(f->file);
    f->file = NULL;
    name_table_fini(&f->names);
    input_stream_close(&f->stream);
}

/* ---- The schema of a list */

struct schema_reader {
    struct env *env;
    struct input_list *list;
    struct glint_error *error;
    struct arena *arena;     /* the schema's */
    struct name_table names; /* of the columns */
    struct schema_column *columns;
    struct buffer type; /* of a column */
    struct format_piece *pieces;
    uint32_t *starts;
    uint64_t column_capacity, piece_capacity, piece_count;
};

static enum column_class column_class_of_field(const struct arrow_field *field)
{
    if (arrow_fits_i64(field)) return COLUMN_I64;
    return arrow_is_float(field) ? COLUMN_F64 : COLUMN_TEXT;
}

/* Names are fields of a row. */
static int reject_escape_in_column_name(struct schema_reader *s, const struct column_file *f,
                                        const char *name, uint32_t column)
{
    for (const char *p = name; *p != '\0'; p++)
        if (row_text_is_special((uint8_t)*p))
            return error_set(s->error, GLINT_E_INPUT_FORMAT, "rename the column",
                             "%s: the name of column %" PRIu32 " has the byte 0x%02x",
                             f->stream.piece->path, column + 1, (uint8_t)*p);
    return 0;
}

static int check_column_name(struct schema_reader *s, const struct column_file *f, uint32_t column)
{
    const char *path = f->stream.piece->path, *name = f->schema.children[column].name;
    if (reject_escape_in_column_name(s, f, name, column) != 0) return s->error->code;
    if (name_table_find(&f->names, name) == column) return 0;
    return error_set(s->error, GLINT_E_INPUT_FORMAT, "rename one of them",
                     "%s: two columns are named \"%s\"", path, name);
}

/* 0: all values are null. */
static enum column_form column_form_of_field(const struct arrow_field *field)
{
    const struct arrow_field *values = arrow_value_field(field);
    switch (values->type) {
    case ARROW_NULL: return 0;
    case ARROW_F16: return FORM_HALF;
    case ARROW_F32: return FORM_FLOAT;
    case ARROW_F64: return FORM_DOUBLE;
    case ARROW_DECIMAL: return FORM_DECIMAL;
    case ARROW_DURATION: return FORM_DURATION;
    case ARROW_DATE32:
    case ARROW_DATE64: return FORM_DATE;
    case ARROW_TIMESTAMP: return values->zoned ? FORM_INSTANT : FORM_TIMESTAMP;
    case ARROW_TIME32:
    case ARROW_TIME64: return FORM_TIME_OF_DAY;
    default: break;
    }
    return values->type >= ARROW_I8 && values->type <= ARROW_U64 ? FORM_INTEGER : FORM_OTHER;
}

static void add_form_to_column(struct schema_column *column, const struct arrow_field *field)
{
    const struct arrow_field *values = arrow_value_field(field);
    column->forms |= (uint16_t)column_form_of_field(field);
    if (values->type == ARROW_DECIMAL && values->scale > column->scale)
        column->scale = values->scale;
}

/* The type whose text all values get, where files give them types of which a value has several
 * texts. */
static enum arrow_common find_common_type(const struct schema_column *c)
{
    const unsigned forms = c->forms, floats = forms & FORMS_FLOATS;
    const bool one = (forms & (forms - 1)) == 0;
    assert(c->scale >= 0 && ARROW_COMMON_DECIMAL + c->scale <= ARROW_COMMON_MAX);
    if (schema_column_is(c, FORMS_TIMES) && !one)
        return forms & FORM_INSTANT ? ARROW_COMMON_INSTANT : ARROW_COMMON_TIMESTAMP;
    if (!schema_column_is(c, FORMS_NUMBERS) || (forms & FORM_DURATION) != 0)
        return ARROW_COMMON_NONE;
    if ((floats & (floats - 1)) != 0) return ARROW_COMMON_DOUBLE;
    if (floats != 0) return one ? ARROW_COMMON_NONE : ARROW_COMMON_F64;
    if ((forms & FORM_DECIMAL) == 0 || !c->several_types) return ARROW_COMMON_NONE;
    return (enum arrow_common)(ARROW_COMMON_DECIMAL + c->scale);
}

static bool is_binary_arrow_format(const char *type)
{
    return type[0] == 'z' || type[0] == 'Z' || type[0] == 'w';
}

/* A column that another file has, too: its types become one, of bytes if either is: they may not be
 * UTF-8. A type of nulls is any. */
static int widen_column_type(struct schema_reader *s, struct schema_column *known,
                             enum column_class class, const char *type)
{
    const bool null = strcmp(type, "n") == 0, was_null = strcmp(known->type, "n") == 0;
    if (known->class != class) class = COLUMN_TEXT;
    known->several_types |= !null && !was_null && strcmp(known->type, type) != 0;
    if (was_null && !null)
        known->type = arena_strdup(s->arena, type);
    else if (!null && strcmp(known->type, type) != 0 &&
             (is_binary_arrow_format(type) || is_binary_arrow_format(known->type)))
        known->type = "z";
    else if (!null && strcmp(known->type, type) != 0)
        known->type = class == COLUMN_TEXT ? "u" : class == COLUMN_I64 ? "l" : "g";
    known->class = class;
    return known->type != NULL ? 0 : error_no_memory(s->error);
}

static int add_column_to_schema(struct schema_reader *s, const struct arrow_field *field,
                                uint64_t file)
{
    const enum column_class class = column_class_of_field(field);
    const uint32_t known = name_table_find(&s->names, field->name), n = s->names.count;
    s->type.size = 0;
    if (!arrow_type_append(field, &s->type) || !buffer_append(&s->type, "", 1))
        return error_no_memory(s->error);
    const char *const type = (const char *)s->type.data;
    if (known != UINT32_MAX) {
        add_form_to_column(&s->columns[known], field);
        return widen_column_type(s, &s->columns[known], class, type);
    }
    struct schema_column column = {.name = arena_strdup(s->arena, field->name),
                                   .class = class,
                                   .type = arena_strdup(s->arena, type),
                                   .lacking = file > 0 ? 0 : UINT64_MAX};
    add_form_to_column(&column, field);
    if (column.name == NULL || column.type == NULL ||
        !array_reserve(&s->columns, &s->column_capacity, n + UINT64_C(1), sizeof *s->columns) ||
        !name_table_add(&s->names, column.name))
        return error_no_memory(s->error);
    s->columns[n] = column;
    return 0;
}

/* Only a job that chooses the column cannot read the file. */
static int keep_first_column_problem(struct schema_reader *s, const struct column_file *f,
                                     const struct arrow_field *field)
{
    const uint32_t number = name_table_find(&s->names, field->name);
    assert(number != UINT32_MAX);
    struct schema_column *column = &s->columns[number];
    if (field->problem == NULL || column->problem != NULL) return 0;
    column->problem = arena_format(s->arena, "%s: %s", f->stream.piece->path, field->problem);
    return column->problem != NULL ? 0 : error_no_memory(s->error);
}

static int add_row_groups_of_file(struct schema_reader *s, struct column_file *f)
{
    assert(f->file != NULL);
    const uint32_t count = f->library->piece_count(f->file);
    if (s->piece_count + count > UINT32_MAX)
        return error_set(s->error, GLINT_E_PLAN_LIMIT, NULL, "the input has too many row groups");
    if (!array_reserve(&s->pieces, &s->piece_capacity, s->piece_count + count, sizeof *s->pieces))
        return error_no_memory(s->error);
    for (uint32_t i = 0; i < count; i++) {
        struct format_error e = {.piece = -1};
        if (f->library->piece(f->file, i, &s->pieces[s->piece_count++], &e) != 0)
            return column_file_set_error(f, &e);
    }
    return 0;
}

/* Columns that the file's directories give it come after its own; of the same name they replace
 * them.
 */
static int add_partition_columns(struct schema_reader *s, const struct column_file *f,
                                 struct arena *arena, uint64_t file)
{
    struct partition_column columns[PARTITION_COLUMNS_MAX];
    const int count = partition_columns_of(f->stream.piece->path, arena, columns);
    int r = count < 0 ? error_no_memory(s->error) : 0;
    for (int i = 0; r == 0 && i < count; i++) {
        const struct arrow_field field = {
            .name = columns[i].name, .format = "u", .type = ARROW_UTF8};
        r = reject_escape_in_column_name(s, f, field.name, f->schema.child_count + (uint32_t)i);
        if (r == 0) r = add_column_to_schema(s, &field, file);
    }
    for (uint32_t i = 0; r == 0 && i < s->names.count; i++)
        if (name_table_find(&f->names, s->columns[i].name) == UINT32_MAX &&
            partition_column_find(columns, count, s->columns[i].name) == NULL)
            s->columns[i].lacking = file;
    return r;
}

/* Many files mostly have the same columns, of which the arena keeps the names once. */
static int add_file_to_schema(struct schema_reader *s, uint64_t file)
{
    assert(file < s->list->count);
    const struct split_piece piece = split_whole_file(&s->list->files[file]);
    struct arena arena = {NULL, NULL, 0};
    struct column_file f;
    int r = column_file_open(&f, s->env, NULL, &piece, &arena, s->error);
    for (uint32_t i = 0; r == 0 && i < f.schema.child_count; i++) {
        r = check_column_name(s, &f, i);
        if (r == 0) r = add_column_to_schema(s, &f.schema.children[i], file);
        if (r == 0) r = keep_first_column_problem(s, &f, &f.schema.children[i]);
    }
    if (r == 0) r = add_partition_columns(s, &f, &arena, file);
    if (r == 0) r = add_row_groups_of_file(s, &f);
    column_file_close(&f);
    arena_fini(&arena);
    return r;
}

static int finish_schema(struct schema_reader *s)
{
    assert(s->list->schema == NULL);
    const uint32_t count = s->names.count;
    if (count == 0)
        return error_set(s->error, GLINT_E_INPUT_FORMAT, "leave the file out",
                         "%s: it has no columns", s->list->files[0].path);
    struct buffer header = {NULL, 0, 0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++)
        ok = (i == 0 || buffer_append(&header, "\x1f", 1)) &&
             buffer_append(&header, s->columns[i].name, strlen(s->columns[i].name));
    for (uint32_t i = 0; i < count; i++)
        s->columns[i].common = (uint8_t)find_common_type(&s->columns[i]);
    const struct column_schema schema = {
        .count = count,
        .columns = arena_copy(s->arena, s->columns, count * sizeof *s->columns),
        .header = {ok ? arena_copy(s->arena, header.data, header.size) : NULL, header.size},
        .pieces = arena_copy(s->arena, s->pieces, s->piece_count * sizeof *s->pieces),
        .starts = s->starts};
    buffer_fini(&header);
    struct column_schema *out = arena_copy(s->arena, &schema, sizeof schema);
    if (schema.columns == NULL || schema.header.data == NULL || schema.pieces == NULL ||
        out == NULL)
        return error_no_memory(s->error);
    s->list->schema = out;
    return 0;
}

int input_list_set_needed_columns(struct input_list *list, const uint32_t *numbers, uint32_t count,
                                  struct glint_error *error)
{
    assert(list->schema != NULL && (numbers != NULL || count == 0));
    const struct column_schema *schema = list->schema;
    struct row_layout *layout = arena_alloc(&list->arena, sizeof *layout);
    struct row_column *columns =
        arena_alloc(&list->arena, ((uint64_t)schema->count + 1) * sizeof *columns);
    if (layout == NULL || columns == NULL) return error_no_memory(error);
    *layout =
        (struct row_layout){.fields = schema->count, .columns = columns, .types = list->types};
    for (uint32_t field = 0; field < schema->count; field++)
        columns[field] =
            (struct row_column){.field = field,
                                .name = numbers == NULL ? schema->columns[field].name : NULL,
                                .key = list->keys != NULL && list->keys[field],
                                .common = schema->columns[field].common};
    for (uint32_t i = 0; i < count; i++)
        columns[numbers[i]].name = schema->columns[numbers[i]].name;
    for (uint32_t field = 0; field < schema->count; field++)
        if (columns[field].name != NULL) columns[layout->count++] = columns[field];
    list->layout = layout;
    return 0;
}

int input_list_set_key_columns(struct input_list *list, const uint32_t *numbers, uint32_t count,
                               struct glint_error *error)
{
    const struct row_layout *layout = list->layout;
    assert(layout != NULL && (numbers != NULL || count == 0));
    uint32_t *fields = arena_alloc(&list->arena, (layout->count + 1ull) * sizeof *fields);
    if (list->keys == NULL) {
        list->keys = arena_alloc(&list->arena, list->schema->count + 1ull);
        if (list->keys != NULL) memset(list->keys, numbers == NULL, list->schema->count + 1ull);
    }
    if (fields == NULL || list->keys == NULL) return error_no_memory(error);
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] < list->schema->count) list->keys[numbers[i]] = true;
    for (uint32_t i = 0; i < layout->count; i++) fields[i] = layout->columns[i].field;
    return input_list_set_needed_columns(list, fields, layout->count, error);
}

static int read_schemas_of_files(struct schema_reader *s)
{
    const struct input_list *list = s->list;
    s->starts = arena_alloc(s->arena, (list->count + 1) * sizeof *s->starts);
    int r = s->starts != NULL ? 0 : error_no_memory(s->error);
    for (uint64_t i = 0; r == 0 && i < list->count; i++) {
        s->starts[i] = (uint32_t)s->piece_count;
        r = add_file_to_schema(s, i);
    }
    if (r != 0) return r;
    s->starts[list->count] = (uint32_t)s->piece_count;
    return finish_schema(s);
}

/* ---- Schemas that were read: a job makes several lists of the same files */

struct kept_schema {
    struct kept_schema *next;
    const struct column_schema *schema;
    struct kept_file {
        const char *path;
        uint64_t size;
        int64_t mtime_ns;
        const char *version; /* of a remote file; "": none */
    } * files;
    uint64_t count;
    struct arena arena; /* of all that, also of the schema */
};

static const char *version_of_input_file(const struct input_file *file)
{
    return file->remote != NULL ? file->remote->version : "";
}

static bool is_same_file_version(const struct kept_file *kept, const struct input_file *file)
{
    return kept->size == file->size && kept->mtime_ns == file->mtime_ns &&
           strcmp(kept->path, file->path) == 0 &&
           strcmp(kept->version, version_of_input_file(file)) == 0;
}

static const struct column_schema *find_kept_schema(const struct column_schemas *kept,
                                                    const struct input_list *list)
{
    for (const struct kept_schema *k = kept->first; k != NULL; k = k->next) {
        uint64_t i = 0;
        assert(k->schema != NULL);
        while (k->count == list->count && i < list->count &&
               is_same_file_version(&k->files[i], &list->files[i]))
            i++;
        if (k->count == list->count && i == list->count) return k->schema;
    }
    return NULL;
}

void column_schemas_fini(struct column_schemas *kept)
{
    while (kept->first != NULL) {
        struct arena arena = kept->first->arena; /* it contains kept->first */
        kept->first = kept->first->next;
        arena_fini(&arena);
    }
}

/* Copies what identifies the list's files into the arena. Returns NULL when out of memory. */
static struct kept_schema *create_schema_cache_entry(const struct input_list *list,
                                                     struct arena *arena)
{
    struct kept_schema *k = arena_alloc(arena, sizeof *k);
    struct kept_file *files = arena_alloc(arena, (list->count + 1) * sizeof *files);
    bool ok = k != NULL && files != NULL;
    for (uint64_t i = 0; ok && i < list->count; i++) {
        const struct input_file *file = &list->files[i];
        files[i] = (struct kept_file){.path = arena_strdup(arena, file->path),
                                      .size = file->size,
                                      .mtime_ns = file->mtime_ns,
                                      .version = arena_strdup(arena, version_of_input_file(file))};
        ok = files[i].path != NULL && files[i].version != NULL;
    }
    if (!ok) return NULL;
    *k = (struct kept_schema){.files = files, .count = list->count};
    return k;
}

int input_list_read_schema(struct env *env, struct input_list *list, struct glint_error *error)
{
    assert(list->has_columns && list->schemas != NULL);
    if (list->schema != NULL) return 0;
    list->schema = find_kept_schema(list->schemas, list);
    if (list->schema == NULL) {
        struct arena arena = {NULL, NULL, 0};
        struct schema_reader s = {.env = env, .list = list, .error = error, .arena = &arena};
        struct kept_schema *k = create_schema_cache_entry(list, &arena);
        const int r = k != NULL ? read_schemas_of_files(&s) : error_no_memory(error);
        name_table_fini(&s.names);
        buffer_fini(&s.type);
        mem_free(s.columns);
        mem_free(s.pieces);
        if (r != 0) {
            arena_fini(&arena);
            return r;
        }
        k->schema = list->schema;
        k->arena = arena;
        k->next = list->schemas->first;
        list->schemas->first = k;
    }
    return list->layout != NULL ? 0 : input_list_set_needed_columns(list, NULL, 0, error);
}

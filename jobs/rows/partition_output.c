/* See partition_output.h. Rows are shuffled and sorted by directory, so that a task writes one file
 * after another. */
#include "jobs/rows/partition_output.h"

#include "jobs/rows/row_output.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* What DuckDB leaves as it is, the unreserved characters of RFC 3986; Spark escapes fewer. */
#define PLAIN_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"

static const char null_directory[] = "__HIVE_DEFAULT_PARTITION__";

/* ---- partition.row: a row -> (directory, row without the columns) */

struct partition_state {
    struct glint_slice columns; /* of the directory: numbers of 4 bytes, in its order */
    struct glint_slice names;   /* theirs, escaped, each with = and a NUL */
    bool empty_is_null;         /* an empty field is null, too */
    struct glint_slice fields[GLINT_PARTITION_COLUMNS_MAX];
    struct glint_buffer directory, row;
};

static int partition_row_init(struct glint_task *task, void *state)
{
    struct partition_state *s = state;
    int64_t empty_is_null;
    int e = glint_arg_slice(task, "columns", &s->columns);
    if (e == 0) e = glint_arg_slice(task, "names", &s->names);
    if (e == 0) e = glint_arg_i64(task, "empty_is_null", &empty_is_null);
    if (e != 0) return e;
    const uint64_t count = s->columns.size / sizeof(uint32_t);
    uint64_t names = 0;
    for (uint64_t i = 0; i < s->names.size; i++) names += s->names.data[i] == '\0';
    if (count == 0 || count > GLINT_PARTITION_COLUMNS_MAX || names != count ||
        s->names.data[s->names.size - 1] != '\0')
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL,
                          "columns of directories are not valid");
    s->empty_is_null = empty_is_null != 0;
    return 0;
}

static uint32_t column_at(const struct partition_state *s, uint64_t i)
{
    uint32_t number;
    assert((i + 1) * sizeof number <= s->columns.size);
    memcpy(&number, s->columns.data + i * sizeof number, sizeof number);
    return number;
}

/* Appends a value, with %XX for all bytes but PLAIN_BYTES. A text that looks like null has an
 * escape. */
static int append_value(struct glint_task *task, struct glint_buffer *out, struct glint_slice value)
{
    static const char digits[] = "0123456789ABCDEF";
    const bool looks_null = value.size == sizeof null_directory - 1 &&
                            memcmp(value.data, null_directory, value.size) == 0;
    int e = 0;
    for (uint64_t i = 0; e >= 0 && i < value.size; i++) {
        const uint8_t byte = value.data[i];
        const char escape[] = {'%', digits[byte >> 4], digits[byte & 15]};
        const bool plain = byte != '\0' && strchr(PLAIN_BYTES, byte) != NULL;
        e = plain && !(looks_null && i == 0) ? glint_append(task, out, &byte, 1)
                                             : glint_append(task, out, escape, sizeof escape);
    }
    return e < 0 ? e : 0;
}

static int append_directory(struct partition_state *s, struct glint_task *task,
                            struct glint_slice row)
{
    const char *name = (const char *)s->names.data;
    s->directory.size = 0;
    for (uint64_t i = 0; i < s->columns.size / sizeof(uint32_t); i++) {
        const struct glint_slice value = s->fields[i];
        const bool null =
            (value.size == 1 && *value.data == NULLS_MARK) || (value.size == 0 && s->empty_is_null);
        const uint64_t from = s->directory.size + (i > 0);
        int e = i > 0 ? glint_append(task, &s->directory, "/", 1) : 0;
        if (e >= 0) e = glint_append(task, &s->directory, name, strlen(name));
        if (e >= 0 && null)
            e = glint_append(task, &s->directory, null_directory, sizeof null_directory - 1);
        else if (e >= 0)
            e = append_value(task, &s->directory, value);
        if (e < 0) return e;
        if (s->directory.size - from > NAME_MAX)
            return glint_fail_row(
                task, GLINT_E_BAD_ROW, row, "choose a column with shorter values",
                "--partition-by: the name of a directory is longer than 255 bytes");
        name += strlen(name) + 1;
    }
    return 0;
}

static int emit_partitioned_row(struct glint_task *task, void *state, const struct glint_record *in,
                                struct glint_emitter *out)
{
    struct partition_state *s = state;
    const struct glint_slice row = in->value.bytes;
    struct glint_slice rest = row, field;
    const uint64_t columns = s->columns.size / sizeof(uint32_t);
    uint64_t found = 0, kept = 0;
    int e = 0;
    s->row.size = 0;
    for (uint32_t number = 0; e >= 0 && glint_next_field(&rest, ROW_OUTPUT_SEPARATOR, &field);
         number++) {
        uint64_t i = 0;
        while (i < columns && column_at(s, i) != number) i++;
        if (i < columns) {
            s->fields[i] = field;
            found++;
            continue;
        }
        const uint8_t separator = ROW_OUTPUT_SEPARATOR;
        if (kept++ > 0) e = glint_append(task, &s->row, &separator, 1);
        if (e >= 0 && field.size > 0) e = glint_append(task, &s->row, field.data, field.size);
    }
    if (e >= 0 && found < columns)
        e = glint_fail_row(task, GLINT_E_BAD_ROW, row, NULL,
                           "it has fewer fields than the output has columns");
    if (e >= 0) e = append_directory(s, task, row);
    if (e < 0) return e;
    const struct glint_record record = {.key.bytes = {s->directory.data, s->directory.size},
                                        .value.bytes = {s->row.data, s->row.size}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function partition_row = {.name = "partition.row",
                                             .kind = GLINT_KIND_MAP,
                                             .in = GLINT_ELEMENTS(GLINT_TEXT),
                                             .out = GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
                                             .state_size = sizeof(struct partition_state),
                                             .open = partition_row_init,
                                             .each = emit_partitioned_row};

/* ---- Driver */

struct partition_plan {
    struct glint *g;
    const struct glint_column_form *form;
    uint32_t numbers[GLINT_PARTITION_COLUMNS_MAX], count;
    struct glint_column_type *kept; /* the columns that stay */
    uint32_t kept_count;
};

static bool is_chosen(const struct partition_plan *p, uint32_t number)
{
    uint32_t i = 0;
    while (i < p->count && p->numbers[i] != number) i++;
    return i < p->count;
}

static int add_column(struct partition_plan *p, struct glint_slice name)
{
    const struct glint_column_form *form = p->form;
    uint32_t at = 0;
    while (at < form->count && (strlen(form->columns[at].name) != name.size ||
                                memcmp(form->columns[at].name, name.data, name.size) != 0))
        at++;
    if (at == form->count || is_chosen(p, at))
        return glint_abort(p->g, GLINT_E_BAD_VALUE, "list columns of OUTPUT once, by their names",
                           "--partition-by: \"%.*s\" is no column of OUTPUT, or is there twice",
                           (int)name.size, (const char *)name.data);
    if (p->count == GLINT_PARTITION_COLUMNS_MAX || p->count + 1 == form->count)
        return glint_abort(p->g, GLINT_E_BAD_VALUE, "choose fewer columns",
                           p->count + 1 == form->count
                               ? "--partition-by: no column is left for rows"
                               : "--partition-by: more than %d columns",
                           GLINT_PARTITION_COLUMNS_MAX);
    /* A directory whose name begins so is hidden: readers leave it out. */
    if (name.size == 0 || name.data[0] == '_' || name.data[0] == '.')
        return glint_abort(p->g, GLINT_E_BAD_VALUE,
                           "rename the column: --columns 'NAME AS OTHER' of select",
                           "--partition-by: \"%.*s\" is no name of a directory that is read",
                           (int)name.size, (const char *)name.data);
    const char *type = form->columns[at].type;
    if (type != NULL && (type[0] == '+' || type[0] == 'z' || type[0] == 'Z' || type[0] == 'w'))
        return glint_abort(p->g, GLINT_E_BAD_VALUE, "choose a column of numbers, texts or dates",
                           "--partition-by: \"%.*s\" has bytes or nested values", (int)name.size,
                           (const char *)name.data);
    p->numbers[p->count++] = at;
    return 0;
}

/* Appends the name of a column as that of a directory. Returns where it ends. */
static char *append_name(char *out, const char *name)
{
    static const char digits[] = "0123456789ABCDEF";
    for (; *name != '\0'; name++) {
        const uint8_t byte = (uint8_t)*name;
        if (strchr(PLAIN_BYTES, byte) != NULL) {
            *out++ = (char)byte;
            continue;
        }
        *out++ = '%';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    *out++ = '=';
    *out++ = '\0';
    return out;
}

static struct glint_args *make_arguments(const struct partition_plan *p)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < p->count; i++)
        size += 3 * strlen(p->form->columns[p->numbers[i]].name) + 2;
    char *const names = glint_alloc(p->g, size + 1), *end = names;
    struct glint_args *args = names != NULL ? glint_args(p->g) : NULL;
    for (uint32_t i = 0; args != NULL && i < p->count; i++)
        end = append_name(end, p->form->columns[p->numbers[i]].name);
    if (args != NULL) {
        glint_args_bytes(args, "columns", p->numbers, p->count * sizeof p->numbers[0]);
        glint_args_bytes(args, "names", names, (uint64_t)(end - names));
        glint_args_i64(args, "empty_is_null", p->form->empty_is_null);
    }
    glint_free(names);
    return args;
}

static int save_partitions(struct partition_plan *p, struct glint_rdd *rows, const char *path)
{
    struct glint_column_form form = *p->form;
    struct glint_args *args = make_arguments(p);
    if (args == NULL) return glint_error(p->g)->code;
    for (uint32_t i = 0; i < form.count; i++)
        if (!is_chosen(p, i)) p->kept[p->kept_count++] = form.columns[i];
    form.columns = p->kept;
    form.count = p->kept_count;
    struct glint_rdd *pairs = glint_map(rows, &partition_row, args);
    pairs = glint_repartition_and_sort_within_partitions(pairs, 0, true);
    return glint_save_as_partitioned_column_files(pairs, path, &form);
}

int partition_output_save(struct glint_rdd *rows, const char *list, const char *path,
                          const struct glint_column_form *form)
{
    struct partition_plan p = {.g = glint_context(rows), .form = form};
    struct glint_slice rest = {(const uint8_t *)list, strlen(list)}, name;
    while (glint_next_name(&rest, ',', &name))
        if (add_column(&p, name) != 0) return glint_error(p.g)->code;
    if (form->bloom_count > 0)
        return glint_abort(p.g, GLINT_E_USAGE, "leave one of them out",
                           "--bloom-filter and --partition-by cannot be used together");
    p.kept = glint_alloc(p.g, form->count * sizeof *p.kept);
    const int r = p.kept != NULL ? save_partitions(&p, rows, path) : glint_error(p.g)->code;
    glint_free(p.kept);
    return r;
}

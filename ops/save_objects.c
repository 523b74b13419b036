/* Rows of tables as objects of JSON, a line each: for actions that save text. */
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "engine/input/csv.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

struct save_objects {
    uint32_t count;
    bool empty_is_null;
    struct object_member {
        const char *name;
        bool raw;    /* its text is JSON, but for numbers that are not finite */
        bool binary; /* Parquet has any bytes */
    } members[];
};

/* Whether values of a type, in Arrow's form, are JSON as they are: bool, numbers, nested values. */
static bool is_raw_json_type(const char *type)
{
    return type[0] == 'd' || type[0] == '+' ||
           (type[0] != '\0' && type[1] == '\0' && strchr("bcCsSiIlLefg", type[0]) != NULL);
}

static bool is_binary_type(const char *type)
{
    return type[0] == 'z' || type[0] == 'Z' || type[0] == 'w';
}

int save_objects_unpack(struct glint_task *task, struct unpacker *u, uint64_t elements,
                        const struct save_objects **out)
{
    char name[PATH_MAX], type[256];
    const bool empty_is_null = unpack_u64(u, 1) == 1;
    if (elements < 3 || elements % 2 != 1 || elements / 2 > UINT32_MAX)
        return error_set(&task->error, GLINT_E_PROTOCOL, NULL, "an output has no columns");
    const uint32_t count = (uint32_t)(elements / 2);
    struct save_objects *o = task_alloc(task, sizeof *o + count * sizeof o->members[0]);
    if (o == NULL) return GLINT_E_NO_MEMORY;
    o->count = count;
    o->empty_is_null = empty_is_null;
    for (uint32_t i = 0; i < count; i++) {
        unpack_text(u, name, sizeof name);
        unpack_text(u, type, sizeof type);
        const size_t size = strlen(name) + 1;
        char *copy = task_alloc(task, size);
        if (copy == NULL) return GLINT_E_NO_MEMORY;
        memcpy(copy, name, size);
        o->members[i] = (struct object_member){copy, is_raw_json_type(type), is_binary_type(type)};
    }
    *out = o;
    return 0;
}

/* nan, inf and -inf are no numbers of JSON. */
static bool is_finite_number(struct glint_slice text)
{
    const uint64_t sign = text.size > 0 && text.data[0] == '-';
    return text.size > sign && text.data[sign] != 'i' && text.data[sign] != 'n';
}

static const char *append_text_member(struct json *j, const struct object_member *m,
                                      struct glint_slice text)
{
    if (m->raw && is_finite_number(text))
        json_raw(j, m->name, text.data, text.size);
    else if (!utf8_is_valid(text.data, text.size))
        return "a text is not UTF-8, as JSON has to be";
    else
        json_text(j, m->name, text.data, text.size);
    return NULL;
}

/* Returns NULL, or why JSON cannot have the field; *out_failed: the task has failed. */
static const char *append_member(struct save *s, struct json *j, const struct object_member *m,
                                 struct glint_slice field, bool *out_failed)
{
    if ((field.size == 1 && *field.data == ROW_NULL) ||
        (field.size == 0 && s->objects->empty_is_null)) {
        json_cstring(j, m->name, NULL);
        return NULL;
    }
    *out_failed = !save_unescape_field(s, &field);
    return *out_failed ? NULL : append_text_member(j, m, field);
}

int save_fail_value(struct glint_task *task, struct glint_slice row, uint32_t column,
                    const char *name, const char *problem, const char *others)
{
    char shown[64] = "", reason[192], hint[96];
    if (name == NULL)
        return glint_fail_row(task, GLINT_E_BAD_ROW, row,
                              "--output-format csv or tsv keeps such rows; select with --columns "
                              "NAMES and --bad-rows skip leaves out the short ones",
                              problem);
    header_name_append(shown, 0, sizeof shown,
                       (struct glint_slice){(const uint8_t *)name, strlen(name)});
    text_format(reason, sizeof reason, "column %" PRIu32 " (%s) of the output: %s", column + 1,
                shown, problem);
    text_format(hint, sizeof hint, "--output-format %s keeps such values", others);
    return glint_fail_row(task, GLINT_E_BAD_ROW, row, hint, reason);
}

int save_objects_append(struct save *s, struct glint_slice row)
{
    const struct save_objects *const o = s->objects;
    struct glint_slice rest = row, field;
    assert(o->count > 0);
    struct json j = {.out = s->buffer};
    const uint64_t begin = s->buffer.size;
    const char *problem = NULL, *name = NULL;
    bool failed = false;
    uint32_t i = 0;
    json_begin(&j, NULL, '{');
    for (; problem == NULL && !failed && i < o->count; i++) {
        if (glint_next_field(&rest, CSV_SEPARATOR, &field)) {
            problem = append_member(s, &j, &o->members[i], field, &failed);
            name = problem != NULL ? o->members[i].name : NULL;
        } else {
            problem = "it has fewer fields than the output has columns";
        }
    }
    if (problem == NULL && !failed && glint_next_field(&rest, CSV_SEPARATOR, &field))
        problem = "it has more fields than the output has columns";
    json_end(&j, '}');
    s->buffer = j.out;
    if (problem != NULL) {
        s->buffer.size = begin;
        const bool binary = name != NULL && o->members[i - 1].binary;
        return save_fail_value(s->task, row, i - 1, name, problem,
                               binary ? "csv, tsv or parquet" : "csv or tsv");
    }
    if (failed) return s->task->error.code;
    return j.failed ? error_no_memory(&s->task->error) : 0;
}

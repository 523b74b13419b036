/* See typed_row.h. Only types whose values are what their text says have values of one size. */
#include "engine/input/typed_row.h"

#include "engine/input/arrow_type.h"
#include "engine/input/csv.h"
#include "engine/records/task.h"

#include <assert.h>

bool typed_form_append(struct buffer *types, const char *type)
{
    return buffer_append(types, type, strlen(type) + 1);
}

/* 0: values are texts. */
static uint32_t fixed_size_of_value(const struct arrow_field *f)
{
    switch (f->type) {
    case ARROW_BOOL: return 1;
    case ARROW_I8:
    case ARROW_U8:
    case ARROW_I16:
    case ARROW_U16:
    case ARROW_I32:
    case ARROW_U32:
    case ARROW_I64:
    case ARROW_U64:
    case ARROW_F32:
    case ARROW_F64:
    case ARROW_DATE32:
    case ARROW_TIMESTAMP:
    case ARROW_DURATION: return (uint32_t)(arrow_value_bits(f) / 8);
    case ARROW_DECIMAL: return f->scale >= 0 ? f->width : 0;
    default: return 0;
    }
}

/* Reads the type of a column; values of one that is not known are texts. Returns false when out of
 * memory. */
static bool parse_type_or_use_text(const char *type, struct arena *arena, struct arrow_field *out)
{
    struct ArrowSchema schema;
    const char *problem = arrow_type_read("", type, NULL, arena, &schema);
    if (problem == NULL) problem = arrow_field_read(&schema, arena, out);
    if (problem == NULL) return true;
    return arrow_type_read("", "u", NULL, arena, &schema) == NULL &&
           arrow_field_read(&schema, arena, out) == NULL;
}

static const struct typed_form *read_form(struct glint_slice types, struct arena *arena)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < types.size; i++) count += types.data[i] == '\0';
    if (count == 0 || count > ARROW_FIELDS_MAX || types.data[types.size - 1] != '\0') return NULL;
    struct typed_form *f = arena_alloc(arena, sizeof *f + count * sizeof f->columns[0]);
    struct arrow_field *fields = arena_alloc(arena, count * sizeof *fields);
    if (f == NULL || fields == NULL) return NULL;
    uint32_t at = (uint32_t)(count + 7) / 8;
    const char *type = (const char *)types.data;
    *f = (struct typed_form){.count = (uint32_t)count};
    for (uint32_t i = 0; i < count; i++, type += strlen(type) + 1) {
        if (!parse_type_or_use_text(type, arena, &fields[i])) return NULL;
        f->columns[i] = (struct typed_column){
            .field = &fields[i], .size = fixed_size_of_value(&fields[i]), .at = at};
        assert(f->columns[i].size <= TYPED_VALUE_BYTES_MAX);
        at += f->columns[i].size;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (f->columns[i].size > 0) continue;
        f->columns[i].at = at;
        f->columns[i].before = f->last;
        f->last = at;
        at += sizeof(uint32_t);
    }
    f->texts_at = at;
    return f;
}

const struct typed_form *typed_form_read(struct glint_task *task, struct glint_slice types)
{
    const struct typed_form *f = read_form(types, &task->arena);
    if (f == NULL) error_set(&task->error, GLINT_E_PROTOCOL, NULL, "cannot read the types of rows");
    return f;
}

struct glint_slice typed_row_text(const struct typed_form *f, const uint8_t *row, uint32_t column,
                                  char *number)
{
    const struct glint_slice value = typed_row_value(f, row, column);
    uint64_t aligned[TYPED_VALUE_BYTES_MAX / 8] = {0};
    const void *buffers[] = {NULL, aligned};
    const struct ArrowArray array = {.length = 1, .n_buffers = 2, .buffers = buffers};
    assert(column < f->count && !typed_row_is_null(row, column));
    if (f->columns[column].size == 0) return value;
    memcpy(aligned, value.data, value.size);
    return (struct glint_slice){(const uint8_t *)number,
                                arrow_format_number(f->columns[column].field, &array, 0, number)};
}

bool typed_row_append_row(const struct typed_form *f, const uint8_t *row, struct buffer *out)
{
    static const uint8_t separator = CSV_SEPARATOR, null = ROW_NULL;
    char number[ARROW_NUMBER_TEXT_MAX];
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->count; i++) {
        struct glint_slice text = {&null, 1};
        const bool is_null = typed_row_is_null(row, i);
        if (!is_null) text = typed_row_text(f, row, i, number);
        ok = i == 0 || buffer_append(out, &separator, 1);
        const uint64_t from = out->size;
        ok = ok && buffer_append(out, text.data, text.size) &&
             (is_null || row_text_escape_appended(out, from));
    }
    return ok;
}

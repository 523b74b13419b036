/* Lines are appended to one buffer; saving creates records that point into it. */
#include "jobs/rows/text_table.h"

#include "engine/base/text.h"
#include "engine/input/csv.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Reserves `size` more bytes and one more line. */
static bool reserve_text(struct text_table *t, uint64_t size)
{
    if (t->size + size > t->capacity) {
        uint64_t capacity = 2 * (t->size + size) + 4096;
        char *text = glint_alloc(t->g, capacity);
        if (text == NULL) return false;
        if (t->size > 0) memcpy(text, t->text, t->size);
        glint_free(t->text);
        t->text = text;
        t->capacity = capacity;
    }
    if (t->lines == t->line_capacity) {
        uint64_t capacity = 2 * t->line_capacity + 64;
        uint64_t *ends = glint_alloc(t->g, capacity * sizeof *ends);
        if (ends == NULL) return false;
        if (t->lines > 0) memcpy(ends, t->ends, t->lines * sizeof *ends);
        glint_free(t->ends);
        t->ends = ends;
        t->line_capacity = capacity;
    }
    return true;
}

static void add_formatted(struct text_table *t, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));
static void add_formatted(struct text_table *t, const char *format, va_list list)
{
    char line[512];
    int size = vsnprintf(line, sizeof line, format, list);
    assert(size >= 0 && (size_t)size < sizeof line);
    if (!reserve_text(t, (uint64_t)size)) return;
    memcpy(t->text + t->size, line, (size_t)size);
    t->size += (uint64_t)size;
    t->ends[t->lines++] = t->size;
}

void text_table_add(struct text_table *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add_formatted(t, format, list);
    va_end(list);
}

void text_table_add_key(struct text_table *t, bool text, const union glint_value *key,
                        const char *format, ...)
{
    char digits[TEXT_NUMBER_MAX];
    struct glint_slice shown = text ? key->bytes : (struct glint_slice){(uint8_t *)digits, 0};
    if (!text) shown.size = text_format_i64(digits, key->i64);
    if (!reserve_text(t, 2 * shown.size + 3)) return;
    uint8_t *at = (uint8_t *)t->text + t->size;
    if (t->csv)
        t->size += csv_write_field(shown, '\t', at);
    else if (shown.size > 0)
        t->size += (uint64_t)((uint8_t *)mempcpy(at, shown.data, shown.size) - at);
    t->text[t->size++] = '\t';
    va_list list;
    va_start(list, format);
    add_formatted(t, format, list);
    va_end(list);
}

int text_table_save(struct text_table *t, const char *path)
{
    if (glint_error(t->g)->code != GLINT_OK) return glint_error(t->g)->code;
    assert(t->lines > 0);
    struct glint_record *records = glint_alloc(t->g, t->lines * sizeof *records);
    if (records == NULL) return glint_error(t->g)->code;
    for (uint64_t i = 0, start = 0; i < t->lines; start = t->ends[i++])
        records[i] = (struct glint_record){
            .value.bytes = {(const uint8_t *)t->text + start, t->ends[i] - start}};
    struct glint_schema schema = {GLINT_NONE, GLINT_BYTES};
    struct glint_rdd *lines = glint_parallelize(t->g, schema, records, t->lines, 1);
    glint_free(records);
    return glint_save_as_text_file(lines, path);
}

void text_table_fini(struct text_table *t)
{
    glint_free(t->text);
    glint_free(t->ends);
    *t = (struct text_table){.g = t->g, .csv = t->csv};
}

/* The task's part of columns: see columns.h. Fields are found in rows of text or typed ones. */
#include "jobs/rows/columns.h"

#include "engine/input/csv.h"
#include "engine/input/json_line.h"
#include "engine/input/typed_row.h"
#include "engine/limits.h"
#include "jobs/rows/fields_quotes.h"

#include <assert.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* Each ends with a NUL. */
static bool labels_are_valid(struct glint_slice labels, uint64_t count)
{
    if (labels.size != count * COLUMN_LABEL_BYTES) return false;
    for (uint64_t i = 1; i <= count; i++)
        if (labels.data[i * COLUMN_LABEL_BYTES - 1] != '\0') return false;
    return true;
}

int columns_bad_value(const struct columns_reader *r, struct glint_task *task,
                      struct glint_slice row, uint32_t column, struct glint_slice value,
                      const char *reason)
{
    assert(column < r->columns.count);
    return glint_bad_value(task, row, NULL, reason, r->labels[column], value);
}

struct columns_parts {
    const struct json_paths *paths[COLUMNS_MAX]; /* by column of the reader; NULL: it is no part */
    struct columns_joined memory;                /* of texts with escapes */
};

bool columns_has_part(const struct columns_reader *r, uint32_t i)
{
    assert(i < r->columns.count);
    return r->parts != NULL && r->parts->paths[i] != NULL;
}

/* Reads a pointer. Returns NULL with the task's error set when out of memory. */
static const struct json_paths *read_part_path(struct glint_task *task, const char *pointer)
{
    struct json_paths *paths = glint_scratch(task, sizeof *paths);
    struct json_segment *segments = glint_scratch(task, JSON_SEGMENTS_MAX * sizeof *segments);
    uint8_t *names = glint_scratch(task, strlen(pointer) + 1);
    if (paths == NULL || segments == NULL || names == NULL) return NULL;
    json_pointer_read(pointer, segments, names, &paths->items[0]);
    paths->count = 1;
    paths->arrays = true;
    return paths;
}

/* Finds a part in the list, of which columns_args tells the form: its column and pointer. Returns
 * false if there is none. */
static bool find_part_in_list(struct glint_slice list, uint32_t number, uint32_t *out_column,
                              const char **out_pointer)
{
    uint64_t at = 0;
    for (;; number--) {
        const uint64_t head = sizeof *out_column;
        if (list.size - at <= head) return false;
        const uint8_t *pointer = list.data + at + head;
        const uint8_t *nul = memchr(pointer, '\0', list.size - at - head);
        if (nul == NULL) return false;
        const uint64_t size = (uint64_t)(nul - pointer) + 1;
        if (!json_pointers_are_valid((struct glint_slice){pointer, size})) return false;
        memcpy(out_column, list.data + at, head);
        *out_pointer = (const char *)pointer;
        if (number == 0) return true;
        at += head + size;
    }
}

/* Reads the parts, and makes their numbers those of their columns. Returns 0 or a code. */
static int read_parts_of_columns(struct glint_task *task, struct columns_reader *r,
                                 struct glint_slice list)
{
    struct columns *const c = &r->columns;
    r->parts = NULL;
    for (uint32_t i = 0; i < c->count; i++) {
        const char *pointer;
        if (!columns_is_part(c->number[i])) continue;
        if (!find_part_in_list(list, c->number[i] - COLUMNS_PART, &c->number[i], &pointer))
            return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "a part of a column is not valid");
        if (r->parts == NULL) {
            r->parts = glint_scratch(task, sizeof *r->parts);
            if (r->parts == NULL) return GLINT_E_NO_MEMORY;
            *r->parts = (struct columns_parts){.memory = {NULL, 0}};
        }
        r->parts->paths[i] = read_part_path(task, pointer);
        if (r->parts->paths[i] == NULL) return GLINT_E_NO_MEMORY;
    }
    return 0;
}

/* Reads the types of rows, if they are typed. Returns 0 or a code. */
static int read_types_of_rows(struct glint_task *task, struct columns_reader *r)
{
    struct glint_slice types;
    int e = glint_arg_slice(task, "types", &types);
    r->typed = NULL;
    if (e != 0 || types.size == 0) return e;
    r->typed = typed_form_read(task, types);
    r->numbers = glint_scratch(task, COLUMNS_MAX * ARROW_NUMBER_TEXT_MAX);
    r->escaped = glint_scratch(task, sizeof *r->escaped);
    if (r->typed == NULL) return GLINT_E_PROTOCOL;
    if (r->numbers == NULL || r->escaped == NULL) return GLINT_E_NO_MEMORY;
    *r->escaped = (struct columns_joined){NULL, 0};
    return 0;
}

int columns_open(struct glint_task *task, struct columns_reader *r)
{
    struct glint_slice numbers, letters, labels, parts;
    struct columns *c = &r->columns;
    int64_t delimiter, escapes, are_empty_rows_skipped;
    int e = glint_arg_i64(task, "delimiter", &delimiter);
    if (e == 0) e = glint_arg_i64(task, "escapes", &escapes);
    if (e == 0) e = glint_arg_i64(task, "skip_empty", &are_empty_rows_skipped);
    if (e == 0) e = glint_arg_slice(task, "columns", &numbers);
    if (e == 0) e = glint_arg_slice(task, "letters", &letters);
    if (e == 0) e = nulls_open(task, &r->null);
    if (e == 0) e = glint_arg_slice(task, "labels", &labels);
    if (e == 0) e = glint_arg_slice(task, "parts", &parts);
    if (e != 0) return e;
    if (delimiter < 0 || delimiter > UINT8_MAX || letters.size > COLUMNS_MAX ||
        numbers.size != letters.size * sizeof c->number[0] ||
        !labels_are_valid(labels, letters.size))
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "a table's columns are out of range");
    r->delimiter = (uint8_t)delimiter;
    r->quotes = fields_may_quote(r->delimiter);
    r->escapes = escapes != 0;
    r->skip_empty = are_empty_rows_skipped != 0;
    c->count = (uint32_t)letters.size;
    if (c->count > 0) {
        memcpy(c->number, numbers.data, numbers.size);
        memcpy(c->letters, letters.data, letters.size);
    }
    e = read_parts_of_columns(task, r, parts);
    if (e == 0) e = read_types_of_rows(task, r);
    if (e != 0) return e;
    for (uint32_t i = 0; i < c->count; i++) {
        r->labels[i] = (const char *)labels.data + (size_t)i * COLUMN_LABEL_BYTES;
        uint32_t at = i; /* insertion sort */
        for (; at > 0 && c->number[r->sorted[at - 1]] > c->number[i]; at--)
            r->sorted[at] = r->sorted[at - 1];
        r->sorted[at] = (uint8_t)i;
    }
    return 0;
}

/* Replaces the text of a column, JSON, by that of its part: a byte that gets an escape has one in
 * JSON. Returns 1, 0 if the row was bad and is left out, or a code. */
static int find_part_value(const struct columns_reader *r, struct glint_task *task,
                           struct glint_slice row, uint32_t column, uint64_t *used,
                           struct glint_slice *text)
{
    struct columns_parts *const p = r->parts;
    struct json_value value = {.kind = JSON_KIND_MISSING};
    uint64_t at;
    const bool null =
        text->size == r->null.size && memcmp(text->data, r->null.data, text->size) == 0;
    const char *problem = null ? NULL : json_line_scan(p->paths[column], *text, &value, &at);
    if (problem == NULL && value.unpaired && value.kind == JSON_KIND_TEXT)
        problem = "bytes that are not UTF-8";
    if (problem != NULL) return columns_bad_value(r, task, row, column, *text, problem);
    if (value.kind == JSON_KIND_MISSING || value.kind == JSON_KIND_NULL) {
        *text = r->null;
        return 1;
    }
    *text = value.raw;
    if (value.kind != JSON_KIND_TEXT || !value.escaped) return 1;
    uint8_t *const out = p->memory.bytes + *used;
    assert(*used + value.raw.size <= p->memory.capacity);
    *text = (struct glint_slice){out, row_text_escape(out, json_text_decode(value.raw, out))};
    *used += text->size;
    return 1;
}

static int reserve_joined_bytes(struct columns_joined *memory, struct glint_task *task,
                                uint64_t size)
{
    if (size <= memory->capacity) return 0;
    memory->bytes = glint_scratch(task, 2 * size);
    memory->capacity = memory->bytes != NULL ? 2 * size : 0;
    return memory->bytes != NULL ? 0 : GLINT_E_NO_MEMORY;
}

static int find_part_values(const struct columns_reader *r, struct glint_task *task,
                            struct glint_slice row, struct glint_slice *out)
{
    struct columns_parts *const p = r->parts;
    uint64_t used = 0, size = 1;
    for (uint32_t i = 0; i < r->columns.count; i++)
        if (p->paths[i] != NULL) size += out[i].size;
    int e = reserve_joined_bytes(&p->memory, task, size) == 0 ? 1 : GLINT_E_NO_MEMORY;
    for (uint32_t i = 0; e > 0 && i < r->columns.count; i++)
        if (p->paths[i] != NULL) e = find_part_value(r, task, row, i, &used, &out[i]);
    return e;
}

/* The ends of a row's fields, found a block at a time: a call per field takes longer than a usual
 * field. Reads less than READ_SLACK bytes past the row. */
struct field_scan {
    const uint8_t *block, *end;
    uint64_t found; /* bit i: there is a delimiter at block[i], which was not returned yet */
    uint8_t delimiter;
};
enum { FIELD_BLOCK = 64 };
static_assert(FIELD_BLOCK <= READ_SLACK, "a block may begin at the last byte");

static inline uint64_t find_delimiters_in_block(const uint8_t *block, uint8_t delimiter)
{
    uint64_t found = 0;
#if defined(__x86_64__)
    const __m128i wanted = _mm_set1_epi8((char)delimiter);
    for (int i = 0; i < FIELD_BLOCK; i += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(block + i));
        found |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)) << i;
    }
#else
    for (int i = 0; i < FIELD_BLOCK; i++) found |= (uint64_t)(block[i] == delimiter) << i;
#endif
    return found;
}

static inline const uint8_t *next_field_end(struct field_scan *s)
{
    while (s->found == 0) {
        if ((uint64_t)(s->end - s->block) <= FIELD_BLOCK) return s->end;
        s->block += FIELD_BLOCK;
        s->found = find_delimiters_in_block(s->block, s->delimiter);
    }
    const uint8_t *at = s->block + __builtin_ctzll(s->found);
    s->found &= s->found - 1;
    return at < s->end ? at : s->end;
}

/* Whether the text of column `i` of the reader needs escapes. */
static bool has_typed_escapes(const struct columns_reader *r, struct glint_slice row, uint32_t i,
                              struct glint_slice text)
{
    const uint32_t number = r->columns.number[i];
    return r->typed->columns[number].size == 0 && !typed_row_is_null(row.data, number) &&
           !row_text_is_plain(text);
}

/* Escapes the texts of a typed row that need it. Returns 1 or a code. */
static int escape_typed_fields(const struct columns_reader *r, struct glint_task *task,
                               struct glint_slice row, struct glint_slice *out)
{
    const struct columns *c = &r->columns;
    uint64_t size = 0, used = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (has_typed_escapes(r, row, i, out[i])) size += 2 * out[i].size;
    if (size == 0) return 1;
    if (reserve_joined_bytes(r->escaped, task, size) != 0) return GLINT_E_NO_MEMORY;
    for (uint32_t i = 0; i < c->count; i++) {
        if (!has_typed_escapes(r, row, i, out[i])) continue;
        uint8_t *const at = r->escaped->bytes + used;
        memcpy(at, out[i].data, out[i].size);
        out[i] = (struct glint_slice){at, row_text_escape(at, out[i].size)};
        used += out[i].size;
    }
    assert(used <= size);
    return 1;
}

/* Of a typed row, numbers, and texts with escapes, are texts until the next call. */
static int find_typed_columns(const struct columns_reader *r, struct glint_task *task,
                              struct glint_slice row, struct glint_slice *out)
{
    assert(r->columns.count <= COLUMNS_MAX);
    for (uint32_t i = 0; i < r->columns.count; i++) {
        const uint32_t want = r->columns.number[i];
        if (want >= r->typed->count)
            return columns_bad_value(r, task, row, i, (struct glint_slice){NULL, 0},
                                     "a column is missing");
        out[i] = r->null;
        if (!typed_row_is_null(row.data, want))
            out[i] = typed_row_text(r->typed, row.data, want,
                                    r->numbers + (uint64_t)i * ARROW_NUMBER_TEXT_MAX);
    }
    int e = escape_typed_fields(r, task, row, out);
    return e > 0 && r->parts != NULL ? find_part_values(r, task, row, out) : e;
}

int columns_find(const struct columns_reader *r, struct glint_task *task, struct glint_slice row,
                 struct glint_slice *out)
{
    if (r->typed != NULL) return find_typed_columns(r, task, row, out);
    const uint8_t *at = row.data, *const end = row.data + row.size;
    const uint8_t *stop = NULL; /* where the field at `at` ends; NULL: not searched yet */
    uint32_t column = 0;
    if (row.size == 0 && r->skip_empty) return 0;
    if (r->quotes) {
        int e = fields_reject_quoted_row(task, row, r->delimiter);
        if (e != 0) return e;
    }
    struct field_scan scan = {.block = at, .end = end, .delimiter = r->delimiter};
    if (row.size > 0) scan.found = find_delimiters_in_block(at, r->delimiter);
    for (uint32_t i = 0; i < r->columns.count; i++) {
        const uint32_t want = r->columns.number[r->sorted[i]];
        if (want == COLUMNS_LINE) {
            out[r->sorted[i]] = row;
            continue;
        }
        for (;; column++) {
            if (stop == NULL) stop = next_field_end(&scan);
            if (column == want) break;
            if (stop == end)
                return columns_bad_value(r, task, row, r->sorted[i], (struct glint_slice){NULL, 0},
                                         "a column is missing");
            at = stop + 1;
            stop = NULL;
        }
        out[r->sorted[i]] = (struct glint_slice){at, (uint64_t)(stop - at)};
    }
    return r->parts != NULL ? find_part_values(r, task, row, out) : 1;
}

int columns_join(const struct columns_reader *r, struct glint_task *task,
                 const struct glint_slice *fields, uint32_t count, struct columns_joined *memory,
                 struct glint_slice *out)
{
    uint64_t size = 0;
    bool adjacent = true;
    for (uint32_t i = 0; i < count; i++) {
        adjacent &= i == 0 || (fields[i].data == fields[i - 1].data + fields[i - 1].size + 1 &&
                               fields[i].data[-1] == r->delimiter);
        size += fields[i].size + (i > 0);
    }
    *out = (struct glint_slice){count > 0 ? fields[0].data : (const uint8_t *)"", size};
    if (adjacent) return 0;
    if (reserve_joined_bytes(memory, task, size) != 0) return GLINT_E_NO_MEMORY;
    uint8_t *at = memory->bytes;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) *at++ = r->delimiter;
        if (fields[i].size > 0) memcpy(at, fields[i].data, fields[i].size);
        at += fields[i].size;
    }
    assert(at == memory->bytes + size);
    out->data = memory->bytes;
    return 0;
}

int columns_unescape(const struct columns_reader *r, struct glint_task *task,
                     const struct glint_slice *fields, struct columns_joined *memory,
                     struct glint_slice *out)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < r->columns.count; i++) size += fields[i].size;
    if (reserve_joined_bytes(memory, task, size + 1) != 0) return GLINT_E_NO_MEMORY;
    uint8_t *at = memory->bytes;
    for (uint32_t i = 0; i < r->columns.count; i++) {
        out[i] = fields[i];
        if (nulls_is(r->null, fields[i]))
            out[i] = (struct glint_slice){NULL, 0};
        else if (r->columns.number[i] != COLUMNS_LINE && glint_field_has_escape(fields[i]))
            out[i] = (struct glint_slice){at, glint_unescape_field(fields[i], at)};
        if (out[i].data == at) at += out[i].size;
    }
    assert(at <= memory->bytes + memory->capacity);
    return 0;
}

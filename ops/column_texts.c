/* Texts of a column of a file of columns, for batches: see column_source.h. */
#include "engine/input/column_reader.h"
#include "engine/input/split.h"
#include "ops/column_source.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

static int64_t array_row_of_text(const uint32_t *rows, int64_t from, uint32_t i)
{
    return rows != NULL ? (int64_t)rows[i] : from + i;
}

int column_split_open(struct column_reader *r, struct glint_task *task, struct glint_slice split,
                      struct split *out)
{
    const int e = split_decode(split, &task->arena, out, &task->error);
    if (e != 0) return e;
    if (out->pieces[0].layout == NULL)
        return error_set(&task->error, GLINT_E_PROTOCOL, NULL, "a split has no columns");
    column_reader_open(r, task, out);
    return 0;
}

void column_texts_begin(struct column_texts *c, const struct column_reader *reader, uint32_t column)
{
    c->array = column_reader_column(reader, column, &c->field);
    c->constant = column_reader_partition_column(reader, column);
    if (c->constant != NULL && c->constant->null) c->constant = NULL;
    c->dictionary = NULL;
}

bool column_texts_is_null(const struct column_texts *c, int64_t row)
{
    return c->array == NULL ? c->constant == NULL : arrow_is_null(c->field, c->array, row);
}

bool column_texts_may_be_null(const struct column_texts *c)
{
    if (c->array == NULL) return c->constant == NULL;
    if (c->field->dictionary != NULL) return true;
    if (c->field->type == ARROW_NULL || c->field->type == ARROW_RUN_END) return true;
    return c->array->null_count != 0 && c->array->n_buffers > 0 && c->array->buffers[0] != NULL;
}

/* Borrows texts of 32-bit offsets, as many as fit a batch; returns how many. Bytes past the end of
 * the array's buffer may not be readable, so the last texts are copied. */
static uint32_t borrow_texts(struct column_texts *c, int64_t from, uint32_t count,
                             struct glint_column *out)
{
    assert(from + count <= c->array->length);
    const int32_t *offsets = (const int32_t *)c->array->buffers[1] + c->array->offset;
    const int64_t all = offsets[c->array->length], first = offsets[from];
    uint32_t n = count;
    while (n > 0 && offsets[from + n] - first > (int64_t)BATCH_BYTES_MAX) n /= 2;
    while (n > 0 && all - offsets[from + n] < (int64_t)READ_SLACK) n--;
    if (n == 0) return 0;
    for (uint32_t i = 0; i < n; i++) {
        c->start[i] = (uint32_t)(offsets[from + i] - first);
        c->end[i] = (uint32_t)(offsets[from + i + 1] - first);
    }
    out->base = (const uint8_t *)c->array->buffers[2] + first;
    out->size = (uint64_t)(offsets[from + n] - first);
    return n;
}

/* Copies texts, as many as fit a batch. Returns how many, or a code. */
static int64_t copy_texts(struct glint_task *task, struct column_texts *c, const uint32_t *rows,
                          int64_t from, uint32_t count, struct glint_column *out)
{
    uint32_t n = 0;
    c->bytes.size = 0;
    for (bool fits = true; fits && n < count; n += fits) {
        const uint64_t before = c->bytes.size;
        if (!arrow_append_text(c->field, c->array, array_row_of_text(rows, from, n), &c->bytes))
            return error_no_memory(&task->error);
        if (c->key)
            c->bytes.size = before + arrow_cut_zero_sign(c->field, c->bytes.data + before,
                                                         c->bytes.size - before);
        fits = n == 0 || c->bytes.size <= BATCH_BYTES_MAX;
        if (!fits) {
            c->bytes.size = before;
            break;
        }
        c->start[n] = (uint32_t)before;
        c->end[n] = (uint32_t)c->bytes.size;
    }
    if (!buffer_reserve(&c->bytes, 1)) return error_no_memory(&task->error);
    out->base = c->bytes.data;
    out->size = c->bytes.size;
    if (n == 1 && out->size > BATCH_BYTES_MAX) out->start = out->end = NULL;
    return n;
}

/* Texts of a dictionary, which is copied once per array: rows refer to it. Returns 0 if that does
 * not fit a batch, else `count`, or a code. */
static int64_t refer_to_dictionary(struct glint_task *task, struct column_texts *c,
                                   const uint32_t *rows, int64_t from, uint32_t count,
                                   struct glint_column *out)
{
    const struct ArrowArray *d = c->array->dictionary;
    assert(d != NULL && from + count <= c->array->length);
    const int32_t *offsets = (const int32_t *)d->buffers[1] + d->offset;
    const uint64_t size = (uint64_t)(offsets[d->length] - offsets[0]);
    if (size > BATCH_BYTES_MAX) return 0;
    if (from == 0 || c->dictionary != d) {
        c->bytes.size = 0;
        if (!buffer_reserve(&c->bytes, size + 1) ||
            !buffer_append(&c->bytes, (const uint8_t *)d->buffers[2] + offsets[0], size))
            return error_no_memory(&task->error);
        c->dictionary = d;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct glint_slice text =
            arrow_bytes(c->field, c->array, array_row_of_text(rows, from, i));
        c->start[i] = (uint32_t)(text.data - ((const uint8_t *)d->buffers[2] + offsets[0]));
        c->end[i] = c->start[i] + (uint32_t)text.size;
    }
    out->base = c->bytes.data;
    out->size = c->bytes.size;
    return count;
}

/* The same text for all rows, as often as fits a batch, each at an address of its own, by which
 * messages find the row. Returns how many, or a code. */
static int64_t repeat_text(struct glint_task *task, struct column_texts *c, uint32_t count,
                           struct glint_column *out)
{
    const struct glint_slice text = c->constant->value;
    assert(text.size < PATH_MAX);
    const uint32_t size = (uint32_t)text.size, stride = size > 0 ? size : 1;
    const uint32_t most = (uint32_t)(BATCH_BYTES_MAX / stride), n = count < most ? count : most;
    c->bytes.size = 0;
    if (!buffer_reserve(&c->bytes, (uint64_t)n * stride)) return error_no_memory(&task->error);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(c->bytes.data + (uint64_t)i * stride, size > 0 ? text.data : (const uint8_t *)"",
               stride);
        c->start[i] = i * stride;
        c->end[i] = c->start[i] + size;
    }
    out->base = c->bytes.data;
    out->size = (uint64_t)n * stride;
    return n;
}

int64_t column_texts_set(struct glint_task *task, struct column_texts *c, const uint32_t *rows,
                         int64_t from, uint32_t count, struct glint_column *out)
{
    out->start = c->start;
    out->end = c->end;
    if (c->constant != NULL) return repeat_text(task, c, count, out);
    const struct arrow_field *values = c->field->dictionary;
    if (values != NULL && values->dictionary == NULL && c->array->dictionary->buffers[2] != NULL &&
        (values->type == ARROW_UTF8 || values->type == ARROW_BINARY)) {
        const int64_t n = refer_to_dictionary(task, c, rows, from, count, out);
        if (n != 0) return n;
    }
    const bool plain = c->field->type == ARROW_UTF8 || c->field->type == ARROW_BINARY;
    const uint32_t borrowed = plain && rows == NULL && c->field->dictionary == NULL
                                  ? borrow_texts(c, from, count, out)
                                  : 0;
    return borrowed > 0 ? borrowed : copy_texts(task, c, rows, from, count, out);
}

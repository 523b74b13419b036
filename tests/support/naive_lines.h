/* Splits text into lines in the simplest way: the oracle for the real reader. Lines are appended to
 * a buffer, each prefixed with its length, so that equal results have equal bytes. */
#ifndef TESTS_SUPPORT_NAIVE_LINES_H
#define TESTS_SUPPORT_NAIVE_LINES_H

#include "engine/base/mem.h"
#include "engine/batch.h"
#include "engine/input/line_reader.h"

#include <stdlib.h>
#include <string.h>

static inline void line_list_add(struct buffer *list, const uint8_t *line, uint64_t size)
{
    if (!buffer_append(list, &size, sizeof size) || !buffer_append(list, line, size)) abort();
}

static inline void naive_lines(const uint8_t *data, uint64_t size, struct buffer *list)
{
    uint64_t line = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (uint64_t i = line; i < size; i++) {
        if (data[i] != '\n') continue;
        uint64_t end = i > line && data[i - 1] == '\r' ? i - 1 : i;
        line_list_add(list, data + line, end - line);
        line = i + 1;
    }
    if (line < size) line_list_add(list, data + line, size - line);
}

static inline bool line_list_begins_empty(const struct buffer *list)
{
    uint64_t size = 1;
    if (list->size > 0) memcpy(&size, list->data, sizeof size);
    return size == 0;
}

/* Drops the first line, the header. */
static inline void line_list_drop_first(struct buffer *list)
{
    uint64_t size = 0;
    if (list->size == 0) return;
    memcpy(&size, list->data, sizeof size);
    size += sizeof size;
    memmove(list->data, list->data + size, list->size - size);
    list->size -= size;
}

/* Whether each row ends with one LF, followed by the next row. */
static inline bool rows_are_lines(const struct glint_column *c, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        if (c->base[c->end[i]] != '\n' || (i + 1 < rows && c->start[i + 1] != c->end[i] + 1) ||
            memchr(c->base + c->start[i], '\n', c->end[i] - c->start[i]) != NULL)
            return false;
    return true;
}

/* Whether a batch of lines has the guarantees of engine/glint.h; `file` is the
 * decompressed content. */
static inline bool batch_is_sound(const struct glint_batch *b, const uint8_t *file)
{
    const struct glint_column *c = &b->value;
    const struct glint_origin *o = b->origin;
    bool ok = b->rows > 0 && b->rows <= BATCH_ROWS_MAX && b->key.type == GLINT_NONE &&
              c->type == GLINT_TEXT && o != NULL;
    ok = ok && (c->start != NULL ? c->size <= BATCH_BYTES_MAX : b->rows == 1);
    ok = ok && (c->lines == NULL || (c->lines == c->start && rows_are_lines(c, b->rows)));
    for (uint32_t i = 0; ok && i < b->rows; i++) {
        const struct glint_slice row = glint_column_slice(c, i);
        const uint64_t at = (uint64_t)(row.data - o->base);
        ok = (c->start == NULL || (c->start[i] <= c->end[i] && c->end[i] <= c->size)) &&
             at + row.size <= o->size && memcmp(file + o->offset + at, row.data, row.size) == 0;
    }
    return ok;
}

/* Reads one split into `list`. Returns 0, a code, or 1 for an invalid batch. */
static inline int read_split(struct glint_task *task, const struct split *split,
                             newlines_index index, const uint8_t *file, struct buffer *list)
{
    struct line_reader l;
    struct glint_batch batch;
    int r = line_reader_open(&l, task, split);
    if (r == 0 && index != NULL) l.index = index;
    while (r == 0 && (r = line_reader_next(&l, &batch)) > 0) {
        bool sound = batch_is_sound(&batch, file);
        for (uint32_t i = 0; sound && i < batch.rows; i++) {
            const struct glint_slice row = glint_column_slice(&batch.value, i);
            line_list_add(list, row.data, row.size);
        }
        r = sound ? 0 : 1;
        if (!sound) break;
    }
    line_reader_close(&l);
    return r;
}

#endif

/* The texts of agg's accumulators: see agg.h. */
#include "jobs/tables/agg.h"

#include <assert.h>
#include <string.h>

int agg_texts_append(struct glint_task *task, struct glint_buffer *buffer, struct glint_slice text)
{
    int e = glint_append(task, buffer, &text.size, sizeof text.size);
    return e == 0 && text.data != NULL ? glint_append(task, buffer, text.data, text.size) : e;
}

bool agg_texts_read(struct glint_slice bytes, uint32_t count, struct glint_slice *out)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size;
        if (bytes.size < sizeof size) return false;
        memcpy(&size, bytes.data, sizeof size);
        bytes.data += sizeof size;
        bytes.size -= sizeof size;
        out[i] = (struct glint_slice){size >= AGG_NONE ? NULL : bytes.data, size};
        if (size >= AGG_NONE) continue;
        if (size > bytes.size) return false;
        bytes.data += size;
        bytes.size -= size;
    }
    return bytes.size == 0;
}

static int compare_group_texts(struct glint_slice a, struct glint_slice b)
{
    const uint64_t size = a.size < b.size ? a.size : b.size;
    const int r = size > 0 ? memcmp(a.data, b.data, size) : 0;
    return r != 0 ? r : (a.size > b.size) - (a.size < b.size);
}

/* Whether a later text takes the place of the current one. */
static bool next_text_replaces_current(const struct agg_text *text, struct glint_slice current,
                                       struct glint_slice next)
{
    const uint8_t kind = text->kind;
    assert((next.data == NULL) == (next.size >= AGG_NONE));
    if (next.size == AGG_NONE) return false;
    if (kind == AGG_FIRST) return current.size == AGG_NONE;
    if (kind == AGG_LAST) return true;
    assert(kind == AGG_MIN_TEXT || kind == AGG_MAX_TEXT);
    if (next.data == NULL || current.data == NULL) return next.data != NULL;
    const int r = text->time
                      ? compare_group_texts(columns_time_text(next), columns_time_text(current))
                      : compare_group_texts(next, current);
    return kind == AGG_MIN_TEXT ? r < 0 : r > 0;
}

/* `next` has a text for each of plan.text. */
static int merge_texts(struct glint_task *task, struct agg_merge_state *s, struct glint_acc *acc,
                       uint64_t offset, const struct glint_slice *next)
{
    const struct agg_plan *p = &s->plan;
    const uint8_t *const bytes = glint_acc_bytes(acc);
    struct glint_slice texts[COLUMNS_MAX];
    bool changed = false;
    assert(acc->value.bytes.size >= offset);
    agg_texts_read((struct glint_slice){bytes + offset, acc->value.bytes.size - offset},
                   p->text_count, texts);
    for (uint32_t i = 0; i < p->text_count; i++) {
        if (!next_text_replaces_current(&p->text[i], texts[i], next[i])) continue;
        texts[i] = next[i];
        changed = true;
    }
    if (!changed) return 0;
    s->buffer.size = 0;
    int e = glint_append(task, &s->buffer, bytes, offset);
    for (uint32_t i = 0; i < p->text_count && e == 0; i++)
        e = agg_texts_append(task, &s->buffer, texts[i]);
    return e == 0 ? glint_acc_set(task, acc, s->buffer.data, s->buffer.size) : e;
}

int agg_texts_merge_row(struct glint_task *task, struct agg_merge_state *s, struct glint_acc *acc,
                        uint64_t offset, struct glint_slice row)
{
    struct glint_slice columns[COLUMNS_MAX], next[COLUMNS_MAX];
    const struct agg_plan *p = &s->plan;
    if (p->text_count == 0) return 0;
    if (!agg_texts_read(row, p->texts, columns))
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "a row of a group is not valid");
    for (uint32_t i = 0; i < p->text_count; i++) {
        assert(p->text[i].column < p->texts);
        next[i] = columns[p->text[i].column];
    }
    return merge_texts(task, s, acc, offset, next);
}

int agg_texts_combine(struct glint_task *task, struct agg_merge_state *s, struct glint_acc *acc,
                      uint64_t offset, struct glint_slice other)
{
    struct glint_slice next[COLUMNS_MAX];
    if (s->plan.text_count == 0) return 0;
    const bool valid = agg_texts_read(other, s->plan.text_count, next);
    assert(valid);
    return merge_texts(task, s, acc, offset, next);
}

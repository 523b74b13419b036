/* keyValueTextFile: lines of text, split at the first separator into key and value. */
#include "engine/batch.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

struct key_value_state {
    struct glint_task *task;
    struct glint_emitter *out;
    uint8_t separator;
    uint32_t key_end[BATCH_ROWS_MAX], value_start[BATCH_ROWS_MAX];
};

static int key_value_text_open(void *state, const struct op_open *o)
{
    struct key_value_state *s = state;
    s->task = o->task;
    struct unpacker u = unpack_begin(o->params);
    s->separator = (uint8_t)unpack_u64(&u, UINT8_MAX);
    return op_check_params(o, unpack_is_complete(&u), "a separator");
}

/* Returns the size of the key; *value: the offset of the value. */
static uint64_t split_at_separator(const struct key_value_state *s, struct glint_slice line,
                                   uint64_t *value)
{
    const uint8_t *at = line.size > 0 ? memchr(line.data, s->separator, line.size) : NULL;
    const uint64_t key = at != NULL ? (uint64_t)(at - line.data) : line.size;
    *value = at != NULL ? key + 1 : line.size;
    return key;
}

/* Sets the offsets of both columns into the lines' bytes: no bytes are copied. */
static void split_rows_at_separator(struct key_value_state *s, struct glint_batch *batch)
{
    const struct glint_column *line = &batch->value;
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t value;
        s->key_end[row] = line->start[row] +
                          (uint32_t)split_at_separator(s, glint_column_slice(line, row), &value);
        s->value_start[row] = line->start[row] + (uint32_t)value;
        assert(s->key_end[row] <= s->value_start[row] && s->value_start[row] <= line->end[row]);
    }
    batch->key.end = s->key_end;
    batch->value.start = s->value_start;
}

/* A batch of one long line, without offsets. */
static void split_long_row_at_separator(struct key_value_state *s, struct glint_batch *batch)
{
    uint64_t value;
    assert(batch->rows == 1);
    batch->key.size = split_at_separator(s, glint_column_slice(&batch->value, 0), &value);
    batch->value.base += value;
    batch->value.size -= value;
}

static enum flow key_value_text_push(void *arg, const struct glint_batch *lines)
{
    struct key_value_state *s = arg;
    struct glint_batch batch = *lines;
    batch.key = batch.value;
    if (lines->value.start != NULL)
        split_rows_at_separator(s, &batch);
    else
        split_long_row_at_separator(s, &batch);
    glint_emit_batch(s->out, &batch);
    return s->out->flow;
}

static enum flow key_value_text_run(void *state, struct glint_slice split,
                                    struct glint_emitter *out)
{
    struct key_value_state *s = state;
    assert(out->key.column.type == GLINT_TEXT && out->value.column.type == GLINT_TEXT);
    s->out = out;
    return text_source_read_split(s->task, split, key_value_text_push, s);
}

struct glint_rdd *glint_key_value_text_file(struct glint *g, const char *paths, char separator)
{
    const uint64_t byte = (uint8_t)separator;
    const struct file_source source = {.op = &op_key_value_text_file,
                                       .schema = {GLINT_TEXT, GLINT_TEXT},
                                       .parameter = &byte,
                                       .make_splits = text_source_make_splits};
    return file_source_create(g, paths, &source);
}

const struct op op_key_value_text_file = {.name = "keyValueTextFile",
                                          .kind = OP_SOURCE,
                                          .state_size = sizeof(struct key_value_state),
                                          .open = key_value_text_open,
                                          .run = key_value_text_run};

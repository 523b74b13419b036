/* Counting rows: see row_counts.h. */
#include "jobs/rows/row_counts.h"

#include "engine/batch.h"
#include "jobs/rows/fields.h"

struct row_counts_state {
    struct fields fields;
    int64_t ones[FIELDS_ROWS_MAX];
};

static int count_rows_open(struct glint_task *task, void *state)
{
    struct row_counts_state *s = state;
    for (uint32_t i = 0; i < FIELDS_ROWS_MAX; i++) s->ones[i] = 1;
    return fields_open(task, &s->fields, false);
}

static int emit_key_and_one(struct glint_task *task, void *state, const struct glint_record *in,
                            struct glint_emitter *out)
{
    struct row_counts_state *s = state;
    struct glint_record record = {.value = {.i64 = 1}};
    struct glint_slice id;
    int r = fields_parse_row(&s->fields, task, in->value.bytes, &record.key, &id);
    if (r > 0) glint_emit(out, &record);
    return r < 0 ? r : 0;
}

static int emit_keys_of_batch(struct glint_task *task, void *state, const struct glint_batch *in,
                              struct glint_emitter *out)
{
    struct row_counts_state *s = state;
    int r = fields_parse(&s->fields, task, in);
    if (r != 0) return r;
    struct glint_batch batch = {.rows = s->fields.rows,
                                .key = fields_key_column(&s->fields),
                                .value = {.type = GLINT_I64, .i64 = s->ones},
                                .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

#define COUNT_FUNCTION(name_, key_, batch_)                                                        \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = {GLINT_ANY, GLINT_TEXT},                      \
        .out = {key_, GLINT_I64}, .state_size = sizeof(struct row_counts_state),                   \
        .open = count_rows_open, .each = emit_key_and_one, .batch = batch_                         \
    }

const struct glint_function count_number =
    COUNT_FUNCTION("count.number", GLINT_I64, emit_keys_of_batch);
const struct glint_function count_text =
    COUNT_FUNCTION("count.text", GLINT_TEXT, emit_keys_of_batch);
const struct glint_function count_number_each =
    COUNT_FUNCTION("count.number_each", GLINT_I64, NULL);
const struct glint_function count_text_each = COUNT_FUNCTION("count.text_each", GLINT_TEXT, NULL);

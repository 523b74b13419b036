/* The functions of agg: see agg.h. */
#include "engine/base/text.h"
#include "engine/batch.h"
#include "jobs/tables/agg.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- agg.row, agg.value, agg.seen: rows */

int agg_open_plan(struct glint_task *task, struct agg_plan *plan)
{
    struct glint_slice bytes;
    int e = glint_arg_slice(task, "plan", &bytes);
    if (e != 0) return e;
    if (bytes.size != sizeof *plan)
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "the plan of agg has a wrong size");
    memcpy(plan, bytes.data, sizeof *plan);
    return 0;
}

int agg_open_row(struct glint_task *task, void *state)
{
    struct agg_row_state *s = state;
    int e = columns_open(task, &s->reader);
    if (e == 0) e = agg_open_plan(task, &s->plan);
    if (e == 0) e = glint_arg_i64(task, "column", &s->column);
    if (e != 0) return e;
    const struct agg_plan *p = &s->plan;
    assert(s->reader.columns.count == 0u + p->by + p->numbers + p->distinct + p->texts);
    assert(s->column >= 0 && s->column <= p->distinct);
    return 0;
}

int agg_open_row_again(struct glint_task *task, void *state)
{
    glint_uncount_bad_rows(task);
    return agg_open_row(task, state);
}

int agg_read_row(struct agg_row_state *s, struct glint_task *task, struct glint_slice row,
                 struct glint_slice *fields, struct glint_slice *out_group)
{
    int e = columns_find(&s->reader, task, row, fields);
    if (e <= 0) return e;
    for (uint32_t i = 0; i < s->plan.numbers; i++) {
        const struct glint_slice text = fields[s->plan.by + i];
        struct number *number = &s->numbers[i];
        if (text.size == 0 || nulls_is(s->reader.null, text))
            *number = (struct number){.decimals = NUMBER_NONE};
        else if (!number_parse(text, number))
            return columns_bad_value(&s->reader, task, row, s->plan.by + i, text,
                                     number_problem(text));
        else if (s->plan.small_floats[i] > 0)
            *number = number_of_float(number, s->plan.small_floats[i]);
    }
    e = columns_join(&s->reader, task, fields, s->plan.by, &s->group, out_group);
    return e == 0 ? 1 : e;
}

/* Appends the texts of a row to its numbers. Returns 0 or a code. */
static int add_row_texts(struct agg_row_state *s, struct glint_task *task,
                         const struct glint_slice *fields, struct glint_slice *input)
{
    const uint32_t first = 0u + s->plan.by + s->plan.numbers + s->plan.distinct;
    s->buffer.size = 0;
    int e = glint_append(task, &s->buffer, input->data, input->size);
    for (uint32_t i = 0; i < s->plan.texts && e == 0; i++) {
        struct glint_slice text = fields[first + i];
        if (nulls_is(s->reader.null, text)) text = (struct glint_slice){NULL, AGG_NULL};
        e = agg_texts_append(task, &s->buffer, text);
    }
    *input = (struct glint_slice){s->buffer.data, s->buffer.size};
    return e;
}

static int emit_input_of_row(struct agg_row_state *s, struct glint_task *task,
                             struct glint_slice row, struct glint_emitter *out)
{
    struct glint_slice fields[COLUMNS_MAX];
    struct glint_record record;
    uint8_t input[AGG_INPUT_MAX], *at = input;
    int e = agg_read_row(s, task, row, fields, &record.key.bytes);
    if (e <= 0) return e;
    *at++ = (uint8_t)AGG_ROW;
    for (uint32_t i = 0; i < s->plan.numbers; i++) at = number_put(at, &s->numbers[i]);
    record.value.bytes = (struct glint_slice){input, (uint64_t)(at - input)};
    e = s->plan.texts > 0 ? add_row_texts(s, task, fields, &record.value.bytes) : 0;
    if (e == 0) glint_emit(out, &record);
    return e;
}

static int emit_agg_row(struct glint_task *task, void *state, const struct glint_record *in,
                        struct glint_emitter *out)
{
    return emit_input_of_row(state, task, in->value.bytes, out);
}

/* A row of numbers is an input as it is. */
static int emit_agg_cells(struct glint_task *task, void *state, const struct glint_batch *in,
                          struct glint_emitter *out)
{
    bool text = false;
    for (uint32_t i = 0; i < in->rows; i++)
        text |= glint_column_slice(&in->value, i).data[0] != GLINT_CELLS_NUMBERS;
    if (!text) {
        glint_emit_batch(out, in);
        return 0;
    }
    int e = 0;
    for (uint32_t i = 0; i < in->rows && e == 0; i++) {
        const struct glint_record record = glint_batch_record(in, i);
        struct glint_slice row = record.value.bytes;
        if (row.data[0] == GLINT_CELLS_NUMBERS) {
            glint_emit(out, &record);
            continue;
        }
        row.data++;
        row.size--;
        e = emit_input_of_row(state, task, row, out);
    }
    return e;
}

static int emit_distinct_value(struct glint_task *task, void *state, const struct glint_record *in,
                               struct glint_emitter *out)
{
    struct agg_row_state *s = state;
    struct glint_slice fields[COLUMNS_MAX];
    struct glint_record record;
    int e = agg_read_row(s, task, in->value.bytes, fields, &record.key.bytes);
    if (e <= 0) return e;
    record.value.bytes = fields[s->plan.by + s->plan.numbers + s->column];
    if (!nulls_is(s->reader.null, record.value.bytes)) glint_emit(out, &record);
    return 0;
}

static int emit_group_of_value(struct glint_task *task, void *state, const struct glint_record *in,
                               struct glint_emitter *out)
{
    struct agg_row_state *s = state;
    (void)task;
    const uint8_t what = (uint8_t)s->column;
    const struct glint_record record = {.key = in->key, .value.bytes = {&what, sizeof what}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function agg_row = {.name = "agg.row",
                                       .kind = GLINT_KIND_MAP,
                                       .in = GLINT_ELEMENTS(GLINT_TEXT),
                                       .out = GLINT_PAIRS(GLINT_TEXT, GLINT_BYTES),
                                       .state_size = sizeof(struct agg_row_state),
                                       .open = agg_open_row,
                                       .each = emit_agg_row};
const struct glint_function agg_cells = {.name = "agg.cells",
                                         .kind = GLINT_KIND_MAP,
                                         .in = GLINT_PAIRS(GLINT_TEXT, GLINT_BYTES),
                                         .out = GLINT_PAIRS(GLINT_TEXT, GLINT_BYTES),
                                         .state_size = sizeof(struct agg_row_state),
                                         .open = agg_open_row,
                                         .batch = emit_agg_cells};
const struct glint_function agg_value = {.name = "agg.value",
                                         .kind = GLINT_KIND_FLAT_MAP,
                                         .in = GLINT_ELEMENTS(GLINT_TEXT),
                                         .out = GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
                                         .state_size = sizeof(struct agg_row_state),
                                         .open = agg_open_row_again,
                                         .each = emit_distinct_value};
const struct glint_function agg_seen = {.name = "agg.seen",
                                        .kind = GLINT_KIND_MAP,
                                        .in = GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
                                        .out = GLINT_PAIRS(GLINT_TEXT, GLINT_BYTES),
                                        .state_size = sizeof(struct agg_row_state),
                                        .open = agg_open_row,
                                        .each = emit_group_of_value};

/* ---- agg.line */

struct line_state {
    struct agg_plan plan;
    int64_t delimiter;
    struct glint_slice null;
    uint8_t *line;
    uint64_t capacity;
};

static int agg_line_init(struct glint_task *task, void *state)
{
    struct line_state *s = state;
    int e = agg_open_plan(task, &s->plan);
    if (e == 0) e = nulls_open(task, &s->null);
    return e == 0 ? glint_arg_i64(task, "delimiter", &s->delimiter) : e;
}

/* The sum, rounded once unless a number is not exact, divided by `by`. Of finite numbers only the
 * quotient must be finite. */
static double sum_quotient(const struct agg_column *c, double by)
{
    const double scale = c->scaled ? AGG_INEXACT_SCALE : 1;
    return (exact_sum_f64(&c->exact) * scale + c->inexact) / by / scale;
}

static size_t put_bytes(char *out, struct glint_slice bytes)
{
    if (bytes.size > 0) memcpy(out, bytes.data, bytes.size);
    return bytes.size;
}

static size_t put_double(char *out, double value)
{
    return isinf(value) ? AGG_NUMBER_TOO_LARGE : text_format_f64(out, value);
}

static size_t format_variance(char *out, const struct line_state *s, struct agg_output output,
                              const uint8_t *acc)
{
    const bool sample = output.kind == AGG_VARIANCE || output.kind == AGG_STDDEV;
    const bool root = output.kind == AGG_STDDEV || output.kind == AGG_STDDEV_POP;
    const struct variance v = agg_acc_variance(&s->plan, acc, output.index);
    double value;
    if (!variance_value(&v, sample, &value)) return put_bytes(out, s->null);
    return put_double(out, root ? sqrt(value) : value);
}

/* A least or greatest number, in the form of its column. */
static size_t format_limit(char *out, const struct number *limit, uint32_t small_float)
{
    if (small_float == 0) return number_format(out, limit);
    const double value = number_f64(limit);
    return small_float == 16 ? text_format_f16(out, value) : text_format_f32(out, (float)value);
}

size_t agg_format_number(char *out, const struct agg_plan *p, struct agg_output output,
                         const uint8_t *acc)
{
    const struct agg_column c = agg_acc_column(p, acc, output.index);
    if (c.values == 0) return 0;
    const struct number limit = output.kind == AGG_MIN ? c.min : c.max;
    if (output.kind == AGG_MIN || output.kind == AGG_MAX)
        return format_limit(out, &limit, p->small_floats[output.index]);
    if (output.kind == AGG_MEAN) return text_format_f64(out, sum_quotient(&c, (double)c.values));
    assert(output.kind == AGG_SUM);
    const struct exact_sum exact = c.exact;
    if (!c.rounded) return exact_sum_format(out, &exact);
    const double sum = sum_quotient(&c, 1);
    return isfinite(c.inexact) ? put_double(out, sum) : text_format_f64(out, sum);
}

/* Formats one result. Returns its size or AGG_NUMBER_TOO_LARGE. */
static size_t format_output(char *out, const struct line_state *s, struct agg_output output,
                            const uint8_t *acc, const struct glint_slice *texts)
{
    struct number quantile;
    switch (output.kind) {
    case AGG_COUNT: return text_format_i64(out, agg_acc_count(&s->plan, acc, 0));
    case AGG_DISTINCT:
        return text_format_i64(out,
                               agg_acc_count(&s->plan, acc, 0u + s->plan.counted + output.index));
    case AGG_VARIANCE:
    case AGG_VARIANCE_POP:
    case AGG_STDDEV:
    case AGG_STDDEV_POP: return format_variance(out, s, output, acc);
    case AGG_QUANTILE:
        quantile = agg_acc_quantile(&s->plan, acc, output.index);
        if (quantile.decimals == NUMBER_NONE) return put_bytes(out, s->null);
        return number_format(out, &quantile);
    case AGG_MIN_TEXT:
    case AGG_MAX_TEXT:
    case AGG_FIRST:
    case AGG_LAST:
        return put_bytes(out, texts[output.index].data != NULL ? texts[output.index] : s->null);
    default: break;
    }
    const size_t size = agg_format_number(out, &s->plan, output, acc);
    return size > 0 ? size : put_bytes(out, s->null);
}

static int emit_agg_line(struct glint_task *task, void *state, const struct glint_record *in,
                         struct glint_emitter *out)
{
    struct line_state *s = state;
    const struct glint_slice group = in->key.bytes, acc = in->value.bytes;
    struct glint_slice texts[COLUMNS_MAX];
    int e = agg_acc_check(task, &s->plan, acc);
    if (e != 0) return e;
    const uint64_t need =
        group.size + s->plan.output_count * (1 + EXACT_SUM_FORMAT_MAX + s->null.size) + acc.size;
    if (need > s->capacity) {
        s->line = glint_scratch(task, 2 * need);
        s->capacity = s->line != NULL ? 2 * need : 0;
        if (s->line == NULL) return GLINT_E_NO_MEMORY;
    }
    agg_acc_texts(&s->plan, acc, texts);
    uint8_t *at = s->line;
    at += put_bytes((char *)at, group);
    for (uint32_t i = 0; i < s->plan.output_count; i++) {
        if (i > 0 || s->plan.by > 0) *at++ = (uint8_t)s->delimiter;
        const size_t size = format_output((char *)at, s, s->plan.outputs[i], acc.data, texts);
        if (size == AGG_NUMBER_TOO_LARGE)
            return glint_fail(task, GLINT_E_VALUE_LIMIT,
                              s->plan.outputs[i].kind == AGG_SUM ? "use --mean, or smaller units"
                                                                 : "use smaller units",
                              "a %s is larger than the largest double, 1.8e308",
                              s->plan.outputs[i].kind == AGG_SUM ? "sum" : "variance");
        at += size;
    }
    assert(at <= s->line + s->capacity);
    const struct glint_record record = {.value.bytes = {s->line, (uint64_t)(at - s->line)}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function agg_line = {.name = "agg.line",
                                        .kind = GLINT_KIND_MAP,
                                        .in = GLINT_PAIRS(GLINT_TEXT, GLINT_BYTES),
                                        .out = GLINT_ELEMENTS(GLINT_TEXT),
                                        .state_size = sizeof(struct line_state),
                                        .open = agg_line_init,
                                        .each = emit_agg_line};

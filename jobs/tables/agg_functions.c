/* The functions of agg: see agg.h. */
#include "engine/base/text.h"
#include "jobs/rows/variance.h"
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

int agg_read_row(struct agg_row_state *s, struct glint_task *task, struct glint_slice row,
                 struct glint_slice *fields, struct glint_slice *out_group)
{
    int e = columns_find(&s->reader, task, row, fields);
    if (e <= 0) return e;
    for (uint32_t i = 0; i < s->plan.numbers; i++) {
        const struct glint_slice text = fields[s->plan.by + i];
        struct number *number = &s->input.numbers[i];
        if (text.size == 0 || nulls_is(s->reader.null, text))
            *number = (struct number){.decimals = NUMBER_NONE};
        else if (!number_parse(text, number))
            return columns_bad_value(&s->reader, task, row, s->plan.by + i, text,
                                     number_problem(text));
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

static int emit_agg_row(struct glint_task *task, void *state, const struct glint_record *in,
                        struct glint_emitter *out)
{
    struct agg_row_state *s = state;
    struct glint_slice fields[COLUMNS_MAX];
    struct glint_record record;
    int e = agg_read_row(s, task, in->value.bytes, fields, &record.key.bytes);
    if (e <= 0) return e;
    s->input.what = AGG_ROW;
    record.value.bytes = (struct glint_slice){
        (const uint8_t *)&s->input, AGG_HEAD_BYTES + s->plan.numbers * sizeof s->input.numbers[0]};
    e = s->plan.texts > 0 ? add_row_texts(s, task, fields, &record.value.bytes) : 0;
    if (e == 0) glint_emit(out, &record);
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
    s->input.what = s->column;
    const struct glint_record record = {
        .key = in->key, .value.bytes = {(const uint8_t *)&s->input, AGG_HEAD_BYTES}};
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
const struct glint_function agg_value = {.name = "agg.value",
                                         .kind = GLINT_KIND_FLAT_MAP,
                                         .in = GLINT_ELEMENTS(GLINT_TEXT),
                                         .out = GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
                                         .state_size = sizeof(struct agg_row_state),
                                         .open = agg_open_row,
                                         .each = emit_distinct_value};
const struct glint_function agg_seen = {.name = "agg.seen",
                                        .kind = GLINT_KIND_MAP,
                                        .in = GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
                                        .out = GLINT_PAIRS(GLINT_TEXT, GLINT_BYTES),
                                        .state_size = sizeof(struct agg_row_state),
                                        .open = agg_open_row,
                                        .each = emit_group_of_value};

/* ---- agg.merge: accumulators
 *
 * An accumulator is the number of rows, then the number of different values of each column of
 * `distinct`, then a struct column_acc for each column of numbers, a struct variance for the first
 * ones, a number for each quantile, and texts (agg.h). Its bytes are not aligned. */

struct __attribute__((packed)) column_acc {
    struct exact_sum exact;  /* of the exact numbers */
    double inexact;          /* sum of the others; `scaled`: times INEXACT_SCALE */
    int64_t values;          /* not empty */
    struct number min, max;  /* the first ones, of equal numbers */
    uint8_t rounded, scaled; /* 1: a number is not exact */
};
enum {
    ACC_BYTES_MAX = (1 + 2 * COLUMNS_MAX) * sizeof(int64_t) +
                    COLUMNS_MAX * (sizeof(struct column_acc) + sizeof(struct variance)) +
                    AGG_QUANTILES_MAX * sizeof(struct number)
};
/* Sums of fewer than 2^63 doubles, times this, are finite. */
#define INEXACT_SCALE 0x1p-64

static uint64_t column_offset(const struct agg_plan *p, uint32_t column)
{
    return (1 + p->distinct) * sizeof(int64_t) + column * sizeof(struct column_acc);
}

static uint64_t variance_offset(const struct agg_plan *p, uint32_t column)
{
    return column_offset(p, p->numbers) + column * sizeof(struct variance);
}

static uint64_t quantile_offset(const struct agg_plan *p, int64_t quantile)
{
    return variance_offset(p, p->variances) + (uint64_t)quantile * sizeof(struct number);
}

/* Where the texts begin. */
static uint64_t texts_offset(const struct agg_plan *p)
{
    return quantile_offset(p, p->quantile_count);
}

static bool decimals_are_valid(const struct number *n, int least)
{
    return n->decimals >= least && n->decimals <= NUMBER_DIGITS_MAX;
}

static bool numbers_are_valid(const uint8_t *at, uint32_t count)
{
    struct number n;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&n, at + i * sizeof n, sizeof n);
        if (!decimals_are_valid(&n, NUMBER_NONE)) return false;
    }
    return true;
}

static bool variance_is_valid(const uint8_t *at)
{
    struct variance v;
    memcpy(&v, at, sizeof v);
    return v.sum.decimals >= 0 && v.sum.decimals <= NUMBER_DIGITS_MAX / 2 &&
           v.squares.decimals == 2 * v.sum.decimals;
}

/* Accumulators may come from another process. Returns 0, or a code if no task of agg made it. */
static int check_acc(struct glint_task *task, const struct agg_plan *p, struct glint_slice acc)
{
    struct column_acc c;
    struct glint_slice texts[COLUMNS_MAX];
    bool valid = acc.size >= texts_offset(p);
    for (uint32_t i = 0; valid && i < p->numbers; i++) {
        memcpy(&c, acc.data + column_offset(p, i), sizeof c);
        valid = c.exact.decimals >= 0 && c.exact.decimals <= NUMBER_DIGITS_MAX &&
                (c.values == 0 || (decimals_are_valid(&c.min, NUMBER_INEXACT) &&
                                   decimals_are_valid(&c.max, NUMBER_INEXACT)));
    }
    for (uint32_t i = 0; valid && i < p->variances; i++)
        valid = variance_is_valid(acc.data + variance_offset(p, i));
    valid =
        valid && numbers_are_valid(acc.data + quantile_offset(p, 0), p->quantile_count) &&
        agg_texts_read((struct glint_slice){acc.data + texts_offset(p), acc.size - texts_offset(p)},
                       p->text_count, texts);
    if (valid) return 0;
    return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "the numbers of a group are not valid");
}

/* The same of what is merged into one. Sets *out_what, and *out_rest to what follows it. */
static int check_input(struct glint_task *task, const struct agg_plan *p, struct glint_slice input,
                       int64_t *out_what, struct glint_slice *out_rest)
{
    struct glint_slice texts[COLUMNS_MAX];
    uint32_t numbers = 0, text_count = 0;
    bool valid = input.size >= AGG_HEAD_BYTES;
    *out_what = AGG_NO_ROW;
    if (valid) memcpy(out_what, input.data, sizeof *out_what);
    valid = valid && *out_what<p->distinct && * out_what> AGG_QUANTILES - p->quantile_count;
    if (*out_what == AGG_ROW) {
        numbers = p->numbers;
        text_count = p->texts;
    }
    if (*out_what <= AGG_QUANTILES) numbers = 1;
    const uint64_t size = AGG_HEAD_BYTES + numbers * sizeof(struct number);
    valid = valid && input.size >= size &&
            numbers_are_valid(input.data + AGG_HEAD_BYTES, numbers) &&
            agg_texts_read((struct glint_slice){input.data + size, input.size - size}, text_count,
                           texts);
    if (!valid)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "a row of a group is not valid");
    *out_rest = (struct glint_slice){input.data + AGG_HEAD_BYTES, input.size - AGG_HEAD_BYTES};
    return 0;
}

static int64_t load_agg_count(const uint8_t *acc, int64_t index)
{
    int64_t count;
    memcpy(&count, acc + (uint64_t)index * sizeof count, sizeof count);
    return count;
}

static void add_agg_count(uint8_t *acc, int64_t index, int64_t by)
{
    const int64_t count = load_agg_count(acc, index) + by;
    memcpy(acc + (uint64_t)index * sizeof count, &count, sizeof count);
}

static void add_limits(struct column_acc *c, const struct number *min, const struct number *max)
{
    if (c->values == 0 || number_compare(min, &c->min) < 0) c->min = *min;
    if (c->values == 0 || number_compare(max, &c->max) > 0) c->max = *max;
}

static void add_inexact(struct column_acc *c, double more, bool scaled)
{
    if (c->scaled != scaled || !isfinite(c->inexact + more)) {
        c->inexact *= c->scaled ? 1 : INEXACT_SCALE;
        more *= scaled ? 1 : INEXACT_SCALE;
        c->scaled = true;
    }
    c->inexact += more;
}

static void add_number(struct column_acc *c, const struct number *n)
{
    if (n->decimals == NUMBER_NONE) return;
    add_limits(c, n, n);
    c->values++;
    if (n->decimals >= 0) {
        exact_sum_add(&c->exact, n);
        return;
    }
    c->rounded = true;
    add_inexact(c, n->f64, false);
}

static void add_columns(struct column_acc *c, const struct column_acc *other)
{
    if (other->values == 0) return;
    add_limits(c, &other->min, &other->max);
    c->values += other->values;
    c->rounded |= other->rounded;
    exact_sum_merge(&c->exact, &other->exact);
    add_inexact(c, other->inexact, other->scaled);
}

static int agg_merge_init(struct glint_task *task, void *state)
{
    return agg_open_plan(task, &((struct agg_merge_state *)state)->plan);
}

/* Adds the numbers of a row. */
static void merge_numbers(const struct agg_plan *p, uint8_t *acc, const uint8_t *numbers)
{
    struct column_acc column;
    struct variance variance;
    struct number number;
    for (uint32_t i = 0; i < p->numbers; i++) {
        memcpy(&number, numbers + i * sizeof number, sizeof number);
        memcpy(&column, acc + column_offset(p, i), sizeof column);
        add_number(&column, &number);
        memcpy(acc + column_offset(p, i), &column, sizeof column);
        if (i >= p->variances || number.decimals == NUMBER_NONE) continue;
        memcpy(&variance, acc + variance_offset(p, i), sizeof variance);
        variance_add(&variance, &number);
        memcpy(acc + variance_offset(p, i), &variance, sizeof variance);
    }
}

static int agg_merge_row(struct glint_task *task, void *state, struct glint_acc *acc,
                         const union glint_value *value)
{
    struct agg_merge_state *s = state;
    const struct agg_plan *p = &s->plan;
    uint8_t *const bytes = glint_acc_bytes(acc);
    struct glint_slice rest;
    int64_t what;
    int e = check_input(task, p, value->bytes, &what, &rest);
    if (e != 0 || what == AGG_NO_ROW) return e;
    assert(acc->value.bytes.size >= texts_offset(p));
    if (what <= AGG_QUANTILES) {
        memcpy(bytes + quantile_offset(p, AGG_QUANTILES - what), rest.data, sizeof(struct number));
        return 0;
    }
    add_agg_count(bytes, what == AGG_ROW ? 0 : 1 + what, 1);
    if (what != AGG_ROW) return 0;
    merge_numbers(p, bytes, rest.data);
    const uint64_t size = p->numbers * sizeof(struct number);
    return agg_texts_merge_row(task, s, acc, texts_offset(p),
                               (struct glint_slice){rest.data + size, rest.size - size});
}

static int agg_create_accumulator(struct glint_task *task, void *state, struct glint_acc *acc,
                                  const union glint_value *value)
{
    static const uint8_t zeros[ACC_BYTES_MAX];
    const struct number none = {.decimals = NUMBER_NONE};
    const uint64_t no_text = AGG_NONE;
    const struct agg_plan *p = &((struct agg_merge_state *)state)->plan;
    const uint64_t texts = texts_offset(p);
    int e = glint_acc_set(task, acc, zeros, texts + p->text_count * sizeof no_text);
    if (e != 0) return e;
    uint8_t *const bytes = glint_acc_bytes(acc);
    for (uint32_t i = 0; i < p->quantile_count; i++)
        memcpy(bytes + quantile_offset(p, i), &none, sizeof none);
    for (uint32_t i = 0; i < p->text_count; i++)
        memcpy(bytes + texts + i * sizeof no_text, &no_text, sizeof no_text);
    return agg_merge_row(task, state, acc, value);
}

/* The part of an accumulator before its texts. */
static void combine_numbers(const struct agg_plan *p, uint8_t *acc, const uint8_t *other)
{
    struct column_acc column, from;
    struct variance variance, more;
    struct number quantile;
    for (int64_t i = 0; i <= p->distinct; i++) add_agg_count(acc, i, load_agg_count(other, i));
    for (uint32_t i = 0; i < p->numbers; i++) {
        memcpy(&column, acc + column_offset(p, i), sizeof column);
        memcpy(&from, other + column_offset(p, i), sizeof from);
        add_columns(&column, &from);
        memcpy(acc + column_offset(p, i), &column, sizeof column);
    }
    for (uint32_t i = 0; i < p->variances; i++) {
        memcpy(&variance, acc + variance_offset(p, i), sizeof variance);
        memcpy(&more, other + variance_offset(p, i), sizeof more);
        variance_merge(&variance, &more);
        memcpy(acc + variance_offset(p, i), &variance, sizeof variance);
    }
    for (int64_t i = 0; i < p->quantile_count; i++) {
        memcpy(&quantile, other + quantile_offset(p, i), sizeof quantile);
        if (quantile.decimals != NUMBER_NONE)
            memcpy(acc + quantile_offset(p, i), &quantile, sizeof quantile);
    }
}

static int agg_combine_accumulators(struct glint_task *task, void *state, struct glint_acc *acc,
                                    const union glint_value *other)
{
    struct agg_merge_state *s = state;
    const struct agg_plan *p = &s->plan;
    const uint64_t texts = texts_offset(p);
    int e = check_acc(task, p, acc->value.bytes);
    if (e == 0) e = check_acc(task, p, other->bytes);
    if (e != 0) return e;
    combine_numbers(p, glint_acc_bytes(acc), other->bytes.data);
    return agg_texts_combine(
        task, s, acc, texts,
        (struct glint_slice){other->bytes.data + texts, other->bytes.size - texts});
}

const struct glint_function agg_merge = {.name = "agg.merge",
                                         .kind = GLINT_KIND_AGGREGATE,
                                         .in = {GLINT_ANY, GLINT_BYTES},
                                         .out = {GLINT_SAME, GLINT_BYTES},
                                         .state_size = sizeof(struct agg_merge_state),
                                         .open = agg_merge_init,
                                         .create = agg_create_accumulator,
                                         .merge = agg_merge_row,
                                         .combine = agg_combine_accumulators};

/* ---- agg.line */

#define OUTPUT_OVERFLOW SIZE_MAX

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

/* The sum, rounded once unless a number is not exact, divided by `by`. Only the quotient must be
 * finite. */
static double sum_quotient(const struct column_acc *c, double by)
{
    const double scale = c->scaled ? INEXACT_SCALE : 1;
    return (exact_sum_f64(&c->exact) * scale + c->inexact) / by / scale;
}

static size_t put_bytes(char *out, struct glint_slice bytes)
{
    if (bytes.size > 0) memcpy(out, bytes.data, bytes.size);
    return bytes.size;
}

static size_t put_double(char *out, double value)
{
    return isfinite(value) ? text_format_f64(out, value) : OUTPUT_OVERFLOW;
}

static size_t format_variance(char *out, const struct line_state *s, struct agg_output output,
                              const uint8_t *acc)
{
    const bool sample = output.kind == AGG_VARIANCE || output.kind == AGG_STDDEV;
    const bool root = output.kind == AGG_STDDEV || output.kind == AGG_STDDEV_POP;
    struct variance v;
    double value;
    memcpy(&v, acc + variance_offset(&s->plan, output.index), sizeof v);
    if (!variance_value(&v, sample, &value)) return put_bytes(out, s->null);
    return put_double(out, root ? sqrt(value) : value);
}

/* Formats a result of a column of numbers; null if there is no number. */
static size_t format_number_output(char *out, const struct line_state *s, struct agg_output output,
                                   const uint8_t *acc)
{
    struct column_acc c;
    memcpy(&c, acc + column_offset(&s->plan, output.index), sizeof c);
    if (c.values == 0) return put_bytes(out, s->null);
    if (output.kind == AGG_MIN) return number_format(out, &c.min);
    if (output.kind == AGG_MAX) return number_format(out, &c.max);
    if (output.kind == AGG_MEAN) return text_format_f64(out, sum_quotient(&c, (double)c.values));
    assert(output.kind == AGG_SUM);
    if (!c.rounded) return exact_sum_format(out, &c.exact);
    return put_double(out, sum_quotient(&c, 1));
}

/* Formats one result. Returns its size or OUTPUT_OVERFLOW. */
static size_t format_output(char *out, const struct line_state *s, struct agg_output output,
                            const uint8_t *acc, const struct glint_slice *texts)
{
    struct number quantile;
    switch (output.kind) {
    case AGG_COUNT: return text_format_i64(out, load_agg_count(acc, 0));
    case AGG_DISTINCT: return text_format_i64(out, load_agg_count(acc, 1 + output.index));
    case AGG_VARIANCE:
    case AGG_VARIANCE_POP:
    case AGG_STDDEV:
    case AGG_STDDEV_POP: return format_variance(out, s, output, acc);
    case AGG_QUANTILE:
        memcpy(&quantile, acc + quantile_offset(&s->plan, output.index), sizeof quantile);
        if (quantile.decimals == NUMBER_NONE) return put_bytes(out, s->null);
        return number_format(out, &quantile);
    case AGG_MIN_TEXT:
    case AGG_MAX_TEXT:
    case AGG_FIRST:
    case AGG_LAST:
        return put_bytes(out, texts[output.index].data != NULL ? texts[output.index] : s->null);
    default: return format_number_output(out, s, output, acc);
    }
}

static int emit_agg_line(struct glint_task *task, void *state, const struct glint_record *in,
                         struct glint_emitter *out)
{
    struct line_state *s = state;
    const struct glint_slice group = in->key.bytes, acc = in->value.bytes;
    struct glint_slice texts[COLUMNS_MAX];
    int e = check_acc(task, &s->plan, acc);
    if (e != 0) return e;
    const uint64_t need =
        group.size + s->plan.output_count * (1 + EXACT_SUM_FORMAT_MAX + s->null.size) + acc.size;
    if (need > s->capacity) {
        s->line = glint_scratch(task, 2 * need);
        s->capacity = s->line != NULL ? 2 * need : 0;
        if (s->line == NULL) return GLINT_E_NO_MEMORY;
    }
    const uint64_t texts_at = texts_offset(&s->plan);
    agg_texts_read((struct glint_slice){acc.data + texts_at, acc.size - texts_at},
                   s->plan.text_count, texts);
    uint8_t *at = s->line;
    at += put_bytes((char *)at, group);
    for (uint32_t i = 0; i < s->plan.output_count; i++) {
        if (i > 0 || s->plan.by > 0) *at++ = (uint8_t)s->delimiter;
        const size_t size = format_output((char *)at, s, s->plan.outputs[i], acc.data, texts);
        if (size == OUTPUT_OVERFLOW)
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

/* The functions of agg: see agg.h. */
#include "engine/base/text.h"
#include "jobs/rows/exact_sum.h"
#include "jobs/tables/agg.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- agg.row, agg.value: rows */

struct row_state {
    struct columns_reader reader;
    struct agg_plan plan;
    int64_t column;
    struct agg_input input;
    struct columns_joined group;
};

static int open_plan(struct glint_task *task, struct agg_plan *plan)
{
    struct glint_slice bytes;
    int e = glint_arg_slice(task, "plan", &bytes);
    if (e != 0) return e;
    if (bytes.size != sizeof *plan)
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "the plan of agg has a wrong size");
    memcpy(plan, bytes.data, sizeof *plan);
    return 0;
}

static int row_open(struct glint_task *task, void *state)
{
    struct row_state *s = state;
    int e = columns_open(task, &s->reader);
    if (e == 0) e = open_plan(task, &s->plan);
    if (e == 0) e = glint_arg_i64(task, "column", &s->column);
    if (e != 0) return e;
    assert(s->reader.columns.count == 0u + s->plan.by + s->plan.numbers + s->plan.distinct);
    assert(s->column >= 0 && s->column <= s->plan.distinct);
    return 0;
}

/* Reads all columns of a row: all functions find the same rows bad. Returns 1, 0 if the row was
 * skipped, or a code. */
static int read_row(struct row_state *s, struct glint_task *task, struct glint_slice row,
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

static int row_each(struct glint_task *task, void *state, const struct glint_record *in,
                    struct glint_emitter *out)
{
    struct row_state *s = state;
    struct glint_slice fields[COLUMNS_MAX];
    struct glint_record record;
    int e = read_row(s, task, in->value.bytes, fields, &record.key.bytes);
    if (e <= 0) return e;
    s->input.distinct = AGG_ROW;
    record.value.bytes = (struct glint_slice){
        (const uint8_t *)&s->input, AGG_HEAD_BYTES + s->plan.numbers * sizeof s->input.numbers[0]};
    glint_emit(out, &record);
    return 0;
}

static int value_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    struct row_state *s = state;
    struct glint_slice fields[COLUMNS_MAX];
    struct glint_record record;
    int e = read_row(s, task, in->value.bytes, fields, &record.key.bytes);
    if (e <= 0) return e;
    record.value.bytes = fields[s->plan.by + s->plan.numbers + s->column];
    if (!nulls_is(s->reader.null, record.value.bytes)) glint_emit(out, &record);
    return 0;
}

static int seen_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    struct row_state *s = state;
    (void)task;
    s->input.distinct = s->column;
    const struct glint_record record = {
        .key = in->key, .value.bytes = {(const uint8_t *)&s->input, AGG_HEAD_BYTES}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function agg_row = {.name = "agg.row",
                                       .kind = GLINT_KIND_MAP,
                                       .in = GLINT_ELEMENTS(GLINT_TEXT),
                                       .out = GLINT_PAIRS(GLINT_TEXT, GLINT_BYTES),
                                       .state_size = sizeof(struct row_state),
                                       .open = row_open,
                                       .each = row_each};
const struct glint_function agg_value = {.name = "agg.value",
                                         .kind = GLINT_KIND_FLAT_MAP,
                                         .in = GLINT_ELEMENTS(GLINT_TEXT),
                                         .out = GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
                                         .state_size = sizeof(struct row_state),
                                         .open = row_open,
                                         .each = value_each};
const struct glint_function agg_seen = {.name = "agg.seen",
                                        .kind = GLINT_KIND_MAP,
                                        .in = GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
                                        .out = GLINT_PAIRS(GLINT_TEXT, GLINT_BYTES),
                                        .state_size = sizeof(struct row_state),
                                        .open = row_open,
                                        .each = seen_each};

/* ---- agg.merge: accumulators
 *
 * An accumulator is the number of rows, then the number of different values of each column of
 * `distinct`, then a struct column_acc for each column of numbers. Its bytes are not aligned. */

struct __attribute__((packed)) column_acc {
    struct exact_sum exact;  /* of the exact numbers */
    double inexact;          /* sum of the others; `scaled`: times INEXACT_SCALE */
    int64_t values;          /* not empty */
    struct number min, max;  /* the first ones, of equal numbers */
    uint8_t rounded, scaled; /* 1: a number is not exact */
};
/* Sums of fewer than 2^63 doubles, times this, are finite. */
#define INEXACT_SCALE 0x1p-64

static uint64_t column_offset(const struct agg_plan *p, uint32_t column)
{
    return (1 + p->distinct) * sizeof(int64_t) + column * sizeof(struct column_acc);
}

static bool decimals_are_valid(const struct number *n)
{
    return n->decimals >= NUMBER_INEXACT && n->decimals <= NUMBER_DIGITS_MAX;
}

/* Accumulators may come from another process. Returns 0, or a code if no task of agg made it. */
static int check_acc(struct glint_task *task, const struct agg_plan *p, struct glint_slice acc)
{
    struct column_acc c;
    bool valid = acc.size == column_offset(p, p->numbers);
    for (uint32_t i = 0; valid && i < p->numbers; i++) {
        memcpy(&c, acc.data + column_offset(p, i), sizeof c);
        valid = c.exact.decimals >= 0 && c.exact.decimals <= NUMBER_DIGITS_MAX &&
                (c.values == 0 || (decimals_are_valid(&c.min) && decimals_are_valid(&c.max)));
    }
    if (valid) return 0;
    return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "the numbers of a group are not valid");
}

static int64_t load_count(const uint8_t *acc, int64_t index)
{
    int64_t count;
    memcpy(&count, acc + (uint64_t)index * sizeof count, sizeof count);
    return count;
}

static void add_agg_count(uint8_t *acc, int64_t index, int64_t by)
{
    const int64_t count = load_count(acc, index) + by;
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

static int merge_open(struct glint_task *task, void *state)
{
    return open_plan(task, state);
}

static int merge_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                       const union glint_value *value)
{
    const struct agg_plan *p = state;
    (void)task;
    uint8_t *const bytes = glint_acc_bytes(acc);
    struct column_acc column;
    struct number number;
    int64_t distinct;
    assert(acc->value.bytes.size == column_offset(p, p->numbers));
    memcpy(&distinct, value->bytes.data, sizeof distinct);
    if (distinct == AGG_NO_ROW) return 0;
    add_agg_count(bytes, distinct == AGG_ROW ? 0 : 1 + distinct, 1);
    for (uint32_t i = 0; distinct == AGG_ROW && i < p->numbers; i++) {
        memcpy(&number, value->bytes.data + AGG_HEAD_BYTES + i * sizeof number, sizeof number);
        memcpy(&column, bytes + column_offset(p, i), sizeof column);
        add_number(&column, &number);
        memcpy(bytes + column_offset(p, i), &column, sizeof column);
    }
    return 0;
}

static int merge_create(struct glint_task *task, void *state, struct glint_acc *acc,
                        const union glint_value *value)
{
    static const uint8_t
        zeros[(1 + COLUMNS_MAX) * sizeof(int64_t) + COLUMNS_MAX * sizeof(struct column_acc)];
    const struct agg_plan *p = state;
    int e = glint_acc_set(task, acc, zeros, column_offset(p, p->numbers));
    return e == 0 ? merge_merge(task, state, acc, value) : e;
}

static int merge_combine(struct glint_task *task, void *state, struct glint_acc *acc,
                         const union glint_value *other)
{
    const struct agg_plan *p = state;
    uint8_t *const bytes = glint_acc_bytes(acc);
    struct column_acc column, from;
    int e = check_acc(task, p, acc->value.bytes);
    if (e == 0) e = check_acc(task, p, other->bytes);
    if (e != 0) return e;
    for (int64_t i = 0; i <= p->distinct; i++)
        add_agg_count(bytes, i, load_count(other->bytes.data, i));
    for (uint32_t i = 0; i < p->numbers; i++) {
        memcpy(&column, bytes + column_offset(p, i), sizeof column);
        memcpy(&from, other->bytes.data + column_offset(p, i), sizeof from);
        add_columns(&column, &from);
        memcpy(bytes + column_offset(p, i), &column, sizeof column);
    }
    return 0;
}

const struct glint_function agg_merge = {.name = "agg.merge",
                                         .kind = GLINT_KIND_AGGREGATE,
                                         .in = {GLINT_ANY, GLINT_BYTES},
                                         .out = {GLINT_SAME, GLINT_BYTES},
                                         .state_size = sizeof(struct agg_plan),
                                         .open = merge_open,
                                         .create = merge_create,
                                         .merge = merge_merge,
                                         .combine = merge_combine};

/* ---- agg.line */

#define OUTPUT_OVERFLOW SIZE_MAX

struct line_state {
    struct agg_plan plan;
    int64_t delimiter;
    struct glint_slice null;
    uint8_t *line;
    uint64_t capacity;
};

static int line_open(struct glint_task *task, void *state)
{
    struct line_state *s = state;
    int e = open_plan(task, &s->plan);
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

/* Formats one result; null if there is no number. Returns its size or OUTPUT_OVERFLOW. */
static size_t format_output(char *out, const struct line_state *s, struct agg_output output,
                            const uint8_t *acc)
{
    struct column_acc c;
    if (output.kind == AGG_COUNT) return text_format_i64(out, load_count(acc, 0));
    if (output.kind == AGG_DISTINCT) return text_format_i64(out, load_count(acc, 1 + output.index));
    memcpy(&c, acc + column_offset(&s->plan, output.index), sizeof c);
    if (c.values == 0) {
        if (s->null.size > 0) memcpy(out, s->null.data, s->null.size);
        return s->null.size;
    }
    if (output.kind == AGG_MIN) return number_format(out, &c.min);
    if (output.kind == AGG_MAX) return number_format(out, &c.max);
    if (output.kind == AGG_MEAN) return text_format_f64(out, sum_quotient(&c, (double)c.values));
    assert(output.kind == AGG_SUM);
    if (!c.rounded) return exact_sum_format(out, &c.exact);
    const double sum = sum_quotient(&c, 1);
    return isfinite(sum) ? text_format_f64(out, sum) : OUTPUT_OVERFLOW;
}

static int line_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    struct line_state *s = state;
    const struct glint_slice group = in->key.bytes;
    int e = check_acc(task, &s->plan, in->value.bytes);
    if (e != 0) return e;
    const uint64_t need =
        group.size + s->plan.output_count * (1 + EXACT_SUM_FORMAT_MAX + s->null.size);
    if (need > s->capacity) {
        s->line = glint_scratch(task, 2 * need);
        s->capacity = s->line != NULL ? 2 * need : 0;
        if (s->line == NULL) return GLINT_E_NO_MEMORY;
    }
    uint8_t *at = s->line;
    if (group.size > 0) memcpy(at, group.data, group.size);
    at += group.size;
    for (uint32_t i = 0; i < s->plan.output_count; i++) {
        if (i > 0 || s->plan.by > 0) *at++ = (uint8_t)s->delimiter;
        const size_t size = format_output((char *)at, s, s->plan.outputs[i], in->value.bytes.data);
        if (size == OUTPUT_OVERFLOW)
            return glint_fail(task, GLINT_E_VALUE_LIMIT, "use --mean, or smaller units",
                              "a sum is larger than the largest double, 1.8e308");
        at += size;
    }
    const struct glint_record record = {.value.bytes = {s->line, (uint64_t)(at - s->line)}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function agg_line = {.name = "agg.line",
                                        .kind = GLINT_KIND_MAP,
                                        .in = GLINT_PAIRS(GLINT_TEXT, GLINT_BYTES),
                                        .out = GLINT_ELEMENTS(GLINT_TEXT),
                                        .state_size = sizeof(struct line_state),
                                        .open = line_open,
                                        .each = line_each};

/* agg.merge: the accumulators of groups. See agg.h.
 *
 * An accumulator is a byte, 1 if its columns are wide, the number of rows if it is a result, that
 * of different values of each column of `distinct`, a column for each one of numbers, a struct
 * variance for the first ones, a number for each quantile, and texts (agg.h). Its bytes are not
 * aligned.
 *
 * Most groups have numbers whose sums fit 64 bits. Their columns are narrow, since merging a row is
 * as fast as memory is; the first number that does not fit makes all columns of its group wide,
 * which changes no result. */
#include "jobs/tables/agg.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Loaded and stored in place. */
#define PACKED __attribute__((packed, may_alias))

struct PACKED narrow_column {
    int64_t sum, min, max;                        /* units; the first ones, of equal numbers */
    uint32_t values;                              /* not empty */
    uint8_t decimals, min_decimals, max_decimals; /* up to EXACT_SUM_SHIFT_MAX */
};
static_assert(1 + sizeof(struct narrow_column) == 32, "an accumulator is half a line of the cache");

enum { NARROW, WIDE, ACC_FORMS };
enum {
    COUNTS_OFFSET = 1,
    ACC_BYTES_MAX = COUNTS_OFFSET + (1 + 2 * COLUMNS_MAX) * sizeof(int64_t) +
                    COLUMNS_MAX * (sizeof(struct agg_column) + sizeof(struct variance)) +
                    AGG_QUANTILES_MAX * sizeof(struct number)
};

static uint64_t column_offset(const struct agg_plan *p, int form, uint32_t column)
{
    const uint64_t size = form == WIDE ? sizeof(struct agg_column) : sizeof(struct narrow_column);
    return COUNTS_OFFSET + (0u + p->counted + p->distinct) * sizeof(int64_t) + column * size;
}

static uint64_t variance_offset(const struct agg_plan *p, int form, uint32_t column)
{
    return column_offset(p, form, p->numbers) + column * sizeof(struct variance);
}

static uint64_t quantile_offset(const struct agg_plan *p, int form, uint64_t quantile)
{
    return variance_offset(p, form, p->variances) + quantile * sizeof(struct number);
}

/* Where the texts begin. */
static uint64_t texts_offset(const struct agg_plan *p, int form)
{
    return quantile_offset(p, form, p->quantile_count);
}

/* Of an accumulator that agg_acc_check has accepted, or this task made. */
static inline int form_of_acc(const uint8_t *acc)
{
    assert(acc[0] < ACC_FORMS);
    return acc[0];
}

/* ---- Of another process */

static bool decimals_are_valid(const struct number *n, int least)
{
    return n->decimals >= least && n->decimals <= NUMBER_DIGITS_MAX;
}

static bool is_narrow_column_valid(const uint8_t *at)
{
    const struct narrow_column *c = (const struct narrow_column *)at;
    return c->decimals <= EXACT_SUM_SHIFT_MAX && c->min_decimals <= EXACT_SUM_SHIFT_MAX &&
           c->max_decimals <= EXACT_SUM_SHIFT_MAX;
}

static bool is_wide_column_valid(const uint8_t *at)
{
    struct agg_column c;
    memcpy(&c, at, sizeof c);
    return c.exact.decimals >= 0 && c.exact.decimals <= NUMBER_DIGITS_MAX &&
           (c.values == 0 || (decimals_are_valid(&c.min, NUMBER_INEXACT) &&
                              decimals_are_valid(&c.max, NUMBER_INEXACT)));
}

static bool variance_is_valid(const uint8_t *at)
{
    struct variance v;
    memcpy(&v, at, sizeof v);
    return v.sum.decimals >= 0 && v.sum.decimals <= NUMBER_DIGITS_MAX / 2 &&
           v.squares.decimals == 2 * v.sum.decimals;
}

static bool quantile_is_valid(const uint8_t *at)
{
    struct number n;
    memcpy(&n, at, sizeof n);
    return decimals_are_valid(&n, NUMBER_NONE);
}

int agg_acc_check(struct glint_task *task, const struct agg_plan *p, struct glint_slice acc)
{
    struct glint_slice texts[COLUMNS_MAX];
    const int form = acc.size > 0 ? acc.data[0] : ACC_FORMS;
    bool valid = form < ACC_FORMS && acc.size >= texts_offset(p, form);
    for (uint32_t i = 0; valid && i < p->numbers; i++) {
        const uint8_t *at = acc.data + column_offset(p, form, i);
        valid = form == WIDE ? is_wide_column_valid(at) : is_narrow_column_valid(at);
    }
    for (uint32_t i = 0; valid && i < p->variances; i++)
        valid = variance_is_valid(acc.data + variance_offset(p, form, i));
    for (uint32_t i = 0; valid && i < p->quantile_count; i++)
        valid = quantile_is_valid(acc.data + quantile_offset(p, form, i));
    if (valid) {
        const uint64_t offset = texts_offset(p, form);
        const struct glint_slice rest = {acc.data + offset, acc.size - offset};
        valid = agg_texts_read(rest, p->text_count, texts);
    }
    if (valid) return 0;
    return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "the numbers of a group are not valid");
}

static int set_invalid_group_row_error(struct glint_task *task)
{
    return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "a row of a group is not valid");
}

/* ---- Results */

static struct agg_column widen_column(const struct narrow_column *c)
{
    const uint64_t sign = c->sum < 0 ? UINT64_MAX : 0;
    return (struct agg_column){
        .exact = {{(uint64_t)c->sum, sign, sign, sign, sign}, (int8_t)c->decimals},
        .values = c->values,
        .min = {.low = (uint64_t)c->min, .high = c->min >> 63, .decimals = (int8_t)c->min_decimals},
        .max = {
            .low = (uint64_t)c->max, .high = c->max >> 63, .decimals = (int8_t)c->max_decimals}};
}

int64_t agg_acc_count(const struct agg_plan *p, const uint8_t *acc, uint32_t index)
{
    int64_t count;
    assert(index < 0u + p->counted + p->distinct);
    memcpy(&count, acc + COUNTS_OFFSET + index * sizeof count, sizeof count);
    return count;
}

struct agg_column agg_acc_column(const struct agg_plan *p, const uint8_t *acc, uint32_t index)
{
    const uint8_t *at = acc + column_offset(p, form_of_acc(acc), index);
    struct agg_column wide;
    assert(index < p->numbers);
    if (form_of_acc(acc) == NARROW) return widen_column((const struct narrow_column *)at);
    memcpy(&wide, at, sizeof wide);
    return wide;
}

struct variance agg_acc_variance(const struct agg_plan *p, const uint8_t *acc, uint32_t index)
{
    struct variance variance;
    assert(index < p->variances);
    memcpy(&variance, acc + variance_offset(p, form_of_acc(acc), index), sizeof variance);
    return variance;
}

struct number agg_acc_quantile(const struct agg_plan *p, const uint8_t *acc, uint32_t index)
{
    struct number quantile;
    assert(index < p->quantile_count);
    memcpy(&quantile, acc + quantile_offset(p, form_of_acc(acc), index), sizeof quantile);
    return quantile;
}

void agg_acc_texts(const struct agg_plan *p, struct glint_slice acc, struct glint_slice *out)
{
    const uint64_t offset = texts_offset(p, form_of_acc(acc.data));
    const bool valid = agg_texts_read((struct glint_slice){acc.data + offset, acc.size - offset},
                                      p->text_count, out);
    assert(valid);
}

/* ---- Wide columns */

static void update_min_and_max(struct agg_column *c, const struct number *min,
                               const struct number *max)
{
    if (c->values == 0 || number_compare(min, &c->min) < 0) c->min = *min;
    if (c->values == 0 || number_compare(max, &c->max) > 0) c->max = *max;
}

static void add_inexact(struct agg_column *c, double more, bool scaled)
{
    if (c->scaled != scaled || !isfinite(c->inexact + more)) {
        c->inexact *= c->scaled ? 1 : AGG_INEXACT_SCALE;
        more *= scaled ? 1 : AGG_INEXACT_SCALE;
        c->scaled = true;
    }
    c->inexact += more;
}

static void add_number_to_column(struct agg_column *c, const struct number *n)
{
    if (n->decimals == NUMBER_NONE) return;
    update_min_and_max(c, n, n);
    c->values++;
    if (n->decimals >= 0) {
        exact_sum_add(&c->exact, n);
        return;
    }
    c->rounded = true;
    add_inexact(c, n->f64, false);
}

static void add_column_to_column(struct agg_column *c, const struct agg_column *other)
{
    if (other->values == 0) return;
    update_min_and_max(c, &other->min, &other->max);
    c->values += other->values;
    c->rounded |= other->rounded;
    exact_sum_merge(&c->exact, &other->exact);
    add_inexact(c, other->inexact, other->scaled);
}

/* Makes the columns of an accumulator wide. Returns 0 or a code. */
static int widen_acc(struct glint_task *task, struct agg_merge_state *s, struct glint_acc *acc)
{
    static const uint8_t form = WIDE;
    const struct agg_plan *p = &s->plan;
    const struct glint_slice bytes = acc->value.bytes;
    const uint64_t counts = column_offset(p, NARROW, 0), columns = variance_offset(p, NARROW, 0);
    assert(form_of_acc(bytes.data) == NARROW);
    s->buffer.size = 0;
    int e = glint_append(task, &s->buffer, &form, sizeof form);
    if (e == 0) e = glint_append(task, &s->buffer, bytes.data + 1, counts - 1);
    for (uint32_t i = 0; i < p->numbers && e == 0; i++) {
        const struct agg_column wide = agg_acc_column(p, bytes.data, i);
        e = glint_append(task, &s->buffer, &wide, sizeof wide);
    }
    if (e == 0) e = glint_append(task, &s->buffer, bytes.data + columns, bytes.size - columns);
    return e == 0 ? glint_acc_set(task, acc, s->buffer.data, s->buffer.size) : e;
}

/* ---- Narrow columns. Each returns false, and changes nothing, if the result does not fit one. */

static inline bool scale_units(int64_t units, uint32_t by, int64_t *out)
{
    assert(by <= EXACT_SUM_SHIFT_MAX);
    return !__builtin_mul_overflow(units, exact_sum_powers[by], out);
}

static inline bool add_units(const struct narrow_column *c, int64_t units, uint8_t decimals,
                             int64_t *out)
{
    int64_t sum = c->sum;
    if (decimals < c->decimals && !scale_units(units, c->decimals - decimals, &units)) return false;
    if (decimals > c->decimals && !scale_units(sum, decimals - c->decimals, &sum)) return false;
    return !__builtin_add_overflow(sum, units, out);
}

/* As number_compare. */
static inline int compare_units(int64_t a, uint8_t a_decimals, int64_t b, uint8_t b_decimals)
{
    if (a_decimals == b_decimals) return (a > b) - (a < b);
    const uint8_t most = a_decimals > b_decimals ? a_decimals : b_decimals;
    assert(most <= EXACT_SUM_SHIFT_MAX);
    const __int128 x = (__int128)a * exact_sum_powers[most - a_decimals];
    const __int128 y = (__int128)b * exact_sum_powers[most - b_decimals];
    return (x > y) - (x < y);
}

static inline bool add_narrow_number(struct narrow_column *c, int64_t units, uint8_t decimals)
{
    int64_t sum;
    if (c->values == UINT32_MAX || decimals > EXACT_SUM_SHIFT_MAX ||
        !add_units(c, units, decimals, &sum))
        return false;
    c->sum = sum;
    if (decimals > c->decimals) c->decimals = decimals;
    if (c->values == 0 || compare_units(units, decimals, c->min, c->min_decimals) < 0) {
        c->min = units;
        c->min_decimals = decimals;
    }
    if (c->values == 0 || compare_units(units, decimals, c->max, c->max_decimals) > 0) {
        c->max = units;
        c->max_decimals = decimals;
    }
    c->values++;
    return true;
}

static bool add_narrow_column(struct narrow_column *c, const struct narrow_column *other)
{
    int64_t sum;
    if (other->values == 0) return true;
    if (c->values > UINT32_MAX - other->values || !add_units(c, other->sum, other->decimals, &sum))
        return false;
    c->sum = sum;
    if (other->decimals > c->decimals) c->decimals = other->decimals;
    if (c->values == 0 ||
        compare_units(other->min, other->min_decimals, c->min, c->min_decimals) < 0) {
        c->min = other->min;
        c->min_decimals = other->min_decimals;
    }
    if (c->values == 0 ||
        compare_units(other->max, other->max_decimals, c->max, c->max_decimals) > 0) {
        c->max = other->max;
        c->max_decimals = other->max_decimals;
    }
    c->values += other->values;
    return true;
}

/* ---- agg.merge */

static int agg_merge_init(struct glint_task *task, void *state)
{
    return agg_open_plan(task, &((struct agg_merge_state *)state)->plan);
}

static void add_agg_count(const struct agg_plan *p, uint8_t *acc, uint32_t index, int64_t by)
{
    const int64_t count = agg_acc_count(p, acc, index) + by;
    memcpy(acc + COUNTS_OFFSET + index * sizeof count, &count, sizeof count);
}

/* The usual case of doubles, in place. Returns false, and changes nothing, if it is another. */
static bool add_double_in_place(uint8_t *at, const struct number *n)
{
    struct agg_column *const c = (struct agg_column *)at;
    const double sum = c->inexact + n->f64;
    if (n->decimals != NUMBER_INEXACT || c->values == 0 || c->scaled || !isfinite(sum) ||
        c->min.decimals != NUMBER_INEXACT || c->max.decimals != NUMBER_INEXACT)
        return false;
    if (n->f64 < c->min.f64) c->min.f64 = n->f64;
    if (n->f64 > c->max.f64) c->max.f64 = n->f64;
    c->inexact = sum;
    c->rounded = true;
    c->values++;
    return true;
}

static void merge_wide_number(uint8_t *at, const struct number *n)
{
    struct agg_column column;
    if (add_double_in_place(at, n)) return;
    memcpy(&column, at, sizeof column);
    add_number_to_column(&column, n);
    memcpy(at, &column, sizeof column);
}

static void add_number_to_variance(uint8_t *at, const struct number *n)
{
    struct variance variance;
    if (n->decimals == NUMBER_NONE) return;
    memcpy(&variance, at, sizeof variance);
    variance_add(&variance, n);
    memcpy(at, &variance, sizeof variance);
}

/* Adds a number of any kind, and makes the accumulator wide if it has to be. */
static int merge_number(struct glint_task *task, struct agg_merge_state *s, struct glint_acc *acc,
                        uint32_t column, const struct number *n)
{
    const struct agg_plan *p = &s->plan;
    uint8_t *bytes = glint_acc_bytes(acc);
    const bool fits = n->decimals >= 0 && n->high == (int64_t)n->low >> 63;
    if (n->decimals == NUMBER_NONE) return 0;
    if (form_of_acc(bytes) == NARROW) {
        struct narrow_column *c =
            (struct narrow_column *)(bytes + column_offset(p, NARROW, column));
        if (!fits || !add_narrow_number(c, (int64_t)n->low, (uint8_t)n->decimals)) {
            const int e = widen_acc(task, s, acc);
            if (e != 0) return e;
            bytes = glint_acc_bytes(acc);
        }
    }
    if (form_of_acc(bytes) == WIDE) merge_wide_number(bytes + column_offset(p, WIDE, column), n);
    if (column < p->variances)
        add_number_to_variance(bytes + variance_offset(p, form_of_acc(bytes), column), n);
    return 0;
}

/* Merges the numbers of a row, and cuts them off `row`. */
static int merge_numbers(struct glint_task *task, struct agg_merge_state *s, struct glint_acc *acc,
                         struct glint_slice *row)
{
    const struct agg_plan *p = &s->plan;
    uint32_t i = 0;
    uint8_t *const bytes = glint_acc_bytes(acc);
    struct narrow_column *c = (struct narrow_column *)(bytes + column_offset(p, NARROW, 0));
    /* The usual case, without a call per number. */
    if (p->variances == 0 && form_of_acc(bytes) == NARROW)
        for (; i < p->numbers; i++) {
            const uint8_t *at = row->data;
            int64_t units;
            if (row->size < 1 + sizeof units) break;
            const uint8_t decimals = (uint8_t)(at[0] - CELL_DECIMAL);
            memcpy(&units, at + 1, sizeof units);
            if (!add_narrow_number(&c[i], units, decimals)) break;
            row->data += 1 + sizeof units;
            row->size -= 1 + sizeof units;
        }
    for (; i < p->numbers; i++) {
        struct number number;
        if (!number_read_cell(row, &number)) return set_invalid_group_row_error(task);
        const int e = merge_number(task, s, acc, i, &number);
        if (e != 0) return e;
    }
    return 0;
}

static int merge_quantile(struct glint_task *task, const struct agg_plan *p, uint8_t *acc,
                          uint32_t index, struct glint_slice cell)
{
    struct number number;
    if (index >= p->quantile_count || !number_read_cell(&cell, &number) || cell.size > 0)
        return set_invalid_group_row_error(task);
    memcpy(acc + quantile_offset(p, form_of_acc(acc), index), &number, sizeof number);
    return 0;
}

static int agg_merge_row(struct glint_task *task, void *state, struct glint_acc *acc,
                         const union glint_value *value)
{
    struct agg_merge_state *s = state;
    const struct agg_plan *p = &s->plan;
    struct glint_slice rest = value->bytes;
    if (rest.size == 0) return set_invalid_group_row_error(task);
    const int8_t what = (int8_t)rest.data[0];
    rest.data++;
    rest.size--;
    if (what <= AGG_QUANTILES)
        return merge_quantile(task, p, glint_acc_bytes(acc), (uint32_t)(AGG_QUANTILES - what),
                              rest);
    if (what != AGG_ROW) {
        if (what >= p->distinct || rest.size > 0) return set_invalid_group_row_error(task);
        if (what != AGG_NO_ROW)
            add_agg_count(p, glint_acc_bytes(acc), p->counted + (uint32_t)what, 1);
        return 0;
    }
    if (p->counted) add_agg_count(p, glint_acc_bytes(acc), 0, 1);
    const int e = merge_numbers(task, s, acc, &rest);
    if (e != 0) return e;
    if (p->texts == 0) return rest.size == 0 ? 0 : set_invalid_group_row_error(task);
    const uint64_t offset = texts_offset(p, form_of_acc(acc->value.bytes.data));
    return agg_texts_merge_row(task, s, acc, offset, rest);
}

static int agg_create_accumulator(struct glint_task *task, void *state, struct glint_acc *acc,
                                  const union glint_value *value)
{
    static const uint8_t zeros[ACC_BYTES_MAX];
    const struct number none = {.decimals = NUMBER_NONE};
    const uint64_t no_text = AGG_NONE;
    const struct agg_plan *p = &((struct agg_merge_state *)state)->plan;
    const uint64_t texts = texts_offset(p, NARROW);
    int e = glint_acc_set(task, acc, zeros, texts + p->text_count * sizeof no_text);
    if (e != 0) return e;
    uint8_t *const bytes = glint_acc_bytes(acc);
    for (uint32_t i = 0; i < p->quantile_count; i++)
        memcpy(bytes + quantile_offset(p, NARROW, i), &none, sizeof none);
    for (uint32_t i = 0; i < p->text_count; i++)
        memcpy(bytes + texts + i * sizeof no_text, &no_text, sizeof no_text);
    return agg_merge_row(task, state, acc, value);
}

/* Adds the column of another accumulator to a wide one. */
static void combine_wide_column(const struct agg_plan *p, uint8_t *acc, const uint8_t *other,
                                uint32_t index)
{
    struct agg_column column = agg_acc_column(p, acc, index);
    const struct agg_column from = agg_acc_column(p, other, index);
    assert(form_of_acc(acc) == WIDE);
    add_column_to_column(&column, &from);
    memcpy(acc + column_offset(p, WIDE, index), &column, sizeof column);
}

/* Adds the columns of another accumulator, and makes this one wide if it has to be. Returns 0 or a
 * code. */
static int combine_acc_columns(struct glint_task *task, struct agg_merge_state *s,
                               struct glint_acc *acc, const uint8_t *other)
{
    const struct agg_plan *p = &s->plan;
    uint32_t i = 0;
    if (form_of_acc(acc->value.bytes.data) == NARROW) {
        struct narrow_column *to =
            (struct narrow_column *)(glint_acc_bytes(acc) + column_offset(p, NARROW, 0));
        const struct narrow_column *from =
            (const struct narrow_column *)(other + column_offset(p, NARROW, 0));
        if (form_of_acc(other) == NARROW)
            while (i < p->numbers && add_narrow_column(&to[i], &from[i])) i++;
        if (i == p->numbers && form_of_acc(other) == NARROW) return 0;
        const int e = widen_acc(task, s, acc);
        if (e != 0) return e;
    }
    for (; i < p->numbers; i++) combine_wide_column(p, glint_acc_bytes(acc), other, i);
    return 0;
}

/* The part of an accumulator behind its columns, before its texts. */
static void combine_statistics(const struct agg_plan *p, uint8_t *acc, const uint8_t *other)
{
    for (uint32_t i = 0; i < p->variances; i++) {
        struct variance variance = agg_acc_variance(p, acc, i);
        const struct variance more = agg_acc_variance(p, other, i);
        variance_merge(&variance, &more);
        memcpy(acc + variance_offset(p, form_of_acc(acc), i), &variance, sizeof variance);
    }
    for (uint32_t i = 0; i < p->quantile_count; i++) {
        const struct number quantile = agg_acc_quantile(p, other, i);
        if (quantile.decimals != NUMBER_NONE)
            memcpy(acc + quantile_offset(p, form_of_acc(acc), i), &quantile, sizeof quantile);
    }
}

static int agg_combine_accumulators(struct glint_task *task, void *state, struct glint_acc *acc,
                                    const union glint_value *value)
{
    struct agg_merge_state *s = state;
    const struct agg_plan *p = &s->plan;
    const struct glint_slice other = value->bytes;
    int e = agg_acc_check(task, p, acc->value.bytes);
    if (e == 0) e = agg_acc_check(task, p, other);
    if (e != 0) return e;
    for (uint32_t i = 0; i < 0u + p->counted + p->distinct; i++)
        add_agg_count(p, glint_acc_bytes(acc), i, agg_acc_count(p, other.data, i));
    e = combine_acc_columns(task, s, acc, other.data);
    if (e != 0) return e;
    combine_statistics(p, glint_acc_bytes(acc), other.data);
    const uint64_t from = texts_offset(p, form_of_acc(other.data));
    return agg_texts_combine(task, s, acc, texts_offset(p, form_of_acc(acc->value.bytes.data)),
                             (struct glint_slice){other.data + from, other.size - from});
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

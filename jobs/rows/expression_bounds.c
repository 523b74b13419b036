/* Whether a condition can be true for a row of a row group, by what its file says about the columns
 * (glint_row_group). Instructions are evaluated for sets of values: all that the rows may have, and
 * perhaps more. A row group of which a row might be a bad row is needed, so that it is reported. */
#include "jobs/rows/expression.h"

#include "jobs/rows/nulls.h"

#include <assert.h>
#include <string.h>

enum { MAY_BE_TRUE = 1, MAY_BE_FALSE = 2, MAY_BE_NULL = 4, ANY_TRUTH = 7 };
enum { ANY_ORDER = EXPRESSION_LESS | EXPRESSION_EQUAL | EXPRESSION_GREATER };

struct value_set {
    enum expression_type type;
    uint8_t truths;   /* of BOOLEAN */
    bool null, value; /* of other types: whether it may be null, and not null */
    bool ranged;      /* values are from min to max */
    struct expression_value min, max;
    uint32_t column; /* of the row; EXPRESSION_NO_COLUMN: calculated */
};

struct row_group_test {
    const struct glint_row_group *group;
    int failed;      /* a code */
    bool may_be_bad; /* a row may have no value */
};

/* ---- Columns */

static enum glint_bounds_type bounds_of_type(enum expression_type type)
{
    return type == EXPRESSION_NUMBER    ? GLINT_BOUNDS_NUMBER
           : type == EXPRESSION_TIME    ? GLINT_BOUNDS_TIME
           : type == EXPRESSION_BOOLEAN ? GLINT_BOUNDS_BOOLEAN
                                        : GLINT_BOUNDS_TEXT;
}

/* Whether the texts of dates and times without a zone, of years of four digits, are in the order of
 * time: then they are compared as texts. */
static bool are_texts_of_times_ordered(const struct glint_bounds *b)
{
    const struct glint_slice ends[] = {b->min, b->max};
    for (int i = 0; i < 2; i++) {
        const struct glint_slice s = ends[i];
        if (s.size < 10 || s.data[0] < '0' || s.data[0] > '9' || s.data[4] != '-' ||
            s.data[s.size - 1] == 'Z')
            return false;
    }
    return true;
}

static void set_range_of_values(struct value_set *out, const struct glint_bounds *b)
{
    struct expression_value min, max;
    out->ranged = b->known && expression_parse_value(out->type, b->min, &min) &&
                  expression_parse_value(out->type, b->max, &max) && min.type == out->type &&
                  max.type == out->type;
    if (out->type == EXPRESSION_NUMBER && out->ranged)
        out->ranged = min.number.decimals >= 0 && max.number.decimals >= 0;
    if (!out->ranged) return;
    out->min = min;
    out->max = max;
}

static struct value_set values_of_column_in_group(struct row_group_test *t,
                                                  const struct expression *e,
                                                  const struct expression_instruction *i,
                                                  const uint32_t *columns)
{
    struct glint_bounds b;
    const bool doubles = expression_is_float(i->type); /* compared as such: without a range */
    struct value_set set = {.type = doubles ? EXPRESSION_NUMBER : i->type,
                            .column = columns[i->argument]};
    t->group->bounds(t->group->arg, set.column, &b);
    set.null = b.nulls || e->null.size == 0; /* an empty text is null */
    set.value = b.values;
    if (!set.value) set.type = EXPRESSION_NULL;
    if (!set.value) return set;
    /* Of equal bounds all values are known, and what they are as another type. */
    const bool one = b.known && b.min.size == b.max.size &&
                     (b.min.size == 0 || memcmp(b.min.data, b.max.data, b.min.size) == 0);
    const bool same = b.type == bounds_of_type(set.type) ||
                      (b.type == GLINT_BOUNDS_FLOAT && set.type == EXPRESSION_NUMBER);
    const bool ordered = b.type == GLINT_BOUNDS_TIME && set.type == EXPRESSION_TEXT && b.known &&
                         are_texts_of_times_ordered(&b);
    if (!doubles && (same || ordered || one)) set_range_of_values(&set, &b);
    /* All integers, decimals and floats are numbers; all texts are texts. Times may be of years
     * that have no form, as 0000, unless both bounds have one. */
    if (set.type == EXPRESSION_TIME || set.type == EXPRESSION_TIME_OF_DAY)
        t->may_be_bad |= !set.ranged;
    if (set.type == EXPRESSION_NUMBER || set.type == EXPRESSION_BOOLEAN)
        t->may_be_bad |= !same && !set.ranged;
    if (set.type == EXPRESSION_BOOLEAN) {
        set.truths = MAY_BE_TRUE | MAY_BE_FALSE | (set.null ? MAY_BE_NULL : 0);
        if (set.ranged && !set.max.boolean) set.truths &= (uint8_t)~MAY_BE_TRUE;
        if (set.ranged && set.min.boolean) set.truths &= (uint8_t)~MAY_BE_FALSE;
    }
    return set;
}

static struct value_set constant_value(const struct expression_value *v)
{
    struct value_set set = {.type = v->type, .column = EXPRESSION_NO_COLUMN, .value = true};
    if (v->type == EXPRESSION_BOOLEAN) set.truths = v->boolean ? MAY_BE_TRUE : MAY_BE_FALSE;
    if (v->type == EXPRESSION_NULL) set.value = false;
    set.null = !set.value;
    set.ranged = set.value && (v->type != EXPRESSION_NUMBER || v->number.decimals >= 0);
    set.min = set.max = *v;
    return set;
}

/* ---- Comparisons */

static struct value_set truth_set(uint8_t truths)
{
    return (struct value_set){
        .type = EXPRESSION_BOOLEAN, .truths = truths, .column = EXPRESSION_NO_COLUMN};
}

static bool is_constant(const struct value_set *s)
{
    return s->column == EXPRESSION_NO_COLUMN && s->ranged;
}

/* Asks the file's Bloom filter whether the column may have the value: integers and texts. */
static bool column_may_have_value(struct row_group_test *t, const struct value_set *column,
                                  const struct expression_value *value)
{
    char text[NUMBER_FORMAT_MAX];
    struct glint_slice s = {(const uint8_t *)text, 0};
    if (t->failed != 0 || column->column == EXPRESSION_NO_COLUMN || value->type != column->type)
        return true;
    if (value->type == EXPRESSION_TEXT)
        s = value->text;
    else if (value->type == EXPRESSION_NUMBER && value->number.decimals == 0)
        s.size = number_format(text, &value->number);
    else
        return true;
    struct glint_bounds b;
    t->group->bounds(t->group->arg, column->column, &b);
    if (b.type != bounds_of_type(column->type)) return true;
    const int r = t->group->may_have(t->group->arg, column->column, s);
    if (r < 0) t->failed = r;
    return r != 0;
}

/* The orders that values may have, a set; none: both may only be null. */
static uint32_t possible_orders(struct row_group_test *t, const struct value_set *a,
                                const struct value_set *b)
{
    if (!a->value || !b->value) return 0;
    if (a->type != b->type || a->type == EXPRESSION_BOOLEAN) return ANY_ORDER;
    uint32_t orders = ANY_ORDER;
    if (a->ranged && b->ranged) {
        const uint32_t low = expression_compare(&a->min, &b->max),
                       high = expression_compare(&a->max, &b->min);
        if (low == 0 || high == 0) return ANY_ORDER;
        orders = (low == EXPRESSION_LESS ? EXPRESSION_LESS : 0) |
                 (high == EXPRESSION_GREATER ? EXPRESSION_GREATER : 0) |
                 (low != EXPRESSION_GREATER && high != EXPRESSION_LESS ? EXPRESSION_EQUAL : 0);
    }
    if ((orders & EXPRESSION_EQUAL) == 0) return orders;
    if ((is_constant(b) && !column_may_have_value(t, a, &b->min)) ||
        (is_constant(a) && !column_may_have_value(t, b, &a->min)))
        orders &= ~(uint32_t)EXPRESSION_EQUAL;
    return orders;
}

static uint8_t comparison_truths(struct row_group_test *t, const struct value_set *a,
                                 const struct value_set *b, uint32_t wanted)
{
    if (a->type == EXPRESSION_BOOLEAN || b->type == EXPRESSION_BOOLEAN) return ANY_TRUTH;
    const uint32_t orders = possible_orders(t, a, b);
    const bool null = a->null || b->null || orders == 0;
    return (uint8_t)(((orders & wanted) != 0 ? MAY_BE_TRUE : 0) |
                     ((orders & ~wanted) != 0 ? MAY_BE_FALSE : 0) | (null ? MAY_BE_NULL : 0));
}

/* ---- Truth values: of three-valued logic, each with each */

static uint8_t and_truths(uint8_t a, uint8_t b)
{
    const bool unknown = ((a & MAY_BE_NULL) != 0 && (b & (MAY_BE_NULL | MAY_BE_TRUE)) != 0) ||
                         ((b & MAY_BE_NULL) != 0 && (a & (MAY_BE_NULL | MAY_BE_TRUE)) != 0);
    return (uint8_t)((a & b & MAY_BE_TRUE) | ((a | b) & MAY_BE_FALSE) |
                     (unknown ? MAY_BE_NULL : 0));
}

static uint8_t not_truths(uint8_t a)
{
    return (uint8_t)((a & MAY_BE_NULL) | ((a & MAY_BE_TRUE) != 0 ? MAY_BE_FALSE : 0) |
                     ((a & MAY_BE_FALSE) != 0 ? MAY_BE_TRUE : 0));
}

static uint8_t or_truths(uint8_t a, uint8_t b)
{
    return not_truths(and_truths(not_truths(a), not_truths(b)));
}

static uint8_t possible_truths_of_set(const struct value_set *s)
{
    return s->type == EXPRESSION_BOOLEAN ? s->truths
           : s->type == EXPRESSION_NULL  ? MAY_BE_NULL
                                         : ANY_TRUTH;
}

static bool set_may_be_null(const struct value_set *s)
{
    return s->type == EXPRESSION_BOOLEAN ? (s->truths & MAY_BE_NULL) != 0 : s->null;
}

static bool set_may_have_values(const struct value_set *s)
{
    return s->type == EXPRESSION_BOOLEAN ? (s->truths & ~MAY_BE_NULL) != 0 : s->value;
}

/* ---- Evaluation */

/* As apply_instruction in expression.c, on sets. */
static void apply_instruction_to_sets(struct row_group_test *t,
                                      const struct expression_instruction *i, struct value_set *top)
{
    switch (i->operation) {
    case EXPRESSION_COMPARE:
        top[-1] = truth_set(comparison_truths(t, &top[-1], top, i->argument));
        return;
    case EXPRESSION_BETWEEN:
        top[-2] = truth_set(and_truths(
            comparison_truths(t, &top[-2], &top[-1], EXPRESSION_GREATER | EXPRESSION_EQUAL),
            comparison_truths(t, &top[-2], top, EXPRESSION_LESS | EXPRESSION_EQUAL)));
        return;
    case EXPRESSION_IN_BEGIN: top[1] = truth_set(MAY_BE_FALSE); return;
    case EXPRESSION_IN: {
        const struct value_set constant = constant_value(&i->constant);
        *top = truth_set(or_truths(possible_truths_of_set(top),
                                   comparison_truths(t, &top[-1], &constant, EXPRESSION_EQUAL)));
        return;
    }
    case EXPRESSION_IN_END: top[-1] = *top; return;
    case EXPRESSION_LIKE: top[-1] = truth_set(ANY_TRUTH); return;
    case EXPRESSION_IS_NULL:
        *top = truth_set((uint8_t)((set_may_be_null(top) ? MAY_BE_TRUE : 0) |
                                   (set_may_have_values(top) ? MAY_BE_FALSE : 0)));
        return;
    case EXPRESSION_NOT: *top = truth_set(not_truths(possible_truths_of_set(top))); return;
    case EXPRESSION_AND:
        top[-1] =
            truth_set(and_truths(possible_truths_of_set(&top[-1]), possible_truths_of_set(top)));
        return;
    case EXPRESSION_OR:
        top[-1] =
            truth_set(or_truths(possible_truths_of_set(&top[-1]), possible_truths_of_set(top)));
        return;
    default: { /* NEGATE, CALCULATE: the result may be out of range, or a division by 0 */
        struct value_set *out = i->operation == EXPRESSION_NEGATE ? top : &top[-1];
        *out = (struct value_set){
            .type = EXPRESSION_NUMBER, .column = EXPRESSION_NO_COLUMN, .null = true, .value = true};
        t->may_be_bad |= i->operation == EXPRESSION_CALCULATE;
    }
    }
}

/* Whether the right side of AND and OR is evaluated for no row. */
static bool is_right_side_skipped(const struct expression_instruction *i,
                                  const struct value_set *top)
{
    return possible_truths_of_set(top) ==
           (i->operation == EXPRESSION_OR_SKIP ? MAY_BE_TRUE : MAY_BE_FALSE);
}

int expression_may_be_true(const struct expression *e, const uint32_t *columns,
                           const struct glint_row_group *group)
{
    struct value_set stack[EXPRESSION_DEPTH_MAX + 1], *top = stack; /* the first is not used */
    struct row_group_test t = {.group = group};
    for (uint32_t at = 0; at < e->count && t.failed == 0;) {
        const struct expression_instruction *const i = &e->code[at++];
        const struct expression_effect effect = expression_effects[i->operation];
        assert(top >= stack + effect.takes);
        if (i->operation == EXPRESSION_PUSH) {
            *++top = constant_value(&i->constant);
        } else if (i->operation == EXPRESSION_COLUMN) {
            top++;
            *top = values_of_column_in_group(&t, e, i, columns);
        } else if (i->operation == EXPRESSION_AND_SKIP || i->operation == EXPRESSION_OR_SKIP) {
            if (is_right_side_skipped(i, top)) at = i->argument;
        } else {
            apply_instruction_to_sets(&t, i, top);
            top += effect.leaves - effect.takes;
        }
        /* Bad rows of a side that is perhaps not evaluated count: then the group is read. */
        if (t.may_be_bad) return 1;
    }
    if (t.failed != 0) return t.failed;
    assert(top == stack + 1);
    return (possible_truths_of_set(top) & MAY_BE_TRUE) != 0;
}

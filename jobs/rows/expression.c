/* Evaluates expressions: see expression.h. A stack machine: no recursion, no allocation. */
#include "jobs/rows/expression.h"

#include "jobs/rows/arithmetic.h"
#include "jobs/rows/nulls.h"

#include <assert.h>
#include <strings.h>

const struct expression_effect expression_effects[EXPRESSION_OPERATIONS] = {
    [EXPRESSION_PUSH] = {0, 1},      [EXPRESSION_COLUMN] = {0, 1},   [EXPRESSION_COMPARE] = {2, 1},
    [EXPRESSION_BETWEEN] = {3, 1},   [EXPRESSION_IN_BEGIN] = {1, 2}, [EXPRESSION_IN] = {2, 2},
    [EXPRESSION_IN_END] = {2, 1},    [EXPRESSION_LIKE] = {2, 1},     [EXPRESSION_IS_NULL] = {1, 1},
    [EXPRESSION_NOT] = {1, 1},       [EXPRESSION_AND] = {2, 1},      [EXPRESSION_OR] = {2, 1},
    [EXPRESSION_AND_SKIP] = {1, 1},  [EXPRESSION_OR_SKIP] = {1, 1},  [EXPRESSION_NEGATE] = {1, 1},
    [EXPRESSION_CALCULATE] = {2, 1},
};

/* ---- Values */

static bool equals_word_any_case(struct glint_slice text, const char *word)
{
    return text.size == strlen(word) && strncasecmp((const char *)text.data, word, text.size) == 0;
}

bool expression_parse_value(enum expression_type type, struct glint_slice text,
                            struct expression_value *out)
{
    out->type = type;
    if (type == EXPRESSION_TEXT) {
        out->text = text;
        return true;
    }
    if (type == EXPRESSION_NULL || text.size == 0) {
        out->type = EXPRESSION_NULL;
        return true;
    }
    if (type == EXPRESSION_NUMBER) return number_parse(text, &out->number);
    if (expression_is_float(type)) {
        const uint32_t bits = type == EXPRESSION_DOUBLE ? 64 : type == EXPRESSION_FLOAT ? 32 : 16;
        out->type = EXPRESSION_NUMBER;
        return number_parse_float(text, bits, &out->number);
    }
    if (type == EXPRESSION_TIME) return timestamp_parse(text, &out->time);
    if (type == EXPRESSION_TIME_OF_DAY) return timestamp_parse_time_of_day(text, &out->time);
    assert(type == EXPRESSION_BOOLEAN);
    out->boolean = equals_word_any_case(text, "true");
    return out->boolean || equals_word_any_case(text, "false");
}

static const char *expression_value_problem(enum expression_type type, struct glint_slice field)
{
    if (type == EXPRESSION_NUMBER || expression_is_float(type)) return number_problem(field);
    if (type == EXPRESSION_TIME_OF_DAY)
        return "a column that is compared with a time of day has none, such as 12:00:00";
    return type == EXPRESSION_TIME ? "a column that is compared with a time has no ISO 8601 time"
                                   : "a condition is neither true nor false";
}

static struct expression_value boolean_value(bool value)
{
    return (struct expression_value){.type = EXPRESSION_BOOLEAN, .boolean = value};
}

static const struct expression_value null_value = {.type = EXPRESSION_NULL};

static bool is_boolean(const struct expression_value *v, bool value)
{
    return v->type == EXPRESSION_BOOLEAN && v->boolean == value;
}

static int compare_texts(struct glint_slice a, struct glint_slice b)
{
    const uint64_t size = a.size < b.size ? a.size : b.size;
    const int r = size > 0 ? memcmp(a.data, b.data, size) : 0;
    return r != 0 ? r : (a.size > b.size) - (a.size < b.size);
}

uint32_t expression_compare(const struct expression_value *a, const struct expression_value *b)
{
    int r = 0;
    if (a->type != b->type) return 0;
    switch (a->type) {
    case EXPRESSION_BOOLEAN: r = (int)a->boolean - (int)b->boolean; break;
    case EXPRESSION_TEXT: r = compare_texts(a->text, b->text); break;
    case EXPRESSION_NUMBER: r = number_compare_values(&a->number, &b->number); break;
    case EXPRESSION_TIME:
    case EXPRESSION_TIME_OF_DAY: r = timestamp_compare(&a->time, &b->time); break;
    default: return 0;
    }
    return r < 0 ? EXPRESSION_LESS : r > 0 ? EXPRESSION_GREATER : EXPRESSION_EQUAL;
}

static struct expression_value comparison_value(const struct expression_value *a,
                                                const struct expression_value *b, uint32_t orders)
{
    const uint32_t order = expression_compare(a, b);
    return order == 0 ? null_value : boolean_value((order & orders) != 0);
}

static struct expression_value logical_and_value(const struct expression_value *a,
                                                 const struct expression_value *b)
{
    if (is_boolean(a, false) || is_boolean(b, false)) return boolean_value(false);
    return is_boolean(a, true) && is_boolean(b, true) ? boolean_value(true) : null_value;
}

static struct expression_value logical_or_value(const struct expression_value *a,
                                                const struct expression_value *b)
{
    if (is_boolean(a, true) || is_boolean(b, true)) return boolean_value(true);
    return is_boolean(a, false) && is_boolean(b, false) ? boolean_value(false) : null_value;
}

/* ---- LIKE: % is any text, _ one character of UTF-8 */

/* With the bytes that continue it, in UTF-8 of any validity. */
static uint64_t utf8_character_size(struct glint_slice text, uint64_t at)
{
    uint64_t size = 1;
    while (at + size < text.size && (text.data[at + size] & 0xc0) == 0x80) size++;
    return size;
}

/* After a mismatch the last % takes one character more: earlier ones never need to. */
static bool matches_like(struct glint_slice text, struct glint_slice pattern)
{
    uint64_t at = 0, in_pattern = 0, retry_at = 0, retry_pattern = UINT64_MAX;
    while (at < text.size) {
        const bool more = in_pattern < pattern.size;
        if (more && pattern.data[in_pattern] == '%') {
            retry_pattern = ++in_pattern;
            retry_at = at;
        } else if (more && pattern.data[in_pattern] == '_') {
            in_pattern++;
            at += utf8_character_size(text, at);
        } else if (more && pattern.data[in_pattern] == text.data[at]) {
            in_pattern++;
            at++;
        } else if (retry_pattern != UINT64_MAX) {
            in_pattern = retry_pattern;
            retry_at += utf8_character_size(text, retry_at);
            at = retry_at;
        } else {
            return false;
        }
    }
    while (in_pattern < pattern.size && pattern.data[in_pattern] == '%') in_pattern++;
    return in_pattern == pattern.size;
}

static struct expression_value like_value(const struct expression_value *text,
                                          const struct expression_value *pattern)
{
    if (text->type != EXPRESSION_TEXT || pattern->type != EXPRESSION_TEXT) return null_value;
    return boolean_value(matches_like(text->text, pattern->text));
}

/* ---- Instructions */

static bool argument_is_valid(const struct expression_instruction *i, uint32_t columns)
{
    switch (i->operation) {
    case EXPRESSION_COLUMN:
        return i->argument < columns && i->type > EXPRESSION_NULL && i->type < EXPRESSION_ANY;
    case EXPRESSION_COMPARE: return i->argument >= 1 && i->argument <= 6;
    case EXPRESSION_CALCULATE: return i->argument < ARITHMETIC_COUNT;
    default: return true;
    }
}

/* Reads one instruction at *at. */
static bool decode_expression_instruction(struct glint_slice bytes, uint64_t *at, uint32_t columns,
                                          struct expression_instruction *out)
{
    uint32_t argument, size;
    if (bytes.size - *at < EXPRESSION_HEAD_BYTES) return false;
    const uint8_t *const head = bytes.data + *at;
    memcpy(&argument, head + 2, sizeof argument);
    memcpy(&size, head + 6, sizeof size);
    const struct glint_slice text = {head + EXPRESSION_HEAD_BYTES, size};
    *at += EXPRESSION_HEAD_BYTES;
    *out = (struct expression_instruction){head[0], head[1], argument, null_value};
    if (bytes.size - *at < text.size) return false;
    *at += text.size;
    if (out->operation >= EXPRESSION_OPERATIONS || !argument_is_valid(out, columns)) return false;
    if (out->operation != EXPRESSION_PUSH && out->operation != EXPRESSION_IN) return text.size == 0;
    return out->type < EXPRESSION_ANY && expression_parse_value(out->type, text, &out->constant);
}

static bool is_skip_instruction(const struct expression_instruction *i)
{
    return i->operation == EXPRESSION_AND_SKIP || i->operation == EXPRESSION_OR_SKIP;
}

uint32_t expression_decode(struct glint_slice bytes, uint32_t columns,
                           struct expression_instruction *code, uint32_t capacity)
{
    uint8_t depth[EXPRESSION_CODE_MAX + 1]; /* of the stack before each instruction */
    uint32_t count = 0;
    depth[0] = 0;
    for (uint64_t at = 0; at < bytes.size; count++) {
        if (count == capacity || count == EXPRESSION_CODE_MAX ||
            !decode_expression_instruction(bytes, &at, columns, &code[count]))
            return 0;
        const struct expression_effect effect = expression_effects[code[count].operation];
        if (depth[count] < effect.takes) return 0;
        const int after = depth[count] - effect.takes + effect.leaves;
        if (after > EXPRESSION_DEPTH_MAX) return 0;
        depth[count + 1] = (uint8_t)after;
    }
    for (uint32_t i = 0; i < count; i++)
        if (is_skip_instruction(&code[i]) && (code[i].argument <= i || code[i].argument > count ||
                                              depth[code[i].argument] != depth[i]))
            return 0;
    return count > 0 && depth[count] == 1 ? count : 0;
}

/* ---- Evaluation */

static bool load_column_value(const struct expression *e, const struct expression_instruction *i,
                              const struct glint_slice *fields, struct expression_value *out,
                              struct expression_problem *problem)
{
    const struct glint_slice field = fields[i->argument];
    if (e->null.data != NULL ? nulls_is(e->null, field) : field.data == NULL) {
        out->type = EXPRESSION_NULL;
        return true;
    }
    if (expression_parse_value(i->type, field, out)) return true;
    *problem = (struct expression_problem){expression_value_problem(i->type, field), i->argument};
    return false;
}

static bool calculate_numbers(enum arithmetic operation, struct expression_value *a,
                              const struct expression_value *b, struct expression_problem *problem)
{
    struct number result;
    if (a->type != EXPRESSION_NUMBER || b->type != EXPRESSION_NUMBER) {
        a->type = EXPRESSION_NULL;
        return true;
    }
    problem->reason = number_calculate(operation, &a->number, &b->number, &result);
    problem->column = EXPRESSION_NO_COLUMN;
    a->number = result;
    return problem->reason == NULL;
}

/* Operations on values of the stack, of which `top` is the last one. */
static bool apply_instruction(const struct expression_instruction *i, struct expression_value *top,
                              struct expression_problem *problem)
{
    switch (i->operation) {
    case EXPRESSION_COMPARE: top[-1] = comparison_value(&top[-1], top, i->argument); return true;
    case EXPRESSION_BETWEEN: {
        const struct expression_value least =
            comparison_value(&top[-2], &top[-1], EXPRESSION_GREATER | EXPRESSION_EQUAL);
        const struct expression_value greatest =
            comparison_value(&top[-2], top, EXPRESSION_LESS | EXPRESSION_EQUAL);
        top[-2] = logical_and_value(&least, &greatest);
        return true;
    }
    case EXPRESSION_IN_BEGIN: top[1] = boolean_value(false); return true;
    case EXPRESSION_IN: {
        const struct expression_value is =
            comparison_value(&top[-1], &i->constant, EXPRESSION_EQUAL);
        *top = logical_or_value(top, &is);
        return true;
    }
    case EXPRESSION_IN_END: top[-1] = *top; return true;
    case EXPRESSION_LIKE: top[-1] = like_value(&top[-1], top); return true;
    case EXPRESSION_IS_NULL: *top = boolean_value(top->type == EXPRESSION_NULL); return true;
    case EXPRESSION_NOT:
        *top = top->type == EXPRESSION_BOOLEAN ? boolean_value(!top->boolean) : null_value;
        return true;
    case EXPRESSION_AND: top[-1] = logical_and_value(&top[-1], top); return true;
    case EXPRESSION_OR: top[-1] = logical_or_value(&top[-1], top); return true;
    case EXPRESSION_NEGATE:
        if (top->type == EXPRESSION_NUMBER)
            top->number = number_negate(top->number);
        else
            top->type = EXPRESSION_NULL;
        return true;
    default:
        assert(i->operation == EXPRESSION_CALCULATE);
        return calculate_numbers((enum arithmetic)i->argument, &top[-1], top, problem);
    }
}

bool expression_evaluate(const struct expression *e, const struct glint_slice *fields,
                         struct expression_value *out, struct expression_problem *problem)
{
    struct expression_value stack[EXPRESSION_DEPTH_MAX + 1];
    struct expression_value *top = stack; /* its first item is not used */
    for (uint32_t at = 0; at < e->count;) {
        const struct expression_instruction *const i = &e->code[at++];
        const struct expression_effect effect = expression_effects[i->operation];
        assert(top >= stack + effect.takes);
        assert(top - effect.takes + effect.leaves <= stack + EXPRESSION_DEPTH_MAX);
        if (i->operation == EXPRESSION_PUSH) {
            *++top = i->constant;
        } else if (i->operation == EXPRESSION_COLUMN) {
            if (!load_column_value(e, i, fields, ++top, problem)) return false;
        } else if (is_skip_instruction(i)) {
            if (is_boolean(top, i->operation == EXPRESSION_OR_SKIP)) at = i->argument;
        } else {
            if (!apply_instruction(i, top, problem)) return false;
            top += effect.leaves - effect.takes;
        }
    }
    assert(top == stack + 1);
    *out = *top;
    return true;
}

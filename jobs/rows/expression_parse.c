/* Compiles expressions: see expression.h.
 *
 *     or:         and { OR and }
 *     and:        not { AND not }
 *     not:        NOT not | predicate
 *     predicate:  sum [ comparison sum | [NOT] BETWEEN sum AND sum | [NOT] IN ( literal, ... )
 *                     | [NOT] LIKE sum | IS [NOT] NULL ]
 *     sum:        product { + - product }
 *     product:    sign { * / % sign }
 *     sign:       - sign | + sign | ( or ) | column | literal
 *
 * One pass: an instruction is written when its operands are. The type of a field of text is not
 * known then; the instruction that loads it gets its type when something decides it. Recursion is
 * bounded by EXPRESSION_DEPTH_MAX. */
#include "jobs/rows/expression.h"

#include "engine/base/text.h"
#include "jobs/rows/arithmetic.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

/* ---- Errors */

void expression_fail(struct expression_source *s, const char *problem, ...)
{
    va_list list;
    if (s->failed != 0) return;
    va_start(list, problem);
    vsnprintf(s->problem, sizeof s->problem, problem, list);
    va_end(list);
    s->failed = GLINT_E_BAD_VALUE;
    s->problem_at = s->token.start;
}

void expression_hint(const struct expression_source *s, char *out, size_t capacity)
{
    enum { AROUND = 60 };
    const uint64_t from = s->problem_at > AROUND ? s->problem_at - AROUND : 0;
    const uint64_t left = s->text.size - s->problem_at;
    const char *const text = (const char *)s->text.data;
    text_format(out, capacity, "the place is marked by ^: %s%.*s^%.*s%s", from > 0 ? "..." : "",
                (int)(s->problem_at - from), text + from, (int)(left < AROUND ? left : AROUND),
                text + s->problem_at, left > AROUND ? "..." : "");
    text_make_printable(out);
}

/* ---- Tokens */

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Bytes of UTF-8 are letters. */
static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

/* The byte at `at`; 0 after the end. */
static uint8_t source_byte_at(const struct expression_source *s, uint64_t at)
{
    return at < s->text.size ? s->text.data[at] : 0;
}

static uint64_t skip_digits(const struct expression_source *s, uint64_t at)
{
    while (is_digit(source_byte_at(s, at))) at++;
    return at;
}

/* From the first letter on: letters and digits, then parts of a path. */
static uint64_t skip_name_token(const struct expression_source *s, uint64_t at)
{
    for (;;) {
        const uint8_t c = source_byte_at(s, at), next = source_byte_at(s, at + 1);
        const uint64_t index_end = c == '[' ? skip_digits(s, at + 1) : at;
        if (is_letter(c) || is_digit(c))
            at++;
        else if (c == '.' && is_letter(next))
            at += 2;
        else if (c == '[' && index_end > at + 1 && source_byte_at(s, index_end) == ']')
            at = index_end + 1;
        else
            return at;
    }
}

static uint64_t skip_number_token(const struct expression_source *s, uint64_t at)
{
    at = skip_digits(s, at);
    if (source_byte_at(s, at) == '.') at = skip_digits(s, at + 1);
    if (source_byte_at(s, at) != 'e' && source_byte_at(s, at) != 'E') return at;
    at++;
    if (source_byte_at(s, at) == '+' || source_byte_at(s, at) == '-') at++;
    return skip_digits(s, at);
}

static void set_current_token(struct expression_source *s, enum expression_token_kind kind,
                              uint64_t from, uint64_t to, uint64_t at)
{
    s->token.kind = kind;
    s->token.text = (struct glint_slice){s->text.data + from, to - from};
    s->at = at;
}

/* A text or a name in quotes, which may contain doubled ones. */
static void read_quoted_token(struct expression_source *s, uint8_t quote)
{
    const uint64_t from = s->token.start + 1;
    uint64_t at = from;
    for (; at < s->text.size; at++) {
        if (s->text.data[at] != quote) continue;
        if (source_byte_at(s, at + 1) != quote) break;
        at++;
    }
    if (at >= s->text.size)
        expression_fail(s, "a %s has no closing quote", quote == '"' ? "name" : "text");
    else
        set_current_token(s, quote == '"' ? EXPRESSION_TOKEN_QUOTED : EXPRESSION_TOKEN_TEXT, from,
                          at, at + 1);
}

static void read_number_token(struct expression_source *s)
{
    const uint64_t from = s->token.start, to = skip_number_token(s, from);
    struct number n;
    set_current_token(s, EXPRESSION_TOKEN_NUMBER, from, to, to);
    if (is_letter(source_byte_at(s, to)) || !number_parse(s->token.text, &n))
        expression_fail(s, "a number is expected here; a name that begins with a digit is in "
                           "double quotes");
}

static void read_symbol_token(struct expression_source *s)
{
    static const char *const symbols[] = {"==", "!=", "<>", "<=", ">=", "=", "<", ">",
                                          "+",  "-",  "*",  "/",  "%",  "(", ")", ","};
    const uint64_t from = s->token.start, left = s->text.size - from;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        const size_t size = strlen(symbols[i]);
        if (size > left || memcmp(s->text.data + from, symbols[i], size) != 0) continue;
        set_current_token(s, EXPRESSION_TOKEN_SYMBOL, from, from + size, from + size);
        return;
    }
    expression_fail(s, "this character has no meaning here");
}

void expression_next_token(struct expression_source *s)
{
    while (glint_is_one_of(source_byte_at(s, s->at), " \t\r\n")) s->at++;
    const uint64_t from = s->at;
    const uint8_t c = source_byte_at(s, from), next = source_byte_at(s, from + 1);
    s->token = (struct expression_token){.kind = EXPRESSION_TOKEN_END, .start = from};
    if (from == s->text.size || s->failed != 0) return;
    if (c == '\'' || c == '"')
        read_quoted_token(s, c);
    else if (c == '$' && is_digit(next))
        set_current_token(s, EXPRESSION_TOKEN_POSITION, from + 1, skip_digits(s, from + 1),
                          skip_digits(s, from + 1));
    else if (is_letter(c) || (c == '$' && (next == '.' || next == '['))) {
        const uint64_t to = skip_name_token(s, c == '$' ? from + 1 : from);
        set_current_token(s, EXPRESSION_TOKEN_NAME, from, to, to);
    } else if (is_digit(c) || (c == '.' && is_digit(next)))
        read_number_token(s);
    else
        read_symbol_token(s);
}

bool expression_token_is(const struct expression_source *s, const char *word)
{
    const struct expression_token *t = &s->token;
    return (t->kind == EXPRESSION_TOKEN_NAME || t->kind == EXPRESSION_TOKEN_SYMBOL) &&
           t->text.size == strlen(word) &&
           strncasecmp((const char *)t->text.data, word, t->text.size) == 0;
}

/* Passes the keyword or symbol if it is the next token. */
static bool accept_token(struct expression_source *s, const char *word)
{
    if (s->failed != 0 || !expression_token_is(s, word)) return false;
    expression_next_token(s);
    return true;
}

static void expect_token(struct expression_source *s, const char *word)
{
    if (!accept_token(s, word)) expression_fail(s, "%s is expected here", word);
}

static bool is_reserved(const struct expression_source *s)
{
    static const char *const words[] = {"AND",  "OR",   "NOT",   "IN",   "IS", "BETWEEN",
                                        "LIKE", "TRUE", "FALSE", "NULL", "AS"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (expression_token_is(s, words[i])) return true;
    return false;
}

/* ---- Instructions */

/* A value that has been compiled. */
struct operand {
    enum expression_type type;
    uint64_t load; /* offset of the instruction, if it is one that loads a field or constant */
    enum expression_type declared; /* of a field: what its source says it is */
    struct glint_slice text;       /* of a literal in quotes */
    uint64_t literal; /* offset of the instruction of a literal, also after a sign; or NO_LOAD */
};
#define NO_LOAD UINT64_MAX

/* Appends an instruction; returns its offset. */
static uint64_t put_instruction(struct expression_source *s, enum expression_operation operation,
                                enum expression_type type, uint32_t argument)
{
    const struct expression_effect effect = expression_effects[operation];
    uint8_t head[EXPRESSION_HEAD_BYTES] = {(uint8_t)operation, (uint8_t)type};
    const uint64_t offset = s->code_size;
    if (s->failed != 0) return offset;
    assert(s->depth >= effect.takes);
    s->depth = s->depth - effect.takes + effect.leaves;
    memcpy(head + 2, &argument, sizeof argument);
    if (++s->count > EXPRESSION_CODE_MAX)
        expression_fail(s, "the expression has more than %d operations", EXPRESSION_CODE_MAX);
    else if (s->depth > EXPRESSION_DEPTH_MAX)
        expression_fail(s, "the expression is nested more than %d times", EXPRESSION_DEPTH_MAX);
    else {
        memcpy(s->code + offset, head, sizeof head);
        s->code_size += sizeof head;
    }
    assert(s->code_size <= EXPRESSION_CODE_BYTES(s->text.size));
    return offset;
}

/* Appends to the text of the last instruction; of doubled quotes one. */
static void put_instruction_text(struct expression_source *s, uint64_t offset,
                                 struct glint_slice text, bool quoted)
{
    if (s->failed != 0) return;
    for (uint64_t i = 0; i < text.size; i++) {
        if (quoted && text.data[i] == '\'') i++;
        s->code[s->code_size++] = text.data[i];
    }
    const uint32_t size = (uint32_t)(s->code_size - offset - EXPRESSION_HEAD_BYTES);
    assert(s->code_size <= EXPRESSION_CODE_BYTES(s->text.size));
    memcpy(s->code + offset + 6, &size, sizeof size);
}

/* An instruction skips to the one that comes next. */
static void set_skip_target(struct expression_source *s, uint64_t offset)
{
    const uint32_t target = s->count - s->first;
    if (s->failed == 0) memcpy(s->code + offset + 2, &target, sizeof target);
}

/* ---- Types */

static const char *expression_type_name(enum expression_type type)
{
    static const char *const names[] = {"null",     "a condition", "a text",
                                        "a number", "a time",      "a time of day",
                                        "a number", "a number",    "a number"};
    return type < EXPRESSION_ANY ? names[type] : "a column";
}

/* Decides what a field is; null decides nothing. */
static void decide_operand_type(struct expression_source *s, struct operand *o,
                                enum expression_type type)
{
    if (o->type != EXPRESSION_ANY || type == EXPRESSION_ANY || type == EXPRESSION_NULL) return;
    if (s->failed != 0) return;
    assert(o->load != NO_LOAD);
    s->code[o->load + 1] = (uint8_t)type;
    o->type = expression_is_float(type) ? EXPRESSION_NUMBER : type;
}

static void fail_operand_type(struct expression_source *s, const struct operand *o,
                              enum expression_type type, const char *what)
{
    const enum expression_type has = o->type != EXPRESSION_ANY ? o->type : o->declared;
    expression_fail(s, "%s needs %s, and has %s", what, expression_type_name(type),
                    expression_type_name(has));
}

/* Any field may be a text. */
static void require_operand_type(struct expression_source *s, struct operand *o,
                                 enum expression_type type, const char *what)
{
    if (type != EXPRESSION_TEXT) decide_operand_type(s, o, o->declared);
    decide_operand_type(s, o, type);
    if (o->type != type && o->type != EXPRESSION_NULL) fail_operand_type(s, o, type, what);
}

/* A text in quotes beside a number, a time or a truth value is one, too, if it can be: day >=
 * '2026-01-31'. */
static void convert_literal(struct expression_source *s, struct operand *o,
                            enum expression_type type)
{
    struct expression_value value;
    if (s->failed != 0 || o->text.data == NULL || type == o->type || type == EXPRESSION_NULL ||
        o->text.size == 0 || !expression_parse_value(type, o->text, &value))
        return;
    if (o->load != NO_LOAD) s->code[o->load + 1] = (uint8_t)type;
    o->type = type;
}

/* Gives two values one type. */
static void unify_operand_types(struct expression_source *s, struct operand *a, struct operand *b)
{
    decide_operand_type(s, a, a->declared);
    decide_operand_type(s, b, b->declared);
    if (a->declared != EXPRESSION_ANY) convert_literal(s, b, a->type);
    if (b->declared != EXPRESSION_ANY) convert_literal(s, a, b->type);
    decide_operand_type(s, a, b->type);
    decide_operand_type(s, b, a->type);
    if (a->type == EXPRESSION_ANY && b->type == EXPRESSION_ANY)
        decide_operand_type(s, a, EXPRESSION_TEXT);
    decide_operand_type(s, b, a->type);
    if (a->type == b->type || a->type == EXPRESSION_NULL || b->type == EXPRESSION_NULL) return;
    assert(s->failed != 0 || (a->type != EXPRESSION_ANY && b->type != EXPRESSION_ANY));
    expression_fail(s, "%s cannot be compared with %s", expression_type_name(a->type),
                    expression_type_name(b->type));
}

/* A literal beside a column of small floats is rounded to their size, as in DuckDB and Polars: 0.1
 * finds the float that is written so. */
static void round_literal_beside_float(struct expression_source *s, const struct operand *column,
                                       const struct operand *literal)
{
    const enum expression_type type = column->declared;
    if (s->failed == 0 && literal->literal != NO_LOAD && literal->type == EXPRESSION_NUMBER &&
        (type == EXPRESSION_FLOAT || type == EXPRESSION_HALF))
        s->code[literal->literal + 1] = (uint8_t)type;
}

/* ---- Literals */

/* Reads the text after DATE, TIME or TIMESTAMP. */
static enum expression_type read_time_literal(struct expression_source *s,
                                              const struct expression_token *first,
                                              struct glint_slice *out_text)
{
    struct timestamp value;
    *out_text = s->token.text;
    if (first->text.size == strlen("DATE") && (first->text.data[0] | 0x20) == 'd') {
        if (!timestamp_parse_date(*out_text, &value)) expression_fail(s, "a date is YYYY-MM-DD");
    } else if (first->text.size == strlen("TIME")) {
        if (!timestamp_parse_time_of_day(*out_text, &value))
            expression_fail(s, "a time of day is HH:MM:SS, with a fraction");
        return EXPRESSION_TIME_OF_DAY;
    } else if (!timestamp_parse(*out_text, &value)) {
        expression_fail(s, "a timestamp is YYYY-MM-DD HH:MM:SS, with a fraction, Z or an offset");
    }
    return EXPRESSION_TIME;
}

/* NUMBER, TEXT, DATE '...', TIME '...', TIMESTAMP '...', TRUE, FALSE, NULL. Sets *out_text to what
 * the constant is in instructions. Returns false, and reads nothing, if the next token is no
 * literal. */
static bool read_literal(struct expression_source *s, enum expression_type *out_type,
                         struct glint_slice *out_text)
{
    const struct expression_token first = s->token;
    *out_text = first.text;
    if (first.kind == EXPRESSION_TOKEN_NUMBER)
        *out_type = EXPRESSION_NUMBER;
    else if (first.kind == EXPRESSION_TOKEN_TEXT)
        *out_type = EXPRESSION_TEXT;
    else if (expression_token_is(s, "TRUE") || expression_token_is(s, "FALSE"))
        *out_type = EXPRESSION_BOOLEAN;
    else if (expression_token_is(s, "NULL"))
        *out_type = EXPRESSION_NULL;
    else if (expression_token_is(s, "DATE") || expression_token_is(s, "TIME") ||
             expression_token_is(s, "TIMESTAMP")) {
        const uint64_t at = s->at;
        expression_next_token(s);
        if (s->token.kind != EXPRESSION_TOKEN_TEXT) { /* a column of this name */
            if (s->failed != 0) return false;
            s->token = first;
            s->at = at;
            return false;
        }
        *out_type = read_time_literal(s, &first, out_text);
    } else
        return false;
    if (*out_type == EXPRESSION_NULL) *out_text = (struct glint_slice){(const uint8_t *)"", 0};
    expression_next_token(s);
    return true;
}

/* ---- The grammar: each function compiles its rule */

static struct operand parse_or(struct expression_source *s);

static struct operand parse_column(struct expression_source *s)
{
    struct operand o = {EXPRESSION_ANY, NO_LOAD, EXPRESSION_ANY, {NULL, 0}, NO_LOAD};
    const struct expression_token t = s->token;
    uint32_t number = 0;
    if (t.kind == EXPRESSION_TOKEN_END) {
        expression_fail(s, "a column or a value is expected, and the expression ends");
        return o;
    }
    if (t.kind < EXPRESSION_TOKEN_NAME || t.kind > EXPRESSION_TOKEN_POSITION || is_reserved(s)) {
        expression_fail(s, "a column or a value is expected here");
        return o;
    }
    const enum expression_name kind = t.kind == EXPRESSION_TOKEN_NAME     ? EXPRESSION_PLAIN
                                      : t.kind == EXPRESSION_TOKEN_QUOTED ? EXPRESSION_QUOTED
                                                                          : EXPRESSION_POSITION;
    s->failed = s->column(s->arg, kind, t.text, &number, &o.declared);
    s->problem_at = t.start;
    o.load = put_instruction(s, EXPRESSION_COLUMN, EXPRESSION_TEXT, number);
    expression_next_token(s);
    return o;
}

/* A value that no field or literal is. */
static struct operand make_operand(enum expression_type type)
{
    return (struct operand){type, NO_LOAD, EXPRESSION_ANY, {NULL, 0}, NO_LOAD};
}

static struct operand parse_sign(struct expression_source *s)
{
    struct operand o = make_operand(EXPRESSION_NULL);
    enum expression_type type = EXPRESSION_NULL;
    struct glint_slice text;
    if (++s->nesting > EXPRESSION_DEPTH_MAX)
        expression_fail(s, "the expression is nested more than %d times", EXPRESSION_DEPTH_MAX);
    if (s->failed != 0) {
        o.type = EXPRESSION_NULL;
    } else if (accept_token(s, "-")) {
        o = parse_sign(s);
        require_operand_type(s, &o, EXPRESSION_NUMBER, "-");
        put_instruction(s, EXPRESSION_NEGATE, EXPRESSION_NULL, 0);
        const uint64_t literal = o.literal;
        o = make_operand(EXPRESSION_NUMBER);
        o.literal = literal;
    } else if (accept_token(s, "+")) {
        o = parse_sign(s);
        require_operand_type(s, &o, EXPRESSION_NUMBER, "+");
    } else if (accept_token(s, "(")) {
        o = parse_or(s);
        expect_token(s, ")");
    } else if (read_literal(s, &type, &text)) {
        const bool quoted = type == EXPRESSION_TEXT;
        o.type = type;
        o.load = o.literal = put_instruction(s, EXPRESSION_PUSH, type, 0);
        if (quoted) o.text = text;
        put_instruction_text(s, o.load, text, quoted);
    } else {
        o = parse_column(s);
    }
    s->nesting--;
    return o;
}

/* left OPERATOR right, both numbers. */
static struct operand put_arithmetic(struct expression_source *s, enum arithmetic operation,
                                     struct operand *left, struct operand *right)
{
    static const char *const names[ARITHMETIC_COUNT] = {"+", "-", "*", "/", "%"};
    require_operand_type(s, left, EXPRESSION_NUMBER, names[operation]);
    require_operand_type(s, right, EXPRESSION_NUMBER, names[operation]);
    put_instruction(s, EXPRESSION_CALCULATE, EXPRESSION_NULL, operation);
    return make_operand(EXPRESSION_NUMBER);
}

static struct operand parse_product(struct expression_source *s)
{
    struct operand left = parse_sign(s);
    for (;;) {
        const enum arithmetic operation = accept_token(s, "*")   ? ARITHMETIC_MULTIPLY
                                          : accept_token(s, "/") ? ARITHMETIC_DIVIDE
                                          : accept_token(s, "%") ? ARITHMETIC_REMAINDER
                                                                 : ARITHMETIC_COUNT;
        if (operation == ARITHMETIC_COUNT) return left;
        struct operand right = parse_sign(s);
        left = put_arithmetic(s, operation, &left, &right);
    }
}

static struct operand parse_sum(struct expression_source *s)
{
    struct operand left = parse_product(s);
    for (;;) {
        const enum arithmetic operation = accept_token(s, "+")   ? ARITHMETIC_ADD
                                          : accept_token(s, "-") ? ARITHMETIC_SUBTRACT
                                                                 : ARITHMETIC_COUNT;
        if (operation == ARITHMETIC_COUNT) return left;
        struct operand right = parse_product(s);
        left = put_arithmetic(s, operation, &left, &right);
    }
}

/* The bits of a comparison, which is passed; 0: there is none. */
static uint32_t accept_comparison_token(struct expression_source *s)
{
    static const struct {
        const char *symbol;
        uint32_t orders;
    } symbols[] = {{"=", EXPRESSION_EQUAL},
                   {"==", EXPRESSION_EQUAL},
                   {"!=", EXPRESSION_LESS | EXPRESSION_GREATER},
                   {"<>", EXPRESSION_LESS | EXPRESSION_GREATER},
                   {"<", EXPRESSION_LESS},
                   {"<=", EXPRESSION_LESS | EXPRESSION_EQUAL},
                   {">", EXPRESSION_GREATER},
                   {">=", EXPRESSION_GREATER | EXPRESSION_EQUAL}};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (accept_token(s, symbols[i].symbol)) return symbols[i].orders;
    return 0;
}

static void parse_between(struct expression_source *s, struct operand *value)
{
    struct operand least = parse_sum(s);
    expect_token(s, "AND");
    struct operand greatest = parse_sum(s);
    decide_operand_type(s, &greatest, greatest.declared);
    if (least.type == EXPRESSION_ANY && least.declared == EXPRESSION_ANY &&
        value->declared == EXPRESSION_ANY)
        decide_operand_type(s, value, greatest.type);
    unify_operand_types(s, value, &least);
    unify_operand_types(s, value, &greatest);
    round_literal_beside_float(s, value, &least);
    round_literal_beside_float(s, value, &greatest);
    put_instruction(s, EXPRESSION_BETWEEN, EXPRESSION_NULL, 0);
}

/* A list of literals. */
static void parse_in(struct expression_source *s, struct operand *value)
{
    expect_token(s, "(");
    put_instruction(s, EXPRESSION_IN_BEGIN, EXPRESSION_NULL, 0);
    do {
        struct glint_slice text = {NULL, 0};
        struct operand item = make_operand(EXPRESSION_NULL);
        const bool minus = accept_token(s, "-");
        if (s->failed == 0 &&
            (!read_literal(s, &item.type, &text) || (minus && item.type != EXPRESSION_NUMBER)))
            expression_fail(s, "IN has a list of literals: a value is expected here");
        if (item.type == EXPRESSION_TEXT) item.text = text;
        unify_operand_types(s, value, &item);
        const uint64_t offset = put_instruction(s, EXPRESSION_IN, item.type, 0);
        item.literal = offset;
        round_literal_beside_float(s, value, &item);
        if (minus)
            put_instruction_text(s, offset, (struct glint_slice){(const uint8_t *)"-", 1}, false);
        put_instruction_text(s, offset, text, item.text.data != NULL);
    } while (accept_token(s, ","));
    expect_token(s, ")");
    put_instruction(s, EXPRESSION_IN_END, EXPRESSION_NULL, 0);
}

/* IS [NOT] NULL, after IS. */
static void parse_is_null(struct expression_source *s, struct operand *value)
{
    const bool negated = accept_token(s, "NOT");
    expect_token(s, "NULL");
    decide_operand_type(s, value, EXPRESSION_TEXT);
    put_instruction(s, EXPRESSION_IS_NULL, EXPRESSION_NULL, 0);
    if (negated) put_instruction(s, EXPRESSION_NOT, EXPRESSION_NULL, 0);
}

static struct operand parse_predicate(struct expression_source *s)
{
    struct operand value = parse_sum(s);
    const uint32_t orders = accept_comparison_token(s);
    const bool negated = orders == 0 && accept_token(s, "NOT");
    if (orders != 0) {
        struct operand other = parse_sum(s);
        const bool fields = value.type == EXPRESSION_ANY && other.type == EXPRESSION_ANY;
        unify_operand_types(s, &value, &other);
        round_literal_beside_float(s, &value, &other);
        round_literal_beside_float(s, &other, &value);
        s->orders_texts |= fields && value.type == EXPRESSION_TEXT && orders != EXPRESSION_EQUAL &&
                           orders != (EXPRESSION_LESS | EXPRESSION_GREATER);
        put_instruction(s, EXPRESSION_COMPARE, EXPRESSION_NULL, orders);
    } else if (accept_token(s, "BETWEEN")) {
        parse_between(s, &value);
    } else if (accept_token(s, "IN")) {
        parse_in(s, &value);
    } else if (accept_token(s, "LIKE")) {
        struct operand pattern = parse_sum(s);
        require_operand_type(s, &value, EXPRESSION_TEXT, "LIKE");
        require_operand_type(s, &pattern, EXPRESSION_TEXT, "LIKE");
        put_instruction(s, EXPRESSION_LIKE, EXPRESSION_NULL, 0);
    } else if (negated) {
        expression_fail(s, "IN, BETWEEN or LIKE is expected after NOT");
    } else if (accept_token(s, "IS")) {
        parse_is_null(s, &value);
    } else {
        return value;
    }
    if (negated) put_instruction(s, EXPRESSION_NOT, EXPRESSION_NULL, 0);
    return make_operand(EXPRESSION_BOOLEAN);
}

static struct operand parse_not(struct expression_source *s)
{
    if (!accept_token(s, "NOT")) return parse_predicate(s);
    if (++s->nesting > EXPRESSION_DEPTH_MAX)
        expression_fail(s, "the expression is nested more than %d times", EXPRESSION_DEPTH_MAX);
    struct operand value = parse_not(s);
    s->nesting--;
    require_operand_type(s, &value, EXPRESSION_BOOLEAN, "NOT");
    put_instruction(s, EXPRESSION_NOT, EXPRESSION_NULL, 0);
    return make_operand(EXPRESSION_BOOLEAN);
}

/* Operands that `next` parses, with AND or OR between them, which skip the right one if the left
 * one tells the result. */
static struct operand parse_logical(struct expression_source *s, const char *name,
                                    struct operand (*next)(struct expression_source *s),
                                    enum expression_operation skips,
                                    enum expression_operation joins)
{
    struct operand left = next(s);
    while (accept_token(s, name)) {
        require_operand_type(s, &left, EXPRESSION_BOOLEAN, name);
        const uint64_t skip = put_instruction(s, skips, EXPRESSION_NULL, 0);
        struct operand right = next(s);
        require_operand_type(s, &right, EXPRESSION_BOOLEAN, name);
        put_instruction(s, joins, EXPRESSION_NULL, 0);
        set_skip_target(s, skip);
        left = make_operand(EXPRESSION_BOOLEAN);
    }
    return left;
}

static struct operand parse_and(struct expression_source *s)
{
    return parse_logical(s, "AND", parse_not, EXPRESSION_AND_SKIP, EXPRESSION_AND);
}

static struct operand parse_or(struct expression_source *s)
{
    return parse_logical(s, "OR", parse_and, EXPRESSION_OR_SKIP, EXPRESSION_OR);
}

/* ---- A source */

void expression_begin(struct expression_source *s)
{
    s->at = 0;
    s->count = s->nesting = 0;
    s->failed = 0;
    s->orders_texts = false;
    s->problem[0] = '\0';
    s->problem_at = 0;
    s->code_size = 0;
    expression_next_token(s);
}

enum expression_type expression_compile(struct expression_source *s, bool condition)
{
    s->code_size = 0;
    s->depth = 0;
    s->first = s->count;
    struct operand value = parse_or(s);
    if (condition) require_operand_type(s, &value, EXPRESSION_BOOLEAN, "this option");
    decide_operand_type(s, &value, EXPRESSION_TEXT);
    assert(s->failed != 0 || s->depth == 1);
    return value.type;
}

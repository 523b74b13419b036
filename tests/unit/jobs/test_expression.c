/* Expressions: values, null, types, what is no expression, and instructions that no parser made. */
#include "jobs/rows/expression.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *field;
    enum expression_type declared; /* ANY: the source does not know */
} row[] = {
    {"i", "10", EXPRESSION_ANY},
    {"d", "2.50", EXPRESSION_ANY},
    {"t", "it's", EXPRESSION_ANY},
    {"e", "", EXPRESSION_ANY},
    {"n", "\\N", EXPRESSION_ANY},
    {"day", "2026-01-31", EXPRESSION_ANY},
    {"time", "2026-01-31T23:59:59.5+01:00", EXPRESSION_ANY},
    {"f", "True", EXPRESSION_ANY},
    {"x", "1e3", EXPRESSION_ANY},
    {"max", "99999999999999999999999999999999999999", EXPRESSION_ANY},
    {"u", "\xc3\xa9t\xc3\xa9", EXPRESSION_ANY},
    {"bad", "1,5", EXPRESSION_ANY},
    {"odd \"name\"", "odd", EXPRESSION_ANY},
    {"a.b[0]", "path", EXPRESSION_ANY},
    {"nine", "9", EXPRESSION_NUMBER},
    {"ten", "10.0", EXPRESSION_NUMBER},
    {"when", "2026-01-31", EXPRESSION_TIME},
    {"yes", "true", EXPRESSION_BOOLEAN},
    {"at", "09:30:00", EXPRESSION_TIME_OF_DAY},
    {"nan", "NaN", EXPRESSION_NUMBER},
    {"low", "-inf", EXPRESSION_ANY},
    {"tenth", "0.1", EXPRESSION_DOUBLE},
    {"two53", "9007199254740992.0", EXPRESSION_DOUBLE},
    {"float", "1073741800.0", EXPRESSION_FLOAT},
    {"small", "0.1", EXPRESSION_FLOAT},
    {"half", "65500.0", EXPRESSION_HALF},
};
enum { COLUMNS = sizeof row / sizeof row[0] };

static struct glint_slice slice(const char *text)
{
    return (struct glint_slice){(const uint8_t *)text, strlen(text)};
}

static int find(void *arg, enum expression_name kind, struct glint_slice name, uint32_t *out_number,
                enum expression_type *out_type)
{
    (void)arg;
    *out_type = EXPRESSION_ANY;
    if (kind == EXPRESSION_POSITION) {
        *out_number = (uint32_t)name.data[0] - '1';
        return 0;
    }
    for (uint32_t i = 0; i < COLUMNS; i++) {
        char text[64];
        const char *from = row[i].name;
        size_t size = 0;
        for (; *from != '\0'; from++) {
            if (kind == EXPRESSION_QUOTED && *from == '"') text[size++] = '"';
            text[size++] = *from;
        }
        if (size != name.size || memcmp(text, name.data, size) != 0) continue;
        *out_number = i;
        *out_type = row[i].declared;
        return 0;
    }
    return GLINT_E_BAD_VALUE;
}

/* What the expression is for the row: its text, "null", or, after !, why there is no value. */
static void evaluate(const char *text, char *out, size_t capacity)
{
    uint8_t *const bytes = malloc(EXPRESSION_CODE_BYTES(strlen(text)));
    struct expression_source s = {.text = slice(text), .column = find, .code = bytes};
    struct expression_instruction code[EXPRESSION_CODE_MAX];
    struct glint_slice fields[COLUMNS];
    struct expression_value value;
    struct expression_problem problem;
    for (int i = 0; i < COLUMNS; i++) fields[i] = slice(row[i].field);
    expression_begin(&s);
    expression_compile(&s, false);
    if (s.token.kind != EXPRESSION_TOKEN_END) expression_fail(&s, "more follows");
    if (s.failed != 0) {
        snprintf(out, capacity, "!%llu: %s", (unsigned long long)s.problem_at, s.problem);
        free(bytes);
        return;
    }
    const struct expression e = {code,
                                 expression_decode((struct glint_slice){s.code, s.code_size},
                                                   COLUMNS, code, EXPRESSION_CODE_MAX),
                                 slice("\\N")};
    cr_assert_eq(e.count, s.count, "%s", text);
    char number[NUMBER_FORMAT_MAX];
    if (!expression_evaluate(&e, fields, &value, &problem))
        snprintf(out, capacity, "!%s", problem.reason);
    else if (value.type == EXPRESSION_NULL)
        snprintf(out, capacity, "null");
    else if (value.type == EXPRESSION_BOOLEAN)
        snprintf(out, capacity, "%s", value.boolean ? "true" : "false");
    else if (value.type == EXPRESSION_TEXT)
        snprintf(out, capacity, "'%.*s'", (int)value.text.size, (const char *)value.text.data);
    else if (value.type == EXPRESSION_NUMBER)
        snprintf(out, capacity, "%.*s", (int)number_format(number, &value.number), number);
    else
        snprintf(out, capacity, "%lld.%09d", (long long)value.time.seconds, value.time.nanos);
    free(bytes);
}

struct example {
    const char *text, *expected;
};

static void check_examples(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char found[512];
        evaluate(examples[i].text, found, sizeof found);
        cr_expect_str_eq(found, examples[i].expected, "%s\n  is       %s\n  expected %s",
                         examples[i].text, found, examples[i].expected);
    }
}
#define CHECK(examples) check_examples(examples, sizeof(examples) / sizeof(examples)[0])

Test(expression, values)
{
    static const struct example examples[] = {
        {"1 + 2 * 3", "7"},
        {"(1 + 2) * 3", "9"},
        {"7 - 2 - 1", "4"},
        {"7 / 2", "3.5"},
        {"6 / 2", "3.0"},
        {"7 % 3 * 2", "2"},
        {"-7 % 3", "-1"},
        {"7.5 % 2", "1.5"},
        {"9007199254740993 % 9.9999999999999999999999999999999999999",
         "3.0000000000000000000000900719925474099"},
        {"-9007199254740993 % -9.9999999999999999999999999999999999999",
         "-3.0000000000000000000000900719925474099"},
        {"70 % 0.0000000000000000000000000000000000001", "0.0"},
        {"-0.0000000000000000000000000000000000001 % 99",
         "-0.0000000000000000000000000000000000001"},
        {"1e1 % 3", "1.0"},
        {"- -3", "3"},
        {"-i + +d", "-7.5"},
        {"i*d", "25.0"},
        {"0.1 + 0.2 = 0.3", "true"},
        {".5 + 1.", "1.5"},
        {"x + 1", "1001.0"},
        {"max - 1", "99999999999999999999999999999999999998"},
        {"max + 1", "!a result is an integer of more than 38 digits"},
        {"max * 1.5", "1.5e+38"},
        {"max + 0.5", "1e+38"},
        {"0.0000000000000000000000000000000000001 * 0.01", "1.0000000000000001e-39"},
        {"1e308 * 10", "!a result is larger than the largest double, 1.8e308"},
        {"1 / 0", "!division by zero"},
        {"i % (d - 2.5)", "!division by zero"},
        {"1 / 0e0", "!division by zero"},
        {"n / 0", "null"},
        {"'it''s'", "'it's'"},
        {"''", "''"},
        {"t", "'it's'"},
        {"DATE '1970-01-02'", "86400.000000000"},
        {"TIMESTAMP '1970-01-01 00:00:01.25'", "1.250000000"},
        {"NULL", "null"},
        {"TRUE", "true"},
        {"$1 + $2", "12.5"},
        {"\"odd \"\"name\"\"\"", "'odd'"},
        {"a.b[0]", "'path'"},
    };
    CHECK(examples);
}

Test(expression, comparisons)
{
    static const struct example examples[] = {
        {"i = 10", "true"},
        {"i == 10.00", "true"},
        {"i <> 10", "false"},
        {"i != 1e1", "false"},
        {"i < 9", "false"},
        {"i < '9'", "true"}, /* as text */
        {"10 <= i", "true"},
        {"i >= max", "false"},
        {"i > d", "false"}, /* two fields are texts: '10' > '2.50' */
        {"+i > d", "true"},
        {"i > d + 0", "true"},
        {"max = 1e38", "true"}, /* as doubles */
        {"t = 'it''s'", "true"},
        {"t > 'IT'", "true"},
        {"day = DATE '2026-01-31'", "true"},
        {"day < DATE '2026-02-01'", "true"},
        {"time = TIMESTAMP '2026-01-31T22:59:59.500Z'", "true"},
        {"time >= DATE '2026-01-31'", "true"},
        {"TIMESTAMP '2026-01-31 22:59:59.499999999' < time", "true"},
        {"f", "'True'"},
        {"NOT f", "false"},
        {"f = TRUE", "true"},
        {"(i > 3) = f", "true"},
        {"i BETWEEN 10 AND 11 AND d BETWEEN 2 AND 2.5", "true"},
        {"i NOT BETWEEN 2 AND 9", "true"},
        {"5 BETWEEN d AND i", "true"},
        {"i BETWEEN 11 AND n", "false"},
        {"i BETWEEN 1 AND n", "null"},
        {"i BETWEEN NULL AND 5", "false"},
        {"day BETWEEN DATE '2026-01-01' AND DATE '2026-01-31'", "true"},
        {"i IN (1, -10, 1e1)", "true"},
        {"-i IN (1, -10)", "true"},
        {"i NOT IN (1, 2)", "true"},
        {"t IN ('a', 'it''s')", "true"},
        {"i IN (NULL, 11)", "null"},
        {"i NOT IN (10, NULL)", "false"},
        {"i NOT IN (11, NULL)", "null"},
        {"day IN (DATE '2026-01-31')", "true"},
        {"n IN (1)", "null"},
        {"t LIKE 'i_''%'", "true"},
        {"t NOT LIKE '%s'", "false"},
        {"t LIKE 'it'", "false"},
        {"t LIKE '%%%'", "true"},
        {"t LIKE 'I%'", "false"},
        {"u LIKE '_t_'", "true"},
        {"u LIKE '%_t__'", "false"},
        {"'aXbXb' LIKE 'a%Xb'", "true"},
        {"'mississippi' LIKE '%iss%ip_i'", "true"},
        {"e LIKE ''", "true"},
        {"e LIKE '_'", "false"},
        {"n LIKE '%'", "null"},
    };
    CHECK(examples);
}

Test(expression, declared_types)
{
    static const struct example examples[] = {
        {"nine < ten", "true"},
        {"nine < i", "true"},
        {"i > nine", "true"},
        {"i = ten", "true"},
        {"+i < d", "false"},
        {"i < d", "true"}, /* texts */
        {"ten", "'10.0'"},
        {"nine = '09'", "true"},
        {"'9.0' = nine", "true"},
        {"nine IN ('10', '9.0')", "true"},
        {"nine NOT IN (9, '11')", "false"},
        {"nine BETWEEN '8' AND ten", "true"},
        {"i BETWEEN nine AND ten", "true"},
        {"8 BETWEEN nine AND ten", "false"},
        {"nine LIKE '_'", "true"},
        {"tenth", "'0.1'"},
        {"tenth * 3", "0.30000000000000004"},
        {"1 % tenth", "0.09999999999999995"},
        {"tenth + 0.2 = 0.3", "false"},
        {"tenth = 0.1 AND tenth IN ('0.1') AND 0.1 BETWEEN tenth AND tenth", "true"},
        {"two53 = 9007199254740993", "true"},
        {"two53 + 1", "9007199254740992.0"},
        {"float = 1073741824 AND float + 0 = 1073741824", "true"},
        {"small = 0.1 AND 0.1 = small AND -0.1 < small AND small IN (1, '0.1')", "true"},
        {"small BETWEEN 0.1 AND 0.1 AND small <> tenth AND small > tenth", "true"},
        {"small * 1", "0.10000000149011612"},
        {"half = 65504 AND half = 65500 AND half * 1 = 65504", "true"},
        {"tenth = 'x'", "!11: a number cannot be compared with a text"},
        {"tenth AND yes", "!10: AND needs a condition, and has a number"},
        {"nine IS NOT NULL", "true"},
        {"when > '2026-01-30'", "true"},
        {"'2026-01-31T00:00:00Z' = when", "true"},
        {"when BETWEEN '2026-01-01' AND '2026-01-31'", "true"},
        {"when < time", "true"},
        {"yes = 'true'", "true"},
        {"yes AND nine < 10", "true"},
        {"nine = ''", "!9: a number cannot be compared with a text"},
        {"nine = 'nine'", "!13: a number cannot be compared with a text"},
        {"when IN ('2026-02-29')", "!21: a time cannot be compared with a text"},
        {"when < 5", "!8: a time cannot be compared with a number"},
        {"when = nine", "!11: a time cannot be compared with a number"},
        {"at = '09:30'", "true"},
        {"at < '09:30:00.25'", "true"},
        {"at IN ('09:30:00.000')", "true"},
        {"at BETWEEN TIME '09:29:59' AND '10:00'", "true"},
        {"TIME '23:59:59.5' > at", "true"},
        {"at = '9:30'", "!11: a time of day cannot be compared with a text"},
        {"at > when", "!9: a time of day cannot be compared with a time"},
        {"TIME '24:00' = at", "!5: a time of day is HH:MM:SS, with a fraction"},
        {"nan = 'nan'", "true"},
        {"nan > 'inf'", "true"},
        {"nan > 1e300", "true"},
        {"nan < nan", "false"},
        {"nan + 1", "nan"},
        {"+low < -1e300", "true"},
        {"low - low", "nan"},
        {"low * -2", "inf"},
        {"low % 2", "nan"},
        {"2 % low", "2.0"},
        {"low = '-Infinity'", "false"}, /* a text */
        {"1e308 * 1e308", "!a result is larger than the largest double, 1.8e308"},
        {"when + 1", "!8: + needs a number, and has a time"},
        {"nine AND yes", "!9: AND needs a condition, and has a number"},
        {"-yes", "!4: - needs a number, and has a condition"},
    };
    CHECK(examples);
}

Test(expression, null_and_logic)
{
    static const struct example examples[] = {
        {"n IS NULL", "true"},
        {"n IS NOT NULL", "false"},
        {"e IS NULL", "false"}, /* an empty text */
        {"e > 3", "null"},      /* no number */
        {"e < DATE '2026-01-01'", "null"},
        {"e = ''", "true"},
        {"(e + 1) IS NULL", "true"},
        {"n = n", "null"},
        {"n = NULL", "null"},
        {"i = NULL", "null"},
        {"NOT n = 1", "null"},
        {"n = 1 AND FALSE", "false"},
        {"n = 1 AND TRUE", "null"},
        {"FALSE AND n = 1", "false"},
        {"n = 1 OR TRUE", "true"},
        {"n = 1 OR FALSE", "null"},
        {"NULL OR TRUE", "true"},
        {"NOT NULL", "null"},
        {"n + 1", "null"},
        {"-n", "null"},
        {"not i = 10 or i = 10", "true"},
        {"NOT (i = 10 OR i = 10)", "false"},
        {"TRUE OR TRUE AND FALSE", "true"},
        {"FALSE AND bad > 1", "false"}, /* the right side is not evaluated */
        {"TRUE OR bad > 1", "true"},
        {"FALSE AND bad > 1 AND bad > 2 OR TRUE", "true"},
        {"n = 1 AND bad > 1", "!a numeric column is not a number"},
        {"bad > 1 AND FALSE", "!a numeric column is not a number"},
        {"bad = '1,5'", "true"},
        {"t = DATE '2026-01-01'", "!a column that is compared with a time has no ISO 8601 time"},
        {"NOT i", "!a condition is neither true nor false"},
    };
    CHECK(examples);
}

Test(expression, what_is_none)
{
    static const struct example examples[] = {
        {"", "!0: a column or a value is expected, and the expression ends"},
        {"i >", "!3: a column or a value is expected, and the expression ends"},
        {"i > AND d", "!4: a column or a value is expected here"},
        {"(i > 1", "!6: ) is expected here"},
        {"i > 1)", "!5: more follows"},
        {"i = 1 = 2", "!6: more follows"},
        {"i d", "!2: more follows"},
        {"'abc", "!0: a text has no closing quote"},
        {"t = 'abc''", "!4: a text has no closing quote"},
        {"\"abc", "!0: a name has no closing quote"},
        {"1x", "!0: a number is expected here; a name that begins with a digit is in double "
               "quotes"},
        {"1e", "!0: a number is expected here; a name that begins with a digit is in double "
               "quotes"},
        {"1e999 > 0", "!0: a number is expected here; a name that begins with a digit is in double "
                      "quotes"},
        {"i ; d", "!2: this character has no meaning here"},
        {"i ! 3", "!2: this character has no meaning here"},
        {"$x", "!0: this character has no meaning here"},
        {"i IS 3", "!5: NULL is expected here"},
        {"i NOT 3", "!6: IN, BETWEEN or LIKE is expected after NOT"},
        {"i BETWEEN 1 OR 2", "!12: AND is expected here"},
        {"i IN 3", "!5: ( is expected here"},
        {"i IN ()", "!6: IN has a list of literals: a value is expected here"},
        {"i IN (d)", "!6: IN has a list of literals: a value is expected here"},
        {"i IN (1, 'a')", "!12: a number cannot be compared with a text"},
        {"1 = 'a'", "!7: a number cannot be compared with a text"},
        {"DATE '2026-01-01' > 3", "!21: a time cannot be compared with a number"},
        {"1 + 'a'", "!7: + needs a number, and has a text"},
        {"-(i > 1)", "!8: - needs a number, and has a condition"},
        {"NOT 1", "!5: NOT needs a condition, and has a number"},
        {"i > 1 AND 'a'", "!13: AND needs a condition, and has a text"},
        {"1 LIKE 'a'", "!10: LIKE needs a text, and has a number"},
        {"DATE '2026-02-29'", "!5: a date is YYYY-MM-DD"},
        {"DATE '2026-02-01 00:00'", "!5: a date is YYYY-MM-DD"},
        {"TIMESTAMP '24:00'", "!10: a timestamp is YYYY-MM-DD HH:MM:SS, with a fraction, Z or an "
                              "offset"},
        {"missing", "!0: "},
    };
    CHECK(examples);
}

static const char *repeated(char c)
{
    static char texts[2][128];
    char *const text = texts[c == ')'];
    memset(text, c, sizeof texts[0] - 1);
    return text;
}

Test(expression, limits)
{
    char text[8192], found[512];
    snprintf(text, sizeof text, "%.*s1%.*s", 63, repeated('('), 63, repeated(')'));
    evaluate(text, found, sizeof found);
    cr_expect_str_eq(found, "1");
    snprintf(text, sizeof text, "%.*s1%.*s", 64, repeated('('), 64, repeated(')'));
    evaluate(text, found, sizeof found);
    cr_expect_str_eq(found, "!64: the expression is nested more than 64 times");
    size_t size = 0;
    for (int i = 0; i < 512; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s1", i > 0 ? " + " : "");
    evaluate(text, found, sizeof found);
    cr_expect_str_eq(found, "512");
    snprintf(text + size, sizeof text - size, "+1");
    evaluate(text, found, sizeof found);
    cr_expect_str_eq(found, "!2047: the expression has more than 1024 operations");
    for (size_t i = 0; i < 70; i++) snprintf(text + 4 * i, sizeof text - 4 * i, "NOT ");
    snprintf(text + 280, sizeof text - 280, "TRUE");
    evaluate(text, found, sizeof found);
    cr_expect_str_eq(found, "!260: the expression is nested more than 64 times");
}

Test(expression, hint_marks_the_place)
{
    char hint[256];
    uint8_t bytes[EXPRESSION_CODE_BYTES(16)];
    struct expression_source s = {.text = slice("i > AND\td"), .column = find, .code = bytes};
    expression_begin(&s);
    expression_compile(&s, true);
    expression_hint(&s, hint, sizeof hint);
    cr_expect_str_eq(hint, "the place is marked by ^: i > ^AND d");
}

/* Instructions from elsewhere: a wrong number of values, a skip out of range or to another depth, a
 * column that no row has, a constant that is none. */
Test(expression, invalid_instructions)
{
    enum { P = EXPRESSION_PUSH, N = EXPRESSION_NUMBER, B = EXPRESSION_BOOLEAN };
    static const struct {
        uint8_t bytes[48];
        uint32_t size;
        bool valid;
    } codes[] = {
        {{P, N, 0, 0, 0, 0, 1, 0, 0, 0, '7'}, 11, true},
        {{P, N, 0, 0, 0, 0, 1, 0, 0, 0, 'x'}, 11, false},
        {{P, N, 0, 0, 0, 0, 2, 0, 0, 0, '7'}, 11, false},
        {{P, N, 0, 0, 0, 0, 1, 0, 0, 0}, 10, false},
        {{P, EXPRESSION_ANY, 0, 0, 0, 0, 0, 0, 0, 0}, 10, false},
        {{P, B, 0, 0, 0, 0, 0, 0, 0}, 9, false},
        {{EXPRESSION_COLUMN, N, 2, 0, 0, 0, 0, 0, 0, 0}, 10, true},
        {{EXPRESSION_COLUMN, N, 3, 0, 0, 0, 0, 0, 0, 0}, 10, false},
        {{EXPRESSION_COLUMN, EXPRESSION_NULL, 0, 0, 0, 0, 0, 0, 0, 0}, 10, false},
        {{EXPRESSION_OPERATIONS, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 10, false},
        {{EXPRESSION_NOT, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 10, false},
        {{P, B, 0, 0, 0, 0, 0, 0, 0, 0, EXPRESSION_NOT, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 20, true},
        {{P, B, 0, 0, 0, 0, 0, 0, 0, 0, EXPRESSION_NOT, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, 21, false},
        {{P, B, 0, 0, 0, 0, 0, 0, 0, 0, P, B, 0, 0, 0, 0, 0, 0, 0, 0}, 20, false},
        {{P, B, 0, 0, 0, 0, 0, 0, 0, 0, EXPRESSION_AND_SKIP, 0, 2, 0, 0, 0, 0, 0, 0, 0}, 20, true},
        {{P, B, 0, 0, 0, 0, 0, 0, 0, 0, EXPRESSION_AND_SKIP, 0, 1, 0, 0, 0, 0, 0, 0, 0}, 20, false},
        {{P, B, 0, 0, 0, 0, 0, 0, 0, 0, EXPRESSION_AND_SKIP, 0, 3, 0, 0, 0, 0, 0, 0, 0}, 20, false},
        {{P, B, 0, 0, 0, 0, 0, 0, 0, 0, EXPRESSION_AND_SKIP, 0, 3, 0, 0, 0, 0, 0, 0, 0,
          P, B, 0, 0, 0, 0, 0, 0, 0, 0, EXPRESSION_AND,      0, 0, 0, 0, 0, 0, 0, 0, 0},
         40,
         false},
        {{0}, 0, false},
    };
    struct expression_instruction code[8];
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        const struct glint_slice bytes = {codes[i].bytes, codes[i].size};
        cr_expect_eq(expression_decode(bytes, 3, code, 8) > 0, codes[i].valid, "code %zu", i);
    }
    const struct glint_slice two = {codes[11].bytes, codes[11].size};
    cr_expect_eq(expression_decode(two, 3, code, 1), 0, "no room");
}

/* jobs/rows/expression_bounds.c: a row group that has a row for which a condition is true, or which
 * is bad, is never left out; and conditions for which it is. */
#include "jobs/rows/expression.h"

#include "engine/base/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Rows of (n, s, d, b, f): groups are all sets of them. */
static const char *const rows[][5] = {
    {"-3", "a", "2020-01-01", "true", "1.5"}, {"0", "", "2020-01-31", "false", "nan"},
    {"7", "b", "2021-05-05", "true", "-0.0"}, {"10", "ba", "0999-01-01", "\x1d", "2.0"},
    {"\x1d", "10", "\x1d", "false", "\x1d"},  {"10", "\x1d", "+12000-01-01", "true", "7.0"},
};
enum { ROWS = sizeof rows / sizeof rows[0], COLUMNS = 5 };
static const char names[] = "nsdbf";
static const enum glint_bounds_type types[COLUMNS] = {GLINT_BOUNDS_NUMBER, GLINT_BOUNDS_TEXT,
                                                      GLINT_BOUNDS_TIME, GLINT_BOUNDS_BOOLEAN,
                                                      GLINT_BOUNDS_FLOAT};
static const uint32_t numbers[COLUMNS] = {9, 8, 7, 6, 5}; /* of the columns in the row */

static struct glint_slice slice(const char *text)
{
    return (struct glint_slice){(const uint8_t *)text, strlen(text)};
}

static int find(void *arg, enum expression_name kind, struct glint_slice name, uint32_t *out_number,
                enum expression_type *out_type)
{
    (void)arg, (void)kind;
    *out_type = EXPRESSION_ANY;
    *out_number = (uint32_t)(strchr(names, name.data[0]) - names);
    return 0;
}

static unsigned members; /* bits: the rows of the group */
static bool filters, without_bounds;

/* By the type's order, as a file has it. */
static int compare(uint32_t column, const char *a, const char *b)
{
    int64_t x, y;
    if (column == 0 && glint_parse_i64(slice(a), &x) && glint_parse_i64(slice(b), &y))
        return (x > y) - (x < y);
    if (column == 2 && (a[0] == '+') != (b[0] == '+')) return a[0] == '+' ? 1 : -1;
    return strcmp(a, b);
}

static void bounds(void *arg, uint32_t number, struct glint_bounds *out)
{
    const uint32_t column = 9 - number;
    const char *min = NULL, *max = NULL;
    (void)arg;
    *out = (struct glint_bounds){.type = types[column]};
    for (unsigned i = 0; i < ROWS; i++) {
        const char *value = rows[i][column];
        if ((members >> i & 1) == 0) continue;
        out->nulls |= value[0] == '\x1d';
        if (value[0] == '\x1d') continue;
        out->values = true;
        if (min == NULL || compare(column, value, min) < 0) min = value;
        if (max == NULL || compare(column, value, max) > 0) max = value;
    }
    out->known = min != NULL && types[column] != GLINT_BOUNDS_FLOAT && !without_bounds;
    if (out->known) out->min = slice(min);
    if (out->known) out->max = slice(max);
}

static int may_have(void *arg, uint32_t number, struct glint_slice value)
{
    (void)arg;
    cr_assert(number == 9 || number == 8, "integers and texts");
    for (unsigned i = 0; filters && i < ROWS; i++) {
        const struct glint_slice have = slice(rows[i][9 - number]);
        if ((members >> i & 1) != 0 && have.size == value.size &&
            memcmp(have.data, value.data, value.size) == 0)
            return 1;
    }
    return !filters;
}
static const struct glint_row_group group = {bounds, may_have, NULL};

struct compiled {
    uint8_t *bytes;
    struct expression_instruction code[EXPRESSION_CODE_MAX];
    struct expression expression;
};

static void compile(const char *text, struct compiled *out)
{
    out->bytes = malloc(EXPRESSION_CODE_BYTES(strlen(text)));
    struct expression_source s = {.text = slice(text), .column = find, .code = out->bytes};
    expression_begin(&s);
    expression_compile(&s, true);
    cr_assert(s.failed == 0 && s.token.kind == EXPRESSION_TOKEN_END, "%s: %s", text, s.problem);
    const struct glint_slice code = {s.code, s.code_size};
    out->expression = (struct expression){
        out->code, expression_decode(code, COLUMNS, out->code, EXPRESSION_CODE_MAX), slice("\x1d")};
    cr_assert_gt(out->expression.count, 0);
}

/* Whether a row of the group is bad, or the condition is true for it. */
static bool is_needed(const struct compiled *c)
{
    bool needed = false;
    for (unsigned i = 0; i < ROWS; i++) {
        struct glint_slice fields[COLUMNS];
        struct expression_value value;
        struct expression_problem problem;
        for (int k = 0; k < COLUMNS; k++) fields[k] = slice(rows[i][k]);
        if ((members >> i & 1) == 0) continue;
        needed |= !expression_evaluate(&c->expression, fields, &value, &problem) ||
                  (value.type == EXPRESSION_BOOLEAN && value.boolean);
    }
    return needed;
}

static const char *const conditions[] = {
    "n = 7",
    "n <> 7",
    "n < 7",
    "n <= 7",
    "n > 7",
    "n >= 7",
    "7 < n",
    "n = 7.5",
    "n = 1e300",
    "n = '7'",
    "n > 'a'",
    "n IS NULL",
    "n IS NOT NULL",
    "n IN (1, 7)",
    "n NOT IN (1, 7)",
    "n IN (1, NULL)",
    "n BETWEEN 1 AND 8",
    "n NOT BETWEEN 1 AND 8",
    "n BETWEEN 8 AND 1",
    "-n > 2",
    "n + 1 = 8",
    "1 / n = 1",
    "n = NULL",
    "n > DATE '2020-01-01'",
    "s = 'b'",
    "s < 'b'",
    "s >= 'ba'",
    "s = ''",
    "s IS NULL",
    "s LIKE 'b%'",
    "s > 5",
    "s IN ('a', 'zz')",
    "s BETWEEN 'a' AND 'b'",
    "s = n",
    "s < s",
    "d = DATE '2020-01-31'",
    "d > DATE '2020-06-01'",
    "d < '2020'",
    "d >= '2021-05-05'",
    "d BETWEEN DATE '2020-01-01' AND TIMESTAMP '2020-12-31 00:00:00'",
    "d > 5",
    "d IS NULL",
    "b",
    "NOT b",
    "b = TRUE",
    "b IS NULL",
    "b AND n > 7",
    "b OR n > 7",
    "f > 1",
    "f IS NULL",
    "f = '2.0'",
    "n > 7 AND f > 1",
    "f > 1 AND n > 7",
    "n > 7 OR f > 1",
    "NOT (n > 7 AND s > 'b')",
    "NOT (n > 7 OR s > 'b')",
    "n > 7 AND s > 5",
    "n > 7 AND 1 / 0 = 1",
    "(n = 1 OR n = 2) AND (s = 'a' OR s = 'b')",
    "n IS NULL OR s IS NULL",
    "TRUE",
    "FALSE",
    "NULL",
    "n > 7 AND NULL",
    "n = n",
    "n < n",
    "(n > 7) = (s > 'b')",
    "(n > 7) IS NULL",
    "n IN (10, 7, 3)",
};
enum { CONDITIONS = sizeof conditions / sizeof conditions[0] };

Test(expression_bounds, a_group_with_rows_that_are_needed_is_needed)
{
    unsigned skipped[4] = {0};
    for (unsigned i = 0; i < CONDITIONS; i++) {
        struct compiled c;
        compile(conditions[i], &c);
        for (unsigned form = 0; form < 4; form++)
            for (members = 0; members < 1u << ROWS; members++) {
                filters = (form & 1) != 0;
                without_bounds = (form & 2) != 0;
                const int needed = expression_may_be_true(&c.expression, numbers, &group);
                cr_assert(needed == 0 || needed == 1);
                cr_assert(needed == 1 || !is_needed(&c), "%s: %x %u", conditions[i], members, form);
                skipped[form] += needed == 0;
            }
        free(c.bytes);
    }
    /* Of the others, most are left out by bounds, more by filters, and some without either. */
    cr_expect(skipped[0] > 900 && skipped[1] > skipped[0], "%u %u", skipped[0], skipped[1]);
    cr_expect(skipped[3] > skipped[2] && skipped[2] > 300, "%u %u", skipped[2], skipped[3]);
}

static void expect(const char *condition, unsigned group_members, int needed)
{
    struct compiled c;
    compile(condition, &c);
    members = group_members;
    filters = without_bounds = false;
    cr_expect_eq(expression_may_be_true(&c.expression, numbers, &group), needed, "%s", condition);
    free(c.bytes);
}

Test(expression_bounds, bounds_decide)
{
    const unsigned low = 3, high = 12; /* n from -3 to 0, and from 7 to 10 */
    expect("n > 0", low, 0);
    expect("n > 0", high, 1);
    expect("n >= 0", low, 1);
    expect("n = 5", low | high, 1);
    expect("n = 8 AND s > 'b'", high, 1);
    expect("n = 8 AND s > 'c'", high, 0);
    expect("s > 'c' AND n + 1 = 8", high, 0);
    expect("n + 1 = 8 AND s > 'c'", high, 1);
    expect("d < DATE '2020-01-01'", low, 0);
    expect("d < '2020-01-01'", low, 0);
    expect("d < '2020-01-01'", 1u << 5 | low, 1); /* a year of five digits */
    expect("n IS NULL", low, 0);
    expect("n IS NOT NULL", 1u << 4, 0);
    expect("NOT b", 5, 0);
    expect("b", 5, 1);
}

Test(expression_bounds, an_empty_text_that_is_null_is_neither_below_nor_above)
{
    struct compiled c;
    compile("s < 'a'", &c);
    c.expression.null = slice("");
    members = 2;
    cr_expect_eq(expression_may_be_true(&c.expression, numbers, &group), 1);
    free(c.bytes);
    compile("s IS NULL", &c);
    c.expression.null = slice("");
    cr_expect_eq(expression_may_be_true(&c.expression, numbers, &group), 1);
    free(c.bytes);
}

/* Any text is an expression or has a problem within it; what was compiled is valid instructions.
 * Any instructions are rejected, or give a value for every row. A condition is true, false or null.
 */
#include "jobs/rows/expression.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COLUMNS = 5, ROWS = 8 };

static int find(void *arg, enum expression_name kind, struct glint_slice name, uint32_t *out_number,
                enum expression_type *out_type)
{
    static const enum expression_type types[COLUMNS] = {EXPRESSION_ANY, EXPRESSION_NUMBER,
                                                        EXPRESSION_TIME, EXPRESSION_BOOLEAN,
                                                        EXPRESSION_TIME_OF_DAY};
    (void)arg, (void)kind;
    *out_number = name.size > 0 ? name.data[0] % COLUMNS : 0;
    *out_type = types[*out_number];
    return name.size == 7 ? GLINT_E_BAD_VALUE : 0;
}

static void evaluate_rows(struct expression e, bool condition)
{
    static const char *const texts[ROWS] = {
        "7", "", "\\N", "2026-01-31T12:00:00Z", "true", "a_%", "nan", "12:00:00.5"};
    for (int first = 0; first < ROWS; first++) {
        struct glint_slice fields[COLUMNS];
        struct expression_value value;
        struct expression_problem problem;
        for (int i = 0; i < COLUMNS; i++) {
            const char *text = texts[(first + i) % ROWS];
            fields[i] = (struct glint_slice){(const uint8_t *)text, strlen(text)};
        }
        if (!expression_evaluate(&e, fields, &value, &problem)) {
            if (problem.reason == NULL) abort();
            if (problem.column != EXPRESSION_NO_COLUMN && problem.column >= COLUMNS) abort();
        } else if (condition && value.type > EXPRESSION_BOOLEAN) {
            abort();
        }
    }
}

static void compile(struct glint_slice text, bool condition)
{
    struct expression_instruction *code = malloc(EXPRESSION_CODE_MAX * sizeof *code);
    struct expression_source s = {
        .text = text, .column = find, .code = malloc(EXPRESSION_CODE_BYTES(text.size))};
    char hint[256];
    if (code == NULL || s.code == NULL) abort();
    expression_begin(&s);
    expression_compile(&s, condition);
    if (s.failed != 0 && s.problem_at > text.size) abort();
    if (s.failed != 0 && s.problem[0] != '\0') expression_hint(&s, hint, sizeof hint);
    if (s.failed == 0) {
        const uint32_t count = expression_decode((struct glint_slice){s.code, s.code_size}, COLUMNS,
                                                 code, EXPRESSION_CODE_MAX);
        if (count != s.count) abort();
        evaluate_rows((struct expression){code, count, {(const uint8_t *)"\\N", 2}}, condition);
    }
    free(s.code);
    free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const struct glint_slice rest = {data + 1, size - 1};
    if (data[0] != 'i') {
        compile(rest, data[0] == 'c');
        return 0;
    }
    struct expression_instruction *code = malloc(EXPRESSION_CODE_MAX * sizeof *code);
    if (code == NULL) abort();
    const uint32_t count = expression_decode(rest, COLUMNS, code, EXPRESSION_CODE_MAX);
    if (count > 0)
        evaluate_rows((struct expression){code, count, {(const uint8_t *)"\\N", 2}}, false);
    free(code);
    return 0;
}

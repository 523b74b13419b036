/* Fields that begin with a quote, in tables with commas or semicolons: in batches and row by
 * row. */
#include "engine/batch.h"
#include "engine/records/task.h"
#include "jobs/rows/fields_kernel.h"
#include "jobs/rows/fields_quotes.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* Parses rows that end with an LF, as a batch or one by one. `skip`: skips bad rows. Returns 0 or
 * the error code. */
static int parse_quoted(const char *rows, uint8_t delimiter, bool one_by_one, bool skip)
{
    static struct fields f;
    uint32_t start[8], end[8], count = 0;
    char memory[256] = "";
    struct task_options options = {.skip_bad_rows = skip, .bad_rows_max = -1};
    struct glint_task task = {.options = &options};
    f = (struct fields){
        .delimiter = delimiter, .key = FIELDS_TEXT, .ids = true, .keep_nulls = true};
    f.key_column = 1;
    f.quotes = fields_may_quote(delimiter);
    f.kernel = fields_kernel_best(&f);
    snprintf(memory, sizeof memory, "%s", rows);
    for (uint32_t at = 0; rows[at] != '\0'; at = end[count++] + 1) {
        start[count] = at;
        end[count] = at + (uint32_t)strcspn(rows + at, "\n");
    }
    struct glint_batch lines = {.rows = count,
                                .value = {.type = GLINT_TEXT,
                                          .base = (const uint8_t *)memory,
                                          .size = end[count - 1],
                                          .start = start,
                                          .end = end}};
    int r = 0;
    union glint_value key;
    struct glint_slice id;
    if (!one_by_one) r = fields_parse(&f, &task, &lines);
    for (uint32_t i = 0; one_by_one && r >= 0 && i < count; i++)
        r = fields_parse_row(&f, &task, glint_column_slice(&lines.value, i), &key, &id);
    if (r == GLINT_E_INPUT_FORMAT)
        cr_expect(strstr(task.error.cause, "quoted field: \"") != NULL, "%s", rows);
    arena_fini(&task.arena);
    return r < 0 ? r : 0;
}

Test(fields, quoted_fields_are_rejected)
{
    static const struct {
        const char *rows;
        int code;
    } cases[] = {
        {"a,b,c\nd,e,f\n", 0},
        {"a,b\n\"d\",e\n", GLINT_E_INPUT_FORMAT},
        {"a,\"b\"\nd,e\n", GLINT_E_INPUT_FORMAT},
        {"a,b,\"c\n", GLINT_E_INPUT_FORMAT}, /* after the columns that are read */
        {"\"a\n", GLINT_E_INPUT_FORMAT},     /* reported before the missing column is */
        {"a,b,\"\n", GLINT_E_INPUT_FORMAT},
        {"a,5\" disk\nd\",e\"f\n", 0}, /* inside a field */
        {"a, \"b\"\n", 0},
        {"a,b\"\n,c\n", 0},
    };
    static const uint8_t delimiters[] = {',', ';', '\t', '|'};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int n = 0; n < 16; n++) {
            const uint8_t delimiter = delimiters[n / 4];
            char rows[64];
            snprintf(rows, sizeof rows, "%s", cases[i].rows);
            for (char *c = rows; *c != '\0'; c++)
                if (*c == ',') *c = (char)delimiter;
            const int r = parse_quoted(rows, delimiter, n & 1, n & 2);
            const bool bad = strcmp(cases[i].rows, "\"a\n") == 0 && n >= 8; /* lacks a column */
            if (bad) continue;
            cr_expect_eq(r, n < 8 ? cases[i].code : 0, "%s: %d", rows, r);
        }
}

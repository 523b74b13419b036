/* --where: see where.h. */
#include "jobs/rows/where.h"

#include "engine/batch.h"

#include <assert.h>
#include <string.h>

/* ---- Columns */

/* Resolves a quoted name, of which columns_resolve gets the marked form, in memory of the context:
 * the table may have a slice of it as a path in JSON. */
static int resolve_quoted_column(struct where_columns *w, struct glint_slice name, uint32_t *out)
{
    static const char mark[] = "name=";
    const uint64_t size = sizeof mark - 1;
    uint8_t letters;
    struct glint *const g = w->table->g;
    name = fields_unquote_name(g, name);
    uint8_t *const marked = glint_context_alloc(g, size + name.size);
    if (marked == NULL) return glint_error(g)->code;
    memcpy(marked, mark, size);
    if (name.size > 0) memcpy(marked + size, name.data, name.size);
    const struct glint_slice item = {marked, size + name.size};
    return columns_resolve(w->table, w->option, "", item, out, &letters);
}

static int resolve_expression_column(void *arg, enum expression_name kind, struct glint_slice name,
                                     uint32_t *out_number, enum expression_type *out_type)
{
    static const enum expression_type types[] = {[VALUES_UNKNOWN] = EXPRESSION_ANY,
                                                 [VALUES_NUMBERS] = EXPRESSION_NUMBER,
                                                 [VALUES_TIMES] = EXPRESSION_TIME,
                                                 [VALUES_TIMES_OF_DAY] = EXPRESSION_TIME_OF_DAY,
                                                 [VALUES_BOOLEANS] = EXPRESSION_BOOLEAN,
                                                 [VALUES_TEXTS] = EXPRESSION_ANY,
                                                 [VALUES_NESTED] = EXPRESSION_TEXT};
    struct where_columns *w = arg;
    struct table *t = w->table;
    uint32_t number = 0;
    uint8_t letters;
    if (kind != EXPRESSION_POSITION && !t->header && t->csv != FIELDS_JSON)
        return glint_abort(t->g, GLINT_E_BAD_VALUE,
                           "$1 is the first column; names need --header; a text is in single "
                           "quotes: 'text'",
                           "--%s: \"%.*s\" is the name of a column, and there is no header",
                           w->option, (int)name.size, (const char *)name.data);
    int r = kind == EXPRESSION_QUOTED ? resolve_quoted_column(w, name, &number)
                                      : columns_resolve(t, w->option, "", name, &number, &letters);
    if (r != 0) return r;
    uint32_t at = 0;
    while (at < w->columns.count && w->columns.number[at] != number) at++;
    if (at == COLUMNS_MAX)
        return glint_abort(t->g, GLINT_E_BAD_VALUE, NULL, "--%s: more than %d columns", w->option,
                           COLUMNS_MAX);
    if (at == w->columns.count) w->columns.number[w->columns.count++] = number;
    *out_number = at;
    const uint32_t bits = columns_float_bits(t, number);
    *out_type = bits == 64   ? EXPRESSION_DOUBLE
                : bits == 32 ? EXPRESSION_FLOAT
                : bits == 16 ? EXPRESSION_HALF
                             : types[columns_value_kind(t, number)];
    return glint_error(t->g)->code;
}

/* ---- Driver */

void where_parse_begin(struct expression_source *s, struct where_columns *columns, struct table *t,
                       const char *option, const char *text)
{
    *columns = (struct where_columns){.table = t, .option = option};
    const uint64_t size = strlen(text);
    *s = (struct expression_source){.text = {(const uint8_t *)text, size},
                                    .column = resolve_expression_column,
                                    .arg = columns,
                                    .code = glint_alloc(t->g, EXPRESSION_CODE_BYTES(size))};
    expression_begin(s);
    if (s->code == NULL) s->failed = GLINT_E_NO_MEMORY;
}

int where_parse_end(struct expression_source *s, const struct where_columns *columns)
{
    struct glint *g = columns->table->g;
    char hint[256];
    if (s->failed != 0 && s->problem[0] != '\0') {
        expression_hint(s, hint, sizeof hint);
        glint_abort(g, GLINT_E_BAD_VALUE, hint, "--%s: byte %llu: %s", columns->option,
                    (unsigned long long)s->problem_at + 1, s->problem);
    }
    assert(s->failed == 0 || glint_error(g)->code != GLINT_OK);
    if (s->failed == 0 && s->orders_texts && columns->table->csv != FIELDS_COLUMNS)
        glint_warn(g, "--%s: two columns are compared as texts; +a < +b compares numbers",
                   columns->option);
    glint_free(s->code);
    return glint_error(g)->code;
}

struct glint_args *where_compile(struct table *t, const char *option, const char *text)
{
    struct expression_source source;
    struct where_columns columns;
    where_parse_begin(&source, &columns, t, option, text);
    expression_compile(&source, true);
    if (source.token.kind != EXPRESSION_TOKEN_END)
        expression_fail(&source, "the expression ends before this, unless AND or OR follows");
    struct glint_args *args = source.failed == 0 ? glint_args(t->g) : NULL;
    if (args != NULL) {
        columns_args(args, t, &columns.columns);
        t->where_count = columns.columns.count;
        memcpy(t->where_columns, columns.columns.number,
               t->where_count * sizeof t->where_columns[0]);
        glint_args_add_bytes(args, "where", source.code, source.code_size);
    }
    return where_parse_end(&source, &columns) == 0 ? args : NULL;
}

int where_option(struct table *t, const struct glint_job_args *args, const char *option)
{
    const char *text = glint_job_option(args, option);
    if (text != NULL && glint_error(t->g)->code == GLINT_OK)
        t->where = where_compile(t, option, text);
    return glint_error(t->g)->code;
}

struct glint_rdd *where_rows(struct glint_rdd *lines, struct glint_args *where)
{
    return where != NULL ? glint_filter(lines, &where_keep, where) : lines;
}

/* ---- where.keep */

struct where_state {
    struct columns_reader reader;
    struct expression expression;
    struct expression of_texts; /* the same for texts without escapes */
    struct columns_joined texts;
    struct expression_instruction code[EXPRESSION_CODE_MAX];
};

static int where_may_keep(struct glint_task *task, void *state, const struct glint_row_group *group)
{
    const struct where_state *s = state;
    (void)task;
    return expression_may_be_true(&s->expression, s->reader.columns.number, group);
}

static int where_filter_init(struct glint_task *task, void *state)
{
    struct where_state *s = state;
    struct glint_slice bytes;
    int e = columns_open(task, &s->reader);
    if (e == 0) e = glint_arg_slice(task, "where", &bytes);
    if (e != 0) return e;
    s->expression = (struct expression){s->code, 0, s->reader.null};
    s->expression.count =
        expression_decode(bytes, s->reader.columns.count, s->code, EXPRESSION_CODE_MAX);
    s->of_texts = (struct expression){s->code, s->expression.count, {NULL, 0}};
    if (s->expression.count > 0) glint_skip_row_groups(task, where_may_keep);
    return s->expression.count > 0
               ? 0
               : glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "the condition is not valid");
}

int where_bad_row(const struct columns_reader *r, struct glint_task *task, struct glint_slice row,
                  const struct glint_slice *fields, const struct expression_problem *problem)
{
    if (problem->column == EXPRESSION_NO_COLUMN) return glint_bad_row(task, row, problem->reason);
    return columns_bad_value(r, task, row, problem->column, fields[problem->column],
                             problem->reason);
}

static int where_keep_row(struct where_state *s, struct glint_task *task, struct glint_slice row,
                          bool escapes)
{
    struct glint_slice fields[COLUMNS_MAX];
    struct expression_value value;
    struct expression_problem problem;
    int e = columns_find(&s->reader, task, row, fields);
    if (e > 0 && escapes && columns_unescape(&s->reader, task, fields, &s->texts, fields) != 0)
        return GLINT_E_NO_MEMORY;
    if (e <= 0) return e;
    if (!expression_evaluate(escapes ? &s->of_texts : &s->expression, fields, &value, &problem))
        return where_bad_row(&s->reader, task, row, fields, &problem);
    return value.type == EXPRESSION_BOOLEAN && value.boolean;
}

static int select_rows_where_true(struct glint_task *task, void *state,
                                  const struct glint_batch *in, uint16_t *out_rows,
                                  uint32_t *out_count)
{
    struct where_state *s = state;
    const bool escapes = columns_may_escape(&s->reader, in);
    uint32_t kept = 0;
    *out_count = 0;
    for (uint32_t row = 0; row < in->rows; row++) {
        const int keep = where_keep_row(s, task, glint_column_slice(&in->value, row), escapes);
        if (keep < 0) return keep;
        out_rows[kept] = (uint16_t)row;
        kept += (uint32_t)keep;
    }
    assert(kept <= in->rows);
    *out_count = kept;
    return 0;
}

const struct glint_function where_keep = {.name = "where.keep",
                                          .kind = GLINT_KIND_FILTER,
                                          .in = {GLINT_ANY, GLINT_TEXT},
                                          .out = {GLINT_SAME, GLINT_SAME},
                                          .state_size = sizeof(struct where_state),
                                          .open = where_filter_init,
                                          .keep_batch = select_rows_where_true};

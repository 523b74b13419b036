/* select: columns of a table, and what is calculated from them.
 *
 *     line -> row of the items of --columns
 *
 * An item that is only a column passes its bytes unchanged; the others are expressions. */
#include "engine/base/text.h"
#include "engine/input/csv.h"
#include "jobs/rows/arithmetic.h"
#include "jobs/rows/row_output.h"
#include "jobs/rows/where.h"

#include <assert.h>
#include <string.h>

enum { ITEMS_MAX = 1024 };

/* ---- select.row
 *
 * Its argument "items" is for each item the size of its instructions, 4 bytes, and these; "doubles"
 * a byte: whether the output has the item, which is calculated from text, as a double. */

struct select_item {
    struct expression expression; /* count 0: a column as it is */
    uint32_t column;
    bool saved_as_double;
};

struct select_state {
    struct columns_reader reader;
    struct select_item items[ITEMS_MAX];
    uint32_t count;
    int64_t width; /* columns of each row; 0: any number of them */
    struct expression_instruction code[EXPRESSION_CODE_MAX];
    struct glint_slice header; /* the first row of each part; size 0: none */
    bool started;
    bool calculates; /* an item is no column */
    struct columns_joined texts;
    struct glint_buffer row;
};

/* Reads one item, whose instructions follow `used` others. Returns their number; 0: not valid. */
static uint32_t decode_select_item(struct select_state *s, struct glint_slice bytes, uint32_t used)
{
    assert(s->count < ITEMS_MAX && used <= EXPRESSION_CODE_MAX);
    struct select_item *const item = &s->items[s->count++];
    const uint32_t columns = s->reader.columns.count;
    struct expression_instruction *const code = s->code + used;
    const uint32_t count = expression_decode(bytes, columns, code, EXPRESSION_CODE_MAX - used);
    const bool column =
        count == 1 && code[0].operation == EXPRESSION_COLUMN && code[0].type == EXPRESSION_TEXT;
    item->expression = (struct expression){code, column ? 0 : count, s->reader.null};
    s->calculates |= !column;
    if (column) item->column = code[0].argument;
    return count;
}

static int select_function_init(struct glint_task *task, void *state)
{
    struct select_state *s = state;
    struct glint_slice items, doubles;
    uint32_t used = 0;
    int e = columns_open(task, &s->reader);
    if (e == 0) e = glint_arg_slice(task, "items", &items);
    if (e == 0) e = glint_arg_slice(task, "doubles", &doubles);
    if (e == 0) e = glint_arg_slice(task, "header", &s->header);
    if (e == 0) e = glint_arg_i64(task, "width", &s->width);
    if (e != 0) return e;
    for (uint64_t at = 0; at < items.size;) {
        uint32_t size = 0, count = 0;
        const bool has_size = items.size - at >= sizeof size;
        if (has_size) memcpy(&size, items.data + at, sizeof size);
        at += sizeof size;
        if (has_size && s->count < ITEMS_MAX && size <= items.size - at)
            count = decode_select_item(s, (struct glint_slice){items.data + at, size}, used);
        if (count == 0)
            return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "the columns are not valid");
        s->items[s->count - 1].saved_as_double =
            s->count <= doubles.size && doubles.data[s->count - 1] != 0;
        used += count;
        at += size;
    }
    return 0;
}

/* Whether the value is an integer that would become another one. */
static bool is_integer_without_double(const struct expression_value *value)
{
    if (value->type != EXPRESSION_NUMBER || value->number.decimals != 0) return false;
    const __int128 units = number_units(&value->number);
    return (__int128)(double)units != units;
}

/* What a value is in a row; `digits` has room for a number. */
static struct glint_slice text_of_value(const struct select_state *s,
                                        const struct expression_value *value, char *digits)
{
    static const char *const words[] = {"false", "true"};
    switch (value->type) {
    case EXPRESSION_NULL: return s->reader.null;
    case EXPRESSION_TEXT: return value->text;
    case EXPRESSION_BOOLEAN:
        return (struct glint_slice){(const uint8_t *)words[value->boolean],
                                    strlen(words[value->boolean])};
    default: assert(value->type == EXPRESSION_NUMBER);
    }
    return (struct glint_slice){(const uint8_t *)digits, number_format(digits, &value->number)};
}

static int emit_header_once(struct select_state *s, struct glint_emitter *out)
{
    s->started = true;
    if (s->header.size > 0) glint_emit_text(out, s->header);
    return 0;
}

/* Beside other columns, all columns of a row are as many as there are names. */
static bool row_has_width(const struct select_state *s, struct glint_slice row)
{
    struct glint_slice field;
    int64_t count = 0;
    while (count <= s->width && glint_next_field(&row, (char)s->reader.delimiter, &field)) count++;
    return count == s->width;
}

static const char integer_without_double[] =
    "calculated from text, an integer that no double is: save the text as it is, or as csv";

/* Evaluates an item for the fields of a row, or `texts`, which are without their escapes. */
static bool evaluate_item(const struct select_item *item, const struct glint_slice *fields,
                          bool texts, struct expression_value *out,
                          struct expression_problem *problem)
{
    struct expression e = item->expression;
    if (texts) e.null = (struct glint_slice){NULL, 0};
    return expression_evaluate(&e, fields, out, problem);
}

/* `escapes`: fields may have some. */
static int emit_selected_columns(struct select_state *s, struct glint_task *task,
                                 struct glint_slice row, bool escapes, struct glint_emitter *out)
{
    struct glint_slice fields[COLUMNS_MAX], texts[COLUMNS_MAX];
    struct expression_value value;
    struct expression_problem problem;
    char digits[NUMBER_FORMAT_MAX];
    int e = columns_find(&s->reader, task, row, fields);
    escapes = escapes && s->calculates;
    if (e > 0 && escapes && columns_unescape(&s->reader, task, fields, &s->texts, texts) != 0)
        return GLINT_E_NO_MEMORY;
    if (e <= 0) return e;
    if (s->width > 0 && !row_has_width(s, row))
        return glint_bad_row(task, row,
                             "* beside others, and not as many columns as the first line");
    s->row.size = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct select_item *item = &s->items[i];
        struct glint_slice text;
        if (item->expression.count == 0)
            text = fields[item->column];
        else if (!evaluate_item(item, escapes ? texts : fields, escapes, &value, &problem))
            return where_bad_row(&s->reader, task, row, fields, &problem);
        else if (item->saved_as_double && is_integer_without_double(&value))
            return glint_bad_row(task, row, integer_without_double);
        else
            text = text_of_value(s, &value, digits);
        if (i > 0) e = glint_append(task, &s->row, &s->reader.delimiter, 1);
        if (e >= 0) e = glint_append(task, &s->row, text.data, text.size);
        if (e < 0) return e;
    }
    glint_emit_text(out, (struct glint_slice){s->row.data, s->row.size});
    return 0;
}

static int emit_selected_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                              struct glint_emitter *out)
{
    struct select_state *s = state;
    const bool escapes = columns_may_escape(&s->reader, in);
    int e = s->started ? 0 : emit_header_once(s, out);
    for (uint32_t row = 0; e == 0 && row < in->rows; row++)
        e = emit_selected_columns(s, task, glint_column_slice(&in->value, row), escapes, out);
    return e;
}

static int emit_header_without_rows(struct glint_task *task, void *state, struct glint_emitter *out)
{
    struct select_state *s = state;
    (void)task;
    return s->started ? 0 : emit_header_once(s, out);
}

static const struct glint_function select_row = {.name = "select.row",
                                                 .kind = GLINT_KIND_FLAT_MAP,
                                                 .in = GLINT_ELEMENTS(GLINT_TEXT),
                                                 .out = GLINT_ELEMENTS(GLINT_TEXT),
                                                 .state_size = sizeof(struct select_state),
                                                 .open = select_function_init,
                                                 .batch = emit_selected_rows,
                                                 .end = emit_header_without_rows};

/* ---- The plan */

struct select_plan {
    struct table table;
    struct where_columns columns;
    uint8_t *items, *header; /* arguments of select.row */
    uint8_t *paths;          /* of columns as JSON */
    uint64_t items_size, header_size, paths_size;
    uint32_t count;
    bool star;                /* one of them is all columns */
    bool json_values;         /* columns are saved as they are in JSON */
    uint8_t types[ITEMS_MAX]; /* enum expression_type */
    uint8_t doubles[ITEMS_MAX];
    bool saves_doubles; /* the output has columns of doubles */
};

/* Whether a row, or a header, can have the text as a field, without an escape. */
static bool text_fits_row(const struct table *t, struct glint_slice text)
{
    if (t->csv != 0) return row_text_is_plain(text);
    return memchr(text.data, '\n', text.size) == NULL &&
           memchr(text.data, t->delimiter, text.size) == NULL;
}

static const char *misfit_of_text(const struct table *t)
{
    return t->csv != 0 ? "one of the bytes 0x1d, 0x1e and 0x1f" : "the delimiter or a line end";
}

/* The whole row, as one more column. */
static void parse_star_item(struct select_plan *p, struct expression_source *s)
{
    struct columns *c = &p->columns.columns;
    uint8_t head[EXPRESSION_HEAD_BYTES] = {EXPRESSION_COLUMN, EXPRESSION_TEXT};
    uint32_t at = 0;
    if (p->table.csv == FIELDS_JSON) {
        expression_fail(s, "an object has no * of columns: name them");
        return;
    }
    while (at < c->count && c->number[at] != COLUMNS_LINE) at++;
    if (at == COLUMNS_MAX) {
        expression_fail(s, "more than %d columns", COLUMNS_MAX);
        return;
    }
    if (at == c->count) columns_add_whole_line(c);
    memcpy(head + 2, &at, sizeof at);
    memcpy(s->code, head, sizeof head);
    s->code_size = sizeof head;
    p->star = true;
    expression_next_token(s);
}

/* Whether the item is a column as it is. */
static bool is_column_item(const struct expression_source *s)
{
    return s->code_size == EXPRESSION_HEAD_BYTES && s->code[0] == EXPRESSION_COLUMN;
}

/* Replaces the path of an item, which is a column, by the one that gives its value as JSON.
 * There were `paths` and `columns` of them before it. */
static void read_item_as_json(struct select_plan *p, struct expression_source *s, uint32_t paths,
                              uint32_t columns)
{
    struct columns *const c = &p->columns.columns;
    uint32_t at, number;
    uint8_t letters;
    memcpy(&at, s->code + 2, sizeof at);
    assert(at < c->count && c->number[at] > 0 && c->number[at] <= p->table.json_count);
    const struct glint_slice path = p->table.json_paths[c->number[at] - 1];
    uint8_t *const raw = p->paths + p->paths_size;
    raw[0] = FIELDS_JSON_VALUE;
    memcpy(raw + 1, path.data, path.size);
    p->paths_size += path.size + 1;
    p->table.json_count = paths; /* what is an object or array has no text */
    c->count = columns;
    if (columns_resolve(&p->table, "columns", "", (struct glint_slice){raw, path.size + 1}, &number,
                        &letters) != 0)
        return;
    glint_with_json_lines(p->table.lines, p->table.json_paths, p->table.json_count);
    for (at = 0; at < c->count && c->number[at] != number;) at++;
    if (at == c->count) c->number[c->count++] = number;
    memcpy(s->code + 2, &at, sizeof at);
}

/* A number alone, which in other options means a column. */
static void warn_of_item_that_is_number(const struct select_plan *p,
                                        const struct expression_source *s)
{
    uint32_t size;
    memcpy(&size, s->code + 6, sizeof size);
    if (s->code[0] != EXPRESSION_PUSH || s->code_size != EXPRESSION_HEAD_BYTES + size) return;
    const char *number = (const char *)s->code + EXPRESSION_HEAD_BYTES;
    glint_warn(p->table.g,
               "--columns: %.*s is this number in each row; a column is $%.*s or \"%.*s\"",
               (int)size, number, (int)size, number, (int)size, number);
}

static void parse_expression_item(struct select_plan *p, struct expression_source *s)
{
    const uint32_t paths = p->table.json_count, columns = p->columns.columns.count;
    const enum expression_type type = expression_compile(s, false);
    const uint8_t *const code = s->code;
    if (s->failed == 0 && p->json_values && is_column_item(s))
        read_item_as_json(p, s, paths, columns);
    if (s->failed != 0) return;
    if (type == EXPRESSION_NUMBER && !expression_token_is(s, "AS"))
        warn_of_item_that_is_number(p, s);
    if (p->count < ITEMS_MAX) p->types[p->count] = (uint8_t)type;
    if (type == EXPRESSION_TIME || type == EXPRESSION_TIME_OF_DAY)
        expression_fail(s, "a time is no column: write it as a text, such as '2026-01-31'");
    if (type == EXPRESSION_TEXT && code[0] == EXPRESSION_PUSH &&
        !text_fits_row(&p->table, (struct glint_slice){code + EXPRESSION_HEAD_BYTES,
                                                       s->code_size - EXPRESSION_HEAD_BYTES}))
        expression_fail(s, "a text before this contains %s", misfit_of_text(&p->table));
}

/* Appends the name of an item: that after AS, or the text of the item, or for * those of the input.
 */
static void append_item_name(struct select_plan *p, struct expression_source *s,
                             struct glint_slice item, bool quoted)
{
    const bool star = item.size == 1 && item.data[0] == '*';
    if (expression_token_is(s, "AS")) {
        expression_next_token(s);
        quoted = s->token.kind == EXPRESSION_TOKEN_QUOTED;
        if (star || (!quoted && s->token.kind != EXPRESSION_TOKEN_NAME)) {
            expression_fail(s, star ? "* has no name" : "a name is expected after AS");
            return;
        }
        item = s->token.text;
        expression_next_token(s);
    } else if (star) {
        item = glint_first_line(p->table.lines);
    }
    if (!star && !text_fits_row(&p->table, item))
        expression_fail(s, "the name before this contains %s", misfit_of_text(&p->table));
    if (p->count > 0) p->header[p->header_size++] = p->table.delimiter;
    for (uint64_t i = 0; i < item.size; i++) {
        if (quoted && item.data[i] == '"') i++; /* it is doubled */
        p->header[p->header_size++] = item.data[i];
    }
}

static void read_select_item(struct select_plan *p, struct expression_source *s)
{
    const struct expression_token first = s->token;
    if (expression_token_is(s, "*"))
        parse_star_item(p, s);
    else
        parse_expression_item(p, s);
    if (s->failed == 0 && p->count == ITEMS_MAX)
        expression_fail(s, "more than %d columns", ITEMS_MAX);
    if (s->failed != 0) return;
    const bool quoted =
        first.kind == EXPRESSION_TOKEN_QUOTED && s->code_size == EXPRESSION_HEAD_BYTES;
    const struct glint_slice text = {s->text.data + first.start, s->token.start - first.start};
    append_item_name(p, s, quoted ? first.text : glint_trim(text), quoted);
    const uint32_t code_size = (uint32_t)s->code_size;
    assert(s->code_size <= EXPRESSION_CODE_BYTES(s->text.size));
    memcpy(p->items + p->items_size, &code_size, sizeof code_size);
    memcpy(p->items + p->items_size + sizeof code_size, s->code, code_size);
    p->items_size += sizeof code_size + code_size;
    p->count++;
}

/* Allocates room for what the list may become: names of its own, and those of the input for each
 * star. Returns 0 or the context's code. */
static int allocate_name_lists(struct select_plan *p, const char *text)
{
    const uint64_t size = strlen(text), line = glint_first_line(p->table.lines).size;
    uint64_t stars = 0;
    for (const char *at = text; *at != '\0'; at++) stars += *at == '*';
    p->items = glint_alloc(p->table.g,
                           EXPRESSION_CODE_BYTES(size) + ITEMS_MAX * (4 + EXPRESSION_HEAD_BYTES));
    p->header = glint_alloc(p->table.g, size + stars * line + 1);
    p->paths = glint_alloc(p->table.g, 2 * size + 1);
    return glint_error(p->table.g)->code;
}

/* Reads --columns. Returns 0 or the context's code. */
static int parse_select_items(struct select_plan *p, const char *text)
{
    struct expression_source s;
    if (allocate_name_lists(p, text) != 0) return glint_error(p->table.g)->code;
    where_parse_begin(&s, &p->columns, &p->table, "columns", text);
    for (;;) {
        read_select_item(p, &s);
        if (s.failed != 0 || !expression_token_is(&s, ",")) break;
        expression_next_token(&s);
    }
    if (s.token.kind != EXPRESSION_TOKEN_END)
        expression_fail(&s, "a comma, AS or an operator is expected here");
    return where_parse_end(&s, &p->columns);
}

/* `header`: in each part, or once in an output of all parts one after another. */
static struct glint_rdd *selected_rows_rdd(const struct select_plan *p, bool header,
                                           const char *path)
{
    struct glint *g = p->table.g;
    const bool once = header && glint_is_stdout(g, path);
    struct glint_args *args = glint_args(g);
    columns_args(args, &p->table, &p->columns.columns);
    glint_args_add_bytes(args, "items", p->items, p->items_size);
    glint_args_add_bytes(args, "doubles", p->doubles, p->count);
    glint_args_add_i64(args, "width", p->star && p->count > 1 ? columns_count(&p->table) : 0);
    glint_args_add_bytes(args, "header", p->header, header && !once ? p->header_size : 0);
    struct glint_rdd *rows = glint_map_partitions(table_rows(&p->table), &select_row, args);
    if (!once || rows == NULL) return rows;
    const struct glint_record first = {.value.bytes = {p->header, p->header_size}};
    const struct glint_schema schema = {GLINT_NONE, GLINT_TEXT};
    return glint_union(glint_parallelize(g, schema, &first, 1, 1), rows);
}

/* The type of the column of an instruction; NULL: text. */
static const char *type_of_selected_column(const struct select_plan *p, const uint8_t *head,
                                           const struct glint_column_type *types, uint32_t count)
{
    uint32_t at;
    memcpy(&at, head + 2, sizeof at);
    const uint32_t number = p->columns.columns.number[at];
    if (columns_is_part(number)) return p->table.parts[number - COLUMNS_PART].part.type;
    return number < count ? types[number].type : NULL;
}

/* What the column of a value in OUTPUT needs to know: it is exact, or a double. */
struct exactness {
    int scale; /* -1: a double */
    bool wide; /* it may have more digits than a 64 bit integer */
    bool text; /* calculated from text and from no doubles, whose results are rounded anyway */
};

static const struct exactness is_double = {.scale = -1};

static struct exactness exactness_of_literal(struct glint_slice text)
{
    struct expression_value value;
    if (!expression_parse_value(EXPRESSION_NUMBER, text, &value) ||
        value.type != EXPRESSION_NUMBER || value.number.decimals < 0)
        return is_double;
    return (struct exactness){.scale = value.number.decimals};
}

/* As arithmetic.h calculates. */
static struct exactness exactness_of_result(enum arithmetic operation, struct exactness a,
                                            struct exactness b)
{
    if (operation == ARITHMETIC_DIVIDE || a.scale < 0 || b.scale < 0) return is_double;
    const int more = a.scale > b.scale ? a.scale : b.scale;
    const int scale = operation == ARITHMETIC_MULTIPLY ? a.scale + b.scale : more;
    if (scale > NUMBER_DIGITS_MAX) return is_double;
    return (struct exactness){.scale = scale, .wide = a.wide || b.wide};
}

/* What instructions calculate that give a number. */
static struct exactness exactness_of_instructions(const struct select_plan *p, const uint8_t *code,
                                                  uint32_t size,
                                                  const struct glint_column_type *types,
                                                  uint32_t count)
{
    struct exactness stack[EXPRESSION_DEPTH_MAX], all = is_double;
    uint32_t depth = 0, argument, text_size;
    bool known = true, text = false, floats = false;
    for (uint32_t i = 0; i < size; i += EXPRESSION_HEAD_BYTES + text_size) {
        const uint8_t *head = code + i;
        memcpy(&argument, head + 2, sizeof argument);
        memcpy(&text_size, head + 6, sizeof text_size);
        const char *type = NULL;
        if (head[0] == EXPRESSION_COLUMN) {
            type = type_of_selected_column(p, head, types, count);
            text |= type == NULL || strcmp(type, "u") == 0;
            floats |= type != NULL && type[0] != '\0' && strchr("efg", type[0]) != NULL;
        }
        if (!known) continue;
        switch (head[0]) {
        case EXPRESSION_COLUMN:
            stack[depth].scale = column_type_scale(type, &stack[depth].wide);
            depth++;
            break;
        case EXPRESSION_PUSH:
            stack[depth++] =
                exactness_of_literal((struct glint_slice){head + EXPRESSION_HEAD_BYTES, text_size});
            break;
        case EXPRESSION_NEGATE: break;
        case EXPRESSION_CALCULATE:
            assert(depth >= 2);
            depth--;
            stack[depth - 1] =
                exactness_of_result((enum arithmetic)argument, stack[depth - 1], stack[depth]);
            break;
        default: known = false;
        }
    }
    assert(!known || depth == 1);
    if (known) all = stack[0];
    all.text = text && !floats;
    return all;
}

/* The type of an item: that of a column which is saved as it is; of what is calculated bool, a 64
 * bit integer or a decimal of 38 digits if all that it is calculated from is exact, or double;
 * NULL: text. `out` has room for DECIMAL_TYPE_BYTES. */
static const char *type_of_selected_item(struct select_plan *p, uint32_t item,
                                         const uint8_t *code, uint32_t size,
                                         const struct glint_column_type *types, uint32_t count,
                                         char *out)
{
    const bool column = size == EXPRESSION_HEAD_BYTES && code[0] == EXPRESSION_COLUMN;
    if (column && p->json_values) return "+"; /* any value */
    if (column && code[1] == EXPRESSION_TEXT) return type_of_selected_column(p, code, types, count);
    if (p->types[item] == EXPRESSION_BOOLEAN) return "b";
    if (p->types[item] != EXPRESSION_NUMBER) return NULL;
    const struct exactness e = exactness_of_instructions(p, code, size, types, count);
    p->doubles[item] = p->saves_doubles && e.scale < 0 && e.text;
    if (e.scale < 0) return "g";
    if (e.scale == 0 && !e.wide) return "l";
    text_format(out, DECIMAL_TYPE_BYTES, "d:38,%d", e.scale);
    return out;
}

/* The types of the output's columns, to be freed with glint_free. NULL with the context's error. */
static const char **selected_types(struct select_plan *p)
{
    uint32_t count, out = 0;
    const struct glint_column_type *types = glint_column_types(p->table.lines, &count);
    if (glint_error(p->table.g)->code != GLINT_OK) return NULL;
    const uint32_t all = count > 0 ? count : columns_count(&p->table); /* those of a star */
    const uint64_t pointers = (uint64_t)p->count * (all + 1);
    const char **selected =
        glint_alloc(p->table.g, pointers * sizeof *selected + p->count * DECIMAL_TYPE_BYTES);
    if (selected == NULL) return NULL;
    char *decimals = (char *)(selected + pointers);
    uint32_t item = 0;
    for (uint64_t i = 0; i < p->items_size; item++) {
        uint32_t size, at;
        memcpy(&size, p->items + i, sizeof size);
        const uint8_t *code = p->items + i + sizeof size;
        memcpy(&at, code + 2, sizeof at);
        const bool star = size == EXPRESSION_HEAD_BYTES && code[0] == EXPRESSION_COLUMN &&
                          p->columns.columns.number[at] == COLUMNS_LINE;
        if (!star)
            selected[out++] = type_of_selected_item(p, item, code, size, types, count,
                                                    decimals + item * DECIMAL_TYPE_BYTES);
        for (uint32_t c = 0; star && c < all; c++)
            selected[out++] = count > 0 ? types[c].type : NULL;
        i += sizeof size + size;
    }
    return selected;
}

static int save_selected(struct select_plan *p, const struct glint_job_args *args, bool header)
{
    struct glint *g = p->table.g;
    const char *path = args->positional[1];
    if (p->table.csv != FIELDS_COLUMNS && glint_job_option(args, "output-format") == NULL)
        return row_output_save_text(selected_rows_rdd(p, header, path), args, path);
    if (header && !row_output_is_text(p->table.lines, args))
        return glint_abort(g, GLINT_E_USAGE, "leave it out, or add --output-format csv",
                           "--output-header is for text: other outputs have the names");
    const char *format = glint_job_option(args, "output-format");
    p->saves_doubles =
        format == NULL || strcmp(format, "parquet") == 0 || strcmp(format, "arrow") == 0;
    const char **types = selected_types(p);
    if (types == NULL) return glint_error(g)->code;
    const struct row_output_columns columns = {.names = {p->header, p->header_size},
                                               .types = types,
                                               .named = !p->star || p->table.header ||
                                                        p->table.csv == FIELDS_JSON,
                                               .rename = "give one of them another name with AS, "
                                                         "or leave it out"};
    const int r = row_output_save_columns(selected_rows_rdd(p, header, path), p->table.lines, args,
                                          path, &columns);
    glint_free(types);
    return r;
}

static int select_run(struct glint *g, const struct glint_job_args *args)
{
    struct select_plan p = {.count = 0};
    const char *columns = glint_job_option(args, "columns");
    const bool header = glint_job_option(args, "output-header") != NULL;
    const char *format = glint_job_option(args, "output-format");
    const bool all = columns == NULL && !header;
    int r = table_open_typed(g, args, args->positional[0], all, &p.table);
    p.json_values = p.table.csv == FIELDS_JSON && format != NULL && strcmp(format, "jsonl") == 0;
    if (r == 0 && header && columns == NULL && (!p.table.header || p.table.csv == FIELDS_JSON))
        r = glint_abort(g, GLINT_E_USAGE, "add --columns",
                        "--output-header without --columns needs --header");
    if (r == 0 && (columns == NULL || strchr(columns, '*') != NULL)) table_saves_rows(&p.table);
    if (r == 0 && !all) r = parse_select_items(&p, columns != NULL ? columns : "*");
    if (r == 0 && header && p.star && (!p.table.header || p.table.csv == FIELDS_JSON))
        r = glint_abort(g, GLINT_E_USAGE, "add --header, or name the columns",
                        "--output-header: the columns of * have no names");
    if (r == 0 && all)
        row_output_save(table_rows(&p.table), p.table.lines, args, args->positional[1]);
    if (r == 0 && !all) table_read_only_columns(&p.table, &p.columns.columns);
    if (r == 0 && !all) save_selected(&p, args, header);
    glint_free(p.items);
    glint_free(p.header);
    glint_free(p.paths);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    {"columns", "LIST", NULL,
     "columns and expressions, such as 'id, votes * 2 AS twice'; * is all columns (all columns)"},
    {"output-header", NULL, NULL,
     "the first line of each part of OUTPUT, or of standard output, has the names"},
    TABLE_OPTIONS,
    OUTPUT_FORMAT_OPTIONS,
    {NULL, NULL, NULL, NULL}};

const struct glint_job select_job = {
    .name = "select",
    .summary = "save columns, also calculated ones",
    .help = "Rows stay in the order of INPUT, and columns are in that of --columns. Texts are "
            "unchanged. Expressions are those of SQL: comparisons, AND, OR, NOT, IN, BETWEEN, "
            "LIKE, IS NULL, + - * / %, 'text', numbers, DATE '2026-01-31'. Names of columns need "
            "--header or --json-lines; $1 is the first column. Rows of JSON become CSV.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&select_row, &where_keep, &partition_row},
    .run = select_run};

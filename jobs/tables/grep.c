/* grep: the lines that contain a text, or match a pattern of PCRE2.
 *
 *     line -> kept or not
 *
 * Lines are bytes, as for grep with LC_ALL=C. A text is searched in a batch of consecutive lines at
 * once. Of CSV, a line is a record as it is in the file, but a column is a field's content.
 * Patterns are compiled to machine code by PCRE2 where the processor and the system allow it. */
#include "engine/base/text.h"
#include "engine/batch.h"
#include "engine/input/csv.h"
#include "jobs/rows/columns.h"
#include "jobs/rows/row_output.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <assert.h>
#include <pcre2.h>
#include <string.h>

enum { JIT_STACK_MIN = 32 << 10, JIT_STACK_MAX = 1 << 20 };

/* ---- Patterns. PCRE2 allocates memory from the task, or, on the driver, from the context. */

struct pattern {
    pcre2_general_context *memory;
    pcre2_compile_context *rules;
    pcre2_match_context *limits;
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_jit_stack *stack; /* NULL: code is interpreted */
};

static void *allocate_for_task(PCRE2_SIZE size, void *task)
{
    return glint_scratch(task, size);
}

static void free_for_task(void *data, void *task)
{
    (void)data, (void)task; /* freed with the task */
}

static void *allocate_for_driver(PCRE2_SIZE size, void *g)
{
    return glint_alloc(g, size);
}

static void free_for_driver(void *data, void *g)
{
    (void)g;
    glint_free(data);
}

static void pattern_fini(struct pattern *p)
{
    pcre2_jit_stack_free(p->stack);
    pcre2_match_data_free(p->match);
    pcre2_code_free(p->code);
    pcre2_match_context_free(p->limits);
    pcre2_compile_context_free(p->rules);
    pcre2_general_context_free(p->memory);
    *p = (struct pattern){.memory = NULL};
}

/* Compiles a pattern for `p->memory`. Returns 0, or PCRE2's number of the error, which is at byte
 * *out_offset of the pattern. */
static int pattern_compile(struct pattern *p, struct glint_slice text, uint32_t options,
                           size_t *out_offset)
{
    int error = PCRE2_ERROR_NOMEMORY;
    *out_offset = 0;
    p->rules = p->memory != NULL ? pcre2_compile_context_create(p->memory) : NULL;
    if (p->rules == NULL) return error;
    pcre2_set_newline(p->rules, PCRE2_NEWLINE_LF); /* only records of CSV contain one */
    p->code = pcre2_compile(text.data, text.size, options, &error, out_offset, p->rules);
    return p->code != NULL ? 0 : error;
}

/* Prepares a compiled pattern for matching. Returns false when out of memory. */
static bool pattern_prepare(struct pattern *p)
{
    p->limits = pcre2_match_context_create(p->memory);
    p->match = pcre2_match_data_create(1, p->memory);
    if (p->limits == NULL || p->match == NULL) return false;
    if (pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) != 0) return true;
    p->stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, p->memory);
    if (p->stack != NULL) pcre2_jit_stack_assign(p->limits, NULL, p->stack);
    return p->stack != NULL;
}

/* ---- grep.keep */

enum { GREP_REGEX = 1, GREP_IGNORE_CASE = 2, GREP_INVERT = 4, GREP_COLUMN = 8 };

struct keep_state {
    int64_t flags;
    struct glint_slice text;
    struct pattern pattern;
    struct columns_reader reader; /* GREP_COLUMN */
    struct glint_slice null_text; /* of null, as it is in the file */
    int64_t delimiter;            /* of records of CSV; 0: rows are lines, or plain rows */
    struct glint_buffer plain;
};

static bool is_fixed_string_search(int64_t flags)
{
    return (flags & (GREP_REGEX | GREP_IGNORE_CASE)) == 0;
}

/* PCRE2 also finds texts whose case is ignored. */
static uint32_t pattern_options(int64_t flags)
{
    const uint32_t options = (flags & GREP_IGNORE_CASE) != 0 ? PCRE2_CASELESS : 0;
    if ((flags & GREP_REGEX) == 0) return options | PCRE2_LITERAL;
    return options | PCRE2_NEVER_UTF | PCRE2_DOLLAR_ENDONLY;
}

static int grep_init(struct glint_task *task, void *state)
{
    struct keep_state *s = state;
    size_t offset;
    int e = glint_arg_i64(task, "flags", &s->flags);
    if (e == 0) e = glint_arg_slice(task, "pattern", &s->text);
    if (e == 0) e = glint_arg_i64(task, "csv", &s->delimiter);
    if (e == 0 && (s->flags & GREP_COLUMN) != 0) e = columns_open(task, &s->reader);
    if (e == 0 && (s->flags & GREP_COLUMN) != 0)
        e = glint_arg_slice(task, "null_text", &s->null_text);
    if (e != 0 || is_fixed_string_search(s->flags)) return e;
    s->pattern.memory = pcre2_general_context_create(allocate_for_task, free_for_task, task);
    e = pattern_compile(&s->pattern, s->text, pattern_options(s->flags), &offset);
    if (e == 0 && pattern_prepare(&s->pattern)) return 0;
    return glint_fail(task, GLINT_E_NO_MEMORY, NULL, "a pattern cannot be compiled");
}

static void grep_fini(struct glint_task *task, void *state)
{
    (void)task;
    pattern_fini(&((struct keep_state *)state)->pattern);
}

/* Returns 1 if the text matches, 0 if not, or a code: too many steps are an error of the row. A bad
 * row that is skipped sets *out_bad. */
static int find_pattern_in_text(const struct keep_state *s, struct glint_task *task,
                                struct glint_slice text, struct glint_slice row, bool *out_bad)
{
    const struct pattern *p = &s->pattern;
    int r = pcre2_match(p->code, text.data, text.size, 0, 0, p->match, p->limits);
    if (r >= 0) return 1;
    if (r == PCRE2_ERROR_NOMATCH) return 0;
    *out_bad = true;
    if (r == PCRE2_ERROR_NOMEMORY)
        return glint_fail(task, GLINT_E_NO_MEMORY, NULL, "no memory to match a pattern");
    return glint_bad_row(task, row, "the pattern takes too many steps");
}

/* Empties the buffer, with room for a record as a plain row. Returns 0 or a code. */
static int reserve_row(struct glint_task *task, struct glint_buffer *buffer,
                       struct glint_slice record)
{
    int e = 0;
    buffer->size = 0;
    for (int i = 0; e >= 0 && i < 2 && 2 * record.size > buffer->capacity; i++)
        e = glint_append(task, buffer, record.data, record.size);
    buffer->size = 0;
    return e < 0 ? e : 0;
}

/* Other jobs read the same records as bad rows. Returns 1, 0 if it was bad and skipped, or a code.
 */
static int check_csv_record(struct keep_state *s, struct glint_task *task, struct glint_slice row)
{
    uint64_t size;
    if (reserve_row(task, &s->plain, row) != 0) return GLINT_E_NO_MEMORY;
    const char *problem =
        csv_to_plain(row.data, row.size, (uint8_t)s->delimiter, s->plain.data, &size);
    if (problem == NULL) return 1;
    return glint_bad_row(task, row, problem);
}

/* Replaces a field by its text, until the next call. Returns 0 or a code. */
static int unescape_field(struct keep_state *s, struct glint_task *task, struct glint_slice *field)
{
    s->plain.size = 0;
    const int e = glint_append(task, &s->plain, field->data, field->size);
    if (e < 0) return e;
    *field = (struct glint_slice){s->plain.data, glint_unescape_field(*field, s->plain.data)};
    return 0;
}

/* Returns 1 if the row is kept, 0 if not, or a code. */
static int match_row(struct keep_state *s, struct glint_task *task, struct glint_slice row)
{
    struct glint_slice field = row;
    bool bad = false;
    if (s->delimiter != 0) {
        int e = check_csv_record(s, task, row);
        if (e <= 0) return e;
    }
    if ((s->flags & GREP_COLUMN) != 0) {
        int e = columns_find(&s->reader, task, row, &field);
        if (e <= 0) return e;
        if (nulls_is(s->reader.null, field))
            field = s->null_text;
        else if (s->reader.escapes && glint_field_has_escape(field) &&
                 unescape_field(s, task, &field) != 0)
            return GLINT_E_NO_MEMORY;
    }
    const int found = is_fixed_string_search(s->flags)
                          ? s->text.size == 0 ||
                                memmem(field.data, field.size, s->text.data, s->text.size) != NULL
                          : find_pattern_in_text(s, task, field, row, &bad);
    if (found < 0 || bad) return found;
    return found != ((s->flags & GREP_INVERT) != 0);
}

static int keep_if_matching(struct glint_task *task, void *state, const struct glint_record *in)
{
    return match_row(state, task, in->value.bytes);
}

/* Consecutive lines: searches all of them at once, and finds the line of each hit. The text has no
 * line end, so a hit is inside one line. */
static uint32_t select_matching_lines(const struct keep_state *s, const struct glint_column *lines,
                                      uint32_t rows, uint16_t *out_rows)
{
    const bool invert = (s->flags & GREP_INVERT) != 0;
    const uint8_t *at = lines->base + lines->start[0], *end = lines->base + lines->end[rows - 1];
    uint32_t row = 0, kept = 0;
    while (row < rows) {
        const uint8_t *hit = memmem(at, (size_t)(end - at), s->text.data, s->text.size);
        for (; row < rows && (hit == NULL || hit > lines->base + lines->end[row]); row++) {
            out_rows[kept] = (uint16_t)row;
            kept += invert;
        }
        if (row == rows) break;
        out_rows[kept] = (uint16_t)row;
        kept += !invert;
        if (++row < rows) at = lines->base + lines->start[row];
    }
    return kept;
}

static int select_matching_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                                uint16_t *out_rows, uint32_t *out_count)
{
    struct keep_state *s = state;
    const struct glint_column *lines = &in->value;
    uint32_t kept = 0;
    *out_count = 0;
    if (is_fixed_string_search(s->flags) && (s->flags & GREP_COLUMN) == 0 && s->text.size > 0 &&
        in->rows > 0 && lines->start != NULL && lines->lines == lines->start && s->delimiter == 0) {
        *out_count = select_matching_lines(s, lines, in->rows, out_rows);
        return 0;
    }
    for (uint32_t row = 0; row < in->rows; row++) {
        int keep = match_row(s, task, glint_column_slice(lines, row));
        if (keep < 0) return keep;
        out_rows[kept] = (uint16_t)row;
        kept += (uint32_t)keep;
    }
    assert(kept <= in->rows);
    *out_count = kept;
    return 0;
}

static const struct glint_function keep = {.name = "grep.keep",
                                           .kind = GLINT_KIND_FILTER,
                                           .in = {GLINT_ANY, GLINT_TEXT},
                                           .out = {GLINT_SAME, GLINT_SAME},
                                           .state_size = sizeof(struct keep_state),
                                           .open = grep_init,
                                           .keep = keep_if_matching,
                                           .keep_batch = select_matching_rows,
                                           .close = grep_fini};

/* ---- grep.row: a record as a plain row, for outputs of columns */

struct row_state {
    int64_t delimiter;
    struct glint_slice nulls; /* as csv_to_row has them */
    struct glint_buffer plain;
};

static int row_init(struct glint_task *task, void *state)
{
    struct row_state *s = state;
    const int e = glint_arg_i64(task, "csv", &s->delimiter);
    return e == 0 ? glint_arg_slice(task, "nulls", &s->nulls) : e;
}

/* That it is a record was checked before. */
static int record_to_row(struct glint_task *task, void *state, const struct glint_record *in,
                         struct glint_emitter *out)
{
    struct row_state *s = state;
    const struct glint_slice row = in->value.bytes;
    const struct glint_slice nulls = s->nulls.size > 1 ? s->nulls : (struct glint_slice){NULL, 0};
    struct glint_record plain = {.key = in->key};
    uint64_t size;
    if (reserve_row(task, &s->plain, row) != 0) return GLINT_E_NO_MEMORY;
    const char *problem =
        csv_to_row(row.data, row.size, (uint8_t)s->delimiter, nulls, s->plain.data, &size);
    if (problem != NULL) return glint_bad_row(task, row, problem);
    plain.value.bytes = (struct glint_slice){s->plain.data, size};
    glint_emit(out, &plain);
    return 0;
}

static const struct glint_function to_row = {.name = "grep.row",
                                             .kind = GLINT_KIND_FLAT_MAP,
                                             .in = {GLINT_ANY, GLINT_TEXT},
                                             .out = {GLINT_NONE, GLINT_TEXT},
                                             .state_size = sizeof(struct row_state),
                                             .open = row_init,
                                             .each = record_to_row};

/* ---- The plan */

/* Compiles the pattern once on the driver, to report what is wrong with it. */
static int check_pattern(struct glint *g, const char *text, int64_t flags, bool csv)
{
    struct pattern p = {.memory =
                            pcre2_general_context_create(allocate_for_driver, free_for_driver, g)};
    const struct glint_slice pattern = {(const uint8_t *)text, strlen(text)};
    size_t offset;
    if (!csv && memchr(text, '\n', pattern.size) != NULL)
        glint_abort(g, GLINT_E_BAD_VALUE, "use a pattern without line ends",
                    "PATTERN contains a line end, which no line contains");
    int error = is_fixed_string_search(flags)
                    ? 0
                    : pattern_compile(&p, pattern, pattern_options(flags), &offset);
    if (error != 0) {
        PCRE2_UCHAR reason[256] = "";
        pcre2_get_error_message(error, reason, sizeof reason);
        glint_abort(g, GLINT_E_BAD_VALUE, "without --regex, PATTERN is a text",
                    "the pattern \"%s\" is not valid: byte %zu: %s", text, offset + 1,
                    (const char *)reason);
    }
    pattern_fini(&p);
    return glint_error(g)->code;
}

static int64_t read_flags(struct glint *g, const struct glint_job_args *args)
{
    int64_t flags = 0;
    if (glint_job_option(args, "regex") != NULL) flags |= GREP_REGEX;
    if (glint_job_option(args, "ignore-case") != NULL) flags |= GREP_IGNORE_CASE;
    if (glint_job_option(args, "invert") != NULL) flags |= GREP_INVERT;
    if (glint_job_option(args, "column") != NULL) flags |= GREP_COLUMN;
    /* -v of grep and ripgrep is another one. */
    if (glint_job_given(args, "verbose") && (flags & GREP_INVERT) == 0)
        glint_warn(g, "-v is --verbose; --invert keeps the lines that do not match");
    return flags;
}

/* The records of CSV as they are in the files. Returns 0 or the context's code. */
static int read_csv_records(struct glint *g, const struct glint_job_args *args, const char *paths,
                            uint8_t csv, struct table *out)
{
    struct glint_rdd *records = glint_with_csv_records(glint_text_file(g, paths), (char)csv);
    *out = (struct table){.g = g, .paths = paths, .lines = records};
    if (glint_job_option(args, "header") != NULL) out->lines = glint_with_header(records);
    return glint_error(g)->code;
}

/* Kept records as columns: those of the header, which all files must have. Returns the context's
 * code. */
static int save_records(struct glint_rdd *kept, struct glint_rdd *records, uint8_t csv,
                        const struct glint_job_args *args)
{
    struct glint *g = glint_context(records);
    const char *paths = args->positional[1];
    const bool header = glint_job_option(args, "header") != NULL;
    char text[NULL_TEXT_MAX + 2];
    struct nulls nulls;
    struct glint_rdd *source = fields_source(glint_text_file(g, paths), csv, header);
    columns_match_rows(records, csv, header);
    if (nulls_read_option(g, args, csv, csv, &nulls) == 0) nulls_source(source, &nulls);
    struct glint_args *row_args = glint_args(g);
    glint_args_add_i64(row_args, "csv", csv);
    text_format(text, sizeof text, "0%s", nulls.text);
    glint_args_add_text(row_args, "nulls", text);
    return row_output_save(glint_flat_map(kept, &to_row, row_args), source, args,
                           args->positional[2]);
}

static int grep_run(struct glint *g, const struct glint_job_args *args)
{
    const char *const *paths = args->positional; /* PATTERN INPUT OUTPUT */
    const int64_t flags = read_flags(g, args);
    struct table table;
    struct columns columns = {.count = 0};
    uint8_t delimiter, csv;
    if (fields_delimiter(g, args, "delimiter", paths[1], &delimiter, &csv) != 0 ||
        check_pattern(g, paths[0], flags, csv != 0) != 0)
        return glint_error(g)->code;
    if (csv == FIELDS_COLUMNS && glint_job_option(args, "column") == NULL)
        return glint_abort(g, GLINT_E_USAGE, "add --column",
                           "files of columns have no lines to search: %s", paths[1]);
    if (glint_job_option(args, "where") != NULL && csv != 0 && (flags & GREP_COLUMN) == 0)
        return glint_abort(g, GLINT_E_USAGE, "add --column",
                           "--where needs --column if rows are CSV or lines of JSON: without it, "
                           "PATTERN is searched in them as they are in the file");
    const bool records =
        csv != 0 && csv != FIELDS_JSON && csv != FIELDS_COLUMNS && (flags & GREP_COLUMN) == 0;
    if ((records ? read_csv_records(g, args, paths[1], csv, &table)
                 : table_open(g, args, paths[1], &table)) != 0)
        return glint_error(g)->code;
    if (!records) table_saves_rows(&table);
    if (columns_read_option(&table, args, "column", "", &columns) != 0) return glint_error(g)->code;
    if (columns.count > 1)
        return glint_abort(g, GLINT_E_BAD_VALUE, NULL, "--column: more than one column");
    const char *format = glint_job_option(args, "output-format");
    struct glint_args *keep_args = glint_args(g);
    if (columns.count > 0) columns_args(keep_args, &table, &columns);
    glint_args_add_text(keep_args, "pattern", paths[0]);
    glint_args_add_text(keep_args, "null_text", glint_job_option(args, "null"));
    glint_args_add_i64(keep_args, "flags", flags);
    glint_args_add_i64(keep_args, "csv", records ? csv : 0);
    struct glint_rdd *kept = glint_filter(table_rows(&table), &keep, keep_args);
    if (records && format != NULL && strcmp(format, "csv") != 0 && kept != NULL)
        return save_records(kept, table.lines, csv, args);
    return row_output_save(kept, table.lines, args, paths[2]);
}

static const struct glint_job_option options[] = {
    {"regex", NULL, NULL, "PATTERN is a regular expression of PCRE2 (that of Perl)"},
    {"ignore-case", NULL, NULL, "letters of ASCII match in upper and lower case"},
    {"invert", NULL, NULL, "save the lines that do not match"},
    {"column", "COL", NULL, "match only this column: its number or, with --header, its name"},
    TABLE_OPTIONS,
    OUTPUT_FORMAT_OPTIONS,
    {NULL, NULL, NULL, NULL}};

const struct glint_job grep_job = {
    .name = "grep",
    .summary = "save the lines that contain a text or match a pattern",
    .help = "The lines are saved in the order of INPUT, as grep prints them with LC_ALL=C: a byte "
            "is a character. With --csv PATTERN is searched in the record as it is in the file, "
            "quotes and delimiters included, with --column in the content of the field.",
    .positional = {"PATTERN", "INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&keep, &to_row},
    .run = grep_run};

/* agg: results as columns of an output: their names and types. See agg.h.
 *
 * A number of a column of text has the type of all results: a 64 bit integer if each is one, else a
 * decimal with their digits, or a double if one of them is. So they are computed twice from the map
 * outputs of the groups, once to see how many digits they have. */
#include "engine/base/text.h"
#include "engine/input/row_text.h"
#include "jobs/rows/row_output.h"
#include "jobs/tables/agg.h"

#include <assert.h>
#include <string.h>

enum { WIDE_DIGITS_MAX = 76 }; /* of a decimal of 256 bits */

/* ---- agg.numberForms: what the results of all groups are: a form for each, all else zeros */

struct agg_form {
    uint8_t whole, decimals; /* the most digits before and after the point */
    uint8_t wide, rounded;   /* 1: one is no 64 bit integer; one is a double */
};

static void widen_form(struct agg_form *form, const struct agg_form *by)
{
    if (by->whole > form->whole) form->whole = by->whole;
    if (by->decimals > form->decimals) form->decimals = by->decimals;
    form->wide |= by->wide;
    form->rounded |= by->rounded;
}

static struct agg_form form_of_exact_number(const char *text, size_t size)
{
    const size_t sign = text[0] == '-';
    const char *const point = memchr(text, '.', size);
    const size_t whole = (point != NULL ? (size_t)(point - text) : size) - sign;
    int64_t integer;
    assert(size <= EXACT_SUM_FORMAT_MAX);
    return (struct agg_form){.whole = whole == 1 && text[sign] == '0' ? 0 : (uint8_t)whole,
                             .decimals = point != NULL ? (uint8_t)(size - sign - whole - 1) : 0,
                             .wide = !text_parse_i64((const uint8_t *)text, size, &integer)};
}

static int number_forms_open(struct glint_task *task, void *state)
{
    return agg_open_plan(task, state);
}

/* The accumulator begins as a form, all zeros, for each result. */
static struct agg_form *forms_of_acc(struct glint_task *task, const struct agg_plan *p,
                                     struct glint_acc *acc)
{
    static const struct agg_form none[AGG_OUTPUTS_MAX];
    const uint64_t size = p->output_count * sizeof(struct agg_form);
    if (acc->value.bytes.size != size && glint_acc_set(task, acc, none, size) != 0) return NULL;
    return (struct agg_form *)glint_acc_bytes(acc);
}

static int add_group_to_forms(struct glint_task *task, void *state, struct glint_acc *acc,
                              const union glint_value *value)
{
    const struct agg_plan *p = state;
    char text[EXACT_SUM_FORMAT_MAX];
    struct agg_form *forms = forms_of_acc(task, p, acc);
    if (forms == NULL) return GLINT_E_NO_MEMORY;
    const int e = agg_acc_check(task, p, value->bytes);
    for (uint32_t i = 0; e == 0 && i < p->output_count; i++) {
        const uint8_t kind = p->outputs[i].kind;
        if (kind != AGG_SUM && kind != AGG_MIN && kind != AGG_MAX) continue;
        const struct agg_column c = agg_acc_column(p, value->bytes.data, p->outputs[i].index);
        const struct number *const limit = kind == AGG_MIN ? &c.min : &c.max;
        struct agg_form form = {.rounded = 1};
        if (c.values == 0) continue;
        if (kind == AGG_SUM ? !c.rounded : limit->decimals >= 0)
            form = form_of_exact_number(
                text, agg_format_number(text, p, p->outputs[i], value->bytes.data));
        widen_form(&forms[i], &form);
    }
    return e;
}

static int combine_forms(struct glint_task *task, void *state, struct glint_acc *acc,
                         const union glint_value *other)
{
    const struct agg_plan *p = state;
    struct agg_form *forms = forms_of_acc(task, p, acc);
    if (forms == NULL) return GLINT_E_NO_MEMORY;
    if (other->bytes.size == 0) return 0; /* of a partition without groups */
    if (other->bytes.size != p->output_count * sizeof *forms)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "forms of numbers are not valid");
    for (uint32_t i = 0; i < p->output_count; i++) {
        struct agg_form form;
        memcpy(&form, other->bytes.data + i * sizeof form, sizeof form);
        widen_form(&forms[i], &form);
    }
    return 0;
}

const struct glint_function agg_number_forms = {.name = "agg.numberForms",
                                                .kind = GLINT_KIND_AGGREGATE,
                                                .in = {GLINT_ANY, GLINT_BYTES},
                                                .out = {GLINT_SAME, GLINT_BYTES},
                                                .state_size = sizeof(struct agg_plan),
                                                .open = number_forms_open,
                                                .merge = add_group_to_forms,
                                                .combine = combine_forms};

/* ---- Names and types */

enum { RESULT_NAME_BYTES = 64 }; /* of a result's name, beside that of its column */

enum type_source {
    TYPE_KNOWN,
    TYPE_UNLESS_ROUNDED, /* a double, if a result is rounded */
    TYPE_OF_VALUES       /* of text: fields have no type */
};

struct result_types {
    const char *types[COLUMNS_MAX + AGG_OUTPUTS_MAX];
    char texts[COLUMNS_MAX + AGG_OUTPUTS_MAX][DECIMAL_TYPE_BYTES]; /* where types of decimals are */
    enum type_source sources[COLUMNS_MAX + AGG_OUTPUTS_MAX];
    bool of_values; /* one of them is not known yet */
    struct glint_rdd *groups;
    struct glint_args *args; /* of agg_number_forms */
    const struct agg_plan *plan;
};

/* Names of results are these and that of the column in brackets: sum(votes). */
static const char *const kind_names[AGG_KINDS] = {
    [AGG_SUM] = "sum",           [AGG_MIN] = "min",
    [AGG_MIN_TEXT] = "min_text", [AGG_MAX] = "max",
    [AGG_MAX_TEXT] = "max_text", [AGG_MEAN] = "mean",
    [AGG_COUNT] = "count",       [AGG_DISTINCT] = "distinct",
    [AGG_VARIANCE] = "variance", [AGG_VARIANCE_POP] = "variance_pop",
    [AGG_STDDEV] = "stddev",     [AGG_STDDEV_POP] = "stddev_pop",
    [AGG_QUANTILE] = "quantile", [AGG_FIRST] = "first",
    [AGG_LAST] = "last",
};

/* Where the column of a result is among all columns. */
static uint32_t column_of_result(const struct agg_plan *p, struct agg_output result)
{
    assert(result.kind < AGG_KINDS);
    const uint32_t texts = (uint32_t)p->by + p->numbers + p->distinct;
    switch ((enum agg_kind)result.kind) {
    case AGG_DISTINCT: return (uint32_t)p->by + p->numbers + result.index;
    case AGG_QUANTILE: return (uint32_t)p->by + p->quantiles[result.index].column;
    case AGG_MIN_TEXT:
    case AGG_MAX_TEXT:
    case AGG_FIRST:
    case AGG_LAST: return texts + p->text[result.index].column;
    default: return (uint32_t)p->by + result.index;
    }
}

/* A sum of integers or decimals is a decimal, which is exact; NULL: its values tell. `out` has room
 * for DECIMAL_TYPE_BYTES. */
static const char *type_of_sum(const char *type, char *out)
{
    bool wide;
    const int scale = column_type_scale(type, &wide);
    if (scale >= 0) text_format(out, DECIMAL_TYPE_BYTES, "d:38,%d", scale);
    if (scale >= 0) return out;
    const bool real = type != NULL && type[0] != '\0' && type[1] == '\0' && strchr("efg", type[0]);
    return real ? "g" : NULL;
}

static const char *type_of_result(enum agg_kind kind, const char *type, char *out)
{
    switch (kind) {
    case AGG_SUM: return type_of_sum(type, out);
    case AGG_COUNT:
    case AGG_DISTINCT: return "l";
    case AGG_MEAN:
    case AGG_VARIANCE:
    case AGG_VARIANCE_POP:
    case AGG_STDDEV:
    case AGG_STDDEV_POP:
    case AGG_QUANTILE: return "g";
    default: return type;
    }
}

/* What the header, or --json-lines, calls a column. */
static struct glint_slice name_of_column(const struct table *t, struct glint_slice header,
                                         uint32_t number)
{
    struct glint_slice rest = header, name = {NULL, 0};
    if (columns_is_part(number)) return t->parts[number - COLUMNS_PART].name;
    if (t->csv == FIELDS_JSON)
        return number > 0 && number <= t->json_count ? t->json_paths[number - 1] : name;
    for (uint32_t at = 0; at <= number; at++)
        if (!glint_next_name(&rest, (char)t->delimiter, &name))
            return (struct glint_slice){NULL, 0};
    return name;
}

static char *append_slice(char *at, struct glint_slice text)
{
    if (text.size > 0) memcpy(at, text.data, text.size);
    return at + text.size;
}

/* Writes sum(votes), quantile(votes,0.9) or count, of at most name.size + RESULT_NAME_BYTES. */
static char *append_result_name(char *at, const struct agg_plan *p, struct agg_output result,
                                struct glint_slice name)
{
    char digits[NUMBER_FORMAT_MAX];
    const char *kind = kind_names[result.kind];
    at = append_slice(at, (struct glint_slice){(const uint8_t *)kind, strlen(kind)});
    if (result.kind == AGG_COUNT) return at;
    *at++ = '(';
    at = append_slice(at, name);
    if (result.kind == AGG_QUANTILE) {
        const size_t size = number_format(digits, &p->quantiles[result.index].at);
        assert(size < RESULT_NAME_BYTES / 2);
        *at++ = ',';
        at = append_slice(at, (struct glint_slice){(const uint8_t *)digits, size});
    }
    *at++ = ')';
    return at;
}

/* Whether numbers of a type may be rounded to doubles: decimals of more than 38 digits. */
static bool is_type_of_many_digits(const char *type)
{
    int precision = 0;
    if (type == NULL || strncmp(type, "d:", 2) != 0) return false;
    for (const char *at = type + 2; *at >= '0' && *at <= '9' && precision < 100; at++)
        precision = precision * 10 + (*at - '0');
    return precision > NUMBER_DIGITS_MAX;
}

/* How the type of the result of a column depends on the values. */
static enum type_source source_of_type(enum agg_kind kind, const char *type)
{
    char text[DECIMAL_TYPE_BYTES];
    bool known = kind != AGG_SUM && type != NULL && type[0] == 'd';
    if (kind != AGG_SUM && kind != AGG_MIN && kind != AGG_MAX) return TYPE_KNOWN;
    known |= type_of_sum(type, text) != NULL;
    return !known                         ? TYPE_OF_VALUES
           : is_type_of_many_digits(type) ? TYPE_UNLESS_ROUNDED
                                          : TYPE_KNOWN;
}

/* Writes the names, separated, and sets types. Returns where the names end. */
static char *write_names_and_types(char *at, const struct table *t, const struct agg_plan *p,
                                   const struct columns *c, const struct glint_slice *names,
                                   const struct glint_column_type *inputs, uint32_t input_count,
                                   struct result_types *out)
{
    const uint32_t fields = (uint32_t)p->by + p->output_count;
    for (uint32_t i = 0; i < fields; i++) {
        const bool by = i < p->by;
        const struct agg_output result = by ? (struct agg_output){0} : p->outputs[i - p->by];
        const uint32_t column = by ? i : column_of_result(p, result);
        const uint32_t number = column < c->count ? c->number[column] : GLINT_NO_COLUMN;
        const char *type = number < input_count      ? inputs[number].type
                           : columns_is_part(number) ? t->parts[number - COLUMNS_PART].part.type
                                                     : NULL;
        const struct glint_slice name = column < c->count ? names[column] : (struct glint_slice){0};
        if (i > 0) *at++ = ROW_OUTPUT_SEPARATOR;
        at = by ? append_slice(at, name) : append_result_name(at, p, result, name);
        out->sources[i] = by ? TYPE_KNOWN : source_of_type((enum agg_kind)result.kind, type);
        out->of_values |= out->sources[i] != TYPE_KNOWN;
        out->types[i] = by ? type : type_of_result((enum agg_kind)result.kind, type, out->texts[i]);
    }
    return at;
}

/* Sets the types that the values of the results tell. Returns 0 or the context's code. */
static int find_types_of_values(void *arg, struct glint_column_type *columns)
{
    struct result_types *const t = arg;
    const struct agg_plan *p = t->plan;
    const union glint_value zero = {.bytes = {(const uint8_t *)"", 0}};
    struct glint_rows rows = {.count = 0};
    if (!t->of_values) return 0;
    const int r = glint_aggregate(t->groups, zero, &agg_number_forms, t->args, &rows);
    if (r != 0) return r;
    const struct glint_slice forms = glint_rows_at(&rows, 0).value.bytes;
    for (uint32_t i = p->by; i < (uint32_t)p->by + p->output_count; i++) {
        struct agg_form form = {.whole = 0};
        if (forms.size > 0) memcpy(&form, forms.data + (i - p->by) * sizeof form, sizeof form);
        const bool rounded = form.rounded || form.whole + form.decimals > WIDE_DIGITS_MAX;
        if (t->sources[i] == TYPE_UNLESS_ROUNDED && rounded) columns[i].type = "g";
        if (t->sources[i] != TYPE_OF_VALUES) continue;
        columns[i].type = rounded ? "g" : "l";
        if (rounded || (!form.wide && form.decimals == 0)) continue;
        const bool large = form.whole + form.decimals > NUMBER_DIGITS_MAX;
        text_format(t->texts[i], sizeof t->texts[i], large ? "d:76,%d,256" : "d:38,%d",
                    form.decimals);
        columns[i].type = t->texts[i];
    }
    glint_rows_free(&rows);
    return 0;
}

int agg_save(struct glint_rdd *groups, struct glint_args *function_args, const struct table *t,
             const struct glint_job_args *args, const struct columns *c, const struct agg_plan *p)
{
    struct glint_rdd *const rows = glint_map(groups, &agg_line, function_args);
    uint32_t count = 0;
    struct glint_slice names[COLUMNS_MAX];
    struct result_types types = {.groups = groups, .args = function_args, .plan = p};
    const char *path = args->positional[1];
    if (t->csv != FIELDS_COLUMNS && glint_job_option(args, "output-format") == NULL)
        return row_output_save_text(rows, args, path);
    const struct glint_column_type *inputs = glint_column_types(t->lines, &count);
    const struct glint_slice header = glint_first_line(t->lines);
    if (glint_error(t->g)->code != GLINT_OK) return glint_error(t->g)->code;
    uint64_t longest = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        names[i] = name_of_column(t, header, c->number[i]);
        if (names[i].size > 0 && !row_text_is_plain(names[i]))
            return glint_abort(t->g, GLINT_E_BAD_VALUE, "use --output-format csv",
                               "a name in OUTPUT contains one of the bytes 0x1d, 0x1e and 0x1f");
        if (names[i].size > longest) longest = names[i].size;
    }
    const uint64_t fields = (uint64_t)p->by + p->output_count;
    char *const text = glint_alloc(t->g, fields * (longest + RESULT_NAME_BYTES));
    if (text == NULL) return glint_error(t->g)->code;
    const char *end = write_names_and_types(text, t, p, c, names, inputs, count, &types);
    assert(end <= text + fields * (longest + RESULT_NAME_BYTES));
    const struct row_output_columns columns = {
        .names = {(const uint8_t *)text, (uint64_t)(end - text)},
        .types = types.types,
        .find_types = row_output_is_text(t->lines, args) ? NULL : find_types_of_values,
        .find_types_arg = &types,
        .named = t->header || t->csv == FIELDS_JSON,
        .rename = "choose each result once; a column gets "
                  "another name by glint submit select"};
    const int r = row_output_save_columns(rows, t->lines, args, path, &columns);
    glint_free(text);
    return r;
}

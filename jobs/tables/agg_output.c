/* agg: the names and types of its results, for outputs that are files of columns. */
#include "jobs/rows/row_output.h"
#include "jobs/tables/agg.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

enum { RESULT_NAME_BYTES = 64 }; /* of a result's name, beside that of its column */

struct result_types {
    const char *types[COLUMNS_MAX + AGG_OUTPUTS_MAX];
    char sums[COLUMNS_MAX + AGG_OUTPUTS_MAX][DECIMAL_TYPE_BYTES]; /* where types of sums are */
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

/* A sum of integers or decimals is a decimal, which is exact; one of texts is a text. `out` has
 * room for DECIMAL_TYPE_BYTES. */
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

/* Writes the names, separated, and sets types. Returns where the names end. */
static char *describe_results(char *at, const struct table *t, const struct agg_plan *p,
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
        out->types[i] = by ? type : type_of_result((enum agg_kind)result.kind, type, out->sums[i]);
    }
    return at;
}

int agg_save(struct glint_rdd *rows, const struct table *t, const struct glint_job_args *args,
             const struct columns *c, const struct agg_plan *p)
{
    uint32_t count = 0;
    struct glint_slice names[COLUMNS_MAX];
    struct result_types types;
    const char *path = args->positional[1];
    if (t->csv != FIELDS_COLUMNS && glint_job_option(args, "output-format") == NULL)
        return row_output_save_text(rows, args, path);
    const struct glint_column_type *inputs = glint_column_types(t->lines, &count);
    const struct glint_slice header = glint_first_line(t->lines);
    if (glint_error(t->g)->code != GLINT_OK) return glint_error(t->g)->code;
    uint64_t longest = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        names[i] = name_of_column(t, header, c->number[i]);
        if (names[i].size > longest) longest = names[i].size;
    }
    const uint64_t fields = (uint64_t)p->by + p->output_count;
    char *const text = glint_alloc(t->g, fields * (longest + RESULT_NAME_BYTES));
    if (text == NULL) return glint_error(t->g)->code;
    const char *end = describe_results(text, t, p, c, names, inputs, count, &types);
    assert(end <= text + fields * (longest + RESULT_NAME_BYTES));
    const struct row_output_columns columns = {
        .names = {(const uint8_t *)text, (uint64_t)(end - text)},
        .types = types.types,
        .named = t->header || t->csv == FIELDS_JSON,
        .rename = "choose each result once; a column gets "
                  "another name by glint submit select"};
    const int r = row_output_save_columns(rows, t->lines, args, path, &columns);
    glint_free(text);
    return r;
}

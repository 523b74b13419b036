/* params: computes the size of each key's filter, like the first stage of the multi-set paper.
 *
 *     line -> (key, 1) -> reduceByKey(+) -> (key, n) -> key TAB n TAB m TAB k
 *
 * Counts are combined in the map tasks. With a file of probabilities each key is sized by its own:
 * the counts are joined with it, so neither side has to fit into memory. */
#include "engine/base/text.h"
#include "jobs/papers/lists.h"
#include "jobs/rows/key_lines.h"
#include "jobs/rows/row_counts.h"

#include <assert.h>
#include <string.h>

/* ---- params.size, params.size_own: (key, n), (key, [n, p]) -> (key, "n TAB m
 * TAB k") */

struct size_state {
    int64_t scheme, text; /* text: keys are text */
    double p;
};

static int params_function_init(struct glint_task *task, void *state)
{
    struct size_state *s = state;
    int r = glint_arg_i64(task, "scheme", &s->scheme);
    if (r == 0) r = glint_arg_i64(task, "text", &s->text);
    return r == 0 ? glint_arg_f64(task, "p", &s->p) : r;
}

/* Formats the key for errors; a text may be truncated. */
static void format_key_for_error(const struct size_state *s, const union glint_value *key,
                                 char out[256])
{
    if (s->text)
        text_format(out, 256, "%.*s", (int)(key->bytes.size > 200 ? 200 : key->bytes.size),
                    (const char *)key->bytes.data);
    else
        text_format_i64(out, key->i64);
}

static int emit_params_of_size(struct glint_task *task, const struct size_state *s,
                               const union glint_value *key, int64_t n, double p,
                               struct glint_emitter *out)
{
    struct bloom_params params;
    char text[256];
    assert(n > 0 && p > 0 && p < 1);
    enum bloom_result result =
        bloom_params_for((enum bloom_scheme)s->scheme, (uint64_t)n, p, &params);
    if (result != BLOOM_OK) {
        struct bloom_sizing sizing;
        char why[256];
        const char *hint;
        format_key_for_error(s, key, text);
        if (bloom_sizing_for_rate((enum bloom_scheme)s->scheme, BLOOM_CLASSIC, p, &sizing) != 0)
            sizing = (struct bloom_sizing){.scheme = (enum bloom_scheme)s->scheme};
        sizes_describe_limit(&sizing, (uint64_t)n, result, why, sizeof why, &hint);
        return glint_fail(task, GLINT_E_FILTER_LIMIT, hint,
                          "the filter of key %s, n = %lld, p = %g: %s", text, (long long)n, p, why);
    }
    text_format(text, sizeof text, "%llu\t%llu\t%u", (unsigned long long)params.n,
                (unsigned long long)params.m, params.k);
    struct glint_record record = {.key = *key,
                                  .value.bytes = {(const uint8_t *)text, strlen(text)}};
    glint_emit(out, &record);
    return 0;
}

static int emit_params_of_count(struct glint_task *task, void *state, const struct glint_record *in,
                                struct glint_emitter *out)
{
    const struct size_state *s = state;
    return emit_params_of_size(task, s, &in->key, in->value.i64, s->p, out);
}

static int emit_params_of_pair(struct glint_task *task, void *state, const struct glint_record *in,
                               struct glint_emitter *out)
{
    const struct glint_pair pair = glint_pair(&in->value);
    const int64_t n = pair.left.value.i64;
    char key[256];
    if (pair.left.type != GLINT_I64)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid joined count");
    if (pair.right.type == GLINT_F64)
        return emit_params_of_size(task, state, &in->key, n, pair.right.value.f64, out);
    format_key_for_error(state, &in->key, key);
    return glint_fail(task, GLINT_E_COUNT_NOT_FOUND, "write a line KEY TAB P for each key",
                      "the key %s, of %lld rows, has no probability in the file", key,
                      (long long)n);
}

#define SIZE_FUNCTION(name_, value_, each_)                                                        \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = {GLINT_ANY, value_},                          \
        .out = {GLINT_SAME, GLINT_BYTES}, .state_size = sizeof(struct size_state),                 \
        .open = params_function_init, .each = each_                                                \
    }

static const struct glint_function size_one =
    SIZE_FUNCTION("params.size", GLINT_I64, emit_params_of_count);
static const struct glint_function size_own =
    SIZE_FUNCTION("params.size_own", GLINT_MSGPACK, emit_params_of_pair);

/* ---- params.own_number, params.own_text: a line KEY TAB P -> (key, p);
 * params.own_once */

static int emit_own_size(struct key_lines *lines, struct glint_task *task,
                         const struct glint_record *in, bool text, struct glint_emitter *out)
{
    const struct glint_slice line = in->value.bytes;
    struct glint_record record;
    struct glint_slice key, p;
    const char *reason;
    int r = key_lines_split(lines, task, line, 1, &key, &p, &reason);
    if (r != 0) return r;
    if (reason != NULL) return glint_bad_row(task, line, "the line is not KEY TAB P");
    if (text)
        record.key.bytes = key;
    else if (!glint_parse_i64(key, &record.key.i64))
        return glint_bad_row(task, line, "the key is not an integer");
    if (!glint_parse_f64(p, &record.value.f64) || !(record.value.f64 > 0 && record.value.f64 < 1))
        return glint_bad_row(task, line, "P is not a number between 0 and 1");
    glint_emit(out, &record);
    return 0;
}

static int emit_own_number_size(struct glint_task *task, void *state, const struct glint_record *in,
                                struct glint_emitter *out)
{
    return emit_own_size(state, task, in, false, out);
}

static int emit_own_text_size(struct glint_task *task, void *state, const struct glint_record *in,
                              struct glint_emitter *out)
{
    return emit_own_size(state, task, in, true, out);
}

static int reject_repeated_key(struct glint_task *task, void *state, struct glint_acc *acc,
                               const union glint_value *value)
{
    (void)state;
    return glint_fail(task, GLINT_E_COUNTS_INVALID, "write one P for each key",
                      "duplicate key in the file of probabilities, with %g and %g", acc->value.f64,
                      value->f64);
}

#define OWN_FUNCTION(name_, key_, each_)                                                           \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = {GLINT_ANY, GLINT_TEXT},                      \
        .out = {key_, GLINT_F64}, .state_size = sizeof(struct key_lines), .each = each_            \
    }

static const struct glint_function own_number =
    OWN_FUNCTION("params.own_number", GLINT_I64, emit_own_number_size);
static const struct glint_function own_text =
    OWN_FUNCTION("params.own_text", GLINT_TEXT, emit_own_text_size);
static const struct glint_function own_once = {.name = "params.own_once",
                                               .kind = GLINT_KIND_REDUCE,
                                               .in = {GLINT_ANY, GLINT_F64},
                                               .out = {GLINT_SAME, GLINT_SAME},
                                               .merge = reject_repeated_key};
/* ---- The plan */

static int params_run(struct glint *g, const struct glint_job_args *args)
{
    struct fields fields;
    struct list_schemes scheme;
    struct list_f64 p;
    if (fields_read_key_options(g, args, args->positional[0], &fields) != 0 ||
        list_parse_schemes(g, args, "scheme", &scheme) != 0 ||
        list_parse_probabilities(g, args, "p", &p) != 0)
        return glint_error(g)->code;
    if (scheme.count != 1 || p.count != 1)
        return glint_abort(g, GLINT_E_BAD_VALUE, "use --p-file FILE to set P of each key",
                           "only one --p and one --scheme can be set for all keys");
    const bool text = fields_key_type(&fields) == GLINT_TEXT;
    struct glint_args *columns = glint_args(g), *sizing = glint_args(g);
    fields_args(columns, &fields);
    glint_args_add_i64(sizing, "scheme", scheme.items[0]);
    glint_args_add_i64(sizing, "text", text);
    glint_args_add_f64(sizing, "p", p.items[0]);

    struct glint_rdd *lines = fields_text_file(g, args->positional[0], &fields);
    struct glint_rdd *ones = glint_map(lines, text ? &count_text : &count_number, columns);
    struct glint_rdd *counts = glint_reduce_by_key(ones, &GLINT_SUM_I64, NULL);
    const char *file = glint_job_option(args, "p-file");
    if (file != NULL) {
        const struct glint_function *parse = text ? &own_text : &own_number;
        struct glint_rdd *own =
            glint_map(key_lines_file(g, file, fields.csv), parse, key_lines_args(g, fields.csv));
        own = glint_reduce_by_key(own, &own_once, NULL);
        counts = glint_left_outer_join(counts, own);
    }
    struct glint_rdd *sizes = glint_map(counts, file != NULL ? &size_own : &size_one, sizing);
    glint_save_as_text_file(sizes, args->positional[1]);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    {"p", "P", "0.01", "false positive probability of every key"},
    {"p-file", "FILE", NULL, "file of lines KEY TAB P, the probability of each key"},
    {"scheme", SIZES_CLASSIC_CHOICES, "spark", "index rule, for its bounds"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job params_job = {
    .name = "params",
    .summary = "count the rows of each key and size its filter",
    .help = "Saves one line per key: KEY TAB N TAB M TAB K, with m = ceil(-n "
            "ln p / (ln 2)^2) and "
            "k = ceil(-ln p / ln 2). Counts are combined in the map tasks.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&size_one, &size_own, &own_number, &own_text, &own_once},
    .run = params_run};

/* See size_lines.h. One parser for both files and both uses: collected by the driver, or joined
 * with the rows. */
#include "jobs/filters/size_lines.h"

#include "jobs/rows/key_lines.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof(struct size_line) == 24, "no padding");

static bool parse_positive(struct glint_slice text, int64_t max, int64_t *out)
{
    return glint_parse_i64(text, out) && *out > 0 && *out <= max;
}

/* Returns NULL or an error text. */
static const char *parse_counts(const struct glint_slice field[1], struct size_line *out)
{
    int64_t n;
    if (!parse_positive(field[0], INT64_MAX, &n)) return "the count is not a positive number";
    *out = (struct size_line){.n = (uint64_t)n};
    return NULL;
}

static const char *parse_params(const struct glint_slice field[3], struct size_line *out)
{
    int64_t n, m, k;
    if (!parse_positive(field[0], INT64_MAX, &n)) return "N is not a positive number";
    if (!parse_positive(field[1], (int64_t)BLOOM_M_MAX, &m))
        return "M is not a number from 1 to 34359738360";
    if (!parse_positive(field[2], BLOOM_K_MAX, &k)) return "K is not a number from 1 to 255";
    *out = (struct size_line){.n = (uint64_t)n, .m = (uint64_t)m, .k = (uint32_t)k};
    return NULL;
}

static const char no_integer[] = "the key is not an integer";

static int set_size_line_error(struct glint_task *task, bool params, struct glint_slice line,
                               const char *reason)
{
    static const char *const plain[] = {
        "COUNTS is the output of count-keys: one line KEY TAB COUNT per key",
        "--params takes the output of the job params: one line KEY TAB N TAB M TAB K per key"};
    static const char *const quoted[] = {
        "COUNTS has the form of the rows: run count-keys with the --csv or --json-lines of this "
        "job, or without them as here",
        "PARAMS has the form of the rows: run params with the --csv or --json-lines of this job, "
        "or without them as here"};
    const bool quotes = line.size > 0 && memchr(line.data, '"', line.size) != NULL;
    const char *hint = (quotes ? quoted : plain)[params];
    if (reason == no_integer) hint = "if keys are text, use --key text, as when they were counted";
    return glint_fail_row(task, params ? GLINT_E_PARAMS_INVALID : GLINT_E_COUNTS_INVALID, line,
                          hint, reason);
}

static int parse_size_line(struct key_lines *lines, struct glint_task *task,
                           const struct glint_record *in, bool params, bool text,
                           struct glint_emitter *out)
{
    struct size_line size;
    struct glint_record record = {.value.bytes = {(const uint8_t *)&size, sizeof size}};
    struct glint_slice key, field[3];
    const char *reason;
    int r = key_lines_split(lines, task, in->value.bytes, params ? 3 : 1, &key, field, &reason);
    if (r != 0) return r;
    if (reason == NULL) reason = params ? parse_params(field, &size) : parse_counts(field, &size);
    if (text)
        record.key.bytes = key;
    else if (reason == NULL && !glint_parse_i64(key, &record.key.i64))
        reason = no_integer;
    if (reason != NULL) return set_size_line_error(task, params, in->value.bytes, reason);
    glint_emit(out, &record);
    return 0;
}

#define LINE_FUNCTION(function_, name_, key_, params_)                                             \
    static int function_##_each(struct glint_task *task, void *state,                              \
                                const struct glint_record *in, struct glint_emitter *out)          \
    {                                                                                              \
        return parse_size_line(state, task, in, params_, key_ == GLINT_TEXT, out);                 \
    }                                                                                              \
    const struct glint_function function_ = {.name = name_,                                        \
                                             .kind = GLINT_KIND_MAP,                               \
                                             .in = {GLINT_NONE, GLINT_TEXT},                       \
                                             .out = {key_, GLINT_BYTES},                           \
                                             .state_size = sizeof(struct key_lines),               \
                                             .each = function_##_each}

LINE_FUNCTION(size_counts_number, "bloom.counts_number", GLINT_I64, false);
LINE_FUNCTION(size_counts_text, "bloom.counts_text", GLINT_TEXT, false);
LINE_FUNCTION(size_params_number, "bloom.params_number", GLINT_I64, true);
LINE_FUNCTION(size_params_text, "bloom.params_text", GLINT_TEXT, true);

struct glint_rdd *size_lines_rdd(struct glint *g, const struct sizes_source *source,
                                 const struct fields *fields)
{
    static const struct glint_function *const functions[2][2] = {
        {&size_counts_number, &size_counts_text}, {&size_params_number, &size_params_text}};
    struct glint_rdd *lines = glint_as_side_file(key_lines_file(g, source->path, fields->csv));
    const bool text = fields_key_type(fields) == GLINT_TEXT;
    return glint_map(lines, functions[source->params][text], key_lines_args(g, fields->csv));
}

bool size_line_read(struct glint_slice bytes, struct size_line *out)
{
    if (bytes.size != sizeof *out) return false;
    memcpy(out, bytes.data, sizeof *out);
    return out->n > 0 && out->k <= BLOOM_K_MAX && (out->m == 0) == (out->k == 0);
}

enum bloom_result size_line_params(const struct size_line *line, const struct bloom_sizing *sizing,
                                   struct bloom_params *out)
{
    assert(line->n > 0);
    if (line->m == 0) return bloom_sizing_params(sizing, line->n, out);
    *out = (struct bloom_params){.scheme = sizing->scheme,
                                 .n = line->n,
                                 .m = line->m,
                                 .k = line->k,
                                 .layout = sizing->layout,
                                 .seeds = sizing->seeded ? sizing->seeds : NULL,
                                 .hash_seed = {sizing->hash_seed[0], sizing->hash_seed[1]},
                                 .id_type = sizing->id_type};
    return bloom_params_check(out);
}

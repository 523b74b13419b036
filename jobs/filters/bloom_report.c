/* The lines that bloom-test saves: (key, tally) -> text, in the formats of the papers' programs. */
#include "engine/base/text.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/rows/python_repr.h"

#include <assert.h>
#include <string.h>

static int emit_report(struct glint_task *task, const struct glint_record *in,
                       struct glint_emitter *out, struct glint_slice key, bool java)
{
    struct bloom_tally t;
    char rate[TEXT_NUMBER_MAX], tail[128];
    int r = bloom_tally_read(task, in->value.bytes, &t);
    if (r != 0) return r;
    assert(t.rows > 0 && t.hits <= t.rows); /* a key without rows has no tally */
    double value = (double)t.hits / (double)t.rows;
    if (java)
        text_format_f64_java(rate, value);
    else
        text_format_f64(rate, value);
    text_format(tail, sizeof tail, java ? "\t(%llu, %llu, %s)" : ", (%llu, %llu, %s))",
                (unsigned long long)t.hits, (unsigned long long)t.rows, rate);
    uint64_t size = strlen(tail), at = 0;
    uint8_t *line = glint_scratch(task, key.size + size + 1);
    if (line == NULL) return GLINT_E_NO_MEMORY;
    if (!java) line[at++] = '(';
    memcpy(line + at, key.data, key.size);
    memcpy(line + at + key.size, tail, size);
    struct glint_record record = {.value.bytes = {line, at + key.size + size}};
    glint_emit(out, &record);
    return 0;
}

static int report_number(struct glint_task *task, const struct glint_record *in,
                         struct glint_emitter *out, bool java)
{
    char key[TEXT_NUMBER_MAX];
    size_t n = text_format_i64(key, in->key.i64);
    return emit_report(task, in, out, (struct glint_slice){(const uint8_t *)key, n}, java);
}

static int report_rating_python(struct glint_task *task, void *state, const struct glint_record *in,
                                struct glint_emitter *out)
{
    (void)state;
    return report_number(task, in, out, false);
}

static int report_rating_java(struct glint_task *task, void *state, const struct glint_record *in,
                              struct glint_emitter *out)
{
    (void)state;
    return report_number(task, in, out, true);
}

static int report_text_python(struct glint_task *task, void *state, const struct glint_record *in,
                              struct glint_emitter *out)
{
    (void)state;
    uint8_t *quoted = glint_scratch(task, python_repr_max(in->key.bytes.size));
    if (quoted == NULL) return GLINT_E_NO_MEMORY;
    uint64_t size = python_repr(in->key.bytes, quoted);
    return emit_report(task, in, out, (struct glint_slice){quoted, size}, false);
}

static int report_text_java(struct glint_task *task, void *state, const struct glint_record *in,
                            struct glint_emitter *out)
{
    (void)state;
    return emit_report(task, in, out, in->key.bytes, true);
}

#define REPORT_FUNCTION(name_, key_, each_)                                                        \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = {key_, GLINT_BYTES},                          \
        .out = {GLINT_NONE, GLINT_TEXT}, .each = each_                                             \
    }

const struct glint_function bloom_report_functions[2][2] = {
    {REPORT_FUNCTION("bloom.report_rating_python", GLINT_I64, report_rating_python),
     REPORT_FUNCTION("bloom.report_rating_java", GLINT_I64, report_rating_java)},
    {REPORT_FUNCTION("bloom.report_text_python", GLINT_TEXT, report_text_python),
     REPORT_FUNCTION("bloom.report_text_java", GLINT_TEXT, report_text_java)}};

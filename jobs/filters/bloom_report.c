/* The lines that bloom-test saves: (key, tally) -> text, in the formats of the papers' programs. */
#include "engine/base/text.h"
#include "engine/glint.h"
#include "jobs/filters/bloom_functions.h"

#include <assert.h>
#include <string.h>

/* ---- Strings like Python's repr: ASCII escapes; bytes from 0x80 on are assumed to be UTF-8. */

/* The maximum size of python_repr's output for a text of `size` bytes. */
static inline uint64_t python_repr_max(uint64_t size)
{
    return size * 4 + 2;
}

static uint8_t *put_escape(uint8_t *at, uint8_t byte)
{
    static const char hex[] = "0123456789abcdef";
    *at++ = '\\';
    if (byte == '\t' || byte == '\n' || byte == '\r') {
        *at++ = byte == '\t' ? 't' : byte == '\n' ? 'n' : 'r';
        return at;
    }
    *at++ = 'x';
    *at++ = (uint8_t)hex[byte >> 4];
    *at++ = (uint8_t)hex[byte & 15];
    return at;
}

/* Uses single quotes, or double quotes if the text has single but no double quotes; copies bytes
 * from 0x80 on. Returns the size of the output. */
static uint64_t python_repr(struct glint_slice text, uint8_t *out)
{
    bool single = text.size > 0 && memchr(text.data, '\'', text.size) != NULL;
    bool twice = text.size > 0 && memchr(text.data, '"', text.size) != NULL;
    uint8_t quote = single && !twice ? '"' : '\'';
    uint8_t *at = out;
    *at++ = quote;
    for (uint64_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (byte < 0x20 || byte == 0x7f) {
            at = put_escape(at, byte);
            continue;
        }
        if (byte == quote || byte == '\\') *at++ = '\\';
        *at++ = byte;
    }
    *at++ = quote;
    return (uint64_t)(at - out);
}

/* Reads the tally of a key, and formats its rate. */
static int decode_tally_rate(struct glint_task *task, const struct glint_record *in, bool java,
                             struct bloom_tally *out, char rate[TEXT_NUMBER_MAX])
{
    int r = bloom_tally_decode(task, in->value.bytes, out);
    if (r != 0) return r;
    assert(out->rows > 0 && out->hits <= out->rows); /* a key without rows has no tally */
    double value = (double)out->hits / (double)out->rows;
    if (java)
        text_format_f64_java(rate, value);
    else
        text_format_f64(rate, value);
    return 0;
}

/* KEY TAB (hits, rows, rate) */
static int emit_report_as_java_tuple(struct glint_task *task, void *state,
                                     const struct glint_record *in, struct glint_emitter *out)
{
    struct bloom_tally t;
    char rate[TEXT_NUMBER_MAX], text[128];
    (void)state;
    int r = decode_tally_rate(task, in, true, &t, rate);
    if (r != 0) return r;
    text_format(text, sizeof text, "(%llu, %llu, %s)", (unsigned long long)t.hits,
                (unsigned long long)t.rows, rate);
    struct glint_record record = {.key = in->key,
                                  .value.bytes = {(const uint8_t *)text, strlen(text)}};
    glint_emit(out, &record);
    return 0;
}

/* (KEY, (hits, rows, rate)) */
static int emit_report_tuple(struct glint_task *task, const struct glint_record *in,
                             struct glint_emitter *out, struct glint_slice key)
{
    struct bloom_tally t;
    char rate[TEXT_NUMBER_MAX], tail[128];
    int r = decode_tally_rate(task, in, false, &t, rate);
    if (r != 0) return r;
    text_format(tail, sizeof tail, ", (%llu, %llu, %s))", (unsigned long long)t.hits,
                (unsigned long long)t.rows, rate);
    const uint64_t size = strlen(tail);
    uint8_t *line = glint_scratch(task, key.size + size + 1);
    if (line == NULL) return GLINT_E_NO_MEMORY;
    line[0] = '(';
    memcpy(line + 1, key.data, key.size);
    memcpy(line + 1 + key.size, tail, size);
    struct glint_record record = {.value.bytes = {line, 1 + key.size + size}};
    glint_emit(out, &record);
    return 0;
}

static int report_rating_python(struct glint_task *task, void *state, const struct glint_record *in,
                                struct glint_emitter *out)
{
    char key[TEXT_NUMBER_MAX];
    (void)state;
    size_t n = text_format_i64(key, in->key.i64);
    return emit_report_tuple(task, in, out, (struct glint_slice){(const uint8_t *)key, n});
}

static int report_text_python(struct glint_task *task, void *state, const struct glint_record *in,
                              struct glint_emitter *out)
{
    (void)state;
    uint8_t *quoted = glint_scratch(task, python_repr_max(in->key.bytes.size));
    if (quoted == NULL) return GLINT_E_NO_MEMORY;
    uint64_t size = python_repr(in->key.bytes, quoted);
    return emit_report_tuple(task, in, out, (struct glint_slice){quoted, size});
}

#define REPORT_FUNCTION(name_, key_, out_key_, each_)                                              \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = {key_, GLINT_BYTES},                          \
        .out = {out_key_, GLINT_BYTES}, .each = each_                                              \
    }

const struct glint_function bloom_report_functions[2][2] = {
    {REPORT_FUNCTION("bloom.report_rating_python", GLINT_I64, GLINT_NONE, report_rating_python),
     REPORT_FUNCTION("bloom.report_rating_java", GLINT_I64, GLINT_SAME, emit_report_as_java_tuple)},
    {REPORT_FUNCTION("bloom.report_text_python", GLINT_TEXT, GLINT_NONE, report_text_python),
     REPORT_FUNCTION("bloom.report_text_java", GLINT_TEXT, GLINT_SAME, emit_report_as_java_tuple)}};

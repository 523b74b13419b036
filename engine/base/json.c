/* A minimal JSON writer: the only state is whether the next element needs a comma. */
#include "engine/base/json.h"

#include "engine/base/text.h"
#include "engine/base/utf8.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define EXACT_MAX ((uint64_t)1 << 53)

static void append_json_bytes(struct json *j, const void *data, uint64_t size)
{
    if (!j->failed) j->failed = !buffer_append(&j->out, data, size);
}

void json_end(struct json *j, char bracket)
{
    assert(bracket == '}' || bracket == ']');
    append_json_bytes(j, &bracket, 1);
    j->after_value = true;
}

static void append_json_u_escape(struct json *j, uint32_t code)
{
    char text[8];
    const bool fits = text_format(text, sizeof text, "\\u%04x", code);
    assert(fits);
    append_json_bytes(j, text, 6);
}

static void append_json_escaped(struct json *j, uint32_t code)
{
    /* Pairs: the byte, and its escape letter. */
    static const char plain[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    char text[8];
    for (size_t i = 0; i + 1 < sizeof plain; i += 2) {
        if (code != (uint8_t)plain[i]) continue;
        text[0] = '\\';
        text[1] = plain[i + 1];
        append_json_bytes(j, text, 2);
        return;
    }
    append_json_u_escape(j, code); /* all control characters are below U+10000 */
}

/* Invalid bytes become U+FFFD, one per byte, so that the output is always valid JSON; if `exact`,
 * half of a surrogate pair, U+DC80 to U+DCFF. */
static void append_json_quoted(struct json *j, const void *data, uint64_t size, bool exact)
{
    append_json_bytes(j, "\"", 1);
    const uint8_t *p = data;
    for (uint64_t i = 0; i < size;) {
        unsigned n = utf8_size(p + i, size - i);
        uint32_t code = utf8_code(p + i, n);
        if (n == 0 && exact)
            append_json_u_escape(j, 0xdc00 + p[i]);
        else if (n == 0)
            append_json_bytes(j, "\xef\xbf\xbd", 3);
        else if (code == '"' || code == '\\' || utf8_is_control(code))
            append_json_escaped(j, code);
        else
            append_json_bytes(j, p + i, n);
        i += n > 0 ? n : 1;
    }
    append_json_bytes(j, "\"", 1);
}

static void begin_json_value(struct json *j, const char *name)
{
    if (j->after_value) append_json_bytes(j, ",", 1);
    if (name != NULL) {
        append_json_quoted(j, name, strlen(name), false);
        append_json_bytes(j, ":", 1);
    }
    j->after_value = true;
}

void json_begin(struct json *j, const char *name, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    begin_json_value(j, name);
    append_json_bytes(j, &bracket, 1);
    j->after_value = false;
}

void json_text(struct json *j, const char *name, const void *data, uint64_t size)
{
    begin_json_value(j, name);
    append_json_quoted(j, data, size, false);
}

void json_bytes(struct json *j, const char *name, const void *data, uint64_t size)
{
    begin_json_value(j, name);
    append_json_quoted(j, data, size, true);
}

static void append_json_literal(struct json *j, const char *name, const char *text)
{
    begin_json_value(j, name);
    append_json_bytes(j, text, strlen(text));
}

void json_raw(struct json *j, const char *name, const void *data, uint64_t size)
{
    begin_json_value(j, name);
    append_json_bytes(j, data, size);
}

void json_cstring(struct json *j, const char *name, const char *text)
{
    if (text != NULL)
        json_text(j, name, text, strlen(text));
    else
        append_json_literal(j, name, "null");
}

/* Digits without quotes, or as a string if readers would lose precision. */
static void append_json_integer(struct json *j, const char *name, const char *digits, uint64_t size)
{
    if (size <= EXACT_MAX)
        append_json_literal(j, name, digits);
    else
        json_cstring(j, name, digits);
}

void json_i64(struct json *j, const char *name, int64_t value)
{
    char text[TEXT_NUMBER_MAX];
    text_format_i64(text, value);
    append_json_integer(j, name, text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_u64(struct json *j, const char *name, uint64_t value)
{
    char text[TEXT_NUMBER_MAX];
    bool fits = text_format(text, sizeof text, "%llu", (unsigned long long)value);
    assert(fits);
    append_json_integer(j, name, text, value);
}

void json_f64(struct json *j, const char *name, double value)
{
    char text[TEXT_NUMBER_MAX];
    text_format_f64(text, value);
    append_json_literal(j, name, isfinite(value) ? text : "null");
}

void json_id(struct json *j, const char *name, uint64_t id)
{
    char text[TEXT_NUMBER_MAX];
    text_format(text, sizeof text, "%016llx", (unsigned long long)id);
    json_cstring(j, name, text);
}

void json_ms(struct json *j, const char *name, uint64_t ns)
{
    char text[TEXT_NUMBER_MAX];
    bool fits = text_format(text, sizeof text, "%llu.%03llu", (unsigned long long)(ns / 1000000),
                            (unsigned long long)(ns / 1000 % 1000));
    assert(fits);
    append_json_literal(j, name, text);
}

void json_bool(struct json *j, const char *name, bool value)
{
    append_json_literal(j, name, value ? "true" : "false");
}

void json_error(struct json *j, const char *name, const struct glint_error *error)
{
    if (error == NULL || error->code == GLINT_OK) {
        append_json_literal(j, name, "null");
        return;
    }
    char code[TEXT_NUMBER_MAX];
    bool fits = text_format(code, sizeof code, "E%04d", -(int)error->code);
    assert(fits);
    json_begin(j, name, '{');
    json_cstring(j, "code", code);
    json_cstring(j, "name", glint_code_name(error->code));
    json_cstring(j, "text", glint_code_text(error->code));
    json_cstring(j, "cause", error->cause);
    json_cstring(j, "effect", error->effect[0] != '\0' ? error->effect : NULL);
    json_cstring(j, "hint", error->hint[0] != '\0' ? error->hint : NULL);
    json_i64(j, "exit_status", glint_code_exit_status(error->code));
    json_end(j, '}');
}

void json_fini(struct json *j)
{
    buffer_fini(&j->out);
    *j = (struct json){.failed = false};
}

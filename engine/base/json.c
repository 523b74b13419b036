/* Small enough to be seen through: the only state is whether a comma is due. */
#include "engine/base/json.h"

#include "engine/base/text.h"
#include "engine/base/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXACT_MAX ((uint64_t)1 << 53)

static void put(struct json *j, const void *data, uint64_t size)
{
    if (!j->failed) j->failed = !buffer_append(&j->out, data, size);
}

static void begin_value(struct json *j)
{
    if (j->after_value) put(j, ",", 1);
    j->after_value = true;
}

void json_open(struct json *j, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    begin_value(j);
    put(j, &bracket, 1);
    j->after_value = false;
}

void json_close(struct json *j, char bracket)
{
    assert(bracket == '}' || bracket == ']');
    put(j, &bracket, 1);
    j->after_value = true;
}

static void put_escaped(struct json *j, uint32_t code)
{
    static const char plain[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* pairs: the byte, its letter */
    char text[8];
    for (size_t i = 0; i + 1 < sizeof plain; i += 2) {
        if (code != (uint8_t)plain[i]) continue;
        text[0] = '\\';
        text[1] = plain[i + 1];
        put(j, text, 2);
        return;
    }
    bool fits = text_format(text, sizeof text, "\\u%04x", code);
    assert(fits); /* all controls are below U+10000 */
    put(j, text, 6);
}

void json_text(struct json *j, const void *data, uint64_t size)
{
    begin_value(j);
    put(j, "\"", 1);
    const uint8_t *p = data;
    for (uint64_t i = 0; i < size;) {
        unsigned n = utf8_size(p + i, size - i);
        uint32_t code = utf8_code(p + i, n);
        if (n == 0)
            put(j, "\xef\xbf\xbd", 3);
        else if (code == '"' || code == '\\' || utf8_is_control(code))
            put_escaped(j, code);
        else
            put(j, p + i, n);
        i += n > 0 ? n : 1;
    }
    put(j, "\"", 1);
}

void json_chars(struct json *j, const char *text)
{
    if (text != NULL) {
        json_text(j, text, strlen(text));
        return;
    }
    begin_value(j);
    put(j, "null", 4);
}

void json_name(struct json *j, const char *name)
{
    json_chars(j, name);
    put(j, ":", 1);
    j->after_value = false;
}

/* What needs no quotes, unless readers would lose digits. */
static void put_number(struct json *j, const char *digits, bool exact)
{
    if (!exact) {
        json_chars(j, digits);
        return;
    }
    begin_value(j);
    put(j, digits, strlen(digits));
}

void json_i64(struct json *j, int64_t value)
{
    char text[TEXT_NUMBER_MAX];
    text_i64(text, value);
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    put_number(j, text, size <= EXACT_MAX);
}

void json_u64(struct json *j, uint64_t value)
{
    char text[TEXT_NUMBER_MAX];
    bool fits = text_format(text, sizeof text, "%llu", (unsigned long long)value);
    assert(fits);
    put_number(j, text, value <= EXACT_MAX);
}

void json_f64(struct json *j, double value)
{
    if (!isfinite(value)) {
        json_chars(j, NULL);
        return;
    }
    char text[TEXT_NUMBER_MAX];
    text_f64(text, value);
    put_number(j, text, true);
}

void json_ms(struct json *j, uint64_t ns)
{
    char text[TEXT_NUMBER_MAX];
    bool fits = text_format(text, sizeof text, "%llu.%03llu", (unsigned long long)(ns / 1000000),
                            (unsigned long long)(ns / 1000 % 1000));
    assert(fits);
    put_number(j, text, true);
}

void json_bool(struct json *j, bool value)
{
    put_number(j, value ? "true" : "false", true);
}

void json_error(struct json *j, const struct glint_error *error)
{
    if (error == NULL || error->code == GLINT_OK) {
        json_chars(j, NULL);
        return;
    }
    char code[TEXT_NUMBER_MAX];
    bool fits = text_format(code, sizeof code, "E%04d", -(int)error->code);
    assert(fits);
    json_open(j, '{');
    json_name(j, "code");
    json_chars(j, code);
    json_name(j, "name");
    json_chars(j, error_name(error->code));
    json_name(j, "text");
    json_chars(j, glint_code_text(error->code));
    json_name(j, "cause");
    json_chars(j, error->cause);
    json_name(j, "effect");
    json_chars(j, error->effect[0] != '\0' ? error->effect : NULL);
    json_name(j, "hint");
    json_chars(j, error->hint[0] != '\0' ? error->hint : NULL);
    json_name(j, "exit_status");
    json_i64(j, glint_code_exit_status(error->code));
    json_close(j, '}');
}

void json_fini(struct json *j)
{
    buffer_fini(&j->out);
    *j = (struct json){.failed = false};
}

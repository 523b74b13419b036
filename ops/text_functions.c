/* Built-in functions that split and parse text: glint.split_words and others. */
#include "engine/base/text.h"
#include "ops/ops.h"

/* C's isspace, of ASCII. */
static bool is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static int split_words(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    const uint8_t *at = in->value.bytes.data, *end = at + in->value.bytes.size;
    (void)task, (void)state;
    while (at < end) {
        const uint8_t *word = at;
        while (at < end && !is_space(*at)) at++;
        const struct glint_record record = {.value.bytes = {word, (uint64_t)(at - word)}};
        if (at > word) glint_emit(out, &record);
        at++;
    }
    return 0;
}

static int pair_with_one(struct glint_task *task, void *state, const struct glint_record *in,
                         struct glint_emitter *out)
{
    (void)task, (void)state;
    glint_emit_i64(out, in->value.bytes, 1);
    return 0;
}

static int split_key_value(struct glint_task *task, void *state, const struct glint_record *in,
                           struct glint_emitter *out)
{
    struct glint_slice rest = in->value.bytes;
    struct glint_record record = {.value.bytes = {NULL, 0}};
    (void)task, (void)state;
    if (glint_next_field(&rest, '\t', &record.key.bytes) && rest.data != NULL)
        record.value.bytes = rest;
    glint_emit(out, &record);
    return 0;
}

static int parse_i64(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    const struct glint_slice text = in->value.bytes;
    struct glint_record record = *in;
    (void)state;
    if (!text_parse_i64(text.data, text.size, &record.value.i64))
        return glint_bad_row(task, text, "the value is not a whole number of 64 bits");
    glint_emit(out, &record);
    return 0;
}

static int parse_f64(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    const struct glint_slice text = in->value.bytes;
    struct glint_record record = *in;
    (void)state;
    if (!text_parse_f64(text.data, text.size, &record.value.f64))
        return glint_bad_row(task, text, "the value is not a number");
    glint_emit(out, &record);
    return 0;
}

const struct glint_function GLINT_SPLIT_WORDS = GLINT_FLAT_MAP(
    "glint.split_words", GLINT_ELEMENTS(GLINT_TEXT), GLINT_ELEMENTS(GLINT_TEXT), split_words);
const struct glint_function GLINT_PAIR_WITH_ONE =
    GLINT_MAP("glint.pair_with_one", GLINT_ELEMENTS(GLINT_TEXT), GLINT_PAIRS(GLINT_TEXT, GLINT_I64),
              pair_with_one);
const struct glint_function GLINT_KEY_VALUE =
    GLINT_MAP("glint.key_value", GLINT_ELEMENTS(GLINT_TEXT), GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
              split_key_value);
const struct glint_function GLINT_PARSE_I64 =
    GLINT_FLAT_MAP("glint.parse_i64", GLINT_PAIRS(GLINT_ANY, GLINT_TEXT),
                   GLINT_PAIRS(GLINT_SAME, GLINT_I64), parse_i64);
const struct glint_function GLINT_PARSE_F64 =
    GLINT_FLAT_MAP("glint.parse_f64", GLINT_PAIRS(GLINT_ANY, GLINT_TEXT),
                   GLINT_PAIRS(GLINT_SAME, GLINT_F64), parse_f64);

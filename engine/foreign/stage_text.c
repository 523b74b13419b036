/* Fields and lines of text. */
#include "engine/foreign/stage_text.h"

#include "engine/base/endian.h"
#include "engine/base/text.h"
#include "engine/net/crypto_library.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define READ_BYTES (256 * KIB)

/* ---- Fields */

bool stage_text_append(struct buffer *out, struct glint_slice s)
{
    const uint64_t step = UINT64_C(3) << 28; /* the library counts in ints */
    struct glint_error unused = {.code = GLINT_OK};
    if (crypto_library_load(&unused) != 0) return false;
    if (!buffer_reserve(out, s.size / 3 * 4 + 8)) return false;
    for (uint64_t at = 0; at < s.size; at += step) {
        const uint64_t n = s.size - at < step ? s.size - at : step;
        out->size += (uint64_t)crypto.EVP_EncodeBlock(out->data + out->size, s.data + at, (int)n);
    }
    return true;
}

static bool parse_base64(struct glint_slice field, struct buffer *out)
{
    if (field.size == 0) return true;
    struct glint_error unused = {.code = GLINT_OK};
    if (field.size % 4 != 0 || field.size > INT32_MAX) return false;
    if (crypto_library_load(&unused) != 0) return false;
    const int n = crypto.EVP_DecodeBlock(out->data + out->size, field.data, (int)field.size);
    if (n < 0) return false;
    const uint8_t *end = field.data + field.size;
    out->size += (uint64_t)n - (end[-1] == '=') - (end[-2] == '=');
    return true;
}

int stage_text_parse(struct glint_slice field, struct buffer *out, struct glint_error *error)
{
    if (!buffer_reserve(out, field.size)) return error_no_memory(error);
    if (parse_base64(field, out)) return 0;
    return error_set(error, GLINT_E_STAGE_LINES, "the engine must pass lines on unchanged",
                     "not base64: %.*s", (int)(field.size < 60 ? field.size : 60),
                     (const char *)field.data);
}

/* ---- Lines */

static int line_input_fill(struct line_input *in, struct glint_error *error)
{
    struct buffer *b = &in->bytes;
    if (in->at > 0) {
        memmove(b->data, b->data + in->at, b->size - in->at);
        b->size -= in->at;
        in->at = 0;
    }
    if (b->size >= STAGE_LINE_BYTES_MAX)
        return error_set(error, GLINT_E_STAGE_LINES, "the engine must pass lines on unchanged",
                         "%s:%llu: the line is longer than %llu bytes", in->name,
                         (unsigned long long)in->number + 1,
                         (unsigned long long)STAGE_LINE_BYTES_MAX);
    if (!buffer_reserve(b, READ_BYTES)) return error_no_memory(error);
    const int64_t n = in->env->read(in->env, in->file, b->data + b->size, READ_BYTES);
    if (n < 0) return error_set_system(error, GLINT_E_INPUT_IO, (int)n, "read", in->name);
    b->size += (uint64_t)n;
    in->ended = n == 0;
    return 0;
}

/* Returns the bytes that the next pair needs, at least, in a buffer with `left` bytes of it. */
static uint64_t hadoop_pair_bytes(const uint8_t *start, uint64_t left)
{
    const uint64_t key = left >= 4 ? get_be32(start) : 0;
    if (left < 8 + key) return 8 + key;
    return 8 + key + get_be32(start + 4 + key);
}

static int next_hadoop_pair(struct line_input *in, struct glint_slice *out,
                            struct glint_error *error)
{
    for (;;) {
        const uint8_t *start = in->bytes.data + in->at;
        const uint64_t left = in->bytes.size - in->at, needs = hadoop_pair_bytes(start, left);
        if (left == 0 && in->ended) return 0;
        if ((left >= 4 && get_be32(start) > RAW_KEY_BYTES_MAX) || needs > STAGE_LINE_BYTES_MAX ||
            (left < needs && in->ended))
            return error_set(error, GLINT_E_STAGE_LINES,
                             "Hadoop: set stream.map.output and stream.reduce.input to rawbytes",
                             "%s: pair %llu is %s", in->name, (unsigned long long)in->number + 1,
                             in->ended && left > 0 && needs <= STAGE_LINE_BYTES_MAX
                                 ? "cut"
                                 : "not one of raw bytes");
        if (left >= needs) {
            in->key_size = get_be32(start);
            in->at += needs;
            in->number++;
            *out = (struct glint_slice){start + 4, needs - 4};
            return 1;
        }
        if (line_input_fill(in, error) != 0) return error->code;
    }
}

bool line_input_take_key(const struct line_input *in, struct glint_slice *line,
                         struct glint_slice *out)
{
    if (!in->raw) return glint_next_field(line, '\t', out) && line->data != NULL;
    *out = (struct glint_slice){line->data, in->key_size};
    line->data += in->key_size + 4;
    line->size -= in->key_size + 4;
    return true;
}

void line_input_rewind(struct line_input *in)
{
    in->at = in->number = 0;
}

int line_input_next(struct line_input *in, struct glint_slice *out, struct glint_error *error)
{
    struct buffer *b = &in->bytes;
    uint64_t searched = 0;
    if (in->raw) return next_hadoop_pair(in, out, error);
    for (;;) {
        const uint64_t left = b->size - in->at;
        const uint8_t *start = b->data + in->at;
        const uint8_t *end =
            left > searched ? memchr(start + searched, '\n', left - searched) : NULL;
        if (end == NULL && in->ended) {
            if (left == 0) return 0;
            end = start + left;
        }
        if (end != NULL) {
            *out = (struct glint_slice){start, (uint64_t)(end - start)};
            in->at += out->size + (in->at + out->size < b->size);
            in->number++;
            return 1;
        }
        searched = left;
        if (line_input_fill(in, error) != 0) return error->code;
    }
}

void line_input_fini(struct line_input *in)
{
    buffer_fini(&in->bytes);
}

int line_input_fail(const struct line_input *in, const char *hint, struct glint_error *error,
                    const char *cause, ...)
{
    char text[sizeof error->cause];
    va_list args;
    va_start(args, cause);
    vsnprintf(text, sizeof text, cause, args);
    va_end(args);
    return error_set(error, GLINT_E_STAGE_LINES, hint, "%s:%llu: %s", in->name,
                     (unsigned long long)in->number, text);
}

bool stage_key_number(struct glint_slice *key, uint64_t max, uint64_t *out)
{
    uint64_t at = 0, number = 0;
    for (; at < key->size && key->data[at] >= '0' && key->data[at] <= '9'; at++) {
        number = number * 10 + (uint64_t)(key->data[at] - '0');
        if (number > max) return false;
    }
    const bool dot = at < key->size && key->data[at] == '.';
    if (at == 0 || (!dot && at < key->size)) return false;
    *out = number;
    key->data += at + dot;
    key->size -= at + dot;
    return true;
}

uint64_t stage_line_checksum(uint64_t before, struct glint_slice line)
{
    return line.size == 0 ? before : XXH3_64bits_withSeed(line.data, line.size, before);
}

bool stage_text_hex(struct glint_slice field, uint64_t *out)
{
    if (field.size != 16) return false;
    *out = 0;
    for (uint64_t i = 0; i < field.size; i++) {
        const int digit = text_hex_digit(field.data[i]);
        if (digit < 0) return false;
        *out = *out << 4 | (uint64_t)digit;
    }
    return true;
}

struct glint_slice stage_text_rest_with_tab(struct glint_slice rest)
{
    if (rest.data == NULL) return (struct glint_slice){NULL, 0};
    return (struct glint_slice){rest.data - 1, rest.size + 1};
}

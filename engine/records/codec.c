/* The byte form of f64, and the text form of all types. msgpack is printed as JSON. */
#include "engine/records/codec.h"

#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "engine/records/pack.h"

#include <math.h>

#define SIGN_BIT      ((uint64_t)1 << 63)
#define CANONICAL_NAN UINT64_C(0x7ff8000000000000)

const char *codec_type_name(enum glint_type type)
{
    if (codec_struct_size(type) != 0) return "struct";
    static const char *const names[] = {
        [GLINT_ANY] = "any",     [GLINT_SAME] = "same",       [GLINT_NONE] = "none",
        [GLINT_BYTES] = "bytes", [GLINT_TEXT] = "text",       [GLINT_I64] = "i64",
        [GLINT_F64] = "f64",     [GLINT_MSGPACK] = "msgpack",
    };
    assert((size_t)type < sizeof names / sizeof names[0]);
    return names[type];
}

uint64_t codec_encode_f64(double v)
{
    /* Both zeros and all NaNs must be one key each, so each gets one byte form. */
    uint64_t bits = 0;
    if (v != 0) memcpy(&bits, &v, sizeof bits);
    if (isnan(v)) bits = CANONICAL_NAN;
    return __builtin_bswap64(bits & SIGN_BIT ? ~bits : bits | SIGN_BIT);
}

double codec_decode_f64(uint64_t bits)
{
    bits = __builtin_bswap64(bits);
    bits = bits & SIGN_BIT ? bits ^ SIGN_BIT : ~bits;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static bool append_cell_text(struct buffer *out, const char *text)
{
    return buffer_append(out, text, strlen(text));
}

/* Appends a JSON string. With `text` valid UTF-8 is copied and an invalid byte becomes U+FFFD;
 * without it each byte is printed as the code point of the same number. */
static bool append_json_string(struct buffer *out, const uint8_t *p, uint64_t size, bool text)
{
    const uint8_t *end = p + size;
    if (!append_cell_text(out, "\"")) return false;
    while (p < end) {
        unsigned n = text ? utf8_size(p, (uint64_t)(end - p)) : *p < 0x80;
        char escaped[8] = "";
        if (n == 0)
            text_format(escaped, sizeof escaped, "\\u%04x", text ? 0xfffdu : (unsigned)*p);
        else if (*p == '"' || *p == '\\')
            text_format(escaped, sizeof escaped, "\\%c", *p);
        else if (*p == '\n' || *p == '\t' || *p == '\r')
            text_format(escaped, sizeof escaped, "\\%c", *p == '\n' ? 'n' : *p == '\t' ? 't' : 'r');
        else if (*p < 0x20 || *p == 0x7f)
            text_format(escaped, sizeof escaped, "\\u%04x", (unsigned)*p);
        bool ok = escaped[0] != '\0' ? append_cell_text(out, escaped) : buffer_append(out, p, n);
        if (!ok) return false;
        p += n > 0 ? n : 1;
    }
    return append_cell_text(out, "\"");
}

static bool append_json_number(struct buffer *out, const struct msgpack_head *h)
{
    char text[TEXT_NUMBER_MAX];
    if (h->kind == MSGPACK_KIND_UINT)
        text_format(text, sizeof text, "%llu", (unsigned long long)h->u64);
    else if (h->kind == MSGPACK_KIND_INT)
        text_format_i64(text, h->i64);
    else if (isfinite(h->f64))
        text_format_f64(text, h->f64);
    else
        return append_cell_text(out, "null"); /* JSON has no NaN and no infinity */
    return append_cell_text(out, text);
}

static const uint8_t *append_json_value(struct buffer *out, const uint8_t *p, const uint8_t *end,
                                        unsigned depth);

/* JSON keys must be strings: any other key is printed as JSON and the text is quoted. */
static const uint8_t *append_json_key(struct buffer *out, const uint8_t *p, const uint8_t *end,
                                      unsigned depth)
{
    const uint64_t mark = out->size;
    p = append_json_value(out, p, end, depth);
    if (p == NULL || out->data[mark] == '"') return p;
    struct buffer printed = {NULL, 0, 0};
    bool ok = buffer_append(&printed, out->data + mark, out->size - mark);
    out->size = mark;
    ok = ok && append_json_string(out, printed.data, printed.size, true);
    buffer_fini(&printed);
    return ok ? p : NULL;
}

static const uint8_t *append_json_container(struct buffer *out, const struct msgpack_head *h,
                                            const uint8_t *p, const uint8_t *end, unsigned depth)
{
    const bool map = h->kind == MSGPACK_KIND_MAP;
    bool ok = append_cell_text(out, map ? "{" : "[");
    for (uint64_t i = 0; ok && i < h->count; i++) {
        ok = i == 0 || append_cell_text(out, ", ");
        if (ok && map) {
            p = append_json_key(out, p, end, depth + 1);
            ok = p != NULL && append_cell_text(out, ": ");
        }
        if (!ok) break;
        p = append_json_value(out, p, end, depth + 1);
        ok = p != NULL;
    }
    return ok && append_cell_text(out, map ? "}" : "]") ? p : NULL;
}

static bool append_json_ext(struct buffer *out, const struct msgpack_head *h,
                            const uint8_t *content)
{
    char text[TEXT_NUMBER_MAX + 16];
    text_format(text, sizeof text, "{\"type\": %d, \"data\": ", h->ext_type);
    return append_cell_text(out, text) && append_json_string(out, content, h->size, false) &&
           append_cell_text(out, "}");
}

/* Prints the value at p. msgpack_validate has accepted it, so the recursion is bounded. Returns the
 * end of the value, or NULL when out of memory. */
static const uint8_t *append_json_value(struct buffer *out, const uint8_t *p, const uint8_t *end,
                                        unsigned depth)
{
    assert(depth <= MSGPACK_DEPTH_MAX);
    struct msgpack_head h;
    bool ok = msgpack_read_head(p, (uint64_t)(end - p), &h);
    assert(ok);
    p += h.head_size;
    switch (h.kind) {
    case MSGPACK_KIND_NIL: ok = append_cell_text(out, "null"); break;
    case MSGPACK_KIND_BOOL: ok = append_cell_text(out, h.boolean ? "true" : "false"); break;
    case MSGPACK_KIND_UINT:
    case MSGPACK_KIND_INT:
    case MSGPACK_KIND_FLOAT: ok = append_json_number(out, &h); break;
    case MSGPACK_KIND_STR:
    case MSGPACK_KIND_BIN:
        ok = append_json_string(out, p, h.size, h.kind == MSGPACK_KIND_STR);
        p += h.size;
        break;
    case MSGPACK_KIND_EXT:
        ok = append_json_ext(out, &h, p);
        p += h.size;
        break;
    case MSGPACK_KIND_ARRAY:
    case MSGPACK_KIND_MAP: return append_json_container(out, &h, p, end, depth);
    }
    return ok ? p : NULL;
}

/* A user's function may have emitted invalid msgpack: that is printed as a string of bytes. */
static bool print_msgpack(struct glint_slice v, struct buffer *out)
{
    uint64_t size;
    if (!msgpack_validate(v.data, v.size, &size) || size != v.size)
        return append_json_string(out, v.data, v.size, false);
    return append_json_value(out, v.data, v.data + v.size, 0) != NULL;
}

bool codec_print(enum glint_type type, const union glint_value *v, struct buffer *out)
{
    char text[TEXT_NUMBER_MAX];
    switch (type) {
    case GLINT_I64: return buffer_append(out, text, text_format_i64(text, v->i64));
    case GLINT_F64: return buffer_append(out, text, text_format_f64(text, v->f64));
    case GLINT_BYTES:
    case GLINT_TEXT: return buffer_append(out, v->bytes.data, v->bytes.size);
    case GLINT_MSGPACK: return print_msgpack(v->bytes, out);
    default: assert(type == GLINT_NONE); return true;
    }
}

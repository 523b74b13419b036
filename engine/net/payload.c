/* One encoder and one decoder for all tables of fields. */
#include "engine/net/payload.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

static uint64_t load_sized_u64(const void *at, size_t size)
{
    switch (size) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    default: assert(size == 8); return *(const uint64_t *)at;
    }
}

static void store_sized_u64(void *at, size_t size, uint64_t v)
{
    switch (size) {
    case 1: *(uint8_t *)at = (uint8_t)v; break;
    case 2: *(uint16_t *)at = (uint16_t)v; break;
    case 4: *(uint32_t *)at = (uint32_t)v; break;
    default: assert(size == 8); *(uint64_t *)at = v;
    }
}

uint64_t payload_field_count(const struct payload_format *format)
{
    uint64_t n = 0;
    while (format->fields[n].kind != 0) n++;
    return n;
}

/* ---- Encoding */

static void pack_field_value(struct packer *p, const struct payload_format *format, const void *v)
{
    if (!format->is_bare) pack_array(p, payload_field_count(format));
    payload_pack_fields(p, format, v);
}

static void pack_field_list(struct packer *p, const struct payload_field *f, const uint8_t *values,
                            uint32_t count)
{
    const bool flat = f->kind == PAYLOAD_FLAT_LIST;
    assert(count <= f->max);
    pack_array(p, flat ? count * payload_field_count(f->of) : count);
    for (uint32_t i = 0; i < count; i++)
        (flat ? payload_pack_fields : pack_field_value)(p, f->of, values + i * f->of->size);
}

void payload_pack_list(struct packer *p, const struct payload_format *of, const void *values,
                       uint32_t count)
{
    const struct payload_field list = {.kind = PAYLOAD_FLAT_LIST, .max = count, .of = of};
    pack_field_list(p, &list, values, count);
}

static void pack_number_field(struct packer *p, const struct payload_field *f, uint64_t v)
{
    assert(v >= f->min && v <= f->max);
    pack_u64(p, v);
}

void payload_pack_fields(struct packer *p, const struct payload_format *format, const void *v)
{
    assert(format->is_valid == NULL || format->is_valid(v));
    for (const struct payload_field *f = format->fields; f->kind != 0; f++) {
        const void *at = (const uint8_t *)v + f->offset;
        switch (f->kind) {
        case PAYLOAD_NUMBER: pack_number_field(p, f, load_sized_u64(at, f->size)); break;
        case PAYLOAD_INTEGER:
            pack_i64(p, f->size == 4 ? *(const int32_t *)at : *(const int64_t *)at);
            break;
        case PAYLOAD_TEXT:
        case PAYLOAD_NAME:
            assert(strlen(at) >= f->min);
            pack_text(p, at);
            break;
        case PAYLOAD_BYTES: pack_bytes(p, (struct glint_slice){at, f->size}); break;
        case PAYLOAD_ERROR: pack_error(p, at); break;
        case PAYLOAD_VALUE: pack_field_value(p, f->of, at); break;
        case PAYLOAD_LIST:
        case PAYLOAD_FLAT_LIST:
            pack_field_list(p, f, at, *(const uint32_t *)((const uint8_t *)v + f->count_offset));
            break;
        }
    }
}

void payload_pack_begin_array(struct packer *p, struct buffer *out, uint64_t fields)
{
    *p = (struct packer){.out = *out};
    pack_array(p, fields);
}

int payload_pack_end(struct packer *p, struct buffer *out, uint64_t before,
                     struct glint_error *error)
{
    assert(p->out.size >= before);
    *out = p->out;
    if (!p->failed) return 0;
    out->size = before;
    return error_no_memory(error);
}

int payload_encode(const struct payload_format *format, const void *v, struct buffer *out,
                   struct glint_error *error)
{
    struct packer p = {.out = *out};
    uint64_t before = out->size;
    pack_field_value(&p, format, v);
    return payload_pack_end(&p, out, before, error);
}

int payload_list_encode(const struct payload_format *of, const void *values, uint32_t count,
                        struct buffer *out, struct glint_error *error)
{
    struct packer p = {.out = *out};
    uint64_t before = out->size;
    payload_pack_list(&p, of, values, count);
    return payload_pack_end(&p, out, before, error);
}

/* ---- Decoding */

static uint64_t unpack_number_field(struct unpacker *u, const struct payload_field *f)
{
    uint64_t v = unpack_u64(u, f->max);
    if (v < f->min) u->failed = true;
    return u->failed ? 0 : v;
}

static int64_t unpack_integer_field(struct unpacker *u, size_t size)
{
    int64_t v = unpack_i64(u);
    if (size == 4 && v != (int32_t)v) u->failed = true;
    return u->failed ? 0 : v;
}

static void unpack_text_field(struct unpacker *u, const struct payload_field *f, char *out)
{
    unpack_text(u, out, f->size);
    if (strlen(out) >= f->min && (f->kind == PAYLOAD_TEXT || text_is_printable(out))) return;
    u->failed = true;
    out[0] = '\0';
}

static void unpack_bytes_field(struct unpacker *u, uint8_t *out, size_t size)
{
    struct glint_slice s = unpack_bytes(u);
    memset(out, 0, size);
    if (s.size == size && s.data != NULL)
        memcpy(out, s.data, size);
    else
        u->failed = true;
}

static void unpack_field_value(struct unpacker *u, const struct payload_format *format, void *v)
{
    struct unpacker fields = unpack_array(u);
    payload_unpack_fields(&fields, format, v);
    if (!unpack_is_complete(&fields)) u->failed = true;
}

/* Reads all values of `list`, whose number is limited first. Returns it. */
static uint32_t unpack_field_values(struct unpacker *list, const struct payload_field *f,
                                    uint8_t *values)
{
    const bool flat = f->kind == PAYLOAD_FLAT_LIST;
    const uint64_t each = flat ? payload_field_count(f->of) : 1;
    if (list->count % each != 0 || list->count / each > f->max) list->failed = true;
    const uint32_t count = list->failed ? 0 : (uint32_t)(list->count / each);
    for (uint32_t i = 0; i < count; i++)
        (flat ? payload_unpack_fields : unpack_field_value)(list, f->of, values + i * f->of->size);
    return count;
}

int payload_unpack_list(struct unpacker *list, const struct payload_format *of, uint64_t max,
                        void **out, uint32_t *out_count, struct glint_error *error)
{
    const struct payload_field field = {.kind = PAYLOAD_FLAT_LIST, .max = max, .of = of};
    const uint64_t count = list->failed ? 0 : list->count / payload_field_count(of);
    *out_count = 0;
    *out = mem_alloc(of->size * ((count <= max ? count : 0) + 1)); /* limited before that */
    if (*out == NULL) return error_no_memory(error);
    *out_count = unpack_field_values(list, &field, *out);
    return 0;
}

static void unpack_field_list(struct unpacker *u, const struct payload_field *f, void *v,
                              bool is_bare)
{
    struct unpacker inner, *list = u;
    if (!is_bare) {
        inner = unpack_array(u);
        list = &inner;
    }
    *(uint32_t *)((uint8_t *)v + f->count_offset) =
        unpack_field_values(list, f, (uint8_t *)v + f->offset);
    if (!unpack_is_complete(list)) u->failed = true;
}

void payload_unpack_fields(struct unpacker *u, const struct payload_format *format, void *v)
{
    for (const struct payload_field *f = format->fields; f->kind != 0; f++) {
        void *at = (uint8_t *)v + f->offset;
        switch (f->kind) {
        case PAYLOAD_NUMBER: store_sized_u64(at, f->size, unpack_number_field(u, f)); break;
        case PAYLOAD_INTEGER:
            store_sized_u64(at, f->size, (uint64_t)unpack_integer_field(u, f->size));
            break;
        case PAYLOAD_TEXT:
        case PAYLOAD_NAME: unpack_text_field(u, f, at); break;
        case PAYLOAD_BYTES: unpack_bytes_field(u, at, f->size); break;
        case PAYLOAD_ERROR: unpack_error(u, at); break;
        case PAYLOAD_VALUE: unpack_field_value(u, f->of, at); break;
        case PAYLOAD_LIST:
        case PAYLOAD_FLAT_LIST: unpack_field_list(u, f, v, format->is_bare); break;
        }
    }
    if (!u->failed && format->is_valid != NULL && !format->is_valid(v)) u->failed = true;
}

int payload_unpack_end(const struct unpacker *u, const char *what, struct glint_error *error)
{
    if (unpack_is_complete(u)) return 0;
    return error_set(error, GLINT_E_PROTOCOL, NULL, "%s does not parse", what);
}

int payload_decode(const struct payload_format *format, struct glint_slice bytes, void *v,
                   struct glint_error *error)
{
    struct unpacker u = unpack_begin(bytes);
    memset(v, 0, format->size);
    payload_unpack_fields(&u, format, v);
    int r = payload_unpack_end(&u, format->what, error);
    if (r == 0 && format->sanitize != NULL) format->sanitize(v);
    return r;
}

int payload_list_decode(const struct payload_format *of, struct glint_slice bytes, uint64_t max,
                        void **out, uint32_t *out_count, struct glint_error *error)
{
    struct unpacker u = unpack_begin(bytes);
    int r = payload_unpack_list(&u, of, max, out, out_count, error);
    if (r == 0) r = payload_unpack_end(&u, of->what, error);
    if (r == 0) return 0;
    mem_free(*out);
    *out = NULL;
    *out_count = 0;
    return r;
}

/* ---- Errors */

void pack_error(struct packer *p, const struct glint_error *e)
{
    pack_array(p, e != NULL ? 4 : 0);
    if (e == NULL) return;
    pack_i64(p, e->code);
    pack_text(p, e->cause);
    pack_text(p, e->effect);
    pack_text(p, e->hint);
}

void unpack_error(struct unpacker *u, struct glint_error *out)
{
    memset(out, 0, sizeof *out);
    struct unpacker e = unpack_array(u);
    int64_t code = unpack_i64(&e);
    unpack_text(&e, out->cause, sizeof out->cause);
    unpack_text(&e, out->effect, sizeof out->effect);
    unpack_text(&e, out->hint, sizeof out->hint);
    /* The range is checked before the cast to the enum. */
    bool known = code < 0 && code > INT16_MIN && error_is_known((enum glint_code)code);
    if (!unpack_is_complete(&e) || !known) {
        u->failed = true;
        return;
    }
    out->code = (enum glint_code)code;
}

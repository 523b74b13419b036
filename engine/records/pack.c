/* A writer, by msgpack-c, and a reader with sticky errors. msgpack-c's own reader allocates an
 * object for each field. Used for messages, plans and arguments. */
#include "engine/records/pack.h"

#include <assert.h>
#include <msgpack.h>
#include <string.h>

/* ---- The table of msgpack's heads, and a scan over them that stores only counts.
 *
 * Every element of a container takes at least one byte, so a count larger than the number of
 * remaining bytes is invalid. Together with the depth limit this bounds both the scan and what a
 * decoder allocates. */

/* Loads a big-endian number of `bytes` bytes. */
static uint64_t load_big_endian(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++) v = v << 8 | p[i];
    return v;
}

static void set_signed_msgpack_number(struct msgpack_head *h, int64_t v)
{
    h->kind = v < 0 ? MSGPACK_KIND_INT : MSGPACK_KIND_UINT;
    h->i64 = v;
}

static double load_big_endian_float(const uint8_t *p, unsigned bytes)
{
    uint64_t bits = load_big_endian(p, bytes);
    if (bytes == 8) {
        double v;
        memcpy(&v, &bits, sizeof v);
        return v;
    }
    uint32_t bits32 = (uint32_t)bits;
    float v;
    memcpy(&v, &bits32, sizeof v);
    return v;
}

/* The heads 0xc0 to 0xdf: `width` bytes follow (a length or a number), then the type of an ext. A
 * fixext has its size in `fixed`. */
static const struct {
    uint8_t kind, width, fixed;
    bool is_signed;
} heads[32] = {
    [0x00] = {MSGPACK_KIND_NIL, 0, 0, false},   [0x02] = {MSGPACK_KIND_BOOL, 0, 0, false},
    [0x03] = {MSGPACK_KIND_BOOL, 0, 0, false},  [0x04] = {MSGPACK_KIND_BIN, 1, 0, false},
    [0x05] = {MSGPACK_KIND_BIN, 2, 0, false},   [0x06] = {MSGPACK_KIND_BIN, 4, 0, false},
    [0x07] = {MSGPACK_KIND_EXT, 1, 0, false},   [0x08] = {MSGPACK_KIND_EXT, 2, 0, false},
    [0x09] = {MSGPACK_KIND_EXT, 4, 0, false},   [0x0a] = {MSGPACK_KIND_FLOAT, 4, 0, false},
    [0x0b] = {MSGPACK_KIND_FLOAT, 8, 0, false}, [0x0c] = {MSGPACK_KIND_UINT, 1, 0, false},
    [0x0d] = {MSGPACK_KIND_UINT, 2, 0, false},  [0x0e] = {MSGPACK_KIND_UINT, 4, 0, false},
    [0x0f] = {MSGPACK_KIND_UINT, 8, 0, false},  [0x10] = {MSGPACK_KIND_UINT, 1, 0, true},
    [0x11] = {MSGPACK_KIND_UINT, 2, 0, true},   [0x12] = {MSGPACK_KIND_UINT, 4, 0, true},
    [0x13] = {MSGPACK_KIND_UINT, 8, 0, true},   [0x14] = {MSGPACK_KIND_EXT, 0, 1, false},
    [0x15] = {MSGPACK_KIND_EXT, 0, 2, false},   [0x16] = {MSGPACK_KIND_EXT, 0, 4, false},
    [0x17] = {MSGPACK_KIND_EXT, 0, 8, false},   [0x18] = {MSGPACK_KIND_EXT, 0, 16, false},
    [0x19] = {MSGPACK_KIND_STR, 1, 0, false},   [0x1a] = {MSGPACK_KIND_STR, 2, 0, false},
    [0x1b] = {MSGPACK_KIND_STR, 4, 0, false},   [0x1c] = {MSGPACK_KIND_ARRAY, 2, 0, false},
    [0x1d] = {MSGPACK_KIND_ARRAY, 4, 0, false}, [0x1e] = {MSGPACK_KIND_MAP, 2, 0, false},
    [0x1f] = {MSGPACK_KIND_MAP, 4, 0, false},
};

/* Reads a head of one byte; returns false if it is not one. */
static bool read_msgpack_byte_head(uint8_t byte, struct msgpack_head *h)
{
    h->head_size = 1;
    if (byte <= 0x7f || byte >= 0xe0) {
        set_signed_msgpack_number(h, (int8_t)byte);
        return true;
    }
    if (byte >= 0xc0) return false;
    h->kind = byte >= 0xa0   ? MSGPACK_KIND_STR
              : byte >= 0x90 ? MSGPACK_KIND_ARRAY
                             : MSGPACK_KIND_MAP;
    h->size = byte >= 0xa0 ? byte & 0x1f : byte & 0x0f;
    return true;
}

static enum msgpack_validity read_msgpack_wide_head(const uint8_t *data, uint64_t size,
                                                    struct msgpack_head *h)
{
    const unsigned at = data[0] - 0xc0u;
    assert(at < 32);
    const unsigned width = heads[at].width;
    if (data[0] == 0xc1) return MSGPACK_INVALID;
    h->kind = (enum msgpack_kind)heads[at].kind;
    h->head_size = (uint8_t)(1 + width + (h->kind == MSGPACK_KIND_EXT));
    if (size < h->head_size) return MSGPACK_TRUNCATED;
    uint64_t number = load_big_endian(data + 1, width);
    if (h->kind == MSGPACK_KIND_BOOL)
        h->boolean = data[0] == 0xc3;
    else if (h->kind == MSGPACK_KIND_FLOAT)
        h->f64 = load_big_endian_float(data + 1, width);
    else if (heads[at].is_signed)
        set_signed_msgpack_number(h, (int64_t)(number << (64 - 8 * width)) >> (64 - 8 * width));
    else
        h->u64 = number; /* size and count are the same member */
    if (h->kind == MSGPACK_KIND_EXT) {
        h->ext_type = (int8_t)data[1 + width];
        if (width == 0) h->size = heads[at].fixed;
    }
    return MSGPACK_COMPLETE;
}

/* Reads a head without checking its content. h->head_size is set even if it is truncated. */
static enum msgpack_validity read_msgpack_head(const uint8_t *data, uint64_t size,
                                               struct msgpack_head *h)
{
    *h = (struct msgpack_head){.kind = MSGPACK_KIND_NIL, .head_size = 1};
    if (size == 0) return MSGPACK_TRUNCATED;
    return read_msgpack_byte_head(data[0], h) ? MSGPACK_COMPLETE
                                              : read_msgpack_wide_head(data, size, h);
}

bool msgpack_read_head(const uint8_t *data, uint64_t size, struct msgpack_head *out)
{
    if (read_msgpack_head(data, size, out) != MSGPACK_COMPLETE) return false;
    uint64_t left = size - out->head_size;
    switch (out->kind) {
    case MSGPACK_KIND_STR:
    case MSGPACK_KIND_BIN:
    case MSGPACK_KIND_EXT: return out->size <= left;
    case MSGPACK_KIND_ARRAY: return out->count <= left;
    case MSGPACK_KIND_MAP: return out->count <= left / 2;
    default: return true;
    }
}

enum msgpack_validity msgpack_validate_prefix(const uint8_t *data, uint64_t size,
                                              uint64_t *out_size)
{
    uint64_t open[MSGPACK_DEPTH_MAX]; /* remaining values of each open container */
    unsigned depth = 0;
    uint64_t at = 0, remaining = 0; /* remaining: the sum of `open` */
    do {
        struct msgpack_head h;
        enum msgpack_validity read = read_msgpack_head(data + at, size - at, &h);
        if (read == MSGPACK_INVALID) return MSGPACK_INVALID;
        at += h.head_size;
        if (depth > 0) {
            open[depth - 1]--;
            remaining--;
        }
        if (read == MSGPACK_COMPLETE && (h.kind == MSGPACK_KIND_STR || h.kind == MSGPACK_KIND_BIN ||
                                         h.kind == MSGPACK_KIND_EXT))
            at += h.size;
        if (read == MSGPACK_COMPLETE &&
            (h.kind == MSGPACK_KIND_ARRAY || h.kind == MSGPACK_KIND_MAP)) {
            if (depth == MSGPACK_DEPTH_MAX) return MSGPACK_INVALID;
            open[depth] = h.kind == MSGPACK_KIND_MAP ? 2 * h.count : h.count;
            remaining += open[depth++];
        }
        /* Each remaining value takes at least one byte: a huge count fails before its elements are
         * scanned. */
        *out_size = at + remaining;
        if (*out_size > size) return MSGPACK_TRUNCATED;
        assert(read == MSGPACK_COMPLETE && at <= size);
        while (depth > 0 && open[depth - 1] == 0) depth--;
    } while (depth > 0);
    return MSGPACK_COMPLETE;
}

bool msgpack_validate(const uint8_t *data, uint64_t size, uint64_t *out_size)
{
    uint64_t end;
    if (msgpack_validate_prefix(data, size, &end) != MSGPACK_COMPLETE) return false;
    *out_size = end;
    return true;
}

/* ---- pack */

/* msgpack-c's callback. Always returns 0: the error is kept in p->failed. */
static int packer_write(void *data, const char *bytes, size_t size)
{
    struct packer *p = data;
    if (!buffer_append(&p->out, bytes, size)) p->failed = true;
    return 0;
}

static msgpack_packer msgpack_packer_of(struct packer *p)
{
    return (msgpack_packer){.data = p, .callback = packer_write};
}

void packer_fini(struct packer *p)
{
    buffer_fini(&p->out);
}

int packer_finish(struct packer *p, struct buffer *out, struct glint_error *error)
{
    if (p->failed) {
        packer_fini(p);
        return error_no_memory(error);
    }
    assert(p->out.size > 0);
    *out = p->out;
    return 0;
}

void pack_u64(struct packer *p, uint64_t v)
{
    msgpack_packer pk = msgpack_packer_of(p);
    msgpack_pack_uint64(&pk, v);
}

void pack_i64(struct packer *p, int64_t v)
{
    msgpack_packer pk = msgpack_packer_of(p);
    msgpack_pack_int64(&pk, v);
}

void pack_f64(struct packer *p, double v)
{
    msgpack_packer pk = msgpack_packer_of(p);
    msgpack_pack_double(&pk, v);
}

void pack_bytes(struct packer *p, struct glint_slice s)
{
    msgpack_packer pk = msgpack_packer_of(p);
    assert(s.size <= UINT32_MAX);
    msgpack_pack_bin(&pk, s.size);
    if (s.size > 0) msgpack_pack_bin_body(&pk, s.data, s.size);
}

void pack_str(struct packer *p, struct glint_slice s)
{
    msgpack_packer pk = msgpack_packer_of(p);
    assert(s.size <= UINT32_MAX);
    msgpack_pack_str(&pk, s.size);
    msgpack_pack_str_body(&pk, s.data, s.size);
}

void pack_text(struct packer *p, const char *s)
{
    msgpack_packer pk = msgpack_packer_of(p);
    if (s == NULL)
        msgpack_pack_nil(&pk);
    else
        pack_str(p, (struct glint_slice){(const uint8_t *)s, strlen(s)});
}

void pack_array(struct packer *p, uint64_t count)
{
    msgpack_packer pk = msgpack_packer_of(p);
    msgpack_pack_array(&pk, count);
}

struct unpacker unpack_begin(struct glint_slice data)
{
    struct unpacker failed = {.failed = true};
    struct msgpack_head h;
    uint64_t size = 0;
    if (data.size == 0) return failed; /* data.data may be NULL */
    if (!msgpack_validate(data.data, data.size, &size) || size != data.size) return failed;
    msgpack_read_head(data.data, size, &h);
    if (h.kind != MSGPACK_KIND_ARRAY) return failed;
    return (struct unpacker){
        .at = data.data + h.head_size, .end = data.data + size, .count = h.count};
}

/* Reads the head of the next field and passes over it. If the field is missing or has neither of
 * these kinds, the unpacker has failed. */
static bool next_packed_field(struct unpacker *u, enum msgpack_kind kind, enum msgpack_kind other,
                              struct msgpack_head *h)
{
    if (u->failed || u->next >= u->count ||
        !msgpack_read_head(u->at, (uint64_t)(u->end - u->at), h) ||
        (h->kind != kind && h->kind != other)) {
        u->failed = true;
        return false;
    }
    u->next++;
    u->at += h->head_size;
    return true;
}

/* Passes over the content of a field; returns where it starts. */
static const uint8_t *skip_packed_content(struct unpacker *u, uint64_t size)
{
    const uint8_t *content = u->at;
    assert(size <= (uint64_t)(u->end - content));
    u->at += size;
    return content;
}

uint64_t unpack_u64(struct unpacker *u, uint64_t max)
{
    struct msgpack_head h;
    if (!next_packed_field(u, MSGPACK_KIND_UINT, MSGPACK_KIND_UINT, &h)) return 0;
    if (h.u64 > max) u->failed = true;
    return u->failed ? 0 : h.u64;
}

/* msgpack has one type for numbers from 0 and one for negative numbers; an i64 may be either. */
int64_t unpack_i64(struct unpacker *u)
{
    struct msgpack_head h;
    if (!next_packed_field(u, MSGPACK_KIND_UINT, MSGPACK_KIND_INT, &h)) return 0;
    if (h.kind == MSGPACK_KIND_UINT && h.u64 > INT64_MAX) u->failed = true;
    return u->failed ? 0 : h.i64;
}

double unpack_f64(struct unpacker *u)
{
    struct msgpack_head h;
    if (!next_packed_field(u, MSGPACK_KIND_FLOAT, MSGPACK_KIND_FLOAT, &h)) return 0;
    if (h.head_size != 1 + sizeof h.f64) u->failed = true; /* a float of 32 bits */
    return u->failed ? 0 : h.f64;
}

struct glint_slice unpack_bytes(struct unpacker *u)
{
    struct msgpack_head h;
    if (!next_packed_field(u, MSGPACK_KIND_BIN, MSGPACK_KIND_BIN, &h))
        return (struct glint_slice){NULL, 0};
    return (struct glint_slice){skip_packed_content(u, h.size), h.size};
}

void unpack_text(struct unpacker *u, char *out, size_t capacity)
{
    struct msgpack_head h;
    out[0] = '\0';
    if (!next_packed_field(u, MSGPACK_KIND_STR, MSGPACK_KIND_NIL, &h) || h.kind == MSGPACK_KIND_NIL)
        return;
    const uint8_t *text = skip_packed_content(u, h.size);
    /* A NUL byte would cut the text: a path would then name another file. */
    if (h.size >= capacity || memchr(text, 0, h.size) != NULL) {
        u->failed = true;
        return;
    }
    memcpy(out, text, h.size);
    out[h.size] = '\0';
}

struct unpacker unpack_array(struct unpacker *u)
{
    struct unpacker inner = {.failed = true};
    struct msgpack_head h;
    struct unpacker whole = *u;
    if (!next_packed_field(u, MSGPACK_KIND_ARRAY, MSGPACK_KIND_ARRAY, &h)) return inner;
    inner = (struct unpacker){.at = u->at, .count = h.count};
    unpack_skip(&whole);
    assert(!whole.failed && whole.at >= inner.at);
    inner.end = u->at = whole.at;
    return inner;
}

/* The field has been validated, so its values only have to be counted. */
void unpack_skip(struct unpacker *u)
{
    struct msgpack_head h;
    if (u->next >= u->count) u->failed = true;
    for (uint64_t values = u->failed ? 0 : 1; values > 0; values--) {
        bool valid = msgpack_read_head(u->at, (uint64_t)(u->end - u->at), &h);
        assert(valid);
        u->at += h.head_size;
        if (h.kind == MSGPACK_KIND_ARRAY) values += h.count;
        if (h.kind == MSGPACK_KIND_MAP) values += 2 * h.count;
        if (h.kind == MSGPACK_KIND_STR || h.kind == MSGPACK_KIND_BIN || h.kind == MSGPACK_KIND_EXT)
            u->at += h.size;
    }
    u->next++;
}

bool unpack_is_complete(const struct unpacker *u)
{
    return !u->failed && u->next == u->count;
}

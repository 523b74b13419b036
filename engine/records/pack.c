/* A writer, by msgpack-c, and a reader with sticky errors. msgpack-c's own reader allocates an
 * object for each field. Used for messages, plans and arguments. */
#include "engine/records/pack.h"

#include "engine/records/msgpack_validate.h"

#include <assert.h>
#include <msgpack.h>
#include <string.h>

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
static const uint8_t *skip_content(struct unpacker *u, uint64_t size)
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
    return (struct glint_slice){skip_content(u, h.size), h.size};
}

void unpack_text(struct unpacker *u, char *out, size_t capacity)
{
    struct msgpack_head h;
    out[0] = '\0';
    if (!next_packed_field(u, MSGPACK_KIND_STR, MSGPACK_KIND_NIL, &h) || h.kind == MSGPACK_KIND_NIL)
        return;
    const uint8_t *text = skip_content(u, h.size);
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

/* Two small structs around msgpack-c: a writer and a reader with sticky errors. The reader
 * validates all bytes before it unpacks them. Used for messages, plans and arguments. */
#include "engine/data/pack.h"

#include "engine/data/msgpack_validate.h"

#include <assert.h>
#include <string.h>

/* msgpack-c's callback. Always returns 0: the error is kept in p->failed. */
static int packer_write(void *data, const char *bytes, size_t size)
{
    struct packer *p = data;
    if (!buffer_append(&p->out, bytes, size)) p->failed = true;
    return 0;
}

void packer_init(struct packer *p)
{
    memset(p, 0, sizeof *p);
    msgpack_packer_init(&p->pk, p, packer_write);
}

void packer_fini(struct packer *p)
{
    buffer_fini(&p->out);
}

void pack_u64(struct packer *p, uint64_t v)
{
    msgpack_pack_uint64(&p->pk, v);
}

void pack_i64(struct packer *p, int64_t v)
{
    msgpack_pack_int64(&p->pk, v);
}

void pack_f64(struct packer *p, double v)
{
    msgpack_pack_double(&p->pk, v);
}

void pack_bytes(struct packer *p, struct glint_slice s)
{
    assert(s.size <= UINT32_MAX);
    msgpack_pack_bin(&p->pk, s.size);
    if (s.size > 0) msgpack_pack_bin_body(&p->pk, s.data, s.size);
}

void pack_text(struct packer *p, const char *s)
{
    if (s == NULL) {
        msgpack_pack_nil(&p->pk);
        return;
    }
    size_t n = strlen(s);
    msgpack_pack_str(&p->pk, n);
    msgpack_pack_str_body(&p->pk, s, n);
}

void pack_array(struct packer *p, uint64_t count)
{
    msgpack_pack_array(&p->pk, count);
}

bool unpacker_init(struct unpacker *u, struct glint_slice data)
{
    memset(u, 0, sizeof *u);
    msgpack_unpacked_init(&u->unpacked);
    u->failed = true; /* until everything below has succeeded */
    uint64_t size = 0;
    if (data.size == 0) return false; /* data.data may be NULL */
    if (!msgpack_validate(data.data, data.size, &size) || size != data.size) return false;
    size_t at = 0;
    if (msgpack_unpack_next(&u->unpacked, (const char *)data.data, data.size, &at) !=
        MSGPACK_UNPACK_SUCCESS)
        return false;
    const msgpack_object *o = &u->unpacked.data;
    if (o->type != MSGPACK_OBJECT_ARRAY) return false;
    u->fields = o->via.array.ptr;
    u->count = o->via.array.size;
    u->failed = false;
    return true;
}

void unpacker_fini(struct unpacker *u)
{
    msgpack_unpacked_destroy(&u->unpacked);
}

/* Returns the next field if it has this type; else NULL, and the unpacker has failed. */
static const msgpack_object *next_field(struct unpacker *u, msgpack_object_type type)
{
    if (u->failed || u->next >= u->count || u->fields[u->next].type != type) {
        u->failed = true;
        return NULL;
    }
    return &u->fields[u->next++];
}

uint64_t unpack_u64(struct unpacker *u, uint64_t max)
{
    const msgpack_object *o = next_field(u, MSGPACK_OBJECT_POSITIVE_INTEGER);
    if (o == NULL) return 0;
    if (o->via.u64 > max) u->failed = true;
    return u->failed ? 0 : o->via.u64;
}

/* msgpack has one type for numbers from 0 and one for negative numbers; an i64 may be either. */
int64_t unpack_i64(struct unpacker *u)
{
    bool negative = !u->failed && u->next < u->count &&
                    u->fields[u->next].type == MSGPACK_OBJECT_NEGATIVE_INTEGER;
    if (!negative) return (int64_t)unpack_u64(u, INT64_MAX);
    return next_field(u, MSGPACK_OBJECT_NEGATIVE_INTEGER)->via.i64;
}

double unpack_f64(struct unpacker *u)
{
    const msgpack_object *o = next_field(u, MSGPACK_OBJECT_FLOAT64);
    return o != NULL ? o->via.f64 : 0;
}

struct glint_slice unpack_bytes(struct unpacker *u)
{
    const msgpack_object *o = next_field(u, MSGPACK_OBJECT_BIN);
    if (o == NULL) return (struct glint_slice){NULL, 0};
    return (struct glint_slice){(const uint8_t *)o->via.bin.ptr, o->via.bin.size};
}

void unpack_text(struct unpacker *u, char *out, size_t capacity)
{
    out[0] = '\0';
    if (!u->failed && u->next < u->count && u->fields[u->next].type == MSGPACK_OBJECT_NIL) {
        u->next++;
        return;
    }
    const msgpack_object *o = next_field(u, MSGPACK_OBJECT_STR);
    if (o == NULL) return;
    /* A NUL byte would cut the text: a path would then name another file. */
    size_t n = o->via.str.size;
    if (n >= capacity || (n > 0 && memchr(o->via.str.ptr, 0, n) != NULL)) {
        u->failed = true;
        return;
    }
    if (n > 0) memcpy(out, o->via.str.ptr, n);
    out[n] = '\0';
}

struct unpacker unpack_array(struct unpacker *u)
{
    struct unpacker inner = {.failed = true};
    const msgpack_object *o = next_field(u, MSGPACK_OBJECT_ARRAY);
    if (o == NULL) return inner;
    inner.fields = o->via.array.ptr;
    inner.count = o->via.array.size;
    inner.failed = false;
    return inner;
}

bool unpack_is_complete(const struct unpacker *u)
{
    return !u->failed && u->next == u->count;
}

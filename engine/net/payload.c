/* Fields that several payloads share: encoding and decoding. */
#include "engine/net/payload.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

void payload_pack_begin(struct packer *p, struct buffer *out, uint64_t fields)
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

int payload_unpack_end(const struct unpacker *u, const char *what, struct glint_error *error)
{
    if (unpack_is_complete(u)) return 0;
    return error_set(error, GLINT_E_PROTOCOL, NULL, "%s does not parse", what);
}

void unpack_name(struct unpacker *u, char *out, size_t capacity)
{
    unpack_text(u, out, capacity);
    /* Names are printed in logs and terminals: no control characters from the network. */
    if (text_is_printable(out)) return;
    u->failed = true;
    out[0] = '\0';
}

void unpack_fixed_bytes(struct unpacker *u, uint8_t *out, size_t size)
{
    struct glint_slice s = unpack_bytes(u);
    memset(out, 0, size);
    if (s.size == size && s.data != NULL)
        memcpy(out, s.data, size);
    else
        u->failed = true;
}

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

/* Encodes messages and stored structures as msgpack arrays: fields in a fixed order, each checked.
 *
 * Errors are sticky: after running out of memory or after a wrong field, further calls have no
 * effect, and the caller checks once, at the end. Untrusted data is validated with msgpack_validate
 * first. One thread. */
#ifndef GLINT_DATA_PACK_H
#define GLINT_DATA_PACK_H

#include "engine/base/mem.h"
#include "engine/glint.h"

#include <msgpack.h>

struct packer {
    msgpack_packer pk;
    struct buffer out;
    bool failed; /* out of memory: `out` is incomplete */
};

/* The packer must not move between packer_init and packer_fini. */
void packer_init(struct packer *p);
void packer_fini(struct packer *p);
void pack_u64(struct packer *p, uint64_t v);
void pack_i64(struct packer *p, int64_t v);
void pack_f64(struct packer *p, double v);
void pack_bytes(struct packer *p, struct glint_slice s);
void pack_text(struct packer *p, const char *s); /* NULL: nil */
/* Starts an array: the caller then packs `count` fields. */
void pack_array(struct packer *p, uint64_t count);

struct unpacker {
    msgpack_unpacked unpacked; /* only in the outermost unpacker */
    const msgpack_object *fields;
    uint64_t count, next; /* fields; index of the next one */
    bool failed;
};

/* `data` must be exactly one array; it is borrowed until unpacker_fini, which must be called in any
 * case. Returns false if it is not valid; the unpacker has then failed. */
bool unpacker_init(struct unpacker *u, struct glint_slice data);
void unpacker_fini(struct unpacker *u);
/* Each returns the next field. If it is missing, of another type or over `max`, returns zeros and
 * the unpacker has failed. */
uint64_t unpack_u64(struct unpacker *u, uint64_t max);
int64_t unpack_i64(struct unpacker *u);
double unpack_f64(struct unpacker *u);
struct glint_slice unpack_bytes(struct unpacker *u);              /* points into the data */
void unpack_text(struct unpacker *u, char *out, size_t capacity); /* nil: empty */
/* Returns an unpacker for the next field, an array. It needs no fini and is valid as long as
 * `u`. */
struct unpacker unpack_array(struct unpacker *u);
/* Returns true if all fields were read and none was wrong. */
bool unpack_is_complete(const struct unpacker *u);

#endif

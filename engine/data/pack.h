/* Messages and stored structures as msgpack arrays: fields in a fixed order, checked one by one.
 *
 * Errors stick: a packer without memory and an unpacker that met a wrong field go on without
 * effect, and the caller looks once, at the end. Data from outside passes msgpack_validate first.
 */
#ifndef GLINT_DATA_PACK_H
#define GLINT_DATA_PACK_H

#include "engine/base/mem.h"
#include "engine/glint.h"

#include <msgpack.h>

struct packer {
    msgpack_packer pk;
    struct buffer out;
    bool failed; /* no memory */
};

/* The packer must not move between packer_init and packer_fini. */
void packer_init(struct packer *p);
void packer_fini(struct packer *p);
void pack_u64(struct packer *p, uint64_t v);
void pack_i64(struct packer *p, int64_t v);
void pack_f64(struct packer *p, double v);
void pack_bytes(struct packer *p, struct glint_slice s);
void pack_text(struct packer *p, const char *s); /* NULL: nil */
/* `count` fields follow. */
void pack_array(struct packer *p, uint64_t count);

struct unpacker {
    msgpack_unpacked unpacked; /* of the outermost one */
    const msgpack_object *fields;
    uint64_t count, next;
    bool failed;
};

/* `data` must be one array and nothing else, and stays borrowed until unpacker_fini, which is due
 * in any case. False: it is none; the unpacker has failed. */
bool unpacker_init(struct unpacker *u, struct glint_slice data);
void unpacker_fini(struct unpacker *u);
/* The next field, or zeros where it is missing, of another type, or over `max`. */
uint64_t unpack_u64(struct unpacker *u, uint64_t max);
int64_t unpack_i64(struct unpacker *u);
double unpack_f64(struct unpacker *u);
struct glint_slice unpack_bytes(struct unpacker *u);              /* points into the data */
void unpack_text(struct unpacker *u, char *out, size_t capacity); /* nil: empty */
/* The next field as an array of its own; needs no fini, lives as long as `u`. */
struct unpacker unpack_array(struct unpacker *u);
/* All fields were read and none was wrong. */
bool unpack_is_complete(const struct unpacker *u);

#endif

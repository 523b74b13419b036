/* Encodes messages and stored structures as msgpack arrays: fields in a fixed order, each checked.
 *
 * Errors are sticky: after running out of memory or after a wrong field, further calls have no
 * effect, and the caller checks once, at the end. All data is validated before the first field is
 * read. One thread. */
#ifndef GLINT_RECORDS_PACK_H
#define GLINT_RECORDS_PACK_H

#include "engine/base/error.h"
#include "engine/base/mem.h"

/* Zeros are an empty one. */
struct packer {
    struct buffer out;
    bool failed; /* out of memory: `out` is incomplete */
};

void packer_fini(struct packer *p);
/* Moves the bytes to *out and returns 0, or frees them and returns NO_MEMORY if the packer has
 * failed. */
int packer_finish(struct packer *p, struct buffer *out, struct glint_error *error);
void pack_u64(struct packer *p, uint64_t v);
void pack_i64(struct packer *p, int64_t v);
void pack_f64(struct packer *p, double v);
void pack_bytes(struct packer *p, struct glint_slice s);
void pack_str(struct packer *p, struct glint_slice s);
void pack_text(struct packer *p, const char *s); /* NULL: nil */
/* Starts an array: the caller then packs `count` fields. */
void pack_array(struct packer *p, uint64_t count);

/* Borrows the data; allocates nothing. */
struct unpacker {
    const uint8_t *at, *end; /* the fields not read yet */
    uint64_t count, next;    /* fields; index of the next one */
    bool failed;
};

/* `data` must be exactly one array; if it is not, the unpacker has failed. */
struct unpacker unpack_begin(struct glint_slice data);
/* Each returns the next field. If it is missing, of another type or over `max`, returns zeros and
 * the unpacker has failed. */
uint64_t unpack_u64(struct unpacker *u, uint64_t max);
int64_t unpack_i64(struct unpacker *u);
double unpack_f64(struct unpacker *u);
struct glint_slice unpack_bytes(struct unpacker *u);              /* points into the data */
void unpack_text(struct unpacker *u, char *out, size_t capacity); /* nil: empty */
/* Returns an unpacker for the next field, an array. */
struct unpacker unpack_array(struct unpacker *u);
void unpack_skip(struct unpacker *u); /* passes over the next field, of any type */
/* Returns true if all fields were read and none was wrong. */
bool unpack_is_complete(const struct unpacker *u);

#endif

/* Encodes messages and stored structures as msgpack arrays: fields in a fixed order, each checked.
 *
 * Errors are sticky: after running out of memory or after a wrong field, further calls have no
 * effect, and the caller checks once, at the end. All data is validated before the first field is
 * read. One thread. */
#ifndef GLINT_RECORDS_PACK_H
#define GLINT_RECORDS_PACK_H

#include "engine/base/error.h"
#include "engine/base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* Borrowed: valid until the buffer changes. */
static inline struct glint_slice buffer_slice(const struct buffer *b)
{
    return (struct glint_slice){b->data, b->size};
}

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

/* Validates untrusted msgpack before it is unpacked. No allocation and no recursion, so a header
 * that claims a huge size costs no more than its own bytes. Pure; any thread. */

#define MSGPACK_DEPTH_MAX 16

enum msgpack_kind {
    MSGPACK_KIND_NIL,
    MSGPACK_KIND_BOOL,
    MSGPACK_KIND_UINT, /* positive and zero */
    MSGPACK_KIND_INT,  /* negative */
    MSGPACK_KIND_FLOAT,
    MSGPACK_KIND_STR,
    MSGPACK_KIND_BIN,
    MSGPACK_KIND_EXT,
    MSGPACK_KIND_ARRAY,
    MSGPACK_KIND_MAP,
};

/* The head of a value: its type and its size or number, without its content. */
struct msgpack_head {
    enum msgpack_kind kind;
    uint8_t head_size; /* bytes of the head itself; numbers are part of it */
    int8_t ext_type;
    union {
        bool boolean;
        uint64_t u64;
        int64_t i64;
        double f64;
        uint64_t size;  /* str, bin, ext: bytes that follow the head, all within the data */
        uint64_t count; /* array: elements; map: pairs */
    };
};

/* Reads one head from the `size` bytes at `data`. Returns false if it is truncated, is the reserved
 * byte 0xc1, or claims more content than bytes are left. */
bool msgpack_read_head(const uint8_t *data, uint64_t size, struct msgpack_head *out);

/* Returns true if `data` starts with a complete value whose containers are nested at most
 * MSGPACK_DEPTH_MAX deep, and sets *out_size to its size; more bytes may follow. Required before
 * every msgpack_unpack. On false *out_size is unchanged. */
bool msgpack_validate(const uint8_t *data, uint64_t size, uint64_t *out_size);

enum msgpack_validity {
    MSGPACK_COMPLETE,
    MSGPACK_TRUNCATED, /* more bytes are needed */
    MSGPACK_INVALID,   /* more bytes cannot help: the reserved byte, or nested too deep */
};

/* As msgpack_validate, for a stream whose next bytes may not have arrived. On MSGPACK_TRUNCATED
 * *out_size is more than `size`: the least size the value can have according to the heads so
 * far. */
enum msgpack_validity msgpack_validate_prefix(const uint8_t *data, uint64_t size,
                                              uint64_t *out_size);

#endif

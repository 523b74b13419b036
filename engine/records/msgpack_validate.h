/* Validates untrusted msgpack before it is unpacked. No allocation and no recursion, so a header
 * that claims a huge size costs no more than its own bytes. Pure; any thread. */
#ifndef GLINT_RECORDS_MSGPACK_VALIDATE_H
#define GLINT_RECORDS_MSGPACK_VALIDATE_H

#include <stdbool.h>
#include <stdint.h>

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

/* A look at msgpack before it is believed: without allocation and without recursion, so that no
 * header, however large its claims, costs more than its own bytes. Pure; any thread. */
#ifndef GLINT_DATA_MSGPACK_VALIDATE_H
#define GLINT_DATA_MSGPACK_VALIDATE_H

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

/* One head: what a value is, before its content. */
struct msgpack_head {
    enum msgpack_kind kind;
    uint8_t head_size; /* bytes of the head itself; numbers are part of it */
    int8_t ext_type;
    union {
        bool boolean;
        uint64_t u64;
        int64_t i64;
        double f64;
        uint64_t size;  /* str, bin, ext: bytes that follow the head, and are there */
        uint64_t count; /* array: elements; map: pairs */
    };
};

/* Reads one head from the `size` bytes at `data`. False: cut short, or the reserved byte 0xc1, or
 * more content claimed than bytes are left. */
bool msgpack_read_head(const uint8_t *data, uint64_t size, struct msgpack_head *out);

/* One whole value at the start of `data`, containers nested at most MSGPACK_DEPTH_MAX deep.
 * Required before any msgpack_unpack. *out_size: its bytes, untouched on false; more may follow. */
bool msgpack_validate(const uint8_t *data, uint64_t size, uint64_t *out_size);

enum msgpack_validity {
    MSGPACK_COMPLETE,
    MSGPACK_TRUNCATED, /* more bytes are needed */
    MSGPACK_INVALID,   /* no more bytes can help: the reserved byte, or nested too deep */
};

/* As msgpack_validate, where the rest of the value may still be on its way. MSGPACK_TRUNCATED:
 * *out_size is more than `size`, and the value takes at least so many bytes, going by the heads
 * seen so far. */
enum msgpack_validity msgpack_validate_prefix(const uint8_t *data, uint64_t size,
                                              uint64_t *out_size);

#endif

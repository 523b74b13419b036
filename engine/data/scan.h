/* A look at msgpack before it is believed: without allocation and without recursion, so that no
 * header, however large its claims, costs more than its own bytes. Pure; any thread. */
#ifndef GLINT_DATA_SCAN_H
#define GLINT_DATA_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#define SCAN_DEPTH_MAX 16

enum scan_kind {
    SCAN_NIL,
    SCAN_BOOL,
    SCAN_UINT, /* positive and zero */
    SCAN_INT,  /* negative */
    SCAN_FLOAT,
    SCAN_STR,
    SCAN_BIN,
    SCAN_EXT,
    SCAN_ARRAY,
    SCAN_MAP,
};

/* One head: what a value is, before its content. */
struct scan_head {
    enum scan_kind kind;
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
bool scan_head(const uint8_t *data, uint64_t size, struct scan_head *out);

/* One whole value at the start of `data`, containers nested at most SCAN_DEPTH_MAX deep. Required
 * before any msgpack_unpack. *out_size: its bytes, untouched on false; more may follow. */
bool scan_msgpack(const uint8_t *data, uint64_t size, uint64_t *out_size);

enum scan_result {
    SCAN_OK,
    SCAN_SHORT, /* more bytes are needed */
    SCAN_BAD,   /* no more bytes can help: the reserved byte, or nested too deep */
};

/* As scan_msgpack, where the rest of the value may still be on its way. SCAN_SHORT: *out_size is
 * more than `size`, and the value takes at least so many bytes, going by the heads seen so far. */
enum scan_result scan_prefix(const uint8_t *data, uint64_t size, uint64_t *out_size);

#endif

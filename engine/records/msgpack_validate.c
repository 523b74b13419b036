/* The table of msgpack's heads, and a scan over them that stores only counts.
 *
 * Every element of a container takes at least one byte, so a count larger than the number of
 * remaining bytes is invalid. Together with the depth limit this bounds both the scan and what a
 * decoder allocates. */
#include "engine/records/msgpack_validate.h"

#include <assert.h>
#include <string.h>

/* Loads a big-endian number of `bytes` bytes. */
static uint64_t load_be(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++) v = v << 8 | p[i];
    return v;
}

static void set_signed_number(struct msgpack_head *h, int64_t v)
{
    h->kind = v < 0 ? MSGPACK_KIND_INT : MSGPACK_KIND_UINT;
    h->i64 = v;
}

static double load_f64(const uint8_t *p, unsigned bytes)
{
    uint64_t bits = load_be(p, bytes);
    if (bytes == 8) {
        double v;
        memcpy(&v, &bits, sizeof v);
        return v;
    }
    uint32_t bits32 = (uint32_t)bits;
    float v;
    memcpy(&v, &bits32, sizeof v);
    return v;
}

/* The heads 0xc0 to 0xdf: `width` bytes follow (a length or a number), then the type of an ext. A
 * fixext has its size in `fixed`. */
static const struct {
    uint8_t kind, width, fixed;
    bool is_signed;
} heads[32] = {
    [0x00] = {MSGPACK_KIND_NIL, 0, 0, false},   [0x02] = {MSGPACK_KIND_BOOL, 0, 0, false},
    [0x03] = {MSGPACK_KIND_BOOL, 0, 0, false},  [0x04] = {MSGPACK_KIND_BIN, 1, 0, false},
    [0x05] = {MSGPACK_KIND_BIN, 2, 0, false},   [0x06] = {MSGPACK_KIND_BIN, 4, 0, false},
    [0x07] = {MSGPACK_KIND_EXT, 1, 0, false},   [0x08] = {MSGPACK_KIND_EXT, 2, 0, false},
    [0x09] = {MSGPACK_KIND_EXT, 4, 0, false},   [0x0a] = {MSGPACK_KIND_FLOAT, 4, 0, false},
    [0x0b] = {MSGPACK_KIND_FLOAT, 8, 0, false}, [0x0c] = {MSGPACK_KIND_UINT, 1, 0, false},
    [0x0d] = {MSGPACK_KIND_UINT, 2, 0, false},  [0x0e] = {MSGPACK_KIND_UINT, 4, 0, false},
    [0x0f] = {MSGPACK_KIND_UINT, 8, 0, false},  [0x10] = {MSGPACK_KIND_UINT, 1, 0, true},
    [0x11] = {MSGPACK_KIND_UINT, 2, 0, true},   [0x12] = {MSGPACK_KIND_UINT, 4, 0, true},
    [0x13] = {MSGPACK_KIND_UINT, 8, 0, true},   [0x14] = {MSGPACK_KIND_EXT, 0, 1, false},
    [0x15] = {MSGPACK_KIND_EXT, 0, 2, false},   [0x16] = {MSGPACK_KIND_EXT, 0, 4, false},
    [0x17] = {MSGPACK_KIND_EXT, 0, 8, false},   [0x18] = {MSGPACK_KIND_EXT, 0, 16, false},
    [0x19] = {MSGPACK_KIND_STR, 1, 0, false},   [0x1a] = {MSGPACK_KIND_STR, 2, 0, false},
    [0x1b] = {MSGPACK_KIND_STR, 4, 0, false},   [0x1c] = {MSGPACK_KIND_ARRAY, 2, 0, false},
    [0x1d] = {MSGPACK_KIND_ARRAY, 4, 0, false}, [0x1e] = {MSGPACK_KIND_MAP, 2, 0, false},
    [0x1f] = {MSGPACK_KIND_MAP, 4, 0, false},
};

/* Reads a head of one byte; returns false if it is not one. */
static bool read_short_head(uint8_t byte, struct msgpack_head *h)
{
    h->head_size = 1;
    if (byte <= 0x7f || byte >= 0xe0) {
        set_signed_number(h, (int8_t)byte);
        return true;
    }
    if (byte >= 0xc0) return false;
    h->kind = byte >= 0xa0   ? MSGPACK_KIND_STR
              : byte >= 0x90 ? MSGPACK_KIND_ARRAY
                             : MSGPACK_KIND_MAP;
    h->size = byte >= 0xa0 ? byte & 0x1f : byte & 0x0f;
    return true;
}

static enum msgpack_validity read_long_head(const uint8_t *data, uint64_t size,
                                            struct msgpack_head *h)
{
    const unsigned at = data[0] - 0xc0u;
    assert(at < 32);
    const unsigned width = heads[at].width;
    if (data[0] == 0xc1) return MSGPACK_INVALID;
    h->kind = (enum msgpack_kind)heads[at].kind;
    h->head_size = (uint8_t)(1 + width + (h->kind == MSGPACK_KIND_EXT));
    if (size < h->head_size) return MSGPACK_TRUNCATED;
    uint64_t number = load_be(data + 1, width);
    if (h->kind == MSGPACK_KIND_BOOL)
        h->boolean = data[0] == 0xc3;
    else if (h->kind == MSGPACK_KIND_FLOAT)
        h->f64 = load_f64(data + 1, width);
    else if (heads[at].is_signed)
        set_signed_number(h, (int64_t)(number << (64 - 8 * width)) >> (64 - 8 * width));
    else
        h->u64 = number; /* size and count are the same member */
    if (h->kind == MSGPACK_KIND_EXT) {
        h->ext_type = (int8_t)data[1 + width];
        if (width == 0) h->size = heads[at].fixed;
    }
    return MSGPACK_COMPLETE;
}

/* Reads a head without checking its content. h->head_size is set even if it is truncated. */
static enum msgpack_validity read_msgpack_head(const uint8_t *data, uint64_t size,
                                               struct msgpack_head *h)
{
    *h = (struct msgpack_head){.kind = MSGPACK_KIND_NIL, .head_size = 1};
    if (size == 0) return MSGPACK_TRUNCATED;
    return read_short_head(data[0], h) ? MSGPACK_COMPLETE : read_long_head(data, size, h);
}

bool msgpack_read_head(const uint8_t *data, uint64_t size, struct msgpack_head *out)
{
    if (read_msgpack_head(data, size, out) != MSGPACK_COMPLETE) return false;
    uint64_t left = size - out->head_size;
    switch (out->kind) {
    case MSGPACK_KIND_STR:
    case MSGPACK_KIND_BIN:
    case MSGPACK_KIND_EXT: return out->size <= left;
    case MSGPACK_KIND_ARRAY: return out->count <= left;
    case MSGPACK_KIND_MAP: return out->count <= left / 2;
    default: return true;
    }
}

enum msgpack_validity msgpack_validate_prefix(const uint8_t *data, uint64_t size,
                                              uint64_t *out_size)
{
    uint64_t open[MSGPACK_DEPTH_MAX]; /* remaining values of each open container */
    unsigned depth = 0;
    uint64_t at = 0, remaining = 0; /* remaining: the sum of `open` */
    do {
        struct msgpack_head h;
        enum msgpack_validity read = read_msgpack_head(data + at, size - at, &h);
        if (read == MSGPACK_INVALID) return MSGPACK_INVALID;
        at += h.head_size;
        if (depth > 0) {
            open[depth - 1]--;
            remaining--;
        }
        if (read == MSGPACK_COMPLETE && (h.kind == MSGPACK_KIND_STR || h.kind == MSGPACK_KIND_BIN ||
                                         h.kind == MSGPACK_KIND_EXT))
            at += h.size;
        if (read == MSGPACK_COMPLETE &&
            (h.kind == MSGPACK_KIND_ARRAY || h.kind == MSGPACK_KIND_MAP)) {
            if (depth == MSGPACK_DEPTH_MAX) return MSGPACK_INVALID;
            open[depth] = h.kind == MSGPACK_KIND_MAP ? 2 * h.count : h.count;
            remaining += open[depth++];
        }
        /* Each remaining value takes at least one byte: a huge count fails before its elements are
         * scanned. */
        *out_size = at + remaining;
        if (*out_size > size) return MSGPACK_TRUNCATED;
        assert(read == MSGPACK_COMPLETE && at <= size);
        while (depth > 0 && open[depth - 1] == 0) depth--;
    } while (depth > 0);
    return MSGPACK_COMPLETE;
}

bool msgpack_validate(const uint8_t *data, uint64_t size, uint64_t *out_size)
{
    uint64_t end;
    if (msgpack_validate_prefix(data, size, &end) != MSGPACK_COMPLETE) return false;
    *out_size = end;
    return true;
}

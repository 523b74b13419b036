/* The table of msgpack's heads, and a walk over them that keeps only counts.
 *
 * Every element of a container takes at least one byte, so a count larger than the bytes that are
 * left is a lie; together with the depth this bounds both the walk and what a decoder will
 * allocate. */
#include "engine/data/scan.h"

#include <assert.h>
#include <string.h>

/* Big-endian, `bytes` of them. */
static uint64_t load(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++) v = v << 8 | p[i];
    return v;
}

static void set_signed(struct scan_head *h, int64_t v)
{
    h->kind = v < 0 ? SCAN_INT : SCAN_UINT;
    h->i64 = v;
}

static double load_f64(const uint8_t *p, unsigned bytes)
{
    uint64_t bits = load(p, bytes);
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

/* What each byte from 0xc0 to 0xdf opens: `width` bytes follow (a length, a number), for ext types
 * the type after them. A fixed ext has its size in `fixed`. */
static const struct {
    uint8_t kind, width, fixed;
    bool is_signed;
} heads[32] = {
    [0x00] = {SCAN_NIL, 0, 0, false},   [0x02] = {SCAN_BOOL, 0, 0, false},
    [0x03] = {SCAN_BOOL, 0, 0, false},  [0x04] = {SCAN_BIN, 1, 0, false},
    [0x05] = {SCAN_BIN, 2, 0, false},   [0x06] = {SCAN_BIN, 4, 0, false},
    [0x07] = {SCAN_EXT, 1, 0, false},   [0x08] = {SCAN_EXT, 2, 0, false},
    [0x09] = {SCAN_EXT, 4, 0, false},   [0x0a] = {SCAN_FLOAT, 4, 0, false},
    [0x0b] = {SCAN_FLOAT, 8, 0, false}, [0x0c] = {SCAN_UINT, 1, 0, false},
    [0x0d] = {SCAN_UINT, 2, 0, false},  [0x0e] = {SCAN_UINT, 4, 0, false},
    [0x0f] = {SCAN_UINT, 8, 0, false},  [0x10] = {SCAN_UINT, 1, 0, true},
    [0x11] = {SCAN_UINT, 2, 0, true},   [0x12] = {SCAN_UINT, 4, 0, true},
    [0x13] = {SCAN_UINT, 8, 0, true},   [0x14] = {SCAN_EXT, 0, 1, false},
    [0x15] = {SCAN_EXT, 0, 2, false},   [0x16] = {SCAN_EXT, 0, 4, false},
    [0x17] = {SCAN_EXT, 0, 8, false},   [0x18] = {SCAN_EXT, 0, 16, false},
    [0x19] = {SCAN_STR, 1, 0, false},   [0x1a] = {SCAN_STR, 2, 0, false},
    [0x1b] = {SCAN_STR, 4, 0, false},   [0x1c] = {SCAN_ARRAY, 2, 0, false},
    [0x1d] = {SCAN_ARRAY, 4, 0, false}, [0x1e] = {SCAN_MAP, 2, 0, false},
    [0x1f] = {SCAN_MAP, 4, 0, false},
};

/* Heads that hold everything in one byte. */
static bool head_in_byte(uint8_t byte, struct scan_head *h)
{
    h->head_size = 1;
    if (byte <= 0x7f || byte >= 0xe0) {
        set_signed(h, (int8_t)byte);
        return true;
    }
    if (byte >= 0xc0) return false;
    h->kind = byte >= 0xa0 ? SCAN_STR : byte >= 0x90 ? SCAN_ARRAY : SCAN_MAP;
    h->size = byte >= 0xa0 ? byte & 0x1f : byte & 0x0f;
    return true;
}

static enum scan_result head_long(const uint8_t *data, uint64_t size, struct scan_head *h)
{
    const unsigned at = data[0] - 0xc0u;
    assert(at < 32);
    const unsigned width = heads[at].width;
    if (data[0] == 0xc1) return SCAN_BAD;
    h->kind = (enum scan_kind)heads[at].kind;
    h->head_size = (uint8_t)(1 + width + (h->kind == SCAN_EXT));
    if (size < h->head_size) return SCAN_SHORT;
    uint64_t number = load(data + 1, width);
    if (h->kind == SCAN_BOOL)
        h->boolean = data[0] == 0xc3;
    else if (h->kind == SCAN_FLOAT)
        h->f64 = load_f64(data + 1, width);
    else if (heads[at].is_signed)
        set_signed(h, (int64_t)(number << (64 - 8 * width)) >> (64 - 8 * width));
    else
        h->u64 = number; /* size and count are the same member */
    if (h->kind == SCAN_EXT) {
        h->ext_type = (int8_t)data[1 + width];
        if (width == 0) h->size = heads[at].fixed;
    }
    return SCAN_OK;
}

/* A head alone. Whatever the answer, h->head_size is what it takes. */
static enum scan_result head_read(const uint8_t *data, uint64_t size, struct scan_head *h)
{
    *h = (struct scan_head){.kind = SCAN_NIL, .head_size = 1};
    if (size == 0) return SCAN_SHORT;
    return head_in_byte(data[0], h) ? SCAN_OK : head_long(data, size, h);
}

bool scan_head(const uint8_t *data, uint64_t size, struct scan_head *out)
{
    if (head_read(data, size, out) != SCAN_OK) return false;
    uint64_t left = size - out->head_size;
    switch (out->kind) {
    case SCAN_STR:
    case SCAN_BIN:
    case SCAN_EXT: return out->size <= left;
    case SCAN_ARRAY: return out->count <= left;
    case SCAN_MAP: return out->count <= left / 2;
    default: return true;
    }
}

enum scan_result scan_prefix(const uint8_t *data, uint64_t size, uint64_t *out_size)
{
    uint64_t open[SCAN_DEPTH_MAX]; /* values still to come, per open container */
    unsigned depth = 0;
    uint64_t at = 0, promised = 0; /* the sum of `open` */
    do {
        struct scan_head h;
        enum scan_result read = head_read(data + at, size - at, &h);
        if (read == SCAN_BAD) return SCAN_BAD;
        at += h.head_size;
        if (depth > 0) {
            open[depth - 1]--;
            promised--;
        }
        if (read == SCAN_OK && (h.kind == SCAN_STR || h.kind == SCAN_BIN || h.kind == SCAN_EXT))
            at += h.size;
        if (read == SCAN_OK && (h.kind == SCAN_ARRAY || h.kind == SCAN_MAP)) {
            if (depth == SCAN_DEPTH_MAX) return SCAN_BAD;
            open[depth] = h.kind == SCAN_MAP ? 2 * h.count : h.count;
            promised += open[depth++];
        }
        *out_size = at + promised;
        if (*out_size > size) return SCAN_SHORT;
        assert(read == SCAN_OK && at <= size);
        while (depth > 0 && open[depth - 1] == 0) depth--;
    } while (depth > 0);
    return SCAN_OK;
}

bool scan_msgpack(const uint8_t *data, uint64_t size, uint64_t *out_size)
{
    uint64_t end;
    if (scan_prefix(data, size, &end) != SCAN_OK) return false;
    *out_size = end;
    return true;
}

/* The encoding of filters and segments: msgpack values, each in one fixed form, written in order
 * and read by comparison. Part of file.c and segment.c. */
#ifndef GLINT_JOBS_BLOOM_CODING_H
#define GLINT_JOBS_BLOOM_CODING_H

#include "jobs/bloom/internal.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    CODING_ARRAY = 0x90, /* plus the number of values, below 16 */
    CODING_FIXSTR = 0xa0,
    CODING_UINT32 = 0xce,
    CODING_UINT64 = 0xcf,
    CODING_BIN32 = 0xc6,
    CODING_NAME_MAX = 15, /* of the known names */
    CODING_NAME_MASK = 31
};

static inline uint8_t *coding_put_number(uint8_t *out, uint8_t tag, uint64_t value, uint32_t bytes)
{
    *out++ = tag;
    for (uint32_t i = bytes; i > 0; i--) *out++ = (uint8_t)(value >> 8 * (i - 1));
    return out;
}

/* The checksum of these bytes and the header before it. A flipped bit in n would not change a
 * checksum of only the bits, so the header's hash is the seed. */
static inline uint64_t coding_checksum(const uint8_t *header, uint64_t header_size,
                                       const uint8_t *bits, uint64_t m)
{
    return XXH3_64bits_withSeed(bits, bloom_bytes(m), XXH3_64bits(header, header_size));
}

static inline uint8_t *coding_put_name(uint8_t *out, const char *name)
{
    uint64_t size = strlen(name);
    assert(size <= CODING_NAME_MAX);
    *out++ = (uint8_t)(CODING_FIXSTR | size);
    memcpy(out, name, size);
    return out + size;
}

/* Reading: the first error is kept, and everything read after it is 0. */
struct coding_reader {
    const uint8_t *at, *end;
    enum bloom_result result;
};

static inline const uint8_t *coding_take_bytes(struct coding_reader *reader, uint64_t bytes)
{
    if (reader->result != BLOOM_OK) return NULL;
    if ((uint64_t)(reader->end - reader->at) < bytes) {
        reader->result = BLOOM_ERR_TRUNCATED;
        return NULL;
    }
    reader->at += bytes;
    return reader->at - bytes;
}

static inline uint64_t coding_get_number(struct coding_reader *reader, uint8_t tag, uint32_t bytes)
{
    const uint8_t *at = coding_take_bytes(reader, 1 + bytes);
    if (at == NULL) return 0;
    if (*at != tag) {
        reader->result = BLOOM_ERR_FORMAT;
        return 0;
    }
    uint64_t value = 0;
    for (uint32_t i = 1; i <= bytes; i++) value = value << 8 | at[i];
    return value;
}

/* Reads a short string; returns NULL after an error. */
static inline const char *coding_get_name(struct coding_reader *reader, uint64_t *out_size)
{
    const uint8_t *tag = coding_take_bytes(reader, 1);
    if (tag == NULL) return NULL;
    if ((*tag & ~CODING_NAME_MASK) != CODING_FIXSTR) reader->result = BLOOM_ERR_FORMAT;
    *out_size = *tag & CODING_NAME_MASK;
    return (const char *)coding_take_bytes(reader, *out_size);
}

static inline void coding_get_scheme(struct coding_reader *reader, enum bloom_scheme *out)
{
    uint64_t size;
    const char *name = coding_get_name(reader, &size);
    if (name != NULL) reader->result = bloom_scheme_parse(name, size, out);
}

static inline void coding_get_layout(struct coding_reader *reader, enum bloom_layout *out)
{
    uint64_t size;
    const char *name = coding_get_name(reader, &size);
    if (name != NULL) reader->result = bloom_layout_parse(name, size, out);
}

/* `bits` has bloom_bytes(m) bytes. */
static inline bool coding_ends_in_zeros(const uint8_t *bits, uint64_t m)
{
    return m % 8 == 0 || bits[m / 8] >> m % 8 == 0;
}

#endif

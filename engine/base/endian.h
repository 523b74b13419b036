/* Numbers at unaligned addresses: little-endian, as in frames and stored blocks, and big-endian, as
 * in streams of Hadoop. Pure. */
#ifndef GLINT_BASE_ENDIAN_H
#define GLINT_BASE_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void put_le32(uint8_t *out, uint32_t v)
{
    v = htole32(v);
    memcpy(out, &v, sizeof v);
}

static inline void put_le64(uint8_t *out, uint64_t v)
{
    v = htole64(v);
    memcpy(out, &v, sizeof v);
}

static inline uint32_t get_le32(const uint8_t *in)
{
    uint32_t v;
    memcpy(&v, in, sizeof v);
    return le32toh(v);
}

static inline uint64_t get_le64(const uint8_t *in)
{
    uint64_t v;
    memcpy(&v, in, sizeof v);
    return le64toh(v);
}

static inline void put_be32(uint8_t *out, uint32_t v)
{
    v = htobe32(v);
    memcpy(out, &v, sizeof v);
}

static inline uint32_t get_be32(const uint8_t *in)
{
    uint32_t v;
    memcpy(&v, in, sizeof v);
    return be32toh(v);
}

#endif

/* One filter as one msgpack value. Every field has one fixed form, so the file of a filter is
 * always the same bytes, and the reader compares instead of interpreting (picture:
 * docs/filter-format.md):
 *
 *     98                          array of 8
 *     ab "glint.bloom"            magic
 *     01                          version
 *     a? scheme                   name
 *     cf n.8  cf m.8  ce k.4      big-endian
 *     cf checksum.8               XXH3-64 of the bits, seeded with XXH3-64 of all bytes above
 *     c6 length.4  bits           bit i is bit (i mod 8) of byte i / 8; unused bits 0 */
#include "jobs/bloom/internal.h"

#include <string.h>
#include <xxhash.h>

#define MAGIC                                                                                      \
    "\x98\xab"                                                                                     \
    "glint.bloom"

enum {
    VERSION = 1,
    MAGIC_SIZE = sizeof MAGIC - 1,
    FIXSTR = 0xa0,
    UINT32 = 0xce,
    UINT64 = 0xcf,
    BIN32 = 0xc6,
    NAME_MAX_SIZE = 31
};

/* magic, version, name, n, m, k, checksum, length of the bits */
static_assert(MAGIC_SIZE + 1 + 1 + NAME_MAX_SIZE + 9 + 9 + 5 + 9 + 5 <= BLOOM_HEADER_MAX,
              "a header with the longest name fits");

static uint8_t *put(uint8_t *out, uint8_t tag, uint64_t value, uint32_t bytes)
{
    *out++ = tag;
    for (uint32_t i = bytes; i > 0; i--) *out++ = (uint8_t)(value >> 8 * (i - 1));
    return out;
}

/* What the checksum must be for these bytes up to it. A flipped bit in n would pass a checksum of
 * the bits alone, so the header is its seed. */
static uint64_t checksum_of(const uint8_t *header, uint64_t header_size, const uint8_t *bits,
                            uint64_t m)
{
    return XXH3_64bits_withSeed(bits, bloom_bytes(m), XXH3_64bits(header, header_size));
}

uint32_t bloom_encode_header(const struct bloom_filter *filter, uint8_t out[BLOOM_HEADER_MAX])
{
    const struct bloom_params *params = &filter->params;
    const char *name = bloom_scheme_name(params->scheme);
    uint64_t name_size = strlen(name);
    assert(name_size <= NAME_MAX_SIZE && bloom_bytes(params->m) <= UINT32_MAX);
    memcpy(out, MAGIC, MAGIC_SIZE);
    uint8_t *at = out + MAGIC_SIZE;
    *at++ = VERSION;
    *at++ = (uint8_t)(FIXSTR | name_size);
    memcpy(at, name, name_size);
    at = put(at + name_size, UINT64, params->n, 8);
    at = put(at, UINT64, params->m, 8);
    at = put(at, UINT32, params->k, 4);
    at = put(at, UINT64, checksum_of(out, (uint64_t)(at - out), filter->bits, params->m), 8);
    at = put(at, BIN32, bloom_bytes(params->m), 4);
    assert(at - out <= BLOOM_HEADER_MAX);
    return (uint32_t)(at - out);
}

/* Reading: the first error stays, and everything read after it is 0. */
struct reader {
    const uint8_t *at, *end;
    enum bloom_result result;
};

static const uint8_t *take(struct reader *reader, uint64_t bytes)
{
    if (reader->result != BLOOM_OK) return NULL;
    if ((uint64_t)(reader->end - reader->at) < bytes) {
        reader->result = BLOOM_ERR_TRUNCATED;
        return NULL;
    }
    reader->at += bytes;
    return reader->at - bytes;
}

static uint64_t get(struct reader *reader, uint8_t tag, uint32_t bytes)
{
    const uint8_t *at = take(reader, 1 + bytes);
    if (at == NULL) return 0;
    if (*at != tag) {
        reader->result = BLOOM_ERR_FORMAT;
        return 0;
    }
    uint64_t value = 0;
    for (uint32_t i = 1; i <= bytes; i++) value = value << 8 | at[i];
    return value;
}

static void get_magic(struct reader *reader)
{
    uint64_t left = (uint64_t)(reader->end - reader->at);
    if (memcmp(reader->at, MAGIC, left < MAGIC_SIZE ? left : MAGIC_SIZE) != 0) {
        reader->result = BLOOM_ERR_FORMAT; /* also when truncated: the start is something else */
        return;
    }
    take(reader, MAGIC_SIZE);
    const uint8_t *version = take(reader, 1);
    if (version != NULL && *version != VERSION) reader->result = BLOOM_ERR_VERSION;
}

static enum bloom_scheme get_scheme(struct reader *reader)
{
    enum bloom_scheme scheme = BLOOM_SCHEMES;
    const uint8_t *tag = take(reader, 1);
    if (tag != NULL && (*tag & ~NAME_MAX_SIZE) != FIXSTR) reader->result = BLOOM_ERR_FORMAT;
    uint64_t size = tag == NULL ? 0 : *tag & NAME_MAX_SIZE;
    const uint8_t *name = take(reader, size);
    if (name != NULL) reader->result = bloom_scheme_parse((const char *)name, size, &scheme);
    return scheme;
}

static bool unused_bits_are_zero(const uint8_t *bits, uint64_t m)
{
    return m % 8 == 0 || bits[m / 8] >> m % 8 == 0;
}

enum bloom_result bloom_decode(const uint8_t *data, uint64_t size, struct bloom_filter *out_view)
{
    *out_view = (struct bloom_filter){0};
    if (size == 0) return BLOOM_ERR_TRUNCATED;
    struct reader reader = {.at = data, .end = data + size};
    get_magic(&reader);
    struct bloom_params params = {.scheme = get_scheme(&reader)};
    params.n = get(&reader, UINT64, 8);
    params.m = get(&reader, UINT64, 8);
    params.k = (uint32_t)get(&reader, UINT32, 4);
    uint64_t header_size = (uint64_t)(reader.at - data);
    uint64_t checksum = get(&reader, UINT64, 8);
    uint64_t length = get(&reader, BIN32, 4);
    if (reader.result == BLOOM_OK) reader.result = bloom_params_check(&params);
    if (reader.result == BLOOM_OK && length != bloom_bytes(params.m))
        reader.result = BLOOM_ERR_LENGTH;
    const uint8_t *bits = take(&reader, length);
    if (reader.result != BLOOM_OK) return reader.result;
    assert(bits != NULL);
    if (reader.at != reader.end) return BLOOM_ERR_TRAILING;
    if (checksum != checksum_of(data, header_size, bits, params.m)) return BLOOM_ERR_CHECKSUM;
    if (!unused_bits_are_zero(bits, params.m)) return BLOOM_ERR_UNUSED;
    *out_view = (struct bloom_filter){.params = params, .bits = (uint8_t *)(uintptr_t)bits};
    return BLOOM_OK;
}

/* One filter as one msgpack value. Every field has one fixed form, so the file of a filter is
 * always the same bytes, and the reader compares instead of interpreting (picture:
 * docs/filter-format.md):
 *
 *     98                          array of 8; 99: of 9
 *     ab "glint.bloom"            magic
 *     01                          version; 02
 *     a? scheme                   name
 *     a? layout                   name; in version 2 only, and never "classic"
 *     cf n.8  cf m.8  ce k.4      big-endian
 *     cf checksum.8               XXH3-64 of the bits, seeded with XXH3-64 of all bytes above
 *     c6 length.4  bits           bit i is bit (i mod 8) of byte i / 8; unused bits 0 */
#include "jobs/bloom/internal.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAGIC                                                                                      \
    "\xab"                                                                                         \
    "glint.bloom"

enum {
    ARRAY = 0x90, /* and 7 fields more than its version */
    FIELDS = 7,
    CLASSIC_VERSION = 1,
    LAYOUT_VERSION = 2,
    MAGIC_SIZE = sizeof MAGIC - 1,
    FIXSTR = 0xa0,
    UINT32 = 0xce,
    UINT64 = 0xcf,
    BIN32 = 0xc6,
    NAME_MAX_SIZE = 15, /* of the names that there are */
    NAME_MASK = 31
};

/* array, magic, version, names, n, m, k, checksum, length of the bits */
static_assert(1 + MAGIC_SIZE + 1 + 2 * (1 + NAME_MAX_SIZE) + 9 + 9 + 5 + 9 + 5 <= BLOOM_HEADER_MAX,
              "a header with the longest names fits");

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

static uint8_t *put_name(uint8_t *out, const char *name)
{
    uint64_t size = strlen(name);
    assert(size <= NAME_MAX_SIZE);
    *out++ = (uint8_t)(FIXSTR | size);
    memcpy(out, name, size);
    return out + size;
}

uint32_t bloom_header_size(const struct bloom_params *params)
{
    uint64_t names = 1 + strlen(bloom_scheme_name(params->scheme));
    if (params->layout != BLOOM_CLASSIC) names += 1 + strlen(bloom_layout_name(params->layout));
    return (uint32_t)(1 + MAGIC_SIZE + 1 + names + 9 + 9 + 5 + 9 + 5);
}

uint32_t bloom_encode_header(const struct bloom_filter *filter, uint8_t out[BLOOM_HEADER_MAX])
{
    const struct bloom_params *params = &filter->params;
    uint8_t *at = out, version = params->layout == BLOOM_CLASSIC ? CLASSIC_VERSION : LAYOUT_VERSION;
    assert(bloom_bytes(params->m) <= UINT32_MAX);
    *at++ = (uint8_t)(ARRAY | (FIELDS + version));
    memcpy(at, MAGIC, MAGIC_SIZE);
    at += MAGIC_SIZE;
    *at++ = version;
    at = put_name(at, bloom_scheme_name(params->scheme));
    if (version == LAYOUT_VERSION) at = put_name(at, bloom_layout_name(params->layout));
    at = put(at, UINT64, params->n, 8);
    at = put(at, UINT64, params->m, 8);
    at = put(at, UINT32, params->k, 4);
    at = put(at, UINT64, checksum_of(out, (uint64_t)(at - out), filter->bits, params->m), 8);
    at = put(at, BIN32, bloom_bytes(params->m), 4);
    assert(at - out == bloom_header_size(params) && at - out <= BLOOM_HEADER_MAX);
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

/* The version, or 0. The array's length must be that of the version. */
static uint8_t get_version(struct reader *reader)
{
    const uint8_t *start = reader->at;
    uint64_t left = (uint64_t)(reader->end - start),
             seen = left < MAGIC_SIZE + 1 ? left : MAGIC_SIZE + 1;
    uint8_t fields = start[0] ^ ARRAY;
    bool array = fields >= FIELDS + CLASSIC_VERSION && fields <= 0x0f;
    if (!array || memcmp(start + 1, MAGIC, seen - 1) != 0) {
        reader->result = BLOOM_ERR_FORMAT; /* also when truncated: the start is something else */
        return 0;
    }
    take(reader, 1 + MAGIC_SIZE);
    const uint8_t *version = take(reader, 1);
    if (version == NULL) return 0;
    if (*version != fields - FIELDS || *version > LAYOUT_VERSION)
        reader->result = BLOOM_ERR_VERSION;
    return *version;
}

/* A short text; NULL after an error. */
static const char *get_name(struct reader *reader, uint64_t *out_size)
{
    const uint8_t *tag = take(reader, 1);
    if (tag == NULL) return NULL;
    if ((*tag & ~NAME_MASK) != FIXSTR) reader->result = BLOOM_ERR_FORMAT;
    *out_size = *tag & NAME_MASK;
    return (const char *)take(reader, *out_size);
}

static void get_scheme(struct reader *reader, enum bloom_scheme *out)
{
    uint64_t size;
    const char *name = get_name(reader, &size);
    if (name != NULL) reader->result = bloom_scheme_parse(name, size, out);
}

/* A classic filter says nothing of its layout: every filter has one file only. */
static void get_layout(struct reader *reader, enum bloom_layout *out)
{
    uint64_t size;
    const char *name = get_name(reader, &size);
    if (name == NULL) return;
    reader->result = bloom_layout_parse(name, size, out);
    if (reader->result == BLOOM_OK && *out == BLOOM_CLASSIC) reader->result = BLOOM_ERR_LAYOUT;
}

static bool unused_bits_are_zero(const uint8_t *bits, uint64_t m)
{
    return m % 8 == 0 || bits[m / 8] >> m % 8 == 0;
}

enum bloom_result bloom_decode_first(const uint8_t *data, uint64_t size,
                                     struct bloom_filter *out_view, uint64_t *out_size)
{
    *out_view = (struct bloom_filter){0};
    *out_size = 0;
    if (size == 0) return BLOOM_ERR_TRUNCATED;
    struct reader reader = {.at = data, .end = data + size};
    struct bloom_params params = {.layout = BLOOM_CLASSIC};
    uint8_t version = get_version(&reader);
    get_scheme(&reader, &params.scheme);
    if (version == LAYOUT_VERSION) get_layout(&reader, &params.layout);
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
    if (checksum != checksum_of(data, header_size, bits, params.m)) return BLOOM_ERR_CHECKSUM;
    if (!unused_bits_are_zero(bits, params.m)) return BLOOM_ERR_UNUSED;
    *out_view = (struct bloom_filter){.params = params, .bits = (uint8_t *)(uintptr_t)bits};
    *out_size = (uint64_t)(reader.at - data);
    return BLOOM_OK;
}

enum bloom_result bloom_decode(const uint8_t *data, uint64_t size, struct bloom_filter *out_view)
{
    uint64_t used;
    enum bloom_result result = bloom_decode_first(data, size, out_view, &used);
    if (result != BLOOM_OK || used == size) return result;
    *out_view = (struct bloom_filter){0};
    return BLOOM_ERR_TRAILING;
}

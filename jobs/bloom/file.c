/* One filter as one msgpack value. Every field has one fixed form, so the file of a filter always
 * has the same bytes, and the reader compares instead of interpreting (picture:
 * docs/filter-format.md):
 *
 *     98                          array of 8; 99: of 9, 9a: of 10, 9b: of 11
 *     ab "glint.bloom"            magic
 *     01                          version; 02, 03, 04
 *     a? scheme                   name
 *     a? layout                   name; in version 2, where it is not "classic", and from 3 on
 *     cf n.8  cf m.8  ce k.4      big-endian
 *     c6 length.4  seeds          k seeds of 4 bytes, or a hash seed of 16, little-endian; from
 *                                 version 3 on, in version 4 also none
 *     a? type                     of ids, not "text"; in version 4 only
 *     cf checksum.8               XXH3-64 of the bits, seeded with XXH3-64 of all bytes above
 *     c6 length.4  bits           bit i is bit (i mod 8) of byte i / 8; unused bits 0 */
#include "jobs/bloom/coding.h"
#include "jobs/bloom/id_type.h"

#define MAGIC                                                                                      \
    "\xab"                                                                                         \
    "glint.bloom"

enum {
    FIELDS = 7, /* plus those of its version */
    CLASSIC_VERSION = 1,
    LAYOUT_VERSION = 2,
    SEEDS_VERSION = 3,
    ID_TYPE_VERSION = 4,
    MAGIC_SIZE = sizeof MAGIC - 1
};

/* array, magic, version, names, n, m, k, seeds, type, checksum, length of the bits */
static_assert(1 + MAGIC_SIZE + 1 + 2 * (1 + CODING_NAME_MAX) + BLOOM_ID_NAME_MAX + 9 + 9 + 5 +
                      (5 + BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES) + 9 + 5 <=
                  BLOOM_HEADER_MAX,
              "a header with the longest names and all seeds fits");

static uint8_t header_version_of(const struct bloom_params *params)
{
    if (params->id_type != 0) return ID_TYPE_VERSION;
    if (bloom_seeds_size(params) > 0) return SEEDS_VERSION;
    return params->layout == BLOOM_CLASSIC ? CLASSIC_VERSION : LAYOUT_VERSION;
}

uint32_t bloom_header_size(const struct bloom_params *params)
{
    const uint8_t version = header_version_of(params);
    uint64_t names = 1 + strlen(bloom_scheme_name(params->scheme));
    if (version != CLASSIC_VERSION) names += 1 + strlen(bloom_layout_name(params->layout));
    const uint64_t seeds = version >= SEEDS_VERSION ? 5 + bloom_seeds_size(params) : 0;
    char type[BLOOM_ID_NAME_MAX];
    bloom_id_type_name(params->id_type, type);
    if (version == ID_TYPE_VERSION) names += 1 + strlen(type);
    return (uint32_t)(1 + MAGIC_SIZE + 1 + names + 9 + 9 + 5 + seeds + 9 + 5);
}

static uint8_t *put_header_seeds(uint8_t *at, const struct bloom_params *params)
{
    const uint32_t size = bloom_seeds_size(params);
    at = coding_put_number(at, CODING_BIN32, size, 4);
    if (size > 0)
        memcpy(at, params->seeds != NULL ? params->seeds : (const void *)params->hash_seed, size);
    return at + size;
}

static uint8_t *put_header_id_type(uint8_t *at, const struct bloom_params *params)
{
    char type[BLOOM_ID_NAME_MAX];
    bloom_id_type_name(params->id_type, type);
    return coding_put_name(at, type);
}

uint32_t bloom_encode_header(const struct bloom_filter *filter, uint8_t out[BLOOM_HEADER_MAX])
{
    const struct bloom_params *params = &filter->params;
    uint8_t *at = out, version = header_version_of(params);
    assert(bloom_bytes(params->m) <= UINT32_MAX);
    *at++ = (uint8_t)(CODING_ARRAY | (FIELDS + version));
    memcpy(at, MAGIC, MAGIC_SIZE);
    at += MAGIC_SIZE;
    *at++ = version;
    at = coding_put_name(at, bloom_scheme_name(params->scheme));
    if (version != CLASSIC_VERSION) at = coding_put_name(at, bloom_layout_name(params->layout));
    at = coding_put_number(at, CODING_UINT64, params->n, 8);
    at = coding_put_number(at, CODING_UINT64, params->m, 8);
    at = coding_put_number(at, CODING_UINT32, params->k, 4);
    if (version >= SEEDS_VERSION) at = put_header_seeds(at, params);
    if (version == ID_TYPE_VERSION) at = put_header_id_type(at, params);
    at = coding_put_number(at, CODING_UINT64,
                           coding_checksum(out, (uint64_t)(at - out), filter->bits, params->m), 8);
    at = coding_put_number(at, CODING_BIN32, bloom_bytes(params->m), 4);
    assert(at - out == bloom_header_size(params) && at - out <= BLOOM_HEADER_MAX);
    return (uint32_t)(at - out);
}

/* Reads the version; returns 0 if it is invalid. The array's length must match the version. */
static uint8_t get_header_version(struct coding_reader *reader)
{
    const uint8_t *start = reader->at;
    uint64_t left = (uint64_t)(reader->end - start),
             seen = left < MAGIC_SIZE + 1 ? left : MAGIC_SIZE + 1;
    uint8_t fields = start[0] ^ CODING_ARRAY;
    bool array = fields >= FIELDS + CLASSIC_VERSION && fields <= 0x0f;
    if (!array || memcmp(start + 1, MAGIC, seen - 1) != 0) {
        reader->result =
            BLOOM_ERR_FORMAT; /* also when truncated: the start is not that of a filter */
        return 0;
    }
    coding_take_bytes(reader, 1 + MAGIC_SIZE);
    const uint8_t *version = coding_take_bytes(reader, 1);
    if (version == NULL) return 0;
    if (*version != fields - FIELDS || *version > ID_TYPE_VERSION)
        reader->result = BLOOM_ERR_VERSION;
    return *version;
}

/* A classic filter without seeds and type has no layout field: every filter has only one encoding.
 * Only layouts with indexes have seeds. */
static void get_header_layout(struct coding_reader *reader, uint8_t version, enum bloom_layout *out)
{
    coding_get_layout(reader, out);
    if (reader->result == BLOOM_OK && version != ID_TYPE_VERSION &&
        (version == SEEDS_VERSION ? !bloom_has_indexes(*out) : *out == BLOOM_CLASSIC))
        reader->result = BLOOM_ERR_LAYOUT;
}

/* A hash seed of 0 has no field, or, in version 4, no bytes. */
static void get_header_seeds(struct coding_reader *reader, uint8_t version,
                             struct bloom_params *out)
{
    const uint64_t size = coding_get_number(reader, CODING_BIN32, 4);
    if (reader->result != BLOOM_OK || (version == ID_TYPE_VERSION && size == 0)) return;
    const bool hash_seed = bloom_hash_seed_bits(out->scheme) > 0;
    const uint64_t expected =
        hash_seed ? sizeof out->hash_seed : (uint64_t)out->k * BLOOM_SEED_BYTES;
    if (out->k > BLOOM_K_MAX || size != expected) reader->result = BLOOM_ERR_SEEDED;
    const uint8_t *seeds = coding_take_bytes(reader, size);
    if (seeds == NULL) return;
    if (!hash_seed)
        out->seeds = seeds;
    else
        memcpy(out->hash_seed, seeds, sizeof out->hash_seed);
    if (hash_seed && (out->hash_seed[0] | out->hash_seed[1]) == 0)
        reader->result = BLOOM_ERR_SEEDED;
}

/* Text has no field. */
static void get_header_id_type(struct coding_reader *reader, uint32_t *out)
{
    uint64_t size;
    const char *name = coding_get_name(reader, &size);
    if (name != NULL && (!bloom_id_type_parse(name, size, out) || *out == 0))
        reader->result = BLOOM_ERR_ID_TYPE;
}

/* What is before the bits; an error is the reader's result. Returns the size of what the checksum
 * includes. */
static uint64_t get_header(struct coding_reader *reader, struct bloom_params *out,
                           uint64_t *out_checksum)
{
    const uint8_t *data = reader->at;
    *out = (struct bloom_params){.layout = BLOOM_CLASSIC};
    uint8_t version = get_header_version(reader);
    coding_get_scheme(reader, &out->scheme);
    if (version > CLASSIC_VERSION) get_header_layout(reader, version, &out->layout);
    out->n = coding_get_number(reader, CODING_UINT64, 8);
    out->m = coding_get_number(reader, CODING_UINT64, 8);
    out->k = (uint32_t)coding_get_number(reader, CODING_UINT32, 4);
    if (version >= SEEDS_VERSION) get_header_seeds(reader, version, out);
    if (version == ID_TYPE_VERSION) get_header_id_type(reader, &out->id_type);
    const uint64_t size = (uint64_t)(reader->at - data);
    *out_checksum = coding_get_number(reader, CODING_UINT64, 8);
    const uint64_t length = coding_get_number(reader, CODING_BIN32, 4);
    if (reader->result == BLOOM_OK) reader->result = bloom_params_check(out);
    if (reader->result == BLOOM_OK && length != bloom_bytes(out->m))
        reader->result = BLOOM_ERR_LENGTH;
    return size;
}

enum bloom_result bloom_decode_header(const uint8_t *data, uint64_t size, struct bloom_params *out)
{
    uint64_t checksum;
    struct coding_reader reader = {.at = data, .end = data + size};
    if (size == 0) return BLOOM_ERR_TRUNCATED;
    if (bloom_is_segment(data, size)) return BLOOM_ERR_SEGMENT;
    get_header(&reader, out, &checksum);
    return reader.result;
}

enum bloom_result bloom_decode_first(const uint8_t *data, uint64_t size,
                                     struct bloom_filter *out_view, uint64_t *out_size)
{
    *out_view = (struct bloom_filter){0};
    *out_size = 0;
    if (size == 0) return BLOOM_ERR_TRUNCATED;
    if (bloom_is_segment(data, size)) return BLOOM_ERR_SEGMENT;
    struct coding_reader reader = {.at = data, .end = data + size};
    struct bloom_params params;
    uint64_t checksum, header_size = get_header(&reader, &params, &checksum);
    const uint8_t *bits =
        reader.result == BLOOM_OK ? coding_take_bytes(&reader, bloom_bytes(params.m)) : NULL;
    if (reader.result != BLOOM_OK) return reader.result;
    assert(bits != NULL);
    if (checksum != coding_checksum(data, header_size, bits, params.m)) return BLOOM_ERR_CHECKSUM;
    if (!coding_ends_in_zeros(bits, params.m)) return BLOOM_ERR_UNUSED;
    if (!bloom_bits_are_valid(&params, bits)) return BLOOM_ERR_SHARDS;
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

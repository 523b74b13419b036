/* One segment of a filter as one msgpack value, like file.c (picture: docs/filter-format.md):
 *
 *     9c                          array of 12; 9e: of 14
 *     ad "glint.segment"          magic
 *     01                          version; 02
 *     a? scheme  a? layout        names
 *     cf n.8  cf m.8  ce k.4      of the whole filter, big-endian
 *     cf build.8                  the same in all segments of a build
 *     cf size.8  cf index.8       bits of a segment, a power of two; its index, from 0
 *     cf low.8  cf high.8         seed of the hash, if it is not 0; in version 2 only
 *     cf checksum.8               XXH3-64 of the bits, seeded with XXH3-64 of all bytes above
 *     c6 length.4  bits           bits size * index and on; unused bits of the last one 0 */
#include "jobs/bloom/coding.h"

#define MAGIC                                                                                      \
    "\xad"                                                                                         \
    "glint.segment"

enum {
    VERSION = 1,
    SEED_VERSION = 2,
    MAGIC_SIZE = sizeof MAGIC - 1,
    NUMBERS_SIZE = 9 + 9 + 5 + 9 + 9 + 9 + 9 + 9 + 9 + 5
};

static_assert(1 + MAGIC_SIZE + 1 + 2 * (1 + CODING_NAME_MAX) + NUMBERS_SIZE <=
                  BLOOM_SEGMENT_HEADER_MAX,
              "a header with the longest names fits");
static_assert(1 << BLOOM_SEGMENT_LOG2_MIN >= 512, "blocks are not split");

uint64_t bloom_segments(uint64_t m, uint64_t size)
{
    assert(m > 0 && size > 0);
    return (m - 1) / size + 1;
}

uint64_t bloom_segment_bits(const struct bloom_segment *segment)
{
    uint64_t first = segment->index * segment->size, left = segment->params.m - first;
    assert(first < segment->params.m);
    return left < segment->size ? left : segment->size;
}

static uint8_t array_tag_of_version(uint8_t version)
{
    return CODING_ARRAY | (uint8_t)(10 + 2 * version);
}

uint32_t bloom_segment_encode_header(const struct bloom_segment *segment,
                                     uint8_t out[BLOOM_SEGMENT_HEADER_MAX])
{
    const struct bloom_params *params = &segment->params;
    const uint64_t bits = bloom_segment_bits(segment);
    uint8_t *at = out;
    const bool seed = bloom_seeds_size(params) > 0;
    assert(params->seeds == NULL); /* a segment cannot have custom seeds */
    *at++ = array_tag_of_version(seed ? SEED_VERSION : VERSION);
    memcpy(at, MAGIC, MAGIC_SIZE);
    at += MAGIC_SIZE;
    *at++ = seed ? SEED_VERSION : VERSION;
    at = coding_put_name(at, bloom_scheme_name(params->scheme));
    at = coding_put_name(at, bloom_layout_name(params->layout));
    at = coding_put_number(at, CODING_UINT64, params->n, 8);
    at = coding_put_number(at, CODING_UINT64, params->m, 8);
    at = coding_put_number(at, CODING_UINT32, params->k, 4);
    at = coding_put_number(at, CODING_UINT64, segment->build, 8);
    at = coding_put_number(at, CODING_UINT64, segment->size, 8);
    at = coding_put_number(at, CODING_UINT64, segment->index, 8);
    for (uint32_t i = 0; seed && i < 2; i++)
        at = coding_put_number(at, CODING_UINT64, params->hash_seed[i], 8);
    at = coding_put_number(at, CODING_UINT64,
                           coding_checksum(out, (uint64_t)(at - out), segment->bits, bits), 8);
    at = coding_put_number(at, CODING_BIN32, bloom_bytes(bits), 4);
    assert(at - out <= BLOOM_SEGMENT_HEADER_MAX && bloom_bytes(bits) <= UINT32_MAX);
    return (uint32_t)(at - out);
}

bool bloom_is_segment(const uint8_t *data, uint64_t size)
{
    return size > MAGIC_SIZE && memcmp(data + 1, MAGIC, MAGIC_SIZE) == 0 &&
           (data[0] == array_tag_of_version(VERSION) ||
            data[0] == array_tag_of_version(SEED_VERSION));
}

static enum bloom_result check_segment(const struct bloom_segment *s)
{
    enum bloom_result result = bloom_params_check(&s->params);
    if (result != BLOOM_OK) return result;
    bool power = s->size > 0 && (s->size & (s->size - 1)) == 0;
    if (!power || s->size >> BLOOM_SEGMENT_LOG2_MIN == 0 || s->size >> BLOOM_SEGMENT_LOG2_MAX > 1)
        return BLOOM_ERR_PART;
    return s->index < bloom_segments(s->params.m, s->size) ? BLOOM_OK : BLOOM_ERR_PART;
}

/* Reads everything before the bits; the reader is then at the bits. */
static enum bloom_result read_segment_header(struct coding_reader *reader, struct bloom_segment *s,
                                             uint64_t *out_checked, uint64_t *out_checksum)
{
    const uint8_t *start = reader->at;
    if (!bloom_is_segment(start, (uint64_t)(reader->end - start))) return BLOOM_ERR_FORMAT;
    coding_take_bytes(reader, 1 + MAGIC_SIZE);
    const uint8_t *version = coding_take_bytes(reader, 1);
    const bool seed = *start == array_tag_of_version(SEED_VERSION);
    if (version != NULL && *version != (seed ? SEED_VERSION : VERSION))
        reader->result = BLOOM_ERR_VERSION;
    coding_get_scheme(reader, &s->params.scheme);
    coding_get_layout(reader, &s->params.layout);
    s->params.n = coding_get_number(reader, CODING_UINT64, 8);
    s->params.m = coding_get_number(reader, CODING_UINT64, 8);
    s->params.k = (uint32_t)coding_get_number(reader, CODING_UINT32, 4);
    s->build = coding_get_number(reader, CODING_UINT64, 8);
    s->size = coding_get_number(reader, CODING_UINT64, 8);
    s->index = coding_get_number(reader, CODING_UINT64, 8);
    for (uint32_t i = 0; seed && i < 2; i++)
        s->params.hash_seed[i] = coding_get_number(reader, CODING_UINT64, 8);
    if (reader->result == BLOOM_OK && seed && bloom_seeds_size(&s->params) == 0)
        reader->result = BLOOM_ERR_SEEDED;
    *out_checked = (uint64_t)(reader->at - start);
    *out_checksum = coding_get_number(reader, CODING_UINT64, 8);
    uint64_t length = coding_get_number(reader, CODING_BIN32, 4);
    if (reader->result == BLOOM_OK &&
        (bloom_is_static(s->params.layout) || s->params.layout == BLOOM_COUNTING))
        reader->result = BLOOM_ERR_LAYOUT;
    if (reader->result == BLOOM_OK) reader->result = check_segment(s);
    if (reader->result == BLOOM_OK && length != bloom_bytes(bloom_segment_bits(s)))
        reader->result = BLOOM_ERR_LENGTH;
    return reader->result;
}

static enum bloom_result decode_segment(const uint8_t *data, uint64_t size, bool bits,
                                        struct bloom_segment *out_view)
{
    struct coding_reader reader = {.at = data, .end = data + size};
    struct bloom_segment s = {.size = 0};
    uint64_t checked, checksum;
    *out_view = (struct bloom_segment){.size = 0};
    enum bloom_result result = read_segment_header(&reader, &s, &checked, &checksum);
    if (result == BLOOM_OK && bits) {
        const uint64_t count = bloom_segment_bits(&s);
        s.bits = coding_take_bytes(&reader, bloom_bytes(count));
        result = reader.result;
        if (result == BLOOM_OK && checksum != coding_checksum(data, checked, s.bits, count))
            result = BLOOM_ERR_CHECKSUM;
        if (result == BLOOM_OK && !coding_ends_in_zeros(s.bits, count)) result = BLOOM_ERR_UNUSED;
    }
    if (result == BLOOM_OK && reader.at != reader.end) result = BLOOM_ERR_TRAILING;
    if (result == BLOOM_OK) *out_view = s;
    return result;
}

enum bloom_result bloom_segment_decode(const uint8_t *data, uint64_t size,
                                       struct bloom_segment *out_view)
{
    return decode_segment(data, size, true, out_view);
}

enum bloom_result bloom_segment_decode_header(const uint8_t *data, uint64_t size,
                                              struct bloom_segment *out_view)
{
    return decode_segment(data, size, false, out_view);
}

static bool are_segments_of_one_build(const struct bloom_segment *a, const struct bloom_segment *b)
{
    const struct bloom_params *p = &a->params, *q = &b->params;
    return a->build == b->build && a->size == b->size && p->n == q->n && bloom_params_equal(p, q);
}

enum bloom_result bloom_segment_follows(const struct bloom_segment *before,
                                        const struct bloom_segment *next)
{
    assert(before != NULL || next != NULL);
    if (next == NULL)
        return before->index + 1 == bloom_segments(before->params.m, before->size)
                   ? BLOOM_OK
                   : BLOOM_ERR_MISSING;
    if (before == NULL) return next->index == 0 ? BLOOM_OK : BLOOM_ERR_MISSING;
    if (!are_segments_of_one_build(before, next)) return BLOOM_ERR_MIXED;
    if (before->index == next->index) return BLOOM_ERR_TWICE;
    assert(before->index < next->index);
    return before->index + 1 == next->index ? BLOOM_OK : BLOOM_ERR_MISSING;
}

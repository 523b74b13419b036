/* Arbitrary bytes as a filter, a segment and a serialized set: either rejected, or usable and
 * encoded to exactly the same bytes. */
#include "jobs/bloom/bloom.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void file(const uint8_t *data, size_t size)
{
    struct bloom_filter view;
    if (bloom_decode(data, size, &view) != BLOOM_OK) return;
    uint8_t header[BLOOM_HEADER_MAX];
    uint32_t header_size = bloom_encode_header(&view, header);
    if (header_size + bloom_bytes(view.params.m) != size) abort();
    if (memcmp(header, data, header_size) != 0) abort();
    if (bloom_bits_set(&view) > bloom_positions(&view.params)) abort();
    bloom_contains(&view, data, size);
}

static void segment(const uint8_t *data, size_t size)
{
    struct bloom_segment view, head;
    if (bloom_segment_decode(data, size, &view) != BLOOM_OK) return;
    if (bloom_decode(data, size, &(struct bloom_filter){0}) != BLOOM_ERR_SEGMENT) abort();
    uint8_t header[BLOOM_SEGMENT_HEADER_MAX];
    uint32_t header_size = bloom_segment_encode_header(&view, header);
    if (header_size + bloom_bytes(bloom_segment_bits(&view)) != size) abort();
    if (memcmp(header, data, header_size) != 0) abort();
    if (bloom_segment_decode_header(data, header_size, &head) != BLOOM_OK) abort();
    if (bloom_segment_follows(&view, NULL) != BLOOM_OK &&
        view.index + 1 == bloom_segments(view.params.m, view.size))
        abort();
}

static void blob(const uint8_t *data, size_t size)
{
    struct bloom_set set;
    struct bloom_params params[64];
    if (bloom_set_attach(&set, data, size) != BLOOM_OK) return;
    for (uint32_t f = 0; f < set.count && f < 64; f++) params[f] = bloom_set_filter(&set, f).params;
    if (set.count <= 64 && bloom_blob_size(params, set.count) != size) abort();
    bloom_set_fini(&set);
}

/* A layout, n, and the bits of a static filter, which a checksum would hide: an exact copy, so that
 * every look-up outside is found. */
static void shards(const uint8_t *data, size_t size)
{
    static const enum bloom_layout layouts[] = {BLOOM_FUSE8, BLOOM_FUSE16, BLOOM_EXACT};
    struct bloom_params params = {.scheme = BLOOM_XXH64, .k = BLOOM_K_FUSE};
    if (size < 1 + sizeof params.n + 1) return;
    params.layout = layouts[data[0] % 3];
    if (params.layout == BLOOM_EXACT) params.k = BLOOM_K_EXACT;
    memcpy(&params.n, data + 1, sizeof params.n);
    const size_t head = 1 + sizeof params.n;
    params.m = 8 * (size - head);
    struct bloom_filter filter = {.params = params, .bits = malloc(size - head)};
    if (filter.bits == NULL) abort();
    memcpy(filter.bits, data + head, size - head);
    uint64_t found = 0;
    for (uint64_t i = 0; bloom_bits_are_valid(&params, filter.bits) && i < 128; i++)
        found += bloom_contains(&filter, &i, sizeof i);
    if (found > 128) abort();
    free(filter.bits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    shards(data, size);
    file(data, size);
    segment(data, size);
    blob(data, size);
    return 0;
}

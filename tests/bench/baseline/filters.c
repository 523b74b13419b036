/* All filters are in one memory area, each aligned to a cache line, so that a row needs only one
 * base address and the kernel can use huge pages. */
#include "filters.h"
#include "die.h"
#include "files.h"
#include "jobs/bloom/bloom.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 * 1024 * 1024, BITS_PER_LINE = 512 };

static uint32_t log2_ceil(uint64_t m)
{
    return m <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(m - 1);
}

/* From n, m and k: computes the position of each filter, allocates the area, and fills the tables
 * of the lanes. */
static void filters_lay_out(struct filters *filters)
{
    uint64_t bits = 0;
    filters->lanes_fit = true;
    for (int key = 0; key < KEYS_MAX; key++) {
        filters->base[key] = bits;
        bits += (filters->m[key] + BITS_PER_LINE - 1) / BITS_PER_LINE * BITS_PER_LINE;
        if (filters->n[key] > 0 && filters->m[key] < 2) filters->lanes_fit = false;
        if (filters->m[key] > INT32_MAX) die("filter of key %d is too large", key);
    }
    if (bits > UINT32_MAX) filters->lanes_fit = false;
    for (int key = 0; key < KEYS_MAX && filters->lanes_fit; key++) {
        uint64_t m = filters->m[key] < 2 ? 2 : filters->m[key];
        uint32_t log2 = log2_ceil(m);
        assert(log2 >= 1 && m <= UINT64_C(1) << log2 && m > UINT64_C(1) << (log2 - 1));
        filters->divisors.m[key] = (uint32_t)m;
        filters->divisors.magic[key] = (uint32_t)(((UINT64_C(1) << (31 + log2)) + m - 1) / m);
        filters->divisors.shift[key] = log2 - 1;
        filters->divisors.base[key] = (uint32_t)filters->base[key];
    }
    assert(bits % BITS_PER_LINE == 0);
    filters->area_bytes = (bits / 8 + HUGE_PAGE) / HUGE_PAGE * HUGE_PAGE;
    filters->words = aligned_alloc(HUGE_PAGE, filters->area_bytes);
    if (filters->words == NULL) die("out of memory");
    madvise(filters->words, filters->area_bytes, MADV_HUGEPAGE);
}

void filters_create(struct filters *filters, const char *counts_path, double p)
{
    if (!(p > 0 && p < 1)) die("P must be between 0 and 1");
    memset(filters, 0, sizeof *filters);
    counts_read(counts_path, filters->n);
    filters->k = (uint32_t)ceil(-log(p) / log(2));
    for (int key = 0; key < KEYS_MAX; key++)
        filters->m[key] = (uint64_t)ceil(-(double)filters->n[key] * log(p) / (log(2) * log(2)));
    filters_lay_out(filters);
    memset(filters->words, 0, filters->area_bytes);
}

/* The sizes are part of the file format, so the library computes how many bits per id reach the
 * rate p. */
void filters_create_split(struct filters *filters, const char *counts_path, double p)
{
    struct bloom_sizing sizing;
    struct bloom_params params;
    memset(filters, 0, sizeof *filters);
    counts_read(counts_path, filters->n);
    enum bloom_result result = bloom_sizing_for_rate(BLOOM_XXH64, BLOOM_SPLIT_BLOCK, p, &sizing);
    for (int key = 0; key < KEYS_MAX && result == BLOOM_OK; key++) {
        if (filters->n[key] == 0) continue;
        result = bloom_sizing_params(&sizing, filters->n[key], &params);
        filters->m[key] = params.m;
    }
    if (result != BLOOM_OK) die("%s", bloom_strerror(result));
    filters->k = sizing.k;
    filters->split = true;
    filters_lay_out(filters);
    memset(filters->words, 0, filters->area_bytes);
}

void filters_destroy(struct filters *filters)
{
    free(filters->words);
    filters->words = NULL;
}

static struct bloom_filter filter_view(const struct filters *filters, int key)
{
    struct bloom_params params = {
        .scheme = BLOOM_SPARK, .n = filters->n[key], .m = filters->m[key], .k = filters->k};
    if (filters->split) {
        params.scheme = BLOOM_XXH64;
        params.layout = BLOOM_SPLIT_BLOCK;
    }
    assert(key >= 0 && key < KEYS_MAX && filters->base[key] % BITS_PER_LINE == 0);
    uint8_t *bits = (uint8_t *)filters->words + filters->base[key] / 8;
    return (struct bloom_filter){.params = params, .bits = bits};
}

void filters_write(const struct filters *filters, const char *path)
{
    FILE *part = output_create(path);
    setvbuf(part, NULL, _IONBF, 0);
    for (int key = 0; key < KEYS_MAX; key++) {
        if (filters->n[key] == 0) continue;
        struct bloom_filter filter = filter_view(filters, key);
        uint8_t head[2 + BLOOM_HEADER_MAX] = {0x92, (uint8_t)key}; /* msgpack: [key, filter] */
        size_t length = 2 + bloom_encode_header(&filter, head + 2);
        size_t bytes = bloom_bytes(filter.params.m);
        if (fwrite(head, 1, length, part) != length || fwrite(filter.bits, 1, bytes, part) != bytes)
            die_errno(path);
    }
    output_finish(part, path);
}

/* Returns the size of the saved filter at `at`. Its header has a fixed size and ends with the size
 * of the bits. */
static size_t filter_bytes(const uint8_t *at, const uint8_t *end)
{
    uint8_t header[BLOOM_HEADER_MAX], bit = 0;
    struct bloom_params params = {.scheme = BLOOM_SPARK, .n = 1, .m = 1, .k = 1};
    struct bloom_filter any = {.params = params, .bits = &bit};
    size_t head = bloom_encode_header(&any, header);
    if ((size_t)(end - at) < head) die("a filter is cut off");
    uint32_t bits = (uint32_t)at[head - 4] << 24 | (uint32_t)at[head - 3] << 16 |
                    (uint32_t)at[head - 2] << 8 | at[head - 1];
    if ((size_t)(end - at) - head < bits) die("a filter is cut off");
    return head + bits;
}

struct saved {
    struct bloom_filter filter[KEYS_MAX]; /* m = 0: no filter */
};

static void saved_decode(struct saved *saved, const uint8_t *at, const uint8_t *end)
{
    memset(saved, 0, sizeof *saved);
    while (at < end) {
        if (end - at < 2 || at[0] != 0x92 || at[1] >= KEYS_MAX) die("not a file of filters");
        struct bloom_filter *filter = &saved->filter[at[1]];
        at += 2;
        size_t size = filter_bytes(at, end);
        enum bloom_result result = bloom_decode(at, size, filter);
        if (result != BLOOM_OK) die("%s", bloom_strerror(result));
        if (filter->params.scheme != BLOOM_SPARK) die("only filters of scheme spark");
        at += size;
    }
}

void filters_read(struct filters *filters, const char *path, const char *counts_path)
{
    memset(filters, 0, sizeof *filters);
    counts_read(counts_path, filters->n);
    size_t length;
    uint8_t *bytes = input_read(path, &length);
    struct saved saved;
    saved_decode(&saved, bytes, bytes + length);
    for (int key = 0; key < KEYS_MAX; key++) {
        const struct bloom_params *params = &saved.filter[key].params;
        if (params->n != filters->n[key]) die("filter %d is not of these counts", key);
        if (params->m == 0) continue;
        if (filters->k != 0 && params->k != filters->k) die("filters differ in k");
        filters->m[key] = params->m;
        filters->k = params->k;
    }
    filters_lay_out(filters);
    for (int key = 0; key < KEYS_MAX; key++) {
        uint8_t *bits = (uint8_t *)filters->words + filters->base[key] / 8;
        if (filters->m[key] > 0) memcpy(bits, saved.filter[key].bits, bloom_bytes(filters->m[key]));
    }
    free(bytes);
}

/* Arbitrary bytes as a file of another system, the first byte selects the format: either rejected
 * with an offset of at most the file's size, or usable and encoded to the same bytes. */
#include "jobs/bloom/formats.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the file of a filter, and its size. */
static uint8_t *encode(enum bloom_format format, const struct bloom_filter *filter,
                       size_t *out_size)
{
    const uint64_t bytes = bloom_bytes(filter->params.m);
    struct bloom_format_writer writer;
    uint8_t *out = malloc(2 * BLOOM_FORMAT_HEAD_MAX + BLOOM_FORMAT_WRITE_MAX(bytes));
    if (out == NULL) abort();
    size_t size = bloom_format_begin(&writer, format, &filter->params, out);
    size += bloom_format_write(&writer, filter->bits, bytes, out + size);
    *out_size = size + bloom_format_end(&writer, out + size);
    return out;
}

/* JSON has white space, RedisBloom numbers that a filter does not keep, DataSketches a count of
 * bits: what is written for them is read as the same filter. */
static bool has_one_encoding(enum bloom_format format)
{
    return format != BLOOM_FORMAT_GO_BLOOM_JSON && format != BLOOM_FORMAT_NPM_BLOOM &&
           format != BLOOM_FORMAT_REDISBLOOM && format != BLOOM_FORMAT_DATASKETCHES;
}

static void check_view(enum bloom_format format, struct bloom_filter *view, const uint8_t *file,
                       size_t size)
{
    struct bloom_filter back;
    uint64_t at;
    size_t again;
    if (view->params.n == 0) view->params.n = 1;
    if (bloom_params_check(&view->params) != BLOOM_OK) abort();
    if (bloom_bits_set(view) > view->params.m) abort();
    bloom_contains(view, file, size);
    uint8_t *encoded = encode(format, view, &again);
    if (has_one_encoding(format) && (again != size || memcmp(encoded, file, size) != 0)) abort();
    if (bloom_format_decode(format, encoded, again, &view->params, &back, &at) != NULL) abort();
    if (!bloom_params_equal(&back.params, &view->params) || back.params.n != view->params.n ||
        memcmp(back.bits, view->bits, bloom_bytes(view->params.m)) != 0)
        abort();
    free(encoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bloom_filter view;
    struct bloom_params params = {.scheme = BLOOM_WIDE, .n = 1, .k = 3}, head_params = params;
    uint64_t at = 0, head_at = 0;
    enum bloom_format fits[BLOOM_FORMATS];
    if (size == 0) return 0;
    const enum bloom_format format = (enum bloom_format)(data[0] % BLOOM_FORMATS);
    const uint8_t *file = data + 1;
    size--;
    uint8_t *copy = malloc(size + 1); /* decoding converts in place */
    if (copy == NULL) return 0;
    memcpy(copy, file, size);
    const char *wrong = bloom_format_decode(format, copy, size, &params, &view, &at);
    const char *head_wrong = bloom_format_decode_head(format, file, size, &head_params, &head_at);
    if (head_wrong != NULL && (head_wrong != wrong || head_at != at)) abort();
    if ((wrong == NULL) != (view.bits != NULL) || at > size) abort();
    if (bloom_format_detect(file, size, fits) > BLOOM_FORMATS) abort();
    if (wrong == NULL) check_view(format, &view, file, size);
    free(copy);
    return 0;
}

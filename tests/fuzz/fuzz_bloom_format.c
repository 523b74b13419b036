/* Arbitrary bytes as a file of another system, the first byte selects the format: either rejected
 * with an offset of at most the file's size, or usable and encoded to exactly the same bytes. */
#include "jobs/bloom/formats.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_view(enum bloom_format format, struct bloom_filter *view, const uint8_t *file,
                       size_t size, uint8_t *decoded)
{
    uint8_t head[BLOOM_FORMAT_HEAD_MAX];
    const uint32_t head_size = bloom_format_encode_head(format, &view->params, head);
    const uint64_t bytes = bloom_bytes(view->params.m);
    if (head_size + bytes != size || memcmp(head, file, head_size) != 0) abort();
    view->params.n = 1;
    if (bloom_params_check(&view->params) != BLOOM_OK) abort();
    if (bloom_bits_set(view) > view->params.m) abort();
    bloom_contains(view, file, size);
    bloom_format_convert(format, view->bits, bytes);
    if (memcmp(decoded, file + head_size, bytes) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bloom_filter view;
    struct bloom_params params = {.scheme = BLOOM_WIDE, .n = 1, .k = 3}, head_params = params;
    uint64_t at = 0, head_at = 0;
    uint32_t head = 0;
    if (size == 0) return 0;
    const enum bloom_format format = (enum bloom_format)(data[0] % BLOOM_FORMATS);
    const uint8_t *file = data + 1;
    size--;
    uint8_t *copy = malloc(size + 1); /* decoding converts in place */
    if (copy == NULL) return 0;
    memcpy(copy, file, size);
    const char *wrong = bloom_format_decode(format, copy, size, &params, &view, &at);
    const char *head_wrong =
        bloom_format_decode_head(format, file, size, &head_params, &head, &head_at);
    if (head_wrong != NULL && (head_wrong != wrong || head_at != at)) abort();
    if ((wrong == NULL) != (view.bits != NULL) || at > size) abort();
    if (wrong == NULL) check_view(format, &view, file, size, copy + head);
    free(copy);
    return 0;
}

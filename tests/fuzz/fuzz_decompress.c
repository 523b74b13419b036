/* Arbitrary bytes as a compressed file of any format: reading it in pieces of any size gives the
 * same result, or an error. Which error may depend on the pieces: libzstd decodes a frame whose
 * content fits into the output at once, without looking at its window. */
#include "engine/base/mem.h"
#include "engine/input/decompress.h"
#include "tests/support/memory_env.h"

#include <stdlib.h>

#define OUT_BYTES_MAX (1 << 20) /* a limit for decompression bombs */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int decompress(enum compression compression, const uint8_t *data, size_t size,
                      uint64_t in_step, uint64_t out_step, struct buffer *out)
{
    struct memory_env memory;
    memory_env_init(&memory, data, size);
    memory.read_max = in_step;
    struct glint_error error = {.code = GLINT_OK};
    struct decompressor *z = decompressor_create(
        &(struct input_source){.env = &memory.env, .file = 3, .path = "fuzz"}, compression, 0, 0);
    if (z == NULL) abort();
    int64_t n = 1;
    while (n > 0 && out->size < OUT_BYTES_MAX) {
        if (!buffer_reserve(out, out_step)) abort();
        n = decompressor_read(z, out->data + out->size, out_step, &error);
        if (n > 0) out->size += (uint64_t)n;
        if (decompressor_offset(z) > size) abort();
    }
    if ((n < 0) != (error.code != GLINT_OK) || n > (int64_t)out_step) abort();
    decompressor_destroy(z);
    return (int)(n < 0 ? n : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    struct buffer whole = {NULL, 0, 0}, pieces = {NULL, 0, 0};
    const uint64_t in_step = 1 + data[0] % 32u, out_step = 1 + data[1];
    const enum compression compression = 1 + (data[0] >> 5) % (COMPRESSION_COUNT - 1);
    const int a = decompress(compression, data + 2, size - 2, 0, 1 << 16, &whole);
    const int b = decompress(compression, data + 2, size - 2, in_step, out_step, &pieces);
    /* After an error, the amount of output before it depends on the sizes of the pieces. */
    const uint64_t common = whole.size < pieces.size ? whole.size : pieces.size;
    if (whole.size < OUT_BYTES_MAX && pieces.size < OUT_BYTES_MAX) {
        const bool too_large = a == GLINT_E_INPUT_FORMAT || b == GLINT_E_INPUT_FORMAT;
        if (!too_large && (a == 0) != (b == 0)) abort();
        if (a == 0 && b == 0 && whole.size != pieces.size) abort();
        if (common > 0 && memcmp(whole.data, pieces.data, common) != 0) abort();
    }
    buffer_fini(&whole);
    buffer_fini(&pieces);
    if (mem_live_blocks() != 0) abort();
    return 0;
}

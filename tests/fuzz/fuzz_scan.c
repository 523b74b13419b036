/* Arbitrary bytes as msgpack: what the scan accepts, msgpack-c must decode to the same size; each
 * prefix must be recognized as truncated, with a lower bound of the full size; and printing it as
 * JSON must work. */
#include "engine/records/codec.h"
#include "engine/records/pack.h"

#include <msgpack.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t scanned = 0;
    if (msgpack_validate(data, size, &scanned)) {
        if (scanned == 0 || scanned > size) abort();
        msgpack_unpacked unpacked;
        msgpack_unpacked_init(&unpacked);
        size_t at = 0;
        if (msgpack_unpack_next(&unpacked, (const char *)data, size, &at) != MSGPACK_UNPACK_SUCCESS)
            abort();
        if (at != scanned) abort();
        msgpack_unpacked_destroy(&unpacked);
        for (uint64_t cut = 0; cut < scanned && cut < 64; cut++) {
            uint64_t needed;
            if (msgpack_validate_prefix(data, cut, &needed) != MSGPACK_TRUNCATED) abort();
            if (needed <= cut || needed > scanned) abort();
        }
    }
    const union glint_value value = {.bytes = {data, scanned > 0 ? scanned : size}};
    struct buffer text = {NULL, 0, 0};
    if (!codec_print(GLINT_MSGPACK, &value, &text) || text.size == 0) abort();
    for (uint64_t i = 0; i < text.size; i++)
        if (text.data[i] < 0x20) abort();
    buffer_fini(&text);
    return 0;
}

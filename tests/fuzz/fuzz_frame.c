/* Arbitrary bytes as the start of a stream: the first byte says whether hellos have been exchanged,
 * the rest is read frame by frame as a connection does. Accepted frames must encode to the same
 * bytes. */
#include "engine/limits.h"
#include "engine/net/frame.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    static const struct frame_type_set all = {UINT32_MAX & ~FRAME_BIT(FRAME_HELLO), "after it"};
    bool greeted = *data++ % 2 == 1;
    size--;
    while (size >= FRAME_HEADER_BYTES) {
        struct glint_error error = {.code = GLINT_OK};
        struct frame f;
        int r = frame_decode(data, greeted ? &all : &frames_before_hello, &f, &error);
        assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
        if (r != 0) {
            assert(f.type == 0 && error.cause[0] != '\0');
            break;
        }
        assert(f.type > 0 && f.type < FRAME_TYPES_END && f.head <= f.length);
        assert(f.length <= frame_payload_bytes_max(f.type) && f.length <= CONTROL_FRAME_BYTES_MAX);
        if (f.length > size - FRAME_HEADER_BYTES) break;
        r = frame_verify_checksum(data, &f, data + FRAME_HEADER_BYTES, &error);
        assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
        if (r != 0) break;
        uint8_t again[FRAME_HEADER_BYTES];
        frame_encode(&f, data + FRAME_HEADER_BYTES, again);
        assert(memcmp(again, data, sizeof again) == 0);
        data += FRAME_HEADER_BYTES + f.length;
        size -= FRAME_HEADER_BYTES + f.length;
        greeted = true;
    }
    return 0;
}

/* Arbitrary bytes as the payload of a frame; the first byte selects its type. A payload is either
 * rejected or encodes to equivalent bytes, which decode and encode to themselves. The last choice
 * is a compressed block of a broadcast. */
#include "engine/base/endian.h"
#include "engine/transfer/broadcast.h"
#include "tests/support/wire_codecs.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_payload(wire_recode *recode, struct glint_slice bytes)
{
    struct glint_error error = {.code = GLINT_OK};
    struct buffer once = {NULL, 0, 0}, twice = {NULL, 0, 0};
    int r = recode(bytes, &once, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
    if (r == 0) {
        r = recode((struct glint_slice){once.data, once.size}, &twice, &error);
        assert(r == 0 && once.size == twice.size);
        assert(memcmp(once.data, twice.data, once.size) == 0);
    }
    buffer_fini(&once);
    buffer_fini(&twice);
}

/* A compressed block of a value of at most 255 bytes, preceded by the value's size (1 byte) and
 * checksum (8 bytes). */
static void check_block(struct glint_slice bytes)
{
    struct glint_error error = {.code = GLINT_OK};
    uint8_t value[UINT8_MAX] = {0};
    if (bytes.size < 9 || bytes.data[0] == 0) return;
    uint64_t checksum = get_le64(bytes.data + 1), size = bytes.data[0];
    struct glint_slice packed = {bytes.data + 9, bytes.size - 9};
    int r = broadcast_block_decode(1, 0, checksum, packed, value, size, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_SHUFFLE_CORRUPT));
    struct glint_slice whole = {value, size};
    assert(r != 0 || broadcast_block_checksum(1, 0, whole) == checksum);
    struct buffer recode = {NULL, 0, 0};
    r = broadcast_block_compress(0, whole, &recode, &error);
    assert(r == 0 && recode.size < size);
    if (recode.size > 0) {
        r = broadcast_block_decode(1, 0, broadcast_block_checksum(1, 0, whole),
                                   (struct glint_slice){recode.data, recode.size}, value, size,
                                   &error);
        assert(r == 0);
    }
    buffer_fini(&recode);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    unsigned choice = data[0] % (WIRE_CODECS_COUNT + 1);
    struct glint_slice bytes = {data + 1, size - 1};
    if (choice < WIRE_CODECS_COUNT)
        check_payload(wire_codecs[choice].recode, bytes);
    else
        check_block(bytes);
    assert(mem_live_blocks() == 0);
    return 0;
}

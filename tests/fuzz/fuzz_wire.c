/* Any bytes as a payload of a frame; the first byte chooses of which. It is refused, or encodes to
 * bytes that mean the same: those are taken again and do not change any more. The last choice is a
 * sealed block of a broadcast. */
#include "engine/net/seal.h"

#include "tests/support/wire_codecs.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_payload(wire_again *again, struct glint_slice bytes)
{
    struct glint_error error = {.code = GLINT_OK};
    struct buffer once = {NULL, 0, 0}, twice = {NULL, 0, 0};
    int r = again(bytes, &once, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
    if (r == 0) {
        r = again((struct glint_slice){once.data, once.size}, &twice, &error);
        assert(r == 0 && once.size == twice.size);
        assert(memcmp(once.data, twice.data, once.size) == 0);
    }
    buffer_fini(&once);
    buffer_fini(&twice);
}

/* A sealed block of a value of at most 255 bytes, the size in front of it. */
static void look_at_block(struct glint_slice bytes)
{
    struct glint_error error = {.code = GLINT_OK};
    uint8_t value[UINT8_MAX];
    if (bytes.size == 0) return;
    struct glint_slice sealed = {bytes.data + 1, bytes.size - 1};
    int r = value_unseal(1, 0, sealed, value, bytes.data[0], &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_RUN_CORRUPT));
    if (r != 0) return;
    struct buffer again = {NULL, 0, 0};
    r = value_seal(1, 0, (struct glint_slice){value, bytes.data[0]}, &again, &error);
    assert(r == 0);
    buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    unsigned choice = data[0] % (WIRE_CODECS_COUNT + 1);
    struct glint_slice bytes = {data + 1, size - 1};
    if (choice < WIRE_CODECS_COUNT)
        look_at_payload(wire_codecs[choice].again, bytes);
    else
        look_at_block(bytes);
    assert(mem_live() == 0);
    return 0;
}

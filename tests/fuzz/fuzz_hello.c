/* Arbitrary bytes as a hello and as a REJECT. An accepted hello must encode to an equivalent one,
 * and is compared with ours; a REJECT decodes to an error that can be printed, whatever the bytes
 * are. */
#include "engine/base/text.h"
#include "engine/net/hello.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct hello ours = {.protocol_min = PROTOCOL_MIN,
                                  .protocol_max = PROTOCOL_MAX,
                                  .role = ROLE_EXECUTOR,
                                  .channel = CHANNEL_CONTROL,
                                  .cluster = "plain",
                                  .node = "e1",
                                  .incarnation = {7, 7, 7},
                                  .build = "0.1.0-aa"};

static void check_hello(const struct hello *h)
{
    struct glint_error error = {.code = GLINT_OK};
    struct buffer bytes = {NULL, 0, 0}, again = {NULL, 0, 0};
    struct hello back;
    assert(h->role > 0 && h->role < ROLES_END && h->channel > 0 && h->channel < CHANNELS_END);
    assert(text_is_printable(h->node) && text_is_printable(h->cluster) &&
           text_is_printable(h->build));
    int r = hello_encode(h, &bytes, &error);
    assert(r == 0 && bytes.size <= HELLO_BYTES_MAX);
    r = hello_decode((struct glint_slice){bytes.data, bytes.size}, &back, &error);
    assert(r == 0);
    r = hello_encode(&back, &again, &error);
    assert(r == 0 && again.size == bytes.size && memcmp(again.data, bytes.data, again.size) == 0);
    r = hello_check_compatible(&ours, h, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_PEER_MISMATCH));
    buffer_fini(&bytes);
    buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct glint_slice bytes = {data, size};
    struct glint_error error = {.code = GLINT_OK}, rejection = {.code = GLINT_OK};
    struct hello h;
    int r = hello_decode(bytes, &h, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL || r == GLINT_E_PEER_MISMATCH));
    if (r == 0) check_hello(&h);
    r = reject_decode(bytes, &rejection);
    assert(r < 0 && r == rejection.code && error_is_known(rejection.code));
    assert(text_is_printable(rejection.cause) && text_is_printable(rejection.hint));
    assert(mem_live_blocks() == 0);
    return 0;
}

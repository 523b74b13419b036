/* Any bytes as a message, and as the list of map outputs inside one: refused, or a message whose
 * bytes mean the same again. */
#include "engine/net/message.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct glint_slice bytes = {data, size};
    struct glint_error error = {.code = GLINT_OK};
    struct message *m = message_decode(bytes, &error);
    assert((m == NULL) == (error.code == GLINT_E_PROTOCOL));
    if (m != NULL) {
        struct buffer again = {NULL, 0, 0};
        int r = message_encode(m, &again, &error);
        assert(r == 0);
        struct message *back = message_decode((struct glint_slice){again.data, again.size}, &error);
        assert(back != NULL && back->type == m->type && back->body.size == m->body.size);
        message_destroy(back);
        message_destroy(m);
        buffer_fini(&again);
    }
    uint32_t *attempts, count;
    error.code = GLINT_OK;
    int r = outputs_decode(bytes, &attempts, &count, &error);
    assert(r == error.code && (r == 0) == (attempts != NULL));
    mem_free(attempts);
    assert(mem_live() == 0);
    return 0;
}

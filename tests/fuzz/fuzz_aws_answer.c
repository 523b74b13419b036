/* Arbitrary bytes as what servers answer that give credentials: the first byte says which. */
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/input/aws_credentials.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct aws_keys keys;
    if (size == 0) return 0;
    /* They become headers of requests. */
    if (aws_answer_parse((enum aws_answer)(data[0] % 3), data + 1, size - 1, &keys) &&
        (keys.user[0] == '\0' || keys.password[0] == '\0' || keys.expires_ns <= 0 ||
         !text_is_printable(keys.user) || !text_is_printable(keys.password) ||
         !text_is_printable(keys.token)))
        abort();
    if (mem_live_blocks() != 0) abort();
    return 0;
}

/* Arbitrary bytes as the report that an executor process, in which a job may run any code, leaves
 * its daemon. */
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/net/wire.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct glint_error first, second;
    char text[sizeof first.cause + sizeof first.hint + 16];
    struct glint_slice rest = exit_report_parse((struct glint_slice){data, size}, &first);
    assert(rest.size <= size && (rest.size == 0 || rest.data + rest.size == data + size));
    assert((first.code == GLINT_OK) == (size == 0));
    if (size == 0) return 0;
    assert(error_is_known(first.code) && text_is_printable(first.cause));
    assert(text_is_printable(first.hint));
    /* What was understood survives being written again. */
    size_t written = exit_report_format(&first, text, sizeof text);
    exit_report_parse((struct glint_slice){(const uint8_t *)text, written}, &second);
    assert(second.code == first.code && strcmp(second.cause, first.cause) == 0);
    assert(strcmp(second.hint, first.hint) == 0);
    return 0;
}

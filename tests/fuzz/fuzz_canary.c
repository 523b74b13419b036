/* A fuzz target that must fail: libFuzzer has to find the input; the replay program has it in its
 * corpus. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 2 && data[0] == 'h' && data[1] == 'i') abort();
    return 0;
}

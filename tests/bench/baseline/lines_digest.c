/* lines_digest PATH...: prints the number of lines in these files, or parts of these directories,
 * and a sum of their hashes: equal for the same lines in any order. */
#include "files.h"

#include <inttypes.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint64_t lines = 0, sum = 0;
    for (int i = 1; i < argc; i++) {
        size_t size = 0;
        uint8_t *bytes = input_read(argv[i], &size);
        uint64_t h = 0;
        for (size_t at = 0; at < size; at++) {
            h = (h ^ bytes[at]) * 0x100000001b3 + 0x9e3779b97f4a7c15;
            if (bytes[at] != '\n') continue;
            lines++;
            sum += h ^ h >> 29;
            h = 0;
        }
        free(bytes);
    }
    printf("%" PRIu64 " %016" PRIx64 "\n", lines, sum);
    return 0;
}

/* make_keys distinct|zipf|even|skewed FIRST ROWS [values]: writes lines `key` or `key TAB number`
 * to stdout. Keys are 16 hexadecimal digits, scattered by a bijection: of row FIRST, FIRST + 1,
 * ..., or of a rank that is drawn from 2^24 by Zipf's law (exponent 1, continuous), or evenly from
 * 2^20; skewed: nine tenths of the rows have rank 0. The same arguments give the same lines. */
#include "die.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZIPF_RANK_BITS = 24, EVEN_RANK_BITS = 20, VALUES = 1000 };

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9;
    x ^= x >> 27;
    x *= 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static uint64_t zipf_rank(uint64_t row)
{
    const double uniform = (double)(mix(row + 1) >> 11) * 0x1p-53;
    return (uint64_t)exp2(uniform * ZIPF_RANK_BITS);
}

static uint64_t rank_of(const char *kind, uint64_t row)
{
    if (strcmp(kind, "zipf") == 0) return zipf_rank(row);
    if (strcmp(kind, "distinct") == 0) return row;
    const uint64_t random = mix(mix(row + 1));
    if (strcmp(kind, "skewed") == 0 && random % 10 < 9) return 0;
    return random >> (64 - EVEN_RANK_BITS);
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5)
        die("usage: make_keys distinct|zipf|even|skewed FIRST ROWS [values]");
    const uint64_t first = strtoull(argv[2], NULL, 10), rows = strtoull(argv[3], NULL, 10);
    for (uint64_t row = first; row < first + rows; row++) {
        char line[16 + 32];
        uint64_t key = mix(rank_of(argv[1], row));
        for (int i = 15; i >= 0; i--, key >>= 4) line[i] = "0123456789abcdef"[key & 15];
        size_t size = 16;
        if (argc == 5)
            size += (size_t)snprintf(line + size, sizeof line - size, "\t%" PRIu64, row % VALUES);
        line[size++] = '\n';
        if (fwrite_unlocked(line, 1, size, stdout) != size) die_errno("write");
    }
    if (fflush(stdout) != 0) die_errno("write");
    return 0;
}

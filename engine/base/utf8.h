/* Where UTF-8 is sound and where it is not: what is printed as JSON or on a terminal may hold any
 * bytes. Pure. */
#ifndef GLINT_BASE_UTF8_H
#define GLINT_BASE_UTF8_H

#include <stdint.h>

/* Bytes (1..4) of the character at `p`, of which `left` >= 1 bytes are there. 0: no well-formed
 * character begins here (overlong forms, surrogates and what is beyond U+10FFFF are none). */
static inline unsigned utf8_size(const uint8_t *p, uint64_t left)
{
    if (p[0] < 0x80) return 1;
    unsigned size = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < size) return 0;
    for (unsigned i = 1; i < size; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if (p[0] == 0xe0 && p[1] < 0xa0) return 0;
    if (p[0] == 0xed && p[1] > 0x9f) return 0;
    if (p[0] == 0xf0 && p[1] < 0x90) return 0;
    if (p[0] == 0xf4 && p[1] > 0x8f) return 0;
    return size;
}

#endif

/* Which bytes are well-formed UTF-8, and which characters may be shown: what is printed as JSON or
 * on a terminal may hold any bytes. Pure. */
#ifndef GLINT_BASE_UTF8_H
#define GLINT_BASE_UTF8_H

#include <stdbool.h>
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

/* The code point of a well-formed character of `size` bytes. */
static inline uint32_t utf8_code(const uint8_t *p, unsigned size)
{
    static const uint8_t first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = p[0] & first_bits[size];
    for (unsigned i = 1; i < size; i++) code = code << 6 | (p[i] & 0x3f);
    return code;
}

/* Terminals obey these characters instead of showing them: control characters (C0, DEL, C1), the
 * controls of bidirectional text, which reorder what stands around them, and the line and paragraph
 * separators. */
static inline bool utf8_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

/* As utf8_size, but 0 for controls, too: whatever prints text of unknown origin asks this. */
static inline unsigned utf8_printable_size(const uint8_t *p, uint64_t left)
{
    unsigned size = utf8_size(p, left);
    return size > 0 && !utf8_is_control(utf8_code(p, size)) ? size : 0;
}

#endif

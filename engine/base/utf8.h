/* Checks for well-formed UTF-8 and printable characters, for output as JSON or on a terminal, where
 * the input may be any bytes. Pure. */
#ifndef GLINT_BASE_UTF8_H
#define GLINT_BASE_UTF8_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Returns the size (1..4) of the character at `p`, where `left` >= 1 bytes are available. 0: not
 * well-formed (overlong forms, surrogates and code points beyond U+10FFFF are not). */
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

/* Whether all bytes are ASCII. */
static inline bool utf8_is_ascii(const uint8_t *p, uint64_t size)
{
    uint64_t bits = 0, i = 0, words[4];
    for (; size - i >= sizeof words; i += sizeof words) {
        memcpy(words, p + i, sizeof words);
        bits |= words[0] | words[1] | words[2] | words[3];
    }
    for (; i < size; i++) bits |= p[i];
    return (bits & UINT64_C(0x8080808080808080)) == 0;
}

/* Whether the text is well-formed. */
static inline bool utf8_is_valid(const uint8_t *p, uint64_t size)
{
    for (uint64_t i = 0; i < size;) {
        uint64_t word;
        if (size - i >= sizeof word) {
            memcpy(&word, p + i, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof word;
                continue;
            }
        }
        const unsigned n = utf8_size(p + i, size - i);
        if (n == 0) return false;
        i += n;
    }
    return true;
}

/* Returns the code point of a well-formed character of `size` bytes. */
static inline uint32_t utf8_code(const uint8_t *p, unsigned size)
{
    static const uint8_t first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = p[0] & first_bits[size];
    for (unsigned i = 1; i < size; i++) code = code << 6 | (p[i] & 0x3f);
    return code;
}

/* Characters that a terminal interprets instead of showing: control characters (C0, DEL, C1),
 * bidirectional controls, which reorder the text around them, and the line and paragraph
 * separators. */
static inline bool utf8_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

/* Like utf8_size, but 0 for control characters too. Use it before printing untrusted text. */
static inline unsigned utf8_printable_size(const uint8_t *p, uint64_t left)
{
    unsigned size = utf8_size(p, left);
    return size > 0 && !utf8_is_control(utf8_code(p, size)) ? size : 0;
}

#endif

/* The part of Python's repr that keys need: ASCII escapes; bytes from 0x80 on are assumed to be
 * UTF-8. */
#include "jobs/rows/python_repr.h"

#include <string.h>

static uint8_t *put_escape(uint8_t *at, uint8_t byte)
{
    static const char hex[] = "0123456789abcdef";
    *at++ = '\\';
    if (byte == '\t' || byte == '\n' || byte == '\r') {
        *at++ = byte == '\t' ? 't' : byte == '\n' ? 'n' : 'r';
        return at;
    }
    *at++ = 'x';
    *at++ = (uint8_t)hex[byte >> 4];
    *at++ = (uint8_t)hex[byte & 15];
    return at;
}

uint64_t python_repr(struct glint_slice text, uint8_t *out)
{
    bool single = text.size > 0 && memchr(text.data, '\'', text.size) != NULL;
    bool twice = text.size > 0 && memchr(text.data, '"', text.size) != NULL;
    uint8_t quote = single && !twice ? '"' : '\'';
    uint8_t *at = out;
    *at++ = quote;
    for (uint64_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (byte < 0x20 || byte == 0x7f) {
            at = put_escape(at, byte);
            continue;
        }
        if (byte == quote || byte == '\\') *at++ = '\\';
        *at++ = byte;
    }
    *at++ = quote;
    return (uint64_t)(at - out);
}

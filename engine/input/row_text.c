/* Escapes of texts in rows: see row_text.h. */
#include "engine/input/row_text.h"

#include <assert.h>
#include <string.h>

typedef uint8_t text_block __attribute__((vector_size(16)));

static_assert(CSV_SEPARATOR - ROW_NULL == 2 && JSON_ROW - ROW_NULL == 1, "three bytes in a row");

static text_block special_bytes_of_block(const uint8_t *at)
{
    text_block block;
    memcpy(&block, at, sizeof block);
    return (text_block)((block - ROW_NULL) <= (uint8_t)(CSV_SEPARATOR - ROW_NULL));
}

/* Whether one of 8 bytes may be special: it is 0x1c to 0x1f. */
static bool may_have_special_byte(uint64_t bytes)
{
    const uint64_t ones = UINT64_MAX / UINT8_MAX, y = (bytes & ones * 0xfc) ^ ones * 0x1c;
    return ((y - ones) & ~y & ones * 0x80) != 0;
}

static bool is_short_text_plain(struct glint_slice text)
{
    uint64_t first = 0, last = 0, at = 0;
    if (text.size >= sizeof first) {
        memcpy(&first, text.data, sizeof first);
        memcpy(&last, text.data + text.size - sizeof last, sizeof last);
        if (!may_have_special_byte(first) && !may_have_special_byte(last)) return true;
    } else if (text.size >= sizeof(uint32_t)) {
        memcpy(&first, text.data, sizeof(uint32_t));
        memcpy(&last, text.data + text.size - sizeof(uint32_t), sizeof(uint32_t));
        if (!may_have_special_byte(first | last << 32)) return true;
    }
    while (at < text.size && !row_text_is_special(text.data[at])) at++;
    return at == text.size;
}

bool row_text_is_plain(struct glint_slice text)
{
    uint64_t any[2], at = 0;
    text_block found = {0};
    if (text.size < sizeof found) return is_short_text_plain(text);
    for (; text.size - at >= sizeof found; at += sizeof found)
        found |= special_bytes_of_block(text.data + at);
    found |= special_bytes_of_block(text.data + text.size - sizeof found);
    memcpy(any, &found, sizeof any);
    return (any[0] | any[1]) == 0;
}

uint64_t row_text_escape(uint8_t *text, uint64_t size)
{
    uint64_t special = 0;
    for (uint64_t i = 0; i < size; i++) special += row_text_is_special(text[i]);
    uint64_t from = size, to = size + special;
    while (to > from) {
        const uint8_t byte = text[--from];
        const bool escape = row_text_is_special(byte);
        text[--to] = escape ? (uint8_t)(byte + 0x20) : byte;
        if (escape) text[--to] = ROW_NULL;
    }
    assert(to == from);
    return size + special;
}

bool row_text_escape_appended(struct buffer *out, uint64_t from)
{
    const uint64_t size = out->size - from;
    assert(from <= out->size);
    if (size == 0 || row_text_is_plain((struct glint_slice){out->data + from, size})) return true;
    if (!buffer_reserve(out, size)) return false;
    out->size = from + row_text_escape(out->data + from, size);
    return true;
}

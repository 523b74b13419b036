/* A digit costs a look-up in a table: see base64.h. */
#include "jobs/bloom/base64.h"

#include "jobs/bloom/internal.h"

static const char base64_digits[2][65] = {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};

enum { WRONG_DIGIT = 1 << 24 };

void base64_pairs_init(struct base64_pairs *p, bool url)
{
    for (uint32_t i = 0; i < BASE64_PAIRS; i++) {
        p->digits[i][0] = base64_digits[url][i >> 6];
        p->digits[i][1] = base64_digits[url][i & 63];
    }
}

uint64_t base64_encode(const struct base64_pairs *p, const uint8_t *in, uint64_t size, uint8_t *out)
{
    const uint8_t *begin = out;
    for (; size >= BASE64_GROUP; size -= BASE64_GROUP, in += BASE64_GROUP) {
        memcpy(out, p->digits[in[0] << 4 | in[1] >> 4], 2);
        memcpy(out + 2, p->digits[(in[1] & 15) << 8 | in[2]], 2);
        out += BASE64_GROUP_TEXT;
    }
    if (size > 0) {
        const uint32_t second = size > 1 ? in[1] : 0;
        memcpy(out, p->digits[(uint32_t)in[0] << 4 | second >> 4], 2);
        out[2] = size > 1 ? (uint8_t)p->digits[(second & 15) << 8][0] : '=';
        out[3] = '=';
        out += BASE64_GROUP_TEXT;
    }
    return (uint64_t)(out - begin);
}

/* Decodes groups without padding, in place, up to one that has a wrong digit. Returns how many. */
static uint64_t decode_groups(const char *digits, uint8_t *text, uint64_t groups)
{
    uint32_t bits[BASE64_GROUP_TEXT][256];
    for (uint32_t i = 0; i < BASE64_GROUP_TEXT; i++) {
        for (uint32_t byte = 0; byte < 256; byte++) bits[i][byte] = WRONG_DIGIT;
        for (uint32_t value = 0; value < 64; value++)
            bits[i][(uint8_t)digits[value]] = value << (18 - 6 * i);
    }
    const uint8_t *in = text;
    for (uint64_t n = 0; n < groups; n++, in += BASE64_GROUP_TEXT, text += BASE64_GROUP) {
        const uint32_t all = bits[0][in[0]] | bits[1][in[1]] | bits[2][in[2]] | bits[3][in[3]];
        if (all >= WRONG_DIGIT) return n;
        text[0] = (uint8_t)(all >> 16);
        text[1] = (uint8_t)(all >> 8);
        text[2] = (uint8_t)all;
    }
    return groups;
}

/* Decodes the group at `in`, whose last `padded` places are padding. Returns BASE64_GROUP_TEXT, or
 * the place of what is wrong in it. */
static uint32_t decode_group(const char *digits, const uint8_t *in, uint32_t padded, uint8_t *out)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < BASE64_GROUP_TEXT; i++) {
        const bool is_pad = i >= BASE64_GROUP_TEXT - padded;
        const char *digit = is_pad || in[i] == '\0' ? NULL : strchr(digits, in[i]);
        if (is_pad ? in[i] != '=' : digit == NULL) return i;
        all = all << 6 | (is_pad ? 0 : (uint32_t)(digit - digits));
    }
    if ((all & ((1u << 8 * padded) - 1)) != 0) return BASE64_GROUP_TEXT - 1;
    for (uint32_t i = 0; i < BASE64_GROUP - padded; i++) out[i] = (uint8_t)(all >> (16 - 8 * i));
    return BASE64_GROUP_TEXT;
}

uint64_t base64_decode(bool url, uint8_t *text, uint64_t size)
{
    const char *digits = base64_digits[url];
    const uint64_t whole = size / BASE64_GROUP, left = size % BASE64_GROUP;
    const uint64_t groups = whole + (left > 0), n = decode_groups(digits, text, whole);
    if (n == groups) return UINT64_MAX;
    const uint32_t padded = n < whole ? 0 : (uint32_t)(BASE64_GROUP - left);
    const uint32_t wrong =
        decode_group(digits, text + n * BASE64_GROUP_TEXT, padded, text + n * BASE64_GROUP);
    return wrong == BASE64_GROUP_TEXT ? UINT64_MAX : n * BASE64_GROUP_TEXT + wrong;
}

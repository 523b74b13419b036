/* The order of keys: most comparisons are those of a rank of 64 bits. */
#include "order.h"

#include <assert.h>
#include <string.h>

static const uint64_t SIGN = (uint64_t)1 << 63;

static uint64_t rank_of_int(const uint8_t *key)
{
    int8_t byte;
    int32_t word;
    int64_t number;
    switch ((char)*key++) {
    case '1': memcpy(&byte, key, sizeof(byte)); return (uint64_t)byte ^ SIGN;
    case '4': memcpy(&word, key, sizeof(word)); return (uint64_t)word ^ SIGN;
    default: memcpy(&number, key, sizeof(number)); return (uint64_t)number ^ SIGN;
    }
}

static uint64_t rank_of_real(double real)
{
    uint64_t bits;
    real += 0.0; /* -0.0 is equal to 0.0 */
    memcpy(&bits, &real, sizeof(bits));
    return bits & SIGN ? ~bits : bits | SIGN;
}

/* The bytes of a str or bytes, and how many there are. UTF-8 has the order of code points. */
static const uint8_t *text_of(const uint8_t *key, size_t *out_size)
{
    bool is_short = *key == 's' || *key == 'b';
    *out_size = is_short ? key[1] : key[1] + ((size_t)key[2] << 8);
    return key + (is_short ? 2 : 3);
}

static uint64_t rank_of_text(const uint8_t *key)
{
    size_t size;
    const uint8_t *text = text_of(key, &size);
    uint64_t rank = 0;
    for (size_t i = 0; i < sizeof(rank); i++) rank = rank << 8 | (i < size ? text[i] : 0);
    return rank;
}

enum order_kind order_of(const uint8_t *key, struct ordered *out)
{
    double real;
    out->key = key;
    switch ((char)*key) {
    case '1':
    case '4':
    case '8': out->rank = rank_of_int(key); return ORDER_INT;
    case 'd':
        memcpy(&real, key + 1, sizeof(real));
        out->rank = rank_of_real(real);
        return real == real ? ORDER_REAL : ORDER_NONE;
    case 's':
    case 'S': out->rank = rank_of_text(key); return ORDER_STR;
    case 'b':
    case 'B': out->rank = rank_of_text(key); return ORDER_BYTES;
    default: return ORDER_NONE;
    }
}

int order_compare(enum order_kind kind, const struct ordered *a, const struct ordered *b)
{
    assert(kind != ORDER_NONE);
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (kind != ORDER_STR && kind != ORDER_BYTES) return 0;
    size_t a_size, b_size;
    const uint8_t *a_text = text_of(a->key, &a_size), *b_text = text_of(b->key, &b_size);
    int order = memcmp(a_text, b_text, a_size < b_size ? a_size : b_size);
    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

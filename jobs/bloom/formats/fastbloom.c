/* Rust's fastbloom, 0.15 to 0.17: BloomFilter with its default hasher, as bincode 1 serializes it.
 * Little-endian.
 *
 *     words.8  the words  (k - 1).4
 *     k0.8 k1.8 length.8 v0.8 v2.8 v1.8 v3.8 tail.8 left.8: a SipHasher13 that has read nothing
 *
 * The ids are of type str, which is hashed with a byte of 0xff behind it. */
#include "jobs/bloom/format.h"

#include <math.h>
#include <string.h>

enum { STATE = 9, TRAILER = 4 + 8 * STATE };
static_assert((int)TRAILER <= (int)BLOOM_FORMAT_HEAD_MAX, "it fits");

struct sip {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotl(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotl(s->v1, 13) ^ s->v0;
    s->v0 = rotl(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotl(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotl(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotl(s->v1, 17) ^ s->v2;
    s->v2 = rotl(s->v2, 32);
}

static struct sip sip_begin(const uint64_t key[2])
{
    return (struct sip){key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                        key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
}

static void sip_word(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

/* SipHash-1-3 of the id and a byte of 0xff. */
static uint64_t sip13_of_str(const uint64_t key[2], const uint8_t *id, uint64_t size)
{
    struct sip s = sip_begin(key);
    uint64_t at = 0, word;
    for (; size - at >= 8; at += 8) {
        memcpy(&word, id + at, sizeof word);
        sip_word(&s, word);
    }
    word = 0;
    if (size > at) memcpy(&word, id + at, size - at);
    word |= 0xffull << 8 * (size - at);
    if (size - at == 7) {
        sip_word(&s, word);
        word = 0;
    }
    sip_word(&s, word | (size + 1) << 56);
    s.v2 ^= 0xff;
    for (int i = 0; i < 3; i++) sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static void fastbloom_indexes(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                              uint64_t *out)
{
    uint64_t h = sip13_of_str(params->hash_seed, id, size);
    const uint64_t step = h * 0x517cc1b727220a95u;
    for (uint32_t i = 0; i < params->k; i++, h = rotl(h, 5) + step)
        out[i] = (uint64_t)((unsigned __int128)h * params->m >> 64);
}

/* k follows from m after it is rounded up to words, so it is high for few ids. */
static void fastbloom_size(double n, double p, double *out_m, double *out_k)
{
    const double ln2 = log(2), bits = 8 * ceil(n * log(p) / (-8 * (ln2 * ln2)));
    *out_m = format_round_up(bits < 64 ? 64 : bits, 64);
    const double k = round(ln2 * *out_m / n);
    *out_k = k < 1 ? 1 : k;
}

static uint32_t fastbloom_encode_head(const struct bloom_params *params, uint8_t *out)
{
    return format_put_little_endian(out, params->m / 64, 8);
}

static void sip_state(const uint64_t key[2], uint64_t out[STATE])
{
    const struct sip s = sip_begin(key);
    const uint64_t state[STATE] = {key[0], key[1], 0, s.v0, s.v2, s.v1, s.v3, 0, 0};
    memcpy(out, state, sizeof state);
}

static uint32_t fastbloom_encode_trailer(const struct bloom_params *params, uint8_t *out)
{
    uint64_t state[STATE];
    uint32_t size = format_put_little_endian(out, params->k - 1, 4);
    assert(params->k > 0);
    sip_state(params->hash_seed, state);
    for (uint32_t i = 0; i < STATE; i++) size += format_put_little_endian(out + size, state[i], 8);
    return size;
}

static const char *fastbloom_decode_head(struct head *head, struct bloom_params *params)
{
    uint64_t words;
    if (!format_get_little_endian(head, 8, &words)) return format_truncated;
    if (words == 0) return format_no_bits;
    if (words > BLOOM_M_MAX / 64) return "it has more bits than the scheme can index";
    params->m = words * 64;
    const uint64_t left = head->size - head->end, need = words * 8 + TRAILER;
    head->at = left < need ? head->size : head->end + need;
    if (left < need) return "the bits are truncated";
    return left > need ? "bytes follow the filter" : NULL;
}

static const char *fastbloom_decode_trailer(struct head *head, struct bloom_params *params)
{
    uint64_t k, state[STATE], value;
    if (!format_get_little_endian(head, 4, &k)) return format_truncated;
    const char *wrong = format_check_k(k + 1, params);
    if (wrong != NULL) return wrong;
    for (uint32_t i = 0; i < STATE; i++) {
        if (!format_get_little_endian(head, 8, &value)) return format_truncated;
        if (i < 2) params->hash_seed[i] = value;
        if (i == 1) sip_state(params->hash_seed, state);
        if (i > 1 && value != state[i]) return "its hasher is not a SipHasher13 at its start";
    }
    return NULL;
}

const struct format format_fastbloom = {.name = "fastbloom",
                                        .program = "fastbloom's BloomFilter",
                                        .scheme = BLOOM_FASTBLOOM,
                                        .body = FORMAT_BYTES,
                                        .m_max = BLOOM_M_MAX,
                                        .size_rule = fastbloom_size,
                                        .indexes = fastbloom_indexes,
                                        .encode = fastbloom_encode_head,
                                        .encode_trailer = fastbloom_encode_trailer,
                                        .decode = fastbloom_decode_head,
                                        .decode_trailer = fastbloom_decode_trailer};

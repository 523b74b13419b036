/* Base64 against OpenSSL's, for all small sizes, and each wrong byte of a text. */
#include "jobs/bloom/base64.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <openssl/evp.h>
#include <string.h>

enum { SIZES = 300, TEXT_MAX = (SIZES + 2) / 3 * 4 };

/* OpenSSL has no digits of URLs. */
static uint64_t oracle_encode(bool url, const uint8_t *in, uint64_t size, uint8_t *out)
{
    const int used = EVP_EncodeBlock(out, in, (int)size);
    for (int i = 0; url && i < used; i++) {
        if (out[i] == '+') out[i] = '-';
        if (out[i] == '/') out[i] = '_';
    }
    return (uint64_t)used;
}

static void fill(uint8_t *bytes, uint64_t size)
{
    uint64_t x = size + 1;
    for (uint64_t i = 0; i < size; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(x >> 56);
    }
}

Test(base64, texts_are_those_of_openssl)
{
    struct base64_pairs pairs;
    uint8_t bytes[SIZES], text[TEXT_MAX + 64], want[TEXT_MAX + 64];
    for (unsigned i = 0; i < 2 * SIZES; i++) {
        const bool url = i % 2 == 1;
        const uint64_t size = i / 2;
        fill(bytes, size);
        memset(text, '!', sizeof text);
        const uint64_t used = oracle_encode(url, bytes, size, want);
        base64_pairs_init(&pairs, url);
        cr_assert_eq(base64_encode(&pairs, bytes, size, text), used, "%u bytes", (unsigned)size);
        cr_assert_arr_eq(text, want, used, "%u bytes", (unsigned)size);
        cr_assert_eq(text[used], '!', "%u bytes: it ends there", (unsigned)size);
        cr_assert_eq(base64_decode(url, text, size), UINT64_MAX, "%u bytes", (unsigned)size);
        cr_assert_arr_eq(text, bytes, size, "%u bytes", (unsigned)size);
        cr_assert_eq(text[used], '!', "%u bytes: it ends there", (unsigned)size);
    }
}

/* Each byte, in each place of a text, is a digit or an error at that place. */
Test(base64, wrong_bytes_are_found_where_they_are)
{
    enum { BYTES = 110, PAD_AT = (BYTES + 2) / 3 * 4 - 1 };
    uint8_t bytes[BYTES], text[PAD_AT + 2], copy[PAD_AT + 2];
    fill(bytes, BYTES);
    for (unsigned url = 0; url < 2; url++) {
        const char *digits = url == 1 ? "-_" : "+/";
        oracle_encode(url == 1, bytes, BYTES, text);
        for (unsigned at = 0; at <= PAD_AT; at++)
            for (unsigned byte = 0; byte < 256; byte++) {
                const bool digit = (byte < 128 && isalnum((int)byte)) ||
                                   (byte != 0 && strchr(digits, (int)byte) != NULL);
                memcpy(copy, text, sizeof copy);
                copy[at] = (uint8_t)byte;
                const uint64_t wrong = base64_decode(url == 1, copy, BYTES);
                if (at == PAD_AT - 1 && digit) continue; /* its last bits must be 0 */
                const bool right = at == PAD_AT ? byte == '=' : digit;
                cr_assert_eq(wrong, right ? UINT64_MAX : at, "byte %u at %u", byte, at);
            }
    }
}

Test(base64, bits_behind_the_last_byte_are_an_error)
{
    uint8_t two[] = "AAE=", one[] = "AQ==", bad_two[] = "AAF=", bad_one[] = "AR==";
    cr_assert_eq(base64_decode(false, two, 2), UINT64_MAX);
    cr_assert_eq(base64_decode(false, one, 1), UINT64_MAX);
    cr_assert_eq(base64_decode(false, bad_two, 2), 3);
    cr_assert_eq(base64_decode(false, bad_one, 1), 3);
}

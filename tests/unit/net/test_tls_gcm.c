/* Our provider's cipher compared with OpenSSL's: the same bytes for texts of every length, each
 * decrypts what the other encrypted, and calls that TLS records do not need fail. */
#include "engine/net/tls_gcm.h"

#include "tests/unit/net/bytes.h"

#include <openssl/evp.h>
#include <openssl/provider.h>

#define KEY_BYTES  16
#define IV_BYTES   12
#define TAG_BYTES  16
#define TEXT_BYTES 16385

static EVP_CIPHER *ours, *theirs;
static uint8_t key[KEY_BYTES], iv[IV_BYTES], aad[64], text[TEXT_BYTES];

static void fill(uint8_t *out, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        out[i] = (uint8_t)(seed >> 24);
    }
}

static void open_ciphers(void)
{
    if (tls_gcm_property_query() == NULL) cr_skip_test("not for this processor");
    ours = EVP_CIPHER_fetch(NULL, "AES-128-GCM", tls_gcm_property_query());
    theirs = EVP_CIPHER_fetch(NULL, "AES-128-GCM", "provider=default");
    cr_assert(ours != NULL && theirs != NULL);
    cr_assert_str_eq(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(ours)), "glint");
    fill(key, sizeof key, 1);
    fill(iv, sizeof iv, 2);
    fill(aad, sizeof aad, 3);
    fill(text, sizeof text, 4);
    begin();
}

static void close_ciphers(void)
{
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(theirs);
    end();
}

/* Creates a context with key, IV and `aad_size` bytes of AAD. */
static EVP_CIPHER_CTX *start(const EVP_CIPHER *cipher, bool encrypts, int aad_size)
{
    int n = 0;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    cr_assert_eq(EVP_CipherInit_ex(c, cipher, NULL, key, iv, encrypts), 1);
    if (aad_size > 0) cr_assert_eq(EVP_CipherUpdate(c, NULL, &n, aad, aad_size), 1);
    return c;
}

/* Encrypts or decrypts in pieces of `piece` bytes. */
static void cipher_update(EVP_CIPHER_CTX *c, const uint8_t *in, uint8_t *out, int size, int piece)
{
    for (int at = 0, n; at < size; at += n) {
        int wanted = size - at < piece ? size - at : piece;
        cr_assert_eq(EVP_CipherUpdate(c, out + at, &n, in + at, wanted), 1);
        cr_assert_eq(n, wanted);
    }
}

static void encrypt(const EVP_CIPHER *cipher, int aad_size, int size, int piece, uint8_t *out,
                    uint8_t tag[TAG_BYTES])
{
    int n = 0;
    EVP_CIPHER_CTX *c = start(cipher, true, aad_size);
    cipher_update(c, text, out, size, piece);
    cr_assert_eq(EVP_CipherFinal_ex(c, out + size, &n), 1);
    cr_assert_eq(n, 0);
    cr_assert_eq(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, tag), 1);
    EVP_CIPHER_CTX_free(c);
}

/* Decrypts in place. Returns whether the tag was valid. */
static bool decrypt(const EVP_CIPHER *cipher, int aad_size, uint8_t *bytes, int size, int piece,
                    uint8_t tag[TAG_BYTES])
{
    int n = 0;
    EVP_CIPHER_CTX *c = start(cipher, false, aad_size);
    cr_assert_eq(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag), 1);
    cipher_update(c, bytes, bytes, size, piece);
    bool right = EVP_CipherFinal_ex(c, bytes + size, &n) == 1;
    EVP_CIPHER_CTX_free(c);
    return right;
}

static void expect_same(int aad_size, int size, int piece)
{
    uint8_t closed[2][TEXT_BYTES + 1], tags[2][TAG_BYTES];
    encrypt(ours, aad_size, size, piece, closed[0], tags[0]);
    encrypt(theirs, aad_size, size, size + 1, closed[1], tags[1]);
    cr_assert_eq(memcmp(closed[0], closed[1], (size_t)size), 0, "%d bytes", size);
    cr_assert_eq(memcmp(tags[0], tags[1], TAG_BYTES), 0, "%d bytes, %d of AAD", size, aad_size);
    cr_assert(decrypt(ours, aad_size, closed[1], size, piece, tags[1]));
    cr_assert(decrypt(theirs, aad_size, closed[0], size, size + 1, tags[0]));
    cr_assert_eq(memcmp(closed[0], text, (size_t)size), 0);
    cr_assert_eq(memcmp(closed[1], text, (size_t)size), 0);
}

Test(tls_gcm, matches_openssl_for_any_length)
{
    open_ciphers();
    for (int size = 0; size <= 1100; size++) expect_same(5, size, size + 1);
    for (int size = 16000; size <= TEXT_BYTES; size += 7) expect_same(5, size, size + 1);
    expect_same(5, TEXT_BYTES, TEXT_BYTES);
    for (int aad_size = 0; aad_size <= (int)sizeof aad; aad_size++) expect_same(aad_size, 100, 100);
    close_ciphers();
}

Test(tls_gcm, text_may_come_in_pieces)
{
    open_ciphers();
    for (int piece = 1; piece <= 300; piece++) expect_same(5, 1000, piece);
    close_ciphers();
}

Test(tls_gcm, one_key_works_with_many_ivs)
{
    uint8_t out[2][100], tags[2][TAG_BYTES];
    int n = 0;
    open_ciphers();
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    cr_assert_eq(EVP_CipherInit_ex(c, ours, NULL, key, NULL, 1), 1);
    for (unsigned i = 0; i < 5; i++) {
        iv[0] = (uint8_t)i;
        cr_assert_eq(EVP_CipherInit_ex(c, NULL, NULL, NULL, iv, 1), 1);
        cr_assert_eq(EVP_CipherUpdate(c, out[0], &n, text, 100), 1);
        cr_assert_eq(EVP_CipherFinal_ex(c, out[0], &n), 1);
        cr_assert_eq(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, tags[0]), 1);
        encrypt(theirs, 0, 100, 100, out[1], tags[1]);
        cr_expect_eq(memcmp(out[0], out[1], 100), 0);
        cr_expect_eq(memcmp(tags[0], tags[1], TAG_BYTES), 0);
    }
    EVP_CIPHER_CTX_free(c);
    close_ciphers();
}

Test(tls_gcm, every_flipped_bit_is_detected)
{
    uint8_t closed[201], bytes[201], tag[TAG_BYTES];
    open_ciphers();
    encrypt(ours, 5, 200, 200, closed, tag);
    memcpy(bytes, closed, sizeof bytes);
    cr_assert(decrypt(ours, 5, bytes, 200, 200, tag));
    for (unsigned bit = 0; bit < 200 * 8; bit++) {
        memcpy(bytes, closed, sizeof bytes);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_expect_not(decrypt(ours, 5, bytes, 200, 200, tag), "bit %u", bit);
    }
    uint8_t *others[] = {tag, iv, key, aad};
    const unsigned sizes[] = {TAG_BYTES, IV_BYTES, KEY_BYTES, 5};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned bit = 0; bit < sizes[i] * 8; bit++) {
            memcpy(bytes, closed, sizeof bytes);
            others[i][bit / 8] ^= (uint8_t)(1 << bit % 8);
            cr_expect_not(decrypt(ours, 5, bytes, 200, 200, tag), "%u, bit %u", i, bit);
            others[i][bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    close_ciphers();
}

Test(tls_gcm, unsupported_use_is_rejected)
{
    uint8_t out[100], tag[TAG_BYTES];
    int n = 0;
    open_ciphers();
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
    cr_assert_eq(EVP_CipherInit_ex(c, ours, NULL, NULL, NULL, 1), 1);
    cr_expect_eq(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, 16, NULL), 0);
    cr_expect_eq(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, IV_BYTES, NULL), 1);
    cr_expect_neq(EVP_CipherUpdate(c, out, &n, text, 10), 1, "no key");
    cr_assert_eq(EVP_CipherInit_ex(c, NULL, NULL, key, NULL, 1), 1);
    cr_expect_neq(EVP_CipherUpdate(c, out, &n, text, 10), 1, "no iv");
    cr_expect_neq(EVP_CipherFinal_ex(c, out, &n), 1, "no iv");
    cr_assert_eq(EVP_CipherInit_ex(c, NULL, NULL, NULL, iv, 1), 1);
    cr_expect_neq(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag), 1, "encrypts");
    cr_expect_eq(EVP_CipherUpdate(c, NULL, &n, aad, 5), 1);
    cr_expect_neq(EVP_CipherUpdate(c, NULL, &n, aad, 5), 1, "AAD in two pieces");
    cr_expect_eq(EVP_CipherUpdate(c, out, &n, text, 10), 1);
    cr_expect_neq(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, tag), 1, "not finished");
    cr_expect_neq(EVP_CIPHER_CTX_copy(copy, c), 1, "a copy");
    cr_expect_eq(EVP_CipherFinal_ex(c, out, &n), 1);
    cr_expect_neq(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES - 1, tag), 1, "short");
    cr_expect_neq(EVP_CipherUpdate(c, out, &n, text, 10), 1, "the iv was used");
    cr_assert_eq(EVP_CipherInit_ex(c, NULL, NULL, NULL, iv, 0), 1);
    cr_expect_eq(EVP_CipherUpdate(c, out, &n, text, 10), 1);
    cr_expect_neq(EVP_CipherFinal_ex(c, out, &n), 1, "no tag");
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_CTX_free(copy);
    close_ciphers();
}

Test(tls_gcm, out_of_memory_is_reported)
{
    open_ciphers();
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    mem_fail_at(1, false);
    cr_expect_neq(EVP_CipherInit_ex(c, ours, NULL, key, iv, 1), 1);
    mem_fail_at(0, false);
    EVP_CIPHER_CTX_free(c);
    close_ciphers();
}

/* See sha256.h. */
#include "engine/net/sha256.h"

#include "engine/base/mem.h"
#include "engine/limits.h"
#include "engine/net/crypto_library.h"

#include <errno.h>
#include <stdio.h>

#define CHUNK_BYTES (256 * KIB)

static int hash_file(struct env *env, int file, EVP_MD_CTX *hash, uint8_t *chunk)
{
    int64_t n = 1;
    for (uint64_t at = 0; n > 0; at += (uint64_t)n) {
        n = env_read_full(env, file, chunk, CHUNK_BYTES, at);
        if (n < 0) return (int)n;
        if (EVP_DigestUpdate(hash, chunk, (size_t)n) != 1) return -EIO;
    }
    return 0;
}

int sha256_of_file(struct env *env, int file, uint8_t out[SHA256_BYTES])
{
    struct glint_error unused = {.code = GLINT_OK};
    if (crypto_library_load(&unused) != 0) return -ENOSYS;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    uint8_t *chunk = mem_alloc(CHUNK_BYTES);
    int r = hash != NULL && chunk != NULL ? 0 : -ENOMEM;
    if (r == 0 && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) != 1) r = -EIO;
    if (r == 0) r = hash_file(env, file, hash, chunk);
    if (r == 0 && EVP_DigestFinal_ex(hash, out, NULL) != 1) r = -EIO;
    mem_free(chunk);
    EVP_MD_CTX_free(hash);
    return r;
}

void sha256_text(const uint8_t hash[SHA256_BYTES], char out[SHA256_TEXT_MAX])
{
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(out + 2 * i, SHA256_TEXT_MAX - 2 * i, "%02x", hash[i]);
}

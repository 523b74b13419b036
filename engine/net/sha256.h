/* SHA-256 of a file, by OpenSSL. */
#ifndef GLINT_NET_SHA256_H
#define GLINT_NET_SHA256_H

#include "engine/base/env.h"

#define SHA256_BYTES    32u
#define SHA256_TEXT_MAX (2 * SHA256_BYTES + 1)

/* Hashes all of an open file. Returns 0 or a negative errno. Any thread; blocks on disk. */
int sha256_of_file(struct env *env, int file, uint8_t out[SHA256_BYTES]);
/* Writes the hash as 64 lower-case hex digits. */
void sha256_text(const uint8_t hash[SHA256_BYTES], char out[SHA256_TEXT_MAX]);

#endif

/* Compares the library's MD5 with OpenSSL's around every chunk boundary, and with the RFC's test
 * vectors. */
#include "jobs/bloom/internal.h"
#include "oracle.h"

#include <criterion/criterion.h>
#include <openssl/evp.h>

Test(md5, equals_openssl)
{
    uint8_t data[300], ours[BLOOM_MD5_BYTES], theirs[EVP_MAX_MD_SIZE];
    uint64_t state = 77;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)sample_random(&state);
    for (size_t size = 0; size <= sizeof data; size++) {
        bloom_md5(data, size, ours);
        if (EVP_Digest(data, size, theirs, NULL, EVP_md5(), NULL) != 1)
            cr_skip_test("this OpenSSL disables MD5");
        cr_assert_arr_eq(ours, theirs, sizeof ours, "%zu bytes", size);
    }
}

Test(md5, equals_rfc_1321_example)
{
    uint8_t ours[BLOOM_MD5_BYTES];
    bloom_md5("message digest", 14, ours);
    cr_assert_arr_eq(ours, "\xf9\x6b\x69\x7d\x7c\xb7\x93\x8d\x52\x5a\x2f\x31\xaa\xf1\x61\xd0", 16);
}

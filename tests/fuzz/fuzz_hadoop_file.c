/* Arbitrary bytes as a file of Hadoop's BloomFilter: either rejected with an offset of at most the
 * file's size, or usable and encoded to exactly the same bytes. */
#include "jobs/commands/hadoop_file.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bloom_filter view;
    struct bloom_params params;
    uint64_t at = 0, head_at = 0;
    const char *wrong = hadoop_file_decode(data, size, &view, &at);
    const char *head_wrong = hadoop_file_decode_head(data, size, &params, &head_at);
    if (head_wrong != NULL && (head_wrong != wrong || head_at != at)) abort();
    if ((wrong == NULL) != (view.bits != NULL) || at > size) abort();
    if (wrong != NULL) return 0;
    uint8_t head[HADOOP_HEAD_BYTES];
    hadoop_file_encode_head(&view.params, head);
    if (memcmp(head, data, sizeof head) != 0) abort();
    if (sizeof head + bloom_bytes(view.params.m) != size) abort();
    if (bloom_bits_set(&view) > view.params.m) abort();
    bloom_contains(&view, data, size);
    view.params.n = 1;
    if (bloom_params_check(&view.params) != BLOOM_OK) abort();
    return 0;
}

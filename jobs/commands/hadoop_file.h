/* The file of Hadoop's org.apache.hadoop.util.bloom.BloomFilter, as its write method writes it:
 *
 *     ffffffff         version -1; older files have k here, no hash type, and hash with Jenkins
 *     k.4              hashes per id; all numbers are big-endian
 *     01               hash type: 1 is Murmur, 0 Jenkins
 *     m.4              number of bits
 *     bits             ceil(m / 8) bytes: bit i is bit (i mod 8) of byte i / 8
 *
 * With Murmur these are the bits of the scheme hadoop-bloom. The file has neither n nor a checksum.
 */
#ifndef GLINT_JOBS_COMMANDS_HADOOP_FILE_H
#define GLINT_JOBS_COMMANDS_HADOOP_FILE_H

#include "jobs/bloom/bloom.h"

enum { HADOOP_HEAD_BYTES = 13 };

/* Encodes the header, which precedes the bits. The scheme must be hadoop-bloom. */
void hadoop_file_encode_head(const struct bloom_params *params, uint8_t out[HADOOP_HEAD_BYTES]);

/* Checks the header of a file of `size` bytes; `data` has the first HADOOP_HEAD_BYTES, or the whole
 * file if it is shorter. Returns NULL, or an error text with the position in *out_at. The params
 * have n = 0. */
const char *hadoop_file_decode_head(const uint8_t *data, uint64_t size,
                                    struct bloom_params *out_params, uint64_t *out_at);
/* The same for the whole file. The view borrows its bits from `data`. */
const char *hadoop_file_decode(const uint8_t *data, uint64_t size, struct bloom_filter *out_view,
                               uint64_t *out_at);

#endif

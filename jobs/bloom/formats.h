/* The files of other systems' Bloom filters, each one filter, and raw arrays of bits:
 *
 *     format     scheme of its bits     header, then the bits
 *     bits       any                    none
 *     spark      spark-bloom            1.4 k.4 words.4
 *     spark-v2   spark-bloom-v2         2.4 k.4 seed.4 words.4
 *     hadoop     hadoop-bloom           -1.4 k.4 hash.1 m.4
 *     guava      guava                  strategy.1 k.1 words.4
 *     parquet    xxh64, split-block     Thrift: bytes, algorithm, hash, compression
 *     rbloom     rbloom                 k.8, little-endian
 *
 * Numbers are big-endian where the format is Java's. Bits are those of a filter, byte for byte,
 * except in words: 64 bits each, big-endian. docs/filter-format.md has the bytes.
 *
 * No file has n, and the header of bits no scheme, m or k either. */
#ifndef GLINT_JOBS_BLOOM_FORMATS_H
#define GLINT_JOBS_BLOOM_FORMATS_H

#include "jobs/bloom/bloom.h"

enum bloom_format {
    BLOOM_FORMAT_BITS,
    BLOOM_FORMAT_SPARK,
    BLOOM_FORMAT_SPARK_V2,
    BLOOM_FORMAT_HADOOP,
    BLOOM_FORMAT_GUAVA,
    BLOOM_FORMAT_PARQUET,
    BLOOM_FORMAT_RBLOOM,
    BLOOM_FORMATS, /* number of formats */
};

#define BLOOM_FORMAT_CHOICES                                                                       \
    "bits|spark|spark-v2|hadoop|guava|parquet|rbloom" /* for options */

enum {
    BLOOM_FORMAT_HEAD_MAX = 32, /* size limit of a header */
    BLOOM_FORMAT_WORD = 8,      /* bloom_format_convert takes a multiple of it */
};

/* "spark-v2", and the program that reads and writes such files, for messages. */
const char *bloom_format_name(enum bloom_format format);
const char *bloom_format_program(enum bloom_format format);
/* Returns false if the name is unknown. */
bool bloom_format_parse(const char *name, uint64_t size, enum bloom_format *out_format);

/* The scheme and the layout that a format needs; not for bits, which can have any. */
enum bloom_scheme bloom_format_scheme(enum bloom_format format);
enum bloom_layout bloom_format_layout(enum bloom_format format);
/* Returns true if such a filter can be written: it has the format's scheme and layout. */
bool bloom_format_fits(enum bloom_format format, const struct bloom_params *params);
/* The largest m of the format's readers. */
uint64_t bloom_format_m_max(enum bloom_format format);

/* Encodes the header, which precedes the bits, and returns its size. The format must fit. */
uint32_t bloom_format_encode_head(enum bloom_format format, const struct bloom_params *params,
                                  uint8_t out[BLOOM_FORMAT_HEAD_MAX]);
/* Converts bits of a filter to those of a file, or back, in place, piece by piece. `size` is a
 * multiple of BLOOM_FORMAT_WORD, except at the end of a format without words. */
void bloom_format_convert(enum bloom_format format, uint8_t *bits, uint64_t size);

/* Checks the header of a file of `size` bytes; `data` has the first BLOOM_FORMAT_HEAD_MAX, or the
 * whole file if it is shorter. `params` has n, which is not read, and for bits scheme, k, and m or
 * 0 for all bits of the file; the rest is set. Returns NULL, or an error text with the position in
 * *out_at. */
const char *bloom_format_decode_head(enum bloom_format format, const uint8_t *data, uint64_t size,
                                     struct bloom_params *params, uint32_t *out_head,
                                     uint64_t *out_at);
/* The same for the whole file, whose bits it converts in place. The view borrows them from `data`;
 * after an error its bits are NULL. */
const char *bloom_format_decode(enum bloom_format format, uint8_t *data, uint64_t size,
                                const struct bloom_params *params, struct bloom_filter *out_view,
                                uint64_t *out_at);

#endif

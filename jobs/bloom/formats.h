/* The files of other systems' Bloom filters, each one filter, and raw arrays of bits. A format is a
 * row of the table in formats.c and a file in formats/, which describes its bytes; docs/
 * filter-format.md and docs/formats-of-filters.md show all of them. Few files have n, and those of
 * raw bits neither scheme, m nor k. */
#ifndef GLINT_JOBS_BLOOM_FORMATS_H
#define GLINT_JOBS_BLOOM_FORMATS_H

#include "jobs/bloom/base64.h"
#include "jobs/bloom/bloom.h"

enum bloom_format {
    BLOOM_FORMAT_BITS,
    BLOOM_FORMAT_SPARK,
    BLOOM_FORMAT_SPARK_V2,
    BLOOM_FORMAT_HADOOP,
    BLOOM_FORMAT_GUAVA,
    BLOOM_FORMAT_PARQUET,
    BLOOM_FORMAT_RBLOOM,
    BLOOM_FORMAT_GO_BLOOM,
    BLOOM_FORMAT_GO_BLOOM_JSON,
    BLOOM_FORMAT_DATASKETCHES,
    BLOOM_FORMAT_NPM_BLOOM,
    BLOOM_FORMAT_REDISBLOOM,
    BLOOM_FORMAT_FASTBLOOM,
    BLOOM_FORMAT_ORC,
    BLOOM_FORMAT_CASSANDRA,
    BLOOM_FORMATS, /* number of formats */
};

/* For options; raw bits have no class, so filters cannot be built for them. */
#define BLOOM_FORMAT_CLASSES                                                                       \
    "spark|spark-v2|hadoop|guava|parquet|rbloom|go-bloom|go-bloom-json|datasketches|npm-bloom|"    \
    "redisbloom|fastbloom|orc|cassandra"
#define BLOOM_FORMAT_CHOICES "bits|" BLOOM_FORMAT_CLASSES

enum { BLOOM_FORMAT_HEAD_MAX = 256 }; /* size limit of a header, and of a trailer */

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
/* The sizes of ids that the class of this scheme accepts, in bytes; *out_max 0: no limit. */
void bloom_scheme_id_sizes(enum bloom_scheme scheme, uint32_t *out_min, uint32_t *out_max);

/* ---- Writing: begin, the bits piece by piece, end. */

struct bloom_format_writer {
    enum bloom_format format;
    struct bloom_params params;
    uint8_t carry[8]; /* bytes that wait for more: of a word, or of a group of base64 */
    uint32_t carried;
    struct base64_pairs base64; /* only of formats in base64 */
};

/* The size limit of what bloom_format_write makes of so many bytes. */
#define BLOOM_FORMAT_WRITE_MAX(size) (((size) + 16) / 3 * 4 + 16)

/* Each returns the size of what it wrote to `out`. The format must fit. Pieces are multiples of 8
 * bytes, except the last one. */
uint32_t bloom_format_begin(struct bloom_format_writer *w, enum bloom_format format,
                            const struct bloom_params *params, uint8_t out[BLOOM_FORMAT_HEAD_MAX]);
uint64_t bloom_format_write(struct bloom_format_writer *w, const uint8_t *bits, uint64_t size,
                            uint8_t *out);
uint32_t bloom_format_end(struct bloom_format_writer *w, uint8_t out[BLOOM_FORMAT_HEAD_MAX]);

/* ---- Reading */

/* Checks the header of a file of `size` bytes; `data` has the first BLOOM_FORMAT_HEAD_MAX, or the
 * whole file if it is shorter. `params` has n, which is kept, or 0 for that of the file, if it has
 * one, and for bits scheme, k, and m or 0 for all bits of the file; the rest is set, but not what a
 * trailer has. Returns NULL, or an error text with the position in *out_at. */
const char *bloom_format_decode_head(enum bloom_format format, const uint8_t *data, uint64_t size,
                                     struct bloom_params *params, uint64_t *out_at);
/* The same for the whole file, whose bits it converts in place. The view borrows them from `data`;
 * after an error its bits are NULL. */
const char *bloom_format_decode(enum bloom_format format, uint8_t *data, uint64_t size,
                                const struct bloom_params *params, struct bloom_filter *out_view,
                                uint64_t *out_at);
/* The size of the Parquet filter at `head`, of which `size` bytes are given; 0: it has no such
 * header.
 */
uint64_t bloom_parquet_size(const uint8_t *head, uint64_t size);
/* The formats whose header and size fit a file, never bits; `data` as for decode_head. Of several
 * only those whose trailer fits, too, if `data` has it. Returns their number. */
uint32_t bloom_format_detect(const uint8_t *data, uint64_t size,
                             enum bloom_format out_formats[BLOOM_FORMATS]);

#endif

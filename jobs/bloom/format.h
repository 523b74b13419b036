/* One format of another system: its index rule, its sizes, and its file. Each file of formats/
 * defines one or two rows of the table in formats.c; encoding and decoding stand next to each
 * other.
 *
 * A file is a header, the bits, and a trailer, of which header or trailer may be missing. */
#ifndef GLINT_JOBS_BLOOM_FORMAT_H
#define GLINT_JOBS_BLOOM_FORMAT_H

#include "jobs/bloom/formats.h"
#include "jobs/bloom/internal.h"

/* The bits as they are in a file. */
enum format_body {
    FORMAT_BYTES,          /* bit i is bit (i mod 8) of byte i / 8 */
    FORMAT_WORDS,          /* of 64 bits, big-endian: bit i is bit (i mod 64) of word i / 64 */
    FORMAT_BASE64,         /* the bytes in RFC 4648, section 4 */
    FORMAT_BASE64_OF_WORDS /* the words in section 5 (URL), after a word with m */
};

/* Reads the header, or the trailer, which begins at `end` then. */
struct head {
    const uint8_t *data; /* of the file; [0, size) of a header may end at BLOOM_FORMAT_HEAD_MAX */
    uint64_t have;       /* bytes of `data` */
    uint64_t size;       /* of the file */
    uint64_t end;        /* of what was read */
    uint64_t at;         /* of the field that was read last, for errors */
};

struct format {
    const char *name, *program;
    enum bloom_scheme scheme;
    enum bloom_layout layout;
    enum format_body body;
    uint64_t m_max;
    uint32_t id_min, id_max; /* sizes of ids in bytes; id_max 0: no limit */
    uint64_t default_seed;   /* of its hash */
    /* The class's m, which is rounded up to the scheme's words, and k for n ids and the rate p;
     * NULL: it has no rule. */
    void (*size_rule)(double n, double p, double *out_m, double *out_k);
    /* The k indexes of an id; NULL: the scheme is in index.c. */
    void (*indexes)(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                    uint64_t *out);
    /* Encodes the header, or the trailer (NULL: none), and returns its size. */
    uint32_t (*encode)(const struct bloom_params *params, uint8_t *out);
    uint32_t (*encode_trailer)(const struct bloom_params *params, uint8_t *out);
    /* Decodes them into params, which has scheme and layout. Returns NULL or an error text. The
     * header must have m; k and the seed may be in the trailer. */
    const char *(*decode)(struct head *head, struct bloom_params *params);
    const char *(*decode_trailer)(struct head *head, struct bloom_params *params);
};

extern const struct format format_bits, format_spark, format_spark_v2, format_hadoop, format_guava,
    format_parquet, format_rbloom, format_go_bloom, format_go_bloom_json, format_datasketches,
    format_npm_bloom, format_redisbloom, format_fastbloom, format_orc, format_cassandra;

extern const char format_truncated[], format_no_bits[];

/* Numbers of up to 8 bytes. Putting returns their size; getting reads the next ones, false: the
 * file ends before. */
uint32_t format_put_big_endian(uint8_t *out, uint64_t value, uint32_t size);
uint32_t format_put_little_endian(uint8_t *out, uint64_t value, uint32_t size);
uint32_t format_put_f64(uint8_t *out, double value);
bool format_get_big_endian(struct head *head, uint32_t size, uint64_t *out);
bool format_get_little_endian(struct head *head, uint32_t size, uint64_t *out);
bool format_get_java_int(struct head *head, int64_t *out); /* 4 bytes, signed */
/* An unsigned LEB128 number without superfluous bytes. */
uint32_t format_put_varint(uint8_t *out, uint64_t value);
const char *format_get_varint(struct head *head, uint64_t *out);

/* Text and decimal numbers of JSON; white space before them is skipped. */
uint32_t format_put_text(uint8_t *out, const char *text);
uint32_t format_put_decimal(uint8_t *out, uint64_t value);
const char *format_get_text(struct head *head, const char *text);
const char *format_get_decimal(struct head *head, uint64_t *out);
/* A name with its quotes, and the colon. */
const char *format_get_member(struct head *head, const char *name);

/* Set k or m, or return an error text. */
const char *format_check_k(uint64_t k, struct bloom_params *params);
const char *format_get_java_k(struct head *head, struct bloom_params *params);
const char *format_get_java_words(struct head *head, struct bloom_params *params);

/* ceil(-n ln p / (ln 2)^2), as most classes compute it; a class rounds it as it likes. */
double format_bits_for_rate(double n, double p);
double format_round_up(double m, double unit);

#endif

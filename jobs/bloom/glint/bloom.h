/* <glint/bloom.h>: Bloom filters, and the files that glint's bloom-build writes. C17 or C++.
 *
 *     struct glint_bloom_params params;
 *     glint_bloom *filter = NULL;
 *     int failed = glint_bloom_size_by_rate(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK,
 *                                           1000000, 0.01, &params); // ids, rate
 *     if (failed == 0) failed = glint_bloom_create(&params, &filter);
 *     if (failed == 0) failed = glint_bloom_add(filter, "tt0000001", 9);
 *     if (failed != 0) puts(glint_bloom_strerror(failed));
 *     if (glint_bloom_contains(filter, "tt0000001", 9)) puts("probably");
 *     glint_bloom_destroy(filter);
 *
 * Results: int functions answer 0 or a negative code of enum glint_bloom_result, and what they were
 * to make is then NULL or zero. Nothing here aborts, prints or exits; no memory is an error too.
 * Pointers must be valid, and a filter one that was made here and not yet destroyed. What was not
 * made is NULL, and to ask that is harmless: a NULL filter or file holds nothing, so the answer is
 * false, 0, NULL or an entry of zeros.
 *
 * Threads: functions that take a const filter or file may run on it from many threads at once, as
 * long as none changes it meanwhile; there is no state elsewhere. Adding, uniting and clearing want
 * the filter for themselves.
 *
 * An id is any bytes, none too. Filters are compared and united only when scheme, layout, bits and
 * hashes are equal. docs/filter-format.md says what each scheme and layout computes. */
#ifndef GLINT_BLOOM_H
#define GLINT_BLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GLINT_BLOOM_API __attribute__((visibility("default")))
#else
#define GLINT_BLOOM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers are never given a second meaning. */
enum glint_bloom_result {
    GLINT_BLOOM_OK = 0,
    GLINT_BLOOM_ERR_N = -1,          /* a filter for no ids */
    GLINT_BLOOM_ERR_P = -2,          /* the rate is not inside (0, 1) */
    GLINT_BLOOM_ERR_M = -3,          /* 0 bits, or more than the scheme can index */
    GLINT_BLOOM_ERR_K = -4,          /* 0 hashes, or over 64 */
    GLINT_BLOOM_ERR_SEEDS = -5,      /* more hashes than the scheme has seeds */
    GLINT_BLOOM_ERR_SCHEME = -6,     /* no such scheme */
    GLINT_BLOOM_ERR_MEMORY = -7,     /* no memory */
    GLINT_BLOOM_ERR_MISMATCH = -8,   /* scheme, layout, bits or hashes differ */
    GLINT_BLOOM_ERR_TRUNCATED = -9,  /* the bytes end before the filter does */
    GLINT_BLOOM_ERR_TRAILING = -10,  /* bytes follow the filter */
    GLINT_BLOOM_ERR_FORMAT = -11,    /* not a filter at all */
    GLINT_BLOOM_ERR_VERSION = -12,   /* a version of the format that this library does not know */
    GLINT_BLOOM_ERR_LENGTH = -13,    /* the bits are not as long as the header says */
    GLINT_BLOOM_ERR_UNUSED = -14,    /* a bit behind the last one is set */
    GLINT_BLOOM_ERR_CHECKSUM = -15,  /* the bytes are not those that were written */
    GLINT_BLOOM_ERR_LAYOUT = -18,    /* no such layout */
    GLINT_BLOOM_ERR_PAIR = -19,      /* the layout does not take the scheme */
    GLINT_BLOOM_ERR_BLOCKS = -20,    /* the bits are not a whole number of blocks */
    GLINT_BLOOM_ERR_K_LAYOUT = -21,  /* not a number of hashes for the layout */
    GLINT_BLOOM_ERR_P_LAYOUT = -22,  /* the layout cannot reach so small a rate */
    GLINT_BLOOM_ERR_BITS = -23,      /* under 1 bit per id */
    GLINT_BLOOM_ERR_IO = -24,        /* the system refused; errno says why */
    GLINT_BLOOM_ERR_READ_ONLY = -25, /* the filter is a view of a file or of someone's memory */
    GLINT_BLOOM_ERR_ROOM = -26,      /* the buffer is too small */
    GLINT_BLOOM_ERR_KEY = -27,       /* a key of a kind that filter files do not have */
    GLINT_BLOOM_ERR_SEGMENT = -28,   /* a segment of a filter, which glint's own jobs take */
    GLINT_BLOOM_ERR_SEEDED = -33     /* seeds that the scheme cannot have */
};

/* A sentence without a point at its end; for any number. */
GLINT_BLOOM_API const char *glint_bloom_strerror(int result);

/* How an id becomes hashes. xxh64 is for the layouts of blocks, wide for every layout, the others
 * are the rules of published programs and for the classic layout. */
enum glint_bloom_scheme {
    GLINT_BLOOM_SPARK = 0,
    GLINT_BLOOM_HADOOP = 1,
    GLINT_BLOOM_PLAIN = 2,
    GLINT_BLOOM_POLY_ABS = 3,
    GLINT_BLOOM_POLY_MOD = 4,
    GLINT_BLOOM_MD5_RANDOM = 5,
    GLINT_BLOOM_WIDE = 6,
    GLINT_BLOOM_XXH64 = 7,
    GLINT_BLOOM_HADOOP_BLOOM = 8 /* org.apache.hadoop.util.bloom.BloomFilter, by MurmurHash */
};

/* Where an id's bits lie: anywhere, in one cache line, or in one block of 256 bits as in Parquet.
 */
enum glint_bloom_layout {
    GLINT_BLOOM_CLASSIC = 0,
    GLINT_BLOOM_BLOCK512 = 1,
    GLINT_BLOOM_SPLIT_BLOCK = 2
};

/* "spark", "split-block", ...; NULL: no such one. And back. */
GLINT_BLOOM_API const char *glint_bloom_scheme_name(enum glint_bloom_scheme scheme);
GLINT_BLOOM_API const char *glint_bloom_layout_name(enum glint_bloom_layout layout);
GLINT_BLOOM_API int glint_bloom_scheme_named(const char *name, enum glint_bloom_scheme *out_scheme);
GLINT_BLOOM_API int glint_bloom_layout_named(const char *name, enum glint_bloom_layout *out_layout);

/* ---- sizes ---- */

struct glint_bloom_params {
    enum glint_bloom_scheme scheme;
    enum glint_bloom_layout layout;
    uint64_t ids;    /* that the filter is made for, at least 1; it takes more, at a higher rate */
    uint64_t bits;   /* in all */
    uint32_t hashes; /* per id */
};

/* The smallest filter for `ids` ids whose false positive rate is `rate`, inside (0, 1). */
GLINT_BLOOM_API int glint_bloom_size_by_rate(enum glint_bloom_scheme scheme,
                                             enum glint_bloom_layout layout, uint64_t ids,
                                             double rate, struct glint_bloom_params *out_params);
/* A filter of `bits_per_id` (at least 1) bits for each of `ids` ids, with the best number of hashes
 * for that. */
GLINT_BLOOM_API int glint_bloom_size_by_bits(enum glint_bloom_scheme scheme,
                                             enum glint_bloom_layout layout, uint64_t ids,
                                             double bits_per_id,
                                             struct glint_bloom_params *out_params);
/* 0, or what is wrong with params that were made by hand. */
GLINT_BLOOM_API int glint_bloom_check(const struct glint_bloom_params *params);
/* The rate that a filter with these params has once it holds params->ids ids. NaN: they are wrong.
 */
GLINT_BLOOM_API double glint_bloom_expected_rate(const struct glint_bloom_params *params);

/* ---- a filter ---- */

typedef struct glint_bloom glint_bloom;

GLINT_BLOOM_API int glint_bloom_create(const struct glint_bloom_params *params,
                                       glint_bloom **out_filter);
/* A copy that can be written, of a view too. */
GLINT_BLOOM_API int glint_bloom_copy(const glint_bloom *filter, glint_bloom **out_filter);
GLINT_BLOOM_API void glint_bloom_destroy(glint_bloom *filter); /* NULL too */

/* READ_ONLY for a view, otherwise 0. */
GLINT_BLOOM_API int glint_bloom_add(glint_bloom *filter, const void *id, size_t size);
GLINT_BLOOM_API int glint_bloom_clear(glint_bloom *filter);

/* False: the id was not added. True: it was, or this is a false positive. */
GLINT_BLOOM_API bool glint_bloom_contains(const glint_bloom *filter, const void *id, size_t size);

GLINT_BLOOM_API struct glint_bloom_params glint_bloom_params_of(const glint_bloom *filter);
GLINT_BLOOM_API uint64_t glint_bloom_bits_set(const glint_bloom *filter);
/* The rate of false positives of this very filter, computed from its bits. */
GLINT_BLOOM_API double glint_bloom_rate(const glint_bloom *filter);
/* About how many different ids were added; infinity when every bit is set. */
GLINT_BLOOM_API double glint_bloom_ids(const glint_bloom *filter);

/* The bits: bit i is bit (i mod 8) of byte i / 8. Valid until the filter is destroyed. */
GLINT_BLOOM_API const uint8_t *glint_bloom_bits(const glint_bloom *filter, size_t *out_bytes);

/* ---- two filters: 0 or MISMATCH ---- */

/* `into` then holds what was added to either. READ_ONLY. */
GLINT_BLOOM_API int glint_bloom_unite(glint_bloom *into, const glint_bloom *from);
/* About how many different ids were added to either, and to both. */
GLINT_BLOOM_API int glint_bloom_union_ids(const glint_bloom *a, const glint_bloom *b,
                                          double *out_ids);
GLINT_BLOOM_API int glint_bloom_intersection_ids(const glint_bloom *a, const glint_bloom *b,
                                                 double *out_ids);

/* ---- a filter as bytes: one msgpack value ---- */

GLINT_BLOOM_API size_t glint_bloom_encoded_size(const glint_bloom *filter);
/* Writes that many bytes. ROOM. */
GLINT_BLOOM_API int glint_bloom_encode(const glint_bloom *filter, void *out, size_t capacity);
/* `data` is exactly one filter; everything is checked. decode copies it, view borrows the bits,
 * which must stay as they are until the view is destroyed. */
GLINT_BLOOM_API int glint_bloom_decode(const void *data, size_t size, glint_bloom **out_filter);
GLINT_BLOOM_API int glint_bloom_view(const void *data, size_t size, glint_bloom **out_filter);

/* ---- files ---- */

/* A file is one filter, or as bloom-build writes it any number of pairs of key and filter. */
enum glint_bloom_key_kind {
    GLINT_BLOOM_KEY_NONE = 0, /* one filter alone */
    GLINT_BLOOM_KEY_TEXT = 1, /* any bytes */
    GLINT_BLOOM_KEY_INT = 2,
    GLINT_BLOOM_KEY_DOUBLE = 3
};

struct glint_bloom_entry {
    enum glint_bloom_key_kind kind;
    const char *text; /* not ended by a NUL; a file's is valid until it is closed */
    size_t text_size;
    int64_t number; /* INT */
    double real;    /* DOUBLE */
    const glint_bloom *filter;
};

/* Writes `count` entries, or one without a key, beside `path` and moves the file there when it is
 * whole and on the disk. IO, KEY. */
GLINT_BLOOM_API int glint_bloom_write(const char *path, const struct glint_bloom_entry *entries,
                                      size_t count);

typedef struct glint_bloom_file glint_bloom_file;

/* READ: the file is read into memory. MAP: it is mapped; only what is asked for stays in memory, it
 * is shared with other processes, and it must not be changed or cut short while it is open (a read
 * of a cut-off page is SIGBUS). Either way all of it is checked first. */
enum glint_bloom_open_mode { GLINT_BLOOM_READ = 0, GLINT_BLOOM_MAP = 1 };

GLINT_BLOOM_API int glint_bloom_open(const char *path, enum glint_bloom_open_mode mode,
                                     glint_bloom_file **out_file);
GLINT_BLOOM_API void glint_bloom_close(glint_bloom_file *file); /* and its filters; NULL too */

GLINT_BLOOM_API size_t glint_bloom_entries(const glint_bloom_file *file);
/* Entry i in order of the file; its filter belongs to the file. i must be below the number. */
GLINT_BLOOM_API struct glint_bloom_entry glint_bloom_entry_at(const glint_bloom_file *file,
                                                              size_t i);
/* The first filter under a key, NULL: none. */
GLINT_BLOOM_API const glint_bloom *glint_bloom_find_text(const glint_bloom_file *file,
                                                         const char *text, size_t size);
GLINT_BLOOM_API const glint_bloom *glint_bloom_find_int(const glint_bloom_file *file,
                                                        int64_t number);

#ifdef __cplusplus
}
#endif

#endif

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
 * Results: int functions return 0 or a negative code of enum glint_bloom_result, and set their
 * output to NULL or zero after an error. Nothing aborts, prints or exits; out of memory is an error
 * code. Pointers must be valid, and a filter must have been created here and not destroyed yet.
 * NULL is accepted as a filter or file that contains nothing: functions then return false, 0, NULL
 * or an entry of zeros.
 *
 * Threads: functions with a const filter or file may be called from many threads at once, as long
 * as no thread changes it; there is no global state. Adding, uniting and clearing need exclusive
 * access.
 *
 * An id is any bytes, also none. Filters can be compared and united only if scheme, layout, bits
 * and hashes are equal. docs/filter-format.md defines each scheme and layout. */
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

/* The numbers are stable: they are never reused. */
enum glint_bloom_result {
    GLINT_BLOOM_OK = 0,
    GLINT_BLOOM_ERR_N = -1,          /* the number of ids is 0 */
    GLINT_BLOOM_ERR_P = -2,          /* the rate is not inside (0, 1) */
    GLINT_BLOOM_ERR_M = -3,          /* 0 bits, or more than the scheme can index */
    GLINT_BLOOM_ERR_K = -4,          /* 0 hashes, or more than 255 */
    GLINT_BLOOM_ERR_SEEDS = -5,      /* more hashes than the scheme has seeds */
    GLINT_BLOOM_ERR_SCHEME = -6,     /* unknown scheme */
    GLINT_BLOOM_ERR_MEMORY = -7,     /* out of memory */
    GLINT_BLOOM_ERR_MISMATCH = -8,   /* scheme, layout, bits or hashes differ */
    GLINT_BLOOM_ERR_TRUNCATED = -9,  /* the filter is truncated */
    GLINT_BLOOM_ERR_TRAILING = -10,  /* bytes follow the end of the filter */
    GLINT_BLOOM_ERR_FORMAT = -11,    /* not a filter */
    GLINT_BLOOM_ERR_VERSION = -12,   /* unsupported version of the format */
    GLINT_BLOOM_ERR_LENGTH = -13,    /* the length of the bits does not match the header */
    GLINT_BLOOM_ERR_UNUSED = -14,    /* a bit after the last one is set */
    GLINT_BLOOM_ERR_CHECKSUM = -15,  /* the checksum does not match: the filter is damaged */
    GLINT_BLOOM_ERR_LAYOUT = -18,    /* unknown layout */
    GLINT_BLOOM_ERR_PAIR = -19,      /* the layout does not support the scheme */
    GLINT_BLOOM_ERR_BLOCKS = -20,    /* not a whole number of blocks, or of the scheme's words */
    GLINT_BLOOM_ERR_K_LAYOUT = -21,  /* invalid number of hashes for the layout */
    GLINT_BLOOM_ERR_P_LAYOUT = -22,  /* the layout cannot reach such a small rate */
    GLINT_BLOOM_ERR_BITS = -23,      /* fewer than 1 bit per id */
    GLINT_BLOOM_ERR_IO = -24,        /* a system call failed; see errno */
    GLINT_BLOOM_ERR_READ_ONLY = -25, /* the filter is a view of a file or of the caller's memory */
    GLINT_BLOOM_ERR_ROOM = -26,      /* the buffer is too small */
    GLINT_BLOOM_ERR_KEY = -27,       /* a kind of key that filter files do not support */
    GLINT_BLOOM_ERR_SEGMENT = -28,   /* a segment of a filter, which only glint's jobs can read */
    GLINT_BLOOM_ERR_SEEDED = -33,    /* invalid seeds for the scheme */
    GLINT_BLOOM_ERR_COLUMN = -34,    /* an id of a column is not inside its data */
    GLINT_BLOOM_ERR_ID_TYPE = -35,   /* unknown type of ids, or the scheme has no rule for it */
    GLINT_BLOOM_ERR_ID_SIZE = -36, /* an id is not as many bytes as the type of the filter's ids */
    GLINT_BLOOM_ERR_STATIC = -37,  /* filters of static layouts are built by jobs, never changed */
    GLINT_BLOOM_ERR_SHARDS = -38, /* the shards of a static filter do not fit its size or its ids */
    GLINT_BLOOM_ERR_ABSENT = -39, /* the id to remove is not in the filter */
    GLINT_BLOOM_ERR_REMOVE = -40  /* the layout cannot remove ids */
};

/* Returns a text without a final period, for any number. */
GLINT_BLOOM_API const char *glint_bloom_strerror(int result);

/* How an id is hashed. xxh64 is for block layouts, wide for every layout; the others are the rules
 * of published programs, for the classic layout. */
enum glint_bloom_scheme {
    GLINT_BLOOM_SPARK = 0,
    GLINT_BLOOM_HADOOP = 1,
    GLINT_BLOOM_PLAIN = 2,
    GLINT_BLOOM_POLY_ABS = 3,
    GLINT_BLOOM_POLY_MOD = 4,
    GLINT_BLOOM_MD5_RANDOM = 5,
    GLINT_BLOOM_WIDE = 6,
    GLINT_BLOOM_XXH64 = 7,
    GLINT_BLOOM_HADOOP_BLOOM = 8,    /* org.apache.hadoop.util.bloom.BloomFilter, by MurmurHash */
    GLINT_BLOOM_SPARK_BLOOM = 9,     /* org.apache.spark.util.sketch.BloomFilter, version 1 */
    GLINT_BLOOM_SPARK_BLOOM_V2 = 10, /* and version 2 */
    GLINT_BLOOM_GUAVA = 11,          /* com.google.common.hash.BloomFilter, MURMUR128_MITZ_64 */
    GLINT_BLOOM_RBLOOM = 12,         /* Python's rbloom, with hash mmh3.hash128(id, signed=True) */
    GLINT_BLOOM_GO_BLOOM = 13,       /* Go's bits-and-blooms/bloom, version 3 */
    GLINT_BLOOM_DATASKETCHES = 14,   /* Apache DataSketches; the seed of its hash is 0 */
    GLINT_BLOOM_NPM_BLOOM = 15,      /* npm's bloom-filters, version 3; seed 0 */
    GLINT_BLOOM_REDISBLOOM = 16,     /* the Redis module RedisBloom */
    GLINT_BLOOM_FASTBLOOM = 17,      /* Rust's fastbloom, of str; seed 0 */
    GLINT_BLOOM_ORC = 18,            /* BLOOM_FILTER_UTF8 of ORC files, of strings */
    GLINT_BLOOM_CASSANDRA = 19       /* the filters of partition keys of Apache Cassandra */
};

/* Positions of an id's bits: anywhere, in one cache line, or in one block of 256 bits as in
 * Parquet. FUSE, EXACT: no Bloom filters but static ones, which bloom-build makes of all ids at
 * once; they are read like the others, and cannot be created or changed here. */
enum glint_bloom_layout {
    GLINT_BLOOM_CLASSIC = 0,
    GLINT_BLOOM_BLOCK512 = 1,
    GLINT_BLOOM_SPLIT_BLOCK = 2,
    GLINT_BLOOM_FUSE8 = 3,   /* 9 bits per id, a rate of 1/256 */
    GLINT_BLOOM_FUSE16 = 4,  /* 18 bits per id, 1/65536 */
    GLINT_BLOOM_EXACT = 5,   /* no false positives in the universe that it was built for */
    GLINT_BLOOM_COUNTING = 6 /* classic with a counter of 4 bits for each bit: ids can be removed */
};

/* Convert a scheme or layout to its name, "spark", "split-block", ..., and back; NULL: unknown. */
GLINT_BLOOM_API const char *glint_bloom_scheme_name(enum glint_bloom_scheme scheme);
GLINT_BLOOM_API const char *glint_bloom_layout_name(enum glint_bloom_layout layout);
GLINT_BLOOM_API int glint_bloom_scheme_named(const char *name, enum glint_bloom_scheme *out_scheme);
GLINT_BLOOM_API int glint_bloom_layout_named(const char *name, enum glint_bloom_layout *out_layout);

/* ---- sizes ---- */

struct glint_bloom_params {
    enum glint_bloom_scheme scheme;
    enum glint_bloom_layout layout;
    uint64_t ids;     /* sized for so many, at least 1; more can be added, at a higher rate */
    uint64_t bits;    /* in total */
    uint32_t hashes;  /* per id */
    uint32_t id_type; /* 0: ids are any bytes; else a number of glint_bloom_id_type_named */
};

/* Types of ids: "text" (any bytes), "bytes", "i32", "i64", "u64", "f64", "date", "timestamp",
 * "uuid", "decimal(P,S)" with P up to 18. A filter says the type of its ids, whose values must be
 * added and looked up as the bytes that docs/filter-format.md defines, in little-endian order. Not
 * every scheme has a rule for every type. */
enum { GLINT_BLOOM_ID_TYPE_NAME_MAX = 16 };
GLINT_BLOOM_API int glint_bloom_id_type_named(const char *name, uint32_t *out_type);
/* Writes the name and a NUL, nothing but the NUL for an unknown type. */
GLINT_BLOOM_API void glint_bloom_id_type_name(uint32_t type,
                                              char out[GLINT_BLOOM_ID_TYPE_NAME_MAX]);
/* Bytes of each id of such a filter; 0: any. */
GLINT_BLOOM_API uint32_t glint_bloom_id_bytes(const struct glint_bloom_params *params);

/* The smallest filter for `ids` ids with false positive rate `rate`, inside (0, 1). */
GLINT_BLOOM_API int glint_bloom_size_by_rate(enum glint_bloom_scheme scheme,
                                             enum glint_bloom_layout layout, uint64_t ids,
                                             double rate, struct glint_bloom_params *out_params);
/* A filter with `bits_per_id` (at least 1) bits for each of `ids` ids, and the optimal number of
 * hashes. */
GLINT_BLOOM_API int glint_bloom_size_by_bits(enum glint_bloom_scheme scheme,
                                             enum glint_bloom_layout layout, uint64_t ids,
                                             double bits_per_id,
                                             struct glint_bloom_params *out_params);
/* Returns 0, or the error of params that were set by hand. */
GLINT_BLOOM_API int glint_bloom_check(const struct glint_bloom_params *params);
/* The false positive rate of a filter with params->ids ids. NaN: invalid params. */
GLINT_BLOOM_API double glint_bloom_expected_rate(const struct glint_bloom_params *params);

/* ---- a filter ---- */

typedef struct glint_bloom glint_bloom;

GLINT_BLOOM_API int glint_bloom_create(const struct glint_bloom_params *params,
                                       glint_bloom **out_filter);
/* A writable copy, also of a view. */
GLINT_BLOOM_API int glint_bloom_copy(const glint_bloom *filter, glint_bloom **out_filter);
GLINT_BLOOM_API void glint_bloom_destroy(glint_bloom *filter); /* accepts NULL */

/* READ_ONLY for a view, ID_SIZE, otherwise 0. */
GLINT_BLOOM_API int glint_bloom_add(glint_bloom *filter, const void *id, size_t size);
/* Removes an id that was added, from a filter of the layout counting. As add, or REMOVE for another
 * layout, or ABSENT, and nothing is changed. An id that was added twice is there until it has been
 * removed twice; counters that reached 15 stay. Never remove what was not added: where the filter
 * contains it by chance, other ids are lost. */
GLINT_BLOOM_API int glint_bloom_remove(glint_bloom *filter, const void *id, size_t size);
GLINT_BLOOM_API int glint_bloom_clear(glint_bloom *filter);

/* False: the id was not added. True: it was added, or this is a false positive. */
GLINT_BLOOM_API bool glint_bloom_contains(const glint_bloom *filter, const void *id, size_t size);

GLINT_BLOOM_API struct glint_bloom_params glint_bloom_params_of(const glint_bloom *filter);
GLINT_BLOOM_API uint64_t glint_bloom_bits_set(const glint_bloom *filter);
/* The false positive rate of this filter, computed from its bits. */
GLINT_BLOOM_API double glint_bloom_rate(const glint_bloom *filter);
/* Estimates how many different ids were added; infinity if every bit is set. */
GLINT_BLOOM_API double glint_bloom_ids(const glint_bloom *filter);

/* The bits: bit i is bit (i mod 8) of byte i / 8. Valid until the filter is destroyed. */
GLINT_BLOOM_API const uint8_t *glint_bloom_bits(const glint_bloom *filter, size_t *out_bytes);

/* ---- many ids ---- */

/* How a column stores its ids. */
enum glint_bloom_column_kind {
    GLINT_BLOOM_OFFSETS_32 = 0, /* one behind another, as in Arrow's string and binary */
    GLINT_BLOOM_OFFSETS_64 = 1, /* as in large_string and large_binary */
    GLINT_BLOOM_FIXED = 2,      /* `width` bytes each, as in fixed_size_binary */
    GLINT_BLOOM_PADDED = 3,     /* the same, but zeros at the end are not of the id: NumPy's S */
    GLINT_BLOOM_VIEWS = 4,      /* 16 bytes each, as in Arrow's string_view and binary_view */
    GLINT_BLOOM_SEPARATED = 5   /* one byte between them, as in lines; `first` is 0 */
};

/* Ids first .. first + count - 1 of an array; nothing of it is copied or changed. */
struct glint_bloom_column {
    enum glint_bloom_column_kind kind;
    uint64_t first, count;
    const uint8_t *valid;   /* bit i is 0: there is no id i; NULL: there are all */
    const void *offsets;    /* OFFSETS: first + count + 1 int32_t or int64_t; VIEWS: the views */
    uint64_t width;         /* FIXED, PADDED; VIEWS: the number of buffers; SEPARATED: the byte */
    const void *data;       /* all bytes; VIEWS: const uint8_t *const[], the buffers */
    uint64_t data_size;     /* their number, below 4 GiB if SEPARATED; VIEWS: not used */
    const int64_t *buffers; /* VIEWS: the size of each buffer */
};

/* The same as one call per id, and several times as fast. Ids that are not there are not added, and
 * contained in no filter: out_hit[i] is 1 or 0 for id first + i. Return COLUMN if an offset is
 * wrong; then ids before it may have been added, and out_hit is undefined. READ_ONLY, MEMORY;
 * ID_SIZE unless a filter whose ids have a size gets FIXED ids of this size. */
GLINT_BLOOM_API int glint_bloom_add_many(glint_bloom *filter, const struct glint_bloom_column *ids);
GLINT_BLOOM_API int glint_bloom_contains_many(const glint_bloom *filter,
                                              const struct glint_bloom_column *ids,
                                              uint8_t *out_hit);

/* ---- two filters: return 0, MISMATCH, or STATIC */

/* `into` then contains the ids of both. READ_ONLY if it is a view. */
GLINT_BLOOM_API int glint_bloom_unite(glint_bloom *into, const glint_bloom *from);
/* `into` then contains the ids of both that are in each, and a few others: its rate is at most the
 * smaller one, but higher than that of a filter of these ids only. READ_ONLY as well. */
GLINT_BLOOM_API int glint_bloom_intersect(glint_bloom *into, const glint_bloom *from);
/* Estimate how many different ids were added to either, and to both: at least 0; infinity if all
 * bits of the union, or of each, are set. */
GLINT_BLOOM_API int glint_bloom_union_ids(const glint_bloom *a, const glint_bloom *b,
                                          double *out_ids);
GLINT_BLOOM_API int glint_bloom_intersection_ids(const glint_bloom *a, const glint_bloom *b,
                                                 double *out_ids);

/* ---- a filter as bytes: one msgpack value ---- */

GLINT_BLOOM_API size_t glint_bloom_encoded_size(const glint_bloom *filter);
/* Writes that many bytes. ROOM if the buffer is too small. */
GLINT_BLOOM_API int glint_bloom_encode(const glint_bloom *filter, void *out, size_t capacity);
/* `data` is exactly one filter; everything is validated. decode copies it; view borrows the bits,
 * which must not change until the view is destroyed. */
GLINT_BLOOM_API int glint_bloom_decode(const void *data, size_t size, glint_bloom **out_filter);
GLINT_BLOOM_API int glint_bloom_view(const void *data, size_t size, glint_bloom **out_filter);

/* ---- files ---- */

/* A file is one filter, or, as written by bloom-build, any number of pairs of key and filter. */
enum glint_bloom_key_kind {
    GLINT_BLOOM_KEY_NONE = 0, /* a filter without a key */
    GLINT_BLOOM_KEY_TEXT = 1, /* any bytes */
    GLINT_BLOOM_KEY_INT = 2,
    GLINT_BLOOM_KEY_DOUBLE = 3
};

struct glint_bloom_entry {
    enum glint_bloom_key_kind kind;
    const char *text; /* without a final NUL; of a file: valid until it is closed */
    size_t text_size;
    int64_t number; /* INT */
    double real;    /* DOUBLE */
    const glint_bloom *filter;
};

/* Writes `count` entries, or one without a key, to a temporary file next to `path`, syncs it, and
 * renames it to `path`. IO, KEY. */
GLINT_BLOOM_API int glint_bloom_write(const char *path, const struct glint_bloom_entry *entries,
                                      size_t count);

typedef struct glint_bloom_file glint_bloom_file;

/* READ: the file is read into memory. MAP: it is mapped; only the pages that are used stay in
 * memory, shared with other processes, and the file must not be changed or truncated while it is
 * open (reading a removed page raises SIGBUS). Both validate the whole file. */
enum glint_bloom_open_mode { GLINT_BLOOM_READ = 0, GLINT_BLOOM_MAP = 1 };

GLINT_BLOOM_API int glint_bloom_open(const char *path, enum glint_bloom_open_mode mode,
                                     glint_bloom_file **out_file);
GLINT_BLOOM_API void glint_bloom_close(glint_bloom_file *file); /* and its filters; accepts NULL */

GLINT_BLOOM_API size_t glint_bloom_entries(const glint_bloom_file *file);
/* Entry i in the order of the file; its filter belongs to the file. i must be below the number of
 * entries. */
GLINT_BLOOM_API struct glint_bloom_entry glint_bloom_entry_at(const glint_bloom_file *file,
                                                              size_t i);
/* The first filter with a key; NULL: none. */
GLINT_BLOOM_API const glint_bloom *glint_bloom_find_text(const glint_bloom_file *file,
                                                         const char *text, size_t size);
GLINT_BLOOM_API const glint_bloom *glint_bloom_find_int(const glint_bloom_file *file,
                                                        int64_t number);

#ifdef __cplusplus
}
#endif

#endif

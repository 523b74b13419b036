/* Bloom filters, pure: sizes, index schemes, layouts, add, contains, union, read, write, and
 * batches of all of these. What the jobs see; programs of others include <glint/bloom.h>. Knows no
 * engine and needs no library.
 *
 * A filter is m bits of which every id sets k; which k is the rule of its scheme and layout, made
 * from the raw bytes of the id, so filters of different rules cannot be converted. Bit i is bit
 * (i mod 8) of byte i / 8. docs/filter-format.md pictures the file.
 *
 * Three layers, each usable without the next:
 *   struct bloom_filter   one filter, one id at a time
 *   bloom_encode/decode   one filter as one msgpack value
 *   struct bloom_set      many filters of one scheme and k in one area, whole batches of rows at a
 *                         time: SIMD chosen at run time, cache misses overlapped
 *
 * Threads: nothing here keeps state outside the structs. Reading (contains, indexes, encode) may
 * run from many threads at once on one filter or set; writing belongs to one thread. */
#ifndef GLINT_JOBS_BLOOM_H
#define GLINT_JOBS_BLOOM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BLOOM_SEED_BYTES = 4,
    BLOOM_K_MAX = 64,       /* hashes per id */
    BLOOM_K_MAX_512 = 24,   /* in the layout block512 */
    BLOOM_K_SPLIT = 8,      /* in the layout split-block */
    BLOOM_SET_MAX = 4096,   /* filters in a set */
    BLOOM_HEADER_MAX = 384, /* bytes before the bits in a file */
    BLOOM_ID_SLACK = 64,    /* readable bytes that every id of a batch has behind its end */
    BLOOM_ALIGNMENT = 64,   /* of every filter's bits in memory */
};

/* A file's bits are one msgpack bin, so m / 8 must fit its 32-bit length. */
#define BLOOM_M_MAX ((uint64_t)UINT32_MAX * 8)

/* Errors are negative; bloom_strerror says each in a sentence. */
enum bloom_result {
    BLOOM_OK = 0,
    BLOOM_ERR_N = -1,         /* n is 0 */
    BLOOM_ERR_P = -2,         /* p is not inside (0, 1) */
    BLOOM_ERR_M = -3,         /* m is 0 or more than the scheme can index */
    BLOOM_ERR_K = -4,         /* k is 0 or over BLOOM_K_MAX */
    BLOOM_ERR_SEEDS = -5,     /* k is more than the scheme has seeds */
    BLOOM_ERR_SCHEME = -6,    /* no scheme of that name */
    BLOOM_ERR_MEMORY = -7,    /* no memory for the bits */
    BLOOM_ERR_MISMATCH = -8,  /* scheme, m or k differ */
    BLOOM_ERR_TRUNCATED = -9, /* the bytes end before the filter does */
    BLOOM_ERR_TRAILING = -10, /* bytes follow the filter */
    BLOOM_ERR_FORMAT = -11,   /* not a filter at all */
    BLOOM_ERR_VERSION = -12,  /* a filter of another version */
    BLOOM_ERR_LENGTH = -13,   /* the bits are not m bits long */
    BLOOM_ERR_UNUSED = -14,   /* a bit at or behind m is set */
    BLOOM_ERR_CHECKSUM = -15, /* the bytes are not those that were written */
    BLOOM_ERR_COUNT = -16,    /* no filter, or over BLOOM_SET_MAX of them */
    /* -17 was an error of a library that is no longer used */
    BLOOM_ERR_LAYOUT = -18,   /* no layout of that name */
    BLOOM_ERR_PAIR = -19,     /* the layout does not take the scheme */
    BLOOM_ERR_BLOCKS = -20,   /* m is not a whole number of blocks */
    BLOOM_ERR_K_LAYOUT = -21, /* not a number of hashes for the layout */
    BLOOM_ERR_P_LAYOUT = -22, /* the layout cannot reach so small a p */
    BLOOM_ERR_BITS = -23,     /* under 1 bit per id, or not a number */
    /* -24 to -27 are the public library's own */
    BLOOM_ERR_SEGMENT = -28, /* a segment, where a filter is wanted */
    BLOOM_ERR_PART = -29,    /* no such segment: its size or its index cannot be */
    BLOOM_ERR_MIXED = -30,   /* segments of several builds */
    BLOOM_ERR_TWICE = -31,   /* a segment stands there twice */
    BLOOM_ERR_MISSING = -32, /* a filter lacks a segment */
    BLOOM_ERR_SEEDED = -33,  /* the scheme takes no seeds of one's own, or not this one */
};

const char *bloom_strerror(enum bloom_result result);

/* Index i of an id, i = 0..k-1. "h mod m" is a true modulo, in 0..m-1. */
enum bloom_scheme {
    BLOOM_SPARK,    /* MurmurHash3_x86_32(id, seed i), signed, floor modulo: mmh3.hash(id, i) % m */
    BLOOM_HADOOP,   /* |h mod m|, h Hadoop's MurmurHash(id, seed i), its tail bytes sign-extended */
    BLOOM_PLAIN,    /* MurmurHash3_x86_32(id, seed i), unsigned, mod m */
    BLOOM_POLY_ABS, /* |c| mod m; c = c * SEED[i] + unit over UTF-16 units, wrapping; 8 seeds, or
                     * seeds of the filter's own */
    BLOOM_POLY_MOD, /* h = (R[i] * h + unit) mod m over UTF-16 units; 5 seeds, or the filter's own
                     */
    BLOOM_MD5_RANDOM,   /* java.util.Random(first 48 bits of MD5(id)), nextInt(m) k times */
    BLOOM_WIDE,         /* (low64 + i * (high64 | 1) mod 2^64) mod m of XXH3-128(id) */
    BLOOM_XXH64,        /* XXH64(id, seed 0), for the layouts of blocks only */
    BLOOM_HADOOP_BLOOM, /* |s mod m|, s Hadoop's MurmurHash(id, the s before), which is 0 at first:
                         * as org.apache.hadoop.util.bloom.BloomFilter does */
    BLOOM_SCHEMES,      /* how many there are */
};

/* "spark", "hadoop", "plain", "poly-abs", "poly-mod", "md5-random", "wide", "xxh64",
 * "hadoop-bloom".
 */
const char *bloom_scheme_name(enum bloom_scheme scheme);
enum bloom_result bloom_scheme_parse(const char *name, uint64_t size,
                                     enum bloom_scheme *out_scheme);

/* Where the k bits of an id lie. The layouts of blocks take one 64-bit hash h: XXH64 under xxh64,
 * low64 of XXH3-128 under wide; other schemes have none. With b blocks the block is
 * (h >> 32) * b >> 32, and x = h mod 2^32 gives the bits. */
enum bloom_layout {
    BLOOM_CLASSIC,  /* anywhere in the filter: the scheme's k indexes */
    BLOOM_BLOCK512, /* in a block of 512 bits, one cache line: (x * 0x9e3779b9^i mod 2^32) >> 23 */
    BLOOM_SPLIT_BLOCK, /* in a block of 256 bits, one in each of its 8 words, as in Parquet:
                        * (x * SALT[i] mod 2^32) >> 27 */
    BLOOM_LAYOUTS,     /* how many there are */
};

/* "classic", "block512", "split-block". */
const char *bloom_layout_name(enum bloom_layout layout);
enum bloom_result bloom_layout_parse(const char *name, uint64_t size,
                                     enum bloom_layout *out_layout);
uint32_t bloom_block_bits(enum bloom_layout layout); /* 512, 256; classic: 1 */
/* The scheme that a layout has when nobody names one: spark, xxh64. */
enum bloom_scheme bloom_layout_scheme(enum bloom_layout layout);

struct bloom_params {
    enum bloom_scheme scheme;
    uint64_t n; /* ids the filter is made for; at least 1 */
    uint64_t m; /* bits */
    uint32_t k; /* hashes per id */
    enum bloom_layout layout;
    /* poly-abs, poly-mod: k seeds of BLOOM_SEED_BYTES, little-endian, borrowed. NULL: the scheme's.
     */
    const uint8_t *seeds;
};

/* Equal but for n: such filters can be united. */
bool bloom_params_alike(const struct bloom_params *a, const struct bloom_params *b);

/* How filters are sized, of which only n differs; so filters of one sizing have one k. */
struct bloom_sizing {
    enum bloom_scheme scheme;
    enum bloom_layout layout;
    uint32_t k;
    double p;    /* classic: for m; else 0 */
    double bits; /* per id, where p is 0 */
    bool seeded; /* with seeds of their own, `seeds` */
    uint8_t seeds[BLOOM_K_MAX * BLOOM_SEED_BYTES];
};

/* For a false positive rate of p.
 * classic: m = ceil(-n ln p / (ln 2)^2), k = ceil(-ln p / ln 2), in IEEE doubles, as Python
 * computes them. Layouts of blocks: the fewest bits, and for block512 the k, with which
 * bloom_expected_rate is at most p, the uneven load of the blocks included; p at least 1e-10. */
enum bloom_result bloom_sizing_for_rate(enum bloom_scheme scheme, enum bloom_layout layout,
                                        double p, struct bloom_sizing *out_sizing);
/* For a number of bits per id, at least 1. The k is the best one: round(bits * ln 2), at least 1;
 * block512: that of the lowest rate; split-block: 8; never more than the scheme has seeds. */
enum bloom_result bloom_sizing_for_bits(enum bloom_scheme scheme, enum bloom_layout layout,
                                        double bits, struct bloom_sizing *out_sizing);
/* Gives a sizing of poly-abs or poly-mod BLOOM_K_MAX seeds of its own, of which its k counts; sized
 * by bits it gets the best k, which a scheme has no seeds for otherwise. SEEDED: another scheme. */
enum bloom_result bloom_sizing_seed(struct bloom_sizing *sizing, const uint8_t *seeds);
/* The params of n ids. m is rounded up to whole blocks. Seeds are borrowed from the sizing. */
enum bloom_result bloom_sizing_params(const struct bloom_sizing *sizing, uint64_t n,
                                      struct bloom_params *out_params);
/* Both at once, classic. */
enum bloom_result bloom_params_for(enum bloom_scheme scheme, uint64_t n, double p,
                                   struct bloom_params *out_params);

/* Bounds: n >= 1; 1 <= k <= BLOOM_K_MAX, <= 8 for poly-abs, <= 5 for poly-mod; 1 <= m, m < 2^31 for
 * the 32-bit schemes, m <= BLOOM_M_MAX for wide. poly-mod also refuses m from where R * h + unit
 * can pass 2^31 - 1 for the largest R that k uses: there the published arithmetic wraps into
 * negative indexes (k = 5: m <= 32,735). With seeds of their own both take any k and m, and
 * poly-mod seeds below 2^31. Layouts of blocks: scheme xxh64 or wide, m whole blocks and at most
 * BLOOM_M_MAX, k at most BLOOM_K_MAX_512 or exactly BLOOM_K_SPLIT. */
enum bloom_result bloom_params_check(const struct bloom_params *params);

uint64_t bloom_bytes(uint64_t m); /* ceil(m / 8) */

/* Whether indexes are 64 bits wide, here and in batches: wide and the layouts of blocks. */
bool bloom_indexes_are_wide(const struct bloom_params *params);

/* What a filter of n ids should admit. classic: (1 - e^(-kn/m))^k. Layouts of blocks: the mean of a
 * block's rate over its load, which is Poisson distributed (sizing.c). */
double bloom_expected_rate(const struct bloom_params *params);
/* (bits_set / m)^k: what a classic filter does admit. */
double bloom_rate_from_fill(const struct bloom_params *params, uint64_t bits_set);

/* ---- one filter ---- */

struct bloom_filter {
    struct bloom_params params;
    uint8_t *bits;  /* bloom_bytes(m) of them */
    uint64_t owned; /* bytes to give back in bloom_fini; 0: the bits are borrowed */
};

/* Zeroed bits, aligned to BLOOM_ALIGNMENT, padded with zeros to a multiple of it plus 64 readable
 * bytes; huge pages are asked for when it is worth it. On an error nothing is held. */
enum bloom_result bloom_init(struct bloom_filter *filter, const struct bloom_params *params);
void bloom_fini(struct bloom_filter *filter); /* NULL, zeroed and borrowed ones too */

/* `id` may be of any length, 0 too, and needs no slack. */
void bloom_add(struct bloom_filter *filter, const void *id, uint64_t size);
bool bloom_contains(const struct bloom_filter *filter, const void *id, uint64_t size);

/* Writes the k indexes of `id`, in order, repeats included. */
void bloom_indexes(const struct bloom_params *params, const void *id, uint64_t size,
                   uint64_t out_indexes[BLOOM_K_MAX]);

/* ORs `from` into `into`; they must be alike. n stays that of `into`. */
enum bloom_result bloom_union(struct bloom_filter *into, const struct bloom_filter *from);

uint64_t bloom_bits_set(const struct bloom_filter *filter);
/* How many the union would have; MISMATCH as there. */
enum bloom_result bloom_union_bits_set(const struct bloom_filter *a, const struct bloom_filter *b,
                                       uint64_t *out_bits);

/* What this filter admits of ids that are not in it, from its bits: (bits set / m)^k, in layouts of
 * blocks the mean over the blocks, for a split block of the product over its words. */
double bloom_rate_from_bits(const struct bloom_filter *filter);

/* How many ids `bits_set` bits came from (Swamidass and Baldi, 2007: -m/k ln(1 - bits_set/m), in
 * layouts of blocks by the same derivation); infinity when all are set. */
double bloom_ids_estimate(const struct bloom_params *params, uint64_t bits_set);

/* ---- one filter as bytes ---- */

/* What stands before the bits in a file, bytes. */
uint32_t bloom_header_size(const struct bloom_params *params);
/* Writes what stands before the bits and returns its size; the file is that and then bloom_bytes(m)
 * bytes at filter->bits, so the bits are never copied. Reads all bits once (checksum). */
uint32_t bloom_encode_header(const struct bloom_filter *filter, uint8_t out[BLOOM_HEADER_MAX]);

/* `data` is exactly one filter. The view borrows its bits from `data`, is for reading and needs no
 * bloom_fini. Everything is checked before it is believed; no allocation. On an error the view is
 * zeroed. */
enum bloom_result bloom_decode(const uint8_t *data, uint64_t size, struct bloom_filter *out_view);
/* The same where more may follow: `*out_size` is what the filter takes of `data`. */
enum bloom_result bloom_decode_first(const uint8_t *data, uint64_t size,
                                     struct bloom_filter *out_view, uint64_t *out_size);

/* ---- filters in segments (segment.c) ---- */

/* A filter too large for one value lies in segments: bits [index * size, (index + 1) * size), the
 * last one ends with the filter. No block crosses from one into the next. */
enum {
    BLOOM_SEGMENT_LOG2_MIN = 9,     /* sizes are powers of two: a segment is 64 bytes at least, */
    BLOOM_SEGMENT_LOG2_MAX = 31,    /* and 256 MiB at most */
    BLOOM_SEGMENT_HEADER_MAX = 128, /* bytes before the bits of one */
};

struct bloom_segment {
    struct bloom_params params; /* of the whole filter */
    uint64_t build;             /* segments of one build have one number */
    uint64_t size;              /* bits of each but the last */
    uint64_t index;             /* from 0 */
    const uint8_t *bits;        /* borrowed; NULL: only the header is at hand */
};

uint64_t bloom_segments(uint64_t m, uint64_t size); /* how many a filter has */
uint64_t bloom_segment_bits(const struct bloom_segment *segment);
/* As bloom_encode_header: what stands before the bits in a file. */
uint32_t bloom_segment_encode_header(const struct bloom_segment *segment,
                                     uint8_t out[BLOOM_SEGMENT_HEADER_MAX]);
/* Whether the bytes begin as those of a segment do. */
bool bloom_is_segment(const uint8_t *data, uint64_t size);
/* `data` is exactly one segment; as bloom_decode. */
enum bloom_result bloom_segment_decode(const uint8_t *data, uint64_t size,
                                       struct bloom_segment *out_view);
/* The same of a header alone, which nothing follows; checks all but the checksum. */
enum bloom_result bloom_segment_decode_header(const uint8_t *data, uint64_t size,
                                              struct bloom_segment *out_view);
/* Whether segments of one filter, in order of their indexes, are all of one build: asked of each
 * and the one before it; `before` NULL: of the first, `next` NULL: of the last. OK, MIXED, TWICE or
 * MISSING. */
enum bloom_result bloom_segment_follows(const struct bloom_segment *before,
                                        const struct bloom_segment *next);

/* ---- batches ---- */

/* One column of ids, as a batch has it: row i is base[start[i]] .. base[end[i]], in filter[i].
 * BLOOM_ID_SLACK bytes behind each end must be readable; their values do not matter. */
struct bloom_rows {
    const uint8_t *base;
    const uint32_t *start, *end;
    const uint16_t *filter; /* < set->count */
    uint32_t rows;
};

/* The forms of the hot loops. Each gives the same bits. */
enum bloom_level { BLOOM_SCALAR, BLOOM_AVX2, BLOOM_AVX512, BLOOM_LEVELS };

bool bloom_level_available(enum bloom_level level); /* on this machine */

struct bloom_kernel; /* the hot loops of one level */
struct bloom_table;  /* what is known per filter, as columns */

struct bloom_set {
    enum bloom_scheme scheme;
    enum bloom_layout layout;
    uint32_t k;           /* the most that a filter has */
    bool mixed;           /* some have fewer */
    const uint8_t *seeds; /* of all filters; NULL: the scheme's */
    uint32_t count;
    bool wide;      /* see bloom_indexes_are_wide */
    uint8_t *bits;  /* all filters, one behind the other; each begins at a multiple of 64 */
    uint64_t bytes; /* of that area, padding included */
    struct bloom_table *table;
    const struct bloom_kernel *kernel;
    bool borrowed;  /* bits belong to someone else */
    bool read_only; /* and must not be written */
};

/* Whether filters of these params may be one set: OK, MISMATCH, COUNT, or what is wrong with one.
 */
enum bloom_result bloom_set_check(const struct bloom_params *params, uint32_t count);
/* A set of `count` empty filters; all have the scheme, layout and seeds of params[0], and in
 * layouts of blocks its k. The best level is taken. */
enum bloom_result bloom_set_init(struct bloom_set *set, const struct bloom_params *params,
                                 uint32_t count);
/* The same, holding copies of the bits of `filters`. */
enum bloom_result bloom_set_copy(struct bloom_set *set, const struct bloom_filter *filters,
                                 uint32_t count);
/* A set over bits that someone else owns: an area laid out as that of bloom_set_init (one filter:
 * its bits, writable up to the next multiple of 8 bytes). NULL: only what needs no bits may be
 * asked. */
enum bloom_result bloom_set_over(struct bloom_set *set, const struct bloom_params *params,
                                 uint32_t count, uint8_t *bits);
void bloom_set_fini(struct bloom_set *set); /* NULL and zeroed ones too */

/* Uses `level` from now on, for tests and measurements. It must be available. Sets without a vector
 * form stay scalar: classic ones of other schemes than spark, hadoop and plain, with m = 1, or of
 * 8 GiB or more, or with filters of different k. */
void bloom_force_level(struct bloom_set *set, enum bloom_level level);

/* Filter `f` as a borrowed view, to write or to look at; valid until bloom_set_fini. */
struct bloom_filter bloom_set_filter(const struct bloom_set *set, uint32_t f);

/* ORs all filters; both sets must have equal counts, and filters that are alike. */
enum bloom_result bloom_set_union(struct bloom_set *into, const struct bloom_set *from);

/* One blob of the whole set, for sending it: all executors of one job have one version, so it is
 * not the file format. bloom_set_pack writes exactly bloom_set_pack_size bytes. */
uint64_t bloom_set_pack_size(const struct bloom_set *set);
void bloom_set_pack(const struct bloom_set *set, uint8_t *out);
/* The same blob made in place, without a set: begin writes its head and zeroes the bits, the caller
 * writes the bits of each filter (bloom_bytes(m) at bloom_blob_bits), seal makes it whole. `out`
 * has bloom_blob_size bytes; what all params must share is checked by begin. */
uint64_t bloom_blob_size(const struct bloom_params *params, uint32_t count);
enum bloom_result bloom_blob_begin(uint8_t *out, const struct bloom_params *params, uint32_t count);
uint8_t *bloom_blob_bits(uint8_t *blob, uint32_t f);
void bloom_blob_seal(uint8_t *blob);
/* A set for reading that borrows the bits from `data` (any alignment) until bloom_set_fini; checks
 * the blob whole, as bloom_decode does. Allocates per filter what `data` has room to describe. */
enum bloom_result bloom_set_view(struct bloom_set *set, const uint8_t *data, uint64_t size);
/* The same without reading the bits: for blobs that this process has sealed or viewed before. */
enum bloom_result bloom_set_attach(struct bloom_set *set, const uint8_t *data, uint64_t size);

enum { BLOOM_GROUP = 16, BLOOM_RING = 4 };

/* A group of rows, hashed and not yet in the filters. All fields are private to the kernels. In
 * layouts of blocks `base` is the row's block and index.narrow[0] the lower half of its hash. */
struct bloom_hashed {
    uint32_t rows; /* <= BLOOM_GROUP */
    uint8_t *base[BLOOM_GROUP];
    union {
        uint32_t narrow[BLOOM_K_MAX][BLOOM_GROUP]; /* [hash][row] */
        uint64_t wide[BLOOM_K_MAX][BLOOM_GROUP];
    } index;
};

/* Adds rows to a set it borrows. The bits of a row are prefetched when it is hashed and set two
 * groups later, so they are all in the set only after bloom_adder_flush. One thread. */
struct bloom_adder {
    struct bloom_set *set;
    uint64_t hashed; /* groups so far; group t is ring[t % BLOOM_RING] */
    uint64_t done;   /* groups whose bits are set */
    struct bloom_hashed ring[BLOOM_RING];
};

void bloom_adder_init(struct bloom_adder *adder, struct bloom_set *set);
/* The rows' memory may go away after the call. */
void bloom_adder_rows(struct bloom_adder *adder, const struct bloom_rows *rows);
void bloom_adder_flush(struct bloom_adder *adder); /* may be followed by more rows */

/* out_hit[i] = 1 when filter[i] may hold row i, 0 when it does not. */
void bloom_set_contains_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                             uint8_t *out_hit);

/* Every row in every filter: out_hit[f * stride + i] = 1 when filter f may hold row i, else 0.
 * rows->filter is not read; stride >= rows->rows. */
void bloom_set_contains_all(const struct bloom_set *set, const struct bloom_rows *rows,
                            uint8_t *out_hit, uint64_t stride);

/* out_indexes[i * k + j] = index j of row i in its filter; a filter with fewer hashes than the
 * set's k has its first index again behind its own. The first where indexes are not wide, the
 * second for any. */
void bloom_index_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                      uint32_t *out_indexes);
void bloom_index_rows_wide(const struct bloom_set *set, const struct bloom_rows *rows,
                           uint64_t *out_indexes);

/* Sets the bits of filter `f` that are listed. False when an index is not below m (lists may come
 * from outside): then those before it are set and none behind it. */
bool bloom_set_bits(struct bloom_set *set, uint32_t f, const uint32_t *indexes, uint64_t count);
bool bloom_set_bits_wide(struct bloom_set *set, uint32_t f, const uint64_t *indexes,
                         uint64_t count);

#endif

/* Bloom filters as pure functions: sizes, index schemes, layouts, add, contains, union, read,
 * write, and batches of all of these. This is the interface for the jobs; other programs include
 * <glint/bloom.h>. Independent of the engine and of other libraries.
 *
 * A filter is m bits, of which each id sets k; the scheme and the layout compute which ones from
 * the raw bytes of the id, so filters with different rules cannot be converted. Bit i is bit (i mod
 * 8) of byte i / 8. docs/filter-format.md describes the file.
 *
 * Three layers, each usable without the next:
 *   struct bloom_filter   one filter, one id at a time
 *   bloom_encode/decode   one filter as one msgpack value
 *   struct bloom_set      many filters of one scheme and k in one area, whole batches of rows at a
 *                         time: SIMD chosen at run time, cache misses overlapped
 *
 * Threads: there is no state outside the structs. Many threads may read one filter or set
 * (contains, indexes, encode) at the same time; only one may write, with no reader. */
#ifndef GLINT_JOBS_BLOOM_H
#define GLINT_JOBS_BLOOM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BLOOM_SEED_BYTES = 4,
    BLOOM_K_MAX = 255,      /* hashes per id */
    BLOOM_SEEDS_MAX = 64,   /* of a filter with custom seeds: the limit of its k */
    BLOOM_K_MAX_512 = 24,   /* in the layout block512 */
    BLOOM_K_SPLIT = 8,      /* exactly, in the layout split-block */
    BLOOM_K_FUSE = 3,       /* exactly, in the layouts fuse8 and fuse16 */
    BLOOM_K_EXACT = 2,      /* exactly, in the layout exact: its levels */
    BLOOM_SET_MAX = 4096,   /* filters in a set */
    BLOOM_HEADER_MAX = 384, /* bytes before the bits in a file */
    BLOOM_ID_SLACK = 64,    /* bytes that must be readable after the end of each id of a batch */
    BLOOM_ALIGNMENT = 64,   /* alignment of every filter's bits in memory */
};

/* The bits in a file are one msgpack bin, so m / 8 must fit its 32-bit length. */
#define BLOOM_M_MAX ((uint64_t)UINT32_MAX * 8)

/* Errors are negative; bloom_strerror returns a text for each. */
enum bloom_result {
    BLOOM_OK = 0,
    BLOOM_ERR_N = -1,         /* n is 0 */
    BLOOM_ERR_P = -2,         /* p is not inside (0, 1) */
    BLOOM_ERR_M = -3,         /* m is 0 or more than the scheme can index */
    BLOOM_ERR_K = -4,         /* k is 0 or over BLOOM_K_MAX */
    BLOOM_ERR_SEEDS = -5,     /* k is more than the number of seeds of the scheme */
    BLOOM_ERR_SCHEME = -6,    /* unknown scheme */
    BLOOM_ERR_MEMORY = -7,    /* out of memory */
    BLOOM_ERR_MISMATCH = -8,  /* scheme, m or k differ */
    BLOOM_ERR_TRUNCATED = -9, /* the filter is truncated */
    BLOOM_ERR_TRAILING = -10, /* bytes follow the filter */
    BLOOM_ERR_FORMAT = -11,   /* not a filter */
    BLOOM_ERR_VERSION = -12,  /* another version of the format */
    BLOOM_ERR_LENGTH = -13,   /* the length of the bits does not match m */
    BLOOM_ERR_UNUSED = -14,   /* a bit after the last one of the filter is set */
    BLOOM_ERR_CHECKSUM = -15, /* the checksum does not match: the filter is damaged */
    BLOOM_ERR_COUNT = -16,    /* no filter, or more than BLOOM_SET_MAX */
    /* -17 was an error of a library that is no longer used */
    BLOOM_ERR_LAYOUT = -18,   /* unknown layout */
    BLOOM_ERR_PAIR = -19,     /* the layout does not support the scheme */
    BLOOM_ERR_BLOCKS = -20,   /* m is not a whole number of blocks, or of the scheme's words */
    BLOOM_ERR_K_LAYOUT = -21, /* invalid number of hashes for the layout */
    BLOOM_ERR_P_LAYOUT = -22, /* the layout cannot reach such a small p */
    BLOOM_ERR_BITS = -23,     /* fewer than 1 bit per id, or not a number */
    /* -24 to -27, -34 and -36 are used by the public library only */
    BLOOM_ERR_SEGMENT = -28, /* a segment instead of a filter */
    BLOOM_ERR_PART = -29,    /* invalid size or index of a segment */
    BLOOM_ERR_MIXED = -30,   /* the segments are from several builds */
    BLOOM_ERR_TWICE = -31,   /* duplicate segment */
    BLOOM_ERR_MISSING = -32, /* a segment of a filter is missing */
    BLOOM_ERR_SEEDED = -33,  /* the scheme does not support custom seeds, or not this one */
    BLOOM_ERR_ID_TYPE = -35, /* unknown type of ids, or the scheme has no rule for it */
    BLOOM_ERR_STATIC = -37,  /* a filter of a static layout cannot be changed, or be without ids */
    BLOOM_ERR_SHARDS = -38,  /* the shards of a static filter do not fit its size, or its n */
    BLOOM_ERR_ABSENT = -39,  /* an id to remove is not in the filter */
    BLOOM_ERR_REMOVE = -40,  /* the layout cannot remove ids */
};

const char *bloom_strerror(enum bloom_result result);

/* Index i of an id, i = 0..k-1. "h mod m" is a mathematical modulo, in 0..m-1. */
enum bloom_scheme {
    BLOOM_SPARK,    /* MurmurHash3_x86_32(id, seed i), signed, floor modulo: mmh3.hash(id, i) % m */
    BLOOM_HADOOP,   /* h mod m|, where h is Hadoop's MurmurHash(id, seed i) with sign-extended tail
                       bytes */
    BLOOM_PLAIN,    /* MurmurHash3_x86_32(id, seed i), unsigned, mod m */
    BLOOM_POLY_ABS, /* c| mod m; c = c * SEED[i] + unit over UTF-16 units, wrapping; 8 seeds, or
                       custom seeds */
    BLOOM_POLY_MOD, /* h = (R[i] * h + unit) mod m over UTF-16 units; 5 seeds, or custom seeds */
    BLOOM_MD5_RANDOM,   /* java.util.Random(first 48 bits of MD5(id)), nextInt(m) k times */
    BLOOM_WIDE,         /* (low64 + i * (high64 | 1) mod 2^64) mod m of XXH3-128(id) */
    BLOOM_XXH64,        /* XXH64(id, seed 0), only for block layouts */
    BLOOM_HADOOP_BLOOM, /* s mod m|, where s is Hadoop's MurmurHash(id, previous s), starting with
                           0, as in org.apache.hadoop.util.bloom.BloomFilter */
    /* Spark's org.apache.spark.util.sketch.BloomFilter; h1 = H(id, seed 0), h2 = H(id, seed h1) of
     * its own MurmurHash3, i = 1..k, m a multiple of 64. Versions differ in their arithmetic: */
    BLOOM_SPARK_BLOOM,    /* c or ~c, the one >= 0, mod m; c = h1 + i * h2 in 32 bits */
    BLOOM_SPARK_BLOOM_V2, /* the same; c = h1 * (2^31 - 1) + i * h2 in 64 bits */
    BLOOM_GUAVA,          /* (low64 + i * high64 mod 2^63) mod m of MurmurHash3_x64_128(id), as in
                             Guava's MURMUR128_MITZ_64; m a multiple of 64 */
    BLOOM_RBLOOM, /* (s / 2^32 mod 2^64) mod m; s = MurmurHash3_x64_128(id) as one number, then
                     each time s * LCG + 1 mod 2^128, as in Python's rbloom; m a multiple of 8 */
    /* The classes of other systems, one file each in formats/, with their rules. */
    BLOOM_GO_BLOOM,
    BLOOM_DATASKETCHES, /* with a seed of 64 bits */
    BLOOM_NPM_BLOOM,    /* with a seed of 53 bits */
    BLOOM_REDISBLOOM,
    BLOOM_FASTBLOOM, /* with a key of 128 bits */
    BLOOM_ORC,
    BLOOM_CASSANDRA,
    BLOOM_SCHEMES, /* number of schemes */
};

/* "spark", "hadoop", "plain", "poly-abs", "poly-mod", "md5-random", "wide", "xxh64",
 * "hadoop-bloom", "spark-bloom", "spark-bloom-v2", "guava", "rbloom", "go-bloom", "datasketches",
 * "npm-bloom", "redisbloom", "fastbloom", "orc", "cassandra". */
const char *bloom_scheme_name(enum bloom_scheme scheme);
enum bloom_result bloom_scheme_parse(const char *name, uint64_t size,
                                     enum bloom_scheme *out_scheme);

/* Positions of the k bits of an id. Block layouts use one 64-bit hash h: XXH64 with xxh64, low64 of
 * XXH3-128 with wide; other schemes are not supported. With b blocks the block is (h >> 32) * b >>
 * 32, and x = h mod 2^32 selects the bits. */
enum bloom_layout {
    BLOOM_CLASSIC,  /* anywhere in the filter: the scheme's k indexes */
    BLOOM_BLOCK512, /* in a block of 512 bits, one cache line: (x * 0x9e3779b9^i mod 2^32) >> 23 */
    BLOOM_SPLIT_BLOCK, /* in a block of 256 bits, one in each of its 8 words, as in Parquet:
                        * (x * SALT[i] mod 2^32) >> 27 */
    /* Binary fuse filters, which are no Bloom filters (fuse.h): made of all ids at once, never
     * changed; n is then the number of ids, and m follows from it. */
    BLOOM_FUSE8,  /* fingerprints of 8 bits: a rate of 1/256 */
    BLOOM_FUSE16, /* 16 bits: 1/65536 */
    /* As these, made at once, for a closed universe of ids (exact.h): no false positive in it. */
    BLOOM_EXACT,
    BLOOM_COUNTING, /* classic with a counter of 4 bits for each bit (counting.h) */
    BLOOM_LAYOUTS,  /* number of layouts */
};

/* "classic", "block512", "split-block", "fuse8", "fuse16", "exact", "counting". */
const char *bloom_layout_name(enum bloom_layout layout);
enum bloom_result bloom_layout_parse(const char *name, uint64_t size,
                                     enum bloom_layout *out_layout);
static inline bool bloom_is_fuse(enum bloom_layout layout)
{
    return layout == BLOOM_FUSE8 || layout == BLOOM_FUSE16;
}
/* Whether filters are made of all ids at once and never changed. */
static inline bool bloom_is_static(enum bloom_layout layout)
{
    return bloom_is_fuse(layout) || layout == BLOOM_EXACT;
}
uint32_t
bloom_block_bits(enum bloom_layout layout); /* 512, 256; classic: 1; static ones: 8; counting: 4 */
/* The default scheme of a layout: spark, xxh64. */
enum bloom_scheme bloom_layout_scheme(enum bloom_layout layout);

struct bloom_params {
    enum bloom_scheme scheme;
    uint64_t n; /* number of ids the filter is sized for; at least 1 */
    uint64_t m; /* bits */
    uint32_t k; /* hashes per id */
    enum bloom_layout layout;
    /* poly-abs, poly-mod: k seeds of BLOOM_SEED_BYTES, little-endian, borrowed. NULL: the scheme's
     * published seeds. */
    const uint8_t *seeds;
    /* Seed of the hash, lower half first, in schemes that have one; else 0. spark-bloom-v2 has the
     * low 32 bits of a signed one. */
    uint64_t hash_seed[2];
    uint32_t id_type; /* of the values whose bytes are the ids (id_type.h); 0: text */
};

/* Returns true if they are equal except for n: the union of such filters exists. */
bool bloom_params_equal(const struct bloom_params *a, const struct bloom_params *b);

/* How filters are sized, except for n. Filters of one sizing have the same k, except where p is
 * given and the scheme is that of another system's class: then m and k are what the class computes.
 */
struct bloom_sizing {
    enum bloom_scheme scheme;
    enum bloom_layout layout;
    uint32_t k;
    double p;    /* classic: determines m; else 0 */
    double bits; /* per id, if p is 0 */
    uint64_t hash_seed[2];
    uint32_t id_type;
    bool seeded; /* with custom seeds, in `seeds` */
    uint8_t seeds[BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES];
};

/* A sizing for a false positive rate of p. classic: m = ceil(-n ln p / (ln 2)^2), k = ceil(-ln p /
 * ln 2), in IEEE doubles, as computed by Python, or m and k of the class, and its default seed.
 * Block layouts: the fewest bits, and for block512 the k, with which bloom_expected_rate is at most
 * p, including the uneven load of the blocks; p at least 1e-10. Fuse layouts: p at least their
 * rate; the m of params is then about that of n different ids. */
enum bloom_result bloom_sizing_for_rate(enum bloom_scheme scheme, enum bloom_layout layout,
                                        double p, struct bloom_sizing *out_sizing);
/* A sizing for a number of bits per id, at least 1. k is optimal: round(bits * ln 2), at least 1;
 * block512: the k with the lowest rate; split-block: 8; at most the number of the scheme's seeds.
 */
enum bloom_result bloom_sizing_for_bits(enum bloom_scheme scheme, enum bloom_layout layout,
                                        double bits, struct bloom_sizing *out_sizing);
/* Gives a sizing of poly-abs or poly-mod BLOOM_SEEDS_MAX custom seeds, of which the first k are
 * used; a sizing by bits gets the optimal k, for which the scheme may have too few seeds. Returns
 * SEEDED for other schemes. */
enum bloom_result bloom_sizing_seed(struct bloom_sizing *sizing, const uint8_t *seeds);
/* The params for n ids. m is rounded up to whole blocks, or words of the scheme. Seeds are borrowed
 * from the sizing. */
enum bloom_result bloom_sizing_params(const struct bloom_sizing *sizing, uint64_t n,
                                      struct bloom_params *out_params);
/* Both in one call, for the classic layout. */
enum bloom_result bloom_params_for(enum bloom_scheme scheme, uint64_t n, double p,
                                   struct bloom_params *out_params);

/* Checks the limits: n >= 1; 1 <= k <= BLOOM_K_MAX, <= 8 for poly-abs, <= 5 for poly-mod; 1 <= m, m
 * < 2^31 for the 32-bit schemes, m <= BLOOM_M_MAX for the 64-bit ones; m a whole number of the
 * scheme's words. poly-mod also rejects any m with which
 * R * h + unit can exceed 2^31 - 1 for the largest R that k uses: the published arithmetic would
 * wrap to negative indexes (k = 5: m <= 32,735). With custom seeds both support any k and m; those
 * of poly-mod are below 2^31. Block layouts: scheme xxh64 or wide, m a whole number of blocks and
 * at most BLOOM_M_MAX, k at most BLOOM_K_MAX_512 or exactly BLOOM_K_SPLIT. */
enum bloom_result bloom_params_check(const struct bloom_params *params);

/* The largest m of a classic filter of this scheme, k and seeds. */
uint64_t bloom_m_max(const struct bloom_params *params);

uint64_t bloom_bytes(uint64_t m); /* ceil(m / 8) */

/* Bits of the seed of the scheme's hash: 32, 53, 64, 128, or 0. */
uint32_t bloom_hash_seed_bits(enum bloom_scheme scheme);
uint64_t bloom_class_seed(enum bloom_scheme scheme); /* that the class has by default, or 0 */

/* Returns true if indexes have 64 bits, here and in batches: wide, spark-bloom-v2, guava, rbloom
 * and the block layouts. */
bool bloom_indexes_are_wide(const struct bloom_params *params);

/* The expected false positive rate of a filter with n ids. classic: (1 - e^(-kn/m))^k. Block
 * layouts: the mean of a block's rate over its load, which is Poisson distributed (sizing.c). */
double bloom_expected_rate(const struct bloom_params *params);
/* The same for hashes that are not ideal: of 32 bits, whose range is no multiple of m, and which
 * collide. Near m = 2^31 the rate is up to 1.7 times the planned one. *out_most: with ids that
 * differ in a few digits, whose hashes under different seeds collide together. Both are
 * bloom_expected_rate for the schemes of 64 bits and more, and for other hashes of 32 bits. */
void bloom_predict_rate(const struct bloom_params *params, double *out_least, double *out_most);
/* (bits_set / m)^k: the rate of a classic filter whose hashes reach all bits alike. */
double bloom_rate_from_fill(const struct bloom_params *params, uint64_t bits_set);

/* ---- one filter ---- */

struct bloom_filter {
    struct bloom_params params;
    uint8_t *bits;  /* bloom_bytes(m) of them */
    uint64_t owned; /* bytes that bloom_fini frees; 0: the bits are borrowed */
};

/* Allocates zeroed bits (STATIC: not of a fuse layout), aligned to BLOOM_ALIGNMENT, padded with
 * zeros to a multiple of it plus 64 readable bytes, in huge pages if large. After an error nothing
 * is allocated. */
enum bloom_result bloom_init(struct bloom_filter *filter, const struct bloom_params *params);
void bloom_fini(struct bloom_filter *filter); /* accepts NULL, zeroed and borrowed filters */

/* `id` may have any length, also 0, and needs no slack. */
void bloom_add(struct bloom_filter *filter, const void *id, uint64_t size);
bool bloom_contains(const struct bloom_filter *filter, const void *id, uint64_t size);

/* Removes an id that was added, from a filter of the layout counting. Returns REMOVE for another
 * layout, or ABSENT, and changes nothing, if the filter does not contain it. */
enum bloom_result bloom_remove(struct bloom_filter *filter, const void *id, uint64_t size);

/* The classic filter with a bit for each counter over 0, which contains the same ids. Returns OK or
 * MEMORY. */
enum bloom_result bloom_counting_to_classic(const struct bloom_filter *counting,
                                            struct bloom_filter *out);

/* Writes the k indexes of `id`, in order, including duplicates. */
void bloom_compute_indexes(const struct bloom_params *params, const void *id, uint64_t size,
                           uint64_t out_indexes[BLOOM_K_MAX]);

/* Combines `from` into `into` by OR, or adds the counters; they must be alike. n stays that of
 * `into`. */
enum bloom_result bloom_union(struct bloom_filter *into, const struct bloom_filter *from);

/* Checks the bits of a static layout: every look-up stays inside them. True for others. */
bool bloom_bits_are_valid(const struct bloom_params *params, const uint8_t *bits);
uint64_t bloom_bits_set(const struct bloom_filter *filter); /* counting: counters over 0 */
/* How many there can be: m, or the counters. */
uint64_t bloom_positions(const struct bloom_params *params);
/* The number of set bits of the union; MISMATCH as for bloom_union. */
enum bloom_result bloom_union_bits_set(const struct bloom_filter *a, const struct bloom_filter *b,
                                       uint64_t *out_bits);

/* The false positive rate of this filter, computed from its bits: (bits set / m)^k, for block
 * layouts the mean over the blocks, for a split block of the product over its words. */
double bloom_rate_from_bits(const struct bloom_filter *filter);

/* Estimates the number of ids from `bits_set` set bits (Swamidass and Baldi, 2007: -m/k ln(1 -
 * bits_set/m), for block layouts by the same derivation); infinity if all are set. */
double bloom_ids_estimate(const struct bloom_params *params, uint64_t bits_set);

/* ---- one filter as bytes ---- */

/* Size of the header, which precedes the bits in a file, in bytes. */
uint32_t bloom_header_size(const struct bloom_params *params);
/* Writes the header and returns its size; the file is the header followed by bloom_bytes(m) bytes
 * at filter->bits, so the bits are not copied. Reads all bits once (checksum). */
uint32_t bloom_encode_header(const struct bloom_filter *filter, uint8_t out[BLOOM_HEADER_MAX]);

/* `data` is exactly one filter. The view borrows its bits from `data`, is read-only and needs no
 * bloom_fini. Validates everything before use; allocates nothing. After an error the view is
 * zeroed. */
enum bloom_result bloom_decode(const uint8_t *data, uint64_t size, struct bloom_filter *out_view);
/* The same if more bytes may follow: `*out_size` is the size of the filter in `data`. */
enum bloom_result bloom_decode_first(const uint8_t *data, uint64_t size,
                                     struct bloom_filter *out_view, uint64_t *out_size);
/* The parameters of a filter whose bits may be missing; seeds are borrowed from `data`. Compares no
 * checksum. */
enum bloom_result bloom_decode_header(const uint8_t *data, uint64_t size, struct bloom_params *out);

/* ---- filters in segments (segment.c) ---- */

/* A filter too large for one value is stored in segments: bits [index * size, (index + 1) * size);
 * the last one ends at the end of the filter. Blocks are not split. */
enum {
    BLOOM_SEGMENT_LOG2_MIN = 9,     /* sizes are powers of two: a segment has at least 64 bytes */
    BLOOM_SEGMENT_LOG2_MAX = 31,    /* and at most 256 MiB */
    BLOOM_SEGMENT_HEADER_MAX = 160, /* size limit of the header of a segment */
};

struct bloom_segment {
    struct bloom_params params; /* of the whole filter */
    uint64_t build;             /* the same number in all segments of one build */
    uint64_t size;              /* bits of each segment except the last */
    uint64_t index;             /* from 0 */
    const uint8_t *bits;        /* borrowed; NULL: only the header was read */
};

uint64_t bloom_segments(uint64_t m, uint64_t size); /* number of segments of a filter */
uint64_t bloom_segment_bits(const struct bloom_segment *segment);
/* Like bloom_encode_header: the header of a segment in a file. */
uint32_t bloom_segment_encode_header(const struct bloom_segment *segment,
                                     uint8_t out[BLOOM_SEGMENT_HEADER_MAX]);
/* Returns true if the bytes begin like a segment. */
bool bloom_is_segment(const uint8_t *data, uint64_t size);
/* `data` is exactly one segment; like bloom_decode. */
enum bloom_result bloom_segment_decode(const uint8_t *data, uint64_t size,
                                       struct bloom_segment *out_view);
/* The same for only a header; checks everything except the checksum. */
enum bloom_result bloom_segment_decode_header(const uint8_t *data, uint64_t size,
                                              struct bloom_segment *out_view);
/* Checks that the segments of a filter, in order of their indexes, are complete and from one build:
 * call it for each segment with its predecessor; `before` NULL: for the first, `next` NULL: after
 * the last. Returns OK, MIXED, TWICE or MISSING. */
enum bloom_result bloom_segment_follows(const struct bloom_segment *before,
                                        const struct bloom_segment *next);

/* ---- batches ---- */

/* One column of ids of a batch: row i is base[start[i]] .. base[end[i]], in filter[i].
 * BLOOM_ID_SLACK bytes after each end must be readable; their values do not matter. */
struct bloom_rows {
    const uint8_t *base;
    const uint32_t *start, *end;
    const uint16_t *filter; /* < set->count */
    uint32_t rows;
};

/* The versions of the hot loops. All set the same bits. */
enum bloom_level { BLOOM_SCALAR, BLOOM_AVX2, BLOOM_AVX512, BLOOM_LEVELS };

bool bloom_level_available(enum bloom_level level); /* on this machine */

struct bloom_kernel; /* the hot loops of one level */
struct bloom_table;  /* columns with the values of each filter */

struct bloom_set {
    enum bloom_scheme scheme;
    enum bloom_layout layout;
    uint32_t k;           /* the largest k of all filters */
    bool mixed;           /* some filters have a smaller k */
    const uint8_t *seeds; /* of all filters; NULL: the scheme's published seeds */
    uint64_t hash_seed[2];
    uint32_t id_type;
    uint32_t count;
    bool wide;      /* see bloom_indexes_are_wide */
    uint8_t *bits;  /* all filters, contiguous; each begins at a multiple of 64 */
    uint64_t bytes; /* size of that area, including padding */
    struct bloom_table *table;
    const struct bloom_kernel *kernel;
    bool borrowed;  /* the bits are owned by the caller */
    bool read_only; /* and must not be written */
};

/* Checks whether filters of these params may be one set. Returns OK, MISMATCH, COUNT, or the error
 * of one of them. */
enum bloom_result bloom_set_check(const struct bloom_params *params, uint32_t count);
/* A set of `count` empty filters; all have the scheme, layout and seeds of params[0], and in block
 * layouts its k. Uses the best available level. */
enum bloom_result bloom_set_init(struct bloom_set *set, const struct bloom_params *params,
                                 uint32_t count);
/* The same, with copies of the bits of `filters`. */
enum bloom_result bloom_set_copy(struct bloom_set *set, const struct bloom_filter *filters,
                                 uint32_t count);
/* A set over bits that the caller owns: an area with the layout of bloom_set_init (one filter: its
 * bits, writable up to the next multiple of 8 bytes). NULL: only for functions that need no bits.
 */
enum bloom_result bloom_set_borrow(struct bloom_set *set, const struct bloom_params *params,
                                   uint32_t count, uint8_t *bits);
void bloom_set_fini(struct bloom_set *set); /* accepts NULL and zeroed sets */

/* Uses `level` from now on, for tests and measurements. It must be available. Sets without a vector
 * version stay scalar: classic ones of schemes other than spark, hadoop and plain, with m = 1, or
 * of 8 GiB or more, or with filters of different k. */
void bloom_force_level(struct bloom_set *set, enum bloom_level level);

/* Filter `f` as a borrowed view, to read or write; valid until bloom_set_fini. */
struct bloom_filter bloom_set_filter(const struct bloom_set *set, uint32_t f);

/* Combines all filters by OR; both sets must have the same number of filters, which must be alike.
 */
enum bloom_result bloom_set_union(struct bloom_set *into, const struct bloom_set *from);

/* A whole set as one blob for sending, made in place: begin writes its header and zeroes the bits,
 * the caller writes those of each filter (bloom_bytes(m) at bloom_blob_bits). All executors of a
 * job have the same version, so this is not the file format. `out` has bloom_blob_size bytes; begin
 * checks that the params match. */
uint64_t bloom_blob_size(const struct bloom_params *params, uint32_t count);
enum bloom_result bloom_blob_begin(uint8_t *out, const struct bloom_params *params, uint32_t count);
uint8_t *bloom_blob_bits(uint8_t *blob, uint32_t f);
/* A read-only set that borrows the bits from `data` (any alignment) until bloom_set_fini. Checks
 * the header, and reads no bits: the blob is of this job. Allocates per filter, at most in
 * proportion to the size of `data`. */
enum bloom_result bloom_set_attach(struct bloom_set *set, const uint8_t *data, uint64_t size);

enum { BLOOM_GROUP = 16, BLOOM_RING = 4 };

/* A group of rows, hashed and not yet in the filters. All fields are private to the kernels. In
 * block layouts `base` is the row's block and index.narrow[0] the lower half of its hash. */
struct bloom_hashed {
    uint32_t rows; /* <= BLOOM_GROUP */
    uint8_t *base[BLOOM_GROUP];
    union {
        uint32_t narrow[BLOOM_K_MAX][BLOOM_GROUP]; /* [hash][row] */
        uint64_t wide[BLOOM_K_MAX][BLOOM_GROUP];
    } index;
};

/* Adds rows to a set, which it borrows. The bits of a row are prefetched when it is hashed and set
 * two groups later, so they are all set only after bloom_adder_flush. One thread. */
struct bloom_adder {
    struct bloom_set *set;
    uint64_t hashed; /* groups so far; group t is ring[t % BLOOM_RING] */
    uint64_t done;   /* groups whose bits are set */
    struct bloom_hashed ring[BLOOM_RING];
};

void bloom_adder_init(struct bloom_adder *adder, struct bloom_set *set);
/* The memory of the rows may be freed after the call. */
void bloom_adder_add_rows(struct bloom_adder *adder, const struct bloom_rows *rows);
void bloom_adder_flush(struct bloom_adder *adder); /* more rows may follow */

/* out_hit[i] = 1 if filter[i] may contain row i, else 0. */
void bloom_set_contains_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                             uint8_t *out_hit);

/* Looks up every row in every filter: out_hit[f * stride + i] = 1 if filter f may contain row i,
 * else 0. rows->filter is not read; stride >= rows->rows. */
void bloom_set_contains_all(const struct bloom_set *set, const struct bloom_rows *rows,
                            uint8_t *out_hit, uint64_t stride);

/* out_indexes[i * k + j] = index j of row i in its filter; a filter with fewer hashes than the
 * set's k repeats its first index after its own. The first function is for 32-bit indexes, the
 * second for all. */
void bloom_hash_rows_to_indexes(const struct bloom_set *set, const struct bloom_rows *rows,
                                uint32_t *out_indexes);
void bloom_hash_rows_to_indexes_wide(const struct bloom_set *set, const struct bloom_rows *rows,
                                     uint64_t *out_indexes);

/* Sets the listed bits of filter `f`. Returns false if an index is m or more (lists may be
 * untrusted): then the bits before it are set and none after it. */
bool bloom_set_bits(struct bloom_set *set, uint32_t f, const uint32_t *indexes, uint64_t count);
bool bloom_set_bits_wide(struct bloom_set *set, uint32_t f, const uint64_t *indexes,
                         uint64_t count);

#endif

/* Shared by the files of the library and not visible to callers: memory of the bits, the index
 * rules for one id, and the columns of a set. */
#ifndef GLINT_JOBS_BLOOM_INTERNAL_H
#define GLINT_JOBS_BLOOM_INTERNAL_H

#include "jobs/bloom/bloom.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* Bits are set in 64-bit words and read in 32-bit words; bit i is bit (i mod 8) of byte i / 8 in
 * all of these only if words are little-endian. */
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words must be little-endian");

/* At any alignment. */
static inline uint32_t get_u32_native(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}
static inline uint64_t get_u64_native(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Vector kernels are compiled in; the machine decides at run time which one is used. */
#if defined(__x86_64__)
#define BLOOM_LANES 1
#else
#define BLOOM_LANES 0
#endif

enum { BLOOM_POLY_ABS_SEEDS = 8, BLOOM_POLY_MOD_SEEDS = 5 };
extern const uint32_t bloom_poly_mod_seeds[BLOOM_POLY_MOD_SEEDS]; /* ascending */

enum { BLOOM_MD5_BYTES = 16 };
void bloom_md5(const void *data, uint64_t size, uint8_t out[BLOOM_MD5_BYTES]);

uint32_t bloom_scheme_k_max(enum bloom_scheme scheme); /* number of seeds; 0: no classic filters */
/* m is a multiple of it: bits of a block, or of a word of the scheme. */
uint32_t bloom_unit_bits(enum bloom_scheme scheme, enum bloom_layout layout);
bool bloom_scheme_is_seeded(enum bloom_scheme scheme); /* supports custom seeds */
/* Whether the bits of an id are those at the scheme's k indexes. */
static inline bool bloom_has_indexes(enum bloom_layout layout)
{
    return layout == BLOOM_CLASSIC || layout == BLOOM_COUNTING;
}
/* Compares k seeds; NULL: the scheme's published seeds. */
bool bloom_same_seeds(const uint8_t *a, const uint8_t *b, uint32_t k);
/* Size of the custom seeds, or of the hash seed, in a file. */
static inline uint32_t bloom_seeds_size(const struct bloom_params *params)
{
    if (params->seeds != NULL) return params->k * BLOOM_SEED_BYTES;
    return (params->hash_seed[0] | params->hash_seed[1]) != 0 ? sizeof params->hash_seed : 0;
}
enum bloom_result bloom_check_scheme_and_layout(enum bloom_scheme scheme, enum bloom_layout layout);
uint64_t bloom_count_bits(const uint8_t *bytes, uint64_t size);
/* bloom_init for any layout: bits that the caller fills. */
enum bloom_result bloom_init_bits(struct bloom_filter *filter, const struct bloom_params *params);

/* ---- one id (index.c, strings.c) ---- */

/* The k indexes under a classic scheme whose indexes have 32 bits. */
void bloom_compute_narrow_indexes(const struct bloom_params *params, const void *id, uint64_t size,
                                  uint32_t *out_indexes);
/* The same for 64 bits. */
void bloom_compute_wide_indexes(const struct bloom_params *params, const void *id, uint64_t size,
                                uint64_t *out_indexes);

/* ---- the schemes of other systems' classes (formats.c) ---- */

/* Sets the class's m and k for n ids and the rate p; false: it has no rule, or it is no class's. */
bool bloom_class_size(enum bloom_scheme scheme, double n, double p, double *out_m, double *out_k);
/* The k indexes, of 32 bits in schemes that have no more. */
void bloom_format_indexes(const struct bloom_params *params, const void *id, uint64_t size,
                          uint64_t *out_indexes);

/* `seeds` as in struct bloom_params. */
void bloom_poly_abs(const void *id, uint64_t size, uint64_t m, uint32_t k, const uint8_t *seeds,
                    uint32_t *out_indexes);
void bloom_poly_mod(const void *id, uint64_t size, uint64_t m, uint32_t k, const uint8_t *seeds,
                    uint32_t *out_indexes);
void bloom_md5_random(const void *id, uint64_t size, uint64_t m, uint32_t k, uint32_t *out_indexes);

static inline uint32_t bloom_seed_at(const uint8_t *seeds, uint32_t i)
{
    uint32_t seed;
    __builtin_memcpy(&seed, seeds + BLOOM_SEED_BYTES * i, sizeof seed);
    return seed;
}

/* ---- layouts of blocks (block.h, blocks.c) ---- */

/* The k indexes in a block layout. */
void bloom_indexes_in_block(const struct bloom_params *params, const void *id, uint64_t size,
                            uint64_t *out_indexes);
void bloom_block_add(struct bloom_filter *filter, const void *id, uint64_t size);
bool bloom_block_contains(const struct bloom_filter *filter, const void *id, uint64_t size);
/* Sets the bits of a group in the ring that has not been processed. */
void bloom_block_add_group(const struct bloom_set *set, const struct bloom_hashed *group);

static inline bool bloom_has_blocks(enum bloom_layout layout)
{
    return layout == BLOOM_BLOCK512 || layout == BLOOM_SPLIT_BLOCK;
}

/* ---- memory (memory.c) ---- */

/* Allocates zeroed memory, aligned to BLOOM_ALIGNMENT, in huge pages if large; NULL: out of memory.
 * `bytes` > 0. */
uint8_t *bloom_area_create(uint64_t bytes);
void bloom_area_destroy(uint8_t *area, uint64_t bytes);

static inline uint64_t bloom_round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* ---- sets (set.c) ---- */

/* Size of a filter in the area of a set. */
static inline uint64_t bloom_area_bytes(uint64_t m)
{
    return bloom_round_up(bloom_bytes(m), BLOOM_ALIGNMENT);
}

struct bloom_slot {
    uint64_t n, m;
    uint64_t offset; /* of the filter in the set's area, in bytes */
    uint64_t magic;  /* for bloom_mod; block layouts: number of blocks */
    uint32_t k;
};

/* In block layouts, the unit of columns with the position of a filter's bits. */
enum { BLOOM_BLOCK_UNIT = 32 };

/* slot[] is for scalar code; the columns are for SIMD: padded with zeros to a multiple of 16
 * entries and aligned to 64, so that a column of up to 16 filters is one vector register. */
struct bloom_table {
    bool lanes; /* the columns are valid: SIMD may be used */
    bool small; /* all bits fit in the L2 cache */
    struct bloom_slot *slot;
    uint32_t *m;     /* block layouts: number of blocks */
    uint32_t *magic; /* see lanes_mod_31 and lanes_mod_32 */
    uint32_t *shift; /* ceil(log2 m) - 1 */
    uint32_t *word;  /* slot.offset / 4; block layouts: / BLOOM_BLOCK_UNIT */
};

/* n mod m without a division; magic = bloom_mod_magic(m). Exact for all 32-bit n and m > 0 (Lemire,
 * Kaser, Kurz: Faster remainder by direct computation, 2019). For m = 1 the magic is 0. */
static inline uint64_t bloom_mod_magic(uint64_t m)
{
    return UINT64_MAX / m + 1;
}

static inline uint32_t bloom_mod(uint32_t n, uint64_t magic, uint32_t m)
{
    return (uint32_t)(((unsigned __int128)(magic * n) * m) >> 64);
}

/* ---- kernels (kernel_*.c) ---- */

enum { BLOOM_ALL_ROWS = 512 };

struct bloom_kernel {
    void (*add)(struct bloom_adder *adder, const struct bloom_rows *rows);
    void (*contains)(const struct bloom_set *set, const struct bloom_rows *rows, uint8_t *out_hit);
    /* Looks up every row in every filter, see bloom_set_contains_all; at most BLOOM_ALL_ROWS rows.
     * Returns false, without writing anything, if it cannot; NULL: never supported. */
    bool (*contains_all)(const struct bloom_set *set, const struct bloom_rows *rows,
                         uint8_t *out_hit, uint64_t stride);
    void (*indexes)(const struct bloom_set *set, const struct bloom_rows *rows,
                    uint32_t *out_indexes); /* NULL if indexes have 64 bits */
};

extern const struct bloom_kernel bloom_kernel_scalar;
extern const struct bloom_kernel bloom_blocks_scalar;
extern const struct bloom_kernel bloom_kernel_fuse; /* without `add` and `indexes`, as the next */
extern const struct bloom_kernel bloom_kernel_exact;
extern const struct bloom_kernel bloom_kernel_counting;

/* `add` plus the k indexes of one row, `stride` apart, for rows that a vector kernel cannot
 * process. */
void bloom_row_indexes(const struct bloom_set *set, const struct bloom_rows *rows, uint32_t row,
                       uint32_t add, uint32_t *out, uint32_t stride);

#if BLOOM_LANES
extern const struct bloom_kernel bloom_kernel_avx2;
extern const struct bloom_kernel bloom_kernel_avx512;
extern const struct bloom_kernel bloom_kernel_fuse_avx512;
extern const struct bloom_kernel bloom_blocks_avx2;
extern const struct bloom_kernel bloom_blocks_avx512;
#endif

#endif

/* The keys and the size of each key's filter: read from COUNTS or PARAMS by the driver, broadcast,
 * looked up by tasks. A key's number is its index in the sorted list of keys. */
#ifndef GLINT_JOBS_FILTERS_SIZES_H
#define GLINT_JOBS_FILTERS_SIZES_H

#include "jobs/bloom/bloom.h"
#include "jobs/bloom/formats.h"
#include "jobs/bloom/id_type.h"
#include "jobs/rows/fields.h"

enum { SIZES_NONE = 0xffff, SIZES_DIRECT = 4096 };

/* Explain does not count rows. This estimate of their number is good enough to choose a strategy,
 * and never gives a filter that is too large. */
enum { SIZES_ESTIMATE_ROW_BYTES = 64, SIZES_ESTIMATE_MAX = 1 << 20 };

/* The file with the sizes. */
struct sizes_source {
    const char *path;
    bool params; /* it has M and K of each key (PARAMS, of the job params), else counts */
    double p;    /* with counts: the rate that filters are sized for */
};

struct sizes {
    bool text; /* keys are text, otherwise i64 */
    bool own;  /* each key has its own M and K: sizes_compute_params keeps them */
    uint32_t count;
    union glint_value *keys; /* sorted */
    struct bloom_params
        *params;   /* one scheme, layout and seeds for all; block layouts also one k */
    bool *present; /* the key has a filter: bloom-test */
    uint16_t direct[SIZES_DIRECT]; /* number of the key 0 <= i64 < SIZES_DIRECT */
    uint32_t *slots;               /* text: hash table of numbers + 1, slot_mask + 1 of them */
    uint32_t slot_mask;
    uint8_t *memory, *seeds; /* `memory` of keys; `seeds` of params: BLOOM_SEEDS_MAX, or NULL */
    uint64_t bits_bytes;     /* bytes of the bits of all filters */
    uint64_t rows;           /* the sum of all counts */
};

/* There are more keys than the maximum of a set, or their sizes need more than their share of a
 * slot's memory: they are not broadcast (ids.h). */
enum { SIZES_TOO_MANY = 1 };
/* Driver: reads the lines of the source, also under explain, and sizes a filter per key. Returns 0,
 * or SIZES_TOO_MANY without an error, or COUNTS_INVALID, PARAMS_INVALID or FILTER_LIMIT. Call
 * sizes_fini afterwards in any case. */
int sizes_read_from_source(struct glint *g, const struct sizes_source *source,
                           const struct fields *fields, const struct bloom_sizing *sizing,
                           struct sizes *out);
/* Driver: sizes the same keys with another sizing. If the keys have their own M and K, only scheme,
 * layout and seeds change. Returns 0 or FILTER_LIMIT. */
int sizes_compute_params(struct glint *g, struct sizes *s, const struct bloom_sizing *sizing);
void sizes_fini(struct sizes *s);
struct glint_broadcast *sizes_broadcast(struct glint *g, const struct sizes *s);

/* Task: opens the broadcast argument "sizes"; the memory is the task's, so there is no fini. */
int sizes_open(struct glint_task *task, struct sizes *out);
/* Task: returns the key's number if it is present, else SIZES_NONE. */
uint32_t key_counts_find(const struct sizes *s, const union glint_value *key);
/* Finds the numbers of the keys of all parsed rows. Returns how many have none. */
uint32_t sizes_find_rows(const struct sizes *s, const struct fields *f, uint16_t *out);
/* Driver: returns the key's number whether it is present or not, or SIZES_NONE. */
uint32_t sizes_find_key(const struct sizes *s, const union glint_value *key);
/* The key as text, for messages, truncated to `capacity`. */
void sizes_key_text(const struct sizes *s, uint32_t number, char *out, size_t capacity);

static inline uint64_t sizes_estimate_rows(const struct glint_rdd *lines)
{
    const uint64_t rows = 1 + glint_input_bytes(lines) / SIZES_ESTIMATE_ROW_BYTES;
    return rows < SIZES_ESTIMATE_MAX ? rows : SIZES_ESTIMATE_MAX;
}

/* Driver: copies these seeds into the sizes (NULL: none), for all later sizings. Returns 0 or the
 * context's code. */
int sizes_set_seeds(struct glint *g, struct sizes *s, const uint8_t *seeds, uint32_t count);

/* ---- sizes_options.c: --scheme, --layout, --format, --seeds, --seed */

/* Reads only scheme and layout of SIZES_OPTIONS, or the format that implies them; the default
 * scheme depends on the layout. */
int sizes_kind_from_options(struct glint *g, const struct glint_job_args *args,
                            struct bloom_sizing *out);
/* Reads --scheme and --layout (SIZES_OPTIONS) for a false positive rate of p. Returns 0 or the
 * context's code. */
int sizes_sizing_from_options(struct glint *g, const struct glint_job_args *args, double p,
                              struct bloom_sizing *out);
/* --seeds random: adds seeds drawn by --seed to a complete sizing; otherwise does nothing. Returns
 * 0 or the context's code. */
int sizes_seeds_from_options(struct glint *g, const struct glint_job_args *args,
                             struct bloom_sizing *sizing);
/* --hash-seed: sets the seed of the hash, where the scheme has one; without the option it stays
 * that of the sizing. Returns 0 or the context's code. */
int sizes_hash_seed_from_options(struct glint *g, const struct glint_job_args *args,
                                 struct bloom_sizing *sizing);
/* --id-type of SIZES_ID_TYPE_OPTION, whose rows are those of `paths`: sets the sizing's type of
 * ids, for which its scheme must have a rule. Without the option it stays that of the sizing.
 * Returns 0 or the context's code. */
int sizes_id_type_from_options(struct glint *g, const struct glint_job_args *args,
                               const char *paths, const struct fields *fields,
                               struct bloom_sizing *sizing);
/* Of a job that reads filters: the option must be their type. Tasks then read ids of this type.
 * Returns 0 or FILTER_MISMATCH. */
int sizes_use_id_type(struct glint *g, const struct glint_job_args *args, const char *about,
                      const struct bloom_params *filters, struct fields *fields);
/* Warns if ids are texts of a column whose values have several, without --id-type text. */
void sizes_warn_of_text_ids(struct glint *g, const struct glint_job_args *args, const char *paths,
                            const struct fields *fields);
#define SIZES_ID_TYPE_OPTION(default_)                                                             \
    {                                                                                              \
        "id-type", "TYPE", NULL, "type of ids: " BLOOM_ID_TYPES default_                           \
    }
#define SIZES_FILTERS_ID_TYPE_OPTION SIZES_ID_TYPE_OPTION(" (that of the filters)")
/* Whether --seeds is random. */
bool sizes_seeds_random(const struct glint_job_args *args);
/* Draws BLOOM_SEEDS_MAX seeds from (scheme, seed): poly-abs 0 to 99, poly-mod 0 to 2^31 - 1. */
void sizes_draw_hash_seeds(enum bloom_scheme scheme, uint64_t seed, uint8_t *out);
#define SIZES_SEEDS_OPTION                                                                         \
    {                                                                                              \
        "seeds", "published|random", "published",                                                  \
            "seeds of poly-abs and poly-mod: the published ones, or random ones drawn with --seed" \
    }
/* The schemes of the layout classic, for help and hints. */
#define SIZES_CLASSIC_SCHEMES                                                                      \
    "spark, hadoop, plain, poly-abs, poly-mod, md5-random, hadoop-bloom, spark-bloom, "            \
    "spark-bloom-v2, guava, rbloom, go-bloom, datasketches, npm-bloom, redisbloom, fastbloom, "    \
    "orc, cassandra, wide"
#define SIZES_CLASSIC_CHOICES                                                                      \
    "spark|hadoop|plain|poly-abs|poly-mod|md5-random|hadoop-bloom|spark-bloom|spark-bloom-v2|"     \
    "guava|rbloom|go-bloom|datasketches|npm-bloom|redisbloom|fastbloom|orc|cassandra|wide"
#define SIZES_LAYOUTS "classic|block512|split-block"
#define SIZES_OPTIONS SIZES_OPTIONS_OF(SIZES_LAYOUTS)
#define SIZES_OPTIONS_OF(layouts_)                                                                 \
    {"scheme", SIZES_CLASSIC_CHOICES "|xxh64", NULL,                                               \
     "index rule (spark, of blocks xxh64 or wide)"},                                               \
        {"layout", layouts_, "classic", "where the bits of an id are"},                            \
        {"format", BLOOM_FORMAT_CLASSES, NULL,                                                     \
         "the scheme and layout that files of another system need (glint filter export), with m "  \
         "and k as its class computes them"},                                                      \
        {"hash-seed", "N", NULL,                                                                   \
         "seed of the hash: spark-bloom-v2, datasketches, npm-bloom, fastbloom"},                  \
        SIZES_SEEDS_OPTION,                                                                        \
    {                                                                                              \
        "seed", "N", "42", "seed of --seeds random"                                                \
    }
/* For jobs whose arguments begin with P and end with COUNTS OUTPUT, or omit both P and COUNTS and
 * have --params instead. `forms` shows both in a hint. *out_rest: the arguments between, followed
 * by OUTPUT. Returns 0 or the context's code. */
int sizes_read_arguments(struct glint *g, const struct glint_job_args *args, uint32_t full,
                         const char *forms, struct sizes_source *out, const char **out_rest);
#define SIZES_PARAMS_OPTION                                                                        \
    {                                                                                              \
        "params", "PARAMS", NULL,                                                                  \
            "instead of P and COUNTS: n, m and k of each key, as saved by the job params"          \
    }
/* Sets SIZES_TOO_MANY as an error, for a --strategy `name` that broadcasts the sizes. Returns the
 * code. */
int sizes_set_too_many_error(struct glint *g, const struct sizes_source *source, const char *name);
/* Why the library rejects a filter of n ids; *out_hint: what to do (static). */
void sizes_describe_limit(const struct bloom_sizing *sizing, uint64_t n, enum bloom_result result,
                          char *out, size_t capacity, const char **out_hint);
/* The rate that hashes of 32 bits may give the filter, if that is more than 5 % over the planned
 * one; else 0. */
double sizes_rate_above_planned(const struct bloom_params *params);
/* Warns of the filter whose rate exceeds the planned one most, if by more than 5 %. */
void sizes_warn_of_rates(struct glint *g, const struct sizes *s);
/* Sets the library's result as the context's error. */
int sizes_set_error(struct glint *g, enum bloom_result result, const char *about);

#endif

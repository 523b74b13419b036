/* Which keys there are and how big the filter of each is: read from COUNTS or PARAMS by the driver,
 * broadcast, looked up by tasks. A key's number is its place in the sorted list of keys. */
#ifndef GLINT_JOBS_FILTERS_SIZES_H
#define GLINT_JOBS_FILTERS_SIZES_H

#include "jobs/bloom/bloom.h"
#include "jobs/rows/fields.h"

enum { SIZES_NONE = 0xffff, SIZES_DIRECT = 4096 };

/* Explain counts no rows. What it takes for their number is enough to choose between strategies,
 * and makes no filter that is too large. */
enum { SIZES_ESTIMATE_ROW_BYTES = 64, SIZES_ESTIMATE_MAX = 1 << 20 };

/* The file that has the sizes. */
struct sizes_source {
    const char *path;
    bool params; /* it has each key's own M and K (PARAMS, of the job params), else counts */
    double p;    /* counts: the rate that filters are sized for */
};

struct sizes {
    bool text; /* keys are text, else i64 */
    bool own;  /* each key has M and K of its own: sizes_apply keeps them */
    uint32_t count;
    union glint_value *keys;       /* sorted */
    struct bloom_params *params;   /* one scheme, layout and seeds; in layouts of blocks one k */
    bool *present;                 /* has a filter: bloom-test */
    uint16_t direct[SIZES_DIRECT]; /* number of the key 0 <= i64 < SIZES_DIRECT */
    uint32_t *slots;               /* text: hash table of numbers + 1, slot_mask + 1 of them */
    uint32_t slot_mask;
    uint8_t *memory, *seeds; /* of keys; of params: BLOOM_K_MAX, or NULL */
    uint64_t bits_bytes;     /* of all filters */
    uint64_t rows;           /* the sum of all counts */
};

/* There are more keys than a set has filters, or their sizes take more than a slot's memory has for
 * them: they are not broadcast (ids.h). */
enum { SIZES_TOO_MANY = 1 };
/* Driver: reads the lines of the source, explain too, and sizes a filter per key. 0, SIZES_TOO_MANY
 * and no error, or COUNTS_INVALID, PARAMS_INVALID, FILTER_LIMIT. sizes_fini after, in any case. */
int sizes_read(struct glint *g, const struct sizes_source *source, const struct fields *fields,
               const struct bloom_sizing *sizing, struct sizes *out);
/* Driver: sizes the same keys in another way. Where they have M and K of their own, only scheme,
 * layout and seeds change. 0 or FILTER_LIMIT. */
int sizes_apply(struct glint *g, struct sizes *s, const struct bloom_sizing *sizing);
void sizes_fini(struct sizes *s);
struct glint_broadcast *sizes_broadcast(struct glint *g, const struct sizes *s);

/* Task: from the broadcast argument "sizes"; its memory is the task's, no fini. */
int sizes_open(struct glint_task *task, struct sizes *out);
/* Task: the key's number if it is present, or SIZES_NONE. */
uint32_t sizes_find(const struct sizes *s, const union glint_value *key);
/* The numbers of all parsed rows' keys. Answers how many have none. */
uint32_t sizes_find_rows(const struct sizes *s, const struct fields *f, uint16_t *out);
/* Driver: the key's number whether it is present or not, or SIZES_NONE. */
uint32_t sizes_find_any(const struct sizes *s, const union glint_value *key);
/* The key as text, for messages: cut at `capacity`. */
void sizes_key_text(const struct sizes *s, uint32_t number, char *out, size_t capacity);

static inline uint64_t sizes_estimate_rows(const struct glint_rdd *lines)
{
    const uint64_t rows = 1 + glint_input_bytes(lines) / SIZES_ESTIMATE_ROW_BYTES;
    return rows < SIZES_ESTIMATE_MAX ? rows : SIZES_ESTIMATE_MAX;
}

/* Driver: makes these seeds the sizes' own, NULL: none, for all that are sized from now on. 0 or
 * the context's code. */
int sizes_set_seeds(struct glint *g, struct sizes *s, const uint8_t *seeds, uint32_t count);

/* ---- sizes_options.c: --scheme, --layout, --seeds, --seed */

/* Only scheme and layout of SIZES_OPTIONS; no scheme named: the layout's own. */
int sizes_kind_from_options(struct glint *g, const struct glint_job_args *args,
                            struct bloom_sizing *out);
/* --scheme and --layout (SIZES_OPTIONS) for a false positive rate of p; 0 or the context's code. */
int sizes_sizing_from_options(struct glint *g, const struct glint_job_args *args, double p,
                              struct bloom_sizing *out);
/* --seeds random: gives a sizing that is done seeds of its own, drawn by --seed; else changes
 * nothing. 0 or the context's code. */
int sizes_seeds_from_options(struct glint *g, const struct glint_job_args *args,
                             struct bloom_sizing *sizing);
/* Whether --seeds is random. 0 or the context's code. */
int sizes_seeds_option(struct glint *g, const struct glint_job_args *args, bool *out_random);
/* Draws BLOOM_K_MAX seeds by (scheme, seed): of poly-abs 0 to 99, of poly-mod 0 to 2^31 - 1. */
void sizes_draw_seeds(enum bloom_scheme scheme, uint64_t seed, uint8_t *out);
#define SIZES_SEEDS_OPTION                                                                         \
    {                                                                                              \
        "seeds", "published|random", "published",                                                  \
            "seeds of poly-abs and poly-mod: the published ones, or random ones drawn with --seed" \
    }
#define SIZES_OPTIONS                                                                              \
    {"scheme", "NAME", NULL,                                                                       \
     "index rule: spark, hadoop, plain, poly-abs, poly-mod, md5-random, hadoop-bloom, wide; of "   \
     "blocks: xxh64, wide (spark, of blocks xxh64)"},                                              \
        {"layout", "NAME", "classic",                                                              \
         "where the bits of an id are: classic, block512, split-block"},                           \
        SIZES_SEEDS_OPTION,                                                                        \
    {                                                                                              \
        "seed", "N", "42", "seed of --seeds random"                                                \
    }
/* Of jobs whose arguments begin with P and end with COUNTS OUTPUT, or leave out both P and COUNTS
 * and have --params instead. `forms` shows both in a hint. *out_rest: the arguments between, and
 * OUTPUT behind them. 0 or the context's code. */
int sizes_arguments(struct glint *g, const struct glint_job_args *args, uint32_t full,
                    const char *forms, struct sizes_source *out, const char **out_rest);
#define SIZES_PARAMS_OPTION                                                                        \
    {                                                                                              \
        "params", "PARAMS", NULL,                                                                  \
            "instead of P and COUNTS: n, m and k of each key, as saved by the job params"          \
    }
/* SIZES_TOO_MANY as an error, where --strategy `name` broadcasts the sizes. Returns the code. */
int sizes_too_many(struct glint *g, const struct sizes_source *source, const char *name);
/* P as the user gave it. */
int sizes_probability(struct glint *g, const char *text, double *out);
/* The library's answer as the context's error. */
int sizes_fail(struct glint *g, enum bloom_result result, const char *about);

#endif

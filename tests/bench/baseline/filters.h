/* The filters of a job: one area of bits for all keys, and the file they are saved in (scheme
 * "spark", or xxh64 in split blocks). The file's format belongs to jobs/bloom, whose encoder and
 * decoder are used. */
#ifndef BASELINE_FILTERS_H
#define BASELINE_FILTERS_H

#include "hash.h"

/* Key r has n[r] ids in bits base[r] .. base[r] + m[r] - 1; n[r] = 0 means there is no filter. */
struct filters {
    uint64_t n[KEYS_MAX], m[KEYS_MAX], base[KEYS_MAX];
    uint64_t *words;
    uint64_t area_bytes;
    uint32_t k;
    bool split;     /* in blocks of 256 bits */
    bool lanes_fit; /* all bit numbers have 32 bits and all m are 2 or more */
    struct divisors divisors;
};

/* Empty filters for the rows per key in the folder `counts_path`. */
void filters_create(struct filters *filters, const char *counts_path, double p);

/* The same in the layout split-block; m is whole blocks and k is 8. */
void filters_create_split(struct filters *filters, const char *counts_path, double p);

/* The filters saved in `path`, which must be those of the counts. */
void filters_read(struct filters *filters, const char *path, const char *counts_path);

/* Saves them as OUT/part-00000, in order of key. */
void filters_write(const struct filters *filters, const char *path);

void filters_destroy(struct filters *filters);

#endif

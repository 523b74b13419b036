/* The filters of a job: one area of bits for all keys, and the file they are saved in (scheme
 * "spark", or xxh64 in split blocks), encoded and decoded by jobs/bloom. */
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

/* Creates empty filters for the rows per key in the directory `counts_path`. */
void filters_create(struct filters *filters, const char *counts_path, double p);

/* The same with the layout split-block: m is a multiple of the block size and k is 8. */
void filters_create_split(struct filters *filters, const char *counts_path, double p);

/* Reads the filters saved in `path`, which must have the rows per key of `counts_path`. */
void filters_read(struct filters *filters, const char *path, const char *counts_path);

/* Saves the filters as OUT/part-00000, in order of their keys. */
void filters_write(const struct filters *filters, const char *path);

void filters_destroy(struct filters *filters);

#endif

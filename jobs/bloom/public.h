/* What the files behind <glint/bloom.h> share. */
#ifndef GLINT_JOBS_BLOOM_PUBLIC_H
#define GLINT_JOBS_BLOOM_PUBLIC_H

#include "jobs/bloom/glint/bloom.h"
#include "jobs/bloom/internal.h"

struct glint_bloom {
    struct bloom_filter filter; /* owned == 0: a view, only to be read */
    uint8_t *seeds;             /* of a copy, where the filter has seeds of its own; else NULL */
};

/* On the heap, taking over the bits if they are owned. MEMORY: the caller still has them. */
int bloom_public_make(const struct bloom_filter *view, glint_bloom **out_filter);

#endif

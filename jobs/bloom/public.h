/* Shared by the files that implement <glint/bloom.h>. */
#ifndef GLINT_JOBS_BLOOM_PUBLIC_H
#define GLINT_JOBS_BLOOM_PUBLIC_H

#include "jobs/bloom/glint/bloom.h"
#include "jobs/bloom/id_type.h"
#include "jobs/bloom/internal.h"

struct glint_bloom {
    struct bloom_filter filter; /* owned == 0: a read-only view */
    uint8_t *seeds;             /* of a copy of a filter with custom seeds; else NULL */
};

static inline bool bloom_public_read_only(const glint_bloom *filter)
{
    return filter->filter.owned == 0;
}

/* Returns 0, READ_ONLY or STATIC. */
static inline int bloom_public_check_writable(const glint_bloom *filter)
{
    if (bloom_is_static(filter->filter.params.layout)) return GLINT_BLOOM_ERR_STATIC;
    return bloom_public_read_only(filter) ? GLINT_BLOOM_ERR_READ_ONLY : GLINT_BLOOM_OK;
}

/* Bytes of each id; 0: any. */
static inline uint32_t bloom_public_id_bytes(const glint_bloom *filter)
{
    const struct bloom_params *params = &filter->filter.params;
    return params->id_type == 0 ? 0 : bloom_id_width(params->scheme, params->id_type);
}

/* Allocates the filter and takes ownership of the bits if they are owned. After MEMORY the caller
 * still owns them. */
int bloom_public_make(const struct bloom_filter *view, glint_bloom **out_filter);

#endif

/* Raw bits: the file has nothing else, so scheme, k and m come from elsewhere. */
#include "jobs/bloom/format.h"

static uint32_t bits_encode_head(const struct bloom_params *params, uint8_t *out)
{
    (void)params;
    (void)out;
    return 0;
}

static const char *bits_decode_head(struct head *head, struct bloom_params *params)
{
    head->at = head->size;
    if (params->m == 0) params->m = head->size * 8;
    return params->m > 0 ? NULL : "it has no bits";
}

const struct format format_bits = {.name = "bits",
                                   .program = "a raw array of bits",
                                   .scheme = BLOOM_SCHEMES,
                                   .m_max = BLOOM_M_MAX,
                                   .encode = bits_encode_head,
                                   .decode = bits_decode_head};

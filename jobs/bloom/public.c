/* The functions of <glint/bloom.h> on filters: check arguments, then call the library that the jobs
 * use. The enums have the same numbers. */
#include "jobs/bloom/public.h"

#include "jobs/bloom/counting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static_assert((int)GLINT_BLOOM_XXH64 == (int)BLOOM_XXH64 &&
                  (int)GLINT_BLOOM_CASSANDRA == (int)BLOOM_CASSANDRA &&
                  BLOOM_CASSANDRA + 1 == BLOOM_SCHEMES,
              "schemes have the same numbers");
static_assert((int)GLINT_BLOOM_COUNTING == (int)BLOOM_COUNTING &&
                  BLOOM_COUNTING + 1 == BLOOM_LAYOUTS,
              "layouts have the same numbers");
static_assert((int)GLINT_BLOOM_ERR_CHECKSUM == (int)BLOOM_ERR_CHECKSUM &&
                  (int)GLINT_BLOOM_ERR_BITS == (int)BLOOM_ERR_BITS &&
                  (int)GLINT_BLOOM_ERR_SEGMENT == (int)BLOOM_ERR_SEGMENT &&
                  (int)GLINT_BLOOM_ERR_STATIC == (int)BLOOM_ERR_STATIC &&
                  (int)GLINT_BLOOM_ERR_SHARDS == (int)BLOOM_ERR_SHARDS &&
                  (int)GLINT_BLOOM_ERR_ABSENT == (int)BLOOM_ERR_ABSENT &&
                  (int)GLINT_BLOOM_ERR_REMOVE == (int)BLOOM_ERR_REMOVE &&
                  (int)GLINT_BLOOM_ERR_SEEDED == (int)BLOOM_ERR_SEEDED &&
                  (int)GLINT_BLOOM_ERR_ID_TYPE == (int)BLOOM_ERR_ID_TYPE,
              "results have the same numbers");

const char *glint_bloom_strerror(int result)
{
    switch (result) {
    case GLINT_BLOOM_ERR_IO: return "cannot read or write the file";
    case GLINT_BLOOM_ERR_READ_ONLY: return "the filter is read-only";
    case GLINT_BLOOM_ERR_ROOM: return "the buffer is too small for the filter";
    case GLINT_BLOOM_ERR_KEY: return "a key is neither a string nor a number";
    case GLINT_BLOOM_ERR_COLUMN: return "an id of the column is not inside its data";
    case GLINT_BLOOM_ERR_ID_SIZE: return "an id is not as many bytes as the type of the ids";
    default: return bloom_strerror((enum bloom_result)result);
    }
}

const char *glint_bloom_scheme_name(enum glint_bloom_scheme scheme)
{
    return (unsigned)scheme < BLOOM_SCHEMES ? bloom_scheme_name((enum bloom_scheme)scheme) : NULL;
}

const char *glint_bloom_layout_name(enum glint_bloom_layout layout)
{
    return (unsigned)layout < BLOOM_LAYOUTS ? bloom_layout_name((enum bloom_layout)layout) : NULL;
}

int glint_bloom_scheme_named(const char *name, enum glint_bloom_scheme *out_scheme)
{
    enum bloom_scheme scheme = BLOOM_SPARK;
    int result = bloom_scheme_parse(name, strlen(name), &scheme);
    *out_scheme = (enum glint_bloom_scheme)scheme;
    return result;
}

int glint_bloom_layout_named(const char *name, enum glint_bloom_layout *out_layout)
{
    enum bloom_layout layout = BLOOM_CLASSIC;
    int result = bloom_layout_parse(name, strlen(name), &layout);
    *out_layout = (enum glint_bloom_layout)layout;
    return result;
}

int glint_bloom_id_type_named(const char *name, uint32_t *out_type)
{
    return bloom_id_type_parse(name, strlen(name), out_type) ? GLINT_BLOOM_OK
                                                             : GLINT_BLOOM_ERR_ID_TYPE;
}

void glint_bloom_id_type_name(uint32_t type, char out[GLINT_BLOOM_ID_TYPE_NAME_MAX])
{
    static_assert((int)GLINT_BLOOM_ID_TYPE_NAME_MAX == (int)BLOOM_ID_NAME_MAX, "one size");
    out[0] = '\0';
    if (bloom_id_type_is_valid(type)) bloom_id_type_name(type, out);
}

uint32_t glint_bloom_id_bytes(const struct glint_bloom_params *params)
{
    const bool known =
        (unsigned)params->scheme < BLOOM_SCHEMES && bloom_id_type_is_valid(params->id_type);
    return known ? bloom_id_width((enum bloom_scheme)params->scheme, params->id_type) : 0;
}

/* ---- sizes ---- */

static struct bloom_params params_from_public(const struct glint_bloom_params *params)
{
    return (struct bloom_params){.scheme = (enum bloom_scheme)params->scheme,
                                 .n = params->ids,
                                 .m = params->bits,
                                 .k = params->hashes,
                                 .layout = (enum bloom_layout)params->layout,
                                 .id_type = params->id_type};
}

static struct glint_bloom_params params_to_public(const struct bloom_params *params)
{
    return (struct glint_bloom_params){.scheme = (enum glint_bloom_scheme)params->scheme,
                                       .layout = (enum glint_bloom_layout)params->layout,
                                       .ids = params->n,
                                       .bits = params->m,
                                       .hashes = params->k,
                                       .id_type = params->id_type};
}

/* Computes the size for `ids` ids, if `result` is no error. */
static int params_of_sizing(int result, const struct bloom_sizing *sizing, uint64_t ids,
                            struct glint_bloom_params *out_params)
{
    struct bloom_params params = {0};
    if (result == 0) result = bloom_sizing_params(sizing, ids, &params);
    *out_params = result == 0 ? params_to_public(&params) : (struct glint_bloom_params){0};
    return result;
}

int glint_bloom_size_by_rate(enum glint_bloom_scheme scheme, enum glint_bloom_layout layout,
                             uint64_t ids, double rate, struct glint_bloom_params *out_params)
{
    struct bloom_sizing sizing;
    int result =
        bloom_sizing_for_rate((enum bloom_scheme)scheme, (enum bloom_layout)layout, rate, &sizing);
    return params_of_sizing(result, &sizing, ids, out_params);
}

int glint_bloom_size_by_bits(enum glint_bloom_scheme scheme, enum glint_bloom_layout layout,
                             uint64_t ids, double bits_per_id,
                             struct glint_bloom_params *out_params)
{
    struct bloom_sizing sizing;
    int result = bloom_sizing_for_bits((enum bloom_scheme)scheme, (enum bloom_layout)layout,
                                       bits_per_id, &sizing);
    return params_of_sizing(result, &sizing, ids, out_params);
}

int glint_bloom_check(const struct glint_bloom_params *params)
{
    struct bloom_params checked = params_from_public(params);
    return bloom_params_check(&checked);
}

double glint_bloom_expected_rate(const struct glint_bloom_params *params)
{
    struct bloom_params checked = params_from_public(params);
    return bloom_params_check(&checked) == BLOOM_OK ? bloom_expected_rate(&checked) : (double)NAN;
}

/* ---- a filter ---- */

int bloom_public_make(const struct bloom_filter *view, glint_bloom **out_filter)
{
    *out_filter = malloc(sizeof **out_filter);
    if (*out_filter == NULL) return GLINT_BLOOM_ERR_MEMORY;
    **out_filter = (struct glint_bloom){.filter = *view};
    return GLINT_BLOOM_OK;
}

static int filter_create(const struct bloom_params *params, glint_bloom **out_filter)
{
    struct bloom_filter filter;
    *out_filter = NULL;
    int result = bloom_init_bits(&filter, params);
    if (result != 0) return result;
    result = bloom_public_make(&filter, out_filter);
    if (result != 0) bloom_fini(&filter);
    return result;
}

int glint_bloom_create(const struct glint_bloom_params *params, glint_bloom **out_filter)
{
    const struct bloom_params checked = params_from_public(params);
    *out_filter = NULL;
    if (bloom_is_static(checked.layout)) return GLINT_BLOOM_ERR_STATIC;
    return filter_create(&checked, out_filter);
}

/* The seeds are in the memory or file of the original, so a copy needs its own. */
static int copy_seeds_of_filter(glint_bloom *filter)
{
    struct bloom_params *params = &filter->filter.params;
    if (params->seeds == NULL) return GLINT_BLOOM_OK;
    const size_t size = params->k * BLOOM_SEED_BYTES;
    filter->seeds = malloc(size);
    if (filter->seeds == NULL) return GLINT_BLOOM_ERR_MEMORY;
    memcpy(filter->seeds, params->seeds, size);
    params->seeds = filter->seeds;
    return GLINT_BLOOM_OK;
}

int glint_bloom_copy(const glint_bloom *filter, glint_bloom **out_filter)
{
    int result = filter_create(&filter->filter.params, out_filter);
    if (result != 0) return result;
    memcpy((*out_filter)->filter.bits, filter->filter.bits, bloom_bytes(filter->filter.params.m));
    result = copy_seeds_of_filter(*out_filter);
    if (result == 0) return result;
    glint_bloom_destroy(*out_filter);
    *out_filter = NULL;
    return result;
}

void glint_bloom_destroy(glint_bloom *filter)
{
    if (filter == NULL) return;
    bloom_fini(&filter->filter);
    free(filter->seeds);
    free(filter);
}

int glint_bloom_add(glint_bloom *filter, const void *id, size_t size)
{
    const int fixed = bloom_public_check_writable(filter);
    if (fixed != 0) return fixed;
    const uint32_t width = bloom_public_id_bytes(filter);
    if (width > 0 && size != width) return GLINT_BLOOM_ERR_ID_SIZE;
    bloom_add(&filter->filter, id, size);
    return GLINT_BLOOM_OK;
}

int glint_bloom_remove(glint_bloom *filter, const void *id, size_t size)
{
    const int fixed = bloom_public_check_writable(filter);
    if (fixed != 0 && fixed != GLINT_BLOOM_ERR_STATIC) return fixed;
    const uint32_t width = bloom_public_id_bytes(filter);
    if (width > 0 && size != width) return GLINT_BLOOM_ERR_ID_SIZE;
    return bloom_remove(&filter->filter, id, size);
}

int glint_bloom_clear(glint_bloom *filter)
{
    const int fixed = bloom_public_check_writable(filter);
    if (fixed != 0) return fixed;
    memset(filter->filter.bits, 0, bloom_bytes(filter->filter.params.m));
    return GLINT_BLOOM_OK;
}

bool glint_bloom_contains(const glint_bloom *filter, const void *id, size_t size)
{
    if (filter == NULL) return false;
    const uint32_t width = bloom_public_id_bytes(filter);
    return (width == 0 || size == width) && bloom_contains(&filter->filter, id, size);
}

struct glint_bloom_params glint_bloom_params_of(const glint_bloom *filter)
{
    return filter != NULL ? params_to_public(&filter->filter.params)
                          : (struct glint_bloom_params){0};
}

uint64_t glint_bloom_bits_set(const glint_bloom *filter)
{
    return filter != NULL ? bloom_bits_set(&filter->filter) : 0;
}

double glint_bloom_rate(const glint_bloom *filter)
{
    return filter != NULL ? bloom_rate_from_bits(&filter->filter) : 0;
}

double glint_bloom_ids(const glint_bloom *filter)
{
    if (filter == NULL) return 0;
    return bloom_ids_estimate(&filter->filter.params, bloom_bits_set(&filter->filter));
}

const uint8_t *glint_bloom_bits(const glint_bloom *filter, size_t *out_bytes)
{
    *out_bytes = filter != NULL ? bloom_bytes(filter->filter.params.m) : 0;
    return filter != NULL ? filter->filter.bits : NULL;
}

/* ---- two filters ---- */

int glint_bloom_unite(glint_bloom *into, const glint_bloom *from)
{
    const int fixed = bloom_public_check_writable(into);
    if (fixed != 0) return fixed;
    return bloom_union(&into->filter, &from->filter);
}

int glint_bloom_intersect(glint_bloom *into, const glint_bloom *from)
{
    if (bloom_public_read_only(into)) return GLINT_BLOOM_ERR_READ_ONLY;
    if (!bloom_params_equal(&into->filter.params, &from->filter.params))
        return GLINT_BLOOM_ERR_MISMATCH;
    if (bloom_is_static(into->filter.params.layout)) return GLINT_BLOOM_ERR_STATIC;
    const uint64_t bytes = bloom_bytes(into->filter.params.m);
    if (into->filter.params.layout == BLOOM_COUNTING)
        counting_intersect(into->filter.bits, from->filter.bits, bytes);
    else
        for (uint64_t i = 0; i < bytes; i++) into->filter.bits[i] &= from->filter.bits[i];
    return 0;
}

int glint_bloom_union_ids(const glint_bloom *a, const glint_bloom *b, double *out_ids)
{
    uint64_t bits_set;
    *out_ids = 0;
    if (a == NULL || b == NULL) return GLINT_BLOOM_ERR_MISMATCH;
    int result = bloom_union_bits_set(&a->filter, &b->filter, &bits_set);
    if (result == 0) *out_ids = bloom_ids_estimate(&a->filter.params, bits_set);
    return result;
}

/* |A and B| = |A| + |B| - |A or B|. All are estimates, so that the sum may be below 0. */
int glint_bloom_intersection_ids(const glint_bloom *a, const glint_bloom *b, double *out_ids)
{
    double either;
    int result = glint_bloom_union_ids(a, b, &either);
    *out_ids = 0;
    if (result != 0) return result;
    const double in_a = glint_bloom_ids(a), in_b = glint_bloom_ids(b);
    /* If all bits of the union are set, nothing but the smaller one is a limit. */
    const double both = isinf(either) ? fmin(in_a, in_b) : in_a + in_b - either;
    *out_ids = both > 0 ? both : 0;
    return result;
}

/* ---- bytes ---- */

size_t glint_bloom_encoded_size(const glint_bloom *filter)
{
    if (filter == NULL) return 0;
    return bloom_header_size(&filter->filter.params) + bloom_bytes(filter->filter.params.m);
}

int glint_bloom_encode(const glint_bloom *filter, void *out, size_t capacity)
{
    if (capacity < glint_bloom_encoded_size(filter)) return GLINT_BLOOM_ERR_ROOM;
    uint8_t header[BLOOM_HEADER_MAX];
    uint32_t size = bloom_encode_header(&filter->filter, header);
    assert(size == bloom_header_size(&filter->filter.params));
    memcpy(out, header, size);
    memcpy((uint8_t *)out + size, filter->filter.bits, bloom_bytes(filter->filter.params.m));
    return GLINT_BLOOM_OK;
}

int glint_bloom_view(const void *data, size_t size, glint_bloom **out_filter)
{
    struct bloom_filter view;
    *out_filter = NULL;
    int result = bloom_decode(data, size, &view);
    return result == 0 ? bloom_public_make(&view, out_filter) : result;
}

int glint_bloom_decode(const void *data, size_t size, glint_bloom **out_filter)
{
    struct glint_bloom view = {.filter = {.bits = NULL}};
    *out_filter = NULL;
    int result = bloom_decode(data, size, &view.filter);
    return result == 0 ? glint_bloom_copy(&view, out_filter) : result;
}

/* A list is a table whose rows all have the same key: FIELDS_NONE. */
#include "jobs/filters/one_filter.h"

#include "jobs/filters/bloom_pipeline.h"
#include "jobs/filters/sizes_from.h"
#include "jobs/rows/row_counts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* All tasks need the filter at once: use fewer and larger partial filters than elsewhere. */
enum { FEW = 4 };

static int set_sizing_error(struct glint *g, const struct bloom_sizing *kind, const char *option,
                            const char *value, enum bloom_result result)
{
    char about[256];
    snprintf(about, sizeof about, "--%s %.40s, scheme %s, layout %s", option, value,
             bloom_scheme_name(kind->scheme), bloom_layout_name(kind->layout));
    return sizes_set_error(g, result, about);
}

/* Determines which of the three options sets the size of the filter. */
static int choose_size_option(struct glint *g, const struct glint_job_args *args, const char **out)
{
    static const char *const ways[] = {"p", "bits-per-element", "m"};
    *out = NULL;
    for (int i = 0; i < 3; i++) {
        if (glint_job_option(args, ways[i]) == NULL) continue;
        if (*out != NULL)
            return glint_abort(g, GLINT_E_BAD_VALUE, "use one of --p, --bits-per-element and --m",
                               "--%s and --%s both size the filter", *out, ways[i]);
        *out = ways[i];
    }
    if (*out == NULL) *out = "p";
    if (glint_job_option(args, "k") == NULL || strcmp(*out, "p") != 0) return 0;
    return glint_abort(g, GLINT_E_BAD_VALUE, "use --k with --bits-per-element or --m",
                       "--k cannot be set with --p, which determines it");
}

int one_filter_options(struct glint *g, const struct glint_job_args *args, struct one_filter *out)
{
    struct bloom_sizing kind = {.seeded = false}; /* all fields are copied */
    const char *way;
    memset(out, 0, sizeof *out);
    if (sizes_kind_from_options(g, args, &kind) != 0 || choose_size_option(g, args, &way) != 0)
        return glint_error(g)->code;
    if (glint_job_option(args, "k") != NULL)
        out->k = (uint32_t)glint_job_i64(g, args, "k", 1, BLOOM_K_MAX);
    const char *value = glint_job_option(args, way);
    enum bloom_result result = BLOOM_OK;
    if (strcmp(way, "m") == 0) {
        out->sizing = kind;
        out->m = (uint64_t)glint_job_i64(g, args, "m", 1, (int64_t)BLOOM_M_MAX);
    } else if (strcmp(way, "p") == 0) {
        double p = value != NULL ? glint_job_f64(g, args, "p") : 0.01;
        result = bloom_sizing_for_rate(kind.scheme, kind.layout, p, &out->sizing);
    } else {
        double bits = glint_job_f64(g, args, "bits-per-element");
        result = bloom_sizing_for_bits(kind.scheme, kind.layout, bits, &out->sizing);
    }
    if (result == BLOOM_OK && sizes_seeds_from_options(g, args, &out->sizing) != 0)
        return glint_error(g)->code;
    if (result == BLOOM_OK && sizes_hash_seed_from_options(g, args, &out->sizing) != 0)
        return glint_error(g)->code;
    if (out->k > 0) out->sizing.k = out->k;
    if (result == BLOOM_OK || glint_error(g)->code != GLINT_OK) return glint_error(g)->code;
    return set_sizing_error(g, &kind, way, value != NULL ? value : "", result);
}

int one_filter_count_rows(struct glint_rdd *lines, const struct fields *fields, const char *about,
                          uint64_t *out)
{
    if (lines == NULL) return GLINT_E_PLAN_FUNCTION;
    struct glint *g = glint_context(lines);
    struct glint_args *columns = glint_args(g);
    int64_t rows = 0;
    fields_args(columns, fields);
    int r = glint_count(glint_map(lines, &count_number, columns), &rows);
    if (rows == 0 && glint_explaining(g)) rows = (int64_t)sizes_estimate_rows(lines);
    *out = (uint64_t)rows;
    if (r != 0 || rows > 0) return r;
    return glint_abort(g, GLINT_E_COUNTS_INVALID, "the input is empty, or no row is valid",
                       "%s: no elements", about);
}

/* m bits are sized as m / n bits per element, which determines k; m itself is not changed by
 * rounding. */
static enum bloom_result params_of_bit_count(const struct one_filter *choice, uint64_t n,
                                             struct bloom_params *out)
{
    struct bloom_sizing sizing;
    const struct bloom_sizing *kind = &choice->sizing;
    enum bloom_result result =
        bloom_sizing_for_bits(kind->scheme, kind->layout, (double)choice->m / (double)n, &sizing);
    if (result == BLOOM_OK && kind->seeded) result = bloom_sizing_seed(&sizing, kind->seeds);
    if (result != BLOOM_OK) return result;
    *out = (struct bloom_params){.scheme = kind->scheme,
                                 .layout = kind->layout,
                                 .n = n,
                                 .m = choice->m,
                                 .k = choice->k > 0 ? choice->k : sizing.k,
                                 .seeds = kind->seeded ? kind->seeds : NULL,
                                 .hash_seed = {kind->hash_seed[0], kind->hash_seed[1]},
                                 .id_type = kind->id_type};
    return bloom_params_check(out);
}

int one_filter_sizes(struct glint *g, const struct one_filter *choice, uint64_t n,
                     struct sizes *out)
{
    struct bloom_params params;
    char about[96];
    assert(n > 0);
    *out = (struct sizes){.count = 0};
    enum bloom_result result = choice->m > 0 ? params_of_bit_count(choice, n, &params)
                                             : bloom_sizing_params(&choice->sizing, n, &params);
    if (result != BLOOM_OK) {
        snprintf(about, sizeof about, "a filter of %llu elements", (unsigned long long)n);
        return sizes_set_error(g, result, about);
    }
    out->keys = glint_alloc(g, sizeof *out->keys);
    out->params = glint_alloc(g, sizeof *out->params);
    out->present = glint_alloc(g, sizeof *out->present);
    if (out->keys == NULL || out->params == NULL || out->present == NULL)
        return glint_error(g)->code;
    if (sizes_set_seeds(g, out, params.seeds, BLOOM_SEEDS_MAX) != 0) return glint_error(g)->code;
    params.seeds = out->seeds;
    out->count = 1;
    out->keys[0].i64 = 0;
    out->params[0] = params;
    out->present[0] = true;
    out->rows = n;
    out->bits_bytes = bloom_bytes(params.m);
    return 0;
}

int built_filter_make(struct glint_rdd *sample, const struct fields *fields, const char *path,
                      const struct one_filter *choice, struct built_filter *out)
{
    uint64_t n;
    *out = (struct built_filter){.bits_set = 0};
    int r = one_filter_count_rows(sample, fields, path, &n);
    if (r == 0) r = one_filter_sizes(glint_context(sample), choice, n, &out->sizes);
    if (r != 0) return r;
    struct glint *g = glint_context(sample);
    struct glint_rdd *lines =
        fields_text_file(g, path, fields); /* the lines of `sample` are split already */
    if (lines == NULL) return glint_error(g)->code;
    lines = glint_with_split_bytes(lines, FEW * bloom_split_bytes(&out->sizes));
    enum bloom_method method = bloom_method_choose(g, &out->sizes, glint_partitions(lines));
    struct glint_rdd *filter = bloom_pipeline(lines, &out->sizes, method, fields);
    out->broadcast = filters_broadcast(filter, &out->sizes, path, &out->bits_set, &out->rate);
    return glint_error(g)->code;
}

int built_filter_read(struct glint *g, const char *path, struct built_filter *out)
{
    const struct glint_schema schema = {GLINT_I64, GLINT_MSGPACK};
    struct glint_rdd *filters = glint_msgpack_file_by_name(g, path, schema);
    *out = (struct built_filter){.bits_set = 0};
    int r = sizes_from_filters(filters, false, path, &out->sizes);
    if (r != 0) return r;
    if (sizes_check_text_ids(g, &out->sizes, path) != 0) return glint_error(g)->code;
    if (out->sizes.count > 1)
        return glint_abort(g, GLINT_E_FILTER_MISMATCH, "use the output of union",
                           "%s: %u filters, expected one", path, out->sizes.count);
    out->broadcast = filters_broadcast(filters, &out->sizes, path, &out->bits_set, &out->rate);
    return glint_error(g)->code;
}

void built_filter_fini(struct built_filter *b)
{
    sizes_fini(&b->sizes);
}

/* The options for the size and the hashing of filters. */
#include "jobs/bloom/formats.h"
#include "jobs/filters/sizes.h"
#include "jobs/generate/draw.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { POLY_ABS_SEEDS_END = 100 };

static int sizing_of_format(struct glint *g, const struct glint_job_args *args, const char *name,
                            struct bloom_sizing *out)
{
    enum bloom_format format = BLOOM_FORMAT_BITS;
    bloom_format_parse(name, strlen(name), &format);
    assert(format != BLOOM_FORMAT_BITS);
    if (glint_job_option(args, "scheme") != NULL || out->layout != BLOOM_CLASSIC)
        return glint_abort(g, GLINT_E_USAGE, "use only one of them",
                           "--format %s implies --scheme %s --layout %s", name,
                           bloom_scheme_name(bloom_format_scheme(format)),
                           bloom_layout_name(bloom_format_layout(format)));
    out->scheme = bloom_format_scheme(format);
    out->layout = bloom_format_layout(format);
    return 0;
}

int sizes_kind_from_options(struct glint *g, const struct glint_job_args *args,
                            struct bloom_sizing *out)
{
    const char *layout = glint_job_option(args, "layout"),
               *scheme = glint_job_option(args, "scheme"),
               *format = glint_job_option(args, "format");
    bloom_layout_parse(layout, strlen(layout), &out->layout);
    if (format != NULL) return sizing_of_format(g, args, format, out);
    out->scheme = bloom_layout_scheme(out->layout);
    if (scheme != NULL) bloom_scheme_parse(scheme, strlen(scheme), &out->scheme);
    return 0;
}

int sizes_sizing_from_options(struct glint *g, const struct glint_job_args *args, double p,
                              struct bloom_sizing *out)
{
    struct bloom_sizing kind;
    char about[128];
    if (sizes_kind_from_options(g, args, &kind) != 0) return glint_error(g)->code;
    enum bloom_result result = bloom_sizing_for_rate(kind.scheme, kind.layout, p, out);
    if (result == BLOOM_OK) return sizes_seeds_from_options(g, args, out);
    snprintf(about, sizeof about, "P = %g, scheme %s, layout %s", p, bloom_scheme_name(kind.scheme),
             bloom_layout_name(kind.layout));
    return sizes_set_error(g, result, about);
}

int sizes_probability(struct glint *g, const char *text, double *out)
{
    struct glint_slice s = {(const uint8_t *)text, strlen(text)};
    if (glint_parse_f64(s, out) && *out > 0 && *out < 1) return 0;
    return glint_abort(g, GLINT_E_BAD_VALUE, "use a false positive probability such as 0.01",
                       "P \"%s\" is not a number between 0 and 1", text);
}

int sizes_arguments(struct glint *g, const struct glint_job_args *args, uint32_t full,
                    const char *forms, struct sizes_source *out, const char **out_rest)
{
    const char *params = glint_job_option(args, "params"), *const *given = args->positional;
    const uint32_t want = params != NULL ? full - 2 : full, rest = full - 2;
    assert(full > 2);
    if (params != NULL && args->count == full)
        return glint_abort(g, GLINT_E_USAGE, forms,
                           "--params has each key's size; P and COUNTS cannot be given");
    if (args->count != want)
        return glint_abort(g, GLINT_E_USAGE, forms, "%u arguments, expected %u%s", args->count,
                           want, params != NULL ? "" : ", and no --params");
    *out = (struct sizes_source){.path = params, .params = params != NULL};
    for (uint32_t i = 0; i < rest; i++)
        out_rest[i] = params != NULL ? given[i] : given[i + 1 < rest ? i + 1 : full - 1];
    if (params != NULL) return 0;
    out->path = given[full - 2];
    return sizes_probability(g, given[0], &out->p);
}

int sizes_set_too_many_error(struct glint *g, const struct sizes_source *source, const char *name)
{
    return glint_abort(g, GLINT_E_FILTER_LIMIT, "use --strategy ids, or auto",
                       "%s: --strategy %s broadcasts the sizes of at most %d keys, in an eighth of "
                       "a slot's memory",
                       source->path, name, BLOOM_SET_MAX);
}

/* ---- --seeds */

void sizes_draw_seeds(enum bloom_scheme scheme, uint64_t seed, uint8_t *out)
{
    const uint64_t stream = draw_stream(seed);
    const uint64_t end = scheme == BLOOM_POLY_ABS ? POLY_ABS_SEEDS_END : (uint64_t)INT32_MAX + 1;
    for (uint32_t i = 0; i < BLOOM_K_MAX; i++) {
        const uint32_t drawn = (uint32_t)draw_below(stream, i, end);
        static_assert(sizeof drawn == BLOOM_SEED_BYTES, "little-endian, as in the library");
        memcpy(out + i * sizeof drawn, &drawn, sizeof drawn);
    }
}

bool sizes_seeds_random(const struct glint_job_args *args)
{
    return strcmp(glint_job_option(args, "seeds"), "random") == 0;
}

int sizes_seeds_from_options(struct glint *g, const struct glint_job_args *args,
                             struct bloom_sizing *sizing)
{
    uint8_t seeds[BLOOM_K_MAX * BLOOM_SEED_BYTES];
    const int64_t seed = glint_job_i64(g, args, "seed", 0, INT64_MAX);
    if (!sizes_seeds_random(args)) return glint_error(g)->code;
    sizes_draw_seeds(sizing->scheme, (uint64_t)seed, seeds);
    if (bloom_sizing_seed(sizing, seeds) == BLOOM_OK) return 0;
    return glint_abort(g, GLINT_E_BAD_VALUE, "use --scheme poly-abs or --scheme poly-mod",
                       "--seeds random: the scheme %s has no seeds",
                       bloom_scheme_name(sizing->scheme));
}

/* The options for the size and the hashing of filters. */
#include "jobs/bloom/formats.h"
#include "jobs/filters/sizes.h"
#include "jobs/generate/draw.h"
#include "jobs/rows/id_values.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { POLY_ABS_SEEDS_END = 100 };

/* Decimal digits of at most 64 bits. */
static bool parse_seed(const char *text, uint64_t *out)
{
    *out = 0;
    for (const char *at = text; *at != '\0'; at++)
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*at - '0'), out))
            return false;
    return *text != '\0';
}

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
    *out = (struct bloom_sizing){.k = 0};
    bloom_layout_parse(layout, strlen(layout), &out->layout);
    out->scheme = bloom_layout_scheme(out->layout);
    if (format != NULL && sizing_of_format(g, args, format, out) != 0) return glint_error(g)->code;
    if (scheme != NULL) bloom_scheme_parse(scheme, strlen(scheme), &out->scheme);
    out->hash_seed[0] = bloom_class_seed(out->scheme);
    return 0;
}

int sizes_sizing_from_options(struct glint *g, const struct glint_job_args *args, double p,
                              struct bloom_sizing *out)
{
    struct bloom_sizing kind;
    char about[128];
    if (sizes_kind_from_options(g, args, &kind) != 0) return glint_error(g)->code;
    enum bloom_result result = bloom_sizing_for_rate(kind.scheme, kind.layout, p, out);
    if (result == BLOOM_OK && sizes_hash_seed_from_options(g, args, out) != 0)
        return glint_error(g)->code;
    if (result == BLOOM_OK) return sizes_seeds_from_options(g, args, out);
    snprintf(about, sizeof about, "P = %g, scheme %s, layout %s", p, bloom_scheme_name(kind.scheme),
             bloom_layout_name(kind.layout));
    return sizes_set_error(g, result, about);
}

/* Parses P. Returns 0 or the context's code. */
static int sizes_parse_probability(struct glint *g, const char *text, double *out)
{
    struct glint_slice s = {(const uint8_t *)text, strlen(text)};
    if (glint_parse_f64(s, out) && *out > 0 && *out < 1) return 0;
    return glint_abort(g, GLINT_E_BAD_VALUE, "use a false positive probability such as 0.01",
                       "P \"%s\" is not a number between 0 and 1", text);
}

int sizes_read_arguments(struct glint *g, const struct glint_job_args *args, uint32_t full,
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
    return sizes_parse_probability(g, given[0], &out->p);
}

int sizes_set_too_many_error(struct glint *g, const struct sizes_source *source, const char *name)
{
    return glint_abort(g, GLINT_E_FILTER_LIMIT, "use --strategy ids, or auto",
                       "%s: --strategy %s broadcasts the sizes of at most %d keys, in an eighth of "
                       "a slot's memory",
                       source->path, name, BLOOM_SET_MAX);
}

/* ---- --seeds */

void sizes_draw_hash_seeds(enum bloom_scheme scheme, uint64_t seed, uint8_t *out)
{
    const uint64_t stream = draw_stream(seed);
    const uint64_t end = scheme == BLOOM_POLY_ABS ? POLY_ABS_SEEDS_END : (uint64_t)INT32_MAX + 1;
    for (uint32_t i = 0; i < BLOOM_SEEDS_MAX; i++) {
        const uint32_t drawn = (uint32_t)draw_below(stream, i, end);
        static_assert(sizeof drawn == BLOOM_SEED_BYTES, "little-endian, as in the library");
        memcpy(out + i * sizeof drawn, &drawn, sizeof drawn);
    }
}

int sizes_hash_seed_from_options(struct glint *g, const struct glint_job_args *args,
                                 struct bloom_sizing *sizing)
{
    const char *text = glint_job_option(args, "hash-seed");
    const uint32_t bits = bloom_hash_seed_bits(sizing->scheme);
    uint64_t seed = 0, lowest = bits == 0 || bits >= 64 ? 0 : UINT64_MAX << bits;
    if (text == NULL) return 0;
    if (bits == 0)
        return glint_abort(g, GLINT_E_BAD_VALUE,
                           "use --format spark-v2, datasketches, npm-bloom or fastbloom",
                           "--hash-seed %s: the hash of scheme %s has no seed", text,
                           bloom_scheme_name(sizing->scheme));
    const bool java = bits == 32 || bits == 64; /* an int or a long, which may be negative */
    const bool negative = java && text[0] == '-';
    if (!parse_seed(text + negative, &seed) || (seed & lowest) != 0 ||
        (negative && seed > 1ull << (bits - 1)) || (bits == 32 && !negative && seed > INT32_MAX))
        return glint_abort(g, GLINT_E_BAD_VALUE, NULL,
                           "--hash-seed %s: it must be a whole number of %u bits%s", text,
                           bits > 64 ? 64 : bits, bits == 32 ? ", signed" : "");
    sizing->hash_seed[0] = negative ? (0 - seed) & ~lowest : seed;
    sizing->hash_seed[1] = 0;
    return 0;
}

bool sizes_seeds_random(const struct glint_job_args *args)
{
    return strcmp(glint_job_option(args, "seeds"), "random") == 0;
}

int sizes_seeds_from_options(struct glint *g, const struct glint_job_args *args,
                             struct bloom_sizing *sizing)
{
    uint8_t seeds[BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES];
    const int64_t seed = glint_job_i64(g, args, "seed", 0, INT64_MAX);
    if (!sizes_seeds_random(args)) return glint_error(g)->code;
    sizes_draw_hash_seeds(sizing->scheme, (uint64_t)seed, seeds);
    if (bloom_sizing_seed(sizing, seeds) == BLOOM_OK) return 0;
    return glint_abort(g, GLINT_E_BAD_VALUE, "use --scheme poly-abs or --scheme poly-mod",
                       "--seeds random: the scheme %s has no seeds",
                       bloom_scheme_name(sizing->scheme));
}

/* ---- --id-type */

static const struct glint_column_type *type_of_id_column(struct glint *g, const char *paths,
                                                         uint32_t column)
{
    uint32_t count = 0;
    struct glint_rdd *lines = fields_source(glint_text_file(g, paths), FIELDS_COLUMNS, false);
    const struct glint_column_type *types = glint_column_types(lines, &count);
    if (glint_error(g)->code != GLINT_OK) return NULL;
    assert(column < count);
    return &types[column];
}

static int id_type_of_column(struct glint *g, const char *paths, const struct fields *fields,
                             uint32_t *out)
{
    if (fields->csv != FIELDS_COLUMNS)
        return glint_abort(g, GLINT_E_USAGE, "name the type, such as --id-type i64",
                           "--id-type column is for Parquet and Arrow files");
    const struct glint_column_type *column = type_of_id_column(g, paths, fields->id_column);
    if (column == NULL || id_type_of_arrow(column->type, out)) return glint_error(g)->code;
    return glint_abort(g, GLINT_E_BAD_VALUE, "name the type of ids that its values are",
                       "--id-type column: %s: the column %s has the type %s of Arrow, which is "
                       "none of " BLOOM_ID_TYPES,
                       paths, column->name, column->type);
}

void sizes_warn_of_text_ids(struct glint *g, const struct glint_job_args *args, const char *paths,
                            const struct fields *fields)
{
    if (fields->csv != FIELDS_COLUMNS || fields->id_type != 0 ||
        glint_job_option(args, "id-type") != NULL || glint_error(g)->code != GLINT_OK)
        return;
    const struct glint_column_type *id = type_of_id_column(g, paths, fields->id_column);
    const char *const difference = id != NULL ? id_text_difference(id->type) : NULL;
    if (difference != NULL)
        glint_warn(g,
                   "ids are the texts of the column %s: %s; bloom-build --id-type has types, whose "
                   "equal values are one id",
                   id->name, difference);
}

static int parse_id_type_option(struct glint *g, const char *text, uint32_t *out)
{
    if (bloom_id_type_parse(text, strlen(text), out)) return 0;
    return glint_abort(g, GLINT_E_BAD_VALUE, "use " BLOOM_ID_TYPES ", with P from 1 to 18",
                       "--id-type %s: there is no such type of ids", text);
}

int sizes_id_type_from_options(struct glint *g, const struct glint_job_args *args,
                               const char *paths, const struct fields *fields,
                               struct bloom_sizing *sizing)
{
    const char *text = glint_job_option(args, "id-type");
    char problem[128], hint[256];
    if (text == NULL) return glint_error(g)->code;
    const int r = strcmp(text, "column") == 0
                      ? id_type_of_column(g, paths, fields, &sizing->id_type)
                      : parse_id_type_option(g, text, &sizing->id_type);
    if (r != 0 || !id_type_problem(sizing->scheme, sizing->id_type, problem, sizeof problem, hint,
                                   sizeof hint))
        return r;
    return glint_abort(g, GLINT_E_BAD_VALUE, hint, "--id-type %s: %s", text, problem);
}

int sizes_use_id_type(struct glint *g, const struct glint_job_args *args, const char *about,
                      const struct bloom_params *filters, struct fields *fields)
{
    const char *text = glint_job_option(args, "id-type");
    uint32_t given = filters->id_type;
    assert(bloom_id_has_rule(filters->scheme, filters->id_type));
    char name[BLOOM_ID_NAME_MAX];
    fields->id_type = filters->id_type;
    fields->id_width = bloom_id_width(filters->scheme, filters->id_type);
    if (text != NULL && parse_id_type_option(g, text, &given) != 0) return glint_error(g)->code;
    if (given == filters->id_type) return 0;
    bloom_id_type_name(filters->id_type, name);
    return glint_abort(g, GLINT_E_FILTER_MISMATCH, "leave out --id-type: the filters say it",
                       "--id-type %s: the ids of %s are %s", text, about, name);
}

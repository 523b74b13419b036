/* bloom-build: a Bloom filter per key, sized by COUNTS for false positive probability P.
 *
 * Two strategies, the same bytes:
 *   indexes   what the Spark program does: each row becomes (key, its k bit indexes), the indexes
 * of a key are concatenated, the filter is filled from them partials  each partition fills a filter
 * per key, the filters of a key are ORed The first moves about k indexes per row between the
 * stages, the second a set of filters per task. */
#include "jobs/bloom_functions.h"
#include "jobs/jobs.h"
#include "jobs/sizes.h"

#include <assert.h>
#include <string.h>

enum { PARTIAL_SPLIT_FACTOR = 8 }; /* a split has at least so many bytes per byte of filters */

struct plan {
    struct glint *g;
    const char *const *paths; /* P INPUT COUNTS OUTPUT */
    struct fields fields;
    struct sizes sizes;
    bool partials;
};

/* Splits of the partials strategy: few enough that the filters they ship stay small beside them. */
static uint64_t partial_split_bytes(const struct sizes *s)
{
    return s->bits_bytes * PARTIAL_SPLIT_FACTOR;
}

/* Bytes between the stages, and what a slot must hold. */
struct estimate {
    uint64_t indexes, partials, partials_memory;
};

static struct estimate estimate_costs(const struct plan *p, struct glint_rdd *lines)
{
    const struct sizes *s = &p->sizes;
    struct estimate e = {.partials_memory = s->bits_bytes * 2};
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t varint = 1;
        for (uint64_t m = s->params[i].m >> 7; m > 0; m >>= 7) varint++;
        e.indexes += s->params[i].n * s->params[i].k * varint;
    }
    assert(s->bits_bytes > 0 && s->rows > 0);
    uint64_t split = partial_split_bytes(s), tasks = 1 + glint_input_bytes(lines) / (split + 1);
    e.partials = tasks * s->bits_bytes;
    return e;
}

static int choose_strategy(struct plan *p, const char *name, struct glint_rdd *lines)
{
    struct estimate e = estimate_costs(p, lines);
    uint64_t memory = glint_slot_memory(p->g);
    bool fits = e.partials_memory <= memory;
    if (strcmp(name, "auto") == 0)
        p->partials = fits && e.partials <= e.indexes;
    else if (strcmp(name, "partials") == 0)
        p->partials = true;
    else if (strcmp(name, "indexes") == 0)
        p->partials = false;
    else
        return glint_abort(p->g, GLINT_E_BAD_VALUE, "auto, indexes or partials",
                           "--strategy \"%s\" is none", name);
    if (glint_explaining(p->g)) {
        glint_note(p->g, "filters: %u keys, %llu rows, %llu bytes in all", p->sizes.count,
                   (unsigned long long)p->sizes.rows, (unsigned long long)p->sizes.bits_bytes);
        glint_note(p->g, "between stages: indexes about %llu bytes, partials about %llu bytes",
                   (unsigned long long)e.indexes, (unsigned long long)e.partials);
        glint_note(p->g, "a slot has %llu bytes, partials need %llu", (unsigned long long)memory,
                   (unsigned long long)e.partials_memory);
        glint_note(p->g, "strategy: %s%s", p->partials ? "partials" : "indexes",
                   strcmp(name, "auto") == 0 ? " (auto)" : "");
    }
    if (!p->partials || fits) return 0;
    return glint_abort(p->g, GLINT_E_MEMORY_LIMIT, "raise --memory, or use --strategy indexes",
                       "partials need %llu bytes per slot, --memory gives %llu",
                       (unsigned long long)e.partials_memory, (unsigned long long)memory);
}

static struct glint_args *function_args(const struct plan *p)
{
    assert(p->sizes.count > 0);
    struct glint_args *args = glint_args(p->g);
    fields_args(args, &p->fields);
    glint_args_broadcast(args, "sizes", sizes_broadcast(p->g, &p->sizes));
    return args;
}

static void build_indexes(const struct plan *p, struct glint_rdd *lines, struct glint_args *args)
{
    const char *index = p->sizes.text ? "bloom.text_indexes" : "bloom.rating_indexes";
    struct glint_rdd *indexes = glint_map(lines, index, args);
    struct glint_rdd *merged = glint_reduce_by_key(indexes, "bloom.extend", NULL);
    struct glint_rdd *filters = glint_map_values(merged, "bloom.fill", args);
    glint_save_as_msgpack_file(filters, p->paths[3]);
}

static void build_partials(const struct plan *p, struct glint_rdd *lines, struct glint_args *args)
{
    const char *fill = p->sizes.text ? "bloom.text_partials" : "bloom.rating_partials";
    lines = glint_with_split_bytes(lines, partial_split_bytes(&p->sizes));
    struct glint_rdd *partials = glint_map_partitions(lines, fill, args);
    struct glint_rdd *merged = glint_reduce_by_key(partials, "bloom.or", NULL);
    struct glint_rdd *filters = glint_map_values(merged, "bloom.seal", args);
    glint_save_as_msgpack_file(filters, p->paths[3]);
}

static int build_run(struct glint *g, const struct glint_job_args *args)
{
    struct plan p = {.g = g, .paths = args->positional};
    struct bloom_sizing sizing;
    double probability;
    if (sizes_probability(g, p.paths[0], &probability) != 0 ||
        sizes_sizing(g, args, probability, &sizing) != 0 || fields_options(g, args, &p.fields) != 0)
        return glint_error(g)->code;
    struct glint_rdd *lines = glint_text_file(g, p.paths[1]);
    int r = sizes_read(g, p.paths[2], &p.fields, &sizing, &p.sizes);
    if (r == 0) r = choose_strategy(&p, glint_job_option(args, "strategy"), lines);
    if (r == 0) {
        struct glint_args *function = function_args(&p);
        if (p.partials)
            build_partials(&p, lines, function);
        else
            build_indexes(&p, lines, function);
    }
    sizes_fini(&p.sizes);
    return glint_error(g)->code;
}

static const char *const positional[] = {"P", "INPUT", "COUNTS", "OUTPUT", NULL};
static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    SIZES_OPTIONS,
    {"strategy", "NAME", "auto", "what goes between the stages: auto, indexes, partials"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job bloom_build_job = {
    .name = "bloom-build",
    .summary = "build a Bloom filter per key",
    .help =
        "P is the false positive probability, COUNTS what count-keys saved for INPUT. Saves the "
        "filters as msgpack; docs/filter-format.md pictures the file.",
    .positional = positional,
    .options = options,
    .run = build_run};

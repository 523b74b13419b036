/* bloom-build: a Bloom filter per key, sized by COUNTS for false positive probability P.
 *
 * Two strategies, the same bytes:
 *   indexes   what the Spark program does: each row becomes (key, its k bit indexes), the indexes
 * of a key are concatenated, the filter is filled from them partials  each partition fills a filter
 * per key, the filters of a key are ORed The first moves about k indexes per row between the
 * stages, the second a set of filters per task. */
#include "jobs/bloom_chain.h"
#include "jobs/jobs.h"

#include <assert.h>
#include <string.h>

struct plan {
    struct glint *g;
    const char *const *paths; /* P INPUT COUNTS OUTPUT */
    struct fields fields;
    struct sizes sizes;
    enum bloom_way lists; /* what strategy indexes is */
    bool partials;
};

/* Bytes between the stages, and what a slot must hold. */
struct estimate {
    uint64_t indexes, partials, partials_memory;
};

static struct estimate estimate_costs(const struct plan *p, struct glint_rdd *lines)
{
    const struct sizes *s = &p->sizes;
    assert(s->bits_bytes > 0 && s->rows > 0);
    uint64_t tasks = 1 + glint_input_bytes(lines) / (bloom_split_bytes(s) + 1);
    return (struct estimate){.indexes = bloom_way_bytes(s, p->lists, 0),
                             .partials = bloom_way_bytes(s, BLOOM_PARTIALS, tasks),
                             .partials_memory = s->bits_bytes * 2};
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

/* --coding: how strategy indexes writes an index. */
static int choose_coding(struct plan *p, const char *name)
{
    bool fixed = strcmp(name, "fixed") == 0;
    p->lists = fixed ? BLOOM_LISTS_FIXED : BLOOM_LISTS_VARINT;
    if (fixed || strcmp(name, "varint") == 0) return 0;
    return glint_abort(p->g, GLINT_E_BAD_VALUE, "varint or fixed", "--coding \"%s\" is none", name);
}

static int build_run(struct glint *g, const struct glint_job_args *args)
{
    struct plan p = {.g = g, .paths = args->positional};
    struct bloom_sizing sizing;
    double probability;
    if (sizes_probability(g, p.paths[0], &probability) != 0 ||
        sizes_sizing(g, args, probability, &sizing) != 0 ||
        fields_options(g, args, &p.fields) != 0 ||
        choose_coding(&p, glint_job_option(args, "coding")) != 0)
        return glint_error(g)->code;
    struct glint_rdd *lines = glint_text_file(g, p.paths[1]);
    int r = sizes_read(g, p.paths[2], &p.fields, &sizing, &p.sizes);
    if (r == 0) r = choose_strategy(&p, glint_job_option(args, "strategy"), lines);
    if (r == 0) {
        if (p.partials) lines = glint_with_split_bytes(lines, bloom_split_bytes(&p.sizes));
        enum bloom_way way = p.partials ? BLOOM_PARTIALS : p.lists;
        glint_save_as_msgpack_file(bloom_chain(lines, &p.sizes, way, &p.fields), p.paths[3]);
    }
    sizes_fini(&p.sizes);
    return glint_error(g)->code;
}

static const char *const positional[] = {"P", "INPUT", "COUNTS", "OUTPUT", NULL};
static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    SIZES_OPTIONS,
    {"strategy", "NAME", "auto", "what goes between the stages: auto, indexes, partials"},
    {"coding", "NAME", "varint", "how strategy indexes writes an index: varint, fixed"},
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

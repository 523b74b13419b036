/* bloom-build: builds a Bloom filter per key, sized by COUNTS for false positive probability P, or
 * individually by PARAMS.
 *
 * Four strategies give the same bits; they differ in what is shuffled and what a slot must hold:
 *
 *     indexes    each row as (key, its k bit indexes): k numbers per row; one filter
 *     partials   a filter per key and task, combined by OR; all filters
 *     segments   as indexes, but each filter is split into ranges of bits; one range
 *     ids        each row as (key, its id), joined with the key's size (ids.h); one filter
 *
 * The Spark program does the same as indexes. All but ids broadcast the sizes of all keys. */
#include "engine/base/text.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/bloom_pipeline.h"
#include "jobs/filters/exact_build.h"
#include "jobs/filters/filter_report.h"
#include "jobs/filters/fuse_build.h"
#include "jobs/filters/ids.h"
#include "jobs/filters/segments.h"
#include "jobs/filters/sizes_from.h"

#include <assert.h>
#include <string.h>

enum { BUILD_ROWS = 100 }; /* rows that go into a build's number */

enum build_strategy { BUILD_INDEXES, BUILD_PARTIALS, BUILD_SEGMENTS, BUILD_IDS, BUILD_STRATEGIES };
static const char *const strategy_names[BUILD_STRATEGIES] = {"indexes", "partials", "segments",
                                                             "ids"};

struct build_plan {
    struct glint *g;
    const char *paths[2]; /* INPUT OUTPUT */
    const struct glint_job_args *args;
    struct sizes_source source;
    struct fields fields;
    struct sizes sizes;
    struct bloom_sizing sizing;
    enum bloom_method lists; /* the encoding of strategy indexes */
    bool chosen;             /* the strategy was chosen by the job */
    enum build_strategy strategy;
    uint32_t log2;        /* log2 of a segment's bits */
    const char *filters;  /* --like, --add-to: filters with the sizes; NULL: COUNTS or PARAMS */
    bool add;             /* the rows are added to them */
    bool remove;          /* the rows are removed from them */
    const char *universe; /* --universe, with --exact; else NULL */
    struct fields other;  /* of its rows */
};

/* Shuffle bytes, and memory needed per slot. */
struct estimate {
    uint64_t indexes, partials, memory[BUILD_STRATEGIES];
};

static struct estimate estimate_strategy_costs(const struct build_plan *p, struct glint_rdd *lines)
{
    const struct sizes *s = &p->sizes;
    assert(s->bits_bytes > 0 && s->rows > 0);
    const uint64_t tasks = 1 + glint_input_bytes(lines) / (bloom_split_bytes(s) + 1);
    return (struct estimate){
        .indexes = bloom_method_bytes(s, p->lists, 0),
        .partials = bloom_method_bytes(s, BLOOM_PARTIALS, tasks),
        .memory = {[BUILD_INDEXES] = bloom_largest_bytes(s), [BUILD_PARTIALS] = s->bits_bytes * 2}};
}

static void note_strategy_estimate(const struct build_plan *p, const struct estimate *e,
                                   uint64_t memory)
{
    glint_note(p->g, "filters: %u keys, %llu rows, %llu bytes in total", p->sizes.count,
               (unsigned long long)p->sizes.rows, (unsigned long long)p->sizes.bits_bytes);
    glint_note(p->g, "shuffle: indexes about %llu bytes, partials about %llu bytes",
               (unsigned long long)e->indexes, (unsigned long long)e->partials);
    glint_note(p->g, "a slot has %llu bytes, indexes need %llu, partials %llu",
               (unsigned long long)memory, (unsigned long long)e->memory[BUILD_INDEXES],
               (unsigned long long)e->memory[BUILD_PARTIALS]);
    glint_note(p->g, "strategy: %s%s", strategy_names[p->strategy], p->chosen ? " (auto)" : "");
}

/* The strategy with the fewest shuffle bytes of those that fit a slot's memory; segments always
 * fit. */
static enum build_strategy cheapest_strategy(const struct estimate *e, uint64_t memory)
{
    if (e->memory[BUILD_PARTIALS] <= memory && e->partials <= e->indexes) return BUILD_PARTIALS;
    return e->memory[BUILD_INDEXES] <= memory ? BUILD_INDEXES : BUILD_SEGMENTS;
}

/* Reads --strategy, which may leave the choice open. */
static int read_build_strategy(struct build_plan *p)
{
    const char *name = glint_job_option(p->args, "strategy");
    p->chosen = strcmp(name, "auto") == 0;
    p->strategy = BUILD_INDEXES;
    while (!p->chosen && strcmp(name, strategy_names[p->strategy]) != 0) {
        p->strategy++;
        assert(p->strategy < BUILD_STRATEGIES);
    }
    if (p->chosen || p->strategy == BUILD_SEGMENTS ||
        glint_job_option(p->args, "segment-size") == NULL)
        return 0;
    return glint_abort(p->g, GLINT_E_USAGE, "use only one of them",
                       "--segment-size has no effect with --strategy %s", name);
}

/* Uses strategy ids if the sizes are too many to be broadcast: the driver does not read the rest of
 * them. */
static int choose_ids_strategy(struct build_plan *p)
{
    if (bloom_is_static(p->sizing.layout))
        return glint_abort(p->g, GLINT_E_FILTER_LIMIT,
                           p->universe != NULL ? "raise --memory, or split the universe by its keys"
                                               : "use --layout split-block",
                           "%s: --layout %s broadcasts the sizes of at most %d keys, in an eighth "
                           "of a slot's memory",
                           p->source.path, bloom_layout_name(p->sizing.layout), BLOOM_SET_MAX);
    if (!p->chosen && p->strategy != BUILD_IDS)
        return sizes_set_too_many_error(p->g, &p->source, strategy_names[p->strategy]);
    if (glint_explaining(p->g) && p->chosen)
        glint_note(
            p->g,
            "%s: more than %d keys, or than an eighth of a slot's memory: the sizes are joined",
            p->source.path, BLOOM_SET_MAX);
    if (glint_explaining(p->g)) glint_note(p->g, "strategy: ids%s", p->chosen ? " (auto)" : "");
    p->strategy = BUILD_IDS;
    return 0;
}

static int set_no_counters_error(const struct build_plan *p, uint64_t need)
{
    const uint64_t memory = glint_slot_memory(p->g);
    if (need <= memory)
        return glint_abort(p->g, GLINT_E_USAGE, "leave out --strategy",
                           "filters in segments have no counters");
    return glint_abort(p->g, GLINT_E_MEMORY_LIMIT, "raise --memory, or use --layout classic",
                       "counters need %llu bytes per slot, --memory gives %llu",
                       (unsigned long long)need, (unsigned long long)memory);
}

static int choose_strategy(struct build_plan *p, struct glint_rdd *lines)
{
    const char *segment = glint_job_option(p->args, "segment-size");
    if (p->universe != NULL) return exact_check_memory(p->g, &p->sizes);
    if (bloom_is_fuse(p->sizing.layout)) return fuse_check_memory(p->g, &p->sizes);
    const struct estimate e = estimate_strategy_costs(p, lines);
    const uint64_t memory = glint_slot_memory(p->g);
    if (p->chosen) p->strategy = cheapest_strategy(&e, memory);
    if (glint_explaining(p->g)) note_strategy_estimate(p, &e, memory);
    if (p->strategy == BUILD_SEGMENTS && p->sizes.params[0].layout == BLOOM_COUNTING)
        return set_no_counters_error(p, e.memory[BUILD_INDEXES]);
    if (p->strategy == BUILD_SEGMENTS && p->sizes.seeds != NULL)
        return glint_abort(p->g, GLINT_E_USAGE, "raise --memory, or use the published seeds",
                           "filters in segments support only the published seeds");
    if (p->strategy == BUILD_SEGMENTS && p->fields.id_type != 0)
        return glint_abort(p->g, GLINT_E_USAGE, "raise --memory, or use --id-type text",
                           "filters in segments support only ids of the type text");
    if (p->strategy == BUILD_SEGMENTS && bloom_largest_k(&p->sizes) > SEGMENTS_K_MAX)
        return glint_abort(p->g, GLINT_E_USAGE, "raise --memory, or P",
                           "filters in segments have at most %d hashes", SEGMENTS_K_MAX);
    if (p->strategy == BUILD_SEGMENTS)
        return segments_parse_size(p->g, &p->sizes, segment, &p->log2);
    if (e.memory[p->strategy] <= memory) return 0;
    return glint_abort(p->g, GLINT_E_MEMORY_LIMIT,
                       p->add ? "raise --memory"
                       : p->strategy == BUILD_PARTIALS && e.memory[BUILD_INDEXES] <= memory
                           ? "raise --memory, or use --strategy indexes"
                           : "raise --memory, or use --strategy segments",
                       "%s need %llu bytes per slot, --memory gives %llu",
                       strategy_names[p->strategy], (unsigned long long)e.memory[p->strategy],
                       (unsigned long long)memory);
}

/* Reads --coding: how strategy indexes encodes an index. */
static void read_coding_option(struct build_plan *p, const char *name)
{
    static const struct {
        const char *name;
        enum bloom_method coding;
    } codings[] = {
        {"varint", BLOOM_LISTS_VARINT}, {"fixed", BLOOM_LISTS_FIXED}, {"vint", BLOOM_LISTS_VINT}};
    for (uint32_t i = 0; i < sizeof codings / sizeof *codings; i++)
        if (strcmp(name, codings[i].name) == 0) p->lists = codings[i].coding;
}

/* Computes a number that separates the segments of this build from those of others: a hash of the
 * sizes and of what is cheap to read of the rows, but not of paths. Returns 0 or the context's
 * code. */
static int compute_build_number(const struct build_plan *p, struct glint_rdd *lines, uint64_t *out)
{
    static const char *const columns[] = {"id-column", "key-column", "delimiter", "key"};
    struct glint_rows rows = {.count = 0};
    uint64_t number = glint_input_bytes(lines);
    for (uint32_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const char *column = glint_job_option(p->args, columns[i]);
        if (column == NULL) continue;
        number = segments_add_to_build_hash(number, column, strlen(column));
    }
    int r = glint_take(lines, BUILD_ROWS, &rows);
    for (uint64_t i = 0; r == 0 && i < rows.count; i++) {
        const struct glint_record row = glint_rows_at(&rows, i);
        number = segments_add_to_build_hash(number, row.value.bytes.data, row.value.bytes.size);
    }
    glint_rows_free(&rows);
    *out = segments_build_id(&p->sizes, p->log2, number);
    return r;
}

static struct glint_schema filters_schema(const struct build_plan *p)
{
    const bool text = fields_key_type(&p->fields) == GLINT_TEXT;
    return (struct glint_schema){text ? GLINT_TEXT : GLINT_I64, GLINT_MSGPACK};
}

static struct glint_rdd *built_filters_rdd(const struct build_plan *p)
{
    return glint_msgpack_file_by_name(p->g, p->filters, filters_schema(p));
}

/* Those that will be changed are read whole, and checked, when they are. */
static int read_filters_sizes(struct build_plan *p)
{
    const bool text = fields_key_type(&p->fields) == GLINT_TEXT;
    if (!p->add && !p->remove)
        return sizes_from_filters(built_filters_rdd(p), text, p->filters, &p->sizes);
    return sizes_from_heads(glint_msgpack_file_heads(p->g, p->filters, filters_schema(p)), text,
                            p->filters, &p->sizes);
}

static struct glint_rdd *build_filters_rdd(struct build_plan *p, struct glint_rdd *lines)
{
    uint64_t build;
    if (p->remove) return bloom_remove_pipeline(lines, built_filters_rdd(p), &p->sizes, &p->fields);
    if (p->add)
        return bloom_add_pipeline(lines, built_filters_rdd(p), &p->sizes, &p->fields,
                                  glint_job_given(p->args, "strict"));
    if (p->universe != NULL)
        return exact_pipeline(lines, &p->fields, fields_text_file(p->g, p->universe, &p->other),
                              &p->other, &p->sizes);
    if (bloom_is_fuse(p->sizing.layout)) return fuse_pipeline(lines, &p->sizes, &p->fields);
    if (p->strategy == BUILD_IDS)
        return ids_build_filters(lines, &p->source, &p->fields, &p->sizing);
    if (p->strategy == BUILD_SEGMENTS)
        return compute_build_number(p, lines, &build) == 0
                   ? segments_pipeline(lines, &p->sizes, &p->fields, p->log2, build)
                   : NULL;
    if (p->strategy == BUILD_INDEXES) return bloom_pipeline(lines, &p->sizes, p->lists, &p->fields);
    lines = glint_with_split_bytes(lines, bloom_split_bytes(&p->sizes));
    return bloom_pipeline(lines, &p->sizes, BLOOM_PARTIALS, &p->fields);
}

static int64_t good_row_count(const struct glint *g)
{
    return glint_counter_value(g, "rows read") - glint_counter_value(g, "bad rows");
}

/* Each surplus row may be a new id, for which the filter is not sized. */
static void warn_of_surplus_rows(const struct build_plan *p, int64_t rows)
{
    if (p->filters == NULL && bloom_is_static(p->sizing.layout)) return; /* they fit all ids */
    const char *what = "if all ids differ, the filters are fuller than P allows; run",
               *job = p->source.params ? "params" : "count-keys";
    const int64_t over = glint_counter_value(p->g, IDS_SURPLUS);
    if (p->strategy == BUILD_IDS && over > 0)
        glint_warn(p->g,
                   "%s has %lld rows more than %s counts for their keys: %s %s on the same input",
                   p->paths[0], (long long)over, p->source.path, what, job);
    const int64_t higher = glint_counter_value(p->g, IDS_HIGHER_RATE);
    if (p->strategy == BUILD_IDS && higher > 0)
        glint_warn(p->g,
                   "%lld of the filters: scheme %s has hashes of 32 bits, too few for their ids: "
                   "expect a higher rate than planned, see glint filter info; --scheme wide, or "
                   "--format guava or spark-v2, keep it",
                   (long long)higher, bloom_scheme_name(p->sizing.scheme));
    const int64_t full = glint_counter_value(p->g, BLOOM_OVERFULL);
    if (p->filters != NULL && full > 0)
        glint_warn(p->g,
                   "%lld of the filters have more ids than those of %s are sized for: expect a "
                   "higher rate than planned, see glint filter info",
                   (long long)full, p->filters);
    if (p->filters != NULL) return;
    if (rows <= (int64_t)p->sizes.rows && full > 0)
        glint_warn(p->g,
                   "%lld of the filters have more ids than %s counts for their keys, and a higher "
                   "rate than P: run %s on the same input",
                   (long long)full, p->source.path, job);
    if (p->strategy == BUILD_IDS || rows <= (int64_t)p->sizes.rows) return;
    glint_warn(p->g, "%s has %lld rows, %s counts %llu: %s %s on the same input", p->paths[0],
               (long long)rows, p->source.path, (unsigned long long)p->sizes.rows, what, job);
}

/* Filters of static layouts are built in one way. Returns 0 or USAGE. */
static int check_static_options(const struct build_plan *p, const struct bloom_sizing *sizing)
{
    const char *strategy = glint_job_option(p->args, "strategy");
    char hint[64];
    static const char *const others[] = {"coding", "segment-size"};
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++)
        if (glint_job_given(p->args, others[i])) {
            text_format(hint, sizeof hint, "leave out --%s", others[i]);
            return glint_abort(p->g, GLINT_E_USAGE, hint, "--layout %s has no --%s",
                               bloom_layout_name(sizing->layout), others[i]);
        }
    if (strcmp(strategy, "auto") == 0) return 0;
    return glint_abort(p->g, GLINT_E_USAGE, "leave out --strategy",
                       "--layout %s does not support --strategy %s: it has its own, by shards",
                       bloom_layout_name(sizing->layout), strategy);
}

#define EXACT_FORM "bloom-build --exact --universe FILE INPUT COUNTS OUTPUT"

/* --exact: reads INPUT COUNTS OUTPUT, and --universe. Returns 0 or the context's code. */
static int read_exact_options(struct build_plan *p)
{
    static const char *const others[] = {"params", "format", "seeds",  "hash-seed",
                                         "like",   "add-to", "layout", "remove-from"};
    const char *layout = glint_job_option(p->args, "layout");
    p->universe = glint_job_option(p->args, "universe");
    if (glint_job_given(p->args, "exact") != (p->universe != NULL))
        return glint_abort(p->g, GLINT_E_USAGE, EXACT_FORM,
                           "--exact and --universe need each other");
    if (p->universe == NULL && strcmp(layout, "exact") == 0)
        return glint_abort(p->g, GLINT_E_USAGE, EXACT_FORM,
                           "--layout exact needs --exact --universe FILE");
    if (p->universe == NULL) return 0;
    if (glint_job_given(p->args, "seed"))
        return glint_abort(p->g, GLINT_E_USAGE, "leave out --seed",
                           "--exact: exact filters have no --seed");
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++)
        if (glint_job_given(p->args, others[i]) &&
            (strcmp(others[i], "layout") != 0 || strcmp(layout, "exact") != 0))
            return glint_abort(p->g, GLINT_E_USAGE, "use only one of them", "--exact and --%s",
                               others[i]);
    if (p->args->count != 3)
        return glint_abort(p->g, GLINT_E_USAGE, EXACT_FORM,
                           "%u arguments, expected 3, with --exact", p->args->count);
    p->paths[0] = p->args->positional[0];
    p->paths[1] = p->args->positional[2];
    p->source = (struct sizes_source){.path = p->args->positional[1], .p = 0.5};
    return 0;
}

static int choose_exact_sizing(const struct build_plan *p, struct bloom_sizing *out)
{
    const char *name = glint_job_option(p->args, "scheme");
    enum bloom_scheme scheme = bloom_layout_scheme(BLOOM_EXACT);
    char about[128];
    if (name != NULL) bloom_scheme_parse(name, strlen(name), &scheme);
    const enum bloom_result result = bloom_sizing_for_rate(scheme, BLOOM_EXACT, p->source.p, out);
    if (result == BLOOM_OK) return check_static_options(p, out);
    text_format(about, sizeof about, "scheme %s, layout exact", bloom_scheme_name(scheme));
    return sizes_set_error(p->g, result, about);
}

/* With PARAMS only the scheme: M and K are those of classic filters, and k differs between keys.
 * Returns 0 or the context's code. */
static int choose_filter_sizing(const struct build_plan *p, struct bloom_sizing *out)
{
    if (p->universe != NULL) return choose_exact_sizing(p, out);
    if (!p->source.params) {
        int r = sizes_sizing_from_options(p->g, p->args, p->source.p, out);
        return r == 0 && bloom_is_fuse(out->layout) ? check_static_options(p, out) : r;
    }
    *out = (struct bloom_sizing){.k = 0};
    if (sizes_kind_from_options(p->g, p->args, out) != 0 ||
        sizes_hash_seed_from_options(p->g, p->args, out) != 0)
        return glint_error(p->g)->code;
    if (out->layout != BLOOM_CLASSIC)
        return glint_abort(p->g, GLINT_E_USAGE, "use only one of them",
                           "--params has sizes of the layout classic, --layout is %s",
                           bloom_layout_name(out->layout));
    if (!sizes_seeds_random(p->args)) return 0;
    return glint_abort(p->g, GLINT_E_USAGE, "use only one of them",
                       "--params has a k for each key, --seeds random draws seeds for one k");
}

/* --like, --add-to and --remove-from: the filters say all that other options would. Returns 0 or
 * the context's code. */
static int read_filters_options(struct build_plan *p)
{
    static const char *const others[] = {"params", "scheme", "layout",   "format",
                                         "seeds",  "seed",   "hash-seed"};
    static const char *const names[] = {"like", "add-to", "remove-from"};
    static const char *const forms[] = {"bloom-build --like FILTERS INPUT OUTPUT",
                                        "bloom-build --add-to FILTERS INPUT OUTPUT",
                                        "bloom-build --remove-from FILTERS INPUT OUTPUT"};
    const char *name = NULL, *form = NULL, *strategy;
    uint32_t given = 0;
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!glint_job_given(p->args, names[i])) continue;
        name = names[i];
        form = forms[i];
        given++;
    }
    p->filters = name != NULL ? glint_job_option(p->args, name) : NULL;
    p->add = name == names[1];
    p->remove = name == names[2];
    if (glint_job_given(p->args, "strict") && !p->add)
        return glint_abort(p->g, GLINT_E_USAGE, NULL, "--strict is for --add-to");
    if (p->filters == NULL) return 0;
    if (given > 1)
        return glint_abort(p->g, GLINT_E_USAGE, "use only one of them",
                           "--like, --add-to and --remove-from");
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++)
        if (glint_job_given(p->args, others[i]))
            return glint_abort(p->g, GLINT_E_USAGE, "use only one of them",
                               "--%s: the filters of --%s say it", others[i], name);
    strategy = glint_job_option(p->args, "strategy");
    if (strcmp(strategy, "ids") == 0 || (name != names[0] && strcmp(strategy, "auto") != 0))
        return glint_abort(p->g, GLINT_E_USAGE, NULL, "--%s does not support --strategy %s", name,
                           strategy);
    if (p->args->count != 2)
        return glint_abort(p->g, GLINT_E_USAGE, form, "%u arguments, expected 2, with --%s",
                           p->args->count, name);
    p->paths[0] = p->args->positional[0];
    p->paths[1] = p->args->positional[1];
    p->source = (struct sizes_source){.path = p->filters};
    return 0;
}

/* Filters say it themselves. */
static int choose_id_type_of_build(struct build_plan *p)
{
    if (p->filters != NULL) return 0;
    int r = sizes_id_type_from_options(p->g, p->args, p->paths[0], &p->fields, &p->sizing);
    p->fields.id_type = p->sizing.id_type;
    p->fields.id_width = bloom_id_width(p->sizing.scheme, p->sizing.id_type);
    return r;
}

/* Reads P and COUNTS, PARAMS, or the sizes of filters. Returns as sizes_read_from_source. */
static int read_build_sizes(struct build_plan *p)
{
    if (p->filters == NULL)
        return sizes_read_from_source(p->g, &p->source, &p->fields, &p->sizing, &p->sizes);
    int r = read_filters_sizes(p);
    if (r == 0 && bloom_is_static(p->sizes.params[0].layout))
        return glint_abort(p->g, GLINT_E_FILTER_MISMATCH,
                           p->remove ? "build it again, without these rows"
                                     : "build it again, from the rows of both",
                           "%s: %s", p->filters, bloom_strerror(BLOOM_ERR_STATIC));
    if (r == 0) r = sizes_use_id_type(p->g, p->args, p->filters, &p->sizes.params[0], &p->fields);
    if (r == 0 && p->remove && !glint_explaining(p->g) &&
        p->sizes.params[0].layout != BLOOM_COUNTING)
        return glint_abort(p->g, GLINT_E_FILTER_MISMATCH, "build it with --layout counting",
                           "%s: %s", p->filters, bloom_strerror(BLOOM_ERR_REMOVE));
    if (r == 0 && (p->add || p->remove)) p->strategy = p->add ? BUILD_PARTIALS : BUILD_INDEXES;
    if (p->add || p->remove) p->chosen = false;
    return r;
}

/* The arguments, and the options that say what kind of filter is built. */
static int read_build_arguments(struct build_plan *p)
{
    if (read_exact_options(p) != 0 || read_filters_options(p) != 0) return glint_error(p->g)->code;
    if (p->filters != NULL) return 0;
    if (p->universe == NULL &&
        sizes_read_arguments(
            p->g, p->args, 4,
            "bloom-build P INPUT COUNTS OUTPUT, or bloom-build --params PARAMS INPUT "
            "OUTPUT",
            &p->source, p->paths) != 0)
        return glint_error(p->g)->code;
    return choose_filter_sizing(p, &p->sizing);
}

static int read_universe_fields(struct build_plan *p)
{
    if (p->universe == NULL) return 0;
    int r = fields_read_options(p->g, p->args, p->universe, &p->other);
    p->other.id_type = p->fields.id_type;
    p->other.id_width = p->fields.id_width;
    return r;
}

static int bloom_build_run(struct glint *g, const struct glint_job_args *args)
{
    struct build_plan p = {.g = g, .args = args};
    if (read_build_arguments(&p) != 0 || fields_read_options(g, args, p.paths[0], &p.fields) != 0 ||
        read_build_strategy(&p) != 0 || choose_id_type_of_build(&p) != 0 ||
        read_universe_fields(&p) != 0)
        return glint_error(g)->code;
    read_coding_option(&p, glint_job_option(args, "coding"));
    struct glint_rdd *lines = fields_text_file(g, p.paths[0], &p.fields);
    int r = SIZES_TOO_MANY;
    if (p.chosen || p.strategy != BUILD_IDS) r = read_build_sizes(&p);
    if (r == 0) sizes_warn_of_rates(g, &p.sizes);
    sizes_warn_of_text_ids(g, args, p.paths[0], &p.fields);
    r = r == SIZES_TOO_MANY ? choose_ids_strategy(&p) : r == 0 ? choose_strategy(&p, lines) : r;
    struct glint_rdd *filters = r == 0 ? build_filters_rdd(&p, lines) : NULL;
    const int64_t before = good_row_count(g);
    if (filters != NULL && glint_save_as_msgpack_file(filters, p.paths[1]) == 0)
        warn_of_surplus_rows(&p, good_row_count(g) - before);
    if (glint_error(g)->code == GLINT_OK) filter_report_saved(g, p.paths[1], &p.sizes);
    sizes_fini(&p.sizes);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    SIZES_OPTIONS_OF(SIZES_LAYOUTS "|counting|fuse8|fuse16|exact"),
    SIZES_ID_TYPE_OPTION(", or column: as the column of Parquet or Arrow (text)"),
    SIZES_PARAMS_OPTION,
    {"strategy", "auto|indexes|partials|segments|ids", "auto", "what is shuffled"},
    SEGMENTS_OPTION,
    {"like", "FILTERS", NULL,
     "instead of P and COUNTS: each key has the n, m, k and seeds of its filter"},
    {"add-to", "FILTERS", NULL,
     "instead of P and COUNTS: adds the rows to these filters, and saves all of them"},
    {"remove-from", "FILTERS", NULL,
     "instead of P and COUNTS: removes the rows from these filters, which have the layout "
     "counting"},
    {"strict", NULL, NULL,
     "with --add-to: more ids than a filter is sized for are an error, not a note"},
    {"exact", NULL, NULL,
     "instead of P: no false positives for the ids of --universe, any answer for others"},
    {"universe", "FILE", NULL,
     "with --exact: all ids, members and others; COUNTS has their counts"},
    {"coding", "varint|fixed|vint", "varint",
     "encoding of an index with --strategy indexes; vint: as in Hadoop"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job bloom_build_job = {
    .name = "bloom-build",
    .summary = "build a Bloom filter per key",
    .help =
        "P is the false positive probability, COUNTS the output of count-keys for INPUT. With "
        "--params PARAMS, the only arguments are INPUT OUTPUT, and each key has the n, m and k "
        "that the job params saved for it. Saves the filters as msgpack; docs/filter-format.md "
        "describes the file. Filters that do not fit in a slot's memory are saved in segments "
        "(--strategy segments), which bloom-test and glint filter can read. The layouts fuse8 "
        "and fuse16 have fewer bits for P of at least 1/256 and 1/65536, and cannot be changed; "
        "neither can exact filters (--exact --universe FILE INPUT COUNTS OUTPUT), whose answers "
        "are right for every row of FILE.",
    .positional = {"P", "INPUT", "COUNTS", "OUTPUT"},
    .positional_min = 2,
    .optional_with = "params|like|add-to|remove-from|exact",
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&bloom_rating_indexes,
                  &bloom_text_indexes,
                  &bloom_extend,
                  &bloom_fill,
                  &bloom_rating_partials,
                  &bloom_text_partials,
                  &bloom_or,
                  &bloom_add_counters,
                  &bloom_seal,
                  &bloom_bits,
                  &fuse_hashes_of_rows,
                  &fuse_solve_shard,
                  &exact_hashes_of_rows,
                  &exact_solve_shard,
                  &shard_key_number,
                  &shard_key_text,
                  &shards_join,
                  &bloom_added_rows,
                  &bloom_add_rows,
                  &sizes_filter_begin,
                  &segments_lists_of_rows,
                  &segments_fill,
                  &segments_key_number,
                  &segments_key_text,
                  &size_counts_number,
                  &size_counts_text,
                  &size_params_number,
                  &size_params_text,
                  &ids_of_ratings,
                  &ids_of_texts,
                  &ids_fill,
                  &filter_fill},
    .run = bloom_build_run};

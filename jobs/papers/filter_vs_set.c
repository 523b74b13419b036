/* filter-vs-set: compares the memory, the errors and the times of filters with those of a set of
 * the elements. The plan only reads the elements: one thread of the driver measures. */
#include "engine/base/text.h"
#include "jobs/filters/sizes.h"
#include "jobs/papers/filter_comparison.h"
#include "jobs/rows/text_table.h"

#include <string.h>

enum { CONTENDERS_MAX = 512, ROUNDS_MAX = 100000000 };

struct layouts {
    uint32_t count;
    enum bloom_layout items[LIST_MAX];
};

/* The filters: every size in every layout with every scheme that the layout supports. */
struct choice {
    bool per_element;           /* bits are per element */
    struct list_f64 bits;       /* in total, or per element */
    uint32_t k;                 /* 0: the optimal number */
    struct list_schemes scheme; /* also those of block layouts */
    struct layouts layout;
    bool seeded; /* draws seeds: only poly-abs and poly-mod */
};

static int read_layouts(struct glint *g, const struct glint_job_args *args, struct layouts *out)
{
    struct list_cursor c = {NULL, false};
    struct glint_slice item;
    out->count = 0;
    while (list_next(&c, glint_job_option(args, "layout"), &item)) {
        if (out->count == LIST_MAX || bloom_layout_parse((const char *)item.data, item.size,
                                                         &out->items[out->count]) != BLOOM_OK)
            return glint_abort(g, GLINT_E_BAD_VALUE, "use classic, block512, split-block",
                               "--layout: invalid value \"%.*s\"",
                               (int)(item.size > 100 ? 100 : item.size), (const char *)item.data);
        out->count++;
    }
    return 0;
}

static int read_set_sizes(struct glint *g, const struct glint_job_args *args, struct choice *out)
{
    struct list_i64 m;
    out->per_element = glint_job_option(args, "bits-per-element") != NULL;
    if (out->per_element) return list_reals(g, args, "bits-per-element", &out->bits);
    if (list_numbers(g, args, "m", 1, (int64_t)BLOOM_M_MAX, &m) != 0) return glint_error(g)->code;
    out->bits.count = m.count;
    for (uint32_t i = 0; i < m.count; i++) out->bits.items[i] = (double)m.items[i];
    return 0;
}

static int read_filter_choice(struct glint *g, const struct glint_job_args *args,
                              struct choice *out)
{
    out->k = 0;
    if (glint_job_option(args, "k") != NULL)
        out->k = (uint32_t)glint_job_i64(g, args, "k", 1, BLOOM_K_MAX);
    if (read_set_sizes(g, args, out) != 0 || read_layouts(g, args, &out->layout) != 0 ||
        list_schemes(g, args, "scheme", &out->scheme) != 0)
        return glint_error(g)->code;
    out->seeded = sizes_seeds_random(args);
    if (out->bits.count * out->layout.count * out->scheme.count < CONTENDERS_MAX) return 0;
    return glint_abort(g, GLINT_E_BAD_VALUE, NULL,
                       "sizes, layouts and schemes give more than %d filters", CONTENDERS_MAX);
}

/* Adds a contender of each kind and size. A given m is exact, except that block layouts round it
 * up. */
static int size_contender(struct filter_comparison *d, const struct choice *c,
                          enum bloom_layout layout, enum bloom_scheme scheme, double bits)
{
    struct contender *contender = &d->contenders[d->count];
    struct bloom_sizing sizing;
    enum bloom_result result =
        bloom_sizing_for_bits(scheme, layout, c->per_element ? bits : bits / d->n, &sizing);
    if (result == BLOOM_ERR_PAIR) return 0; /* the layout does not support the scheme */
    const bool drawn =
        result == BLOOM_OK && d->seeded && (scheme == BLOOM_POLY_ABS || scheme == BLOOM_POLY_MOD);
    if (drawn) result = bloom_sizing_seed(&sizing, contender->seeds);
    if (c->k > 0 && layout != BLOOM_SPLIT_BLOCK) sizing.k = c->k;
    if (result == BLOOM_OK) result = bloom_sizing_params(&sizing, d->n, &contender->params);
    if (result == BLOOM_OK && !c->per_element && layout == BLOOM_CLASSIC) {
        contender->params.m = (uint64_t)bits;
        result = bloom_params_check(&contender->params);
    }
    contender->params.seeds = drawn ? contender->seeds : NULL;
    if (result != BLOOM_OK) {
        char about[128];
        text_format(about, sizeof about, "%g bits%s, %u elements, scheme %s, layout %s", bits,
                    c->per_element ? " per element" : "", d->n, bloom_scheme_name(scheme),
                    bloom_layout_name(layout));
        return sizes_set_error(d->g, result, about);
    }
    contender->bytes = bloom_bytes(contender->params.m);
    d->count++;
    return 0;
}

static int size_contenders(struct filter_comparison *d, const struct choice *c)
{
    const uint64_t count_max = 1 + (uint64_t)c->bits.count * c->layout.count * c->scheme.count;
    d->contenders = glint_alloc(d->g, count_max * sizeof *d->contenders);
    if (d->contenders == NULL) return glint_error(d->g)->code;
    memset(d->contenders, 0, count_max * sizeof *d->contenders);
    d->contenders[0].exact = true;
    d->count = 1;
    int r = 0;
    for (uint32_t l = 0; l < c->layout.count; l++)
        for (uint32_t s = 0; s < c->scheme.count; s++)
            for (uint32_t b = 0; r == 0 && b < c->bits.count; b++)
                r = size_contender(d, c, c->layout.items[l], c->scheme.items[s], c->bits.items[b]);
    if (r != 0 || d->count > 1) return r;
    return glint_abort(d->g, GLINT_E_BAD_VALUE,
                       "block512 and split-block support xxh64 and wide, classic all but xxh64",
                       "no layout of --layout supports a scheme of --scheme");
}

/* ---- Tables */

static const char *contender_name(const struct contender *r)
{
    return r->exact ? "hash-set" : bloom_layout_name(r->params.layout);
}

static const char *contender_scheme(const struct contender *r)
{
    return r->exact ? "exact" : bloom_scheme_name(r->params.scheme);
}

static void add_contender(struct text_table *table, const struct filter_comparison *d,
                          struct contender *r)
{
    char times[192] = "";
    if (d->repeats > 0) {
        const double build = times_median(&r->build_ns), query = times_median(&r->query_ns);
        const uint32_t last = r->build_ns.count - 1; /* times_median sorted the samples */
        text_format(times, sizeof times, "\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f", build,
                    r->build_ns.items[0], r->build_ns.items[last], query, r->query_ns.items[0],
                    r->query_ns.items[last]);
    }
    text_table_add(table, "%s\t%s\t%llu\t%u\t%llu\t%.6g\t%u\t%llu\t%llu\t%.9g\t%.9g\t%.9g\t%.9g%s",
                   contender_name(r), contender_scheme(r), (unsigned long long)r->params.m,
                   r->params.k, (unsigned long long)r->bytes, (double)r->bytes * 8 / d->n,
                   d->trials, (unsigned long long)r->queries,
                   (unsigned long long)r->false_positives, r->rate.mean, spread_deviation(&r->rate),
                   r->from_bits.mean, r->exact ? 0 : bloom_expected_rate(&r->params), times);
}

static void save_contenders(struct filter_comparison *d, const char *output)
{
    struct text_table table = {.g = d->g};
    text_table_add(&table,
                   "structure\tscheme\tm\tk\tbytes\tbits per key\ttrials\tqueried\tfalse "
                   "positives\trate\tdeviation\tfrom bits\ttextbook%s",
                   d->repeats > 0 ? "\tbuild ns\tbuild lowest\tbuild highest\tquery ns\t"
                                    "query lowest\tquery highest"
                                  : "");
    for (uint32_t i = 0; i < d->count; i++) add_contender(&table, d, &d->contenders[i]);
    text_table_save(&table, output);
    text_table_fini(&table);
}

static void save_trials(struct filter_comparison *d, const char *output)
{
    struct text_table table = {.g = d->g};
    text_table_add(&table, "structure\tscheme\tm\tk\ttrial\trate\tfrom bits");
    for (uint32_t i = 1; i < d->count; i++) {
        const struct contender *r = &d->contenders[i];
        for (uint32_t trial = 0; trial < d->trials; trial++)
            text_table_add(&table, "%s\t%s\t%llu\t%u\t%u\t%.9g\t%.9g", contender_name(r),
                           contender_scheme(r), (unsigned long long)r->params.m, r->params.k,
                           trial + 1, r->trial_rate[trial], r->trial_from_bits[trial]);
    }
    text_table_save(&table, output);
    text_table_fini(&table);
}

static void save_rounds(struct filter_comparison *d, const char *output)
{
    struct text_table table = {.g = d->g};
    text_table_add(&table, "structure\tscheme\tm\tk\trounds\tus\tlowest\thighest");
    for (uint32_t i = 0; i < d->count; i++) {
        for (uint32_t round = 0; d->repeats > 0 && round < d->rounds.count; round++) {
            struct contender *r = &d->contenders[i];
            struct times *us = &r->rounds_us[round];
            const double median = times_median(us);
            text_table_add(&table, "%s\t%s\t%llu\t%u\t%lld\t%.3f\t%.3f\t%.3f", contender_name(r),
                           contender_scheme(r), (unsigned long long)r->params.m, r->params.k,
                           (long long)d->rounds.items[round], median, us->items[0],
                           us->items[us->count - 1]);
        }
    }
    text_table_save(&table, output);
    text_table_fini(&table);
}

/* ---- The job */

static int check_element_count(const struct filter_comparison *d, const char *about)
{
    if (d->n < d->elements.count) return 0;
    return glint_abort(d->g, GLINT_E_BAD_VALUE, "use a smaller --elements, or a larger input",
                       "%s: %u elements, of which %u are added, so none is left to look up", about,
                       d->elements.count, d->n);
}

/* Members are drawn from INPUT, or, with --non-members, are all of INPUT. */
static int collect_elements(struct filter_comparison *d, struct glint_rdd *elements,
                            const struct fields *fields, const char *input, const char *non_members)
{
    int r = elements_collect(elements, &d->elements);
    const bool unknown = glint_explaining(d->g); /* no elements are known then */
    if (r != 0 || non_members == NULL) return r != 0 || unknown ? r : check_element_count(d, input);
    d->first = true;
    d->n = d->elements.count;
    struct glint_rdd *more = fields_text_file(d->g, non_members, fields);
    r = elements_collect_more(elements_of_lines(more, fields), &d->elements);
    if (r != 0 || unknown || (d->n > 0 && d->n < d->elements.count)) return r;
    return glint_abort(d->g, GLINT_E_BAD_VALUE, "both files need at least one line",
                       "%s: %u elements, %s: %u", input, d->n, non_members,
                       d->elements.count - d->n);
}

static int filter_vs_set_run(struct glint *g, const struct glint_job_args *args)
{
    const char *const *paths = args->positional; /* INPUT OUTPUT */
    struct filter_comparison d = {.g = g};
    struct choice choice;
    struct fields fields;
    d.n = (uint32_t)glint_job_i64(g, args, "elements", 1, INT32_MAX);
    d.trials = (uint32_t)glint_job_i64(g, args, "trials", 1, TIMES_MAX);
    d.repeats = (uint32_t)glint_job_i64(g, args, "repeats", 0, 1000);
    d.seed = (uint64_t)glint_job_i64(g, args, "seed", 0, INT64_MAX);
    const char *times = glint_job_option(args, "times"), *trials = glint_job_option(args, "rates");
    const char *non_members = glint_job_option(args, "non-members");
    if (fields_id_options(g, args, paths[0], &fields) != 0 ||
        read_filter_choice(g, args, &choice) != 0 ||
        list_numbers(g, args, "rounds", 1, ROUNDS_MAX, &d.rounds) != 0)
        return glint_error(g)->code;
    if (times == NULL) d.rounds.count = 0; /* they would not be printed */
    struct glint_rdd *elements = elements_of_lines(fields_text_file(g, paths[0], &fields), &fields);
    if (elements == NULL) return glint_error(g)->code;
    d.seeded = choice.seeded;
    int r = collect_elements(&d, elements, &fields, paths[0], non_members);
    if (r == 0 && !glint_explaining(g)) r = size_contenders(&d, &choice);
    if (r == 0 && !glint_explaining(g)) r = filter_comparison_run(&d);
    if (r == 0) save_contenders(&d, paths[1]);
    if (r == 0 && trials != NULL) save_trials(&d, trials);
    if (r == 0 && times != NULL) save_rounds(&d, times);
    filter_comparison_fini(&d);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_ID_OPTIONS,
    {"elements", "N", "250", "add N elements to filter and set, and look up all of INPUT"},
    {"non-members", "FILE", NULL, "add all of INPUT, and look up these elements as well"},
    {"m", "BITS,...", "500,1000,1500,2000,2500", "sizes of filters; rounded up to whole blocks"},
    {"bits-per-element", "B,...", NULL, "sizes of filters instead of --m, each at least 1"},
    {"k", "N", NULL, "hashes per element (the optimal number); split-block has 8"},
    {"layout", "NAME,...", "classic,block512,split-block", "where the bits of an element are"},
    {"scheme", "NAME,...", "spark,wide,xxh64",
     "index rules; each layout with all it supports: blocks with xxh64 and wide"},
    {"trials", "N", "10", "number of trials; each adds other elements"},
    SIZES_SEEDS_OPTION,
    {"seed", "N", "42", "seed of the elements and of --seeds random"},
    {"rates", "DIR", NULL, "directory for the rate of each trial"},
    {"repeats", "N", "3", "time measurements of each trial; 0: no times"},
    {"times", "DIR", NULL, "directory for the times of --rounds"},
    {"rounds", "N,...", "2000,4000,6000,8000,10000",
     "numbers of rounds; a round looks up every added element"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job filter_vs_set_job = {
    .name = "filter-vs-set",
    .summary = "compare Bloom filters with a hash set: memory, errors, times",
    .help =
        "Each trial draws elements of INPUT, adds them to a hash set and to filters, and looks up "
        "all of INPUT; or it adds all of INPUT and looks up --non-members, too. With --seeds "
        "random it draws the seeds of poly-abs and poly-mod. Saves for the set and for each kind "
        "and size of filter its bytes, the false positives over all trials, their mean rate with "
        "its deviation, what the bits of the filters predict, and the textbook's; then nanoseconds "
        "per element to build and to query, as medians over the trials with the lowest and the "
        "highest. One thread of the driver does all of it: filters in batches, the set one element "
        "at a time. With --times both are queried one element at a time.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&elements_take},
    .run = filter_vs_set_run};

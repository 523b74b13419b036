/* filter-vs-set: compares the memory, the errors and the times of filters with those of a set of
 * the elements. The plan only reads the elements: one thread of the driver measures. */
#include "engine/base/text.h"
#include "jobs/bloom/bloom.h"
#include "jobs/filters/sizes.h"
#include "jobs/generate/draw.h"
#include "jobs/papers/elements.h"
#include "jobs/papers/exact_set.h"
#include "jobs/papers/lists.h"
#include "jobs/papers/spread.h"
#include "jobs/papers/times.h"
#include "jobs/rows/text_table.h"

#include <assert.h>
#include <string.h>

/* ---- Filters of several kinds and an exact set, with the same elements added and looked up, in
 * every trial. Filters add and look up batches, as in all jobs; rounds look up one element at a
 * time, as the set always does. Elements are looked up in the order of the file, so the members
 * have another order than when they were added. */

/* The set, or the filters of one kind and size, over all trials. */
struct contender {
    bool exact;                 /* the set: has no params, and below only times */
    struct bloom_params params; /* of n elements */
    uint8_t seeds[BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES]; /* of this trial, if they are drawn */
    uint64_t bytes; /* in memory; for the set: in the last trial */
    uint64_t queries, false_positives;
    struct spread rate, from_bits; /* as measured, and as computed from the bits of each filter */
    double trial_rate[TIMES_MAX], trial_from_bits[TIMES_MAX];
    struct times build_ns, query_ns;  /* per element; one sample per trial */
    struct times rounds_us[LIST_MAX]; /* [rounds.count] */
};

/* Zero except for the first part; call filter_comparison_fini in any case. */
struct filter_comparison {
    struct glint *g;
    struct elements elements;
    uint32_t n;               /* added by each trial: 1 <= n < elements.count */
    bool first;               /* adds the first n in every trial; otherwise random ones */
    bool seeded;              /* draws the seeds of poly-abs and poly-mod for each trial */
    uint32_t trials, repeats; /* repeats 0: no times */
    uint64_t seed;
    struct list_i64 rounds;       /* a round looks up every added element */
    struct contender *contenders; /* the first one is the set */
    uint32_t count;

    uint32_t *order;         /* of this trial: the added elements, then the others */
    struct elements members; /* the added elements, contiguous, in that order */
    uint8_t *expected, *hit; /* [elements.count]: results of the set, and of a filter */
};

enum { BATCH = 1024 };

static const uint16_t first_filter[BATCH]; /* zeros: there is only one filter */

/* ---- Random choices */

/* The first n positions of a shuffle, or the first n elements. */
static int draw_set_members(struct filter_comparison *d, uint32_t trial)
{
    const struct elements *e = &d->elements;
    const uint64_t stream = draw_stream(draw_stream(d->seed) + trial);
    for (uint32_t i = 0; i < e->count; i++) d->order[i] = i;
    for (uint32_t i = 0; !d->first && i < d->n; i++) {
        const uint32_t at = i + (uint32_t)draw_below(stream, i, e->count - i);
        const uint32_t member = d->order[at];
        assert(member < e->count);
        d->order[at] = d->order[i];
        d->order[i] = member;
    }
    return elements_copy_selected(e, d->order, d->n, &d->members);
}

/* Uses the same seeds for all sizes of a scheme, so that within a trial only the size differs. */
static void draw_seeds(struct filter_comparison *d, uint32_t trial)
{
    for (uint32_t i = 0; i < d->count; i++) {
        struct contender *contender = &d->contenders[i];
        if (contender->params.seeds == NULL) continue;
        assert(contender->params.seeds == contender->seeds);
        sizes_draw_hash_seeds(contender->params.scheme, draw_stream(d->seed) + trial,
                              contender->seeds);
    }
}

/* ---- The set */

static int build_set(const struct filter_comparison *d, struct exact_set **out)
{
    *out = exact_set_new(d->g, d->n);
    if (*out == NULL) return glint_error(d->g)->code;
    for (uint32_t i = 0; i < d->n; i++) {
        const struct elements *e = &d->members;
        if (!exact_set_add(*out, e->base + e->start[i], e->end[i] - e->start[i]))
            return glint_error(d->g)->code;
    }
    return 0;
}

static bool is_element_in_set(const struct filter_comparison *d, const struct exact_set *set,
                              uint32_t element)
{
    const struct elements *e = &d->elements;
    return exact_set_contains(set, e->base + e->start[element],
                              e->end[element] - e->start[element]);
}

static void query_set(const struct filter_comparison *d, const struct exact_set *set)
{
    for (uint32_t i = 0; i < d->elements.count; i++) d->expected[i] = is_element_in_set(d, set, i);
}

/* ---- A filter */

static struct bloom_rows batch_of_element(const struct elements *e, uint32_t i)
{
    assert(i < e->count);
    return (struct bloom_rows){e->base, e->start + i, e->end + i, first_filter,
                               e->count - i < BATCH ? e->count - i : BATCH};
}

static int build_filter(const struct filter_comparison *d, const struct contender *contender,
                        struct bloom_set *out)
{
    struct bloom_adder adder;
    enum bloom_result result = bloom_set_init(out, &contender->params, 1);
    if (result != BLOOM_OK) return sizes_set_error(d->g, result, "a filter");
    bloom_adder_init(&adder, out);
    for (uint32_t i = 0; i < d->n; i += BATCH) {
        const struct bloom_rows rows = batch_of_element(&d->members, i);
        bloom_adder_add_rows(&adder, &rows);
    }
    bloom_adder_flush(&adder);
    return 0;
}

static void query_filter(const struct filter_comparison *d, const struct bloom_set *set)
{
    const struct elements *e = &d->elements;
    for (uint32_t i = 0; i < e->count; i += BATCH) {
        const struct bloom_rows rows = batch_of_element(e, i);
        bloom_set_contains_rows(set, &rows, d->hit + i);
    }
}

static bool is_element_in_filter(const struct filter_comparison *d,
                                 const struct bloom_filter *filter, uint32_t element)
{
    const struct elements *e = &d->elements;
    return bloom_contains(filter, e->base + e->start[element], e->end[element] - e->start[element]);
}

/* Counts elements that the set rejects and the filter accepts. */
static void count_false_positives(const struct filter_comparison *d, struct contender *contender,
                                  const struct bloom_set *set)
{
    uint64_t queries = 0, hits = 0;
    for (uint32_t i = 0; i < d->elements.count; i++) {
        assert(d->hit[i] >= d->expected[i]); /* no false negatives */
        queries += !d->expected[i];
        hits += d->hit[i] > d->expected[i];
    }
    const struct bloom_filter view = bloom_set_filter(set, 0);
    const uint32_t trial = contender->rate.count;
    contender->queries += queries;
    contender->false_positives += hits;
    contender->trial_rate[trial] = queries > 0 ? (double)hits / (double)queries : 0;
    contender->trial_from_bits[trial] = bloom_rate_from_bits(&view);
    spread_add(&contender->rate, contender->trial_rate[trial]);
    spread_add(&contender->from_bits, contender->trial_from_bits[trial]);
}

/* ---- Times */

/* Adds a sample of `repeats` calls, per element. */
static void add_time_per_element(const struct filter_comparison *d, struct times *times,
                                 double total_ms, uint64_t count)
{
    if (d->repeats > 0) times_add(times, total_ms * 1e6 / d->repeats / (double)count);
}

/* Looks up members only, for which a filter must test all bits: the slowest case. */
static void time_member_lookups(const struct filter_comparison *d, struct contender *contender,
                                const struct exact_set *set, const struct bloom_filter *filter)
{
    for (uint32_t r = 0; d->repeats > 0 && r < d->rounds.count; r++) {
        uint64_t found = 0;
        const double from = times_wall_ms();
        for (int64_t i = 0; i < d->rounds.items[r]; i++) {
            for (uint32_t member = 0; member < d->n; member++)
                found += set != NULL ? is_element_in_set(d, set, d->order[member])
                                     : is_element_in_filter(d, filter, d->order[member]);
        }
        times_add(&contender->rounds_us[r], (times_wall_ms() - from) * 1e3);
        assert(found == (uint64_t)d->rounds.items[r] * d->n);
        (void)found;
    }
}

static int measure_set(struct filter_comparison *d, struct contender *contender)
{
    struct exact_set *set = NULL;
    double build_ms = 0, query_ms = 0;
    int r = 0;
    for (uint32_t i = 0; r == 0 && i <= d->repeats; i++) { /* the first one warms up */
        exact_set_free(set);
        const double from = times_wall_ms();
        r = build_set(d, &set);
        const double built = times_wall_ms();
        if (r == 0) query_set(d, set);
        if (i == 0) continue;
        build_ms += built - from;
        query_ms += times_wall_ms() - built;
    }
    if (r == 0) {
        add_time_per_element(d, &contender->build_ns, build_ms, d->n);
        add_time_per_element(d, &contender->query_ns, query_ms, d->elements.count);
        time_member_lookups(d, contender, set, NULL);
        contender->bytes = exact_set_bytes(set);
    }
    exact_set_free(set);
    return r;
}

static int measure_filter(struct filter_comparison *d, struct contender *contender)
{
    struct bloom_set set = {.count = 0};
    double build_ms = 0, query_ms = 0;
    int r = 0;
    for (uint32_t i = 0; r == 0 && i <= d->repeats; i++) {
        bloom_set_fini(&set);
        const double from = times_wall_ms();
        r = build_filter(d, contender, &set);
        const double built = times_wall_ms();
        if (r == 0) query_filter(d, &set);
        if (i == 0) continue;
        build_ms += built - from;
        query_ms += times_wall_ms() - built;
    }
    if (r == 0) {
        const struct bloom_filter view = bloom_set_filter(&set, 0);
        add_time_per_element(d, &contender->build_ns, build_ms, d->n);
        add_time_per_element(d, &contender->query_ns, query_ms, d->elements.count);
        time_member_lookups(d, contender, NULL, &view);
        count_false_positives(d, contender, &set);
    }
    bloom_set_fini(&set);
    return r;
}

/* ---- The comparison */

static int alloc_comparison(struct filter_comparison *d)
{
    const uint64_t count = d->elements.count;
    const uint64_t set = exact_set_bytes_max(d->n);
    if (set > glint_slot_memory(d->g) / 2)
        return glint_abort(d->g, GLINT_E_MEMORY_LIMIT, "raise --memory, or lower --elements",
                           "a set of %u elements may need %llu bytes, a slot has %llu", d->n,
                           (unsigned long long)set, (unsigned long long)glint_slot_memory(d->g));
    d->order = glint_alloc(d->g, count * sizeof *d->order);
    d->expected = glint_alloc(d->g, count);
    d->hit = glint_alloc(d->g, count);
    return glint_error(d->g)->code;
}

/* Returns 0 or the context's code. */
static int filter_comparison_run(struct filter_comparison *d)
{
    assert(d->n > 0 && d->n < d->elements.count && d->count > 0 && d->contenders[0].exact);
    assert(d->trials > 0 && d->trials <= TIMES_MAX);
    int r = alloc_comparison(d);
    for (uint32_t trial = 0; r == 0 && trial < d->trials; trial++) {
        r = draw_set_members(d, trial);
        draw_seeds(d, trial);
        if (r == 0) r = measure_set(d, &d->contenders[0]);
        for (uint32_t i = 1; r == 0 && i < d->count; i++) r = measure_filter(d, &d->contenders[i]);
    }
    return r;
}

static void filter_comparison_fini(struct filter_comparison *d)
{
    elements_fini(&d->elements);
    elements_fini(&d->members);
    glint_free(d->contenders);
    glint_free(d->order);
    glint_free(d->expected);
    glint_free(d->hit);
}

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
    if (out->per_element) return list_parse_reals(g, args, "bits-per-element", &out->bits);
    if (list_parse_numbers(g, args, "m", 1, (int64_t)BLOOM_M_MAX, &m) != 0)
        return glint_error(g)->code;
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
        list_parse_schemes(g, args, "scheme", &out->scheme) != 0)
        return glint_error(g)->code;
    out->seeded = sizes_seeds_random(args);
    if (out->bits.count * out->layout.count * out->scheme.count < CONTENDERS_MAX) return 0;
    return glint_abort(g, GLINT_E_BAD_VALUE, NULL,
                       "sizes, layouts and schemes give more than %d filters", CONTENDERS_MAX);
}

/* Adds a contender of each kind and size. A given m is exact, except that block layouts round it
 * up. */
static int add_contender_of_size(struct filter_comparison *d, const struct choice *c,
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

static int add_contenders_of_sizes(struct filter_comparison *d, const struct choice *c)
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
                r = add_contender_of_size(d, c, c->layout.items[l], c->scheme.items[s],
                                          c->bits.items[b]);
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
    if (fields_read_id_options(g, args, paths[0], &fields) != 0 ||
        read_filter_choice(g, args, &choice) != 0 ||
        list_parse_numbers(g, args, "rounds", 1, ROUNDS_MAX, &d.rounds) != 0)
        return glint_error(g)->code;
    if (times == NULL) d.rounds.count = 0; /* they would not be printed */
    struct glint_rdd *elements = elements_of_lines(fields_text_file(g, paths[0], &fields), &fields);
    if (elements == NULL) return glint_error(g)->code;
    d.seeded = choice.seeded;
    int r = collect_elements(&d, elements, &fields, paths[0], non_members);
    if (r == 0 && !glint_explaining(g)) r = add_contenders_of_sizes(&d, &choice);
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

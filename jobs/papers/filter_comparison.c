/* Filters add and look up batches, as in all jobs; rounds look up one element at a time, as the set
 * always does. Elements are looked up in the order of the file, so the members have another order
 * than when they were added. */
#include "jobs/papers/filter_comparison.h"

#include "jobs/filters/sizes.h"
#include "jobs/generate/draw.h"
#include "jobs/papers/exact_set.h"

#include <assert.h>

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
        sizes_draw_seeds(contender->params.scheme, draw_stream(d->seed) + trial, contender->seeds);
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

int filter_comparison_run(struct filter_comparison *d)
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

void filter_comparison_fini(struct filter_comparison *d)
{
    elements_fini(&d->elements);
    elements_fini(&d->members);
    glint_free(d->contenders);
    glint_free(d->order);
    glint_free(d->expected);
    glint_free(d->hit);
}

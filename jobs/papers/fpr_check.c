/* fpr-check: compares measured false positive rates with the formula over probabilities, with a
 * deviation.
 *
 *     per sample: randomSplit(lines) -> count, then per p: build from one part, look up the other
 *
 * Every sample is another split of the same rows, so the deviation is that of filters and ids. */
#include "jobs/papers/lists.h"
#include "jobs/papers/spread.h"
#include "jobs/papers/trial.h"
#include "jobs/rows/ratio.h"
#include "jobs/rows/text_table.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SAMPLES_MAX = 100 };

/* Results for one p over the samples: means over the keys that were tested. */
struct cell {
    struct spread rate, from_bits, textbook;
    double
        variance; /* sum over samples: variance of the mean rate, if each look-up is independent */
    uint64_t rows, hits;
};

struct fpr_check {
    struct trial trial; /* of the current sample */
    struct list_f64 p;
    enum bloom_scheme scheme;
    int64_t samples, seed;
    struct cell cells[LIST_MAX]; /* [p.count] */
    struct text_table keys;      /* with `save_keys`: a line per key, p and sample */
    bool save_keys;
};

/* Adds the results of the trial at c->p.items[at]. */
static void add_trial_result(struct fpr_check *c, uint32_t at, int64_t sample)
{
    const struct trial *t = &c->trial;
    double tested = 0, rate = 0, from_bits = 0, textbook = 0, variance = 0;
    for (uint32_t i = 0; i < t->sizes.count; i++) {
        const struct trial_key *k = &t->keys[i];
        const struct bloom_params *p = &t->sizes.params[i];
        const double expected = bloom_expected_rate(p);
        assert(k->hits <= k->rows);
        if (c->save_keys)
            text_table_add_key(&c->keys, t->sizes.text, &t->sizes.keys[i],
                               "%.9g\t%lld\t%llu\t%llu\t%u\t%llu\t%llu\t%.9g\t%.9g\t%.9g",
                               c->p.items[at], (long long)sample, (unsigned long long)p->n,
                               (unsigned long long)p->m, p->k, (unsigned long long)k->rows,
                               (unsigned long long)k->hits, trial_rate(k), k->rate_from_bits,
                               expected);
        if (k->rows == 0) continue;
        tested++;
        rate += trial_rate(k);
        from_bits += k->rate_from_bits;
        textbook += expected;
        variance += k->rate_from_bits * (1 - k->rate_from_bits) / (double)k->rows;
        c->cells[at].rows += k->rows;
        c->cells[at].hits += k->hits;
    }
    if (tested == 0) return;
    spread_add(&c->cells[at].rate, rate / tested);
    spread_add(&c->cells[at].from_bits, from_bits / tested);
    spread_add(&c->cells[at].textbook, textbook / tested);
    c->cells[at].variance += variance / (tested * tested);
}

static int run_trials_of_sample(struct fpr_check *c, struct glint_rdd *lines,
                                const double weights[2], int64_t sample)
{
    struct trial *t = &c->trial;
    struct glint_rdd *parts[2];
    glint_random_split(lines, weights, 2, (uint64_t)(c->seed + sample), parts);
    int r = glint_error(t->g)->code;
    if (r == 0) r = trial_count_keys(t, parts[0]);
    for (uint32_t i = 0; r == 0 && i < c->p.count; i++) {
        struct bloom_sizing sizing;
        enum bloom_result result =
            bloom_sizing_for_rate(c->scheme, BLOOM_CLASSIC, c->p.items[i], &sizing);
        if (result != BLOOM_OK) r = sizes_set_error(t->g, result, "--scheme");
        if (r == 0) r = trial_run(t, &sizing, parts[0], parts[1]);
        if (r == 0) add_trial_result(c, i, sample);
    }
    trial_fini(t);
    return r;
}

static int save_tables(struct fpr_check *c, const char *output, const char *keys)
{
    struct text_table table = {.g = c->trial.g};
    text_table_add(&table, "p\tsamples\ttested\tfalse positives\trate\tdeviation\t"
                           "deviation by chance\tfrom bits\ttextbook");
    for (uint32_t i = 0; i < c->p.count; i++) {
        const struct cell *cell = &c->cells[i];
        const uint32_t samples = cell->rate.count;
        text_table_add(&table, "%.9g\t%u\t%llu\t%llu\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g", c->p.items[i],
                       samples, (unsigned long long)cell->rows, (unsigned long long)cell->hits,
                       cell->rate.mean, spread_deviation(&cell->rate),
                       samples > 0 ? sqrt(cell->variance / samples) : 0, cell->from_bits.mean,
                       cell->textbook.mean);
    }
    int r = text_table_save(&table, output);
    if (r == 0 && c->save_keys) r = text_table_save(&c->keys, keys);
    text_table_fini(&table);
    return r;
}

static int fpr_check_samples(struct fpr_check *c, const struct glint_job_args *args)
{
    struct glint *g = c->trial.g;
    const char *keys = glint_job_option(args, "keys");
    double weights[2];
    struct list_schemes scheme;
    c->samples = glint_job_i64(g, args, "samples", 1, SAMPLES_MAX);
    c->seed = glint_job_i64(g, args, "seed", 0, INT64_MAX - SAMPLES_MAX);
    if (fields_read_options(g, args, args->positional[0], &c->trial.fields) != 0 ||
        list_parse_probabilities(g, args, "p", &c->p) ||
        list_parse_schemes(g, args, "scheme", &scheme) != 0 ||
        ratio_parse(g, glint_job_option(args, "ratio"), weights) != 0)
        return glint_error(g)->code;
    c->scheme = scheme.items[0];
    if (glint_explaining(g)) c->samples = c->p.count = 1; /* the others are like the first one */
    c->save_keys = keys != NULL;
    c->keys.csv = c->trial.fields.csv != 0;
    if (c->save_keys)
        text_table_add(&c->keys,
                       "key\tp\tsample\tn\tm\tk\ttested\tfalse positives\trate\tfrom bits\t"
                       "textbook");
    struct glint_rdd *lines = fields_text_file(g, args->positional[0], &c->trial.fields);
    int r = glint_error(g)->code;
    for (int64_t sample = 0; r == 0 && sample < c->samples; sample++) {
        r = run_trials_of_sample(c, lines, weights, sample);
    }
    return r == 0 ? save_tables(c, args->positional[1], keys) : r;
}

static int fpr_check_run(struct glint *g, const struct glint_job_args *args)
{
    struct fpr_check *c = glint_alloc(g, sizeof *c);
    if (c == NULL) return glint_error(g)->code;
    *c = (struct fpr_check){.trial = {.g = g}, .keys = {.g = g}};
    fpr_check_samples(c, args);
    trial_fini(&c->trial);
    text_table_fini(&c->keys);
    glint_free(c);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    {"p", "P,...", "0.05,0.1,0.15,0.2", "false positive probabilities"},
    {"scheme", SIZES_CLASSIC_CHOICES, "spark", "index rule"},
    {"samples", "N", "10", "number of splits of INPUT, 1 to 100"},
    {"ratio", "A/B", "60/40", "weights of the rows to build from and of the rows to look up"},
    {"seed", "N", "42", "seed of the first split; the others use the following numbers"},
    {"keys", "DIR", NULL, "directory for a line per key, P and sample"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job fpr_check_job = {
    .name = "fpr-check",
    .summary = "compare false positive rates with the formula, over samples",
    .help = "For each sample and P: splits INPUT at random, builds a filter per key from one part "
            "and looks up the rows of the other part in the filter of their key. Saves a line per "
            "P: the mean over the keys, averaged over the samples, its standard deviation over the "
            "samples and the one expected by chance, the rate that the filters' bits predict, and "
            "the textbook's, (1 - e^(-kn/m))^k.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .run = fpr_check_run};

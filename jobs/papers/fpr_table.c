/* fpr-table: the false positives of each key's filter, over probabilities and schemes, in one
 * table.
 *
 *     TRAIN -> count-keys -> sizes; per scheme and p: bloom-build, then bloom-test with TEST
 *
 * Each line has the measured rate, the one predicted by the filter's bits, and the textbook's. */
#include "jobs/papers/lists.h"
#include "jobs/papers/trial.h"
#include "jobs/rows/text_table.h"

#include <assert.h>

static const char columns[] = "key\tscheme\tp\tn\tm\tk\tbits set\ttested\tfalse positives\trate\t"
                              "from bits\ttextbook";

/* The values of one filter, or of all together. */
struct fpr_line {
    uint64_t n, m, bits_set, rows, hits;
    double rate, from_bits, textbook;
};

static void add_fpr_line(struct text_table *table, bool text, const union glint_value *key,
                         const struct bloom_sizing *sizing, const struct fpr_line *l)
{
    text_table_add_key(table, text, key,
                       "%s\t%.9g\t%llu\t%llu\t%u\t%llu\t%llu\t%llu\t%.9g\t%.9g\t%.9g",
                       bloom_scheme_name(sizing->scheme), sizing->p, (unsigned long long)l->n,
                       (unsigned long long)l->m, sizing->k, (unsigned long long)l->bits_set,
                       (unsigned long long)l->rows, (unsigned long long)l->hits, l->rate,
                       l->from_bits, l->textbook);
}

/* Adds a line per key, then one with the sums and the mean rates of all keys that were tested. */
static void add_fpr_lines(struct text_table *table, const struct trial *t,
                          const struct bloom_sizing *sizing)
{
    static const union glint_value average = {.bytes = {(const uint8_t *)"average", 7}};
    struct fpr_line all = {.n = 0};
    uint32_t tested = 0;
    for (uint32_t i = 0; i < t->sizes.count; i++) {
        const struct bloom_params *p = &t->sizes.params[i];
        const struct trial_key *k = &t->keys[i];
        assert(k->hits <= k->rows && k->bits_set <= p->m);
        struct fpr_line l = {p->n,    p->m,          k->bits_set,       k->rows,
                             k->hits, trial_rate(k), k->rate_from_bits, bloom_expected_rate(p)};
        add_fpr_line(table, t->sizes.text, &t->sizes.keys[i], sizing, &l);
        all.n += l.n;
        all.m += l.m;
        all.bits_set += l.bits_set;
        all.rows += l.rows;
        all.hits += l.hits;
        if (l.rows == 0) continue;
        tested++;
        all.rate += l.rate;
        all.from_bits += l.from_bits;
        all.textbook += l.textbook;
    }
    if (tested == 0) return;
    all.rate /= tested;
    all.from_bits /= tested;
    all.textbook /= tested;
    add_fpr_line(table, true, &average, sizing, &all);
}

static int run_all_trials(struct trial *t, const struct list_schemes *schemes,
                          const struct list_f64 *p, const char *const *paths)
{
    struct text_table table = {.g = t->g, .csv = t->fields.csv != 0};
    struct glint_rdd *train = fields_text_file(t->g, paths[0], &t->fields);
    struct glint_rdd *test = fields_text_file(t->g, paths[1], &t->fields);
    int r = trial_count_keys(t, train);
    text_table_add(&table, "%s", columns);
    for (uint32_t i = 0; r == 0 && i < schemes->count * p->count; i++) {
        struct bloom_sizing sizing;
        enum bloom_result result = bloom_sizing_for_rate(
            schemes->items[i / p->count], BLOOM_CLASSIC, p->items[i % p->count], &sizing);
        if (result != BLOOM_OK) r = sizes_set_error(t->g, result, "--scheme");
        if (r == 0) r = trial_run(t, &sizing, train, test);
        if (r == 0) add_fpr_lines(&table, t, &sizing);
    }
    if (r == 0) r = text_table_save(&table, paths[2]);
    text_table_fini(&table);
    return r;
}

static int fpr_table_run(struct glint *g, const struct glint_job_args *args)
{
    struct trial t = {.g = g};
    struct list_schemes schemes;
    struct list_f64 p;
    if (fields_read_options(g, args, args->positional[0], &t.fields) == 0 &&
        list_parse_schemes(g, args, "scheme", &schemes) == 0 &&
        list_parse_probabilities(g, args, "p", &p) == 0) {
        if (glint_explaining(g))
            schemes.count = p.count = 1; /* the others are like the first one */
        run_all_trials(&t, &schemes, &p, args->positional);
    }
    trial_fini(&t);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    {"p", "P,...", "0.01,0.05,0.1", "false positive probabilities"},
    {"scheme", "NAME,...", "spark,hadoop", "index rules: " SIZES_CLASSIC_SCHEMES},
    {NULL, NULL, NULL, NULL}};

const struct glint_job fpr_table_job = {
    .name = "fpr-table",
    .summary = "measure false positive rates per key, probability and scheme",
    .help = "Builds a filter per key from TRAIN for each scheme and P, and looks up each row of "
            "TEST, whose ids are not in TRAIN, in the filter of its key. Saves a line per filter, "
            "after a header line: the measured rate, the one that the filter's bits predict, (bits "
            "set / m)^k, and the textbook's, (1 - e^(-kn/m))^k. After the keys of a scheme and P "
            "follows a line `average`: sums, and the means of the rates.",
    .positional = {"TRAIN", "TEST", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .run = fpr_table_run};

/* membership: finds for each id the set of keys whose filters may contain it.
 *
 *     FILTERS -> broadcast; row -> its id against every filter -> tallies -> reduceByKey(+)
 *                                                              -> id TAB KEY,KEY,...   (--sets)
 *
 * The second stage of the multi-set paper: an id with a false positive gets more than one key. */
#include "jobs/papers/membership.h"

#include "jobs/filters/sizes_from.h"
#include "jobs/rows/task_results.h"
#include "jobs/rows/text_table.h"

#include <assert.h>
#include <string.h>

/* The results from the tasks. */
struct membership_result {
    struct glint *g;
    bool csv; /* of the rows, and so of tables */
    struct sizes sizes;
    double *rate;                          /* per filter, from its bits */
    struct member_tally *filters;          /* [sizes.count] */
    uint64_t *counts, ids, without_filter; /* [sizes.count + 1]; without_filter: ids of no filter */
    double *expected;                      /* [sizes.count + 1]: expected share of the ids */
};

static int collect_member_tally(void *arg, const struct glint_record *record)
{
    struct membership_result *o = arg;
    struct member_tally tally;
    const int64_t number = record->key.i64;
    const int64_t last = MEMBER_COUNTS + (int64_t)o->sizes.count;
    if (record->value.bytes.size != sizeof tally || number < 0 || number > last ||
        (number < MEMBER_COUNTS && number >= o->sizes.count))
        return task_result_fail(o->g, "an invalid tally");
    memcpy(&tally, record->value.bytes.data, sizeof tally);
    if (number < MEMBER_COUNTS) {
        if (tally.own_hits > tally.own) return task_result_fail(o->g, "more hits than ids");
        o->filters[number] = tally;
        o->without_filter -= tally.own;
    } else {
        o->counts[number - MEMBER_COUNTS] = tally.hits;
        o->ids += tally.hits;
        o->without_filter += tally.hits;
    }
    return 0;
}

/* ---- Expectation: how many of independent filters report an id (a Poisson binomial distribution)
 */

/* Adds a filter to the distribution over `count` filters. */
static void add_filter_rate(double *share, uint32_t count, double rate)
{
    share[count + 1] = share[count] * rate;
    for (uint32_t c = count; c > 0; c--) share[c] = share[c] * (1 - rate) + share[c - 1] * rate;
    share[0] *= 1 - rate;
}

/* Removes a filter, with the result in `out`; starts at the end from which rounding errors shrink.
 */
static void remove_filter_rate(const double *share, uint32_t count, double rate, double *out)
{
    assert(count > 0 && rate >= 0 && rate <= 1);
    if (rate <= 0.5) {
        out[0] = share[0] / (1 - rate);
        for (uint32_t c = 1; c < count; c++) out[c] = (share[c] - rate * out[c - 1]) / (1 - rate);
        return;
    }
    out[count - 1] = share[count] / rate;
    for (uint32_t c = count - 1; c > 0; c--) out[c - 1] = (share[c] - (1 - rate) * out[c]) / rate;
}

/* The share of ids that c filters should report: an id of filter f certainly by f, and by the
 * others at random. */
static void compute_expected_shares(struct membership_result *o, double *all, double *others)
{
    const uint32_t count = o->sizes.count;
    const double ids = o->ids > 0 ? (double)o->ids : 1;
    memset(o->expected, 0, sizeof *o->expected * (count + 1));
    all[0] = 1;
    for (uint32_t i = 0; i < count; i++) add_filter_rate(all, i, o->rate[i]);
    for (uint32_t c = 0; c <= count; c++) o->expected[c] = (double)o->without_filter / ids * all[c];
    for (uint32_t i = 0; i < count; i++) {
        if (o->filters[i].own == 0) continue;
        remove_filter_rate(all, count, o->rate[i], others);
        for (uint32_t c = 1; c <= count; c++)
            o->expected[c] += (double)o->filters[i].own / ids * others[c - 1];
    }
}

/* ---- Tables */

static double ratio_or_zero(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static int save_filters(const struct membership_result *o, const char *path)
{
    struct text_table table = {.g = o->g, .csv = o->csv};
    text_table_add(&table, "key\tn\tm\tk\tids\ttrue positives\tfalse positives\ttrue negatives\t"
                           "false negatives\tfalse positive rate\tfrom bits");
    for (uint32_t i = 0; i < o->sizes.count; i++) {
        const struct bloom_params *p = &o->sizes.params[i];
        const struct member_tally *t = &o->filters[i];
        const uint64_t others = o->ids - t->own, wrong = t->hits - t->own_hits;
        assert(t->own <= o->ids && t->own_hits <= t->hits && wrong <= others);
        text_table_add_key(&table, o->sizes.text, &o->sizes.keys[i],
                           "%llu\t%llu\t%u\t%llu\t%llu\t%llu\t%llu\t%llu\t%.9g\t%.9g",
                           (unsigned long long)p->n, (unsigned long long)p->m, p->k,
                           (unsigned long long)t->own, (unsigned long long)t->own_hits,
                           (unsigned long long)wrong, (unsigned long long)(others - wrong),
                           (unsigned long long)(t->own - t->own_hits), ratio_or_zero(wrong, others),
                           o->rate[i]);
    }
    int r = text_table_save(&table, path);
    text_table_fini(&table);
    return r;
}

/* Up to the largest count that occurs or is expected. */
static int save_hit_counts(const struct membership_result *o, const char *path)
{
    struct text_table table = {.g = o->g};
    uint32_t last = o->sizes.count;
    while (last > 1 && o->counts[last] == 0 && o->expected[last] * (double)o->ids < 0.5) last--;
    text_table_add(&table, "keys\tids\tshare\texpected");
    for (uint32_t c = 0; c <= last; c++)
        text_table_add(&table, "%u\t%llu\t%.9g\t%.9g", c, (unsigned long long)o->counts[c],
                       ratio_or_zero(o->counts[c], o->ids), o->expected[c]);
    int r = text_table_save(&table, path);
    text_table_fini(&table);
    return r;
}

static void note_multiple_keys(const struct membership_result *o)
{
    const uint64_t one = o->counts[0] + (o->sizes.count > 0 ? o->counts[1] : 0);
    const double expected = 1 - o->expected[0] - o->expected[1];
    glint_note(o->g, "more than one key: %llu of %llu ids, a rate of %.6g; expected %.6g",
               (unsigned long long)(o->ids - one), (unsigned long long)o->ids,
               ratio_or_zero(o->ids - one, o->ids), expected < 0 ? 0 : expected);
}

/* ---- The plan */

/* Allocates all arrays of the result, zeroed. */
static int membership_result_init(struct membership_result *o)
{
    const uint64_t count = o->sizes.count + 1;
    o->rate = glint_alloc(o->g, sizeof *o->rate * count);
    o->filters = glint_alloc(o->g, sizeof *o->filters * count);
    o->counts = glint_alloc(o->g, sizeof *o->counts * count);
    o->expected = glint_alloc(o->g, sizeof *o->expected * count);
    if (o->rate == NULL || o->filters == NULL || o->counts == NULL || o->expected == NULL)
        return glint_error(o->g)->code;
    memset(o->rate, 0, sizeof *o->rate * count);
    memset(o->filters, 0, sizeof *o->filters * count);
    memset(o->counts, 0, sizeof *o->counts * count);
    return 0;
}

static void membership_result_fini(struct membership_result *o)
{
    sizes_fini(&o->sizes);
    glint_free(o->rate);
    glint_free(o->filters);
    glint_free(o->counts);
    glint_free(o->expected);
}

/* The functions' arguments. With --members none the input may have no key column: uses the id
 * column, which every row has, as a text key. */
static struct glint_args *membership_function_args(struct membership_result *o,
                                                   const struct fields *fields, bool members,
                                                   struct glint_broadcast *filters)
{
    struct fields read = *fields;
    if (!members) {
        read.key_column = read.id_column;
        read.key = FIELDS_TEXT;
    }
    struct glint_args *args = glint_args(o->g);
    fields_args(args, &read);
    glint_args_add_i64(args, "members", members);
    glint_args_add_broadcast(args, "sizes", sizes_broadcast(o->g, &o->sizes));
    glint_args_add_broadcast(args, "filters", filters);
    return args;
}

static int save_membership_results(struct membership_result *o, struct glint_rdd *lines,
                                   struct glint_args *args, const char *output, const char *counts)
{
    const uint64_t size = sizeof(double) * (o->sizes.count + 1);
    struct glint_rdd *tallies = glint_map_partitions(lines, &membership_tally, args);
    struct glint_rdd *sums = glint_reduce_by_key(tallies, &membership_add, NULL);
    int r = glint_collect_each(sums, collect_member_tally, o);
    if (r != 0) return r;
    double *all = glint_alloc(o->g, size), *others = glint_alloc(o->g, size);
    if (all != NULL && others != NULL) {
        compute_expected_shares(o, all, others);
        if (!glint_explaining(o->g)) note_multiple_keys(o);
        r = save_filters(o, output);
        if (r == 0 && counts != NULL) r = save_hit_counts(o, counts);
    }
    glint_free(all);
    glint_free(others);
    return glint_error(o->g)->code;
}

static int membership_run(struct glint *g, const struct glint_job_args *args)
{
    const char *const *paths = args->positional; /* INPUT FILTERS OUTPUT */
    const char *sets = glint_job_option(args, "sets");
    struct membership_result o = {.g = g};
    struct fields fields;
    const bool members = strcmp(glint_job_option(args, "members"), "key") == 0;
    if (fields_read_options(g, args, paths[0], &fields) != 0) return glint_error(g)->code;
    o.csv = fields.csv != 0;
    const bool text = fields_key_type(&fields) == GLINT_TEXT;
    struct glint_rdd *lines = fields_text_file(g, paths[0], &fields);
    struct glint_schema schema = {text ? GLINT_TEXT : GLINT_I64, GLINT_MSGPACK};
    struct glint_rdd *filters = glint_msgpack_file_by_name(g, paths[1], schema);
    int r = sizes_from_filters(filters, text, paths[1], &o.sizes);
    if (r == 0) r = sizes_check_text_ids(g, &o.sizes, paths[1]);
    if (r == 0) r = membership_result_init(&o);
    if (r == 0) {
        struct glint_broadcast *blob = filters_broadcast(filters, &o.sizes, paths[1], NULL, o.rate);
        struct glint_args *look_up = membership_function_args(&o, &fields, members, blob);
        if (sets != NULL)
            glint_save_as_text_file(glint_flat_map(lines, &membership_sets, look_up), sets);
        save_membership_results(&o, lines, look_up, paths[2], glint_job_option(args, "counts"));
    }
    membership_result_fini(&o);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    {"members", "key|none", "key", "filter that contains an id: that of its key column, or none"},
    {"counts", "DIR", NULL,
     "directory for how many ids get 0, 1, 2, ... keys, and how many are expected to"},
    {"sets", "DIR", NULL, "directory for each id with its keys: ID TAB KEY,KEY,..."},
    {NULL, NULL, NULL, NULL}};

const struct glint_job membership_job = {
    .name = "membership",
    .summary = "find for each id the keys whose filters may contain it",
    .help = "Looks up each id of INPUT in all filters that bloom-build saved. Saves a line per "
            "filter: its true and false positives and negatives, and the false positive rate and "
            "the one that its bits predict. With --members none INPUT needs no key column. In "
            "--sets a comma inside a key is %2C.",
    .positional = {"INPUT", "FILTERS", "OUTPUT"},
    .outputs = {"OUTPUT", "sets"},
    .options = options,
    .functions = {&membership_tally, &membership_add, &membership_sets, &sizes_filter_head},
    .run = membership_run};

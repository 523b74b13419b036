/* constructions: compares the costs of methods to build filters, over probabilities and numbers of
 * map tasks.
 *
 *     per p, mappers and method: rows in partitions -> lists or partial filters -> filters
 *
 * The multi-set paper counts k n v bytes for lists of indexes and mappers x sum of m / 8 for
 * partial filters. The table has these formulas, the bytes produced, the bytes moved (compressed,
 * with keys), and times. Only the table is saved. */
#include "engine/base/text.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/bloom_pipeline.h"
#include "jobs/filters/sizes_from.h"
#include "jobs/papers/lists.h"
#include "jobs/papers/times.h"
#include "jobs/rows/row_counts.h"
#include "jobs/rows/text_table.h"

#include <assert.h>
#include <string.h>

enum { MAPPERS_MAX = 10000 };

struct measured {
    uint64_t formula, shuffle_bytes, moved, records;
    struct times wall, cpu; /* milliseconds */
};

struct method_comparison {
    struct glint *g;
    struct fields fields;
    struct sizes sizes;
    const char *input;
    int64_t repeats;
    bool wanted[BLOOM_METHODS];
    struct text_table table;
    struct measured methods[BLOOM_METHODS]; /* of the current p and mappers */
};

static uint64_t comparison_counter_value(const struct method_comparison *c, const char *name)
{
    return (uint64_t)glint_counter_value(c->g, name);
}

static int count_rows_of_keys(struct method_comparison *c)
{
    struct glint_args *columns = glint_args(c->g);
    fields_args(columns, &c->fields);
    const bool text = fields_key_type(&c->fields) == GLINT_TEXT;
    struct glint_rdd *lines = fields_text_file(c->g, c->input, &c->fields);
    struct glint_rdd *ones = glint_map(lines, text ? &count_text : &count_number, columns);
    return sizes_from_counts(glint_reduce_by_key(ones, &GLINT_SUM_I64, NULL), text, &c->sizes);
}

/* Builds all filters once; counts them and discards them. */
static int build_and_discard_filters(const struct method_comparison *c, struct glint_rdd *lines,
                                     enum bloom_method method)
{
    int64_t filters = 0;
    if (glint_explaining(c->g)) glint_note(c->g, "%s:", bloom_method_names[method]);
    int r = glint_count(bloom_pipeline(lines, &c->sizes, method, &c->fields), &filters);
    assert(r != 0 || filters == c->sizes.count || glint_explaining(c->g));
    return r;
}

/* Runs once for the bytes, and to warm up; then for the times. */
static int measure_method(struct method_comparison *c, struct glint_rdd *lines,
                          enum bloom_method method)
{
    struct measured *m = &c->methods[method];
    *m = (struct measured){.formula =
                               bloom_method_bytes(&c->sizes, method, glint_partitions(lines))};
    const uint64_t records = comparison_counter_value(c, "map output records"),
                   moved = comparison_counter_value(c, "map output bytes"),
                   shuffle_bytes = comparison_counter_value(c, BLOOM_SHUFFLE_BYTES);
    int r = build_and_discard_filters(c, lines, method);
    m->records = comparison_counter_value(c, "map output records") - records;
    m->moved = comparison_counter_value(c, "map output bytes") - moved;
    m->shuffle_bytes = comparison_counter_value(c, BLOOM_SHUFFLE_BYTES) - shuffle_bytes;
    for (int64_t i = 0; r == 0 && i < c->repeats; i++) {
        double wall = times_wall_ms(), cpu = times_cpu_ms();
        r = build_and_discard_filters(c, lines, method);
        times_add(&m->wall, times_wall_ms() - wall);
        times_add(&m->cpu, times_cpu_ms() - cpu);
    }
    return r;
}

static void add_method_line(struct method_comparison *c, double p, uint32_t mappers,
                            enum bloom_method method)
{
    struct measured *m = &c->methods[method];
    char times[128] = "";
    if (c->repeats > 0) {
        double wall = times_median(&m->wall), cpu = times_median(&m->cpu); /* times_median sorts */
        text_format(times, sizeof times, "\t%.3f\t%.3f\t%.3f\t%.3f", wall, m->wall.items[0],
                    m->wall.items[m->wall.count - 1], cpu);
    }
    text_table_add(&c->table, "%.9g\t%u\t%s\t%llu\t%u\t%u\t%llu\t%llu\t%llu\t%llu\t%d%s", p,
                   mappers, bloom_method_names[method], (unsigned long long)c->sizes.rows,
                   c->sizes.count, c->sizes.params[0].k, (unsigned long long)m->formula,
                   (unsigned long long)m->shuffle_bytes, (unsigned long long)m->moved,
                   (unsigned long long)m->records,
                   method == bloom_method_choose(c->g, &c->sizes, mappers), times);
}

/* The rows in `mappers` partitions, independent of the number of files. */
static struct glint_rdd *read_rows_for_mappers(const struct method_comparison *c, int64_t mappers)
{
    const uint64_t lines = (c->sizes.rows + (uint64_t)mappers - 1) / (uint64_t)mappers;
    return glint_coalesce(fields_n_line_text_file(c->g, c->input, lines, &c->fields),
                          (uint32_t)mappers);
}

static int compare_methods(struct method_comparison *c, const struct list_f64 *p,
                           const struct list_i64 *mappers, const struct glint_job_args *args)
{
    int r = count_rows_of_keys(c);
    for (uint32_t at = 0; r == 0 && at < mappers->count * p->count; at++) {
        const double probability = p->items[at % p->count];
        struct glint_rdd *lines = read_rows_for_mappers(c, mappers->items[at / p->count]);
        struct bloom_sizing sizing;
        r = sizes_sizing_from_options(c->g, args, probability, &sizing);
        if (r == 0) r = sizes_compute_params(c->g, &c->sizes, &sizing);
        if (r == 0) r = bloom_check_memory(c->g, &c->sizes);
        for (enum bloom_method method = 0; r == 0 && method < BLOOM_METHODS; method++) {
            if (!c->wanted[method]) continue;
            r = measure_method(c, lines, method);
            if (r == 0) add_method_line(c, probability, glint_partitions(lines), method);
        }
    }
    return r;
}

static int methods_option(struct method_comparison *c, const struct glint_job_args *args)
{
    struct list_cursor cursor = {NULL, false};
    struct glint_slice item;
    while (list_next(&cursor, glint_job_option(args, "methods"), &item)) {
        int method = 0;
        while (method < BLOOM_METHODS &&
               (strlen(bloom_method_names[method]) != item.size ||
                memcmp(bloom_method_names[method], item.data, item.size) != 0))
            method++;
        if (method == BLOOM_METHODS)
            return glint_abort(c->g, GLINT_E_BAD_VALUE,
                               "use lists-fixed, lists-varint, lists-vint, lists-once, partials",
                               "--methods: invalid value \"%.*s\"",
                               (int)(item.size > 100 ? 100 : item.size), (const char *)item.data);
        c->wanted[method] = true;
    }
    return 0;
}

static int constructions_run(struct glint *g, const struct glint_job_args *args)
{
    struct method_comparison c = {.g = g, .input = args->positional[0], .table = {.g = g}};
    struct list_f64 p;
    struct list_i64 mappers;
    struct bloom_sizing kind;
    c.repeats = glint_job_i64(g, args, "repeats", 0, TIMES_MAX);
    if (methods_option(&c, args) != 0 || fields_read_options(g, args, c.input, &c.fields) != 0 ||
        list_parse_probabilities(g, args, "p", &p) != 0 ||
        list_parse_numbers(g, args, "mappers", 1, MAPPERS_MAX, &mappers) != 0 ||
        sizes_kind_from_options(g, args, &kind) != 0)
        return glint_error(g)->code;
    if (glint_explaining(g)) { /* the others are like the first one */
        p.count = mappers.count = 1;
        c.repeats = 0;
    }
    text_table_add(
        &c.table,
        "p\tmappers\tmethod\tn\tkeys\tk\tformula bytes\tbytes\tmoved bytes\trecords\tauto%s",
        c.repeats > 0 ? "\twall ms\tlowest\thighest\tcpu ms" : "");
    if (compare_methods(&c, &p, &mappers, args) == 0)
        text_table_save(&c.table, args->positional[1]);
    text_table_fini(&c.table);
    sizes_fini(&c.sizes);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    {"p", "P,...", "0.01", "false positive probabilities"},
    {"methods", "NAME,...", "lists-fixed,lists-varint,partials",
     "which methods; also lists-vint, numbers as in Hadoop, and lists-once, each index once per "
     "task"},
    {"mappers", "N,...", "1,4,16,64", "numbers of map tasks; fewer if INPUT has fewer rows"},
    SIZES_OPTIONS,
    {"repeats", "N", "0", "time measurements; 0: only bytes, which are the same in every run"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job constructions_job = {
    .name = "constructions",
    .summary = "compare the costs of methods to build filters",
    .help =
        "Builds the filters of INPUT's keys by lists of indexes, of fixed size and as varints, and "
        "by partial filters, and saves a line per P, mappers and method: the shuffle bytes by "
        "formula (k n v; mappers x sum of (m / 8 + 8)), as they are produced, and as they are "
        "moved, packed and with their keys; records; whether bloom-build's auto would choose the "
        "method for this number of tasks; and with --repeats the median, lowest and highest wall "
        "time and the CPU time of this process, which on a cluster is the driver's.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .run = constructions_run};

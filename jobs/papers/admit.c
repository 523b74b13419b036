/* admit: the threads paper's filter in front of a store: rejects what was not added, except for
 * false positives.
 *
 *     sample, or FILTERS -> one filter, broadcast;  lines -> admitted or rejected
 *
 * With --filters it is the second job of the paper's Hadoop program; union is the first one:
 *
 *     line -> (admitted or rejected, 1) -> reduceByKey(+)
 *
 * The report is one line of numbers; the lines themselves are saved on request, unchanged and in
 * order. */
#include "jobs/papers/admit.h"

#include "engine/batch.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/sizes_from.h"
#include "jobs/rows/task_results.h"
#include "jobs/rows/text_table.h"

#include <assert.h>
#include <string.h>

/* ---- admit.keep */

struct keep_state {
    struct fields fields;
    struct bloom_set set;
    int64_t want, with_counters;
    int admitted, rejected;           /* counters */
    uint16_t filter[FIELDS_ROWS_MAX]; /* zeros: there is only one filter */
    uint16_t line[FIELDS_ROWS_MAX];   /* of each parsed row, in the batch */
    uint8_t hit[FIELDS_ROWS_MAX];
    int64_t verdict[FIELDS_ROWS_MAX], ones[FIELDS_ROWS_MAX]; /* for admit.verdict */
};

static int admit_filter_init(struct glint_task *task, void *state)
{
    struct keep_state *s = state;
    int r = fields_open(task, &s->fields, true);
    s->fields.as_in_rows = true; /* ids tell which lines are parsed rows */
    if (r == 0) r = bloom_open_filters(task, &s->set);
    if (r == 0) r = glint_arg_i64(task, "want", &s->want);
    if (r == 0) r = glint_arg_i64(task, "with_counters", &s->with_counters);
    if (r != 0 || s->with_counters == 0) return r;
    s->admitted = glint_counter(task, "admitted");
    s->rejected = glint_counter(task, "rejected");
    return s->admitted >= 0 && s->rejected >= 0 ? 0 : GLINT_E_NO_MEMORY;
}

/* Finds the line of each parsed row: parsed rows are lines in order, without bad ones. */
static void find_admit_lines(struct keep_state *s, const struct glint_batch *in)
{
    const struct fields *f = &s->fields;
    const struct glint_column *lines = &in->value;
    uint32_t line = 0;
    for (uint32_t row = 0; row < f->rows; row++, line++) {
        if (f->rows < in->rows && lines->start != NULL)
            while (lines->end[line] < f->id_start[row]) line++;
        s->line[row] = (uint16_t)line;
    }
}

/* Looks up all rows of a batch in the filter. */
static int look_up_rows_of_batch(struct keep_state *s, struct glint_task *task,
                                 const struct glint_batch *in)
{
    struct fields *f = &s->fields;
    int r = fields_parse(f, task, in);
    if (r == 0) find_admit_lines(s, in);
    if (r == 0) r = fields_unescape(f, task, in);
    if (r != 0) return r;
    const struct bloom_rows rows = {f->base, f->id_start, f->id_end, s->filter, f->rows};
    bloom_set_contains_rows(&s->set, &rows, s->hit);
    return 0;
}

static void count_verdicts(const struct keep_state *s, struct glint_task *task, uint32_t hits)
{
    glint_counter_add(task, s->admitted, hits);
    glint_counter_add(task, s->rejected, s->fields.rows - hits);
}

static int select_admitted_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                                uint16_t *out_rows, uint32_t *out_count)
{
    struct keep_state *s = state;
    struct fields *f = &s->fields;
    *out_count = 0;
    int r = look_up_rows_of_batch(s, task, in);
    if (r != 0) return r;
    uint32_t kept = 0;
    for (uint32_t row = 0; row < f->rows; row++) {
        out_rows[kept] = s->line[row];
        kept += s->hit[row] == s->want;
    }
    assert(kept <= f->rows && f->rows <= in->rows);
    *out_count = kept;
    if (s->with_counters == 0) return 0;
    count_verdicts(s, task, s->want != 0 ? kept : f->rows - kept);
    return 0;
}

/* Converts a line to (1 or 0, 1): key 1 for admitted lines, 0 for rejected ones. */
static int emit_verdicts(struct glint_task *task, void *state, const struct glint_batch *in,
                         struct glint_emitter *out)
{
    struct keep_state *s = state;
    int r = look_up_rows_of_batch(s, task, in);
    if (r != 0) return r;
    uint32_t hits = 0;
    for (uint32_t row = 0; row < s->fields.rows; row++) {
        s->verdict[row] = s->hit[row];
        s->ones[row] = 1;
        hits += s->hit[row];
    }
    count_verdicts(s, task, hits);
    struct glint_batch batch = {.rows = s->fields.rows,
                                .key = {.type = GLINT_I64, .i64 = s->verdict},
                                .value = {.type = GLINT_I64, .i64 = s->ones},
                                .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

static void admit_filter_fini(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct keep_state *)state)->set);
}

static const struct glint_function keep = {.name = "admit.keep",
                                           .kind = GLINT_KIND_FILTER,
                                           .in = {GLINT_ANY, GLINT_TEXT},
                                           .out = {GLINT_SAME, GLINT_SAME},
                                           .state_size = sizeof(struct keep_state),
                                           .open = admit_filter_init,
                                           .keep_batch = select_admitted_rows,
                                           .close = admit_filter_fini};
static const struct glint_function verdict = {.name = "admit.verdict",
                                              .kind = GLINT_KIND_MAP,
                                              .in = {GLINT_ANY, GLINT_TEXT},
                                              .out = {GLINT_I64, GLINT_I64},
                                              .state_size = sizeof(struct keep_state),
                                              .open = admit_filter_init,
                                              .batch = emit_verdicts,
                                              .close = admit_filter_fini};
/* ---- The plan */

static struct glint_args *admit_function_args(struct glint *g, const struct fields *fields,
                                              const struct built_filter *filter, bool admitted,
                                              bool with_counters)
{
    struct glint_args *args = glint_args(g);
    fields_args(args, fields);
    glint_args_add_i64(args, "want", admitted);
    glint_args_add_i64(args, "with_counters", with_counters);
    glint_args_add_broadcast(args, "filters", filter->broadcast);
    return args;
}

struct glint_rdd *admit_lines(struct glint_rdd *lines, const struct fields *fields,
                              const struct built_filter *filter, bool admitted, bool with_counters)
{
    if (lines == NULL) return NULL;
    struct glint_args *args =
        admit_function_args(glint_context(lines), fields, filter, admitted, with_counters);
    return glint_filter(lines, &keep, args);
}

static int save_report(struct glint *g, const struct built_filter *b, const char *output)
{
    const struct bloom_params *p = &b->sizes.params[0];
    const long long admitted = glint_counter_value(g, "admitted");
    const long long rejected = glint_counter_value(g, "rejected");
    struct text_table table = {.g = g};
    text_table_add(&table,
                   "elements\tm\tk\tbits set\tfrom bits\ttextbook\tqueried\tadmitted\trejected");
    text_table_add(&table, "%llu\t%llu\t%u\t%llu\t%.9g\t%.9g\t%lld\t%lld\t%lld",
                   (unsigned long long)p->n, (unsigned long long)p->m, p->k,
                   (unsigned long long)b->bits_set, b->rate, bloom_expected_rate(p),
                   admitted + rejected, admitted, rejected);
    int r = text_table_save(&table, output);
    text_table_fini(&table);
    return r;
}

struct verdict_counts {
    struct glint *g;
    int64_t counted[2]; /* rejected, admitted */
};

static int collect_verdict_count(void *arg, const struct glint_record *record)
{
    struct verdict_counts *c = arg;
    if (record->key.i64 != 0 && record->key.i64 != 1)
        return task_result_fail(c->g, "a verdict that is neither 0 nor 1");
    c->counted[record->key.i64] = record->value.i64;
    return 0;
}

/* Counts by map and reduce; the counters must give the same numbers. */
static int check_verdict_counts(struct glint_rdd *lines, const struct fields *fields,
                                const struct built_filter *b)
{
    struct glint *g = glint_context(lines);
    struct verdict_counts c = {.g = g};
    struct glint_rdd *verdicts =
        glint_map(lines, &verdict, admit_function_args(g, fields, b, true, true));
    struct glint_rdd *sums = glint_reduce_by_key(verdicts, &GLINT_SUM_I64, NULL);
    int r = glint_collect_each(sums, collect_verdict_count, &c);
    if (r == 0 && (c.counted[1] != glint_counter_value(g, "admitted") ||
                   c.counted[0] != glint_counter_value(g, "rejected")))
        r = task_result_fail(g, "verdicts that differ from its counters");
    if (r == 0 && !glint_explaining(g))
        glint_note(g, "by map and reduce: %lld admitted, %lld rejected", (long long)c.counted[1],
                   (long long)c.counted[0]);
    return r;
}

/* Reads the input once, or once for each output of lines. `with_counters`: the counters
 * have not been incremented yet. */
static int save_admitted_lines(struct glint_rdd *lines, const struct fields *fields,
                               const struct built_filter *b, const struct glint_job_args *args,
                               bool with_counters)
{
    struct glint *g = glint_context(lines);
    const char *output[2] = {glint_job_option(args, "rejected"),
                             glint_job_option(args, "admitted")};
    int64_t count;
    for (int want = 1; want >= 0; want--) {
        if (output[want] == NULL) continue;
        glint_save_as_text_file(admit_lines(lines, fields, b, want != 0, with_counters),
                                output[want]);
        with_counters = false;
    }
    if (with_counters) glint_count(admit_lines(lines, fields, b, true, with_counters), &count);
    return glint_error(g)->code;
}

/* Builds the filter from SAMPLE, or reads it from --filters. */
static int make_admit_filter(struct glint *g, const struct glint_job_args *args,
                             const char *filters, const struct fields *fields,
                             struct built_filter *out)
{
    struct one_filter choice;
    if (filters != NULL) return built_filter_read(g, filters, out);
    if (one_filter_options(g, args, &choice) != 0) return glint_error(g)->code;
    struct glint_rdd *sample = fields_text_file(g, args->positional[0], fields);
    return built_filter_make(sample, fields, args->positional[0], &choice, out);
}

static int admit_run(struct glint *g, const struct glint_job_args *args)
{
    const char *const *paths = args->positional + (args->count - 2); /* INPUT OUTPUT */
    const char *filters = glint_job_option(args, "filters");
    struct fields fields;
    struct built_filter filter = {.bits_set = 0};
    if ((filters != NULL) != (args->count == 2))
        return glint_abort(g, GLINT_E_USAGE,
                           "admit SAMPLE INPUT OUTPUT, or admit --filters DIR INPUT OUTPUT",
                           filters != NULL ? "SAMPLE and --filters cannot both be given"
                                           : "neither SAMPLE nor --filters is given");
    if (fields_read_id_options(g, args, paths[0], &fields) != 0) return glint_error(g)->code;
    struct glint_rdd *lines = fields_text_file(g, paths[0], &fields);
    int r = glint_error(g)->code;
    if (r == 0) r = make_admit_filter(g, args, filters, &fields, &filter);
    if (r == 0 && filters != NULL) r = check_verdict_counts(lines, &fields, &filter);
    if (r == 0) r = save_admitted_lines(lines, &fields, &filter, args, filters == NULL);
    if (r == 0) save_report(g, &filter, paths[1]);
    built_filter_fini(&filter);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_ID_OPTIONS,
    ONE_FILTER_OPTIONS,
    {"filters", "DIR", NULL, "instead of SAMPLE: directory of a filter that union saved"},
    {"admitted", "DIR", NULL, "directory for the lines that the filter admits"},
    {"rejected", "DIR", NULL, "directory for the lines that it rejects"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job admit_job = {
    .name = "admit",
    .summary = "build a filter of a sample, and look up each line of a file",
    .help = "An element is the id column of a line, or the whole line if it has no delimiter. "
            "Saves the filter's elements, m, k and bits set, the rate of false positives that "
            "these bits predict and the textbook's, and how many lines of INPUT were admitted and "
            "rejected. All of SAMPLE would be admitted. With --filters DIR, the only arguments are "
            "INPUT OUTPUT; lines are then counted by map and reduce as well as by counters.",
    .positional = {"SAMPLE", "INPUT", "OUTPUT"},
    .positional_min = 2,
    .outputs = {"OUTPUT", "admitted", "rejected"},
    .options = options,
    .functions = {&keep, &verdict, &sizes_filter_head},
    .run = admit_run};

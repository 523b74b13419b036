/* admit: the threads paper's filter before a store: what was not put in is turned away, but for
 * false positives.
 *
 *     sample -> one filter, broadcast;  lines -> admitted or rejected
 *
 * The report is one line of numbers; the lines themselves are saved on request, whole and in their
 * order. */
#include "jobs/papers/admit.h"

#include "jobs/filters/bloom_chain.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/jobs.h"
#include "jobs/rows/text_table.h"

#include <assert.h>
#include <string.h>

/* ---- admit.keep */

struct keep_state {
    struct fields fields;
    struct bloom_set set;
    int64_t want, told;
    int admitted, rejected;           /* counters */
    uint16_t filter[FIELDS_ROWS_MAX]; /* zeros: there is one */
    uint8_t hit[FIELDS_ROWS_MAX];
};

static int keep_open(struct glint_task *task, void *state)
{
    struct keep_state *s = state;
    int r = fields_open(task, &s->fields, true);
    if (r == 0) r = bloom_open_filters(task, &s->set);
    if (r == 0) r = glint_arg_i64(task, "want", &s->want);
    if (r == 0) r = glint_arg_i64(task, "told", &s->told);
    if (r != 0 || s->told == 0) return r;
    s->admitted = glint_counter(task, "admitted");
    s->rejected = glint_counter(task, "rejected");
    return s->admitted >= 0 && s->rejected >= 0 ? 0 : GLINT_E_NO_MEMORY;
}

/* The line of each parsed row: parsed rows are lines in their order, but for bad ones. */
static uint32_t next_line(const struct fields *f, const struct glint_column *lines, uint32_t row,
                          uint32_t line)
{
    if (lines->start != NULL)
        while (lines->end[line] < f->id_start[row]) line++;
    return line;
}

static int keep_batch(struct glint_task *task, void *state, const struct glint_batch *in,
                      uint16_t *out_rows, uint32_t *out_count)
{
    struct keep_state *s = state;
    struct fields *f = &s->fields;
    *out_count = 0;
    int r = fields_parse(f, task, in);
    if (r != 0) return r;
    const struct bloom_rows rows = {f->base, f->id_start, f->id_end, s->filter, f->rows};
    bloom_set_contains_rows(&s->set, &rows, s->hit);
    uint32_t kept = 0, line = 0;
    for (uint32_t row = 0; row < f->rows; row++, line++) {
        line = f->rows == in->rows ? row : next_line(f, &in->value, row, line);
        out_rows[kept] = (uint16_t)line;
        kept += s->hit[row] == s->want;
    }
    assert(kept <= f->rows && f->rows <= in->rows);
    *out_count = kept;
    if (s->told == 0) return 0;
    const uint32_t hits = s->want != 0 ? kept : f->rows - kept;
    glint_count_add(task, s->admitted, hits);
    glint_count_add(task, s->rejected, f->rows - hits);
    return 0;
}

static void keep_close(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct keep_state *)state)->set);
}

static const struct glint_function keep = {.name = "admit.keep",
                                           .form = GLINT_FILTER,
                                           .in = {GLINT_ANY, GLINT_TEXT},
                                           .out = {GLINT_SAME, GLINT_SAME},
                                           .state_size = sizeof(struct keep_state),
                                           .open = keep_open,
                                           .keep_batch = keep_batch,
                                           .close = keep_close};
static const struct glint_function *const functions[] = {&keep, NULL};
const struct glint_module admit_module = {"admit", functions};

/* ---- The plan */

struct glint_rdd *admit_lines(struct glint_rdd *lines, const struct fields *fields,
                              const struct built_filter *filter, bool admitted, bool told)
{
    if (lines == NULL) return NULL;
    struct glint_args *args = glint_args(glint_context(lines));
    fields_args(args, fields);
    glint_args_i64(args, "want", admitted);
    glint_args_i64(args, "told", told);
    glint_args_broadcast(args, "filters", filter->broadcast);
    return glint_filter(lines, "admit.keep", args);
}

static int save_report(struct glint *g, const struct built_filter *b, const char *output)
{
    const struct bloom_params *p = &b->sizes.params[0];
    const long long admitted = glint_counter_value(g, "admitted");
    const long long rejected = glint_counter_value(g, "rejected");
    struct text_table table = {.g = g};
    text_table_add(&table, "elements\tm\tk\tbits set\tfrom bits\ttextbook\tasked\tadmitted\t"
                           "rejected");
    text_table_add(&table, "%llu\t%llu\t%u\t%llu\t%.9g\t%.9g\t%lld\t%lld\t%lld",
                   (unsigned long long)p->n, (unsigned long long)p->m, p->k,
                   (unsigned long long)b->bits_set, b->rate, bloom_expected_rate(p),
                   admitted + rejected, admitted, rejected);
    int r = text_table_save(&table, output);
    text_table_fini(&table);
    return r;
}

/* The input is read once, or once for each output of lines. */
static int ask(struct glint_rdd *lines, const struct fields *fields, const struct built_filter *b,
               const struct glint_job_args *args)
{
    struct glint *g = glint_context(lines);
    const char *output[2] = {glint_job_option(args, "rejected"),
                             glint_job_option(args, "admitted")};
    bool told = true;
    int64_t count;
    for (int want = 1; want >= 0; want--) {
        if (output[want] == NULL) continue;
        glint_save_as_text_file(admit_lines(lines, fields, b, want != 0, told), output[want]);
        told = false;
    }
    if (told && glint_explaining(g))
        return glint_save_as_text_file(admit_lines(lines, fields, b, true, told),
                                       args->positional[2]);
    if (told) glint_count(admit_lines(lines, fields, b, true, told), &count);
    return glint_error(g)->code;
}

static int admit_run(struct glint *g, const struct glint_job_args *args)
{
    const char *const *paths = args->positional; /* SAMPLE INPUT OUTPUT */
    struct fields fields;
    struct one_filter choice;
    struct built_filter filter;
    if (fields_id_options(g, args, &fields) != 0 || one_filter_options(g, args, &choice) != 0)
        return glint_error(g)->code;
    struct glint_rdd *sample = glint_text_file(g, paths[0]), *lines = glint_text_file(g, paths[1]);
    if (glint_error(g)->code != GLINT_OK) return glint_error(g)->code;
    int r = built_filter_make(sample, &fields, paths[0], &choice, &filter);
    if (r == 0) r = ask(lines, &fields, &filter, args);
    if (r == 0 && !glint_explaining(g)) save_report(g, &filter, paths[2]);
    built_filter_fini(&filter);
    return glint_error(g)->code;
}

static const char *const positional[] = {"SAMPLE", "INPUT", "OUTPUT", NULL};
static const struct glint_job_option options[] = {
    FIELDS_ID_OPTIONS,
    ONE_FILTER_OPTIONS,
    {"admitted", "DIR", NULL, "save the lines there that the filter admits"},
    {"rejected", "DIR", NULL, "save those there that it does not"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job admit_job = {
    .name = "admit",
    .summary = "build a filter of a sample, ask it for each line of a file",
    .help = "An element is the id column of a line: the line, where it has no delimiter. Saves the "
            "filter's elements, m, k and bits set, the rate of false positives that these bits "
            "predict beside the textbook's, and how many lines of INPUT were admitted and "
            "rejected. All of SAMPLE would be admitted.",
    .positional = positional,
    .options = options,
    .run = admit_run};

/* join-steps: an inner join in three steps, like a chain of Hadoop jobs. Each step reads what the
 * previous one saved; the outputs are committed together when all steps are done.
 *
 *     1  RIGHT -> its keys -> one filter                  -> FILTER
 *     2  LEFT -> rows whose key the filter in FILTER has  -> KEPT
 *     3  KEPT and RIGHT -> one shuffle by key -> pairs    -> OUTPUT
 *
 * join --method bloom does the same in one plan and saves no intermediate results. */
#include "jobs/filters/sizes_from.h"
#include "jobs/join/join.h"

struct steps {
    struct join join; /* RIGHT is the build side */
    struct sizes sizes;
    double p;
    const char *filter, *kept, *output;
};

static int save_filter(struct steps *s)
{
    uint64_t keys;
    int r = join_count_build_rows(&s->join, &keys);
    if (r == 0) r = join_filter_sizes(&s->join, s->p, keys > 0 ? keys : 1, &s->sizes);
    if (r != 0) return r;
    struct glint_rdd *filter = join_filter_rdd(&s->join, &s->sizes);
    return glint_save_as_msgpack_file(glint_coalesce(filter, 1), s->filter);
}

/* In the form of LEFT. */
static int save_left_rows_in_filter(struct steps *s)
{
    const struct table *left = &s->join.tables[JOIN_SIDE_LEFT];
    const struct glint_schema schema = {GLINT_I64, GLINT_MSGPACK};
    struct glint_rdd *saved = glint_msgpack_file(s->join.g, s->filter, schema);
    struct key_filter filter = {.keys = 0};
    filter.broadcast = filters_broadcast(saved, &s->sizes, s->filter, NULL, &filter.rate);
    if (filter.broadcast == NULL) return glint_error(s->join.g)->code;
    struct glint_rdd *rows = join_side_rdd(&s->join, JOIN_SIDE_LEFT, true, &filter);
    if (left->csv != FIELDS_COLUMNS) return glint_save_as_text_file(glint_values(rows), s->kept);
    struct glint_column_form form = {.format = glint_accept_columns(left->lines)};
    form.columns = glint_column_types(left->lines, &form.count);
    return glint_save_as_column_file(glint_values(rows), s->kept, &form);
}

static int save_joined(struct steps *s, const struct glint_job_args *args)
{
    const struct key_filter none = {.broadcast = NULL};
    struct table *const left = &s->join.tables[JOIN_SIDE_LEFT];
    left->paths = s->kept;
    left->header = left->csv == FIELDS_COLUMNS;
    left->nulls.header = left->header;
    if (glint_explaining(s->join.g)) left->nulls.marked = false; /* KEPT's form is not known yet */
    left->use_count = 0; /* its rows have the columns of LEFT's first file, in their order */
    return join_save(&s->join, join_by_shuffle(&s->join, &none), args, s->output);
}

static int join_steps_run(struct glint *g, const struct glint_job_args *args)
{
    const char *const *paths = args->positional;
    struct steps s = {.join = {.g = g,
                               .type = JOIN_INNER,
                               .method = JOIN_BLOOM,
                               .tables = {{.paths = paths[0]}, {.paths = paths[1]}},
                               .build = JOIN_SIDE_RIGHT},
                      .p = glint_job_f64(g, args, "p"),
                      .filter = paths[2],
                      .kept = paths[3],
                      .output = paths[4]};
    int r = join_side_options(&s.join, args);
    if (r == 0) r = save_filter(&s);
    if (r == 0) r = save_left_rows_in_filter(&s);
    if (r == 0) r = save_joined(&s, args);
    sizes_fini(&s.sizes);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {JOIN_SIDE_OPTIONS, {NULL, NULL, NULL, NULL}};

const struct glint_job join_steps_job = {
    .name = "join-steps",
    .summary = "join two tables in three steps of one job",
    .help = "Saves a filter of RIGHT's keys in FILTER, the rows of LEFT that pass it in KEPT, and "
            "in OUTPUT a line per pair of rows with equal keys, as join does. The three outputs "
            "are committed together. RIGHT should be the smaller side.",
    .positional = {"LEFT", "RIGHT", "FILTER", "KEPT", "OUTPUT"},
    .outputs = {"FILTER", "KEPT", "OUTPUT"},
    .options = options,
    .run = join_steps_run};

/* agg: sums, means and other numbers about the rows of each group.
 *
 *     line -> (group, numbers) -------------------------------+-> combineByKey -> line
 *     line -> (group, value) -> distinct -> (group, 1 value) -+
 *
 * The second line is once for each column of --distinct; it reads the input again. */
#include "jobs/tables/agg.h"

#include "jobs/jobs.h"

#include <string.h>

static const char *const kind_options[AGG_KINDS] = {"sum",  "min",   "max",
                                                    "mean", "count", "distinct"};

/* Finds the column among columns [first, c->count), or appends it. Returns its index there. */
static uint32_t add_column(struct columns *c, uint32_t first, uint32_t number)
{
    uint32_t i = first;
    while (i < c->count && c->number[i] != number) i++;
    if (i == c->count && c->count < COLUMNS_MAX) c->number[c->count++] = number;
    return i - first;
}

/* Reads the option of one kind: its columns follow columns [0, first). */
static int kind_option(struct table *t, const struct glint_job_args *args, enum agg_kind kind,
                       uint32_t first, struct columns *c, struct agg_plan *plan)
{
    struct columns chosen = {.count = 0};
    if (kind == AGG_COUNT)
        chosen.count = glint_job_option(args, "count") != NULL;
    else if (columns_option(t, args, kind_options[kind], "", &chosen) != 0)
        return glint_error(t->g)->code;
    for (uint32_t i = 0; i < chosen.count; i++) {
        const uint32_t index = kind == AGG_COUNT ? 0 : add_column(c, first, chosen.number[i]);
        if (first + index == COLUMNS_MAX || plan->output_count == AGG_OUTPUTS_MAX)
            return glint_abort(t->g, GLINT_E_BAD_VALUE, NULL, "more than %d columns", COLUMNS_MAX);
        plan->outputs[plan->output_count++] = (struct agg_output){(uint8_t)kind, (uint8_t)index};
    }
    return 0;
}

static int read_plan(struct table *t, const struct glint_job_args *args, struct columns *c,
                     struct agg_plan *plan)
{
    int r = columns_option(t, args, "by", "", c);
    plan->by = (uint8_t)c->count;
    for (int kind = 0; r == 0 && kind < AGG_DISTINCT; kind++)
        r = kind_option(t, args, (enum agg_kind)kind, plan->by, c, plan);
    plan->numbers = (uint8_t)(c->count - plan->by);
    if (r == 0) r = kind_option(t, args, AGG_DISTINCT, c->count, c, plan);
    plan->distinct = (uint8_t)(c->count - plan->by - plan->numbers);
    if (r != 0 || plan->output_count > 0) return r;
    return glint_abort(t->g, GLINT_E_USAGE,
                       "use --sum, --min, --max, --mean, --count or --distinct",
                       "there is nothing to compute");
}

static struct glint_args *function_args(const struct table *t, const struct columns *c,
                                        const struct agg_plan *plan, uint32_t column)
{
    struct glint_args *args = glint_args(t->g);
    columns_args(args, t, c);
    glint_args_bytes(args, "plan", plan, sizeof *plan);
    glint_args_i64(args, "column", column);
    return args;
}

/* Without --by there is always one group, even without rows. */
static struct glint_rdd *no_row(struct glint *g)
{
    const struct agg_input input = {.distinct = AGG_NO_ROW};
    const struct glint_record record = {.key.bytes = {(const uint8_t *)"", 0},
                                        .value.bytes = {(const uint8_t *)&input, AGG_HEAD_BYTES}};
    return glint_parallelize(g, (struct glint_schema){GLINT_TEXT, GLINT_BYTES}, &record, 1, 1);
}

static int agg_run(struct glint *g, const struct glint_job_args *args)
{
    struct table table;
    struct columns columns = {.count = 0};
    struct agg_plan plan = {.by = 0};
    if (table_open(g, args, args->positional[0], &table) != 0 ||
        read_plan(&table, args, &columns, &plan) != 0)
        return glint_error(g)->code;
    struct glint_args *row_args = function_args(&table, &columns, &plan, 0);
    struct glint_rdd *inputs = glint_map(table_rows(&table), &agg_row, row_args);
    for (uint32_t i = 0; i < plan.distinct; i++) {
        struct glint_args *value_args = function_args(&table, &columns, &plan, i);
        struct glint_rdd *values = glint_flat_map(table_read_again(&table), &agg_value, value_args);
        inputs =
            glint_union(inputs, glint_map_values(glint_distinct(values), &agg_seen, value_args));
    }
    if (plan.by == 0) inputs = glint_union(inputs, no_row(g));
    struct glint_rdd *groups = glint_combine_by_key(inputs, &agg_merge, row_args);
    if (plan.by == 0) groups = glint_with_partitions(groups, 1);
    return glint_save_as_text_file(glint_map(groups, &agg_line, row_args), args->positional[1]);
}

static const struct glint_job_option options[] = {
    {"by", "COLS", NULL,
     "columns that make a group: numbers or, with --header, names, separated by commas (one group "
     "of all rows)"},
    {"sum", "COLS", NULL, "the sum of each of these columns"},
    {"min", "COLS", NULL, "the least number of each"},
    {"max", "COLS", NULL, "the greatest number of each"},
    {"mean", "COLS", NULL, "the mean of each"},
    {"count", NULL, NULL, "the number of rows"},
    {"distinct", "COLS", NULL, "how many different texts each column has; reads INPUT once more"},
    TABLE_OPTIONS,
    {NULL, NULL, NULL, NULL}};

const struct glint_job agg_job = {
    .name = "agg",
    .summary = "sums, means and counts of the rows of each group",
    .help = "Saves one line per group, sorted by group within each part: the columns of --by, then "
            "sums, least and greatest numbers, means, the count, and numbers of different texts, "
            "in this order, separated by the delimiter. Null is a group of its own, no number, and "
            "no text that --distinct counts. An empty field is no number, too; without any number "
            "the result is null. Another text in a column of numbers is a bad row.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&agg_row, &agg_value, &agg_seen, &agg_merge, &agg_line},
    .run = agg_run};

/* count-keys: how many rows each key has.
 *
 *     line -> (key, 1) -> reduceByKey(+) -> key TAB count */
#include "jobs/jobs.h"
#include "jobs/rows/fields.h"

struct count_keys_state {
    struct fields fields;
    int64_t ones[FIELDS_ROWS_MAX];
};

static int count_open(struct glint_task *task, void *state)
{
    struct count_keys_state *s = state;
    for (uint32_t i = 0; i < FIELDS_ROWS_MAX; i++) s->ones[i] = 1;
    return fields_open(task, &s->fields, false);
}

static int count_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    struct count_keys_state *s = state;
    struct glint_record record = {.value = {.i64 = 1}};
    struct glint_slice id;
    int r = fields_parse_row(&s->fields, task, in->value.bytes, &record.key, &id);
    if (r > 0) glint_emit(out, &record);
    return r < 0 ? r : 0;
}

static int count_batch(struct glint_task *task, void *state, const struct glint_batch *in,
                       struct glint_emitter *out)
{
    struct count_keys_state *s = state;
    int r = fields_parse(&s->fields, task, in);
    if (r != 0) return r;
    struct glint_batch batch = {.rows = s->fields.rows,
                                .key = fields_key_column(&s->fields),
                                .value = {.type = GLINT_I64, .i64 = s->ones},
                                .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

#define COUNT_FUNCTION(name_, key_, batch_)                                                        \
    {                                                                                              \
        .name = name_, .kind = GLINT_MAP, .in = {GLINT_ANY, GLINT_TEXT}, .out = {key_, GLINT_I64}, \
        .state_size = sizeof(struct count_keys_state), .open = count_open, .each = count_each,     \
        .batch = batch_                                                                            \
    }

static const struct glint_function count_number =
    COUNT_FUNCTION("count.number", GLINT_I64, count_batch);
static const struct glint_function count_text =
    COUNT_FUNCTION("count.text", GLINT_TEXT, count_batch);
/* The same function without a batch form, to measure what a call per record costs (see
 * tests/bench). */
static const struct glint_function count_number_each =
    COUNT_FUNCTION("count.number_each", GLINT_I64, NULL);
static const struct glint_function count_text_each =
    COUNT_FUNCTION("count.text_each", GLINT_TEXT, NULL);

static const struct glint_function *const functions[] = {
    &count_number, &count_text, &count_number_each, &count_text_each, NULL};
const struct glint_module count_keys_module = {"count", functions};

static int count_run(struct glint *g, const struct glint_job_args *args)
{
    static const char *const names[2][2] = {{"count.number", "count.number_each"},
                                            {"count.text", "count.text_each"}};
    struct fields fields;
    if (fields_options(g, args, &fields) != 0) return glint_error(g)->code;
    struct glint_args *columns = glint_args(g);
    fields_args(columns, &fields);
    bool each = glint_job_option(args, "record-form") != NULL;
    const char *count_one = names[fields_key_type(&fields) == GLINT_TEXT][each];

    struct glint_rdd *lines = fields_text_file(g, args->positional[0], &fields);
    fields_check_delimiter(lines, args->positional[0], &fields, "delimiter");
    struct glint_rdd *ones = glint_map(lines, count_one, columns);
    struct glint_rdd *counts = glint_reduce_by_key(ones, "glint.sum_i64", NULL);
    glint_save_as_text_file(counts, args->positional[1]);
    return glint_error(g)->code;
}

static const char *const positional[] = {"INPUT", "OUTPUT", NULL};
static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    {"record-form", NULL, NULL, "call the function for each record instead of each batch"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job count_keys_job = {
    .name = "count-keys",
    .summary = "count the rows of each key",
    .help = "Saves one line per key: KEY TAB COUNT, sorted by key within each part.",
    .positional = positional,
    .outputs = (const char *const[]){"OUTPUT", NULL},
    .options = options,
    .run = count_run};

/* sales INPUT OUTPUT: the customers of lines "NAME AMOUNT", by total and name, with their number of
 * sales. Uses what the word count does not: bound arguments, a join, a sort of pairs by two
 * columns, answers. */
#include <glint/batch.h>
#include <glint/glint.h>

#include <stdio.h>

struct sales {
    int64_t least; /* bound: smaller amounts are not counted */
    struct glint_buffer text;
};

static int parse_line(struct glint_task *task, void *state, const struct glint_record *line,
                      struct glint_emitter *out)
{
    const struct sales *s = state;
    struct glint_slice rest = line->value.bytes, name, amount;
    int64_t value;
    if (!glint_next_field(&rest, ' ', &name) || !glint_next_field(&rest, ' ', &amount) ||
        !glint_parse_i64(amount, &value))
        return glint_bad_row(task, line->value.bytes, "not NAME AMOUNT");
    if (value >= s->least) glint_emit_i64(out, name, value);
    return 0;
}
static const struct glint_function parse =
    GLINT_FLAT_MAP("sales.parse", GLINT_ELEMENTS(GLINT_TEXT), GLINT_PAIRS(GLINT_TEXT, GLINT_I64),
                   parse_line, .state_size = sizeof(struct sales));

static int order_record(struct glint_task *task, void *state, const struct glint_record *in,
                        struct glint_emitter *out)
{
    struct sales *s = state;
    const struct glint_pair pair = glint_pair(&in->value);
    const struct glint_cell name = {GLINT_TEXT, in->key};
    s->text.size = 0;
    if (glint_append_order(task, &s->text, &pair.left, true) != 0 ||
        glint_append_order(task, &s->text, &name, false) != 0)
        return GLINT_E_NO_MEMORY;
    glint_emit(out, &(struct glint_record){.key.bytes = {s->text.data, s->text.size}});
    return 0;
}
static const struct glint_function order = GLINT_MAP(
    "sales.order", GLINT_PAIRS(GLINT_TEXT, GLINT_MSGPACK), GLINT_PAIRS(GLINT_BYTES, GLINT_NONE),
    order_record, .state_size = sizeof(struct sales));

static int run(struct glint *g, const struct glint_job_args *args)
{
    const struct sales sales = {.least = glint_job_i64(g, args, "least", 0, 1000)};
    struct glint_rdd *pairs = glint_flat_map(glint_text_file(g, args->positional[0]), &parse,
                                             glint_bind(g, &sales, sizeof sales.least));
    struct glint_rdd *sums =
        glint_with_partitions(glint_reduce_by_key(pairs, &GLINT_SUM_I64, NULL), 1);
    struct glint_rdd *counts = glint_combine_by_key(pairs, &GLINT_COUNT, NULL);
    struct glint_rdd *sorted = glint_sort_by(glint_join(sums, counts), &order, NULL, true);
    int64_t customers = 0;
    struct glint_rows rows = {.count = 0};
    glint_count(sums, &customers);
    glint_answer_i64(g, "customers", customers);
    glint_answer_f64(g, "half", (double)customers / 2);
    if (glint_first(sorted, &rows) == 0) {
        char name[100];
        const struct glint_slice best = glint_rows_at(&rows, 0).key.bytes;
        snprintf(name, sizeof name, "%.*s", (int)best.size, (const char *)best.data);
        glint_answer_text(g, "best", name);
    }
    glint_rows_free(&rows);
    return glint_save_as_text_file(sorted, args->positional[1]);
}

static const struct glint_job_option options[] = {{"least", "N", "0", "smallest amount to count"},
                                                  {.name = NULL}};
GLINT_JOB(sales, .summary = "totals of customers", .positional = {"INPUT", "OUTPUT"},
          .outputs = {"OUTPUT"}, .options = options, .functions = {&parse, &order}, .run = run);

int main(int argc, char **argv)
{
    return glint_main(argc, argv, &sales);
}

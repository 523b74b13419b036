/* top_n INPUT OUTPUT: the keys with the greatest sums of a column, in descending order; keys with
 * equal sums in ascending order. Columns are separated by tabs; sums are of whole numbers.
 *
 *     cc -O2 top_n.c $(pkg-config --cflags --libs glint) -o top_n
 *     ./top_n top_n --n 10 --key-column 1 --value-column 2 INPUT OUTPUT */
#include <glint/glint.h>

struct columns {
    int64_t key, value; /* from 1 */
};

static int parse_line(struct glint_task *task, void *state, const struct glint_record *line,
                      struct glint_emitter *out)
{
    const struct columns *c = state;
    struct glint_slice rest = line->value.bytes, field, key = {.data = NULL}, value = key;
    int64_t number;
    for (int64_t i = 1; glint_next_field(&rest, '\t', &field); i++) {
        if (i == c->key) key = field;
        if (i == c->value) value = field;
    }
    if (key.data == NULL || !glint_parse_i64(value, &number))
        return glint_bad_row(task, line->value.bytes, "no key, or no whole number");
    glint_emit_i64(out, key, number);
    return 0;
}
static const struct glint_function parse =
    GLINT_MAP("top_n.parse", GLINT_ELEMENTS(GLINT_TEXT), GLINT_PAIRS(GLINT_TEXT, GLINT_I64),
              parse_line, .state_size = sizeof(struct columns));

/* ~sum is smaller for a greater sum, and unlike -sum cannot overflow. */
static int swap_record(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    glint_emit(out, &(struct glint_record){.key.i64 = ~in->value.i64, .value = in->key});
    return 0;
}
static const struct glint_function swap =
    GLINT_MAP("top_n.swap", GLINT_PAIRS(GLINT_TEXT, GLINT_I64), GLINT_PAIRS(GLINT_I64, GLINT_TEXT),
              swap_record);

static int run(struct glint *g, const struct glint_job_args *args)
{
    const struct columns columns = {.key = glint_job_i64(g, args, "key-column", 1, 1000),
                                    .value = glint_job_i64(g, args, "value-column", 1, 1000)};
    const int64_t n = glint_job_i64(g, args, "n", 1, 1000000);
    struct glint_rdd *pairs = glint_map(glint_text_file(g, args->positional[0]), &parse,
                                        glint_bind(g, &columns, sizeof columns));
    struct glint_rdd *sums = glint_reduce_by_key(pairs, &GLINT_SUM_I64, NULL);
    struct glint_rows rows = {.count = 0};
    glint_take_ordered(glint_map(sums, &swap, NULL), (uint64_t)n, &rows);
    struct glint_record *top = glint_alloc(g, rows.count * sizeof *top);
    if (top == NULL) rows.count = 0;
    for (uint64_t i = 0; i < rows.count; i++) {
        const struct glint_record row = glint_rows_at(&rows, i);
        top[i] = (struct glint_record){.key = row.value, .value.i64 = ~row.key.i64};
    }
    const struct glint_schema schema = {GLINT_TEXT, GLINT_I64};
    glint_save_as_text_file(glint_parallelize(g, schema, top, rows.count, 1), args->positional[1]);
    glint_free(top);
    glint_rows_free(&rows);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    {"n", "N", "10", "how many keys"},
    {"key-column", "N", "1", "column of the key, from 1"},
    {"value-column", "N", "2", "column whose sum decides"},
    {.name = NULL}};
GLINT_JOB(top_n, .summary = "find the keys with the greatest sums",
          .positional = {"INPUT", "OUTPUT"}, .outputs = {"OUTPUT"}, .options = options,
          .functions = {&parse, &swap}, .run = run);

int main(int argc, char **argv)
{
    return glint_main(argc, argv, &top_n);
}

/* actions INPUT OUTPUT: sums a number of each row, --actions times; the rows are parsed once and
 * cached. For the row of the same name. */
#include <glint/glint.h>

#include <stdio.h>

static int parse_row(struct glint_task *task, void *state, const struct glint_record *line,
                     struct glint_emitter *out)
{
    struct glint_slice rest = line->value.bytes, id, number;
    double value;
    if (!glint_next_field(&rest, '\t', &id) || !glint_next_field(&rest, '\t', &number) ||
        !glint_parse_f64(number, &value))
        return glint_bad_row(task, line->value.bytes, "not a rating");
    glint_emit(out, &(struct glint_record){.value.f64 = value});
    return 0;
}
static const struct glint_function parse = GLINT_MAP("actions.parse", GLINT_ELEMENTS(GLINT_TEXT),
                                                     GLINT_ELEMENTS(GLINT_F64), parse_row);

static int run(struct glint *g, const struct glint_job_args *args)
{
    const int64_t actions = glint_job_i64(g, args, "actions", 1, 1000);
    struct glint_rdd *numbers =
        glint_cache(glint_map(glint_text_file(g, args->positional[0]), &parse, NULL));
    union glint_value sum = {.f64 = 0};
    for (int64_t i = 0; i < actions; i++)
        if (glint_sum(numbers, &sum) != 0) return glint_error(g)->code;
    char text[64];
    const int size = snprintf(text, sizeof text, "%.17g", sum.f64);
    const struct glint_record line = {.value.bytes = {(const uint8_t *)text, (uint64_t)size}};
    const struct glint_schema text_lines = GLINT_ELEMENTS(GLINT_TEXT);
    return glint_save_as_text_file(glint_parallelize(g, text_lines, &line, 1, 1),
                                   args->positional[1]);
}

static const struct glint_job_option options[] = {{"actions", "N", "10", "how many"},
                                                  {.name = NULL}};
GLINT_JOB(actions, .summary = "sum cached rows", .positional = {"INPUT", "OUTPUT"},
          .outputs = {"OUTPUT"}, .options = options, .functions = {&parse}, .run = run);

int main(int argc, char **argv)
{
    return glint_main(argc, argv, &actions);
}

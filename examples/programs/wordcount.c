/* wordcount INPUT OUTPUT: how often each word occurs. */
#include <glint/glint.h>

static int split_line(struct glint_task *task, void *state, const struct glint_record *line,
                      struct glint_emitter *out)
{
    struct glint_slice rest = line->value.bytes, word;
    while (glint_next_field(&rest, ' ', &word))
        if (word.size > 0) glint_emit_i64(out, word, 1);
    return 0;
}
static const struct glint_function split = GLINT_FLAT_MAP(
    "wordcount.split", GLINT_ELEMENTS(GLINT_TEXT), GLINT_PAIRS(GLINT_TEXT, GLINT_I64), split_line);

static int run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    struct glint_rdd *ones = glint_flat_map(lines, &split, NULL);
    struct glint_rdd *counts = glint_reduce_by_key(ones, &GLINT_SUM_I64, NULL);
    return glint_save_as_text_file(counts, args->positional[1]);
}
GLINT_JOB(wordcount, .summary = "count words", .positional = {"INPUT", "OUTPUT"},
          .functions = {&split}, .run = run);

int main(int argc, char **argv) { return glint_main(argc, argv, &wordcount); }

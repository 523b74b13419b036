/* logreg INPUT: logistic regression by gradient descent, as Spark's classic example. A line is a
 * label, 1 or -1, and numbers x, as many as in the first line, separated by spaces or commas. The
 * answers are the weights w1, w2...: the probability of label 1 is 1 / (1 + exp(-w.x)).
 *
 *     cc -O2 logreg.c $(pkg-config --cflags --libs glint) -o logreg
 *     ./logreg logreg --iterations 10 --step 0.001 INPUT */
#include <glint/glint.h>

#include <math.h>
#include <stdio.h>

enum { NUMBERS_MAX = 2048 }; /* of a line; glint_first_line returns up to 4 KiB */

struct logreg {
    int64_t dims;
    const double *weights;
};

/* Reads the numbers of a line. Returns how many; -1 if there is something else. */
static int64_t parse_numbers(struct glint_slice line, double *out)
{
    struct glint_slice number;
    int64_t count = 0;
    while (glint_next_word(&line, " ,", &number))
        if (count == NUMBERS_MAX || !glint_parse_f64(number, &out[count++])) return -1;
    return count;
}

static int open_weights(struct glint_task *task, void *state)
{
    struct glint_slice weights;
    const int code = glint_arg_broadcast(task, "weights", &weights);
    if (code == 0) ((struct logreg *)state)->weights = (const double *)weights.data;
    return code;
}

static int emit_gradient(struct glint_task *task, void *state, const struct glint_record *line,
                         struct glint_emitter *out)
{
    const struct logreg *m = state;
    double numbers[NUMBERS_MAX], *x = numbers + 1, dot = 0;
    if (parse_numbers(line->value.bytes, numbers) != 1 + m->dims)
        return glint_bad_row(task, line->value.bytes, "not as many numbers as in the first line");
    const double label = numbers[0];
    if (label != 1 && label != -1)
        return glint_bad_row(task, line->value.bytes, "the label is not 1 or -1");
    for (int64_t i = 0; i < m->dims; i++) dot += m->weights[i] * x[i];
    const double scale = (1 / (1 + exp(-label * dot)) - 1) * label;
    for (int64_t i = 0; i < m->dims; i++) x[i] *= scale;
    const struct glint_slice bytes = {(const uint8_t *)x, (uint64_t)m->dims * sizeof *x};
    glint_emit(out, &(struct glint_record){.value.bytes = bytes});
    return 0;
}
static const struct glint_function gradient =
    GLINT_MAP("logreg.gradient", GLINT_ELEMENTS(GLINT_TEXT), GLINT_ELEMENTS(GLINT_BYTES),
              emit_gradient, .state_size = sizeof(struct logreg), .open = open_weights);

static int run(struct glint *g, const struct glint_job_args *args)
{
    const int64_t iterations = glint_job_i64(g, args, "iterations", 1, 100000);
    const double step = glint_job_f64(g, args, "step");
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    struct logreg m = {.dims = 0};
    double w[NUMBERS_MAX] = {0}, sums[NUMBERS_MAX];
    m.dims = parse_numbers(glint_first_line(lines), sums) - 1;
    if (m.dims < 1) return glint_abort(g, GLINT_E_BAD_ROW, NULL, "the first line has no numbers");
    for (int64_t n = 0; n < iterations && glint_error(g)->code == 0; n++) {
        struct glint_rows rows = {.count = 0};
        struct glint_args *with_weights = glint_bind(g, &m, sizeof m);
        glint_args_add_broadcast(with_weights, "weights", glint_broadcast_copy(g, w, sizeof w));
        if (glint_reduce(glint_map(lines, &gradient, with_weights), &GLINT_SUM_F64S, NULL, &rows) ==
            0)
            memcpy(sums, glint_rows_at(&rows, 0).value.bytes.data, (uint64_t)m.dims * sizeof *w);
        for (int64_t i = 0; i < m.dims; i++) w[i] -= step * sums[i];
        glint_rows_free(&rows);
    }
    for (int64_t i = 0; i < m.dims; i++) {
        char name[24];
        snprintf(name, sizeof name, "w%d", (int)i + 1);
        glint_answer_f64(g, name, w[i]);
    }
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    {"iterations", "N", "10", "how many steps"},
    {"step", "X", "1", "what a gradient is multiplied by"},
    {.name = NULL}};
GLINT_JOB(logreg, .summary = "logistic regression", .positional = {"INPUT"}, .options = options,
          .functions = {&gradient}, .run = run);

int main(int argc, char **argv)
{
    return glint_main(argc, argv, &logreg);
}

/* kmeans INPUT OUTPUT: the centers of K clusters of points, by Lloyd's algorithm. A line is a
 * point: numbers separated by spaces or commas, as many as in the first line. The first K points
 * are the first centers; one that loses all its points stays where it is. Saves the centers; "cost"
 * is the sum of the points' squared distances from the nearest of them.
 *
 *     cc -O2 kmeans.c $(pkg-config --cflags --libs glint) -o kmeans
 *     ./kmeans kmeans --k 8 --iterations 10 INPUT OUTPUT */
#include <glint/glint.h>

#include <math.h>
#include <stdio.h>

enum { NUMBERS_MAX = 2048 }; /* of a line; glint_first_line returns up to 4 KiB */

struct kmeans {
    int64_t k, dims;
    const double *centers;
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

static int parse_point(struct glint_task *task, void *state, const struct glint_record *line,
                       struct glint_emitter *out)
{
    const struct kmeans *m = state;
    double x[NUMBERS_MAX];
    if (parse_numbers(line->value.bytes, x) != m->dims)
        return glint_bad_row(task, line->value.bytes, "not as many numbers as in the first line");
    const struct glint_slice point = {(const uint8_t *)x, (uint64_t)m->dims * sizeof *x};
    glint_emit(out, &(struct glint_record){.value.bytes = point});
    return 0;
}
static const struct glint_function parse =
    GLINT_MAP("kmeans.parse", GLINT_ELEMENTS(GLINT_TEXT), GLINT_ELEMENTS(GLINT_BYTES), parse_point,
              .state_size = sizeof(struct kmeans));

static int open_centers(struct glint_task *task, void *state)
{
    struct glint_slice centers;
    const int code = glint_arg_broadcast(task, "centers", &centers);
    if (code == 0) ((struct kmeans *)state)->centers = (const double *)centers.data;
    return code;
}

/* Emits the number of the nearest center, and what the point adds to its sums: 1, the cost, x. */
static int assign_point(struct glint_task *task, void *state, const struct glint_record *point,
                        struct glint_emitter *out)
{
    const struct kmeans *m = state;
    double sums[2 + NUMBERS_MAX], *x = sums + 2;
    int64_t nearest = 0;
    sums[0] = 1;
    sums[1] = INFINITY;
    memcpy(x, point->value.bytes.data, point->value.bytes.size);
    for (int64_t c = 0; c < m->k; c++) {
        const double *center = m->centers + c * m->dims;
        double distance = 0;
        for (int64_t i = 0; i < m->dims; i++) distance += (x[i] - center[i]) * (x[i] - center[i]);
        if (distance >= sums[1]) continue;
        sums[1] = distance;
        nearest = c;
    }
    const struct glint_slice bytes = {(const uint8_t *)sums, (uint64_t)(2 + m->dims) * sizeof *x};
    glint_emit(out, &(struct glint_record){.key.i64 = nearest, .value.bytes = bytes});
    return 0;
}
static const struct glint_function assign =
    GLINT_MAP("kmeans.assign", GLINT_ELEMENTS(GLINT_BYTES), GLINT_PAIRS(GLINT_I64, GLINT_BYTES),
              assign_point, .state_size = sizeof(struct kmeans), .open = open_centers);

/* Returns the first K points; NULL with the context's error set. */
static double *first_points(struct glint *g, struct glint_rdd *points, const struct kmeans *m)
{
    struct glint_rows rows = {.count = 0};
    double *centers = glint_alloc(g, (uint64_t)(m->k * m->dims) * sizeof *centers);
    if (glint_take(points, (uint64_t)m->k, &rows) == 0 && rows.count < (uint64_t)m->k)
        glint_abort(g, GLINT_E_EMPTY_COLLECTION, NULL, "the input has fewer than K points");
    for (uint64_t c = 0; centers != NULL && c < rows.count; c++) {
        const struct glint_slice point = glint_rows_at(&rows, c).value.bytes;
        memcpy(centers + c * (uint64_t)m->dims, point.data, point.size);
    }
    glint_rows_free(&rows);
    if (glint_error(g)->code == 0) return centers;
    glint_free(centers);
    return NULL;
}

/* Finds the points of each center; then moves centers that have some to their mean, if `move`.
 * Returns the cost before. */
static double iterate(struct glint *g, struct glint_rdd *points, const struct kmeans *m,
                      double *centers, bool move)
{
    const uint64_t size = (uint64_t)(m->k * m->dims) * sizeof *centers;
    double sums[2 + NUMBERS_MAX], cost = 0;
    struct glint_rows rows = {.count = 0};
    glint_begin_scope(g);
    struct glint_args *args = glint_bind(g, m, sizeof *m);
    glint_args_add_broadcast(args, "centers", glint_broadcast_copy(g, centers, size));
    glint_collect(glint_reduce_by_key(glint_map(points, &assign, args), &GLINT_SUM_F64S, NULL),
                  &rows);
    glint_end_scope(g, NULL);
    for (uint64_t row = 0; row < rows.count; row++) {
        const struct glint_record record = glint_rows_at(&rows, row);
        memcpy(sums, record.value.bytes.data, record.value.bytes.size);
        cost += sums[1];
        for (int64_t i = 0; move && i < m->dims; i++)
            centers[record.key.i64 * m->dims + i] = sums[2 + i] / sums[0];
    }
    glint_rows_free(&rows);
    return cost;
}

static int save_centers(struct glint *g, const double *centers, const struct kmeans *m,
                        const char *path)
{
    const size_t number_size = sizeof "-1.2345678901234567e-308 ";
    struct glint_record *lines = glint_alloc(g, (uint64_t)m->k * sizeof *lines);
    char *text = glint_alloc(g, (uint64_t)(m->k * m->dims) * number_size), *end = text;
    if (lines == NULL || text == NULL) return glint_error(g)->code;
    for (int64_t c = 0; c < m->k; c++) {
        const uint8_t *line = (const uint8_t *)end;
        for (int64_t i = 0; i < m->dims; i++)
            end += snprintf(end, number_size, "%.17g ", *centers++);
        lines[c].value.bytes = (struct glint_slice){line, (uint64_t)((uint8_t *)--end - line)};
    }
    const struct glint_schema schema = GLINT_ELEMENTS(GLINT_TEXT);
    glint_save_as_text_file(glint_parallelize(g, schema, lines, (uint64_t)m->k, 1), path);
    glint_free(text);
    glint_free(lines);
    return glint_error(g)->code;
}

static int run(struct glint *g, const struct glint_job_args *args)
{
    const int64_t iterations = glint_job_i64(g, args, "iterations", 0, 1000);
    struct kmeans m = {.k = glint_job_i64(g, args, "k", 1, 100000)};
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    double cost = 0, first_line[NUMBERS_MAX];
    m.dims = parse_numbers(glint_first_line(lines), first_line);
    if (m.dims < 1) return glint_abort(g, GLINT_E_BAD_ROW, NULL, "the first line is not a point");
    struct glint_rdd *points = glint_cache(glint_map(lines, &parse, glint_bind(g, &m, sizeof m)));
    double *centers = first_points(g, points, &m);
    if (centers == NULL) return glint_error(g)->code;
    for (int64_t i = 0; i <= iterations; i++)
        cost = iterate(g, points, &m, centers, i < iterations);
    save_centers(g, centers, &m, args->positional[1]);
    glint_free(centers);
    glint_answer_f64(g, "cost", cost);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    {"k", "K", "8", "how many clusters"},
    {"iterations", "N", "10", "how often the centers are moved"},
    {.name = NULL}};
GLINT_JOB(kmeans, .summary = "find the centers of clusters", .positional = {"INPUT", "OUTPUT"},
          .outputs = {"OUTPUT"}, .options = options, .functions = {&parse, &assign}, .run = run);

int main(int argc, char **argv)
{
    return glint_main(argc, argv, &kmeans);
}

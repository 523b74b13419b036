/* stations INPUT OUTPUT: the least, mean and greatest temperature of each station, from lines
 * STATION;TEMPERATURE, as in the One Billion Row Challenge; all with one decimal.
 *
 *     cc -O2 stations.c $(pkg-config --cflags --libs glint) -lm -o stations
 *     ./stations stations INPUT OUTPUT */
#include <glint/glint.h>

#include <math.h>
#include <stdio.h>

struct temperatures {
    int64_t min, max, sum, count; /* tenths of a degree: their sums are exact */
};

static int parse_line(struct glint_task *task, void *state, const struct glint_record *line,
                      struct glint_emitter *out)
{
    struct glint_slice rest = line->value.bytes, station;
    double degrees;
    if (!glint_next_field(&rest, ';', &station) || !glint_parse_f64(rest, &degrees))
        return glint_bad_row(task, line->value.bytes, "not STATION;TEMPERATURE");
    glint_emit_i64(out, station, llround(10 * degrees));
    return 0;
}
static const struct glint_function parse =
    GLINT_MAP("stations.parse", GLINT_ELEMENTS(GLINT_TEXT), GLINT_PAIRS(GLINT_TEXT, GLINT_I64),
              parse_line);

static int combine_temperatures(struct glint_task *task, void *state, struct glint_acc *acc,
                                const union glint_value *other)
{
    struct temperatures *t = (void *)glint_acc_bytes(acc);
    const struct temperatures *o = (const void *)other->bytes.data;
    if (o->min < t->min) t->min = o->min;
    if (o->max > t->max) t->max = o->max;
    t->sum += o->sum;
    t->count += o->count;
    return 0;
}

static int create_temperatures(struct glint_task *task, void *state, struct glint_acc *acc,
                               const union glint_value *value)
{
    const struct temperatures first = {value->i64, value->i64, value->i64, 1};
    return glint_acc_set(task, acc, &first, sizeof first);
}

static int merge_temperature(struct glint_task *task, void *state, struct glint_acc *acc,
                             const union glint_value *value)
{
    struct temperatures *t = (void *)glint_acc_bytes(acc);
    if (value->i64 < t->min) t->min = value->i64;
    if (value->i64 > t->max) t->max = value->i64;
    t->sum += value->i64;
    t->count++;
    return 0;
}
static const struct glint_function summarize =
    GLINT_AGGREGATE("stations.summarize", GLINT_I64, GLINT_STRUCT(struct temperatures),
                    create_temperatures, merge_temperature, combine_temperatures);

static int format_line(struct glint_task *task, void *state, const struct glint_record *station,
                       struct glint_emitter *out)
{
    const struct temperatures *t = (const void *)station->value.bytes.data;
    const double mean = floor((double)t->sum / (double)t->count + 0.5);
    char text[128];
    const int size = snprintf(text, sizeof text, "%.1f\t%.1f\t%.1f", (double)t->min / 10, mean / 10,
                              (double)t->max / 10);
    const struct glint_slice line = {(const uint8_t *)text, (uint64_t)size};
    glint_emit(out, &(struct glint_record){.value.bytes = line});
    return 0;
}
static const struct glint_function format =
    GLINT_MAP("stations.format", GLINT_PAIRS(GLINT_TEXT, GLINT_STRUCT(struct temperatures)),
              GLINT_PAIRS(GLINT_SAME, GLINT_TEXT), format_line);

static int run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *pairs = glint_map(glint_text_file(g, args->positional[0]), &parse, NULL);
    struct glint_rdd *stations = glint_combine_by_key(pairs, &summarize, NULL);
    return glint_save_as_text_file(glint_map_values(stations, &format, NULL), args->positional[1]);
}
GLINT_JOB(stations, .summary = "temperatures of weather stations",
          .positional = {"INPUT", "OUTPUT"}, .outputs = {"OUTPUT"},
          .functions = {&parse, &summarize, &format}, .run = run);

int main(int argc, char **argv)
{
    return glint_main(argc, argv, &stations);
}

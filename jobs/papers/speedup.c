/* speedup: measures how much faster more slots build and query a filter.
 *
 *     per number of slots: INPUT in as many parts -> a filter of it; INPUT -> admitted by SAMPLE's
 *     with --loop: the lines of INPUT in memory, looked up one after another
 *
 * A part is one task, and no more tasks run at a time than there are parts: so one process with
 * many slots behaves like processes with fewer slots. The input is split into parts of equal size.
 */
#include "engine/base/text.h"
#include "jobs/filters/bloom_pipeline.h"
#include "jobs/papers/admit.h"
#include "jobs/papers/elements.h"
#include "jobs/papers/lists.h"
#include "jobs/papers/times.h"
#include "jobs/rows/text_table.h"

enum { SPEEDUP_SLOTS_MAX = 1000 };

enum work { WORK_BUILD, WORK_ADMIT, WORK_LOOP, WORK_KINDS };
static const char *const work_names[WORK_KINDS] = {"build", "admit", "loop"};

struct speedup_measurement {
    struct glint *g;
    const char *input;
    struct fields fields;
    struct list_i64 slots;
    int64_t repeats;
    uint64_t rows;
    struct sizes sizes;         /* of the filter that is built from INPUT */
    struct built_filter sample; /* the filter that INPUT is looked up in */
    struct text_table table;
    double first_ms[WORK_KINDS]; /* of the first number of slots */
};

static struct glint_rdd *pipeline_of_work(const struct speedup_measurement *c, enum work work,
                                          struct glint_rdd *lines)
{
    return work == WORK_BUILD ? bloom_pipeline(lines, &c->sizes, BLOOM_PARTIALS, &c->fields)
                              : admit_lines(lines, &c->fields, &c->sample, true, false);
}

/* Chooses the split size so that there are `parts` splits, and coalesces if there are more. */
static struct glint_rdd *read_input_in_parts(const struct speedup_measurement *c, int64_t parts)
{
    struct glint_rdd *lines = fields_text_file(c->g, c->input, &c->fields);
    if (lines == NULL) return NULL;
    const uint64_t bytes = glint_input_bytes(lines) / (uint64_t)parts + 1;
    return glint_coalesce(glint_with_split_bytes(lines, bytes), (uint32_t)parts);
}

static void add_speedup_line(struct speedup_measurement *c, enum work work, int64_t slots,
                             int64_t counted, struct times *wall, struct times *cpu)
{
    char times[192] = "";
    if (c->repeats > 0) {
        const double wall_ms = times_median(wall),
                     cpu_ms = times_median(cpu); /* times_median sorts */
        if (slots == c->slots.items[0] || work == WORK_LOOP) c->first_ms[work] = wall_ms;
        const double speed_up = c->first_ms[work] / wall_ms;
        text_format(times, sizeof times, "\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f", wall_ms,
                    wall->items[0], wall->items[wall->count - 1], cpu_ms, speed_up,
                    speed_up * (double)c->slots.items[0] / (double)slots, times_mean(wall));
    }
    text_table_add(&c->table, "%s\t%lld\t%llu\t%lld%s", work_names[work], (long long)slots,
                   (unsigned long long)c->rows, (long long)counted, times);
}

/* The counts are the same in every run; runs once to warm up, then for the times. */
static int measure_work(struct speedup_measurement *c, enum work work, int64_t slots,
                        struct glint_rdd *lines)
{
    struct times wall = {.count = 0}, cpu = {.count = 0};
    int64_t counted = 0;
    int r = glint_count(pipeline_of_work(c, work, lines), &counted);
    for (int64_t i = 0; r == 0 && i < c->repeats; i++) {
        const double wall_from = times_wall_ms(), cpu_from = times_cpu_ms();
        r = glint_count(pipeline_of_work(c, work, lines), &counted);
        times_add(&wall, times_wall_ms() - wall_from);
        times_add(&cpu, times_cpu_ms() - cpu_from);
    }
    if (r == 0) add_speedup_line(c, work, slots, counted, &wall, &cpu);
    return r;
}

/* The body of the loop: looks up one line after another, each with one call. */
static int64_t count_admitted(const struct elements *lines, const struct bloom_filter *filter)
{
    int64_t admitted = 0;
    for (uint32_t i = 0; i < lines->count; i++) {
        const uint32_t start = lines->start[i];
        admitted += bloom_contains(filter, lines->base + start, lines->end[i] - start);
    }
    return admitted;
}

static void time_sequential_loop(struct speedup_measurement *c, const struct elements *lines,
                                 const struct bloom_filter *filter)
{
    struct times wall = {.count = 0}, cpu = {.count = 0};
    int64_t admitted = count_admitted(lines, filter);
    for (int64_t i = 0; i < c->repeats; i++) {
        const double wall_from = times_wall_ms(), cpu_from = times_cpu_ms();
        admitted = count_admitted(lines, filter);
        times_add(&wall, times_wall_ms() - wall_from);
        times_add(&cpu, times_cpu_ms() - cpu_from);
    }
    add_speedup_line(c, WORK_LOOP, c->slots.items[0], admitted, &wall, &cpu);
}

static int collect_file(const struct speedup_measurement *c, const char *paths,
                        struct elements *out)
{
    struct glint_rdd *lines = fields_text_file(c->g, paths, &c->fields);
    return elements_collect(elements_of_lines(lines, &c->fields), out);
}

/* The sequential program: no tasks, no reading, and a separate filter. */
static int measure_sequential_loop(struct speedup_measurement *c, const char *sample)
{
    struct elements members, lines = {.count = 0};
    struct bloom_filter filter = {.bits = NULL};
    int r = collect_file(c, sample, &members);
    if (r == 0) r = collect_file(c, c->input, &lines);
    if (r == 0) {
        enum bloom_result result = bloom_init(&filter, &c->sample.sizes.params[0]);
        if (result != BLOOM_OK) r = sizes_set_error(c->g, result, sample);
    }
    for (uint32_t i = 0; r == 0 && i < members.count; i++)
        bloom_add(&filter, members.base + members.start[i], members.end[i] - members.start[i]);
    if (r == 0) time_sequential_loop(c, &lines, &filter);
    bloom_fini(&filter);
    elements_fini(&members);
    elements_fini(&lines);
    return r;
}

static int measure_all(struct speedup_measurement *c, const struct one_filter *choice,
                       const char *const *paths, bool loop)
{
    struct glint *g = c->g;
    struct glint_rdd *sample = fields_text_file(g, paths[0], &c->fields);
    struct glint_rdd *input = fields_text_file(g, paths[1], &c->fields);
    int r = one_filter_count_rows(input, &c->fields, paths[1], &c->rows);
    if (r == 0) r = one_filter_sizes(g, choice, c->rows, &c->sizes);
    if (r == 0) r = bloom_check_memory(g, &c->sizes);
    if (r == 0) r = built_filter_make(sample, &c->fields, paths[0], choice, &c->sample);
    if (r != 0) return r;
    text_table_add(&c->table, "work\tslots\trows\tcounted%s",
                   c->repeats > 0 ? "\twall ms\tlowest\thighest\tcpu ms\tspeed-up\tefficiency\tmean"
                                  : "");
    for (int work = 0; work < WORK_LOOP; work++)
        for (uint32_t i = 0; r == 0 && i < c->slots.count; i++)
            r = measure_work(c, (enum work)work, c->slots.items[i],
                             read_input_in_parts(c, c->slots.items[i]));
    if (r == 0 && loop) r = measure_sequential_loop(c, paths[0]);
    return r == 0 ? text_table_save(&c->table, paths[2]) : r;
}

static int speedup_run(struct glint *g, const struct glint_job_args *args)
{
    struct one_filter choice;
    struct speedup_measurement c = {.g = g, .input = args->positional[1], .table = {.g = g}};
    c.repeats = glint_job_i64(g, args, "repeats", 0, TIMES_MAX);
    if (fields_read_id_options(g, args, c.input, &c.fields) != 0 ||
        one_filter_options(g, args, &choice) != 0 ||
        list_parse_numbers(g, args, "slots", 1, SPEEDUP_SLOTS_MAX, &c.slots) != 0)
        return glint_error(g)->code;
    if (glint_explaining(g)) { /* the others are like the first one */
        c.slots.count = 1;
        c.repeats = 0;
    }
    measure_all(&c, &choice, args->positional, glint_job_option(args, "loop") != NULL);
    text_table_fini(&c.table);
    built_filter_fini(&c.sample);
    sizes_fini(&c.sizes);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_ID_OPTIONS,
    ONE_FILTER_OPTIONS,
    {"slots", "N,...", "1,2,3,5,10,15", "numbers of slots; speed-ups are relative to the first"},
    {"loop", NULL, NULL, "also query in a plain loop, with all lines in memory, for comparison"},
    {"repeats", "N", "3", "time measurements of each; 0: no times"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job speedup_job = {
    .name = "speedup",
    .summary = "measure how much faster more slots build and query a filter",
    .help = "Splits INPUT into one part per slot; builds a filter of it, and looks up each line in "
            "a filter of SAMPLE. Saves for each measurement and number of slots what was counted "
            "(filters; admitted lines), the median, lowest and highest wall time, the CPU time of "
            "this process, the speed-up, the speed-up per slot, and the mean time. Run it with "
            "--master local[N], where N is the largest number.",
    .positional = {"SAMPLE", "INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .run = speedup_run};

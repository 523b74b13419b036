/* `glint explain`: actions show their plan and call no function, and the job gets empty results. */
#include "engine/base/mem.h"
#include "engine/driver/driver.h"
#include "engine/limits.h"
#include "ops/ops.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Functions that abort the test when called, and one that does not */

static int trap_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    (void)task, (void)state, (void)in, (void)out;
    abort();
}

static int trap_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                      const union glint_value *value)
{
    (void)task, (void)state, (void)acc, (void)value;
    abort();
}

static int trap_create(struct glint_task *task, void *state, struct glint_acc *acc,
                       const union glint_value *value)
{
    (void)task, (void)state, (void)acc, (void)value;
    abort();
}

static int pass_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    (void)task, (void)state;
    glint_emit(out, in);
    return 0;
}

#define TRAP(name_, kind_)                                                                         \
    {                                                                                              \
        .name = name_, .kind = kind_, .in = {GLINT_ANY, GLINT_ANY},                                \
        .out = {GLINT_SAME, GLINT_SAME}, .each = trap_each                                         \
    }
static const struct glint_function trap_map = TRAP("trap.map", GLINT_KIND_MAP);
static const struct glint_function trap_foreach = TRAP("trap.foreach", GLINT_KIND_FLAT_MAP);
static const struct glint_function trap_reduce = {.name = "trap.reduce",
                                                  .kind = GLINT_KIND_REDUCE,
                                                  .in = {GLINT_ANY, GLINT_I64},
                                                  .out = {GLINT_SAME, GLINT_SAME},
                                                  .merge = trap_merge};
static const struct glint_function trap_aggregate = {.name = "trap.aggregate",
                                                     .kind = GLINT_KIND_AGGREGATE,
                                                     .in = {GLINT_ANY, GLINT_I64},
                                                     .out = {GLINT_SAME, GLINT_I64},
                                                     .create = trap_create,
                                                     .merge = trap_merge,
                                                     .combine = trap_merge};
static const struct glint_function trap_pass = {.name = "trap.pass",
                                                .kind = GLINT_KIND_MAP,
                                                .in = {GLINT_ANY, GLINT_ANY},
                                                .out = {GLINT_SAME, GLINT_SAME},
                                                .each = pass_each};
static const struct glint_function *const functions[] = {
    &trap_map, &trap_foreach, &trap_reduce, &trap_aggregate, &trap_pass, NULL};
static const struct glint_module trap_module = {"trap", functions};
static const struct glint_module *const modules[] = {&ops_module, &trap_module, NULL};

/* ---- Contexts for explain, and their notes */

static struct buffer note_text;

static void keep_note(void *arg, const char *line)
{
    (void)arg;
    cr_assert(buffer_append(&note_text, line, strlen(line)) && buffer_append(&note_text, "\n", 1));
}

static const char *notes(void)
{
    cr_assert(buffer_append(&note_text, "", 1));
    note_text.size--;
    return (const char *)note_text.data;
}

static struct glint *context_open(bool explain)
{
    struct context_config config = {.slots = 2,
                                    .bad_rows_max = -1,
                                    .explain = explain,
                                    .ops = ops_table,
                                    .modules = modules,
                                    .note = keep_note};
    struct glint_error error;
    note_text.size = 0;
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    return g;
}

static void context_close(struct glint *g, enum glint_code code)
{
    cr_expect_eq(glint_finish(g), code, "%s", glint_error(g)->cause);
    glint_destroy(g);
    buffer_fini(&note_text);
}

static void expect_note(const char *line)
{
    cr_expect_not_null(strstr(notes(), line), "no \"%s\" in:\n%s", line, notes());
}

enum { RECORDS = 100, PARTITIONS = 4 };

/* (i % 7, i) */
static struct glint_rdd *pairs(struct glint *g)
{
    struct glint_record records[RECORDS];
    struct glint_schema schema = {GLINT_I64, GLINT_I64};
    for (int64_t i = 0; i < RECORDS; i++)
        records[i] = (struct glint_record){.key.i64 = i % 7, .value.i64 = i};
    return glint_parallelize(g, schema, records, RECORDS, PARTITIONS);
}

static const char *write_input(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/glint-explain-XXXXXX");
    int file = mkstemp(path);
    cr_assert(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    return path;
}

/* ---- Every action */

static int no_row(void *arg, const struct glint_record *row)
{
    (void)arg, (void)row;
    cr_assert_fail("there is a row");
    return 0;
}

static int run_action(struct glint_rdd *rdd, const char *name, struct glint_rows *rows)
{
    union glint_value zero = {.i64 = 5}, sum = {.i64 = 1};
    int64_t count = 1;
    bool empty = false;
    int r;
#define IS(word) (strcmp(name, word) == 0)
    if (IS("collect")) return glint_collect(rdd, rows);
    if (IS("collect ")) return glint_collect_each(rdd, no_row, NULL);
    if (IS("collect as")) return glint_collect_as_map(rdd, rows);
    if (IS("collect countByKey")) return glint_count_by_key(rdd, rows);
    if (IS("collect countByValue")) return glint_count_by_value(glint_values(rdd), rows);
    if (IS("take")) return glint_take(rdd, 50, rows);
    if (IS("take first")) return glint_first(rdd, rows);
    if (IS("takeOrdered")) return glint_take_ordered(rdd, 2, rows);
    if (IS("top")) return glint_top(rdd, 2, rows);
    if (IS("min")) return glint_min(rdd, rows);
    if (IS("max")) return glint_max(rdd, rows);
    if (IS("lookup")) return glint_lookup(rdd, zero, rows);
    if (IS("reduce")) return glint_reduce(rdd, &trap_reduce, NULL, rows);
    if (IS("foreach")) return glint_foreach(rdd, &trap_foreach, NULL);
    if (IS("saveAsTextFile")) return glint_save_as_text_file(rdd, "/nowhere/out");
    if (IS("saveAsMsgpackFile")) return glint_save_as_msgpack_file(rdd, "/nowhere/out");
    if (IS("fold") || IS("aggregate")) {
        r = IS("fold") ? glint_fold(rdd, zero, &trap_reduce, NULL, rows)
                       : glint_aggregate(rdd, zero, &trap_aggregate, NULL, rows);
        cr_expect(rows->count == 1 && glint_rows_at(rows, 0).value.i64 == 5, "%s: the zero", name);
        glint_rows_free(rows);
        return r;
    }
    if (IS("sum")) {
        r = glint_sum(rdd, &sum);
        cr_expect_eq(sum.i64, 0);
        return r;
    }
    if (IS("take isEmpty")) {
        r = glint_is_empty(rdd, &empty);
        cr_expect(empty);
        return r;
    }
    cr_assert(IS("count"));
#undef IS
    r = glint_count(rdd, &count);
    cr_expect_eq(count, 0);
    return r;
}

Test(explain, no_action_calls_a_user_function)
{
    static const char *const actions[] = {"count",
                                          "collect",
                                          "collect ",
                                          "collect as",
                                          "collect countByKey",
                                          "collect countByValue",
                                          "take",
                                          "take first",
                                          "take isEmpty",
                                          "takeOrdered",
                                          "top",
                                          "min",
                                          "max",
                                          "lookup",
                                          "reduce",
                                          "fold",
                                          "aggregate",
                                          "sum",
                                          "foreach",
                                          "saveAsTextFile",
                                          "saveAsMsgpackFile"};
    for (uint32_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        struct glint *g = context_open(true);
        struct glint_rows rows = {.count = 0};
        char line[128];
        const int word = (int)strcspn(actions[i], " ");
        int r = run_action(glint_map(pairs(g), &trap_map, NULL), actions[i], &rows);
        bool needs_one = strcmp(actions[i], "take first") == 0 ||
                         strcmp(actions[i], "reduce") == 0 || strcmp(actions[i], "min") == 0 ||
                         strcmp(actions[i], "max") == 0;
        cr_expect_eq(r, needs_one ? GLINT_E_EMPTY_COLLECTION : 0, "%s", actions[i]);
        cr_expect_eq(rows.count, 0);
        snprintf(line, sizeof line,
                 strncmp(actions[i], "save", 4) == 0 ? "%.*s /nowhere/out\n"
                                                     : "%.*s, not run: returns an empty result\n",
                 word, actions[i]);
        expect_note(line);
        expect_note("  map trap.map\n");
        context_close(g, GLINT_OK);
    }
}

/* ---- Stages */

static struct glint_rdd *sorted_sums(struct glint *g, bool trap)
{
    struct glint_rdd *sums = glint_reduce_by_key(
        glint_map(pairs(g), trap ? &trap_map : &trap_pass, NULL), &GLINT_SUM_I64, NULL);
    struct glint_rdd *sorted = glint_sort_by_key(glint_with_partitions(sums, PARTITIONS), true);
    return glint_zip_with_index(glint_values(glint_with_partitions(sorted, 3)));
}

/* The stages that operators run for themselves have the same numbers and names as in a real run,
 * and the plan says which stages depend on them. */
Test(explain, stages_match_a_real_run)
{
    int64_t count;
    char lines[1024] = "";
    struct glint_summary summary;
    struct glint *g = context_open(false);
    cr_assert_eq(glint_count(sorted_sums(g, false), &count), 0);
    cr_expect_eq(glint_finish(g), GLINT_OK);
    summary = *glint_summarize(g);
    for (uint32_t i = 0; i < summary.stage_count; i++) {
        const struct glint_stage_time *s = &summary.stage_times[i];
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "stage %u %s: %u\n",
                 s->number, s->name, s->tasks);
    }
    glint_destroy(g);
    g = context_open(true);
    cr_assert_eq(glint_count(sorted_sums(g, true), &count), 0);
    char shown[1024] = "";
    for (const char *at = notes(); *at != '\0'; at = strchr(at, '\n') + 1) {
        unsigned number, tasks;
        char name[64];
        if (sscanf(at, "stage %u %63[^:]: %u", &number, name, &tasks) == 3)
            snprintf(shown + strlen(shown), sizeof shown - strlen(shown), "stage %u %s: %u\n",
                     number, name, tasks);
    }
    cr_expect_str_eq(shown, lines);
    expect_note("stage 1 reduceByKey..sortByKey.sample: 4 tasks, ");
    expect_note("  sortByKey (write) into 3 partitions; its bounds depend on the result of "
                "sortByKey.sample (stage 1)\n");
    expect_note("stage 3 sortByKey..count: 2 of 3 tasks, ");
    expect_note("  zipWithIndex; depends on the result of count (stage 3)\n");
    expect_note("  reduceByKey (read) glint.sum_i64 from stage 0\n");
    context_close(g, GLINT_OK);
}

Test(explain, dependence_on_earlier_results_is_shown)
{
    struct glint *g = context_open(true);
    struct glint_rdd *rdd = pairs(g);
    struct glint_rows rows;
    int64_t count;
    cr_assert_eq(glint_count(rdd, &count), 0);
    cr_expect_null(strstr(notes(), "depends on"));
    cr_assert_eq(glint_collect(rdd, &rows), 0);
    expect_note("collect, not run: returns an empty result\n"
                "depends on the result of count (stage 0)\n");
    cr_assert_eq(glint_save_as_text_file(rdd, "/nowhere/out"), 0);
    expect_note("saveAsTextFile /nowhere/out\n"
                "depends on the result of collect (stage 1) and of 1 earlier action\n");
    cr_assert_eq(glint_finish(g), GLINT_OK);
    expect_note(
        "2 actions were not run: what the job does with their results may differ from this plan\n");
    glint_destroy(g);
    buffer_fini(&note_text);
}

/* The number of rounds that take needs is unknown: only the first one is shown. */
Test(explain, take_shows_only_its_first_round)
{
    struct glint *g = context_open(true);
    struct glint_rows rows;
    cr_assert_eq(glint_take(pairs(g), RECORDS, &rows), 0);
    cr_assert_eq(glint_finish(g), GLINT_OK);
    cr_expect_eq(strncmp(notes(),
                         "take, not run: returns an empty result\n"
                         "stage 0 parallelize..take: 1 of 4 tasks, input 0 B\n"
                         "  parallelize\n"
                         "  take\n"
                         "1 action was not run",
                         120),
                 0, "%s", notes());
    glint_destroy(g);
    buffer_fini(&note_text);
}

/* explain does not read the file to count its lines. */
Test(explain, partitions_of_lines_are_an_estimate)
{
    const char *path = write_input("a\nb\nc\n");
    struct glint *g = context_open(true);
    int64_t count;
    cr_assert_eq(glint_count(glint_n_line_text_file(g, path, 1), &count), 0);
    expect_note(": 1 task, ");
    expect_note("  nLineTextFile (task count estimated: lines are not counted)\n");
    struct glint_rdd *side = glint_as_side_file(glint_n_line_text_file(g, path, 1));
    cr_assert_eq(glint_count(side, &count), 0);
    cr_expect_eq(count, 3);
    cr_expect_eq(glint_partitions(side), 3);
    context_close(g, GLINT_OK);
    unlink(path);
}

/* ---- Side files */

Test(explain, side_files_are_read)
{
    const char *path = write_input("one\ntwo\n");
    struct glint *g = context_open(true);
    struct glint_rdd *side = glint_as_side_file(glint_text_file(g, path));
    struct glint_rdd *passed = glint_map(side, &trap_pass, NULL);
    struct glint_rows rows;
    int64_t count;
    cr_assert_eq(glint_take(passed, 1, &rows), 0);
    cr_assert_eq(rows.count, 1);
    cr_expect_eq(rows.size > 0 && memcmp(glint_rows_at(&rows, 0).value.bytes.data, "one", 3), 0);
    glint_rows_free(&rows);
    cr_assert_eq(glint_count(glint_union(passed, side), &count), 0);
    cr_expect_eq(count, 4);
    expect_note("take, run: it reads only side files\nstage 0 textFile..take: 1 task, ");
    cr_expect_null(strstr(notes(), "depends on"));
    /* Inputs that are combined with it are not read. */
    struct glint_rdd *other = glint_map(glint_text_file(g, path), &trap_map, NULL);
    cr_assert_eq(glint_count(glint_union(side, other), &count), 0);
    cr_expect_eq(count, 0);
    cr_assert_eq(glint_save_as_text_file(side, "/nowhere/out"), 0);
    expect_note("stage 3 textFile..saveAsTextFile: 1 task, ");
    context_close(g, GLINT_OK);
    unlink(path);
}

static int refuse_row(void *arg, const struct glint_record *row)
{
    (void)row;
    return glint_abort(arg, GLINT_E_COUNTS_INVALID, NULL, "no count");
}

/* The error comes from the side file, not from an earlier empty result, so it is reported. */
Test(explain, side_file_error_is_reported)
{
    const char *path = write_input("one\ntwo\n");
    struct glint *g = context_open(true);
    int64_t count;
    cr_assert_eq(glint_count(pairs(g), &count), 0);
    struct glint_rdd *side = glint_as_side_file(glint_text_file(g, path));
    cr_expect_eq(glint_collect_each(side, refuse_row, g), GLINT_E_COUNTS_INVALID);
    context_close(g, GLINT_E_COUNTS_INVALID);
    unlink(path);
}

Test(explain, side_file_must_be_a_source)
{
    struct glint *g = context_open(true);
    cr_expect_null(glint_as_side_file(glint_values(pairs(g))));
    context_close(g, GLINT_E_PLAN_ARGUMENT);
    g = context_open(true);
    cr_expect_null(glint_as_side_file(NULL));
    context_close(g, GLINT_E_PLAN_RDD);
}

/* ---- How a job ends that stops early */

Test(explain, error_caused_by_empty_result_is_ignored)
{
    struct glint *g = context_open(true);
    int64_t count;
    cr_assert_eq(glint_count(pairs(g), &count), 0);
    glint_abort(g, GLINT_E_COUNTS_INVALID, NULL, "there are %d rows", 0);
    cr_expect_eq(glint_finish(g), GLINT_OK);
    cr_expect_eq(glint_error(g)->code, GLINT_OK);
    expect_note(
        "the plan ends here: the job needs the result of count (stage 0): there are 0 rows\n");
    glint_destroy(g);
    buffer_fini(&note_text);
}

Test(explain, plan_mistakes_are_still_errors)
{
    struct glint *g = context_open(true);
    int64_t count;
    glint_abort(g, GLINT_E_COUNTS_INVALID, NULL, "no action has run");
    context_close(g, GLINT_E_COUNTS_INVALID);
    g = context_open(true);
    cr_assert_eq(glint_count(pairs(g), &count), 0);
    glint_abort(g, GLINT_E_USAGE, NULL, "incompatible options");
    context_close(g, GLINT_E_USAGE);
    g = context_open(true);
    cr_assert_eq(glint_count(pairs(g), &count), 0);
    cr_expect_null(glint_text_file(g, "/nowhere/in"));
    cr_expect_eq(glint_finish(g), GLINT_E_INPUT_NOT_FOUND);
    cr_expect_not_null(strstr(glint_error(g)->effect, "empty result of count (stage 0)"));
    glint_destroy(g);
    g = context_open(true);
    cr_assert_eq(glint_count(pairs(g), &count), 0);
    cr_expect_eq(glint_count(NULL, &count), GLINT_E_PLAN_RDD);
    context_close(g, GLINT_E_PLAN_RDD);
    g = context_open(false);
    cr_assert_eq(glint_count(pairs(g), &count), 0);
    glint_abort(g, GLINT_E_COUNTS_INVALID, NULL, "not an explain run");
    context_close(g, GLINT_E_COUNTS_INVALID);
}

Test(explain, loop_waiting_for_a_result_ends)
{
    struct glint *g = context_open(true);
    struct glint_rdd *rdd = pairs(g);
    uint32_t rounds = 0;
    int64_t count = 0;
    while (count == 0 && glint_count(rdd, &count) == 0) rounds++;
    cr_expect_eq(rounds, EXPLAIN_ACTIONS_MAX);
    cr_expect_eq(glint_error(g)->code, GLINT_E_PLAN_LIMIT);
    cr_expect_eq(glint_finish(g), GLINT_OK);
    expect_note("the plan ends here: ");
    glint_destroy(g);
    buffer_fini(&note_text);
}

Test(explain, loop_until_convergence_ends)
{
    struct glint *g = context_open(true);
    struct glint_rdd *rdd = pairs(g);
    int64_t before = -1, now = 0;
    while (before != now) {
        before = now;
        rdd = glint_reduce_by_key(rdd, &trap_reduce, NULL);
        cr_assert_eq(glint_count(rdd, &now), 0);
    }
    cr_assert_eq(glint_save_as_text_file(rdd, "/nowhere/out"), 0);
    expect_note("saveAsTextFile /nowhere/out\n");
    context_close(g, GLINT_OK);
}

Test(explain, interrupt_ends_the_explain)
{
    struct glint *g = context_open(true);
    int64_t count;
    cr_assert_eq(glint_count(pairs(g), &count), 0);
    glint_interrupt(g, GLINT_E_INTERRUPTED);
    cr_expect_eq(glint_count(pairs(g), &count), GLINT_E_INTERRUPTED);
    context_close(g, GLINT_E_INTERRUPTED);
}

/* A job that takes k points may read k rows although the result is empty. */
Test(explain, missing_rows_read_as_zero)
{
    struct glint *g = context_open(true);
    struct glint_rows rows;
    cr_assert_eq(glint_take(pairs(g), 3, &rows), 0);
    cr_expect(glint_rows_at(&rows, 2).key.i64 == 0 && glint_rows_at(&rows, 2).value.i64 == 0);
    context_close(g, GLINT_OK);
}

Test(explain, missing_rows_abort_a_real_run, .signal = SIGABRT)
{
    struct glint *g = context_open(false);
    struct glint_rows rows;
    cr_assert_eq(glint_take(pairs(g), 3, &rows), 0);
    glint_rows_at(&rows, 3);
}

/* What the API says of a job. */
#include "engine/web/web_api.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct job_model m;

static void add_event(const char *text)
{
    struct glint_error error = {.code = GLINT_OK};
    json_t *o = json_loads(text, 0, NULL);
    cr_assert_not_null(o);
    cr_assert_eq(job_model_add_event(&m, o, &error), 0, "%s", error.cause);
    json_decref(o);
}

static void setup(void)
{
    json_set_alloc_funcs(mem_alloc, mem_free);
    job_model_init(&m);
    add_event("{\"event\":\"job\",\"ms\":0,\"id\":\"01\",\"name\":\"a\\\"b\\\\c\\nd\"}");
    add_event("{\"event\":\"stage\",\"ms\":1,\"stage\":0,\"action\":0,\"name\":\"s\",\"tasks\":3,"
              "\"parents\":[]}");
}

static void teardown(void)
{
    job_model_fini(&m);
    cr_expect_eq(mem_live_blocks(), 0);
}

TestSuite(web_api, .init = setup, .fini = teardown);

/* A task that reads `rows` rows, `times` times one after the other. */
static void add_done(uint32_t task, const int64_t *rows, uint32_t times)
{
    struct glint_error error = {.code = GLINT_OK};
    const struct event_attempt a = {.task = task, .outcome = OUTCOME_DONE, .run_ms = task + 1};
    struct job_stage *s = job_model_add_attempt(&m, &a, NULL, &error);
    cr_assert_not_null(s);
    for (uint32_t i = 0; i < times; i++)
        cr_assert_eq(job_stage_add_counter(s, "rows read", rows[i], &error), 0);
}

static const char *const *given_query; /* name, value, ..., NULL */

static const char *query(void *arg, const char *name)
{
    (void)arg;
    for (size_t i = 0; given_query != NULL && given_query[i] != NULL; i += 2)
        if (strcmp(given_query[i], name) == 0) return given_query[i + 1];
    return NULL;
}

/* The caller frees the answer. */
static json_t *part(const char *name, unsigned status)
{
    struct json out = {.failed = false};
    cr_assert_eq(web_api_put_resource(&out, &m, name, query, NULL), status);
    cr_assert(!out.failed);
    json_t *o = json_loadb((const char *)out.out.data, out.out.size, 0, NULL);
    cr_assert_not_null(o);
    json_fini(&out);
    return o;
}

static void expect_records_read(const json_int_t want[3])
{
    json_t *stages = part("stages", 200), *got;
    got = json_object_get(json_array_get(stages, 0), "taskMetricsDistributions");
    got = json_object_get(json_object_get(got, "inputMetrics"), "recordsRead");
    cr_assert_eq(json_array_size(got), 3);
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(json_integer_value(json_array_get(got, i)), want[i]);
    json_decref(stages);
}

/* An executor may send a counter twice; the job adds both, and so does the page. */
Test(web_api, repeated_counters_are_added)
{
    static const int64_t twice[] = {2, 3, 4}, once[] = {20};
    add_done(0, twice, 3);
    expect_records_read((const json_int_t[]){9, 9, 9});
    add_done(1, once, 1);
    add_done(2, NULL, 0);
    expect_records_read((const json_int_t[]){0, 9, 20});
    cr_expect_eq(m.stages[0].counters.count, 1);
    cr_expect_eq(m.stages[0].counters.values[0], 29);
}

/* Many of them take no more room than one. */
Test(web_api, repeated_counters_take_no_room)
{
    int64_t many[COUNTERS_MAX];
    for (uint32_t i = 0; i < COUNTERS_MAX; i++) many[i] = 1;
    add_done(0, many, COUNTERS_MAX);
    expect_records_read((const json_int_t[]){COUNTERS_MAX, COUNTERS_MAX, COUNTERS_MAX});
}

static void expect_status(json_t *o, const char *want)
{
    cr_expect_str_eq(json_string_value(json_object_get(o, "status")), want);
}

static void expect_ended(const char *error, const char *want)
{
    char end[200];
    snprintf(end, sizeof end, "{\"event\":\"job_end\",\"ms\":9,\"error\":{\"name\":\"%s\"}}",
             error);
    add_event(end);
    struct json out = {.failed = false};
    json_begin(&out, NULL, '{');
    web_api_put_application(&out, &m, false);
    json_end(&out, '}');
    json_t *job = json_loadb((const char *)out.out.data, out.out.size, 0, NULL);
    json_t *stages = part("stages", 200);
    expect_status(job, want);
    expect_status(json_array_get(stages, 0), want);
    json_decref(stages);
    json_decref(job);
    json_fini(&out);
}

/* By Ctrl-C, by SIGTERM, by glint cancel. */
Test(web_api, cancelled_jobs_have_not_failed)
{
    expect_ended("INTERRUPTED", "CANCELLED");
    expect_ended("TERMINATED", "CANCELLED");
    expect_ended("CANCELLED", "CANCELLED");
    expect_ended("BAD_ROW", "FAILED");
}

/* A list and the page of a job show it as done of all. */
Test(web_api, tasks_that_ran_again_are_done_once)
{
    for (uint32_t i = 0; i < 2; i++) add_done(i, NULL, 0);
    add_event("{\"event\":\"retry\",\"ms\":2,\"stage\":0,\"task\":0,\"attempt\":0,"
              "\"executor\":0,\"error\":null}");
    add_done(0, NULL, 0);
    const struct job_totals t = job_model_totals(&m);
    cr_expect(t.tasks == 3 && t.done_tasks == 2 && t.done == 3 && t.pending == 1);
    json_t *stages = part("stages", 200);
    const json_t *stage = json_array_get(stages, 0);
    cr_expect_eq(json_integer_value(json_object_get(stage, "numCompletedIndices")), 2);
    cr_expect_eq(json_integer_value(json_object_get(stage, "numCompleteTasks")), 3);
    json_decref(stages);
}

Test(web_api, pages_of_tasks)
{
    for (uint32_t i = 0; i < 3; i++) add_done(i, NULL, 0);
    static const struct {
        const char *query[5];
        unsigned status;
        size_t tasks;
    } cases[] = {{{NULL}, 200, 3},
                 {{"offset", "1", NULL}, 200, 2},
                 {{"offset", "1", "length", "1", NULL}, 200, 1},
                 {{"length", "0", NULL}, 200, 0},
                 {{"offset", "3", NULL}, 200, 0},
                 {{"offset", "9223372036854775807", "length", "20000", NULL}, 200, 0},
                 {{"offset", "9223372036854775808", NULL}, 400, 0},
                 {{"offset", "-1", NULL}, 400, 0},
                 {{"offset", "", NULL}, 400, 0},
                 {{"offset", "1 ", NULL}, 400, 0},
                 {{"length", "20001", NULL}, 400, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        given_query = cases[i].query;
        json_t *o = part("tasks", cases[i].status);
        cr_expect_eq(json_array_size(json_object_get(o, "tasks")), cases[i].tasks, "case %zu", i);
        json_decref(o);
    }
    given_query = NULL;
}

/* The last events count. */
Test(web_api, cached_rdds_and_accumulators)
{
    json_t *o = part("storage/rdd", 200);
    cr_expect_eq(json_array_size(o), 0);
    json_decref(o);
    add_event("{\"event\":\"storage\",\"ms\":2,\"rdds\":[{\"rdd\":7}]}");
    add_event("{\"event\":\"storage\",\"ms\":2,\"rdds\":[{\"rdd\":3,\"name\":\"words\",\"level\":"
              "\"memory\",\"partitions\":9,\"blocks\":8,\"memory_bytes\":\"18446744073709551615\","
              "\"disk_bytes\":5}],\"rdd_count\":1}");
    o = part("storage/rdd", 200);
    cr_assert_eq(json_array_size(o), 1);
    const json_t *rdd = json_array_get(o, 0);
    cr_expect_eq(json_integer_value(json_object_get(rdd, "id")), 3);
    cr_expect_eq(json_integer_value(json_object_get(rdd, "numCachedPartitions")), 8);
    cr_expect_str_eq(json_string_value(json_object_get(rdd, "storageLevel")), "memory");
    cr_expect_str_eq(json_string_value(json_object_get(rdd, "memoryUsed")), "18446744073709551615");
    json_decref(o);
    add_event("{\"event\":\"action_end\",\"ms\":3,\"action\":0,\"accumulators\":{\"sum\":1}}");
    add_event("{\"event\":\"action_end\",\"ms\":4,\"action\":1,\"accumulators\":{\"sum\":2}}");
    add_event("{\"event\":\"action_end\",\"ms\":5,\"action\":2}");
    cr_expect_eq(json_integer_value(json_object_get(m.accumulators, "sum")), 2);
}

/* A newer version may write events that this one does not know. */
Test(web_api, unknown_events_are_ignored)
{
    add_event("{\"event\":\"stage_moved\",\"ms\":2,\"stage\":7,\"tasks\":9}");
    add_event("{\"event\":\"actions\",\"ms\":2,\"action\":7,\"skipped\":[1]}");
    cr_expect_eq(m.stage_count, 1);
    cr_expect_eq(job_model_totals(&m).tasks, 3);
    cr_expect_eq(json_array_size(m.events), 0);
    cr_expect_eq(m.stages_skipped, 0);
}

Test(web_api, unknown_part)
{
    json_t *o = part("nothing", 404);
    cr_expect(json_is_object(json_object_get(o, "error")));
    json_decref(o);
}

/* A job's name is any text: in a label quotes, backslashes and newlines are escaped. */
Test(web_api, labels_of_metrics_are_escaped)
{
    struct buffer text = {NULL, 0, 0};
    cr_assert(web_put_job_metrics(&text, &m));
    cr_assert(buffer_append(&text, "", 1));
    cr_expect_not_null(strstr((char *)text.data, "name=\"a\\\"b\\\\c\\nd\""));
    cr_expect_str_eq((char *)text.data + text.size - sizeof "# EOF\n", "# EOF\n");
    buffer_fini(&text);
}

/* The events that the driver logs, and their fields (docs/event-log.md): texts can be any bytes,
 * long ones are truncated. glint history accepts them. */
#include "engine/driver/driver_internal.h"
#include "engine/events/job_model.h"
#include "tests/unit/driver/driver_fixture.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORDS = 500, WORD_SIZE = 5000 };

static char path[PATH_MAX];
static struct driver_fixture w;

static void ignore_task(struct driver_fixture *fixture, const struct task *t)
{
    (void)fixture, (void)t;
}

/* Opens the log of a driver, whose executors have joined already. */
static void open_log(const char *const *arguments, uint32_t count)
{
    fixture_open_logged(&w, ignore_task, NULL);
    w.g->job_id = 0x7f3a;
    w.g->config.event_log = path;
    w.g->config.arguments = arguments;
    w.g->config.argument_count = count;
    cr_assert_eq(event_log_listener_open(w.driver), 0, "%s", glint_error(w.g)->cause);
}

static void setup(void)
{
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/glint-event-log-XXXXXX", dir != NULL ? dir : "/tmp");
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
    json_set_alloc_funcs(malloc, free);
}

static void teardown(void)
{
    unlink(path);
}

TestSuite(event_log_listener, .init = setup, .fini = teardown);

/* Closes the driver, and returns the lines of the file as an array of objects. */
static json_t *close_log(void)
{
    struct job_model m;
    struct glint_error error = {.code = GLINT_OK};
    json_t *lines = json_array();
    char *line = NULL;
    size_t capacity = 0;
    fixture_close(&w);
    cr_expect_eq(job_model_read(&m, env_real(), path, &error), 0, "%s", error.cause);
    job_model_fini(&m);
    json_set_alloc_funcs(malloc, free);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    for (ssize_t n; (n = getline(&line, &capacity, file)) > 0;) {
        json_t *o = json_loadb(line, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
        cr_assert_not_null(o, "%s", line);
        json_array_append_new(lines, o);
    }
    free(line);
    fclose(file);
    return lines;
}

/* The n-th event of this name. */
static const json_t *event(const json_t *lines, const char *name, unsigned n)
{
    size_t i;
    json_t *o;
    json_array_foreach(lines, i, o)
    {
        if (strcmp(json_string_value(json_object_get(o, "event")), name) == 0 && n-- == 0) return o;
    }
    cr_assert_fail("no event %s", name);
    return NULL;
}

/* The field as JSON is this text; jansson writes no spaces. */
static void expect_field(const json_t *o, const char *name, const char *want)
{
    char *got = json_dumps(json_object_get(o, name), JSON_COMPACT | JSON_ENCODE_ANY);
    cr_assert_not_null(got, "%s is missing", name);
    cr_expect_str_eq(got, want, "%s: %s", name, got);
    free(got);
}

static void expect_error(const json_t *o, const char *code)
{
    const json_t *error = json_object_get(o, "error");
    cr_expect_str_eq(json_string_value(json_object_get(error, "code")), code);
}

Test(event_log_listener, job_and_executors)
{
    static const char *const arguments[] = {"in\xff.tsv", "a \"b\"\n"};
    struct glint_error lost = {.code = GLINT_OK};
    error_set(&lost, GLINT_E_EXECUTOR_LOST, "see its log", "e1 died: signal 9");
    open_log(arguments, 2);
    event_log_listener_on_executor_state(w.driver, 1, EXECUTOR_STATE_JOINED, NULL);
    event_log_listener_on_executor_state(w.driver, 1, EXECUTOR_STATE_DRAINING, NULL);
    event_log_listener_on_executor_state(w.driver, 1, EXECUTOR_STATE_EXCLUDED, &lost);
    event_log_listener_on_executor_state(w.driver, 1, EXECUTOR_STATE_LOST, &lost);
    json_t *lines = close_log();
    cr_expect_eq(json_array_size(lines), 5);
    expect_field(event(lines, "job", 0), "id", "\"0000000000007f3a\""); /* as in glint status */
    expect_field(event(lines, "job", 0), "name", "\"job\"");
    expect_field(event(lines, "job", 0), "arguments",
                 "[\"in\xef\xbf\xbd.tsv\",\"a \\\"b\\\"\\n\"]");
    expect_field(event(lines, "job", 0), "argument_count", "2");
    expect_field(event(lines, "executor", 0), "executor", "1");
    expect_field(event(lines, "executor", 0), "state", "\"joined\"");
    expect_field(event(lines, "executor", 0), "name", "\"e1\"");
    expect_field(event(lines, "executor", 0), "host", "\"e1\"");
    expect_field(event(lines, "executor", 0), "slots", "2");
    expect_field(event(lines, "executor", 1), "state", "\"draining\"");
    expect_field(event(lines, "executor", 1), "error", "null");
    expect_field(event(lines, "executor", 2), "state", "\"excluded\"");
    expect_field(event(lines, "executor", 3), "state", "\"lost\"");
    expect_error(event(lines, "executor", 3), "E0908");
    json_decref(lines);
}

Test(event_log_listener, long_texts_are_truncated)
{
    static char word[WORD_SIZE + 1];
    const char *words[WORDS];
    memset(word, 1, WORD_SIZE);
    for (unsigned i = 0; i < WORDS; i++) words[i] = word;
    open_log(words, WORDS);
    w.g->config.note(w.g->config.note_arg, word);
    event_log_listener_on_job_end(w.driver);
    json_t *lines = close_log();
    const json_t *arguments = json_object_get(event(lines, "job", 0), "arguments");
    cr_expect_eq(json_array_size(arguments), 128);
    cr_expect_eq(json_string_length(json_array_get(arguments, 0)), 512);
    expect_field(event(lines, "job", 0), "argument_count", "500");
    cr_expect_eq(json_string_length(json_object_get(event(lines, "note", 0), "text")), 512);
    expect_field(event(lines, "job_end", 0), "events_left_out", "0");
    json_decref(lines);
}

/* The log of another run is replaced. */
Test(event_log_listener, old_log_is_replaced)
{
    for (int i = 0; i < 2; i++) {
        open_log(NULL, 0);
        json_t *lines = close_log();
        cr_expect_eq(json_array_size(lines), 1);
        json_decref(lines);
    }
}

Test(event_log_listener, actions_and_stages)
{
    static const char *const outputs[] = {"out", "and more"};
    static const char operators[] = "textFile\0map \"\xff\"";
    struct glint_error lost = {.code = GLINT_OK};
    uint32_t parents[] = {0, 1};
    struct stage_run stages[] = {{.number = 1, .skipped = true, .started = false},
                                 {.number = 2, .started = true},
                                 {.number = 5,
                                  .started = true,
                                  .tasks = 8,
                                  .parents = parents,
                                  .parent_count = 2,
                                  .name = "textFile..reduceByKey",
                                  .operator_count = 150}};
    open_log(NULL, 0);
    const struct action action = {.op = registry_find_op(&w.g->config, "saveAsTextFile"),
                                  .outputs = outputs,
                                  .output_count = 2};
    struct action_run run = {.action = &action, .stages = stages, .stage_count = 3, .number = 4};
    error_set(&lost, GLINT_E_EXECUTOR_LOST, "see its log", "e1 died: signal 9");
    cr_assert(buffer_append(&stages[2].operators, operators, sizeof operators));
    w.driver->action_run = &run;
    event_log_listener_on_action_start(w.driver);
    event_log_listener_on_stage_start(w.driver, 2);
    event_log_listener_on_retry(w.driver, 2, 7, 3, 1, &lost);
    event_log_listener_on_stage_end(w.driver, 0); /* was not started: no event */
    event_log_listener_on_stage_end(w.driver, 2);
    w.g->error = lost;
    event_log_listener_on_action_end(w.driver);
    w.driver->action_run = NULL;
    buffer_fini(&stages[2].operators);
    json_t *lines = close_log();
    cr_expect_eq(json_array_size(lines), 6);
    expect_field(event(lines, "action", 0), "action", "4");
    expect_field(event(lines, "action", 0), "name", "\"saveAsTextFile\"");
    expect_field(event(lines, "action", 0), "output", "\"out\"");
    expect_field(event(lines, "action", 0), "outputs", "[\"out\",\"and more\"]");
    expect_field(event(lines, "action", 0), "skipped", "[1]");
    expect_field(event(lines, "stage", 0), "stage", "5");
    expect_field(event(lines, "stage", 0), "action", "4");
    expect_field(event(lines, "stage", 0), "name", "\"textFile..reduceByKey\"");
    expect_field(event(lines, "stage", 0), "tasks", "8");
    expect_field(event(lines, "stage", 0), "parents", "[1,2]");
    expect_field(event(lines, "stage", 0), "operators",
                 "[\"textFile\",\"map \\\"\xef\xbf\xbd\\\"\"]");
    expect_field(event(lines, "stage", 0), "operator_count", "150");
    expect_field(event(lines, "retry", 0), "stage", "5");
    expect_field(event(lines, "retry", 0), "task", "7");
    expect_field(event(lines, "retry", 0), "attempt", "3");
    expect_field(event(lines, "retry", 0), "executor", "1");
    expect_error(event(lines, "retry", 0), "E0908");
    expect_field(event(lines, "stage_end", 0), "stage", "5");
    expect_field(event(lines, "stage_end", 0), "error", "null");
    expect_field(event(lines, "action_end", 0), "action", "4");
    expect_error(event(lines, "action_end", 0), "E0908");
    json_decref(lines);
}

/* Done, with a counter that is beyond the precision of a double, and an accumulator. */
static void done_with_counters(struct driver_fixture *fixture, const struct task *t)
{
    struct message *m = message_create(MSG_DONE);
    struct packer p = {.failed = false};
    const union glint_value part = {.i64 = -7};
    uint8_t bytes[CODEC_NUMBER_BYTES];
    if (t->number == 0 && t->attempt == 0) {
        message_destroy(m);
        failed(fixture, t, GLINT_E_SYSTEM, "once");
        return;
    }
    pack_array(&p, t->number == 0 ? 3 : 1);
    pack_array(&p, 2);
    pack_text(&p, "rows read");
    pack_i64(&p, 12);
    if (t->number == 0) {
        pack_array(&p, 2);
        pack_text(&p, "bytes \xff");
        pack_i64(&p, INT64_MAX);
        pack_array(&p, 4);
        pack_text(&p, "sum");
        pack_text(&p, GLINT_SUM_I64.name);
        pack_u64(&p, GLINT_I64);
        pack_bytes(&p, codec_encode(GLINT_I64, &part, bytes));
    }
    cr_assert(!p.failed);
    m->counters = p.out;
    m->run_ns = 249999999;
    deliver_message(fixture, t, m);
}

Test(event_log_listener, attempts_and_accumulators)
{
    open_log(NULL, 0);
    w.on_task = done_with_counters;
    cr_expect_eq(act(local_numbers(w.g, 2, 2), NULL), 0, "%s", glint_error(w.g)->cause);
    json_t *lines = close_log();
    const json_t *first = event(lines, "task", 0);
    bool again = false;
    size_t i;
    json_t *o;
    json_array_foreach(lines, i, o)
    {
        if (strcmp(json_string_value(json_object_get(o, "event")), "task") != 0 ||
            json_integer_value(json_object_get(o, "attempt")) != 1)
            continue;
        again = true;
        expect_field(o, "task", "0");
        expect_field(o, "partition", "0");
        expect_field(o, "speculative", "false");
        expect_field(o, "run_ms", "249.999");
        expect_field(o, "outcome", "\"done\"");
        expect_field(o, "error", "null");
        expect_field(o, "counters",
                     "{\"rows read\":12,\"bytes \xef\xbf\xbd\":\"9223372036854775807\"}");
        expect_field(o, "accumulators", "{\"sum\":-7}");
        cr_expect_geq(json_number_value(json_object_get(o, "end_ms")),
                      json_number_value(json_object_get(o, "start_ms")));
        cr_expect(json_is_string(json_object_get(o, "start")));
        cr_expect(json_is_string(json_object_get(o, "end")));
    }
    cr_expect(again);
    expect_field(first, "outcome", "\"failed\"");
    cr_expect(json_is_object(json_object_get(first, "error")));
    expect_field(first, "counters", "{}");
    expect_field(event(lines, "retry", 0), "task", "0");
    expect_field(event(lines, "action_end", 0), "accumulators", "{\"sum\":-7}");
    json_decref(lines);
}

Test(event_log_listener, cached_rdds_and_end)
{
    static const char *published[] = {"/out"};
    open_log(NULL, 0);
    struct glint_rdd *rdd = local_numbers(w.g, 9, 9);
    struct driver *d = w.driver;
    rdd->name = "split \xff";
    rdd->persist = GLINT_MEMORY;
    cr_assert(cached_rdds_add(&d->cached, rdd->id, 9));
    d->cached.list[0]->sums =
        (struct cached_sums){.blocks = 8, .memory_bytes = 1000, .disk_bytes = UINT64_MAX};
    d->cached_changes++;
    w.g->config.note(w.g->config.note_arg, "a note");
    cr_assert_eq(counters_add(&d->metrics.counters, "rows read", -5, &w.g->error), 0);
    d->published = published;
    d->published_count = 1;
    event_log_listener_on_job_end(d);
    d->published = NULL;
    d->published_count = 0;
    json_t *lines = close_log();
    cr_assert_eq(json_array_size(lines), 5);
    const json_t *storage = event(lines, "storage", 0), *end = event(lines, "job_end", 0);
    const json_t *cached = json_array_get(json_object_get(storage, "rdds"), 0);
    expect_field(cached, "name", "\"split \xef\xbf\xbd\"");
    expect_field(cached, "level", "\"memory\"");
    expect_field(cached, "partitions", "9");
    expect_field(cached, "blocks", "8");
    expect_field(cached, "memory_bytes", "1000");
    expect_field(cached, "disk_bytes", "\"18446744073709551615\"");
    expect_field(storage, "rdd_count", "1");
    expect_field(event(lines, "note", 0), "text", "\"a note\"");
    expect_field(event(lines, "output", 0), "path", "\"/out\"");
    cr_expect_eq(end, json_array_get(lines, 4));
    expect_field(end, "events_left_out", "0");
    expect_field(end, "error", "null");
    expect_field(end, "tasks", "0");
    expect_field(end, "counters", "{\"rows read\":-5}");
    json_decref(lines);
}

Test(event_log_listener, reports_are_limited)
{
    char text[600];
    memset(text, 'x', sizeof text);
    const struct glint_field fields[] = {
        {"text", {GLINT_TEXT, {.bytes = {(const uint8_t *)text, sizeof text}}}},
        {"count", {GLINT_I64, {.i64 = -3}}},
        {"rate", {GLINT_F64, {.f64 = 0.25}}}};
    open_log(NULL, 0);
    for (int i = 0; i < GLINT_REPORTS_MAX + 5; i++)
        w.g->config.report(w.g->config.report_arg, "thing", fields, 3);
    json_t *lines = close_log();
    cr_assert_eq(json_array_size(lines), 1 + GLINT_REPORTS_MAX);
    const json_t *o = json_object_get(event(lines, "report", 0), "fields");
    cr_expect_eq(json_string_length(json_object_get(o, "text")), 512);
    expect_field(o, "count", "-3");
    expect_field(o, "rate", "0.25");
    json_decref(lines);
}

/* What is now, as the page gets it. */
struct sent {
    json_t *lines;
    struct event_attempt attempts[8];
    bool failed[8];
    uint32_t attempt_count;
};

static void on_line(void *arg, const void *data, uint64_t size)
{
    json_t *o = json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(o);
    json_array_append_new(((struct sent *)arg)->lines, o);
}

static void on_attempt(void *arg, const struct event_attempt *a, const struct glint_error *why,
                       struct glint_slice counters)
{
    struct sent *s = arg;
    cr_assert_lt(s->attempt_count, 8);
    cr_expect_eq(counters.size > 0, why == NULL);
    s->failed[s->attempt_count] = why != NULL;
    s->attempts[s->attempt_count++] = *a;
}

static bool health(void *arg, uint32_t executor, struct executor_health *out)
{
    (void)arg;
    *out = (struct executor_health){.memory_bytes = 1000 + executor, .memory_max = 2000};
    return executor != 2;
}

static void done_later(struct driver_fixture *fixture, const struct task *t)
{
    fixture->now += SECOND_NS;
    event_log_listener_on_timer(fixture->driver);
    done_with_counters(fixture, t);
}

Test(event_log_listener, sink_gets_status_and_attempts)
{
    static struct sent sent;
    const struct event_sink sink = {.arg = &sent, .line = on_line, .attempt = on_attempt};
    sent.lines = json_array();
    fixture_open_logged(&w, done_later, NULL);
    w.g->config.event_sink = &sink;
    w.driver->transport.health = health;
    cr_assert_eq(event_log_listener_open(w.driver), 0);
    cr_expect_eq(act(local_numbers(w.g, 2, 2), NULL), 0, "%s", glint_error(w.g)->cause);
    fixture_close(&w);
    const json_t *status = event(sent.lines, "status", 0);
    const json_t *running = json_object_get(status, "running");
    const json_t *executors = json_object_get(status, "executors");
    cr_assert_eq(json_array_size(running), 2);
    expect_field(json_array_get(running, 0), "stage", "0");
    expect_field(json_array_get(running, 0), "attempt", "0");
    expect_field(json_array_get(running, 0), "speculative", "false");
    cr_assert_eq(json_array_size(executors), EXECUTORS);
    expect_field(json_array_get(executors, 0), "memory", "1000");
    expect_field(json_array_get(executors, 0), "memory_max", "2000");
    cr_expect_null(json_object_get(json_array_get(executors, 2), "memory"));
    cr_assert_eq(sent.attempt_count, 3);
    cr_expect(sent.failed[0] && !sent.failed[1] && !sent.failed[2]);
    cr_expect_eq(sent.attempts[0].outcome, OUTCOME_FAILED);
    cr_expect_eq(sent.attempts[2].outcome, OUTCOME_DONE);
    cr_expect_float_eq(sent.attempts[2].run_ms, 249.999, 1e-9);
    json_decref(sent.lines);
}

/* The event log's writer: each line is a JSON object, texts can be any bytes, the file size is
 * limited, and an error is reported once, as a warning. */
#include "engine/events/event_log.h"
#include "engine/records/pack.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The real env, except for its clocks, and writes that fail after a number of bytes. */
struct event_log_fixture {
    struct env env; /* first */
    uint64_t ns;
    uint64_t writable; /* bytes that may still be written; UINT64_MAX: all */
    unsigned writes, notes;
    char note[512];
};
static struct event_log_fixture event_log_fixture;
static char directory[64], path[128];

static uint64_t fake_now(struct env *env)
{
    return ((struct event_log_fixture *)env)->ns;
}

static int64_t fake_wall(struct env *env)
{
    (void)env;
    return 1795330800123456789; /* 2026-11-22T07:00:00.123Z */
}

static int64_t fake_write(struct env *env, int file, const void *data, size_t size)
{
    struct event_log_fixture *w = (struct event_log_fixture *)env;
    w->writes++;
    if (w->writable < size) return -ENOSPC;
    if (w->writable != UINT64_MAX) w->writable -= size;
    return env_real()->write(env, file, data, size);
}

static void on_note(void *arg, const char *line)
{
    struct event_log_fixture *w = arg;
    w->notes++;
    snprintf(w->note, sizeof w->note, "%s", line);
}

static int (*replaced_stat)(struct env *env, int file, struct env_stat *out);

static struct event_log *open_log(uint64_t bytes_max, struct glint_error *error)
{
    event_log_fixture.env = *env_real();
    event_log_fixture.env.now_ns = fake_now;
    event_log_fixture.env.wall_ns = fake_wall;
    event_log_fixture.env.write = fake_write;
    if (replaced_stat != NULL) event_log_fixture.env.stat_open = replaced_stat;
    *error = (struct glint_error){.code = GLINT_OK};
    struct event_log_config config = {.env = &event_log_fixture.env,
                                      .path = path,
                                      .bytes_max = bytes_max,
                                      .note = on_note,
                                      .note_arg = &event_log_fixture};
    return event_log_open(&config, error);
}

static void setup(void)
{
    snprintf(directory, sizeof directory, "/tmp/glint-test-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/events", directory);
    event_log_fixture = (struct event_log_fixture){.ns = 5000000000u, .writable = UINT64_MAX};
}

static void teardown(void)
{
    cr_expect_eq(mem_live_blocks(), 0);
    cr_expect_eq(env_remove_tree(env_real(), ENV_CWD, directory, 0), 0);
}

TestSuite(event_log, .init = setup, .fini = teardown);

/* The lines of the file as an array of objects. */
static json_t *read_lines(void)
{
    FILE *file = fopen(path, "r");
    json_t *lines = json_array();
    char *line = NULL;
    size_t capacity = 0;
    cr_assert_not_null(file);
    for (ssize_t n; (n = getline(&line, &capacity, file)) > 0;) {
        json_error_t error;
        json_t *o = json_loadb(line, (size_t)n, JSON_REJECT_DUPLICATES, &error);
        cr_assert_not_null(o, "%s: %s", error.text, line);
        cr_assert_eq(line[n - 1], '\n');
        cr_assert_eq(strncmp(line, "{\"schema\":1,\"event\":\"", 21), 0, "%s", line);
        json_array_append_new(lines, o);
    }
    free(line);
    fclose(file);
    return lines;
}

static const char *text(const json_t *lines, size_t i, const char *name)
{
    return json_string_value(json_object_get(json_array_get(lines, i), name));
}

static double number(const json_t *lines, size_t i, const char *name)
{
    return json_number_value(json_object_get(json_array_get(lines, i), name));
}

static void log_task(struct event_log *log, uint32_t task)
{
    struct packer p = {.failed = false};
    pack_array(&p, 2);
    pack_array(&p, 2);
    pack_text(&p, "rows read");
    pack_i64(&p, 12);
    pack_array(&p, 2);
    pack_text(&p, "bytes \xff");
    pack_i64(&p, INT64_MAX);
    struct event_task e = {.stage = 1,
                           .task = task,
                           .partition = task + 100,
                           .attempt = 1,
                           .executor = 3,
                           .start_ns = 5100000000u,
                           .end_ns = 5350000000u,
                           .run_ns = 249999999u,
                           .outcome = OUTCOME_DONE,
                           .counters = {p.out.data, p.out.size}};
    event_log_task_end(log, &e);
    packer_fini(&p);
}

static void log_all(struct event_log *log)
{
    static const char *const arguments[] = {"in\xff.tsv", "a \"b\"\n"};
    static const struct event_option options[] = {{"partitions", "3", NULL}, {"split", NULL, NULL}};
    static const uint32_t parents[] = {1, 2};
    struct glint_error lost = {.code = GLINT_OK};
    error_set(&lost, GLINT_E_EXECUTOR_LOST, "see its log", "e1 died: signal 9");
    struct event_job job = {0x7f3a, "count-keys", "0.1.0", "b1", "local[2]", arguments,
                            2,      options,      2};
    event_log_job_start(log, &job);
    struct event_executor executor = {.executor = 3, .name = "e1", .host = "h", .slots = 2};
    event_log_executor_state(log, &executor);
    event_log_action_start(
        log, &(struct event_action){.name = "saveAsTextFile",
                                    .outputs = (const char *const[]){"out", "and more"},
                                    .output_count = 2,
                                    .skipped = parents,
                                    .skipped_count = 1});
    static const char *const operators[] = {"textFile", "map \"\xff\""};
    struct event_stage stage = {1, 0, "textFile..reduceByKey", 8, parents, 2, operators, 2, 150};
    event_log_stage_start(log, &stage);
    log_task(log, 7);
    struct event_retry retry = {1, 7, 0, 3, &lost};
    event_log_retry(log, &retry);
    event_log_stage_end(log, 1, NULL);
    struct glint_answer sum = {.name = "sum", .value = {.type = GLINT_I64, .value = {.i64 = -7}}};
    event_log_action_end(log, 0, &lost, &sum);
    const struct event_cached_rdd rdd = {3, "split \xff", "memory", 9, 8, 1000, UINT64_MAX};
    event_log_storage(log, &(struct event_storage){&rdd, 1, 300, .sink_only = true});
    event_log_storage(log, &(struct event_storage){&rdd, 1, 300, .sink_only = false});
    executor = (struct event_executor){.executor = 3, .state = EXECUTOR_STATE_LOST, .why = &lost};
    event_log_executor_state(log, &executor);
    event_log_note(log, "a note");
    event_log_output_published(log, "/out");
    static const char *const names[] = {"rows read"};
    static const int64_t values[] = {-5};
    struct glint_summary summary = {.elapsed_ns = 1500000,
                                    .tasks = 8,
                                    .counter_count = 1,
                                    .counter_names = names,
                                    .counter_values = values};
    event_log_job_end(log, &lost, &summary);
}

Test(event_log, every_event_is_written)
{
    struct glint_error error;
    struct event_log *log = open_log(0, &error);
    cr_assert_not_null(log, "%s", error.cause);
    event_log_fixture.ns += 12345678;
    log_all(log);
    event_log_close(log);
    json_t *lines = read_lines();
    cr_assert_eq(json_array_size(lines), 13);
    cr_expect_str_eq(text(lines, 0, "id"), "0000000000007f3a"); /* as `glint status` prints it */
    cr_expect_str_eq(text(lines, 0, "time"), "2026-11-22T07:00:00.135Z");
    cr_expect_float_eq(number(lines, 0, "ms"), 12.345, 1e-9);
    const json_t *skipped = json_object_get(json_array_get(lines, 2), "skipped");
    cr_expect(json_array_size(skipped) == 1 && json_integer_value(json_array_get(skipped, 0)) == 1);
    const json_t *arguments = json_object_get(json_array_get(lines, 0), "arguments");
    cr_expect_str_eq(json_string_value(json_array_get(arguments, 0)), "in\xef\xbf\xbd.tsv");
    const json_t *operators = json_object_get(json_array_get(lines, 3), "operators");
    cr_expect_eq(json_array_size(operators), 2);
    cr_expect_str_eq(json_string_value(json_array_get(operators, 1)), "map \"\xef\xbf\xbd\"");
    cr_expect_eq(number(lines, 3, "operator_count"), 150);
    cr_expect_str_eq(text(lines, 4, "outcome"), "done");
    cr_expect_float_eq(number(lines, 4, "start_ms"), 100, 1e-9);
    cr_expect_str_eq(text(lines, 4, "end"), "2026-11-22T07:00:00.473Z");
    cr_expect_float_eq(number(lines, 4, "run_ms"), 249.999, 1e-9);
    const json_t *counters = json_object_get(json_array_get(lines, 4), "counters");
    cr_expect_str_eq(json_string_value(json_object_get(counters, "bytes \xef\xbf\xbd")),
                     "9223372036854775807", "beyond 2^53 digits would be lost");
    cr_expect_eq(json_integer_value(json_object_get(counters, "rows read")), 12);
    const json_t *why = json_object_get(json_array_get(lines, 5), "error");
    cr_expect_str_eq(json_string_value(json_object_get(why, "code")), "E0908");
    const json_t *sums = json_object_get(json_array_get(lines, 7), "accumulators");
    cr_expect_eq(json_integer_value(json_object_get(sums, "sum")), -7);
    const json_t *rdd = json_array_get(json_object_get(json_array_get(lines, 8), "rdds"), 0);
    cr_expect_str_eq(json_string_value(json_object_get(rdd, "name")), "split \xef\xbf\xbd");
    cr_expect_eq(json_integer_value(json_object_get(rdd, "blocks")), 8);
    cr_expect_str_eq(json_string_value(json_object_get(rdd, "disk_bytes")), "18446744073709551615");
    cr_expect_eq(number(lines, 8, "rdd_count"), 300);
    cr_expect_str_eq(text(lines, 9, "state"), "lost");
    cr_expect_str_eq(text(lines, 12, "event"), "job_end");
    cr_expect_eq(number(lines, 12, "events_left_out"), 0);
    cr_expect_eq(event_log_fixture.notes, 0);
    json_decref(lines);
}

Test(event_log, null_log_is_a_no_op)
{
    log_all(NULL);
    event_log_close(NULL);
}

Test(event_log, lines_are_buffered_for_at_most_a_second)
{
    struct glint_error error;
    struct event_log *log = open_log(0, &error);
    for (uint32_t i = 0; i < 10; i++) log_task(log, i);
    cr_expect_eq(event_log_fixture.writes, 0);
    event_log_fixture.ns += 1000000000u;
    log_task(log, 10);
    cr_expect_eq(event_log_fixture.writes, 1);
    json_t *lines = read_lines();
    cr_expect_eq(json_array_size(lines), 11);
    json_decref(lines);
    for (uint32_t i = 0; i < 1000; i++) log_task(log, i);
    cr_expect_lt(event_log_fixture.writes, 20);
    event_log_close(log);
}

Test(event_log, size_limit_keeps_full_and_job_end_events)
{
    struct glint_error error;
    struct event_log *log = open_log(EVENT_LOG_BYTES_MIN, &error);
    for (uint32_t i = 0; i < 10000; i++) log_task(log, i);
    event_log_job_end(log, NULL, NULL);
    event_log_close(log);
    json_t *lines = read_lines();
    size_t count = json_array_size(lines);
    cr_assert_gt(count, 1000);
    cr_assert_lt(count, 10000);
    cr_expect_str_eq(text(lines, count - 3, "event"), "task");
    cr_expect_str_eq(text(lines, count - 2, "event"), "full");
    cr_expect_str_eq(text(lines, count - 1, "event"), "job_end");
    cr_expect_eq(number(lines, count - 1, "events_left_out"), 10000 - (count - 2));
    json_decref(lines);
}

Test(event_log, long_strings_are_truncated)
{
    enum { WORDS = 500, SIZE = 5000 };
    static char word[SIZE + 1];
    const char *words[WORDS];
    struct event_option options[WORDS];
    memset(word, 1, SIZE);
    for (unsigned i = 0; i < WORDS; i++) {
        words[i] = word;
        options[i] = (struct event_option){"option", word, NULL};
    }
    struct glint_error error;
    struct event_log *log = open_log(0, &error);
    struct event_job job = {.arguments = words, .argument_count = WORDS};
    event_log_job_start(log, &job);
    job = (struct event_job){.options = options, .option_count = 1};
    event_log_job_start(log, &job);
    event_log_job_end(log, NULL, NULL);
    event_log_close(log);
    json_t *lines = read_lines();
    cr_assert_eq(json_array_size(lines), 3);
    cr_expect_eq(number(lines, 0, "argument_count"), WORDS);
    cr_expect_eq(number(lines, 2, "events_left_out"), 0);
    json_decref(lines);
}

Test(event_log, full_disk_warns_once)
{
    struct glint_error error;
    struct event_log *log = open_log(0, &error);
    event_log_fixture.writable = 100000;
    for (uint32_t i = 0; i < 2000; i++) log_task(log, i);
    event_log_job_end(log, NULL, NULL);
    event_log_close(log);
    cr_expect_eq(event_log_fixture.notes, 1);
    cr_expect(strstr(event_log_fixture.note, "No space left") != NULL, "%s",
              event_log_fixture.note);
}

Test(event_log, out_of_memory_drops_and_counts_events)
{
    struct glint_error error;
    for (int64_t n = 1; n <= 2; n++) {
        mem_fail_at(n, false);
        cr_expect_null(open_log(0, &error));
        cr_expect_eq(error.code, GLINT_E_NO_MEMORY);
    }
    mem_fail_at(0, false);
    struct event_log *log = open_log(0, &error);
    mem_fail_at(1, false);
    event_log_note(log, "lost");
    mem_fail_at(0, false);
    event_log_note(log, "kept");
    event_log_job_end(log, NULL, NULL);
    event_log_close(log);
    json_t *lines = read_lines();
    cr_expect_eq(json_array_size(lines), 2);
    cr_expect_eq(number(lines, 1, "events_left_out"), 1);
    json_decref(lines);
}

Test(event_log, reports_are_limited)
{
    char text[600];
    memset(text, 'x', sizeof text);
    const struct glint_field fields[] = {
        {"text", {GLINT_TEXT, {.bytes = {(const uint8_t *)text, sizeof text}}}},
        {"count", {GLINT_I64, {.i64 = -3}}},
        {"rate", {GLINT_F64, {.f64 = 0.25}}}};
    struct glint_error error;
    struct event_log *log = open_log(0, &error);
    for (int i = 0; i < GLINT_REPORTS_MAX + 5; i++) event_log_report(log, "thing", fields, 3);
    event_log_close(log);
    json_t *lines = read_lines();
    cr_expect_eq(json_array_size(lines), GLINT_REPORTS_MAX);
    const json_t *o = json_object_get(json_array_get(lines, 0), "fields");
    cr_expect_eq(json_string_length(json_object_get(o, "text")), 512);
    cr_expect_eq(json_integer_value(json_object_get(o, "count")), -3);
    cr_expect_eq(json_real_value(json_object_get(o, "rate")), 0.25);
    json_decref(lines);
}

static void put_file(const char *content)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(content, file);
    fclose(file);
}

static bool file_contains(const char *content)
{
    char found[256] = "";
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    size_t n = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    return n == strlen(content) && strcmp(found, content) == 0;
}

static void write_log(void)
{
    struct glint_error error;
    struct event_log *log = open_log(0, &error);
    cr_assert_not_null(log, "%s", error.cause);
    event_log_job_start(log, &(struct event_job){.id = 0x7f3a, .name = "count-keys"});
    event_log_close(log);
}

Test(event_log, only_event_logs_are_replaced)
{
    struct glint_error error;
    static const char *const others[] = {
        "x",
        "a file of another user",
        "{\"schema\"",
        "{\"schema\":1,\"type\":\"object\"}\n",
        "{\"schema\":1,\"event\":\"job\"}\n",
        "{\"schema\":1,\"event\":\"job\",\"ms\":0.000,\"time\":\"2026-11-22T07:00:00.123Z\"}\n",
        "{\"schema\":x,\"event\":\"job\",\"ms\":0,\"time\":\"2026-\",\"id\":\"1\",",
        " {\"schema\":1,\"event\":\"job\",\"ms\":0,\"time\":\"2026-\",\"id\":\"1\",",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        put_file(others[i]);
        cr_expect_null(open_log(0, &error));
        cr_expect_eq(error.code, GLINT_E_OUTPUT_EXISTS);
        cr_expect_not_null(strstr(error.cause, "is not an event log"), "%s", error.cause);
        cr_expect(file_contains(others[i]), "%s", others[i]);
    }
    put_file(""); /* as mktemp creates it */
    for (int i = 0; i < 2; i++) {
        write_log();
        cr_expect_not(file_contains(""));
    }
    snprintf(path, sizeof path, "%s/none/events", directory);
    cr_expect_null(open_log(0, &error));
    cr_expect_eq(error.code, GLINT_E_OUTPUT_CREATE);
    snprintf(path, sizeof path, "%s", directory);
    cr_expect_null(open_log(0, &error));
    cr_expect_eq(error.code, GLINT_E_OUTPUT_EXISTS);
}

/* A program can be started with descriptor 0 closed. */
Test(event_log, descriptor_0_is_valid)
{
    struct glint_error error;
    write_log();
    cr_assert_eq(close(STDIN_FILENO), 0);
    struct event_log *log = open_log(0, &error);
    cr_expect_not_null(log, "%s", error.cause);
    event_log_close(log);
}

static int stat_of_another(struct env *env, int file, struct env_stat *out)
{
    int r = env_real()->stat_open(env, file, out);
    out->mine = false;
    return r;
}

/* It contains the command line, so it is private. Files of other users are not replaced. */
Test(event_log, is_private_to_the_user)
{
    struct glint_error error;
    struct stat s;
    umask(0);
    write_log();
    cr_expect(stat(path, &s) == 0 && (s.st_mode & 07777) == 0600);
    replaced_stat = stat_of_another;
    cr_expect_null(open_log(0, &error));
    cr_expect_eq(error.code, GLINT_E_OUTPUT_EXISTS);
    cr_expect_not_null(strstr(error.cause, "belongs to another user"), "%s", error.cause);
    replaced_stat = NULL;
    write_log();
}

static void expect_link_is_left(const char *target)
{
    struct glint_error error;
    struct stat s;
    cr_assert_eq(symlink(target, path), 0);
    cr_expect_null(open_log(0, &error));
    cr_expect_eq(error.code, GLINT_E_OUTPUT_EXISTS);
    cr_expect_not_null(strstr(error.cause, "is a symbolic link"), "%s", error.cause);
    cr_expect(lstat(path, &s) == 0 && S_ISLNK(s.st_mode));
    cr_assert_eq(unlink(path), 0);
}

Test(event_log, symlink_is_not_followed_or_replaced)
{
    char target[160];
    snprintf(target, sizeof target, "%s/target", directory);
    expect_link_is_left(target);
    cr_expect_neq(access(target, F_OK), 0);
    write_log();
    cr_assert_eq(rename(path, target), 0);
    expect_link_is_left(target);
    cr_expect_eq(access(target, F_OK), 0);
}

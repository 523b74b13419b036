/* The file of an event log: each line is a JSON object with the fields of all events, the file size
 * is limited, and an error is reported once, as a warning. Its events: test_event_log_listener.c.
 */
#include "engine/events/event_log.h"

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

static void log_job(struct event_log *log)
{
    struct json *j = event_log_line_start(log, "job", EVENT_FOR_ALL);
    json_cstring(j, "id", "7f3a");
    json_cstring(j, "name", "count-keys");
    event_log_line_end(log);
}

static void log_task(struct event_log *log, uint32_t task)
{
    struct json *j = event_log_line_start(log, "task", EVENT_FOR_ALL);
    char text[200];
    if (j == NULL) return; /* broken */
    memset(text, 't', sizeof text);
    json_u64(j, "task", task);
    json_text(j, "text", text, sizeof text);
    event_log_line_end(log);
}

static void log_note(struct event_log *log, const char *text)
{
    struct json *j = event_log_line_start(log, "note", EVENT_FOR_ALL);
    json_cstring(j, "text", text);
    event_log_line_end(log);
}

static void log_end(struct event_log *log)
{
    struct json *j = event_log_line_start(log, "job_end", EVENT_FOR_ALL | EVENT_LAST);
    if (j != NULL) event_log_line_end(log);
}

Test(event_log, lines_have_event_and_times)
{
    struct glint_error error;
    struct event_log *log = open_log(0, &error);
    cr_assert_not_null(log, "%s", error.cause);
    event_log_fixture.ns += 12345678;
    log_job(log);
    struct json *j = event_log_line_start(log, "x \xff", EVENT_FOR_ALL);
    event_log_put_time(log, "end_ms", "end", 5350000999u);
    event_log_put_time(log, "start_ms", "start", 4000000000u); /* before it was opened */
    json_f64(j, "ms_of", event_log_ms(log, 5000001999u));
    event_log_line_end(log);
    log_end(log);
    event_log_close(log);
    json_t *lines = read_lines();
    cr_assert_eq(json_array_size(lines), 3);
    cr_expect_str_eq(text(lines, 0, "id"), "7f3a");
    cr_expect_str_eq(text(lines, 0, "time"), "2026-11-22T07:00:00.135Z");
    cr_expect_float_eq(number(lines, 0, "ms"), 12.345, 1e-9);
    cr_expect_str_eq(text(lines, 1, "event"), "x \xef\xbf\xbd");
    cr_expect_float_eq(number(lines, 1, "end_ms"), 350, 1e-9);
    cr_expect_str_eq(text(lines, 1, "end"), "2026-11-22T07:00:00.473Z");
    cr_expect_float_eq(number(lines, 1, "start_ms"), 0, 1e-9);
    cr_expect_str_eq(text(lines, 1, "start"), "2026-11-22T07:00:00.123Z");
    cr_expect_float_eq(number(lines, 1, "ms_of"), 0.001, 1e-9);
    cr_expect_str_eq(text(lines, 2, "event"), "job_end");
    cr_expect_eq(number(lines, 2, "events_left_out"), 0);
    cr_expect_eq(event_log_fixture.notes, 0);
    json_decref(lines);
}

Test(event_log, null_log_is_a_no_op)
{
    cr_expect_null(event_log_line_start(NULL, "job", EVENT_FOR_ALL));
    event_log_on_timer(NULL);
    event_log_close(NULL);
}

/* Appends the line. */
static void on_line(void *arg, const void *data, uint64_t size)
{
    json_t *o = json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(o);
    json_array_append_new(arg, o);
}

Test(event_log, each_line_has_its_readers)
{
    struct glint_error error;
    json_t *sent = json_array();
    const struct event_sink sink = {.arg = sent, .line = on_line};
    for (int has_file = 0; has_file < 2; has_file++) {
        struct event_log_config config = {
            .env = env_real(), .path = has_file ? path : NULL, .sink = &sink};
        struct event_log *log = event_log_open(&config, &error);
        cr_assert_not_null(log);
        struct json *j = event_log_line_start(log, "file", EVENT_FOR_FILE);
        cr_expect_eq(j != NULL, has_file != 0);
        if (j != NULL) event_log_line_end(log);
        cr_expect_not_null(event_log_line_start(log, "sink", EVENT_FOR_SINK));
        event_log_line_end(log);
        log_note(log, "both");
        event_log_close(log);
        cr_assert_eq(json_array_size(sent), 2);
        cr_expect_str_eq(text(sent, 0, "event"), "sink");
        cr_expect_str_eq(text(sent, 1, "text"), "both");
        json_array_clear(sent);
    }
    json_t *lines = read_lines();
    cr_assert_eq(json_array_size(lines), 2);
    cr_expect_str_eq(text(lines, 0, "event"), "file");
    cr_expect_str_eq(text(lines, 1, "text"), "both");
    json_decref(lines);
    json_decref(sent);
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
    log_end(log);
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

Test(event_log, full_disk_warns_once)
{
    struct glint_error error;
    struct event_log *log = open_log(0, &error);
    event_log_fixture.writable = 100000;
    for (uint32_t i = 0; i < 2000; i++) log_task(log, i);
    log_end(log);
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
    log_note(log, "lost");
    mem_fail_at(0, false);
    log_note(log, "kept");
    log_end(log);
    event_log_close(log);
    json_t *lines = read_lines();
    cr_expect_eq(json_array_size(lines), 2);
    cr_expect_eq(number(lines, 1, "events_left_out"), 1);
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
    log_job(log);
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

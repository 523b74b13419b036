/* Log lines, over an env whose clock changes only when a test sets it and whose standard error is a
 * buffer. */
#include "engine/base/log.h"

#include "engine/base/env.h"
#include "engine/base/mem.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static struct {
    struct env env; /* must be first: the calls cast it */
    uint64_t now_ns;
    int64_t wall_ns;
    struct buffer written;
    unsigned writes;
    int error; /* returned by every write */
} fixture;

static uint64_t now_ns(struct env *env)
{
    (void)env;
    return fixture.now_ns;
}

static int64_t wall_ns(struct env *env)
{
    (void)env;
    return fixture.wall_ns;
}

static int64_t write_some(struct env *env, int file, const void *data, size_t size)
{
    (void)env;
    cr_assert_eq(file, 2);
    fixture.writes++;
    if (fixture.error != 0) return fixture.error;
    cr_assert(buffer_append(&fixture.written, data, size));
    return (int64_t)size;
}

static int stat_open(struct env *env, int file, struct env_stat *out)
{
    (void)env;
    cr_assert_eq(file, 2);
    *out = (struct env_stat){.kind = ENV_FILE, .size = fixture.written.size};
    return 0;
}

static void capture_start(void)
{
    memset(&fixture, 0, sizeof fixture);
    fixture.env = (struct env){
        .now_ns = now_ns, .wall_ns = wall_ns, .write = write_some, .stat_open = stat_open};
    fixture.now_ns = 5 * SECOND;
    fixture.wall_ns = INT64_C(1795244400123456789); /* 2026-11-21T07:00:00.123456789Z */
}

static void capture_end(void)
{
    buffer_fini(&fixture.written);
    log_configure(NULL, false, NULL);
}

TestSuite(log, .init = capture_start, .fini = capture_end);

/* Returns what was written since the last call. */
static const char *written(void)
{
    cr_assert(buffer_append(&fixture.written, "", 1));
    fixture.written.size = 0;
    return fixture.written.data != NULL ? (const char *)fixture.written.data : "";
}

static const struct log_ids task = {
    .peer = "e2", .job = 0x7f3a, .has_task = true, .stage = 2, .task = 17, .attempt = 1};

Test(log, line_has_time_level_and_ids)
{
    log_configure(&fixture.env, false, "e1");
    log_line(LOG_INFO, &task, "%d map outputs fetched", 12);
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z info executor=e1 peer=e2 "
                                "job=0000000000007f3a stage=2 task=17 attempt=1: "
                                "12 map outputs fetched\n");
    log_line(LOG_WARN, NULL, "plain");
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z warn executor=e1: plain\n");
    log_line(LOG_ERROR, &(struct log_ids){.executor = "other"}, "text");
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z error executor=other: text\n");
    log_configure(&fixture.env, false, NULL);
    log_line(LOG_INFO, NULL, "no ids");
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z info: no ids\n");
    cr_expect_eq(fixture.writes, 4, "one write per line");
}

Test(log, json_line_has_the_same_fields)
{
    log_configure(&fixture.env, true, "e1");
    log_line(LOG_INFO, &task, "a \"quoted\" one\n");
    cr_expect_str_eq(
        written(), "{\"time\":\"2026-11-21T07:00:00.123Z\",\"level\":\"info\",\"executor\":\"e1\","
                   "\"peer\":\"e2\",\"job\":\"0000000000007f3a\",\"stage\":2,"
                   "\"task\":17,\"attempt\":1,"
                   "\"message\":\"a \\\"quoted\\\" one\\n\"}\n");
    struct glint_error e = {.code = GLINT_OK};
    error_set(&e, GLINT_E_CONNECTION, "look there", "it broke");
    log_error(LOG_ERROR, NULL, &e);
    cr_expect_str_eq(written(), "{\"time\":\"2026-11-21T07:00:00.123Z\",\"level\":\"error\","
                                "\"executor\":\"e1\",\"code\":\"E0906\","
                                "\"message\":\"it broke (look there)\"}\n");
    mem_fail_at(1, true);
    log_line(LOG_INFO, NULL, "out of memory");
    mem_fail_at(0, false);
    cr_expect_str_eq(written(),
                     "{\"level\":\"error\",\"message\":\"a log line was lost: out of memory\"}\n");
}

Test(log, error_is_one_line)
{
    struct glint_error e = {.code = GLINT_OK};
    log_configure(&fixture.env, false, "e1");
    error_set(&e, GLINT_E_CONNECTION, "look there", "it broke");
    memcpy(e.effect, "so what", sizeof "so what");
    log_error(LOG_WARN, NULL, &e);
    cr_expect_str_eq(written(),
                     "2026-11-21T07:00:00.123Z warn executor=e1: E0906 it broke; so what "
                     "(look there)\n");
    e.effect[0] = e.hint[0] = '\0';
    log_error(LOG_WARN, NULL, &e);
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z warn executor=e1: E0906 it broke\n");
    memset(e.cause, 'c', sizeof e.cause - 1);
    memset(e.effect, 'e', sizeof e.effect - 1);
    memset(e.hint, 'h', sizeof e.hint - 1);
    log_error(LOG_WARN, NULL, &e);
    const char *line = written();
    cr_expect_eq(strcmp(line + strlen(line) - 3, "h)\n"), 0, "the longest error is complete");
}

Test(log, control_characters_are_replaced)
{
    log_configure(&fixture.env, false, "e1");
    log_line(LOG_INFO, NULL, "%s", "one\n2026-11-21T07:00:00.123Z info: forged\033[2J\xff");
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z info executor=e1: one "
                                "2026-11-21T07:00:00.123Z info: forged?[2J?\n");
}

Test(log, line_start_precedes_text_lines)
{
    log_configure(&fixture.env, false, NULL);
    log_set_line_prefix("\r\033[J");
    log_line(LOG_WARN, NULL, "after a bar");
    cr_expect_str_eq(written(), "\r\033[J2026-11-21T07:00:00.123Z warn: after a bar\n");
    cr_expect_str_eq(log_line_prefix(), "\r\033[J");
    log_set_line_prefix(NULL);
    cr_expect_str_eq(log_line_prefix(), "");
}

Test(log, long_line_is_truncated)
{
    char text[10000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int json = 0; json < 2; json++) {
        log_configure(&fixture.env, json, "e1");
        log_line(LOG_INFO, &(struct log_ids){.peer = text}, "%s", text);
        size_t size = strlen(written());
        cr_expect(size > 2000 && size < (json ? 20000 : 8300), "%zu", size);
        cr_expect_eq(fixture.written.data[size - 1], '\n');
    }
}

/* Around the length at which a line is truncated. */
Test(log, truncated_line_has_no_nul)
{
    char text[9000];
    log_configure(&fixture.env, false, "e1");
    for (size_t length = 3900; length < sizeof text; length++) {
        memset(text, 'x', length);
        text[length] = '\0';
        log_line(LOG_INFO, &(struct log_ids){.peer = text}, "text");
        fixture.now_ns += SECOND;
        cr_assert_null(memchr(fixture.written.data, '\0', fixture.written.size), "%zu", length);
        cr_assert_eq(fixture.written.data[fixture.written.size - 1], '\n');
        fixture.written.size = 0;
    }
}

static unsigned count_lines(const char *text)
{
    unsigned n = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++) n++;
    return n;
}

Test(log, repeated_lines_are_limited_and_counted)
{
    log_configure(&fixture.env, false, "e1");
    for (int i = 0; i < 1000; i++) log_line(LOG_WARN, NULL, "client number %d", i);
    cr_expect_eq(count_lines(written()), LOG_REPEATS_MAX);
    log_line(LOG_WARN, NULL, "another kind");
    log_line(LOG_INFO, NULL, "client number %d", 7); /* the level is part of the kind */
    cr_expect_eq(count_lines(written()), 2);
    fixture.now_ns += SECOND;
    log_line(LOG_INFO, NULL, "later");
    cr_expect_str_eq(
        written(), "2026-11-21T07:00:00.123Z warn executor=e1: 990 more lines like this in that "
                   "second: client number 999\n2026-11-21T07:00:00.123Z info executor=e1: later\n");
    log_line(LOG_WARN, NULL, "client number %d", 1);
    cr_expect_eq(count_lines(written()), 1, "each second starts a new count");
}

Test(log, file_size_is_limited)
{
    log_configure(&fixture.env, false, "e1");
    log_limit_bytes(1000);
    for (int i = 0; i < 100; i++) {
        fixture.now_ns += SECOND;
        log_line(LOG_INFO, NULL, "line %d", i);
    }
    cr_expect_geq(fixture.written.size, 1000);
    cr_expect_lt(fixture.written.size, 1100);
    log_limit_bytes(0);
    log_line(LOG_INFO, NULL, "without a limit");
    cr_expect_gt(fixture.written.size, 1000);
    cr_expect_not_null(strstr(written(), "without a limit"));
}

Test(log, errors_are_limited_per_code)
{
    log_configure(&fixture.env, false, "e1");
    for (int i = 0; i < 100; i++) {
        struct glint_error e = {.code = GLINT_OK};
        error_set(&e, i % 2 == 0 ? GLINT_E_AUTH : GLINT_E_PROTOCOL, NULL, "number %d", i);
        log_error(LOG_WARN, NULL, &e);
    }
    cr_expect_eq(count_lines(written()), 2 * LOG_REPEATS_MAX);
    log_flush_repeats();
    cr_expect_eq(count_lines(written()), 2, "the flush writes the pending counts");
    log_flush_repeats();
    cr_expect_eq(count_lines(written()), 0);
}

/* More kinds than the table has entries: every suppressed line is still counted. */
Test(log, suppressed_lines_of_many_kinds_are_counted)
{
    unsigned written_lines = 0, counted = 0;
    log_configure(&fixture.env, false, NULL);
    for (int i = 0; i < 20 * 200; i++) {
        char format[32];
        snprintf(format, sizeof format, "kind %d", i % 200);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
        log_line(LOG_INFO, NULL, format);
#pragma GCC diagnostic pop
    }
    log_flush_repeats();
    for (const char *at = written(), *next; *at != '\0'; at = next + 1) {
        unsigned more;
        next = strchr(at, '\n');
        if (sscanf(at, "%*s info: %u more lines", &more) == 1)
            counted += more;
        else
            written_lines++;
    }
    cr_expect_eq(written_lines + counted, 20 * 200);
}

Test(log, failed_write_to_stderr_is_ignored)
{
    static const int errors[] = {-EAGAIN, -EPIPE, -EBADF, -ENOSPC};
    log_configure(&fixture.env, false, "e1");
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        fixture.error = errors[i];
        log_line(LOG_INFO, NULL, "into nothing");
    }
    fixture.error = 0;
    cr_expect_eq(fixture.written.size, 0);
    cr_expect_eq(fixture.writes, 4);
}

static void *log_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < 500; i++) log_line(LOG_INFO, &task, "from a thread");
    return NULL;
}

Test(log, lines_of_threads_do_not_mix)
{
    pthread_t threads[4];
    log_configure(&fixture.env, false, "e1");
    for (int i = 0; i < 4; i++) cr_assert_eq(pthread_create(&threads[i], NULL, log_many, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    log_flush_repeats();
    const char *text = written();
    cr_expect_eq(count_lines(text), LOG_REPEATS_MAX + 1);
    cr_expect_not_null(strstr(text, "1990 more lines"));
}

Test(log, time_is_utc)
{
    static const struct {
        int64_t wall_ns;
        const char *text;
    } rows[] = {{0, "1970-01-01T00:00:00.000Z "},
                {INT64_C(951782399) * 1000000000 + 999999999, "2000-02-28T23:59:59.999Z "},
                {INT64_C(951782400) * 1000000000, "2000-02-29T00:00:00.000Z "},
                {INT64_C(4102444800) * 1000000000, "2100-01-01T00:00:00.000Z "}};
    log_configure(&fixture.env, false, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture.wall_ns = rows[i].wall_ns;
        log_line(LOG_INFO, NULL, "x");
        cr_expect_eq(strncmp(written(), rows[i].text, strlen(rows[i].text)), 0, "%s", rows[i].text);
    }
}

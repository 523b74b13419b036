/* Log lines over an env whose clock stands still until told to move, and whose standard error is
 * memory. */
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
    struct env env; /* first: the calls get it */
    uint64_t now_ns;
    int64_t wall_ns;
    struct buffer written;
    unsigned writes;
    int error; /* of every write */
} world;

static uint64_t now_ns(struct env *env)
{
    (void)env;
    return world.now_ns;
}

static int64_t wall_ns(struct env *env)
{
    (void)env;
    return world.wall_ns;
}

static int64_t write_some(struct env *env, int file, const void *data, size_t size)
{
    (void)env;
    cr_assert_eq(file, 2);
    world.writes++;
    if (world.error != 0) return world.error;
    cr_assert(buffer_append(&world.written, data, size));
    return (int64_t)size;
}

static int stat_open(struct env *env, int file, struct env_stat *out)
{
    (void)env;
    cr_assert_eq(file, 2);
    *out = (struct env_stat){.kind = ENV_FILE, .size = world.written.size};
    return 0;
}

static void begin(void)
{
    memset(&world, 0, sizeof world);
    world.env = (struct env){
        .now_ns = now_ns, .wall_ns = wall_ns, .write = write_some, .stat_open = stat_open};
    world.now_ns = 5 * SECOND;
    world.wall_ns = INT64_C(1795244400123456789); /* 2026-11-21T07:00:00.123456789Z */
}

static void end(void)
{
    buffer_fini(&world.written);
    log_start(NULL, false, NULL);
}

TestSuite(log, .init = begin, .fini = end);

/* What was written since the last call. */
static const char *written(void)
{
    cr_assert(buffer_append(&world.written, "", 1));
    world.written.size = 0;
    return world.written.data != NULL ? (const char *)world.written.data : "";
}

static const struct log_ids task = {
    .peer = "e2", .job = 0x7f3a, .has_task = true, .stage = 2, .task = 17, .attempt = 1};

Test(log, a_line_has_time_level_and_ids)
{
    log_start(&world.env, false, "e1");
    log_line(LOG_INFO, &task, "%d map outputs fetched", 12);
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z info executor=e1 peer=e2 "
                                "job=0000000000007f3a stage=2 task=17 attempt=1: "
                                "12 map outputs fetched\n");
    log_line(LOG_WARN, NULL, "plain");
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z warn executor=e1: plain\n");
    log_line(LOG_ERROR, &(struct log_ids){.executor = "other"}, "told");
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z error executor=other: told\n");
    log_start(&world.env, false, NULL);
    log_line(LOG_INFO, NULL, "nobody");
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z info: nobody\n");
    cr_expect_eq(world.writes, 4, "one write per line");
}

Test(log, json_has_the_same)
{
    log_start(&world.env, true, "e1");
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
    log_line(LOG_INFO, NULL, "no memory for this");
    mem_fail_at(0, false);
    cr_expect_str_eq(written(),
                     "{\"level\":\"error\",\"message\":\"a line was lost: no memory\"}\n");
}

Test(log, an_error_is_one_line)
{
    struct glint_error e = {.code = GLINT_OK};
    log_start(&world.env, false, "e1");
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
    cr_expect_eq(strcmp(line + strlen(line) - 3, "h)\n"), 0, "the longest error is whole");
}

Test(log, texts_of_peers_stay_on_their_line)
{
    log_start(&world.env, false, "e1");
    log_line(LOG_INFO, NULL, "%s", "one\n2026-11-21T07:00:00.123Z info: forged\033[2J\xff");
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z info executor=e1: one "
                                "2026-11-21T07:00:00.123Z info: forged?[2J?\n");
}

Test(log, a_long_line_is_cut)
{
    char text[10000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int json = 0; json < 2; json++) {
        log_start(&world.env, json, "e1");
        log_line(LOG_INFO, &(struct log_ids){.peer = text}, "%s", text);
        size_t size = strlen(written());
        cr_expect(size > 2000 && size < (json ? 20000 : 4200), "%zu", size);
        cr_expect_eq(world.written.data[size - 1], '\n');
    }
}

static unsigned lines(const char *text)
{
    unsigned n = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++) n++;
    return n;
}

Test(log, a_flood_is_counted)
{
    log_start(&world.env, false, "e1");
    for (int i = 0; i < 1000; i++) log_line(LOG_WARN, NULL, "stranger number %d", i);
    cr_expect_eq(lines(written()), LOG_REPEATS_MAX);
    log_line(LOG_WARN, NULL, "another kind");
    log_line(LOG_INFO, NULL, "stranger number %d", 7); /* another level is another kind */
    cr_expect_eq(lines(written()), 2);
    world.now_ns += SECOND;
    log_line(LOG_INFO, NULL, "later");
    cr_expect_str_eq(written(), "2026-11-21T07:00:00.123Z warn executor=e1: 990 more lines in that "
                                "second like: stranger number 999\n"
                                "2026-11-21T07:00:00.123Z info executor=e1: later\n");
    log_line(LOG_WARN, NULL, "stranger number %d", 1);
    cr_expect_eq(lines(written()), 1, "a new second, a new count");
}

Test(log, a_file_has_a_bound)
{
    log_start(&world.env, false, "e1");
    log_bound(1000);
    for (int i = 0; i < 100; i++) {
        world.now_ns += SECOND;
        log_line(LOG_INFO, NULL, "line %d", i);
    }
    cr_expect_geq(world.written.size, 1000);
    cr_expect_lt(world.written.size, 1100);
    log_bound(0);
    log_line(LOG_INFO, NULL, "without one");
    cr_expect_gt(world.written.size, 1000);
    cr_expect_not_null(strstr(written(), "without one"));
}

Test(log, errors_of_one_code_are_one_kind)
{
    log_start(&world.env, false, "e1");
    for (int i = 0; i < 100; i++) {
        struct glint_error e = {.code = GLINT_OK};
        error_set(&e, i % 2 == 0 ? GLINT_E_AUTH : GLINT_E_PROTOCOL, NULL, "number %d", i);
        log_error(LOG_WARN, NULL, &e);
    }
    cr_expect_eq(lines(written()), 2 * LOG_REPEATS_MAX);
    log_end();
    cr_expect_eq(lines(written()), 2, "what is due is written at the end");
    log_end();
    cr_expect_eq(lines(written()), 0);
}

/* More kinds than the table has places: no line is lost without being counted. */
Test(log, many_kinds)
{
    unsigned written_lines = 0, counted = 0;
    log_start(&world.env, false, NULL);
    for (int i = 0; i < 20 * 200; i++) {
        char format[32];
        snprintf(format, sizeof format, "kind %d", i % 200);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
        log_line(LOG_INFO, NULL, format);
#pragma GCC diagnostic pop
    }
    log_end();
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

Test(log, a_standard_error_that_fails_is_borne)
{
    static const int errors[] = {-EAGAIN, -EPIPE, -EBADF, -ENOSPC};
    log_start(&world.env, false, "e1");
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        world.error = errors[i];
        log_line(LOG_INFO, NULL, "into nothing");
    }
    world.error = 0;
    cr_expect_eq(world.written.size, 0);
    cr_expect_eq(world.writes, 4);
}

static void *log_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < 500; i++) log_line(LOG_INFO, &task, "from a thread");
    return NULL;
}

Test(log, threads_do_not_mix)
{
    pthread_t threads[4];
    log_start(&world.env, false, "e1");
    for (int i = 0; i < 4; i++) cr_assert_eq(pthread_create(&threads[i], NULL, log_many, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    log_end();
    const char *text = written();
    cr_expect_eq(lines(text), LOG_REPEATS_MAX + 1);
    cr_expect_not_null(strstr(text, "1990 more lines"));
}

Test(log, the_time_is_utc)
{
    static const struct {
        int64_t wall_ns;
        const char *text;
    } rows[] = {{0, "1970-01-01T00:00:00.000Z "},
                {INT64_C(951782399) * 1000000000 + 999999999, "2000-02-28T23:59:59.999Z "},
                {INT64_C(951782400) * 1000000000, "2000-02-29T00:00:00.000Z "},
                {INT64_C(4102444800) * 1000000000, "2100-01-01T00:00:00.000Z "}};
    log_start(&world.env, false, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world.wall_ns = rows[i].wall_ns;
        log_line(LOG_INFO, NULL, "x");
        cr_expect_eq(strncmp(written(), rows[i].text, strlen(rows[i].text)), 0, "%s", rows[i].text);
    }
}

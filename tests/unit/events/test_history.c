/* The reader of event logs, with logs from the real file, and with failing disks and memory. */
#include "engine/base/mem.h"
#include "engine/cli/cli_internal.h"
#include "engine/events/event_log.h"
#include "tests/support/memory_env.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 101 };

static char dir[64], path[128];

static void setup(void)
{
    snprintf(dir, sizeof dir, "/tmp/glint-test-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/events", dir);
}

static void teardown(void)
{
    cr_expect_eq(mem_live_blocks(), 0);
    cr_expect_eq(env_remove_tree(env_real(), ENV_CWD, dir, 0), 0);
}

TestSuite(history, .init = setup, .fini = teardown);

/* Writes an event with the error, and fields that are JSON already. */
static void add_event(struct event_log *log, const char *event, unsigned kind,
                      const struct glint_error *why, const char *format, ...)
{
    char fields[512];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(fields, sizeof fields, format, args);
    va_end(args);
    cr_assert(size > 0 && (size_t)size < sizeof fields);
    struct json *j = event_log_line_start(log, event, kind);
    json_error(j, "error", why);
    cr_assert(buffer_append(&j->out, fields, (uint64_t)size));
    event_log_line_end(log);
}

/* Task t takes t milliseconds; every tenth one fails first. */
static void write_log(void)
{
    static const char task[] = ",\"stage\":3,\"task\":%u,\"attempt\":0,\"executor\":%u,"
                               "\"speculative\":false,\"start_ms\":0,\"end_ms\":1000,"
                               "\"run_ms\":%u,\"outcome\":\"%s\",\"counters\":{}";
    struct glint_error error = {.code = GLINT_OK}, why = {.code = GLINT_OK};
    struct event_log_config config = {.env = env_real(), .path = path};
    struct event_log *log = event_log_open(&config, &error);
    cr_assert_not_null(log, "%s", error.cause);
    error_set(&why, GLINT_E_NO_MEMORY, NULL, "\x1b[31mred\n\xff");
    add_event(log, "job", EVENT_FOR_ALL, NULL,
              ",\"id\":\"1\",\"name\":\"job\",\"version\":null,\"build\":null,\"master\":null,"
              "\"arguments\":[],\"options\":{}");
    for (uint32_t stage = 0; stage < 20; stage++)
        add_event(log, "stage", EVENT_FOR_ALL, NULL,
                  ",\"stage\":%u,\"action\":0,\"name\":\"s\",\"tasks\":%d,\"parents\":[]", stage,
                  TASKS);
    for (uint32_t t = 0; t < TASKS; t++) {
        if (t % 10 == 0) add_event(log, "task", EVENT_FOR_ALL, &why, task, t, t % 7, t, "failed");
        add_event(log, "task", EVENT_FOR_ALL, NULL, task, t, t % 7, t, t == 50 ? "killed" : "done");
    }
    add_event(log, "job_end", EVENT_FOR_ALL | EVENT_LAST, &why, ",\"tasks\":%d", TASKS);
    event_log_close(log);
}

Test(history, stages_are_summarized_from_the_log)
{
    struct job_model m;
    struct glint_error error = {.code = GLINT_OK};
    uint64_t us[TASK_QUANTILES];
    write_log();
    cr_assert_eq(job_model_read(&m, env_real(), path, &error), 0, "%s", error.cause);
    cr_assert_eq(m.stage_count, 20);
    const struct job_stage *s = &m.stages[3];
    cr_expect(s->done == TASKS - 1 && s->failed == 11 && s->killed == 1);
    cr_assert(job_stage_quantiles(s, METRIC_RUN_US, us));
    cr_expect_eq(us[TASK_MIN], 0);
    cr_expect_eq(us[TASK_MEDIAN], 49000); /* without task 50 */
    cr_expect_eq(us[TASK_MAX], 100000);
    cr_expect_not(job_stage_quantiles(&m.stages[4], METRIC_RUN_US, us));
    cr_expect(m.end != NULL && !m.truncated_line && !m.size_limited);
    job_model_fini(&m);
}

/* Prints `m` as text or as JSON. Sets *size to the number of bytes. */
static char *print(const struct job_model *m, bool json, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    cr_assert_not_null(out);
    if (json)
        cr_assert(history_print_json(out, m));
    else
        history_print(out, m);
    fclose(out);
    return text;
}

Test(history, escape_sequences_are_not_printed)
{
    struct job_model m;
    struct glint_error error = {.code = GLINT_OK};
    size_t size;
    write_log();
    cr_assert_eq(job_model_read(&m, env_real(), path, &error), 0);
    for (int json = 0; json < 2; json++) {
        char *text = print(&m, json, &size);
        cr_expect_null(memchr(text, 0x1b, size));
        cr_expect_not_null(strstr(text, "[31mred"));
        free(text);
    }
    job_model_fini(&m);
}

/* Each allocation fails once: the result is the same, or NO_MEMORY and nothing is leaked. */
Test(history, out_of_memory_leaks_nothing)
{
    struct job_model m;
    write_log();
    int r = 1;
    for (int64_t n = 1; r != 0; n += 1 + n / 16) {
        struct glint_error error = {.code = GLINT_OK};
        mem_fail_at(n, false);
        r = job_model_read(&m, env_real(), path, &error);
        mem_fail_at(0, false);
        cr_assert(r == 0 || r == GLINT_E_NO_MEMORY, "%lld: %s", (long long)n, error.cause);
        job_model_fini(&m);
        cr_assert_eq(mem_live_blocks(), 0);
    }
}

Test(history, read_failure_is_an_error)
{
    static const char line[] = "{\"schema\":1,\"event\":\"x\",\"ms\":0,\"time\":\"\"}\n";
    for (uint64_t call = 1; call <= 3; call++) {
        struct memory_env env;
        struct job_model m;
        struct glint_error error = {.code = GLINT_OK};
        memory_env_init(&env, line, sizeof line - 1);
        env.fail_at = call;
        cr_expect_eq(job_model_read(&m, &env.env, "log", &error), (int)GLINT_E_INPUT_IO);
        job_model_fini(&m);
        cr_expect_eq(env.open_files, 0);
    }
}

/* Arbitrary bytes as an event log for the page: what glint history accepts, the page does, too,
 * with the same numbers; every part of the API is JSON, and the metrics are complete. */
#include "engine/events/history.h"
#include "engine/web/web_api.h"
#include "tests/support/memory_env.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int add_line(void *arg, json_t *o, struct glint_error *error)
{
    return job_model_add_event(arg, o, error);
}

static const char *no_query(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return NULL;
}

/* Frees the text. */
static void check_json(struct json *out)
{
    json_error_t error;
    if (out->failed) abort();
    json_t *o = json_loadb((const char *)out->out.data, out->out.size, 0, &error);
    /* Texts of a log that reach the answer have no NUL, which jansson would refuse. */
    if (o == NULL) abort();
    json_decref(o);
    json_fini(out);
}

static void check_answers(const struct job_model *m)
{
    static const char *const parts[] = {"jobs",      "stages",      "failures", "tasks",
                                        "executors", "environment", "filters",  "storage/rdd"};
    struct json out = {.failed = false};
    struct buffer text = {NULL, 0, 0};
    json_begin(&out, NULL, '{');
    web_api_put_application(&out, m, true);
    json_end(&out, '}');
    check_json(&out);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        out = (struct json){.failed = false};
        if (web_api_part(&out, m, parts[i], no_query, NULL) != 200) abort();
        check_json(&out);
    }
    if (!web_metrics(&text, m) || text.size < 6) abort();
    if (memcmp(text.data + text.size - 6, "# EOF\n", 6) != 0) abort();
    buffer_fini(&text);
}

static void check_number(const struct history_stage *s, const char *name, uint64_t shown)
{
    const json_int_t counted = json_integer_value(json_object_get(s->report, name));
    if (counted < 0 || (uint64_t)counted != shown) abort();
}

/* The totals of a log that reached its size limit are those of its last line. */
static void check_numbers(const struct job_model *m, const struct history *h)
{
    if (m->attempts_total != (uint64_t)h->attempts || m->stage_count != h->stage_count) abort();
    if (!h->size_limited && m->retries != (uint64_t)h->retries) abort();
    if (!h->size_limited && job_model_totals(m).tasks != (uint64_t)h->tasks) abort();
    for (uint32_t i = 0; i < m->stage_count; i++) {
        const struct job_stage *s = &m->stages[i];
        if (s->number != h->stages[i].number) abort();
        check_number(&h->stages[i], "done", s->done);
        check_number(&h->stages[i], "failed", s->failed);
        check_number(&h->stages[i], "killed", s->killed);
        check_number(&h->stages[i], "lost", s->lost);
        check_number(&h->stages[i], "retries", s->retries);
        check_number(&h->stages[i], "speculative", s->speculative);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_env env;
    struct glint_error error = {.code = GLINT_OK}, ignored = {.code = GLINT_OK};
    struct history h;
    struct job_model m;
    memory_env_init(&env, data, size);
    const bool accepted = history_read(&h, &env.env, "events", &ignored) == 0;
    history_lines_init();
    job_model_init(&m);
    const int r = history_read_lines(&env.env, "events", add_line, &m, &m.truncated_line, &error);
    if (r != (int)error.code || (accepted && r != 0)) abort();
    if (r == 0 && m.job != NULL) check_answers(&m);
    if (accepted) check_numbers(&m, &h);
    job_model_fini(&m);
    history_fini(&h);
    if (mem_live_blocks() != 0 || env.open_files != 0) abort();
    return 0;
}

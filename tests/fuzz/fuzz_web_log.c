/* Arbitrary bytes as an event log for the page: every part of the API is JSON, and the metrics are
 * complete. */
#include "engine/web/web_api.h"
#include "tests/support/memory_env.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
        if (web_api_put_resource(&out, m, parts[i], no_query, NULL) != 200) abort();
        check_json(&out);
    }
    if (!web_put_job_metrics(&text, m) || text.size < 6) abort();
    if (memcmp(text.data + text.size - 6, "# EOF\n", 6) != 0) abort();
    buffer_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_env env;
    struct glint_error error = {.code = GLINT_OK};
    struct job_model m;
    memory_env_init(&env, data, size);
    if (job_model_read(&m, &env.env, "events", &error) == 0) check_answers(&m);
    job_model_fini(&m);
    if (mem_live_blocks() != 0 || env.open_files != 0) abort();
    return 0;
}

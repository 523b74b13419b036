/* Arbitrary bytes as an event log: either rejected with a position, or a history whose numbers are
 * consistent and which can be printed as text and as JSON. */
#include "engine/cli/cli_internal.h"
#include "tests/support/memory_env.h"

#include "engine/base/mem.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_stage(const struct job_stage *s)
{
    uint64_t before = 0, us[TASK_QUANTILES];
    if (s->done != s->metrics[METRIC_RUN_US].size / sizeof(uint64_t)) abort();
    if (job_stage_quantiles(s, METRIC_RUN_US, us) != (s->done > 0)) abort();
    for (size_t i = 0; s->done > 0 && i < TASK_QUANTILES; i++) {
        if (us[i] < before) abort();
        before = us[i];
    }
}

/* The printed JSON must parse. */
static void check_json(const struct job_model *m)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) abort();
    bool printed = history_print_json(out, m);
    fclose(out);
    json_t *o = json_loadb(text, size, 0, NULL);
    if (!printed || !json_is_object(o)) abort();
    json_decref(o);
    free(text);
}

static void check(const struct job_model *m)
{
    static FILE *nowhere;
    if (nowhere == NULL) nowhere = fopen("/dev/null", "w");
    if (nowhere == NULL || m->job == NULL) abort();
    for (uint32_t i = 0; i < m->stage_count; i++) check_stage(&m->stages[i]);
    history_print(nowhere, m);
    check_json(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_env env;
    struct glint_error error = {.code = GLINT_OK};
    struct job_model m;
    memory_env_init(&env, data, size);
    int r = job_model_read(&m, &env.env, "events", &error);
    if (r != (int)error.code) abort();
    if (r == 0)
        check(&m);
    else if (r != GLINT_E_EVENT_LOG_INVALID || strncmp(error.cause, "events:", 7) != 0)
        abort();
    job_model_fini(&m);
    if (mem_live_blocks() != 0 || env.open_files != 0) abort();
    return 0;
}

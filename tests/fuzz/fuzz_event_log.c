/* Arbitrary bytes as an event log: either rejected with a position, or a history whose numbers are
 * consistent and which can be printed as text and as JSON. */
#include "engine/events/history.h"
#include "tests/support/memory_env.h"

#include "engine/base/mem.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static double number_of(const json_t *o, const char *name)
{
    return json_number_value(json_object_get(o, name));
}

static void check_stage(const struct history_stage *s)
{
    static const char *const quantiles[] = {"min_ms", "p25_ms", "median_ms",
                                            "p75_ms", "p95_ms", "max_ms"};
    double before = 0, done = number_of(s->report, "done");
    if (done != (double)(s->run_ms.size / sizeof(double))) abort();
    for (size_t i = 0; done > 0 && i < sizeof quantiles / sizeof quantiles[0]; i++) {
        if (json_object_get(s->report, quantiles[i]) == NULL) abort();
        double ms = number_of(s->report, quantiles[i]);
        if (!(ms >= before)) abort();
        before = ms;
    }
    if (!(number_of(s->report, "skew") >= 0)) abort();
}

/* The printed JSON must parse. */
static void check_json(const struct history *h)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) abort();
    bool printed = history_print_json(out, h);
    fclose(out);
    json_t *o = json_loadb(text, size, 0, NULL);
    if (!printed || !json_is_object(o)) abort();
    json_decref(o);
    free(text);
}

static void check(const struct history *h)
{
    static FILE *nowhere;
    if (nowhere == NULL) nowhere = fopen("/dev/null", "w");
    if (nowhere == NULL || h->job == NULL) abort();
    for (uint32_t i = 0; i < h->stage_count; i++) check_stage(&h->stages[i]);
    history_print(nowhere, h);
    check_json(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_env env;
    struct glint_error error = {.code = GLINT_OK};
    struct history h;
    memory_env_init(&env, data, size);
    int r = history_read(&h, &env.env, "events", &error);
    if (r != (int)error.code) abort();
    if (r == 0)
        check(&h);
    else if (r != GLINT_E_EVENT_LOG_INVALID || strncmp(error.cause, "events:", 7) != 0)
        abort();
    history_fini(&h);
    if (mem_live_blocks() != 0 || env.open_files != 0) abort();
    return 0;
}

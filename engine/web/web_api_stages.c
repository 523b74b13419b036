/* The stages of a job: counts of their attempts, and distributions over their tasks. */
#include "engine/web/web_api_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int compare_counts(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Minimum, median and maximum, by nearest rank as in glint history. */
static uint64_t rank_of(int which, uint64_t count)
{
    return which == 0 ? 0 : which == 1 ? (count + 1) / 2 - 1 : count - 1;
}

static void put_times(struct json *out, const char *name, const struct job_stage *s)
{
    double ms[RUN_MS_QUANTILES];
    for (int i = 0; i < RUN_MS_QUANTILES; i++) ms[i] = -1;
    job_stage_run_ms(s, ms);
    json_begin(out, name, '[');
    web_api_put_ms(out, NULL, ms[RUN_MS_MIN]);
    web_api_put_ms(out, NULL, ms[RUN_MS_MEDIAN]);
    web_api_put_ms(out, NULL, ms[RUN_MS_MAX]);
    json_end(out, ']');
}

/* Microseconds are written as milliseconds. */
static void put_count(struct json *out, const char *name, enum task_metric metric, uint64_t value)
{
    if (metric == METRIC_FETCH_WAIT_US)
        web_api_put_ms(out, name, (double)value / 1000);
    else
        json_u64(out, name, value);
}

/* Tasks without the counter have 0 of it; the stage has none if all tasks have none. */
static void put_metric(struct json *out, const char *name, const struct job_stage *s,
                       enum task_metric metric)
{
    const struct buffer *b = &s->metrics[metric];
    uint64_t *sorted = b->size > 0 ? mem_zalloc(s->done * sizeof *sorted) : NULL;
    if (sorted == NULL) return;
    assert(b->size <= s->done * sizeof *sorted);
    memcpy(sorted, b->data, b->size);
    qsort(sorted, s->done, sizeof *sorted, compare_counts);
    json_begin(out, name, '[');
    for (int i = 0; i < 3; i++) put_count(out, NULL, metric, sorted[rank_of(i, s->done)]);
    json_end(out, ']');
    mem_free(sorted);
}

static void put_distributions(struct json *out, const struct job_stage *s)
{
    json_begin(out, "taskMetricsDistributions", '{');
    json_begin(out, "quantiles", '[');
    for (int i = 0; i < 3; i++) json_f64(out, NULL, i / 2.0);
    json_end(out, ']');
    put_times(out, "executorRunTime", s);
    json_begin(out, "inputMetrics", '{');
    put_metric(out, "bytesRead", s, METRIC_BYTES_READ);
    put_metric(out, "recordsRead", s, METRIC_ROWS_READ);
    json_end(out, '}');
    json_begin(out, "outputMetrics", '{');
    put_metric(out, "bytesWritten", s, METRIC_BYTES_WRITTEN);
    put_metric(out, "recordsWritten", s, METRIC_ROWS_WRITTEN);
    json_end(out, '}');
    json_begin(out, "shuffleReadMetrics", '{');
    put_metric(out, "fetchWaitTime", s, METRIC_FETCH_WAIT_US);
    json_end(out, '}');
    json_begin(out, "shuffleWriteMetrics", '{');
    put_metric(out, "bytesWritten", s, METRIC_MAP_OUTPUT_BYTES);
    put_metric(out, "recordsWritten", s, METRIC_MAP_OUTPUT_RECORDS);
    json_end(out, '}');
    put_metric(out, "diskBytesSpilled", s, METRIC_SPILL_BYTES);
    json_end(out, '}');
}

static void put_stage(struct json *out, const struct job_model *m, const struct job_stage *s)
{
    /* One without an end has ended with the job. */
    const char *ended = web_api_status(s->end != NULL ? s->end : m->end);
    const bool done = strcmp(ended, "SUCCEEDED") == 0;
    json_begin(out, NULL, '{');
    json_u64(out, "stageId", s->number);
    web_api_put_field(out, "jobId", s->start, "action");
    web_api_put_field(out, "name", s->start, "name");
    json_cstring(out, "status",
                 !done              ? ended
                 : s->end != NULL   ? "COMPLETE"
                 : m->end != NULL   ? "FAILED"
                 : s->start != NULL ? "ACTIVE"
                                    : "PENDING");
    web_api_put_field(out, "parentIds", s->start, "parents");
    json_u64(out, "numTasks", s->tasks);
    json_u64(out, "numActiveTasks", job_model_running_in(m, s->number));
    json_u64(out, "numCompleteTasks", s->done);
    json_u64(out, "numCompletedIndices", job_stage_done_tasks(s));
    json_u64(out, "numFailedTasks", s->failed);
    json_u64(out, "numKilledTasks", s->killed);
    json_u64(out, "numLostTasks", s->lost);
    json_u64(out, "numSpeculativeTasks", s->speculative);
    json_u64(out, "numRetries", s->retries);
    web_api_put_ms(out, "submissionMs", s->start_ms);
    web_api_put_ms(out, "completionMs", s->end_ms);
    web_api_put_field(out, "error", s->end, "error");
    json_begin(out, "details", '[');
    size_t k;
    json_t *o;
    json_array_foreach(json_object_get(s->start, "operators"), k, o)
        web_api_put_value(out, NULL, o);
    json_end(out, ']');
    web_api_put_field(out, "numOperators", s->start, "operator_count");
    put_count(out, "shuffleFetchWaitTime", METRIC_FETCH_WAIT_US,
              (uint64_t)job_stage_counter(s, "fetch wait us"));
    json_begin(out, "counters", '{');
    for (uint32_t i = 0; i < s->counter_count; i++)
        json_i64(out, s->counters[i].name, s->counters[i].value);
    json_end(out, '}');
    put_distributions(out, s);
    json_end(out, '}');
}

void web_api_put_stages(struct json *out, const struct job_model *m)
{
    json_begin(out, NULL, '[');
    for (uint32_t i = 0; i < m->stage_count; i++) put_stage(out, m, &m->stages[i]);
    json_end(out, ']');
}

/* What is now: running attempts, the health of executors, the blocks of persisted RDDs. */
#include "engine/events/event_log_internal.h"

#include <assert.h>

#define RDD_BYTES_MAX (2 * NAME_BYTES_MAX * 6 + 256) /* of its JSON */
static_assert((EVENT_CACHED_RDDS_MAX + 1) * RDD_BYTES_MAX < EVENT_LOG_LINE_BYTES_MAX,
              "all RDDs that are shown fit in one line");

bool event_log_status_is_due(const struct event_log *log)
{
    return log != NULL && event_log_has_sink(log) &&
           log->env->now_ns(log->env) - log->status_ns >= EVENT_STATUS_NS;
}

void event_log_status(struct event_log *log, const struct event_running *running, uint32_t count,
                      const struct event_health *health, uint32_t executors)
{
    if (log == NULL || !event_log_has_sink(log) || !event_log_line_start(log, "status")) return;
    log->status_ns = log->env->now_ns(log->env);
    assert(count <= EVENT_RUNNING_MAX);
    json_begin(&log->line, "running", '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct event_running *e = &running[i];
        json_begin(&log->line, NULL, '{');
        json_u64(&log->line, "stage", e->stage);
        json_u64(&log->line, "task", e->task);
        json_u64(&log->line, "partition", e->partition);
        json_u64(&log->line, "attempt", e->attempt);
        json_u64(&log->line, "executor", e->executor);
        json_bool(&log->line, "speculative", e->speculative);
        json_f64(&log->line, "start_ms", event_log_ms_since_start(log, e->start_ns));
        json_end(&log->line, '}');
    }
    json_end(&log->line, ']');
    json_begin(&log->line, "executors", '[');
    for (uint32_t i = 0; i < executors; i++) {
        const struct event_health *e = &health[i];
        const uint64_t age_ns =
            log->status_ns > e->received_ns ? log->status_ns - e->received_ns : 0;
        json_begin(&log->line, NULL, '{');
        json_u64(&log->line, "busy", e->busy);
        if (e->known) {
            json_ms(&log->line, "age_ms", age_ns);
            json_u64(&log->line, "memory", e->memory_bytes);
            json_u64(&log->line, "memory_max", e->memory_max);
        }
        json_end(&log->line, '}');
    }
    json_end(&log->line, ']');
    event_log_line_to_sink(log);
}

static void put_cached_rdd(struct json *j, const struct event_cached_rdd *e)
{
    assert(e->blocks <= e->partitions);
    json_begin(j, NULL, '{');
    json_u64(j, "rdd", e->rdd);
    json_cstring(j, "name", e->name);
    json_cstring(j, "level", e->level);
    json_u64(j, "partitions", e->partitions);
    json_u64(j, "blocks", e->blocks);
    json_u64(j, "memory_bytes", e->memory_bytes);
    json_u64(j, "disk_bytes", e->disk_bytes);
    json_end(j, '}');
}

void event_log_storage(struct event_log *log, const struct event_storage *e)
{
    if (log == NULL || (e->sink_only && !event_log_has_sink(log)) ||
        !event_log_line_start(log, "storage"))
        return;
    assert(e->shown <= EVENT_CACHED_RDDS_MAX && e->shown <= e->count);
    json_begin(&log->line, "rdds", '[');
    for (uint32_t i = 0; i < e->shown; i++) put_cached_rdd(&log->line, &e->rdds[i]);
    json_end(&log->line, ']');
    json_u64(&log->line, "rdd_count", e->count);
    if (e->sink_only)
        event_log_line_to_sink(log);
    else
        event_log_line_end(log, false);
}

/* Progress of the running stages, for the display and `glint status`. Input bytes of a stage are
 * those of its files, or of the map outputs that it reads; both are known before it runs, except
 * for pipes. Only finished tasks count, since executors send counters with their results. */
#include "engine/driver/driver_internal.h"
#include "engine/net/message.h"

#include <assert.h>

/* Returns the bytes of a reduce partition in all map outputs of the stage's parents. */
static uint64_t shuffle_bytes(const struct action_run *a, const struct stage_run *stage,
                              uint32_t partition)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < stage->parent_count; i++) {
        const struct map_outputs *o = a->stages[stage->parents[i]].map_outputs;
        assert(o->sizes != NULL && partition < o->partitions);
        for (uint32_t map = 0; map < o->maps; map++)
            bytes += size_code_decode(o->sizes[(uint64_t)map * o->partitions + partition]);
    }
    return bytes;
}

/* True if task t of the stage reads partition t of each parent's map outputs, and their sizes are
 * known. Not for unions and coalesced partitions. */
static bool reads_sized_shuffles(const struct action_run *a, const struct stage_run *stage)
{
    bool reads = stage->parent_count > 0;
    for (uint32_t i = 0; i < stage->parent_count; i++) {
        const struct map_outputs *o = a->stages[stage->parents[i]].map_outputs;
        reads = reads && o->sizes != NULL && o->partitions == stage->tasks;
    }
    return reads;
}

void stage_progress_start(struct driver *d, uint32_t number)
{
    const struct action_run *a = d->action_run;
    struct stage_run *stage = &d->action_run->stages[number];
    const struct glint_rdd *top =
        stage->shuffle != NULL ? stage->shuffle->parents[0] : a->action->rdd;
    const bool chosen = stage->shuffle == NULL && a->action->partitions != NULL;
    stage->rows_read = stage->bytes_read = stage->bytes_total = 0;
    if (d->g->config.progress == NULL || chosen) return;
    if (stage->parent_count == 0) stage->bytes_total = top->input_bytes;
    if (!reads_sized_shuffles(a, stage)) return;
    for (uint32_t p = 0; p < stage->tasks; p++) stage->bytes_total += shuffle_bytes(a, stage, p);
}

void stage_progress_add_task(struct driver *d, uint32_t number, const struct message *done)
{
    const struct action_run *a = d->action_run;
    struct stage_run *stage = &d->action_run->stages[number];
    uint64_t rows = 0, bytes = 0;
    assert(done->type == MSG_DONE && done->task < stage->tasks);
    if (d->g->config.progress == NULL) return;
    job_metrics_task_input((struct glint_slice){done->counters.data, done->counters.size}, &rows,
                           &bytes);
    if (stage->parent_count > 0 && stage->bytes_total > 0)
        bytes = shuffle_bytes(a, stage, stage_run_partition(a, number, done->task));
    stage->rows_read += rows;
    stage->bytes_read += bytes;
}

static void report_stage_progress(struct driver *d, const struct progress *p)
{
    if (d->g->config.progress != NULL) d->g->config.progress(d->g->config.progress_arg, p);
    if (d->transport.progress != NULL) d->transport.progress(d->transport.arg, p);
}

void stage_progress_report(struct driver *d, uint32_t number)
{
    const struct action_run *a = d->action_run;
    const struct stage_run *stage = &a->stages[number];
    assert(number < a->stage_count);
    if (!stage->started)
        return; /* an earlier action has made its outputs: nothing to report_stage_progress */
    uint32_t rdds = 0;
    const struct cached_sums cached = cached_rdds_sum(d->cached, &rdds);
    report_stage_progress(d,
                          &(struct progress){.name = stage->name,
                                             .stage = stage->number,
                                             .tasks_done = sched_done_task_count(a->sched, number),
                                             .tasks = stage->tasks,
                                             .tasks_running = sched_busy_slots(a->sched),
                                             .job_stages = d->metrics.stages_started,
                                             .job_tasks = d->metrics.tasks,
                                             .job_retries = d->metrics.retries,
                                             .rows_read = stage->rows_read,
                                             .bytes_read = stage->bytes_read,
                                             .bytes_total = stage->bytes_total,
                                             .cached_rdds = rdds,
                                             .cached_blocks = cached.blocks,
                                             .cached_memory_bytes = cached.memory_bytes,
                                             .cached_disk_bytes = cached.disk_bytes,
                                             .elapsed_ns = d->env->now_ns(d->env) - stage->start_ns,
                                             .stage_ended = stage->finished});
}

/* `glint status` shows the last one that is reported, so later stages come last. */
void stage_progress_report_all(struct driver *d)
{
    const struct action_run *a = d->action_run;
    for (uint32_t i = 0; i < a->stage_count; i++)
        if (a->stages[i].started && !a->stages[i].finished) stage_progress_report(d, i);
}

void stage_progress_report_action_end(struct driver *d)
{
    report_stage_progress(d, &(struct progress){.action_ended = true});
}

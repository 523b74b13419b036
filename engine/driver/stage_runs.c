/* The stages of the running action: one for each shuffle that it descends from, then the action's
 * own. Shuffles whose map outputs are complete are included, because a lost executor takes its map
 * outputs with it, and their tasks must then run again. */
#include "engine/base/path.h"
#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"
#include "engine/input/input.h"
#include "engine/net/cluster.h"
#include "engine/plan/stage_plan.h"
#include "engine/transfer/message.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Progress of the running stages, for the display and `glint status`. Input bytes of a stage
 * are those of its files, or of the map outputs that it reads; both are known before it runs,
 * except for pipes. Only finished tasks count, since executors send counters with their results. */

/* Returns the bytes of a reduce partition in all map outputs of the stage's parents. */
static uint64_t shuffle_input_bytes(const struct action_run *a, const struct stage_run *stage,
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
static bool reads_shuffles_of_known_size(const struct action_run *a, const struct stage_run *stage)
{
    bool reads = stage->parent_count > 0;
    for (uint32_t i = 0; i < stage->parent_count; i++) {
        const struct map_outputs *o = a->stages[stage->parents[i]].map_outputs;
        reads = reads && o->sizes != NULL && o->partitions == stage->tasks;
    }
    return reads;
}

/* The stage starts: computes its input bytes. */
static void stage_progress_start(struct driver *d, uint32_t number)
{
    const struct action_run *a = d->action_run;
    struct stage_run *stage = &d->action_run->stages[number];
    const bool chosen = stage->shuffle == NULL && a->action->partitions != NULL;
    stage->rows_read = stage->bytes_read = stage->bytes_total = 0;
    if (d->g->config.progress == NULL || chosen) return;
    if (stage->parent_count == 0) stage->bytes_total = stage_top_rdd(a, number)->input_bytes;
    if (!reads_shuffles_of_known_size(a, stage)) return;
    for (uint32_t p = 0; p < stage->tasks; p++)
        stage->bytes_total += shuffle_input_bytes(a, stage, p);
}

/* The task's rows and bytes read; 0: what cannot be decoded. */
static void decode_task_input_size(struct glint_slice counters, uint64_t *out_rows,
                                   uint64_t *out_bytes)
{
    struct unpacker u = unpack_begin(counters);
    *out_rows = *out_bytes = 0;
    while (!u.failed && u.next < u.count) {
        struct counter_entry e;
        if (!counter_entry_unpack(&u, &e) || e.is_accumulator || e.value < 0) continue;
        const uint64_t value = (uint64_t)e.value;
        if (strcmp(e.name, task_counter_names[COUNT_ROWS_READ]) == 0) *out_rows = value;
        if (strcmp(e.name, task_counter_names[COUNT_BYTES_READ]) == 0) *out_bytes = value;
    }
}

void stage_progress_add_task(struct driver *d, uint32_t number, const struct message *done)
{
    const struct action_run *a = d->action_run;
    struct stage_run *stage = &d->action_run->stages[number];
    uint64_t rows = 0, bytes = 0;
    assert(done->type == MSG_DONE && done->task < stage->tasks);
    if (d->g->config.progress == NULL) return;
    decode_task_input_size(buffer_slice(&done->counters), &rows, &bytes);
    if (stage->parent_count > 0 && stage->bytes_total > 0)
        bytes = shuffle_input_bytes(a, stage, stage_run_partition(a, number, done->task));
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
    if (!stage->started) return; /* an earlier action has made its outputs: nothing to report */
    const struct cached_sums *cached = &d->cached.sums;
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
                                             .cached_rdds = d->cached.count,
                                             .cached_blocks = cached->blocks,
                                             .cached_memory_bytes = cached->memory_bytes,
                                             .cached_disk_bytes = cached->disk_bytes,
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

/* ---- Plans the stages of an action: which shuffles it needs and in which order they can run, and
 * the numbers and names of stages that users see. */

/* Collects each shuffle once; `all`: see plan_needed_shuffles. */
struct shuffle_list {
    struct glint_rdd **items;
    uint32_t count;
    uint64_t capacity;
    bool all;
};

static int add_needed_shuffle(void *arg, struct glint_rdd *shuffle)
{
    struct shuffle_list *list = arg;
    /* Not its parents either: they are visited from the list. */
    if ((shuffle->shuffled || shuffle->explained) && !list->all) return 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i] == shuffle) return 0;
    if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return error_no_memory(&shuffle->g->error);
    list->items[list->count++] = shuffle;
    return 0;
}

static int compare_rdd_ids(const void *a, const void *b)
{
    const struct glint_rdd *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

int plan_needed_shuffles(struct glint_rdd *rdd, bool all, struct glint_rdd ***out,
                         uint32_t *out_count)
{
    struct shuffle_list list = {NULL, 0, 0, all};
    /* Breadth first: the list grows while its elements are visited. */
    int r = rdd_visit_shuffle_inputs(rdd, add_needed_shuffle, &list);
    for (uint32_t i = 0; i < list.count && r == 0; i++)
        if (list.items[i]->parent_count > 0)
            r = rdd_visit_shuffle_inputs(list.items[i]->parents[0], add_needed_shuffle, &list);
    /* An RDD is created after its parents, so in order of ids parents are first. */
    if (list.count > 0) qsort(list.items, list.count, sizeof *list.items, compare_rdd_ids);
    for (uint32_t i = 0; i < list.count; i++) assert(rdd_is_shuffle(list.items[i]));
    *out = list.items;
    *out_count = list.count;
    return r;
}

/* The number of the stage that makes the map outputs of `shuffle`, assigned at the first call;
 * NULL: a new number, for an action's stage. */
static uint32_t plan_assign_stage_number(struct driver *d, struct glint_rdd *shuffle)
{
    if (shuffle == NULL) return d->stage_numbers_used++;
    /* 0 means not assigned, so the field is the number + 1. */
    if (shuffle->stage == 0) shuffle->stage = ++d->stage_numbers_used;
    return shuffle->stage - 1;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* "textFile..reduceByKey" */
static void plan_format_stage_name(const struct stage_plan *s, char *out, size_t capacity)
{
    size_t used = 0;
    const char *before = NULL; /* the two RDDs of one transformation have one name */
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct stage_node *n = &s->nodes[i];
        const bool end = i == 0 || i + 1 == s->node_count, repeated = is_same_text(n->name, before);
        const char *name = n->name != NULL ? n->name : n->op->name;
        before = n->name;
        if (!end && (n->name == NULL || repeated)) continue;
        if (!text_format(out + used, capacity - used, "%s%s", i > 0 ? ".." : "", name)) break;
        used += strlen(out + used);
    }
}

/* "words.split, words.add", in the order of the plan; as many as fit. */
static void plan_format_stage_functions(const struct stage_plan *s, char *out, size_t capacity)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < s->node_count; i++) {
        if (s->nodes[i].fn == NULL) continue;
        if (!text_format(out + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                         s->nodes[i].fn->name))
            break;
        used += strlen(out + used);
    }
    out[used] = '\0';
}

/* ---- stage runs */

uint32_t stage_run_partition(const struct action_run *a, uint32_t stage, uint32_t task)
{
    assert(stage < a->stage_count && task < a->stages[stage].tasks);
    bool chosen = a->stages[stage].shuffle == NULL && a->action->partitions != NULL;
    return chosen ? a->action->partitions[task] : task;
}

/* Its map outputs are complete, and what they were computed from is gone. */
static bool is_lineage_cut(const struct stage_run *stage)
{
    return stage->shuffle != NULL && stage->shuffle->parent_count == 0;
}

static int add_parent_stage(void *arg, struct glint_rdd *shuffle)
{
    struct action_run *a = ((void **)arg)[0];
    struct stage_run *stage = ((void **)arg)[1];
    for (uint32_t i = 0; i + 1 < a->stage_count; i++)
        if (a->stages[i].shuffle == shuffle) stage->parents[stage->parent_count++] = i;
    return 0;
}

/* A shuffle's stage: it runs the map tasks whose outputs are not available. */
static int init_shuffle_stage(struct driver *d, struct stage_run *stage, struct glint_rdd *shuffle)
{
    stage->shuffle = shuffle;
    stage->number = plan_assign_stage_number(d, shuffle);
    stage->tasks = rdd_map_count(shuffle);
    stage->map_outputs =
        map_outputs_get_or_create(&d->map_outputs, shuffle->id, stage->tasks, shuffle->partitions);
    if (stage->map_outputs == NULL) return error_no_memory(driver_error(d));
    for (uint32_t t = 0; t < stage->tasks; t++)
        stage->tasks_to_run += !stage->map_outputs->available[t];
    stage->is_first_run = !shuffle->shuffled;
    return 0;
}

static int init_result_stage(struct driver *d, struct stage_run *stage)
{
    struct action_run *a = d->action_run;
    uint32_t all = a->action->rdd->partitions;
    stage->tasks = stage->tasks_to_run =
        a->action->partitions != NULL ? a->action->partition_count : all;
    stage->number = plan_assign_stage_number(d, NULL);
    stage->is_first_run = true;
    a->results = mem_zalloc(sizeof *a->results * stage->tasks);
    return a->results != NULL ? 0 : error_no_memory(driver_error(d));
}

static int find_stage_parents(struct driver *d, uint32_t number)
{
    struct action_run *a = d->action_run;
    struct stage_run *stage = &a->stages[number];
    stage->parents = mem_alloc(sizeof *stage->parents * a->stage_count);
    if (stage->parents == NULL) return error_no_memory(driver_error(d));
    if (is_lineage_cut(stage)) return 0;
    void *arg[] = {a, stage};
    return rdd_visit_shuffle_inputs(stage_top_rdd(a, number), add_parent_stage, arg);
}

int stage_runs_build(struct driver *d)
{
    struct action_run *a = d->action_run;
    struct glint_rdd **shuffles = NULL;
    uint32_t count = 0;
    int r = plan_needed_shuffles(a->action->rdd, true, &shuffles, &count);
    if (r == 0) a->stages = mem_zalloc(sizeof *a->stages * (count + 1));
    if (r == 0 && a->stages == NULL) r = error_no_memory(driver_error(d));
    if (r == 0) a->stage_count = count + 1;
    for (uint32_t i = 0; i < count && r == 0; i++)
        r = init_shuffle_stage(d, &a->stages[i], shuffles[i]);
    mem_free(shuffles);
    if (r == 0) r = init_result_stage(d, &a->stages[count]);
    for (uint32_t i = 0; i <= count && r == 0; i++) r = find_stage_parents(d, i);
    if (r != 0) return r;
    assert(a->stages[count].shuffle == NULL); /* the action's own stage is the last */
    a->first_stage = d->next_stage;
    d->next_stage += a->stage_count;
    return 0;
}

void stage_runs_cut_lineage(struct action_run *a)
{
    /* Ancestors, which this may free, are before what descends from them. */
    for (uint32_t i = 0; a->stage_count > LINEAGE_STAGES_MAX && i + 1 < a->stage_count; i++)
        if (!is_lineage_cut(&a->stages[i]) && map_outputs_is_complete(a->stages[i].map_outputs))
            rdd_cut_lineage(a->stages[i].shuffle);
}

void stage_runs_fini(struct action_run *a)
{
    for (uint32_t i = 0; i < a->stage_count; i++) {
        mem_free(a->stages[i].parents);
        buffer_fini(&a->stages[i].plan);
        buffer_fini(&a->stages[i].operators);
    }
    for (uint32_t i = 0; a->results != NULL && i < a->stages[a->stage_count - 1].tasks; i++) {
        buffer_fini(&a->results[i].body);
        buffer_fini(&a->results[i].counters);
    }
    mem_free(a->results);
    mem_free(a->stages);
}

/* Returns false when out of memory. */
static bool format_operators(const struct driver *d, const struct stage_plan *plan,
                             struct stage_run *stage)
{
    bool kept = true;
    stage->operator_count = plan->node_count;
    for (uint32_t i = 0; i < plan->node_count && i < EVENT_OPERATORS_MAX && kept; i++) {
        struct plan_line line = {.used = 0};
        plan_step_format(d->g, &plan->nodes[i], i + 1 == plan->node_count, &line);
        kept = buffer_append(&stage->operators, line.text, line.used + 1);
    }
    return kept;
}

/* The caller frees `out`, also on error. */
static int create_stage_plan(struct driver *d, uint32_t number, struct stage_plan *out)
{
    struct action_run *a = d->action_run;
    const struct stage_run *stage = &a->stages[number];
    int r = stage_plan_create(out, stage->shuffle != NULL ? NULL : a->action, stage->shuffle);
    for (uint32_t i = 0; i < a->commit_count && stage->shuffle == NULL && r == 0; i++)
        r = stage_plan_add_output(out, a->commits[i]->attempts, driver_error(d));
    for (uint32_t i = 0; i < out->node_count && r == 0; i++)
        if (out->nodes[i].persist != 0 &&
            !cached_rdds_add(&d->cached, out->nodes[i].rdd, out->nodes[i].partitions))
            r = error_no_memory(driver_error(d));
    return r;
}

/* Encodes the body of the STAGE message once; each executor that needs it is sent a copy. */
static int encode_stage_plan(struct driver *d, uint32_t number)
{
    struct stage_run *stage = &d->action_run->stages[number];
    struct stage_plan plan;
    int r = create_stage_plan(d, number, &plan);
    stage->reads_blocks = plan.reads_blocks;
    if (r == 0) {
        plan_format_stage_name(&plan, stage->name, sizeof stage->name);
        plan_format_stage_functions(&plan, stage->functions, sizeof stage->functions);
        r = stage_plan_encode(&plan, &stage->plan, driver_error(d));
    }
    if (r == 0 && d->log != NULL && stage->is_first_run && !format_operators(d, &plan, stage))
        r = error_no_memory(driver_error(d));
    stage_plan_fini(&plan);
    return r;
}

int stage_runs_replan(struct driver *d)
{
    struct action_run *a = d->action_run;
    int r = 0;
    if (!a->blocks_lost) d->next_stage += a->stage_count; /* ids: see stage_message_id */
    a->blocks_lost = true;
    for (uint32_t i = 0; i < a->stage_count && r == 0; i++) {
        struct stage_run *stage = &a->stages[i];
        struct stage_plan plan;
        if (!stage->reads_blocks || stage->replanned) continue;
        r = create_stage_plan(d, i, &plan);
        assert(r != 0 || !plan.reads_blocks);
        buffer_fini(&stage->plan);
        if (r == 0) r = stage_plan_encode(&plan, &stage->plan, driver_error(d));
        stage_plan_fini(&plan);
        stage->replanned = true;
        for (uint32_t e = 0; e < d->executor_count; e++) d->executors[e].plan_sent[i] = false;
    }
    return r;
}

/* Lost executors are added too, so that numbers are the same in the driver and the scheduler. */
static bool add_executors_to_sched(struct driver *d)
{
    for (uint32_t e = 0; e < d->executor_count; e++) {
        const struct executor_state *m = &d->executors[e];
        if (!sched_add_executor(d->action_run->sched, m->node, m->slots,
                                sched_prefetch_limit(m->slots)))
            return false;
        if (m->lost) sched_on_executor_lost(d->action_run->sched, e, false, false);
        if (!m->lost && m->draining) sched_on_executor_draining(d->action_run->sched, e);
        if (!m->lost && m->suspect) sched_on_executor_suspect(d->action_run->sched, e, true);
    }
    return executor_states_start_action(d, d->action_run->stage_count);
}

/* Counts the stages that have nothing to run and whose outputs a stage with tasks to run reads, as
 * Spark's "skipped" stages. */
static void count_skipped_stages(struct driver *d)
{
    struct action_run *a = d->action_run;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        const struct stage_run *stage = &a->stages[i];
        for (uint32_t p = 0; stage->tasks_to_run > 0 && p < stage->parent_count; p++) {
            struct stage_run *parent = &a->stages[stage->parents[p]];
            if (parent->is_first_run || parent->tasks_to_run > 0 ||
                !sched_stage_is_needed(a->sched, i))
                continue;
            d->metrics.stages_skipped += !parent->skipped;
            parent->skipped = true;
        }
    }
}

/* The executor that has the cached block from which a task is computed; UINT32_MAX: none. */
static uint32_t find_executor_of_cached_block(const struct driver *d, uint32_t stage, uint32_t task)
{
    const struct action_run *a = d->action_run;
    return cached_rdds_preferred_executor(&d->cached, stage_top_rdd(a, stage),
                                          stage_run_partition(a, stage, task));
}

static void prefer_cached_blocks(struct driver *d)
{
    const struct action_run *a = d->action_run;
    for (uint32_t i = 0; d->cached.count > 0 && d->executor_count > 1 && i < a->stage_count; i++)
        for (uint32_t t = 0; t < a->stages[i].tasks; t++) {
            const uint32_t executor = find_executor_of_cached_block(d, i, t);
            if (executor != UINT32_MAX) sched_set_preferred_executor(a->sched, i, t, executor);
        }
}

int stage_runs_schedule(struct driver *d)
{
    struct action_run *a = d->action_run;
    int r = 0;
    const struct cluster *cluster = d->g->config.cluster;
    for (uint32_t i = 0; i < a->stage_count && r == 0; i++)
        if (!is_lineage_cut(&a->stages[i])) r = encode_stage_plan(d, i);
    if (r != 0) return r;
    a->sched = sched_create(cluster != NULL && cluster->speculate);
    bool ok = a->sched != NULL && add_executors_to_sched(d);
    for (uint32_t i = 0; ok && i < a->stage_count; i++) {
        struct stage_run *stage = &a->stages[i];
        ok = sched_add_stage(a->sched, stage->tasks, stage->parents, stage->parent_count);
        for (uint32_t t = 0; ok && stage->map_outputs != NULL && t < stage->tasks; t++) {
            struct map_output_location location = stage->map_outputs->locations[t];
            if (stage->map_outputs->available[t])
                sched_add_available_output(a->sched, i, t, location.executor, location.attempt);
        }
        /* An earlier action completed it: it does not finish, and is not reported, again. */
        stage->finished =
            ok && !stage->is_first_run && stage->tasks_to_run == 0 && stage->shuffle != NULL;
    }
    if (!ok) return error_no_memory(driver_error(d));
    prefer_cached_blocks(d);
    count_skipped_stages(d);
    return fetch_failures_on_action_start(d);
}

/* The stage `parent` is complete: tasks of stages that read only its shuffle prefer the executor
 * that has most of their partition. */
static int prefer_output_locations(struct driver *d, uint32_t parent)
{
    struct action_run *a = d->action_run;
    const struct map_outputs *o = a->stages[parent].map_outputs;
    uint64_t *scratch = mem_zalloc(sizeof *scratch * d->executor_count);
    if (scratch == NULL) return error_no_memory(driver_error(d));
    for (uint32_t i = parent + 1; i < a->stage_count; i++) {
        struct stage_run *stage = &a->stages[i];
        if (stage->parent_count != 1 || stage->parents[0] != parent) continue;
        for (uint32_t t = 0; t < stage->tasks; t++) {
            uint32_t partition = stage_run_partition(a, i, t), by, attempt;
            if (partition >= o->partitions ||
                sched_output_location(a->sched, i, t, &by, &attempt) ||
                find_executor_of_cached_block(d, i, t) != UINT32_MAX)
                continue;
            uint32_t best =
                map_outputs_preferred_executor(o, partition, d->executor_count, scratch);
            if (best != UINT32_MAX) sched_set_preferred_executor(a->sched, i, t, best);
        }
    }
    mem_free(scratch);
    return 0;
}

/* Half of them at a time, so that a stage costs the same however many there are. */
static void drop_oldest_stage_metrics(struct job_metrics *m)
{
    const uint32_t dropped = m->stage_count / 2, kept = m->stage_count - dropped;
    for (uint32_t i = 0; i < dropped; i++) mem_free((char *)m->stages[i].name);
    memmove(m->stages, m->stages + dropped, kept * sizeof *m->stages);
    m->stage_count = kept;
}

/* The stage started for the first time. A job that runs actions in a loop has stages without end:
 * the oldest ones are dropped. False when out of memory. Insertion sort: stages start nearly in the
 * order of their numbers. */
static bool add_stage_metrics(struct job_metrics *m, uint32_t number, const char *name,
                              uint32_t tasks)
{
    for (uint32_t i = m->stage_count; i-- > 0 && m->stages[i].number >= number;)
        if (m->stages[i].number == number) return true; /* it failed, and runs again */
    if (!array_reserve(&m->stages, &m->stage_capacity, m->stage_count + 1, sizeof *m->stages))
        return false;
    char *copy = mem_strdup(name);
    if (copy == NULL) return false;
    if (m->stage_count == STAGES_KEPT_MAX) drop_oldest_stage_metrics(m);
    m->stages_started++;
    uint32_t at = m->stage_count++;
    for (; at > 0 && m->stages[at - 1].number > number; at--) m->stages[at] = m->stages[at - 1];
    assert(name[0] != '\0' && (at == 0 || m->stages[at - 1].number < number));
    m->stages[at] = (struct glint_stage_time){.number = number, .name = copy, .tasks = tasks};
    m->tasks += tasks;
    return true;
}

/* From the end: the stage that finishes is among the last that started. */
static void set_stage_elapsed_time(struct job_metrics *m, uint32_t number, uint64_t elapsed_ns)
{
    for (uint32_t i = m->stage_count; i-- > 0;)
        if (m->stages[i].number == number) m->stages[i].elapsed_ns = elapsed_ns;
}

int stage_run_start(struct driver *d, uint32_t number)
{
    struct stage_run *stage = &d->action_run->stages[number];
    /* `finished` may be set: an earlier action completed it, and outputs were lost since. */
    assert(!stage->started);
    if (is_lineage_cut(stage))
        return error_set(driver_error(d), GLINT_E_SHUFFLE_CORRUPT, "check the disk; run it again",
                         "the map outputs of %s (RDD %u) are damaged, and its lineage was cut",
                         stage->shuffle->op->name, stage->shuffle->id);
    stage->started = true;
    stage->start_ns = d->env->now_ns(d->env);
    stage_progress_start(d, number);
    event_log_listener_on_stage_start(d, number);
    if (!stage->is_first_run ||
        add_stage_metrics(&d->metrics, stage->number, stage->name, stage->tasks))
        return 0;
    return error_no_memory(driver_error(d));
}

static int finish_stage_run(struct driver *d, uint32_t number)
{
    struct action_run *a = d->action_run;
    struct stage_run *stage = &a->stages[number];
    assert(!stage->finished && sched_stage_is_done(a->sched, number));
    /* A stage without tasks has not been started by send_task. */
    int r = !stage->started && stage->is_first_run ? stage_run_start(d, number) : 0;
    if (r != 0) return r;
    stage->finished = true;
    event_log_listener_on_stage_end(d, number);
    if (stage->is_first_run)
        set_stage_elapsed_time(&d->metrics, stage->number,
                               d->env->now_ns(d->env) - stage->start_ns);
    if (stage->shuffle == NULL) return 0;
    stage->shuffle->shuffled = true; /* later actions skip this stage, and read its outputs */
    return d->executor_count > 1 ? prefer_output_locations(d, number) : 0;
}

void stage_runs_record_unfinished(struct driver *d)
{
    const struct action_run *a = d->action_run;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        const struct stage_run *stage = &a->stages[i];
        if (!stage->started || stage->finished || !stage->is_first_run) continue;
        set_stage_elapsed_time(&d->metrics, stage->number,
                               d->env->now_ns(d->env) - stage->start_ns);
    }
}

int stage_runs_finish_done_stages(struct driver *d)
{
    struct action_run *a = d->action_run;
    /* A stage finishes once per action, also if it becomes incomplete and complete again. */
    for (uint32_t i = 0; i < a->stage_count; i++) {
        if (a->stages[i].finished || !sched_stage_is_done(a->sched, i)) continue;
        int r = finish_stage_run(d, i);
        if (r != 0) return r;
        stage_progress_report(d, i);
    }
    return 0;
}

/* ---- `glint explain`: each action shows its stages, numbered and named as in a run. Except on
 * side files it is not run, and the job gets an empty result. What the job then does may differ
 * from a real run, so the plan shows which stages depend on an empty result. */

static_assert(PLAN_NONE == STAGE_NO_PARENT, "the parents of a step are those of its node");

static void note_stage_plan(struct glint *g, const struct plan_stage *view, uint32_t partitions)
{
    struct plan_line l = {.used = 0};
    plan_line_add(&l, "stage %u %s: %u", view->number, view->name, view->tasks);
    if (view->tasks != partitions) plan_line_add(&l, " of %u", partitions);
    glint_note(g, "%s task%s, input %s", l.text, partitions == 1 ? "" : "s", view->input);
    for (uint32_t i = 0; i < view->step_count; i++) glint_note(g, "  %s", view->steps[i].text);
}

/* Sets step->reads to the stages that the node reads from, in memory of the stage's arena. False:
 * out of memory. */
static bool set_stages_read_by_step(struct stage_plan *s, const struct stage_node *n,
                                    const struct glint_rdd *rdd, bool root, struct plan_step *step)
{
    const bool shuffled = stage_node_is_shuffle(n) && !root && rdd->stage > 0;
    const bool unwritten = rdd != NULL && rdd->inputs != NULL && rdd->unsized;
    const uint32_t count = shuffled ? 1 : unwritten ? rdd->inputs->unwritten_count : 0;
    uint32_t *reads = arena_alloc(&s->memory, sizeof *reads * (count + 1));
    if (reads == NULL) return false;
    for (uint32_t i = 0; i < count; i++)
        reads[i] = shuffled ? rdd->stage - 1 : rdd->inputs->unwritten[i]->stage;
    step->reads = reads;
    step->read_count = count;
    return true;
}

/* Passes the stage to config.plan if it is set; else prints it as notes. */
static int show_stage_plan(struct glint *g, struct stage_plan *s, struct plan_stage *view,
                           uint32_t partitions)
{
    struct plan_step *steps = arena_alloc(&g->arena, sizeof *steps * s->node_count);
    bool fits = steps != NULL;
    for (uint32_t i = 0; fits && i < s->node_count; i++) {
        const struct stage_node *n = &s->nodes[i];
        const bool root = i + 1 == s->node_count;
        struct plan_line line = {.used = 0};
        plan_step_format(g, n, root, &line);
        steps[i] = (struct plan_step){.text = arena_strdup(&g->arena, line.text),
                                      .parents = {n->parents[0], n->parents[1]}};
        fits = steps[i].text != NULL &&
               set_stages_read_by_step(s, n, plan_find_rdd(g, n->rdd), root, &steps[i]);
    }
    if (!fits) return error_no_memory(&g->error);
    view->steps = steps;
    view->step_count = s->node_count;
    if (g->config.plan != NULL)
        g->config.plan(g->config.plan_arg, view);
    else
        note_stage_plan(g, view, partitions);
    return 0;
}

/* Shows the stage that makes the map outputs of `shuffle`; NULL: the action's own stage. */
static int explain_stage(const struct action *action, struct glint_rdd *shuffle, uint32_t number,
                         const char *heading, uint32_t after)
{
    struct glint *g = action->rdd->g;
    const struct glint_rdd *top = shuffle != NULL ? shuffle->parents[0] : action->rdd;
    const bool chosen = shuffle == NULL && action->partitions != NULL;
    char name[NAME_BYTES_MAX], input[TEXT_NUMBER_MAX] = "unknown";
    struct stage_plan s;
    if (!top->unsized) text_format_bytes(input, top->input_bytes);
    int r = stage_plan_create(&s, shuffle != NULL ? NULL : action, shuffle);
    if (r == 0) {
        plan_format_stage_name(&s, name, sizeof name);
        struct plan_stage view = {.number = number,
                                  .tasks = chosen ? action->partition_count : top->partitions,
                                  .name = arena_strdup(&g->arena, name),
                                  .input = arena_strdup(&g->arena, input),
                                  .action = shuffle == NULL ? heading : NULL,
                                  .after = after};
        r = view.name != NULL && view.input != NULL ? show_stage_plan(g, &s, &view, top->partitions)
                                                    : error_no_memory(&g->error);
    }
    stage_plan_fini(&s);
    return r;
}

static void append_action_heading(struct plan_line *l, const struct action *action, bool skipped)
{
    plan_line_add(l, "%s", action->op->name);
    for (uint32_t i = 0; i < action->output_count; i++)
        plan_line_add(l, "%s %s", i > 0 ? "," : "", action->outputs[i]);
    if (action->output_count == 0)
        plan_line_add(l, ", %s",
                      !skipped           ? "run: it reads only side files"
                      : action->internal ? "not run"
                                         : "not run: returns an empty result");
}

static void note_action_heading(struct glint *g, const char *heading)
{
    glint_note(g, "%s", heading);
    if (g->empty_results == 0) return;
    struct plan_line l = {.used = 0};
    plan_line_add_skipped(&l, "depends on", &g->empty);
    if (g->empty_results > 1)
        plan_line_add(&l, " and of %u earlier action%s", g->empty_results - 1,
                      g->empty_results == 2 ? "" : "s");
    glint_note(g, "%s", l.text);
}

int explain_start_action(struct driver *d, const struct action *action)
{
    struct glint *g = d->g;
    driver_check_interrupt_or_timeout(d);
    if (context_failed(g)) return g->error.code;
    /* A job that loops until a result satisfies it would never end: its results are all empty. */
    if (g->empty_results < EXPLAIN_ACTIONS_MAX || !rdd_is_explain_only(action->rdd)) return 0;
    return glint_abort(g, GLINT_E_PLAN_LIMIT, NULL,
                       "%u actions returned no result: the job may be looping until it gets one",
                       EXPLAIN_ACTIONS_MAX);
}

int explain_action(struct driver *d, const struct action *action, bool skipped)
{
    struct glint *g = d->g;
    struct glint_rdd **shuffles;
    uint32_t count;
    const uint32_t after = g->empty_results > 0 ? g->empty.stage : PLAN_NONE;
    struct plan_line heading = {.used = 0};
    append_action_heading(&heading, action, skipped);
    const char *shown = arena_strdup(&g->arena, heading.text);
    if (shown == NULL) return error_no_memory(&g->error);
    int r = plan_needed_shuffles(action->rdd, false, &shuffles, &count);
    if (r == 0 && g->config.plan == NULL) note_action_heading(g, shown);
    for (uint32_t i = 0; i < count && r == 0; i++) {
        r = explain_stage(action, shuffles[i], plan_assign_stage_number(d, shuffles[i]), NULL,
                          after);
        shuffles[i]->explained = true; /* a later action that reads it does not show it again */
    }
    mem_free(shuffles);
    /* An action that is run assigns the number of its own stage itself, so only predict it here. */
    const uint32_t number = skipped ? plan_assign_stage_number(d, NULL) : d->stage_numbers_used;
    if (r == 0) r = explain_stage(action, NULL, number, shown, after);
    if (r != 0 || !skipped) return r;
    g->skipped = (struct skipped_action){action->op, number};
    for (uint32_t i = 0; i < action->output_count && r == 0; i++) {
        const struct saved_output saved = {.path = path_from_file_url(action->outputs[i]),
                                           .stage = number,
                                           .parts = action->rdd->partitions};
        /* Later actions may read it: they get a source of unknown size. */
        r = context_add_saved_output(g, &saved);
    }
    if (r != 0) return r;
    /* Only a result that the job sees can change what it does next. */
    if (action->output_count > 0 || action->internal) return 0;
    g->empty = g->skipped;
    g->empty_results++;
    return 0;
}

/* True for errors that the job itself reports about its data: a consequence of the empty result. A
 * wrong command line, a missing file or a plan that the engine rejects are not. */
static bool is_error_of_empty_result(const struct glint *g)
{
    const int status = glint_code_exit_status(g->error.code);
    return g->aborted && g->error.code != GLINT_E_USAGE &&
           (status == 1 || status == 64 || status == 65 || status == 70);
}

void explain_finish_job(struct driver *d)
{
    struct glint *g = d->g;
    struct glint_error *e = &g->error;
    const uint32_t n = g->empty_results;
    if (n == 0) return;
    if (e->code == GLINT_OK) {
        glint_note(g, "%u action%s not run: what the job does with %s may differ from this plan", n,
                   n == 1 ? " was" : "s were", n == 1 ? "its result" : "their results");
    } else if (is_error_of_empty_result(g)) {
        glint_note(g, "the plan ends here: the job needs the result of %s (stage %u): %s",
                   g->empty.by->name, g->empty.stage, e->cause);
        *e = (struct glint_error){.code = GLINT_OK};
    } else {
        text_format(e->effect, sizeof e->effect,
                    "the job got an empty result of %s (stage %u), which explain did not run",
                    g->empty.by->name, g->empty.stage);
    }
}

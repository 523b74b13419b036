/* Outcomes of tasks: messages from executors, results in order of the partitions, and retries. */
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"
#include "engine/input/split.h"
#include "engine/records/pack.h"

#include <assert.h>
#include <string.h>

/* ---- Reachability. The pairs are the edges of a graph, and the executors at fault are a vertex
 * cover of it, found greedily: repeatedly the executor in most unexplained pairs, then the holders
 * of the pairs that remain. A job has few such pairs, so everything is recomputed after each
 * change. */

void reachability_fini(struct reachability *r)
{
    mem_free(r->executors);
    memset(r, 0, sizeof *r);
}

static bool is_pair_of_executors(const struct unreachable_pair *p, uint32_t a, uint32_t b)
{
    return (p->one == a && p->other == b) || (p->one == b && p->other == a);
}

static void mark_unreachable_pair_explained(struct reachability *r, struct unreachable_pair *p)
{
    p->explained = true;
    r->executors[p->one].unexplained--;
    r->executors[p->other].unexplained--;
}

static void mark_executor_at_fault(struct reachability *r, uint32_t executor)
{
    r->executors[executor].at_fault = true;
    for (uint32_t i = 0; i < r->count; i++) {
        struct unreachable_pair *p = &r->pairs[i];
        if (!p->explained && (p->one == executor || p->other == executor))
            mark_unreachable_pair_explained(r, p);
    }
    assert(r->executors[executor].unexplained == 0);
}

/* Returns the executor in most unexplained pairs; of several, the one with the lowest number. */
static uint32_t find_executor_most_unreachable(const struct reachability *r)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const uint32_t both[] = {r->pairs[i].one, r->pairs[i].other};
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t count = r->executors[both[k]].unexplained,
                     best = r->executors[most].unexplained;
            if (count > best || (count == best && both[k] < most)) most = both[k];
        }
    }
    return most;
}

static void update_executors_at_fault(struct reachability *r)
{
    if (r->executor_capacity == 0) return;
    memset(r->executors, 0, sizeof *r->executors * r->executor_capacity);
    for (uint32_t i = 0; i < r->count; i++) {
        r->pairs[i].explained = false;
        r->executors[r->pairs[i].one].unexplained++;
        r->executors[r->pairs[i].other].unexplained++;
    }
    for (;;) {
        uint32_t executor = find_executor_most_unreachable(r);
        if (r->executors[executor].unexplained < 2) break; /* a single pair may be either side */
        mark_executor_at_fault(r, executor);
    }
    for (uint32_t i = 0; i < r->count; i++)
        if (!r->pairs[i].explained && r->pairs[i].again)
            mark_executor_at_fault(r, r->pairs[i].holder);
}

static struct unreachable_pair *find_or_add_unreachable_pair(struct reachability *r,
                                                             uint32_t reader, uint32_t holder,
                                                             uint64_t now_ns)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (is_pair_of_executors(&r->pairs[i], reader, holder)) return &r->pairs[i];
    if (r->count == UNREACHABLE_PAIRS_MAX) return NULL;
    r->pairs[r->count] =
        (struct unreachable_pair){.one = reader, .other = holder, .first_ns = now_ns};
    return &r->pairs[r->count++];
}

enum reachability_update reachability_record_failure(struct reachability *r, uint32_t executors,
                                                     uint32_t reader, uint32_t holder,
                                                     uint64_t start_ns, uint64_t now_ns)
{
    assert(reader < executors && holder < executors && reader != holder);
    if (!array_reserve(&r->executors, &r->executor_capacity, executors, sizeof *r->executors))
        return REACHABILITY_FULL;
    struct unreachable_pair *p = find_or_add_unreachable_pair(r, reader, holder, now_ns);
    if (p == NULL) return REACHABILITY_FULL;
    /* Attempts that already ran at the first failure fail from the same outage. Only an attempt
     * that started later shows that the problem persists. */
    if (!p->again && start_ns > p->first_ns) {
        p->again = true;
        p->holder = holder; /* fixed now: a later failure in the other direction cannot change it */
    }
    update_executors_at_fault(r);
    return p->again ? REACHABILITY_REPEATED_FAILURE : REACHABILITY_FIRST_FAILURE;
}

void reachability_remove_executor(struct reachability *r, uint32_t executor)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->pairs[i].one != executor && r->pairs[i].other != executor)
            r->pairs[kept++] = r->pairs[i];
    r->count = kept;
    update_executors_at_fault(r);
}

void reachability_expire_before(struct reachability *r, uint64_t ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->pairs[i].first_ns >= ns) r->pairs[kept++] = r->pairs[i];
    r->count = kept;
    update_executors_at_fault(r);
}

bool reachability_is_at_fault(const struct reachability *r, uint32_t executor)
{
    return executor < r->executor_capacity && r->executors[executor].at_fault;
}

/* ---- Fetch failures: decides which map outputs are made again, and which executors are excluded.
 *
 * An output that is damaged or missing is made again. If its holder does not respond, either the
 * holder or the reader may be cut off from the others. So no output is given up at first: the task
 * is retried on a third executor, and its success or failure shows which one is at fault
 * (struct reachability). That one is then excluded: its attempts are killed, and its map outputs
 * are made again by others. */

/* Failures older than this are dropped when an action starts, since networks recover. Within an
 * action they are kept: a retry on an executor that is still at fault would cost an attempt. */
#define UNREACHABLE_EXPIRY_NS (60 * SECOND_NS)

/* The attempt's start time, or when it was queued, from the scheduler; 0: no such attempt. */
static uint64_t fetch_failures_attempt_start_ns(const struct driver *d, uint32_t executor,
                                                uint32_t stage, const struct message *m)
{
    struct task_attempt run;
    for (uint32_t at = 0; sched_each_attempt_on(d->action_run->sched, executor, &at, &run);)
        if (run.stage == stage && run.task == m->task && run.attempt == m->attempt)
            return run.start_ns;
    return 0;
}

/* ---- Outputs */

static void mark_output_lost(struct driver *d, uint32_t stage, uint32_t map)
{
    struct action_run *a = d->action_run;
    struct map_output_location location = a->stages[stage].map_outputs->locations[map];
    map_outputs_remove(a->stages[stage].map_outputs, map, location);
    sched_on_map_output_lost(a->sched, stage, map, location.executor, location.attempt);
}

/* Marks one map output lost. If the executor did not respond, or has lost one before, all outputs
 * of the shuffle on it: finding out one by one would cost a failed attempt each, and after
 * STAGE_ATTEMPTS_MAX of them in a row the stage fails. */
static void mark_outputs_lost(struct driver *d, uint32_t stage, const struct fetch_failure *f,
                              const struct glint_error *why)
{
    const struct map_outputs *o = d->action_run->stages[stage].map_outputs;
    bool all = f->unreachable || d->executors[f->executor].has_lost_outputs;
    d->executors[f->executor].has_lost_outputs = true;
    for (uint32_t map = 0; map < o->maps; map++) {
        struct map_output_location location = o->locations[map];
        /* A stale report: the output has been made again since. */
        if (map == f->map ? location.attempt != f->attempt : !all) continue;
        if (location.executor == f->executor && o->available[map]) mark_output_lost(d, stage, map);
    }
    results_retry_lost_map_outputs(d, why);
}

static void mark_shuffle_outputs_lost(struct driver *d, const struct fetch_failure *f,
                                      const struct glint_error *why)
{
    const struct action_run *a = d->action_run;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        const struct map_outputs *o = a->stages[i].map_outputs;
        if (o != NULL && o->shuffle == f->shuffle && f->map < o->maps)
            mark_outputs_lost(d, i, f, why);
    }
}

/* All map outputs of the running action on the executor. Returns their number. */
static uint32_t mark_executor_outputs_lost(struct driver *d, uint32_t executor,
                                           const struct glint_error *why)
{
    const struct action_run *a = d->action_run;
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        const struct map_outputs *o = a->stages[i].map_outputs;
        for (uint32_t map = 0; o != NULL && map < o->maps; map++) {
            if (!o->available[map] || o->locations[map].executor != executor) continue;
            mark_output_lost(d, i, map);
            count++;
        }
    }
    results_retry_lost_map_outputs(d, why);
    return count;
}

/* ---- Executors */

/* Kills the executor's attempts: they cannot fetch their input, or no other executor could fetch
 * their output. */
static int kill_attempts_on(struct driver *d, uint32_t executor)
{
    struct task_attempt run;
    int r = 0;
    for (uint32_t at = 0;
         r == 0 && sched_each_attempt_on(d->action_run->sched, executor, &at, &run);)
        if (!run.superseded) r = send_kill_task(d, &run, KILL_ALWAYS);
    return r;
}

static int exclude_executor(struct driver *d, uint32_t executor, const struct glint_error *why)
{
    struct executor_state *m = &d->executors[executor];
    uint32_t map_outputs = mark_executor_outputs_lost(d, executor, why);
    if (!m->exclusion_reported)
        glint_note(d->g,
                   "executor %s (%s) excluded: fetches between it and other executors fail "
                   "(last failure: %s); %u map output%s to recompute",
                   m->name, m->host, why->cause, map_outputs, map_outputs == 1 ? "" : "s");
    m->exclusion_reported = true;
    event_log_listener_on_executor_state(d, executor, EXECUTOR_STATE_EXCLUDED, why);
    int r = kill_attempts_on(d, executor);
    /* Attempts elsewhere would wait for the fetch timeout. */
    return r == 0 ? kill_readers_of_executor(d, executor) : r;
}

/* Excludes the executors that are at fault now, and readmits those that no longer are: a new
 * failure can shift the fault to another executor. `why`: the last failure. */
static int update_excluded_executors(struct driver *d, const struct glint_error *why)
{
    int r = 0;
    for (uint32_t e = 0; e < d->executor_count && r == 0; e++) {
        struct executor_state *m = &d->executors[e];
        bool now = !m->lost && reachability_is_at_fault(&d->reachability, e);
        if (now == m->excluded_unreachable) continue;
        m->excluded_unreachable = now;
        sched_set_executor_excluded(d->action_run->sched, e, now);
        if (now) r = exclude_executor(d, e, why);
    }
    return r;
}

/* The task's next attempt prefers an executor on a third node. Starting at the task's number
 * spreads the retries over all of them. False: no such executor. */
static bool prefer_executor_on_third_node(struct driver *d, uint32_t stage, uint32_t task,
                                          uint32_t reader, uint32_t holder)
{
    for (uint32_t i = 0; i < d->executor_count; i++) {
        uint32_t e = (task + i) % d->executor_count;
        const struct executor_state *m = &d->executors[e];
        if (m->lost || m->draining || m->suspect || m->excluded_unreachable) continue;
        if (m->node == d->executors[reader].node || m->node == d->executors[holder].node) continue;
        sched_set_preferred_executor(d->action_run->sched, stage, task, e);
        return true;
    }
    return false;
}

/* ---- Events */

static int on_executor_unreachable(struct driver *d, uint32_t reader, uint32_t stage, uint32_t task,
                                   const struct fetch_failure *f, const struct glint_error *why,
                                   uint64_t start_ns)
{
    enum reachability_update update = reachability_record_failure(
        &d->reachability, d->executor_count, reader, f->executor, start_ns, d->env->now_ns(d->env));
    int r = update_excluded_executors(d, why);
    if (r != 0 || d->executors[reader].excluded_unreachable ||
        d->executors[f->executor].excluded_unreachable)
        return r;
    /* Not decided yet. Without a third node, or without room to record the pair, it never would be:
     * then make the outputs again, so that the job can go on. */
    bool third = prefer_executor_on_third_node(d, stage, task, reader, f->executor);
    if (!third || update == REACHABILITY_FULL) mark_shuffle_outputs_lost(d, f, why);
    return 0;
}

/* A FAILED message of an attempt that could not fetch a map output. 0, or a code. */
static int fetch_failures_on_task_failed(struct driver *d, uint32_t executor, uint32_t stage,
                                         const struct message *m, uint64_t start_ns)
{
    struct fetch_failure f;
    struct glint_error ignored = {.code = GLINT_OK};
    if (fetch_failure_decode(buffer_slice(&m->body), &f, &ignored) != 0) return 0;
    /* A lost executor's outputs have been marked lost already. */
    if (f.executor >= d->executor_count || d->executors[f.executor].lost) return 0;
    if (f.unreachable && f.executor != executor)
        return on_executor_unreachable(d, executor, stage, m->task, &f, m->error, start_ns);
    mark_shuffle_outputs_lost(d, &f, m->error);
    return 0;
}

int fetch_failures_on_action_start(struct driver *d)
{
    struct glint_error why = {.code = GLINT_OK};
    uint64_t now = d->env->now_ns(d->env);
    reachability_expire_before(&d->reachability,
                               now > UNREACHABLE_EXPIRY_NS ? now - UNREACHABLE_EXPIRY_NS : 0);
    if (d->action_run->stage_count == 1) return 0; /* its tasks read no map outputs */
    error_set(&why, GLINT_E_FETCH_FAILED, NULL, "a fetch in the previous action");
    return update_excluded_executors(d, &why);
}

void fetch_failures_on_executor_lost(struct driver *d, uint32_t executor)
{
    const struct action_run *a = d->action_run;
    struct glint_error why = {.code = GLINT_OK};
    assert(d->executors[executor].lost);
    reachability_remove_executor(&d->reachability, executor);
    if (a == NULL || a->sched == NULL || a->over) return;
    error_set(&why, GLINT_E_FETCH_FAILED, NULL, "with executors other than %s, which is lost",
              d->executors[executor].name);
    update_excluded_executors(d, &why);
}

/* ---- results */

/* ---- Retries: counted where they are logged, so that the summary and the event log agree */

static void count_and_log_retry(struct driver *d, uint32_t stage, uint32_t task, uint32_t attempt,
                                uint32_t executor, const struct glint_error *why)
{
    d->metrics.retries++;
    event_log_listener_on_retry(d, stage, task, attempt, executor, why);
}

void results_retry_task(struct driver *d, const struct task_attempt *run,
                        const struct glint_error *why)
{
    const struct action_run *a = d->action_run;
    if (a->over || sched_status(a->sched) != SCHED_RUNNING) return;
    /* Not if another copy still runs, or the stage is not needed: no attempt replaces this one. */
    if (!sched_task_is_waiting(a->sched, run->stage, run->task)) return;
    count_and_log_retry(d, run->stage, run->task, run->attempt, run->executor, why);
}

void results_retry_lost_map_outputs(struct driver *d, const struct glint_error *why)
{
    const struct action_run *a = d->action_run;
    if (a->over || sched_status(a->sched) != SCHED_RUNNING) return;
    for (uint32_t i = 0; i + 1 < a->stage_count; i++) {
        struct map_outputs *o = a->stages[i].map_outputs;
        for (uint32_t map = 0; o->lost_count > 0 && map < o->maps; map++) {
            /* If its stage is not needed now, it stays lost; a later action may need it. */
            if (!o->lost[map] || !sched_task_is_waiting(a->sched, i, map)) continue;
            count_and_log_retry(d, i, map, o->locations[map].attempt, o->locations[map].executor,
                                why);
            map_outputs_clear_lost(o, map);
        }
    }
}

/* ---- Results */

/* Renames "part-00007.attempt-3" to "part-00007" in each output of the action, or adds the upload.
 * Only attempts whose result is consumed get here, one per partition, so a second attempt's file is
 * never published. An error ends the job, so no output is published if another one lacks a part. */
static int commit_task_outputs(struct driver *d, uint32_t partition, uint32_t executor,
                               struct glint_slice body)
{
    /* What follows is from save_results. */
    struct glint_slice name = body, rest = {NULL, 0};
    const uint8_t *nul = body.size > 0 ? memchr(body.data, 0, body.size) : NULL;
    if (nul != NULL) {
        name.size = (uint64_t)(nul - body.data);
        rest = (struct glint_slice){nul + 1, body.size - name.size - 1};
    }
    /* The name comes from the executor: accept nothing but a part of this partition. */
    char part[256], wanted[32];
    const bool fits = name.size > 0 && name.size < sizeof part;
    const uint8_t *cut =
        fits ? memmem(name.data, name.size, COMMIT_ATTEMPT_MARK, strlen(COMMIT_ATTEMPT_MARK))
             : NULL;
    if (cut == NULL ||
        !text_format(part, sizeof part, "%.*s", (int)(cut - name.data), (const char *)name.data) ||
        !text_format(wanted, sizeof wanted, "part-%05u", partition) ||
        strncmp(part, wanted, strlen(wanted)) != 0)
        return error_set(driver_error(d), GLINT_E_PROTOCOL, NULL,
                         "a task returned an invalid part file name");
    const struct action_run *a = d->action_run;
    struct unpacker uploads = unpack_begin(rest);
    int r = 0;
    for (uint32_t i = 0; i < a->commit_count && r == 0; i++)
        r = commit_task(a->commits[i], name, &uploads, part, d->executors[executor].name,
                        driver_error(d));
    return r;
}

/* The limit is per action, hence bad_rows_before. */
static int check_bad_rows_limit(struct driver *d)
{
    int64_t max = d->g->config.bad_rows_max;
    if (max < 0 || !d->g->config.skip_bad_rows) return 0;
    int64_t bad = counters_value(&d->metrics.counters, "bad rows") - d->action_run->bad_rows_before;
    if (bad <= max) return 0;
    return error_set(driver_error(d), GLINT_E_TOO_MANY_BAD_ROWS,
                     "raise --max-bad-rows, or check the input",
                     "%lld bad rows, --max-bad-rows is %lld", (long long)bad, (long long)max);
}

static int merge_task_counters(struct driver *d, uint32_t stage, uint32_t task,
                               const struct buffer *counters)
{
    const struct glint_slice entries = {counters->data, counters->size};
    int r = counters_add_task(&d->metrics.counters, entries, driver_error(d));
    if (r == 0) r = accumulators_add_task(&d->accumulators, d->g, stage, task, entries);
    return r == 0 ? check_bad_rows_limit(d) : r;
}

/* Consumes the next result in order. Its counters are added here and not when it arrives, so that
 * an action that ends early has the same counters in each run. An internal action (sampling)
 * reads input that is read again later, so its own stage adds nothing to the job's counters. */
static int consume_next_result(struct driver *d, uint32_t task)
{
    struct action_run *a = d->action_run;
    struct buffered_result *result = &a->results[task];
    assert(result->arrived && !a->over && a->on_result_code == 0);
    uint32_t partition = stage_run_partition(a, a->stage_count - 1, task);
    struct glint_slice body = buffer_slice(&result->body);
    assert(a->buffered_bytes >= body.size);
    a->buffered_bytes -= body.size;
    int r = a->action->internal
                ? 0
                : merge_task_counters(d, a->stage_count - 1, task, &result->counters);
    if (r == 0 && a->commit_count > 0)
        r = commit_task_outputs(d, partition, result->executor, body);
    if (r == 0 && a->action->on_result != NULL)
        r = a->on_result_code = a->action->on_result(a->action->arg, partition, body);
    buffer_fini(&result->body);
    buffer_fini(&result->counters);
    return r;
}

static int consume_results_in_order(struct driver *d)
{
    struct action_run *a = d->action_run;
    uint32_t tasks = a->stages[a->stage_count - 1].tasks;
    int r = 0;
    while (r == 0 && a->next_result < tasks && a->results[a->next_result].arrived)
        r = consume_next_result(d, a->next_result++);
    return r;
}

/* ---- Messages from executors */

/* A map output is available. One that is made again after a loss is not counted a second time. */
static int on_map_output_done(struct driver *d, uint32_t executor, uint32_t number,
                              struct message *m)
{
    struct map_outputs *o = d->action_run->stages[number].map_outputs;
    struct glint_slice sizes = buffer_slice(&m->body);
    map_outputs_add(o, m->task, (struct map_output_location){executor, m->attempt}, sizes);
    if (o->counted[m->task]) return 0;
    o->counted[m->task] = true;
    stage_progress_add_task(d, number, m);
    return merge_task_counters(d, number, m->task, &m->counters);
}

static int on_task_done(struct driver *d, uint32_t executor, uint32_t number, struct message *m)
{
    struct action_run *a = d->action_run;
    struct task_attempt other_copy;
    uint64_t now = d->env->now_ns(d->env);
    /* False: a stale message, or the result of a superseded copy. Ignored, since each task must
     * count once. */
    if (!sched_on_task_done(a->sched, executor, number, m->task, m->attempt, now) || a->over)
        return 0;
    /* A success can end the exclusion of its node. */
    if (d->executors[d->executors[executor].node].excluded_for_failures)
        executors_update_excluded(d, executor, driver_error(d));
    int r = sched_superseded_copy(a->sched, number, m->task, &other_copy)
                ? send_kill_task(d, &other_copy, KILL_ALWAYS)
                : 0;
    if (r != 0) return r;
    if (number + 1 != a->stage_count) return on_map_output_done(d, executor, number, m);
    stage_progress_add_task(d, number, m);
    a->results[m->task] = (struct buffered_result){m->body, m->counters, executor, true};
    m->body = m->counters = (struct buffer){NULL, 0, 0}; /* moved, not copied */
    /* The limit also bounds results that wait for an earlier partition. */
    a->buffered_bytes += a->results[m->task].body.size;
    uint64_t max = d->g->config.result_bytes_max;
    if (a->buffered_bytes > max)
        return error_set(driver_error(d), GLINT_E_RESULT_LIMIT,
                         "save the result as files instead of collecting it",
                         "the results of %s exceed %llu bytes", a->action->op->name,
                         (unsigned long long)max);
    return consume_results_in_order(d);
}

/* Formats the file and offset where a task starts to read. False: it does not read a file. */
static bool format_task_input(struct driver *d, uint32_t stage, uint32_t partition, char *out,
                              size_t capacity)
{
    struct glint_rdd *top = stage_top_rdd(d->action_run, stage);
    struct buffer splits = {NULL, 0, 0};
    struct arena arena = {.first = NULL};
    struct split split;
    struct glint_error ignored = {.code = GLINT_OK};
    if (rdd_encode_partition_splits(d->g, top, partition, &splits) != 0) return false;
    struct unpacker u = unpack_begin(buffer_slice(&splits));
    bool found = u.count > 0 && split_decode(unpack_bytes(&u), &arena, &split, &ignored) == 0 &&
                 text_format(out, capacity, "%s:%llu", split.pieces[0].path,
                             (unsigned long long)split.pieces[0].offset);
    arena_fini(&arena);
    buffer_fini(&splits);
    return found;
}

/* The executor died in each attempt of the task: its input may be the cause, so name it. */
static void describe_failed_task(struct driver *d, struct glint_error *e)
{
    struct action_run *a = d->action_run;
    uint32_t stage = 0, task = 0;
    char input[sizeof e->effect / 2], before[sizeof e->effect];
    if (e->code != GLINT_E_EXECUTOR_LOST || !sched_failed_task(a->sched, &stage, &task)) return;
    uint32_t partition = stage_run_partition(a, stage, task);
    bool reads = format_task_input(d, stage, partition, input, sizeof input);
    memcpy(before, e->effect, sizeof before);
    text_format(e->effect, sizeof e->effect,
                "%s; %u attempts of task %u of stage %u (%s) failed this way%s%s", before,
                TASK_ATTEMPTS_MAX, partition, a->stages[stage].number, a->stages[stage].name,
                reads ? "; its input starts at " : "", reads ? input : "");
}

int results_set_error_of_failed_sched(struct driver *d)
{
    struct action_run *a = d->action_run;
    struct glint_error *e = driver_error(d);
    enum sched_status status = sched_status(a->sched);
    if (status == SCHED_RUNNING || e->code != GLINT_OK) return e->code;
    assert(a->last_error.code != GLINT_OK); /* each failure that changes the status sets it */
    *e = a->last_error;
    if (status == SCHED_TASK_FAILED) describe_failed_task(d, e);
    if (status == SCHED_STAGE_FAILED) { /* the cause names the holder, the effect the reader */
        size_t used = strlen(e->effect);
        text_format(e->effect + used, sizeof e->effect - used,
                    "%sthe stage failed %u times in a row", used > 0 ? "; " : "",
                    STAGE_ATTEMPTS_MAX);
    }
    if (status == SCHED_TOO_MANY_LOSSES) e->code = GLINT_E_TOO_MANY_EXECUTOR_FAILURES;
    return e->code;
}

/* An INTERRUPTED task was killed by the driver, so it is not a failure. */
static enum sched_failure_kind sched_failure_kind_of(enum glint_code code)
{
    if (code == GLINT_E_FETCH_FAILED) return SCHED_FETCH_ERROR;
    if (code == GLINT_E_INTERRUPTED) return SCHED_KILLED;
    return error_is_retryable(code) ? SCHED_TASK_ERROR : SCHED_FATAL_ERROR;
}

/* One that cannot write is like any other whose tasks fail: others run them. */
static int on_executor_cannot_write(struct driver *d, uint32_t executor,
                                    const struct glint_error *why)
{
    char where[2 * NAME_BYTES_MAX];
    bool all = true;
    d->executors[executor].cannot_write = true;
    for (uint32_t e = 0; e < d->executor_count; e++)
        all = all && (d->executors[e].lost || d->executors[e].cannot_write);
    if (!all || d->action_run->over) return 0;
    executor_describe(d, executor, where, sizeof where);
    struct glint_error *error = driver_error(d);
    if (error->code != GLINT_OK) return error->code;
    *error = *why;
    text_format(error->effect, sizeof error->effect,
                "writing to the output failed%s, and on every other executor", where);
    return error->code;
}

/* An attempt whose plan reads blocks may have found one lost. Any other I/O error is found again,
 * and then counted, by the attempt that follows, whose plan reads none. */
static int on_task_failed(struct driver *d, uint32_t executor, uint32_t number,
                          const struct message *m)
{
    struct action_run *a = d->action_run;
    const bool lost = m->error->code == GLINT_E_SPILL_IO && a->stages[number].reads_blocks &&
                      m->stage == a->first_stage + number;
    enum sched_failure_kind why = lost ? SCHED_KILLED : sched_failure_kind_of(m->error->code);
    const struct task_attempt run = {executor, number, m->task, m->attempt, .start_ns = 0};
    /* Both are read before the scheduler handles the failure, which changes them. */
    bool counts = !a->over && sched_stage_is_needed(a->sched, number);
    uint64_t start_ns =
        why == SCHED_FETCH_ERROR ? fetch_failures_attempt_start_ns(d, executor, number, m) : 0;
    if (!sched_on_task_failed(a->sched, executor, number, m->task, m->attempt, why,
                              d->env->now_ns(d->env)))
        return 0;
    int r = why == SCHED_FETCH_ERROR
                ? fetch_failures_on_task_failed(d, executor, number, m, start_ns)
                : 0;
    if (r == 0 && lost && !a->over) r = stage_runs_replan(d);
    if (r != 0) return r;
    if (why == SCHED_TASK_ERROR) executors_update_excluded(d, executor, m->error);
    if (!counts) return 0; /* failures in a stage that is not needed must not end the action */
    if (why != SCHED_KILLED) results_retry_task(d, &run, m->error);
    char where[2 * NAME_BYTES_MAX];
    executor_describe(d, executor, where, sizeof where);
    a->last_error = *m->error;
    text_format(a->last_error.effect, sizeof a->last_error.effect,
                "task %u of stage %u (%s) failed%s%s", stage_run_partition(a, number, m->task),
                a->stages[number].number, a->stages[number].name, where,
                why == SCHED_TASK_ERROR ? " in all attempts" : "");
    return results_set_error_of_failed_sched(d);
}

/* If the executor is lost while it runs nothing, the report names this task. */
static void remember_last_finished_task(struct driver *d, uint32_t executor, uint32_t number,
                                        const struct message *m)
{
    if (m->type != MSG_DONE) return;
    struct executor_state *state = &d->executors[executor];
    state->has_done = true;
    state->done_partition = stage_run_partition(d->action_run, number, m->task);
    state->done_attempt = m->attempt;
}

/* Also of attempts that do not count: their executor has the blocks. */
static int update_cached_blocks(struct driver *d, uint32_t executor, const struct message *m)
{
    struct cached_block_state *blocks;
    uint32_t count;
    if (m->blocks.size == 0) return 0;
    int r = cached_blocks_decode(buffer_slice(&m->blocks), &blocks, &count, driver_error(d));
    for (uint32_t i = 0; r == 0 && i < count; i++)
        cached_rdds_update(&d->cached, executor, &blocks[i]);
    d->cached_changes += count;
    mem_free(blocks);
    return r;
}

void driver_on_message(struct driver *d, uint32_t executor, struct message *m)
{
    struct action_run *a = d->action_run;
    assert(executor < d->executor_count && !d->executors[executor].lost);
    /* Stage ids are unique in the job, so a message of an earlier action is out of range here. */
    uint32_t number = a != NULL ? m->stage - a->first_stage : 0;
    if (a != NULL && a->blocks_lost && number >= a->stage_count)
        number -= a->stage_count; /* of a second plan */
    if (a != NULL && a->sched != NULL && number < a->stage_count &&
        m->task < a->stages[number].tasks) {
        int r = update_cached_blocks(d, executor, m);
        event_log_listener_on_attempt_end(d, executor, number, m);
        remember_last_finished_task(d, executor, number, m);
        if (r == 0 && m->type == MSG_DONE) r = on_task_done(d, executor, number, m);
        if (r == 0 && m->type == MSG_FAILED && m->error != NULL)
            r = m->attempt == ATTEMPT_NONE ? on_executor_cannot_write(d, executor, m->error)
                                           : on_task_failed(d, executor, number, m);
        if (r != 0) { /* the action ends; run_tasks returns the context's error */
            a->over = true;
            sched_stop(a->sched);
        }
        stage_progress_report(d, number);
    }
    message_destroy(m);
}

#include "engine/driver/driver.h"

#include "engine/base/text.h"
#include "engine/driver/internal.h"

#include <assert.h>
#include <string.h>

#define PROGRESS_TICK_NS 200000000u

static struct glint_error *driver_error(struct driver *d)
{
    return &d->g->error;
}

static int send_all(struct driver *d, struct message *(*make)(struct driver *d, const void *what),
                    const void *what)
{
    for (uint32_t e = 0; e < d->executor_count; e++) {
        struct message *m = make(d, what);
        if (m == NULL) return error_no_memory(driver_error(d));
        int r = d->transport.send(d->transport.arg, e, m, driver_error(d));
        if (r != 0) return r;
    }
    return 0;
}

/* ---- What goes out before tasks: broadcasts, plans, map outputs */

static struct message *make_broadcast(struct driver *d, const void *what)
{
    (void)d;
    const struct glint_broadcast *b = what;
    struct message *m = message_create(MSG_BROADCAST);
    if (m == NULL) return NULL;
    m->id = b->id;
    m->body = (struct buffer){b->data, b->size, b->size};
    m->body_borrowed = true;
    return m;
}

static int send_broadcasts(struct driver *d)
{
    for (struct glint_broadcast *b = d->g->broadcasts; b != NULL; b = b->next) {
        if (b->sent) continue;
        int r = send_all(d, make_broadcast, b);
        if (r != 0) return r;
        b->sent = true;
    }
    return 0;
}

struct body {
    enum message_type type;
    uint32_t stage;
    uint64_t id;
    struct buffer bytes;
};

static struct message *make_body(struct driver *d, const void *what)
{
    (void)d;
    const struct body *b = what;
    struct message *m = message_create(b->type);
    if (m == NULL) return NULL;
    m->stage = b->stage;
    m->id = b->id;
    if (buffer_append(&m->body, b->bytes.data, b->bytes.size)) return m;
    message_destroy(m);
    return NULL;
}

static int send_stage(struct driver *d, uint32_t number)
{
    struct active *a = d->active;
    struct active_stage *stage = &a->stages[number];
    struct stage_plan plan;
    struct body body = {.type = MSG_STAGE, .stage = a->first_stage + number};
    int r = stage_from_plan(&plan, stage->wide != NULL ? NULL : a->action, stage->wide,
                            a->commit != NULL ? a->commit->hidden : NULL);
    if (r == 0) {
        plan_stage_name(&plan, stage->name, sizeof stage->name);
        r = stage_encode(&plan, &body.bytes, driver_error(d));
    }
    if (r == 0) r = send_all(d, make_body, &body);
    buffer_fini(&body.bytes);
    stage_fini(&plan);
    return r;
}

static int send_outputs(struct driver *d, uint32_t number)
{
    const struct active *a = d->active;
    const struct active_stage *stage = &a->stages[number];
    uint32_t *attempts = mem_alloc(sizeof *attempts * stage->tasks);
    if (attempts == NULL) return error_no_memory(driver_error(d));
    for (uint32_t t = 0; t < stage->tasks; t++) attempts[t] = sched_attempt(a->sched, number, t);
    struct body body = {.type = MSG_OUTPUTS, .id = stage->wide->id};
    int r = outputs_encode(attempts, stage->tasks, &body.bytes, driver_error(d));
    if (r == 0) r = send_all(d, make_body, &body);
    buffer_fini(&body.bytes);
    mem_free(attempts);
    return r;
}

/* ---- Tasks */

static uint32_t task_partition(const struct active *a, uint32_t stage, uint32_t task)
{
    bool chosen = a->stages[stage].wide == NULL && a->action->partitions != NULL;
    return chosen ? a->action->partitions[task] : task;
}

static int send_task(struct driver *d, const struct sched_run *run)
{
    struct active *a = d->active;
    struct active_stage *stage = &a->stages[run->stage];
    if (stage->begun_ns == 0) stage->begun_ns = d->env->now_ns(d->env);
    struct message *m = message_create(MSG_TASK);
    if (m == NULL) return error_no_memory(driver_error(d));
    m->stage = a->first_stage + run->stage;
    m->task = run->task;
    m->attempt = run->attempt;
    m->partition = task_partition(a, run->stage, run->task);
    struct glint_rdd *top = stage->wide != NULL ? stage->wide->parents[0] : a->action->rdd;
    int r = stage_splits(d->g, top, m->partition, &m->body);
    if (r != 0) {
        message_destroy(m);
        return r;
    }
    return d->transport.send(d->transport.arg, run->executor, m, driver_error(d));
}

static void report_progress(struct driver *d, uint32_t number)
{
    struct active *a = d->active;
    struct progress *p = &d->progress;
    if (d->g->config.progress == NULL || a->action->internal) return;
    p->action = a->action->op->name;
    p->stage = number;
    p->stages = a->stage_count;
    p->tasks = a->stages[number].tasks;
    p->retries = d->tally.retries + sched_retries(a->sched);
    p->tasks_running = sched_running(a->sched);
    p->bytes_read = (uint64_t)tally_value(&d->tally, "bytes read");
    p->elapsed_ns = d->env->now_ns(d->env) - a->stages[number].begun_ns;
    p->stage_ended = a->stages[number].ended;
    p->action_ended = p->stage_ended && number + 1 == a->stage_count;
    d->g->config.progress(d->g->config.progress_arg, p);
}

static int dispatch(struct driver *d)
{
    struct sched_run run;
    while (sched_next(d->active->sched, &run)) {
        int r = send_task(d, &run);
        if (r == 0) continue;
        sched_on_failed(d->active->sched, run.executor, run.stage, run.task, run.attempt, false);
        return r;
    }
    return 0;
}

/* ---- Results, in order */

/* "part-00007.attempt-3" is kept as "part-00007". */
static int keep_part(struct driver *d, uint32_t partition, struct glint_slice name)
{
    char part[256], wanted[32];
    const uint8_t *cut = name.size < sizeof part ? memmem(name.data, name.size, ".attempt-", 9) : NULL;
    if (cut == NULL || !text_format(part, sizeof part, "%.*s", (int)(cut - name.data),
                                    (const char *)name.data) ||
        !text_format(wanted, sizeof wanted, "part-%05u", partition) ||
        strncmp(part, wanted, strlen(wanted)) != 0)
        return error_set(driver_error(d), GLINT_E_PROTOCOL, NULL, "a task named a wrong part");
    return commit_keep(d->active->commit, name, part, driver_error(d));
}

static int hand_on(struct driver *d)
{
    struct active *a = d->active;
    uint32_t tasks = a->stages[a->stage_count - 1].tasks;
    while (a->next_result < tasks && a->arrived[a->next_result]) {
        uint32_t i = a->next_result++;
        uint32_t partition = task_partition(a, a->stage_count - 1, i);
        struct glint_slice result = {a->results[i].data, a->results[i].size};
        a->held_bytes -= result.size;
        int r = 0;
        if (a->commit != NULL) r = keep_part(d, partition, result);
        if (r == 0 && a->action->on_result != NULL) {
            a->answer = a->action->on_result(a->action->arg, partition, result);
            r = a->answer;
        }
        buffer_fini(&a->results[i]);
        if (r != 0) return r;
    }
    return 0;
}

static int check_bad_rows(struct driver *d)
{
    int64_t max = d->g->config.bad_rows_max;
    if (max < 0 || !d->g->config.skip_bad_rows) return 0;
    int64_t bad = tally_sum(&d->tally, "bad rows") - d->active->bad_rows_before;
    if (bad <= max) return 0;
    return error_set(driver_error(d), GLINT_E_TOO_MANY_BAD_ROWS,
                     "look at the input, or raise --max-bad-rows",
                     "%lld bad rows, --max-bad-rows is %lld", (long long)bad, (long long)max);
}

static int stage_end(struct driver *d, uint32_t number)
{
    struct active *a = d->active;
    struct active_stage *stage = &a->stages[number];
    stage->ended = true;
    uint64_t now = d->env->now_ns(d->env);
    if (!a->action->internal &&
        !tally_stage(&d->tally, stage->name, stage->tasks,
                     stage->begun_ns ? now - stage->begun_ns : 0))
        return error_no_memory(driver_error(d));
    if (stage->wide == NULL) return 0;
    int r = send_outputs(d, number);
    if (r == 0) stage->wide->shuffled = true;
    return r;
}

/* Stages whose last task is done; also those that never had one. */
static int end_stages(struct driver *d)
{
    struct active *a = d->active;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        if (a->stages[i].ended || !sched_stage_done(a->sched, i)) continue;
        int r = stage_end(d, i);
        if (r != 0) return r;
        report_progress(d, i);
    }
    return 0;
}

/* ---- Messages from executors */

static int on_done(struct driver *d, uint32_t executor, uint32_t number, struct message *m)
{
    struct active *a = d->active;
    if (!sched_on_done(a->sched, executor, number, m->task, m->attempt)) return 0;
    if (!a->action->internal) {
        int r = tally_counters(&d->tally, (struct glint_slice){m->counters.data, m->counters.size},
                               driver_error(d));
        if (r == 0) r = check_bad_rows(d);
        if (r != 0) return r;
    }
    d->progress.tasks_done = number == d->progress.stage ? d->progress.tasks_done + 1 : 1;
    d->progress.stage = number;
    if (number + 1 != a->stage_count) return 0;
    a->results[m->task] = m->body;
    m->body = (struct buffer){NULL, 0, 0};
    a->arrived[m->task] = true;
    a->held_bytes += a->results[m->task].size;
    if (a->held_bytes > RESULT_BYTES_MAX)
        return error_set(driver_error(d), GLINT_E_RESULT_LIMIT,
                         "save the result as files instead of collecting it",
                         "results of %s take more than %llu bytes", a->action->op->name,
                         (unsigned long long)RESULT_BYTES_MAX);
    return hand_on(d);
}

static int on_failed(struct driver *d, uint32_t executor, uint32_t number, const struct message *m)
{
    struct active *a = d->active;
    bool again = error_may_retry(m->error->code);
    if (!sched_on_failed(a->sched, executor, number, m->task, m->attempt, again)) return 0;
    if (!sched_stage_failed(a->sched, number)) return 0;
    struct glint_error *e = driver_error(d);
    if (e->code == GLINT_OK) {
        *e = *m->error;
        text_format(e->effect, sizeof e->effect, "task %u of stage %u (%s) failed%s",
                    task_partition(a, number, m->task), number, a->stages[number].name,
                    again ? " in all attempts" : "");
    }
    return e->code;
}

void driver_on_message(struct driver *d, uint32_t executor, struct message *m)
{
    struct active *a = d->active;
    uint32_t number = a != NULL ? m->stage - a->first_stage : 0;
    if (a != NULL && number < a->stage_count && m->task < a->stages[number].tasks) {
        int r = m->type == MSG_DONE ? on_done(d, executor, number, m)
                : m->type == MSG_FAILED && m->error != NULL ? on_failed(d, executor, number, m)
                                                            : 0;
        if (r != 0) sched_stop(a->sched);
        report_progress(d, number);
    }
    message_destroy(m);
}

/* ---- The action */

static int build_stages(struct driver *d)
{
    struct active *a = d->active;
    struct glint_rdd **wides = NULL;
    uint32_t count = 0;
    int r = plan_missing_shuffles(a->action->rdd, &wides, &count);
    if (r == 0) a->stages = mem_zalloc(sizeof *a->stages * (count + 1));
    if (r == 0 && a->stages == NULL) r = error_no_memory(driver_error(d));
    for (uint32_t i = 0; i < count && r == 0; i++) {
        a->stages[i].wide = wides[i];
        a->stages[i].tasks = wides[i]->parents[0]->partitions;
    }
    mem_free(wides);
    if (r != 0) return r;
    a->stage_count = count + 1;
    uint32_t all = a->action->rdd->partitions;
    uint32_t tasks = a->action->partitions != NULL ? a->action->partition_count : all;
    a->stages[count].tasks = tasks;
    a->results = mem_zalloc(sizeof *a->results * tasks);
    a->arrived = mem_zalloc(sizeof *a->arrived * tasks);
    if (a->results == NULL || a->arrived == NULL) return error_no_memory(driver_error(d));
    a->first_stage = d->next_stage;
    d->next_stage += a->stage_count;
    return 0;
}

struct parents {
    struct active *a;
    uint32_t *items, count;
};

static int add_parent(void *arg, struct glint_rdd *wide)
{
    struct parents *p = arg;
    for (uint32_t i = 0; i + 1 < p->a->stage_count; i++)
        if (p->a->stages[i].wide == wide) p->items[p->count++] = i;
    return 0;
}

static int schedule_stages(struct driver *d)
{
    struct active *a = d->active;
    a->sched = sched_create();
    bool ok = a->sched != NULL;
    for (uint32_t e = 0; ok && e < d->executor_count; e++)
        ok = sched_add_executor(a->sched, d->executor_slots[e]);
    struct parents p = {a, mem_alloc(sizeof(uint32_t) * a->stage_count), 0};
    ok = ok && p.items != NULL;
    for (uint32_t i = 0; ok && i < a->stage_count; i++) {
        struct glint_rdd *wide = a->stages[i].wide;
        p.count = 0;
        ok = stage_shuffles(wide != NULL ? wide->parents[0] : a->action->rdd, add_parent, &p) == 0 &&
             sched_add_stage(a->sched, a->stages[i].tasks, p.items, p.count);
    }
    mem_free(p.items);
    return ok ? 0 : error_no_memory(driver_error(d));
}

static void check_clock(struct driver *d)
{
    int code = atomic_load(&d->interrupt);
    if (code != 0) error_set(driver_error(d), (enum glint_code)code, NULL, "the job was cancelled");
    if (d->deadline_ns != 0 && d->env->now_ns(d->env) >= d->deadline_ns)
        error_set(driver_error(d), GLINT_E_TIMEOUT, "raise --timeout",
                  "the job did not end within its --timeout");
}

static bool active_done(const struct active *a)
{
    return a->stages[a->stage_count - 1].ended;
}

/* Tells running tasks to end, and waits for them: their memory is ours until they did. */
static void drain(struct driver *d)
{
    struct active *a = d->active;
    struct body stop = {.type = MSG_CANCEL, .id = 1}, go = {.type = MSG_CANCEL, .id = 0};
    if (sched_running(a->sched) == 0) return;
    struct glint_error ignored = *driver_error(d); /* the first error stays */
    send_all(d, make_body, &stop);
    sched_stop(a->sched);
    while (sched_running(a->sched) > 0)
        d->transport.wait(d->transport.arg, d, d->env->now_ns(d->env) + PROGRESS_TICK_NS);
    send_all(d, make_body, &go);
    if (ignored.code != GLINT_OK) *driver_error(d) = ignored;
}

static int run_tasks(struct driver *d)
{
    struct active *a = d->active;
    int r = 0;
    for (;;) {
        check_clock(d);
        if (r == 0) r = driver_error(d)->code;
        if (r == 0) r = a->answer;
        if (r == 0) r = end_stages(d);
        if (r == 0 && !active_done(a)) r = dispatch(d);
        if (r != 0 || active_done(a)) break;
        uint64_t until = d->env->now_ns(d->env) + PROGRESS_TICK_NS;
        if (d->deadline_ns != 0 && d->deadline_ns < until) until = d->deadline_ns;
        d->transport.wait(d->transport.arg, d, until);
    }
    drain(d);
    return r;
}

static int open_output(struct driver *d, struct active *a)
{
    if (a->action->output == NULL) return 0;
    uint64_t size = sizeof *d->commits * d->commit_count;
    struct commit **grown = mem_grow(d->commits, size, size + sizeof *grown);
    if (grown == NULL) return error_no_memory(driver_error(d));
    d->commits = grown;
    a->commit = mem_zalloc(sizeof *a->commit);
    if (a->commit == NULL) return error_no_memory(driver_error(d));
    d->commits[d->commit_count++] = a->commit;
    return commit_open(a->commit, d->env, a->action->output, d->g->config.overwrite,
                       d->job_id + d->commit_count, driver_error(d));
}

static int run_active(struct driver *d)
{
    struct active *a = d->active;
    int r = open_output(d, a);
    if (r == 0) r = build_stages(d);
    if (r == 0) r = send_broadcasts(d);
    for (uint32_t i = 0; i < a->stage_count && r == 0; i++) r = send_stage(d, i);
    if (r == 0) r = schedule_stages(d);
    if (r == 0) r = run_tasks(d);
    for (uint32_t i = 0; i < a->stage_count && a->sched != NULL; i++) {
        struct body forget = {.type = MSG_FORGET, .stage = a->first_stage + i};
        struct glint_error e = *driver_error(d);
        send_all(d, make_body, &forget);
        if (e.code != GLINT_OK) *driver_error(d) = e;
    }
    if (a->sched != NULL) d->tally.retries += sched_retries(a->sched);
    if (r == 0 && a->commit != NULL) r = commit_complete(a->commit, driver_error(d));
    return r;
}

static void active_fini(struct active *a)
{
    for (uint32_t i = 0; a->results != NULL && i < a->stages[a->stage_count - 1].tasks; i++)
        buffer_fini(&a->results[i]);
    mem_free(a->results);
    mem_free(a->arrived);
    mem_free(a->stages);
    sched_destroy(a->sched);
}

/* What only running can tell, before the stages are cut: the bounds of sorts. Each preparation may
 * itself run an action, whose shuffles then exist. */
static int prepare(const struct action *action)
{
    struct glint_rdd **wides = NULL;
    uint32_t count = 0;
    int r = plan_missing_shuffles(action->rdd, &wides, &count);
    for (uint32_t i = 0; i < count && r == 0; i++) {
        int (*f)(struct glint_rdd *) = wides[i]->prepare;
        if (f == NULL || wides[i]->shuffled) continue;
        wides[i]->prepare = NULL;
        r = f(wides[i]);
    }
    mem_free(wides);
    return r;
}

static int driver_run(struct runner *runner, const struct action *action)
{
    struct driver *d = (struct driver *)runner;
    struct glint *g = d->g;
    if (rdd_partitions(action->rdd) == 0 && context_failed(g)) return g->error.code;
    if (g->config.explain && action->output != NULL) return plan_explain(action);
    int r = prepare(action);
    if (r != 0) return r;
    struct active a = {.action = action, .outer = d->active,
                       .bad_rows_before = tally_sum(&d->tally, "bad rows")};
    d->active = &a;
    r = run_active(d);
    d->active = a.outer;
    active_fini(&a);
    return r;
}

/* ---- The end of the job */

static int publish_all(struct driver *d)
{
    d->published = mem_zalloc(sizeof *d->published * (d->commit_count + 1));
    if (d->published == NULL) return error_no_memory(driver_error(d));
    for (uint32_t i = 0; i < d->commit_count; i++) {
        int r = commit_publish(d->commits[i], driver_error(d));
        if (r != 0) return r;
        d->published[i] = d->commits[i]->out;
    }
    return 0;
}

static int driver_finish(struct runner *runner)
{
    struct driver *d = (struct driver *)runner;
    struct glint_error *e = driver_error(d);
    if (e->code == GLINT_OK) check_clock(d);
    if (e->code == GLINT_OK) publish_all(d);
    if (e->code == GLINT_OK) return 0;
    bool clean = true;
    for (uint32_t i = 0; i < d->commit_count; i++) clean = commit_discard(d->commits[i]) && clean;
    char what[sizeof e->effect];
    memcpy(what, e->effect, sizeof what);
    const char *kept = d->commit_count == 0 ? "no output was written"
                       : clean              ? "no output was published; what was there before is as it was"
                                            : "no output was published; a hidden folder beside it is left";
    text_format(e->effect, sizeof e->effect, "%s%s%s", what, what[0] ? "; " : "", kept);
    return e->code;
}

static void driver_interrupt(struct runner *runner, enum glint_code code)
{
    struct driver *d = (struct driver *)runner;
    int none = 0;
    atomic_compare_exchange_strong(&d->interrupt, &none, (int)code);
    d->transport.wake(d->transport.arg);
}

static void driver_summarize(struct runner *runner, struct glint_summary *out)
{
    struct driver *d = (struct driver *)runner;
    tally_sort(&d->tally);
    *out = (struct glint_summary){
        .elapsed_ns = d->env->now_ns(d->env) - d->begun_ns,
        .stages = d->tally.stage_count, .tasks = d->tally.tasks, .retries = d->tally.retries,
        .counter_count = d->tally.counter_count,
        .counter_names = (const char *const *)d->tally.names, .counter_values = d->tally.values,
        .stage_count = d->tally.stage_count, .stage_times = d->tally.stages,
        .output_count = d->g->error.code == GLINT_OK && d->published ? d->commit_count : 0,
        .outputs = d->published};
}

static int64_t driver_counter(struct runner *runner, const char *name)
{
    return tally_value(&((struct driver *)runner)->tally, name);
}

static void driver_destroy(struct runner *runner)
{
    struct driver *d = (struct driver *)runner;
    for (uint32_t i = 0; i < d->commit_count; i++) {
        commit_discard(d->commits[i]);
        mem_free(d->commits[i]);
    }
    d->transport.destroy(d->transport.arg);
    mem_free(d->commits);
    mem_free(d->published);
    mem_free(d->executor_slots);
    tally_fini(&d->tally);
    mem_free(d);
}

struct runner *driver_create(struct glint *g, const struct transport *transport,
                             const uint32_t *executor_slots, uint32_t executor_count)
{
    assert(executor_count > 0);
    struct driver *d = mem_zalloc(sizeof *d);
    uint32_t *slots = mem_alloc(sizeof *slots * executor_count);
    struct env *env = g->config.env;
    uint64_t job_id = 0;
    if (d == NULL || slots == NULL) {
        error_no_memory(&g->error);
        goto fail;
    }
    if (env->random(env, &job_id, sizeof job_id) != 0) {
        error_set(&g->error, GLINT_E_SYSTEM, NULL, "the system gave no random numbers");
        goto fail;
    }
    memcpy(slots, executor_slots, sizeof *slots * executor_count);
    *d = (struct driver){.runner = {driver_run, driver_finish, driver_interrupt, driver_summarize,
                                    driver_counter, driver_destroy},
                         .g = g, .env = env, .transport = *transport, .executor_slots = slots,
                         .executor_count = executor_count, .next_stage = 1, .job_id = job_id,
                         .begun_ns = env->now_ns(env)};
    if (g->config.timeout_ns > 0) d->deadline_ns = d->begun_ns + g->config.timeout_ns;
    return &d->runner;
fail:
    mem_free(d);
    mem_free(slots);
    return NULL;
}

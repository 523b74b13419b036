/* The transport between the driver and another engine: it answers the tasks of actions whose
 * results are known, and stops the job at the first other action, with that action in a file. */
#include "engine/driver/stage_session.h"

#include "engine/driver/driver_internal.h"
#include "engine/records/bytes.h"
#include "engine/records/pack.h"

#include <string.h>

struct stage_transport {
    struct glint *g;
    struct stage_session *session;
    struct transport inner;
    struct message_queue tasks; /* to answer */
    uint32_t actions;           /* actions for another engine so far */
    bool answering;             /* `results` are those of the action `number` */
    uint32_t number;
    struct stage_results results;
    bool counted;              /* its counters were passed on */
    struct glint_slice *lines; /* the result lines of each action so far */
    uint64_t lines_capacity;
    struct buffer input; /* the lines of the last one, from session->results */
    bool cancelled;
};

/* ---- What the engine gets */

/* Plans of all stages, with all their tasks, whether or not outputs of some are here. */
static int pack_stage_plan(struct stage_transport *t, struct packer *p, uint32_t number)
{
    struct driver *d = t->g->driver;
    struct action_run *a = d->action_run;
    const struct stage_run *run = &a->stages[number];
    struct glint_error *error = &t->g->error;
    struct packed_stage stage = {.parents = run->parents,
                                 .parent_count = run->parent_count,
                                 .outputs = run->shuffle == NULL ? a->commit_count : 0,
                                 .shuffle =
                                     run->shuffle != NULL ? run->shuffle->id : STAGE_NO_SHUFFLE};
    struct glint_rdd *top = stage_top_rdd(a, number);
    struct stage_plan plan;
    struct buffer bytes = {NULL, 0, 0}, *splits = mem_zalloc(sizeof *splits * (run->tasks + 1u));
    stage.tasks = mem_zalloc(sizeof *stage.tasks * (run->tasks + 1u));
    memcpy(stage.name, run->name, sizeof stage.name);
    int r = stage_plan_create(&plan, run->shuffle != NULL ? NULL : a->action, run->shuffle);
    if (r == 0 && (splits == NULL || stage.tasks == NULL)) r = error_no_memory(error);
    if (r == 0) r = stage_plan_encode(&plan, &bytes, error);
    stage.plan = buffer_slice(&bytes);
    for (uint32_t i = 0; r == 0 && i < run->tasks; i++) {
        const uint32_t partition = stage_run_partition(a, number, i);
        r = rdd_encode_partition_splits(t->g, top, partition, &splits[i]);
        stage.tasks[stage.task_count++] =
            (struct packed_task){partition, {splits[i].data, splits[i].size}};
    }
    if (r == 0) stage_file_pack_stage(p, &stage);
    t->session->tasks += stage.task_count;
    stage_plan_fini(&plan);
    buffer_fini(&bytes);
    for (uint32_t i = 0; splits != NULL && i < run->tasks; i++) buffer_fini(&splits[i]);
    mem_free(splits);
    mem_free(stage.tasks);
    return r;
}

static int pack_action_stages(struct stage_transport *t, struct buffer *out)
{
    const struct driver *d = t->g->driver;
    struct packer p = {.failed = false};
    uint64_t broadcasts = 0;
    int r = 0;
    for (const struct glint_broadcast *b = t->g->broadcasts; b != NULL; b = b->next) broadcasts++;
    pack_array(&p, 2);
    pack_array(&p, broadcasts);
    for (const struct glint_broadcast *b = t->g->broadcasts; b != NULL; b = b->next) {
        pack_array(&p, 2);
        pack_u64(&p, b->id);
        pack_bytes(&p, (struct glint_slice){b->data, b->size});
    }
    t->session->stages = d->action_run->stage_count;
    t->session->tasks = 0;
    pack_array(&p, d->action_run->stage_count);
    for (uint32_t i = 0; i < d->action_run->stage_count && r == 0; i++)
        r = pack_stage_plan(t, &p, i);
    if (r == 0) return packer_finish(&p, out, &t->g->error);
    packer_fini(&p);
    return r;
}

static int set_stage_rejected_error(struct stage_transport *t, uint32_t stage, const char *why)
{
    const struct driver *d = t->g->driver;
    return error_set(&t->g->error, GLINT_E_STAGE_ACTION, "run the job with glint submit",
                     "action %u (%s) cannot run as stages of another engine: stage %u %s",
                     d->action_run->number, d->action_run->action->op->name, stage, why);
}

/* A stage gets lines, or splits, for all its tasks; and lines go to one stage. */
static int check_stage_inputs(struct stage_transport *t, const struct stage_file *f,
                              uint32_t number)
{
    const struct packed_stage *stage = &f->stages[number];
    struct stage_plan plan = {.node_count = 0};
    struct stage_inputs inputs = {NULL, 0, 0};
    struct glint_error *error = &t->g->error;
    uint32_t readers = 0;
    for (uint32_t i = 0; i < f->stage_count; i++)
        for (uint32_t p = 0; p < f->stages[i].parent_count; p++)
            readers += f->stages[i].parents[p] == number;
    if (readers > 1) return set_stage_rejected_error(t, number, "is read by two others");
    if (stage->task_count == 0) return set_stage_rejected_error(t, number, "has no input");
    int r = stage_plan_decode(&plan, stage->plan, &t->g->config, error);
    for (uint32_t i = 0; i < stage->task_count && r == 0; i++) {
        r = stage_inputs_find(&plan, stage->tasks[i].partition, &inputs, error);
        for (uint32_t j = 1; j < inputs.count && r == 0; j++)
            for (uint32_t k = 0; k < j && r == 0; k++)
                if (inputs.items[j].shuffle == inputs.items[k].shuffle &&
                    inputs.items[j].partition == inputs.items[k].partition)
                    r = set_stage_rejected_error(t, number, "reads a partition twice");
    }
    mem_free(inputs.items);
    stage_plan_fini(&plan);
    return r;
}

/* A part of an output that the job has not published would be removed at the end of this process.
 */
static int reject_own_outputs_as_input(struct stage_transport *t)
{
    for (const struct glint_rdd *rdd = t->g->rdds; rdd != NULL; rdd = rdd->next)
        for (uint64_t i = 0; rdd->inputs != NULL && i < rdd->inputs->count; i++)
            if (rdd->inputs->files[i].stored != NULL)
                return set_stage_rejected_error(t, 0, "reads an output of this job");
    return 0;
}

static int write_session_file(struct stage_transport *t, struct glint_slice action)
{
    const struct stage_session *s = t->session;
    const struct context_config *c = &t->g->config;
    struct task_options options = transport_task_options(c);
    options.memory_bytes = c->memory_bytes / c->slots;
    /* Each action of a job has an id of its own, which follows that of the one before. */
    const struct stage_file_head head = {.id = s->file != NULL ? s->file->id + 1 : t->g->job_id,
                                         .words = s->words,
                                         .word_count = s->word_count,
                                         .slots = c->slots,
                                         .stdin_tasks = c->stdin_tasks,
                                         .memory_bytes = c->memory_bytes,
                                         .options = &options,
                                         .earlier = t->lines,
                                         .earlier_count = t->actions};
    struct stage_file written = {.id = 0};
    if (stage_file_write(c->env, s->out, &head, action, &t->g->error) != 0) return t->g->error.code;
    int r = stage_file_read(c->env, s->out, &written, &t->g->error);
    for (uint32_t i = 0; i < written.stage_count && r == 0; i++)
        r = check_stage_inputs(t, &written, i);
    if (r != 0) c->env->remove(c->env, ENV_CWD, s->out, false);
    stage_file_fini(&written);
    return r;
}

/* Stops the job: this is as far as it gets without the engine. */
static int pack_action_and_stop_job(struct stage_transport *t, struct glint_slice action)
{
    if (t->session->out == NULL)
        return error_set(&t->g->error, GLINT_E_STAGE_ACTION,
                         "pack it: glint stage pack --next FILE -o FILE, and run its stages",
                         "the job has another action");
    if (reject_own_outputs_as_input(t) != 0 || write_session_file(t, action) != 0)
        return t->g->error.code;
    t->session->packed = true;
    return error_set(&t->g->error, GLINT_E_INTERRUPTED, NULL, "packed");
}

/* ---- Known results */

static int read_results_input(struct stage_transport *t)
{
    struct env *env = t->g->config.env;
    int64_t n = 1;
    while (n > 0) {
        if (!buffer_reserve(&t->input, 256 * KIB)) return error_no_memory(&t->g->error);
        n = env->read(env, t->session->results, t->input.data + t->input.size, 256 * KIB);
        if (n > 0) t->input.size += (uint64_t)n;
    }
    if (n < 0)
        return error_set_system(&t->g->error, GLINT_E_INPUT_IO, (int)n, "read", "the results");
    return 0;
}

/* The last action that is known gets the lines from the input; at the end of the job they need not
 * be kept. */
static int read_stage_results(struct stage_transport *t)
{
    const struct driver *d = t->g->driver;
    const struct action_run *a = d->action_run;
    const struct stage_session *s = t->session;
    const char *outputs[ACTION_OUTPUTS_MAX];
    struct line_input in = {
        .env = t->g->config.env, .file = s->results, .name = "results", .ended = false};
    const bool kept = t->actions < s->file->earlier_count || s->out != NULL;
    int r = 0;
    if (!array_reserve(&t->lines, &t->lines_capacity, t->actions + 1u, sizeof *t->lines))
        return error_no_memory(&t->g->error);
    if (t->actions < s->file->earlier_count)
        t->lines[t->actions] = s->file->earlier[t->actions];
    else if (kept && (r = read_results_input(t)) == 0)
        t->lines[t->actions] = buffer_slice(&t->input);
    if (kept && r == 0) {
        const struct glint_slice lines = t->lines[t->actions];
        in.bytes = (struct buffer){(uint8_t *)(uintptr_t)lines.data, lines.size, lines.size};
        in.ended = true;
    }
    for (uint32_t i = 0; i < a->commit_count; i++) outputs[i] = a->commits[i]->attempts;
    const uint64_t id = s->file->id - s->file->earlier_count + t->actions;
    if (r == 0)
        r = stage_results_read(&t->results, &in, id, a->stages[a->stage_count - 1].tasks, outputs,
                               a->commit_count, t->g->config.env, &t->g->error);
    if (!kept) line_input_fini(&in);
    return r;
}

/* The next action of the job that another engine runs. */
static int start_foreign_action(struct stage_transport *t)
{
    const struct stage_session *s = t->session;
    struct buffer action = {NULL, 0, 0};
    const uint32_t known = s->file != NULL ? s->file->earlier_count + 1 : 0;
    stage_results_fini(&t->results);
    t->counted = false;
    int r = pack_action_stages(t, &action);
    const struct glint_slice bytes = buffer_slice(&action);
    if (r == 0 && t->actions >= known)
        r = pack_action_and_stop_job(t, bytes);
    else if (r == 0 && t->actions == s->file->earlier_count &&
             !slices_equal(bytes, s->file->action))
        r = error_set(
            &t->g->error, GLINT_E_STAGE_FILE, "pack the job again",
            "the job's plan is another one now: an input has changed since it was packed");
    else if (r == 0)
        r = read_stage_results(t);
    buffer_fini(&action);
    t->actions++;
    return r;
}

static int fill_done_message(struct stage_transport *t, const struct message *task,
                             struct message *done)
{
    const struct driver *d = t->g->driver;
    const struct action_run *a = d->action_run;
    const uint32_t stage = task->stage - a->first_stage;
    const bool last = stage + 1 == a->stage_count, counts = last && !t->counted;
    const struct buffer *body = &t->results.bodies[task->task], *counters = &t->results.counters;
    done->type = MSG_DONE;
    bool memory = !last || buffer_append(&done->body, body->data, body->size);
    memory = memory && (counts ? buffer_append(&done->counters, counters->data, counters->size)
                               : buffer_append(&done->counters, "\x90", 1)); /* an empty array */
    t->counted = t->counted || counts;
    return memory ? 0 : error_no_memory(&t->g->error);
}

static void deliver_task_outcome(struct stage_transport *t, struct driver *driver,
                                 struct message *task)
{
    struct message *m = task->outcome;
    task->outcome = NULL;
    if (t->cancelled || t->g->error.code != GLINT_OK || fill_done_message(t, task, m) != 0) {
        m->type = MSG_FAILED;
        error_set(m->error, GLINT_E_INTERRUPTED, NULL, "the job ends");
    }
    driver_on_message(driver, 0, m);
}

/* ---- The transport */

/* Actions that the job needs for its plan run here. */
static bool runs_in_this_process(const struct stage_transport *t)
{
    const struct driver *d = t->g->driver;
    const struct action_run *a = d->action_run;
    return a == NULL || (a->action->rdd->side && a->commit_count == 0);
}

static int stage_transport_send(void *arg, uint32_t executor, struct message *m,
                                struct glint_error *error)
{
    struct stage_transport *t = arg;
    if (m->type == MSG_CANCEL) t->cancelled = m->id != 0;
    if (m->type != MSG_TASK || runs_in_this_process(t))
        return t->inner.send(t->inner.arg, executor, m, error);
    /* Allocated here: later, the driver could not be told. */
    if (!message_create_outcome(m)) {
        message_destroy(m);
        return error_no_memory(error);
    }
    message_queue_append(&t->tasks, m);
    return 0;
}

static void stage_transport_wait(void *arg, struct driver *driver, uint64_t deadline_ns)
{
    struct stage_transport *t = arg;
    if (t->tasks.first == NULL) {
        t->inner.wait(t->inner.arg, driver, deadline_ns);
        return;
    }
    const uint32_t number = driver->action_run->number;
    if (!t->answering || number != t->number) {
        t->answering = true;
        t->number = number;
        if (t->g->error.code == GLINT_OK) start_foreign_action(t);
    }
    struct message_queue tasks = t->tasks;
    t->tasks = (struct message_queue){NULL, NULL};
    for (struct message *m; (m = message_queue_pop(&tasks)) != NULL;) {
        deliver_task_outcome(t, driver, m);
        message_destroy(m);
    }
}

static void stage_transport_wake(void *arg)
{
    struct stage_transport *t = arg;
    t->inner.wake(t->inner.arg);
}

static void stage_transport_destroy(void *arg)
{
    struct stage_transport *t = arg;
    t->inner.destroy(t->inner.arg);
    message_queue_fini(&t->tasks);
    stage_results_fini(&t->results);
    buffer_fini(&t->input);
    mem_free(t->lines);
    mem_free(t);
}

int stage_transport_create(struct glint *g, struct stage_session *session,
                           const struct transport *inner, struct transport *out)
{
    struct stage_transport *t = mem_zalloc(sizeof *t);
    if (t == NULL) return error_no_memory(&g->error);
    t->g = g;
    t->session = session;
    t->inner = *inner;
    /* Commands get it as a variable, so it is part of the plan. */
    if (session->file != NULL) g->job_id = session->file->id - session->file->earlier_count;
    *out = (struct transport){.send = stage_transport_send,
                              .wait = stage_transport_wait,
                              .wake = stage_transport_wake,
                              .destroy = stage_transport_destroy,
                              .arg = t};
    return 0;
}

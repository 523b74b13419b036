/* Starts the executor, and runs tasks one after the other. */
#include "engine/stage/stage_worker.h"

#include "engine/base/text.h"
#include "engine/executor/store.h"

#include <string.h>

/* A slot's thread. Takes ownership of `m`. */
static void deliver(void *arg, struct message *m)
{
    struct stage_worker *w = arg;
    pthread_mutex_lock(&w->lock);
    w->outcome = m;
    pthread_cond_signal(&w->arrived);
    pthread_mutex_unlock(&w->lock);
}

/* A message that the executor gets, with a copy of `body`. */
static int handle(struct stage_worker *w, struct message *m, struct glint_slice body,
                  struct glint_error *error)
{
    if (m != NULL && !buffer_append(&m->body, body.data, body.size)) {
        message_destroy(m);
        m = NULL;
    }
    if (m == NULL) return error_no_memory(error);
    return executor_handle_message(w->executor, m, error);
}

/* The plan for this process: its tasks save to directories of their own. */
static int make_plan(struct stage_worker *w, const struct context_config *registry,
                     struct glint_error *error)
{
    char dir[PATH_MAX];
    int r = stage_plan_decode(&w->plan, w->stage->plan, registry, error);
    if (r == 0 && w->plan.output_count > 0)
        return error_set(error, GLINT_E_STAGE_FILE, NULL, "the plan of a stage has outputs");
    for (uint32_t i = 0; i < w->stage->outputs && r == 0; i++) {
        if (!text_format(dir, sizeof dir, "%s/output-%u", w->work_dir.path, i))
            return error_set(error, GLINT_E_WORK_DIR, "use a shorter directory",
                             "the path %s is too long", w->work_dir.path);
        r = w->env->make_dir(w->env, ENV_CWD, dir, true);
        if (r != 0) return error_set_system(error, GLINT_E_WORK_DIR, r, "create", dir);
        r = stage_plan_add_output(&w->plan, dir, error);
    }
    if (r == 0) r = stage_plan_encode(&w->plan, &w->plan_bytes, error);
    w->reader = stage_find_reader(w->file, w->stage, &w->reader_parent);
    if (r == 0 && w->reader != NULL)
        r = stage_plan_decode(&w->reader_plan, w->reader->plan, registry, error);
    return r;
}

static int send_stage(struct stage_worker *w, struct glint_error *error)
{
    int r = 0;
    for (uint32_t i = 0; i < w->file->broadcast_count && r == 0; i++) {
        struct message *m = message_create(MSG_BROADCAST);
        if (m != NULL) m->id = w->file->broadcasts[i].id;
        r = handle(w, m, w->file->broadcasts[i].bytes, error);
    }
    struct message *m = r == 0 ? message_create(MSG_STAGE) : NULL;
    if (r != 0) return r;
    if (m != NULL) m->stage = w->number;
    return handle(w, m, (struct glint_slice){w->plan_bytes.data, w->plan_bytes.size}, error);
}

static int start_stage_executor(struct stage_worker *w, const struct context_config *registry,
                                struct glint_error *error)
{
    const struct executor_config config = {.slots = 1,
                                           .options = w->options,
                                           .registry = registry,
                                           .env = w->env,
                                           .deliver = deliver,
                                           .deliver_arg = w};
    w->run_memory = w->options.memory_bytes / RUN_MEMORY_SHARE;
    w->io = (struct glint_task){.env = w->env,
                                .options = &w->options,
                                .attempt_id = UINT64_MAX, /* no task of the executor has it */
                                .run_memory = &w->run_memory};
    w->io.counters.used = COUNT_BUILT_IN;
    w->executor = executor_create(&config, error);
    return w->executor != NULL ? send_stage(w, error) : error->code;
}

int stage_worker_open(struct stage_worker *w, struct env *env, const struct stage_file *file,
                      uint32_t number, const struct context_config *registry, const char *work_dir,
                      struct glint_error *error)
{
    *w = (struct stage_worker){
        .env = env, .file = file, .stage = &file->stages[number], .number = number, .out = 1};
    w->work_dir.lock = LOCKED_DIR_NONE;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->arrived, NULL);
    w->started = true;
    w->done = mem_zalloc(w->stage->task_count + 1u);
    if (w->done == NULL) return error_no_memory(error);
    int r = work_dir_open(&w->work_dir, env, work_dir, error);
    if (r == 0) r = make_plan(w, registry, error);
    w->options = file->options;
    w->options.work_dir = w->work_dir.path;
    return r == 0 ? start_stage_executor(w, registry, error) : r;
}

void stage_worker_close(struct stage_worker *w)
{
    if (!w->started) return;
    executor_destroy(w->executor);
    message_destroy(w->outcome);
    stage_plan_fini(&w->plan);
    stage_plan_fini(&w->reader_plan);
    buffer_fini(&w->plan_bytes);
    buffer_fini(&w->lines);
    buffer_fini(&w->records);
    buffer_fini(&w->scratch);
    mem_free(w->done);
    arena_fini(&w->io.arena);
    job_metrics_fini(&w->counters);
    pthread_cond_destroy(&w->arrived);
    pthread_mutex_destroy(&w->lock);
    work_dir_close(&w->work_dir);
    w->started = false;
}

struct message *stage_worker_run(struct stage_worker *w, uint32_t task, struct glint_error *error)
{
    struct message *m = message_create(MSG_TASK);
    if (m != NULL) {
        m->stage = w->number;
        m->task = task;
        m->partition = w->stage->tasks[task].partition;
    }
    const struct glint_slice splits = w->stage->tasks[task].splits;
    if (handle(w, m, w->fed.data != NULL ? w->fed : splits, error) != 0) return NULL;
    pthread_mutex_lock(&w->lock);
    while (w->outcome == NULL) pthread_cond_wait(&w->arrived, &w->lock);
    struct message *outcome = w->outcome;
    w->outcome = NULL;
    pthread_mutex_unlock(&w->lock);
    const struct glint_slice counters = {outcome->counters.data, outcome->counters.size};
    if (outcome->type == MSG_DONE &&
        job_metrics_add_task_counters(&w->counters, counters, error) == 0)
        return outcome;
    if (outcome->type != MSG_DONE) *error = *outcome->error;
    message_destroy(outcome);
    return NULL;
}

/* A line is the number of a task, and for people what it reads: TASK TAB TEXT. */
static int parse_split(struct stage_worker *w, const struct line_input *in, struct glint_slice line,
                       uint32_t *out, struct glint_error *error)
{
    const uint8_t *tab = memchr(line.data, '\t', line.size);
    struct glint_slice key = line;
    uint64_t stage = 0, task = 0;
    if (tab != NULL) key.size = (uint64_t)(tab - line.data);
    if (!stage_key_number(&key, UINT32_MAX, &stage) || !stage_key_number(&key, UINT32_MAX, &task) ||
        key.size > 0 || stage != w->number || task >= w->stage->task_count)
        return line_input_fail(in, "pass lines of glint stage splits", error,
                               "not a split of stage %u: %.*s", w->number,
                               (int)(line.size < 60 ? line.size : 60), (const char *)line.data);
    *out = (uint32_t)task;
    return 0;
}

int stage_worker_peek_stage(struct line_input *in, uint32_t *out, struct glint_error *error)
{
    struct glint_slice line;
    uint64_t stage;
    const int r = line_input_next(in, &line, error);
    if (r > 0 && stage_key_number(&line, UINT32_MAX, &stage)) *out = (uint32_t)stage;
    line_input_rewind(in);
    return r < 0 ? r : 0;
}

int stage_worker_map_task(struct stage_worker *w, uint32_t task, struct glint_error *error)
{
    struct message *done = stage_worker_run(w, task, error);
    if (done == NULL) return error->code;
    const int r = stage_worker_emit(w, task, done, (struct glint_slice){NULL, 0}, error);
    message_destroy(done);
    return r;
}

int stage_worker_map(struct stage_worker *w, struct line_input *in, struct glint_error *error)
{
    struct glint_slice line;
    int r;
    while ((r = line_input_next(in, &line, error)) > 0) {
        uint32_t task = 0;
        if (parse_split(w, in, line, &task, error) != 0) return error->code;
        if (w->done[task])
            return line_input_fail(in, "pass each line of glint stage splits once", error,
                                   "the split %u.%u is there twice", w->number, task);
        w->done[task] = true;
        if (stage_task_reads_stdin(w, task))
            return line_input_fail(in, "run it with --stdin-lines N, its lines as input", error,
                                   "task %u reads lines of standard input", task);
        if ((r = stage_worker_map_task(w, task, error)) != 0) return r;
    }
    return r;
}

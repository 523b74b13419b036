/* The life of a context, and its error. All live contexts are in a list: a call that gets NULL for
 * an RDD has no other way to find its context. */
#include "engine/plan/context.h"

#include "engine/input/input.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- Broadcasts are looked up in the context, which owns the values. */

static int find_context_broadcast(void *arg, uint64_t id, struct glint_slice *out)
{
    const struct glint *g = arg;
    for (const struct glint_broadcast *b = g->broadcasts; b != NULL; b = b->next) {
        if (b->id != id) continue;
        *out = (struct glint_slice){b->data, b->size};
        return 0;
    }
    return -1;
}

void driver_task_init(struct driver_task *t, struct glint *g)
{
    const struct context_config *c = &g->config;
    assert(!context_failed(g));
    t->g = g;
    t->options = (struct task_options){.memory_bytes = glint_slot_memory(g),
                                       .line_bytes_max = c->line_bytes_max,
                                       .result_bytes_max = c->result_bytes_max,
                                       .skip_bad_rows = c->skip_bad_rows,
                                       .bad_rows_max = c->bad_rows_max,
                                       .no_sync = c->no_sync};
    t->task = (struct glint_task){.env = c->env,
                                  .options = &t->options,
                                  .broadcast = find_context_broadcast,
                                  .broadcast_arg = g};
    t->task.counters.used = COUNT_BUILT_IN;
}

int driver_task_fini(struct driver_task *t)
{
    struct glint_error *error = &t->g->error;
    assert(t->task.options == &t->options);
    if (error->code == GLINT_OK) *error = t->task.error;
    task_free_accumulators(&t->task);
    arena_fini(&t->task.arena);
    return error->code;
}

/* ---- context */

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct glint *live;

static void live_contexts_add(struct glint *g)
{
    g->thread = pthread_self();
    pthread_mutex_lock(&live_lock);
    g->next_live = live;
    live = g;
    pthread_mutex_unlock(&live_lock);
}

static void live_contexts_remove(struct glint *g)
{
    pthread_mutex_lock(&live_lock);
    struct glint **link = &live;
    while (*link != g) link = &(*link)->next_live;
    *link = g->next_live;
    pthread_mutex_unlock(&live_lock);
}

int rdd_null_error(const char *call)
{
    pthread_mutex_lock(&live_lock);
    /* Usually NULL is the result of an earlier call that failed: return that error. Only if no
     * context of this thread has an error, the job made the mistake. */
    int code = GLINT_OK;
    for (struct glint *g = live; g != NULL && code == GLINT_OK; g = g->next_live)
        if (pthread_equal(g->thread, pthread_self())) code = g->error.code;
    for (struct glint *g = live; g != NULL && code == GLINT_OK; g = g->next_live)
        if (pthread_equal(g->thread, pthread_self()))
            error_set(&g->error, GLINT_E_PLAN_RDD, "error in the job's plan, not in its input",
                      "%s: the RDD is NULL", call);
    pthread_mutex_unlock(&live_lock);
    return code != GLINT_OK ? code : GLINT_E_PLAN_RDD;
}

bool context_is_explaining(void)
{
    bool found = false;
    pthread_mutex_lock(&live_lock);
    for (struct glint *g = live; g != NULL && !found; g = g->next_live)
        found = g->config.explain && pthread_equal(g->thread, pthread_self());
    pthread_mutex_unlock(&live_lock);
    return found;
}

void context_init(struct glint *g, const struct context_config *config)
{
    memset(g, 0, sizeof *g);
    g->config = *config;
    g->job_id = 1; /* context_create draws a random one */
    g->next_rdd = 1;
    g->next_broadcast = 1;
    g->spool.parent = config->work_dir;
    assert(g->config.ops != NULL && g->config.modules != NULL && g->config.slots > 0);
    live_contexts_add(g);
}

void context_fini(struct glint *g)
{
    live_contexts_remove(g);
    context_free_plan(g);
    input_spool_fini(&g->spool, g->config.env);
    column_schemas_fini(&g->schemas);
    arena_fini(&g->arena);
}

int context_check_interrupt(struct glint *g)
{
    if (g->error.code != GLINT_E_INTERRUPTED) return g->error.code;
    const struct glint_error wait = g->error;
    g->error = (struct glint_error){.code = GLINT_OK};
    g->runner->check_interrupt(g->driver);
    if (g->error.code == GLINT_OK) g->error = wait;
    return g->error.code;
}

bool context_failed(const struct glint *g)
{
    return g->error.code != GLINT_OK;
}

void *context_alloc(struct glint *g, uint64_t size)
{
    void *block = arena_alloc(g->scope != NULL ? &g->scope->arena : &g->arena, size);
    if (block == NULL)
        error_no_memory(&g->error);
    else
        memset(block, 0, size);
    return block;
}

struct glint_slice context_copy_slice(struct glint *g, struct glint_slice s)
{
    uint8_t *copy = context_alloc(g, s.size + 1);
    if (copy == NULL) return (struct glint_slice){NULL, 0};
    if (s.size > 0) memcpy(copy, s.data, s.size);
    return (struct glint_slice){copy, s.size};
}

const struct glint_error *glint_error(const struct glint *g)
{
    return &g->error;
}

int glint_abort(struct glint *g, enum glint_code code, const char *hint, const char *cause, ...)
{
    va_list args;
    if (!context_failed(g)) g->aborted = true;
    va_start(args, cause);
    int r = error_set_va(&g->error, code, hint, cause, args);
    va_end(args);
    return r;
}

int glint_clear_error(struct glint *g)
{
    if (g->running > 0 || g->stuck) return g->error.code;
    g->runner->clear_error(
        g->driver); /* also without an error: an interrupt may have come too late */
    g->error = (struct glint_error){.code = GLINT_OK};
    g->aborted = false;
    return 0;
}

void *glint_alloc(struct glint *g, uint64_t size)
{
    void *block = mem_alloc(size);
    if (block == NULL) error_no_memory(&g->error);
    return block;
}

void glint_free(void *data)
{
    mem_free(data);
}

struct glint_broadcast *glint_broadcast(struct glint *g, void *data, uint64_t size)
{
    if (size > VALUE_BYTES_MAX)
        error_set(&g->error, GLINT_E_VALUE_LIMIT, NULL,
                  "a broadcast of %llu bytes; the limit is 4 GiB", (unsigned long long)size);
    bool fits = data != NULL && size <= VALUE_BYTES_MAX;
    struct glint_broadcast *b = fits ? broadcast_add(g) : NULL;
    if (b == NULL) {
        mem_free(data);
        return NULL;
    }
    assert(size == 0 || data != NULL);
    b->data = data;
    b->size = size;
    return b;
}

struct glint_broadcast *glint_broadcast_copy(struct glint *g, const void *data, uint64_t size)
{
    void *copy = size <= VALUE_BYTES_MAX ? glint_alloc(g, size) : NULL;
    if (copy != NULL && size > 0) memcpy(copy, data, size);
    return glint_broadcast(g, copy, size);
}

bool glint_explaining(const struct glint *g)
{
    return g->config.explain;
}

/* Lives as long as the context, in contrast to memory of context_alloc. */
static const char *copy_context_text(struct glint *g, const char *text)
{
    const char *copy = arena_strdup(&g->arena, text);
    if (copy == NULL) error_no_memory(&g->error);
    return copy;
}

static void context_add_answer(struct glint *g, const char *name, struct glint_cell value)
{
    struct glint_answer *last = NULL;
    if (context_failed(g)) return;
    for (struct glint_answer *a = g->answers; a != NULL; a = (struct glint_answer *)a->next) {
        last = a;
        if (strcmp(a->name, name) != 0) continue;
        a->value = value;
        return;
    }
    struct glint_answer *answer = arena_alloc(&g->arena, sizeof *answer);
    const char *copy = arena_strdup(&g->arena, name);
    if (answer == NULL || copy == NULL) {
        error_no_memory(&g->error);
        return;
    }
    *answer = (struct glint_answer){NULL, copy, value};
    if (last != NULL)
        last->next = answer;
    else
        g->answers = answer;
}

void glint_answer_i64(struct glint *g, const char *name, int64_t value)
{
    context_add_answer(g, name, (struct glint_cell){GLINT_I64, {.i64 = value}});
}

void glint_answer_f64(struct glint *g, const char *name, double value)
{
    context_add_answer(g, name, (struct glint_cell){GLINT_F64, {.f64 = value}});
}

void glint_answer_text(struct glint *g, const char *name, const char *value)
{
    const char *copy = copy_context_text(g, value);
    const struct glint_slice text = {(const uint8_t *)copy, strlen(value)};
    if (copy != NULL) context_add_answer(g, name, (struct glint_cell){GLINT_TEXT, {.bytes = text}});
}

void glint_note(struct glint *g, const char *format, ...)
{
    if (g->config.note == NULL) return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    g->config.note(g->config.note_arg, line);
}

bool glint_is_observed(const struct glint *g)
{
    return g->config.report != NULL;
}

void glint_report(struct glint *g, const char *name, const struct glint_field *fields,
                  uint32_t count)
{
    assert(count <= GLINT_REPORT_FIELDS_MAX);
    if (g->config.report != NULL) g->config.report(g->config.report_arg, name, fields, count);
}

void context_warn(struct glint *g, const char *format, ...)
{
    char line[1024] = "warning: ";
    size_t used = strlen(line);
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, sizeof line - used, format, args);
    va_end(args);
    if (g->config.note != NULL) g->config.note(g->config.note_arg, line);
}

bool glint_is_stdout(const struct glint *g, const char *path)
{
    const char *const out = g->config.stdout_output;
    return out != NULL && path != NULL && strcmp(path, out) == 0;
}

int glint_reserve_output(struct glint *g, const char *path)
{
    if (context_failed(g)) return g->error.code;
    if (path == NULL)
        return glint_abort(g, GLINT_E_PLAN_ARGUMENT, NULL, "reserveOutput: the path is NULL");
    return g->config.explain ? 0 : g->runner->reserve(g->driver, path);
}

uint64_t glint_slot_memory(const struct glint *g)
{
    return g->config.memory_bytes / g->config.slots;
}

struct glint *glint_context(const struct glint_rdd *rdd)
{
    return rdd->g;
}

struct glint_schema glint_schema(const struct glint_rdd *rdd)
{
    return rdd->schema;
}

int64_t glint_counter_value(const struct glint *g, const char *name)
{
    return g->runner->counter(g->driver, name);
}

bool glint_accumulator_value(const struct glint *g, const char *name, struct glint_cell *out)
{
    return g->runner->accumulator(g->driver, name, out);
}

void glint_accumulator_clear(struct glint *g, const char *name)
{
    g->runner->clear_accumulator(g->driver, name);
}

int context_add_saved_output(struct glint *g, const struct saved_output *saved)
{
    struct saved_output *s = arena_alloc(&g->arena, sizeof *s);
    if (s == NULL) return error_no_memory(&g->error);
    *s = *saved;
    s->path = copy_context_text(g, saved->path);
    if (saved->directory != NULL) s->directory = copy_context_text(g, saved->directory);
    s->next = g->saved;
    if (!context_failed(g)) g->saved = s;
    return g->error.code;
}

void context_hint_saved_output(struct glint *g, const char *paths)
{
    struct glint_error *e = &g->error;
    for (const struct saved_output *s = g->saved; s != NULL && e->hint[0] == '\0'; s = s->next)
        if (s->path[0] != '\0' && strstr(paths, s->path) != NULL)
            snprintf(e->hint, sizeof e->hint,
                     "%.200s is an output of this job: a later step can only read all of it, by "
                     "this path",
                     s->path);
}

int run_action_of_rdd(const struct action *action)
{
    struct glint_rdd *rdd = action->rdd;
    assert(rdd != NULL && action->op->kind == OP_ACTION);
    if (context_failed(rdd->g)) return rdd->g->error.code;
    /* An internal action may need what the job has released. */
    if (!action->internal && rdd_check_usable(rdd, action->op->name) != 0)
        return rdd->g->error.code;
    rdd->g->running++;
    const int r = rdd->g->runner->run(rdd->g->driver, action);
    rdd->g->running--;
    return r;
}

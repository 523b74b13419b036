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

/* ---- Lifetimes in a plan. An RDD lives as long as the job may use it, and as long as another RDD
 * needs it: it is freed with its last reference, with its slices, its map outputs and cached blocks
 * on the executors, and then the RDDs that only it needed. Broadcasts are freed in the same way:
 * RDDs whose arguments name one hold a reference.
 *
 * The job's reference ends with glint_release or with its scope. The memory of the last
 * FREED_KEPT freed RDDs is kept, so that a call that gets one of them reports it. */

#define FREED_KEPT 1024u

struct rdd_memory {
    struct rdd_memory *next;
    _Alignas(16) uint8_t bytes[];
};

/* Zeroed; NULL with the error set. */
static void *alloc_plan_item(struct glint *g, uint64_t size)
{
    void *item = mem_zalloc(size);
    if (item == NULL) error_no_memory(&g->error);
    return item;
}

void *rdd_alloc(struct glint_rdd *rdd, uint64_t size)
{
    struct rdd_memory *block = alloc_plan_item(rdd->g, sizeof *block + size);
    if (block == NULL) return NULL;
    block->next = rdd->memory;
    rdd->memory = block;
    return block->bytes;
}

struct glint_slice rdd_copy_slice(struct glint_rdd *rdd, struct glint_slice s)
{
    uint8_t *copy = rdd_alloc(rdd, s.size + 1);
    if (copy == NULL) return (struct glint_slice){NULL, 0};
    if (s.size > 0) memcpy(copy, s.data, s.size);
    return (struct glint_slice){copy, s.size};
}

int rdd_check_usable(const struct glint_rdd *rdd, const char *call)
{
    struct glint *g = rdd->g;
    if (context_failed(g)) return g->error.code;
    if (!rdd->released) return 0;
    return error_set(&g->error, GLINT_E_PLAN_RDD, "error in the job's plan, not in its input",
                     "%s: the RDD (%s, RDD %u) was released", call, rdd->op->name, rdd->id);
}

/* ---- RDDs */

static struct glint_rdd *reuse_oldest_freed_rdd(struct glint *g)
{
    struct glint_rdd *rdd = g->freed;
    assert(rdd != NULL && g->freed_count > 0);
    g->freed = rdd->next;
    g->freed_count--;
    memset(rdd, 0, sizeof *rdd);
    return rdd;
}

struct glint_rdd *rdd_add(struct glint *g)
{
    struct glint_rdd *rdd =
        g->freed_count > FREED_KEPT ? reuse_oldest_freed_rdd(g) : alloc_plan_item(g, sizeof *rdd);
    if (rdd == NULL) return NULL;
    rdd->g = g;
    rdd->id = g->next_rdd++;
    rdd->refs = 1;
    rdd->scope = g->scope != NULL ? g->scope->depth : 0;
    rdd->next = g->rdds;
    if (g->rdds != NULL) g->rdds->prev = rdd;
    g->rdds = rdd;
    g->rdd_count++;
    return rdd;
}

static void fini_rdd(struct glint_rdd *rdd)
{
    for (struct rdd_memory *block = rdd->memory, *next; block != NULL; block = next) {
        next = block->next;
        mem_free(block);
    }
    if (rdd->source_free != NULL) rdd->source_free(rdd->source);
    mem_free(rdd->splits);
    source_set_unref(rdd->sources);
}

static void broadcast_unref(struct glint *g, struct glint_broadcast *b);

/* Drops a reference; RDDs without references go to *dead. */
static void unref_rdd_into_dead(struct glint_rdd *rdd, struct glint_rdd **dead)
{
    assert(rdd->refs > 0);
    if (--rdd->refs > 0) return;
    struct glint *g = rdd->g;
    *(rdd->prev != NULL ? &rdd->prev->next : &g->rdds) = rdd->next;
    if (rdd->next != NULL) rdd->next->prev = rdd->prev;
    g->rdd_count--;
    rdd->prev = NULL;
    rdd->next = *dead;
    *dead = rdd;
}

static void free_rdd(struct glint_rdd *rdd, struct glint_rdd **dead)
{
    struct glint *g = rdd->g;
    if (g->runner != NULL) g->runner->free_rdd(g->driver, rdd);
    for (uint32_t i = 0; i < rdd->parent_count && !rdd->weak_parent; i++)
        unref_rdd_into_dead(rdd->parents[i], dead);
    if (rdd->partitioner_of != NULL) unref_rdd_into_dead(rdd->partitioner_of, dead);
    if (rdd->sample != NULL) unref_rdd_into_dead(rdd->sample, dead);
    if (rdd->exchange != NULL) unref_rdd_into_dead(rdd->exchange, dead);
    for (uint32_t i = 0; i < rdd->broadcast_count; i++) broadcast_unref(g, rdd->broadcasts[i]);
    fini_rdd(rdd);
    const struct glint_rdd before = *rdd;
    memset(rdd, 0, sizeof *rdd);
    rdd->g = g;
    rdd->id = before.id;
    rdd->op = before.op;
    rdd->schema = before.schema;
    rdd->released = true;
    if (g->freed == NULL)
        g->freed = rdd;
    else
        g->freed_last->next = rdd;
    g->freed_last = rdd;
    g->freed_count++;
}

/* With a list: recursion would be as deep as the lineage. */
static void free_dead_rdds(struct glint_rdd *dead)
{
    while (dead != NULL) {
        struct glint_rdd *rdd = dead;
        dead = rdd->next;
        free_rdd(rdd, &dead);
    }
}

/* Frees the RDD with its last reference, then those that only it needed. */
static void rdd_unref(struct glint_rdd *rdd)
{
    struct glint_rdd *dead = NULL;
    unref_rdd_into_dead(rdd, &dead);
    free_dead_rdds(dead);
}

void rdd_cut_lineage(struct glint_rdd *shuffle)
{
    struct glint_rdd *dead = NULL;
    assert(rdd_is_shuffle(shuffle) && shuffle->shuffled && shuffle->counted);
    shuffle->maps = rdd_map_count(shuffle);
    for (uint32_t i = 0; i < shuffle->parent_count && !shuffle->weak_parent; i++)
        unref_rdd_into_dead(shuffle->parents[i], &dead);
    shuffle->parent_count = 0;
    free_dead_rdds(dead);
}

/* The executors may be using what an action needs, and its plan points to RDDs. */
static bool check_release_allowed(struct glint *g, const char *call)
{
    if (!context_failed(g) && g->running > 0)
        error_set(&g->error, GLINT_E_PLAN_LIMIT, "release after the action",
                  "%s is called inside an action's callback", call);
    return !context_failed(g);
}

void glint_release(struct glint_rdd *rdd)
{
    if (rdd == NULL || !check_release_allowed(rdd->g, "glint_release")) return;
    if (rdd_check_usable(rdd, "release") != 0) return;
    rdd->released = true;
    rdd_unref(rdd);
}

/* ---- Broadcasts */

static struct glint_broadcast *broadcast_add(struct glint *g)
{
    struct glint_broadcast *b = g->destroyed;
    if (g->destroyed_count > FREED_KEPT) {
        g->destroyed = b->next;
        g->destroyed_count--;
        memset(b, 0, sizeof *b);
    } else {
        b = alloc_plan_item(g, sizeof *b);
    }
    if (b == NULL) return NULL;
    b->id = g->next_broadcast++;
    b->refs = 1;
    b->next = g->broadcasts;
    g->broadcasts = b;
    return b;
}

static void broadcast_unref(struct glint *g, struct glint_broadcast *b)
{
    assert(b->refs > 0);
    if (--b->refs > 0) return;
    struct glint_broadcast **link = &g->broadcasts;
    while (*link != b) link = &(*link)->next;
    *link = b->next;
    if (g->runner != NULL)
        g->runner->free_broadcast(g->driver, b->id, b->data);
    else
        mem_free(b->data);
    *b = (struct glint_broadcast){.released = true};
    if (g->destroyed == NULL)
        g->destroyed = b;
    else
        g->destroyed_last->next = b;
    g->destroyed_last = b;
    g->destroyed_count++;
}

bool rdd_ref_broadcasts(struct glint_rdd *rdd, const struct glint_args *args)
{
    const uint32_t more = args != NULL ? args->broadcast_count : 0;
    if (more == 0) return true;
    struct glint_broadcast **all =
        rdd_alloc(rdd, sizeof(struct glint_broadcast *) * (rdd->broadcast_count + (uint64_t)more));
    if (all == NULL) return false;
    for (uint32_t i = 0; i < rdd->broadcast_count; i++) all[i] = rdd->broadcasts[i];
    rdd->broadcasts = all;
    for (uint32_t i = 0; i < more; i++) {
        args->broadcasts[i].broadcast->refs++;
        all[rdd->broadcast_count++] = args->broadcasts[i].broadcast;
    }
    return true;
}

void glint_broadcast_destroy(struct glint *g, struct glint_broadcast *b)
{
    if (b == NULL || !check_release_allowed(g, "glint_broadcast_destroy")) return;
    if (b->released) {
        error_set(&g->error, GLINT_E_PLAN_ARGUMENT, "error in the job's plan, not in its input",
                  "a broadcast is destroyed twice");
        return;
    }
    b->released = true;
    broadcast_unref(g, b);
}

/* ---- Scopes */

void glint_begin_scope(struct glint *g)
{
    if (context_failed(g)) return; /* nothing is made any more */
    struct plan_scope *s = alloc_plan_item(g, sizeof *s);
    if (s == NULL) return;
    *s = (struct plan_scope){.outer = g->scope,
                             .depth = g->scope != NULL ? g->scope->depth + 1 : 1,
                             .first_rdd = g->next_rdd,
                             .first_broadcast = g->next_broadcast,
                             .args = g->args};
    g->scope = s;
}

static void args_fini(struct glint_args *a)
{
    packer_fini(&a->pairs);
    mem_free(a->broadcasts);
}

/* First all references end, then what has none is freed: freeing changes the list. */
static void release_rdds_of_scope(struct glint *g, const struct plan_scope *s)
{
    struct glint_rdd *dead = NULL, *next;
    for (struct glint_rdd *rdd = g->rdds; rdd != NULL && rdd->id >= s->first_rdd; rdd = next) {
        next = rdd->next;
        if (rdd->released || rdd->scope != s->depth) continue;
        rdd->released = true;
        unref_rdd_into_dead(rdd, &dead);
    }
    free_dead_rdds(dead);
}

static void release_broadcasts_of_scope(struct glint *g, const struct plan_scope *s)
{
    struct glint_broadcast *b = g->broadcasts, *next;
    for (; b != NULL && b->id >= s->first_broadcast; b = next) {
        next = b->next;
        if (b->released) continue;
        b->released = true;
        broadcast_unref(g, b);
    }
}

struct glint_rdd *glint_end_scope(struct glint *g, struct glint_rdd *keep)
{
    if (!check_release_allowed(g, "glint_end_scope")) return NULL;
    struct plan_scope *s = g->scope;
    if (s == NULL) {
        error_set(&g->error, GLINT_E_PLAN_ARGUMENT, "error in the job's plan, not in its input",
                  "glint_end_scope without glint_begin_scope");
        return NULL;
    }
    if (keep != NULL && rdd_check_usable(keep, "endScope") != 0) return NULL;
    if (keep != NULL && keep->scope == s->depth) keep->scope = s->depth - 1;
    release_rdds_of_scope(g, s);
    release_broadcasts_of_scope(g, s);
    for (; g->args != s->args; g->args = g->args->next) args_fini(g->args);
    g->scope = s->outer;
    arena_fini(&s->arena);
    mem_free(s);
    return keep;
}

/* Frees all RDDs, broadcasts and scopes, without telling the runner. */
static void context_free_plan(struct glint *g)
{
    for (struct glint_rdd *rdd = g->rdds, *next; rdd != NULL; rdd = next) {
        next = rdd->next;
        fini_rdd(rdd);
        mem_free(rdd);
    }
    for (struct glint_rdd *rdd = g->freed, *next; rdd != NULL; rdd = next) {
        next = rdd->next;
        mem_free(rdd);
    }
    for (struct glint_broadcast *b = g->broadcasts, *next; b != NULL; b = next) {
        next = b->next;
        mem_free(b->data);
        mem_free(b);
    }
    for (struct glint_broadcast *b = g->destroyed, *next; b != NULL; b = next) {
        next = b->next;
        mem_free(b);
    }
    for (struct glint_args *a = g->args; a != NULL; a = a->next) args_fini(a);
    while (g->scope != NULL) {
        struct plan_scope *s = g->scope;
        g->scope = s->outer;
        arena_fini(&s->arena);
        mem_free(s);
    }
}

/* ---- Marks RDDs whose records executors keep (executor/store.h). */

struct glint_rdd *glint_persist(struct glint_rdd *rdd, unsigned level)
{
    if (rdd == NULL) return rdd_fail_null("persist");
    if (rdd_check_usable(rdd, "persist") != 0) return NULL;
    if (level == 0 || level > (GLINT_MEMORY | GLINT_DISK))
        return rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT,
                        "persist: the level is GLINT_MEMORY, GLINT_DISK, or both");
    if (rdd->persist != 0 && rdd->persist != level)
        return rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT,
                        "persist: it is persisted with another level: unpersist it first");
    rdd->persist = level;
    return rdd;
}

struct glint_rdd *glint_cache(struct glint_rdd *rdd)
{
    if (rdd == NULL) return rdd_fail_null("cache");
    return glint_persist(rdd, GLINT_MEMORY);
}

struct glint_rdd *glint_unpersist(struct glint_rdd *rdd)
{
    if (rdd == NULL) return rdd_fail_null("unpersist");
    if (rdd_check_usable(rdd, "unpersist") != 0) return NULL;
    if (rdd->persist != 0 && rdd->g->runner != NULL) rdd->g->runner->unpersist(rdd->g->driver, rdd);
    rdd->persist = 0;
    return rdd;
}

const char *persist_level_name(unsigned level)
{
    static const char *const names[] = {[GLINT_MEMORY] = "memory",
                                        [GLINT_DISK] = "disk",
                                        [GLINT_MEMORY | GLINT_DISK] = "memory and disk"};
    assert(level > 0 && level < sizeof names / sizeof names[0]);
    return names[level];
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

void *scope_alloc(struct glint *g, uint64_t size)
{
    void *block = arena_alloc(g->scope != NULL ? &g->scope->arena : &g->arena, size);
    if (block == NULL)
        error_no_memory(&g->error);
    else
        memset(block, 0, size);
    return block;
}

struct glint_slice scope_copy_slice(struct glint *g, struct glint_slice s)
{
    uint8_t *copy = scope_alloc(g, s.size + 1);
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
    void *block = mem_grow(NULL, 0, mem_round_up_to_huge_pages(size));
    if (block == NULL) error_no_memory(&g->error);
    return block;
}

void glint_free(void *data)
{
    mem_free(data);
}

void *glint_context_alloc(struct glint *g, uint64_t size)
{
    void *data = arena_alloc(&g->arena, size);
    if (data == NULL) error_no_memory(&g->error);
    return data;
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

/* Lives as long as the context, in contrast to memory of scope_alloc. */
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

/* Returns false if the warning was printed before. */
static bool remember_warning_if_new(struct glint *g, const char *line)
{
    for (uint32_t i = 0; i < g->warned_count; i++)
        if (strcmp(g->warned[i], line) == 0) return false;
    const char *copy = g->warned_count < CONTEXT_WARNINGS_MAX ? copy_context_text(g, line) : NULL;
    if (copy != NULL) g->warned[g->warned_count++] = copy;
    return true;
}

void glint_warn(struct glint *g, const char *format, ...)
{
    char line[1024] = "warning: ";
    size_t used = strlen(line);
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, sizeof line - used, format, args);
    va_end(args);
    if (g->config.note != NULL && remember_warning_if_new(g, line))
        g->config.note(g->config.note_arg, line);
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

void context_set_hint_of_saved_output(struct glint *g, const char *paths)
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

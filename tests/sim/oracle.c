/* The oracle: an independent model of the driver. It sees every message between the driver and the
 * executors before it is handled, and checks what the driver sends. It is written from the
 * documented guarantees and not from the scheduler's code: which executors may get a task, which
 * outcome of a task counts, where each map output is, what was sent to an executor, how often a
 * task has failed. From the driver it only uses the structure of the running action: which stage
 * reads which shuffles. */
#include "tests/sim/oracle_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void oracle_create(struct sim *s)
{
    s->oracle = calloc(1, sizeof *s->oracle);
    if (s->oracle == NULL) abort();
    s->oracle->action = UINT32_MAX;
}

void oracle_destroy(struct sim *s)
{
    struct oracle *o = s->oracle;
    for (uint32_t i = 0; i < STAGES_MAX; i++) free(o->stages[i].tasks);
    for (uint32_t i = 0; i < SHUFFLES_MAX; i++) {
        free(o->shuffles[i].locations);
        free(o->shuffles[i].available);
    }
    for (uint32_t i = 0; i < o->accepted_count; i++) free(o->accepted[i]);
    for (uint32_t i = 0; i < o->part_count; i++) free(o->parts[i]);
    free(o->running);
    free(o);
    s->oracle = NULL;
}

/* ---- The model */

struct oracle_task_state *oracle_task(struct sim *s, uint32_t stage, uint32_t task)
{
    const struct action_run *a = s->driver->action_run;
    struct oracle *o = s->oracle;
    if (stage >= STAGES_MAX) abort();
    struct oracle_stage *st = &o->stages[stage];
    if (st->tasks == NULL) {
        st->count = a->stages[stage - a->first_stage].tasks;
        st->tasks = calloc(st->count, sizeof *st->tasks);
        if (st->tasks == NULL) abort();
    }
    assert(task < st->count);
    return &st->tasks[task];
}

static struct oracle_shuffle *shuffle_of(struct sim *s, uint32_t id, uint32_t maps)
{
    if (id >= SHUFFLES_MAX) abort();
    struct oracle_shuffle *sh = &s->oracle->shuffles[id];
    if (sh->locations == NULL) {
        sh->maps = maps;
        sh->locations = calloc(maps + 1, sizeof *sh->locations);
        sh->available = calloc(maps + 1, sizeof *sh->available);
        if (sh->locations == NULL || sh->available == NULL) abort();
    }
    assert(sh->maps == maps);
    return sh;
}

static uint32_t *sent_version(struct sim *s, const struct sim_executor *e, uint32_t shuffle)
{
    assert(shuffle < SHUFFLES_MAX);
    return &s->oracle->sent_version[e->number][shuffle];
}

static uint32_t running_on(const struct oracle *o, uint32_t executor, bool queued)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < o->running_count; i++)
        count += o->running[i].executor == executor && (o->running[i].queue != 0) == queued;
    return count;
}

/* The attempt has ended; the first one queued on its executor starts. */
static struct oracle_attempt remove_attempt(struct oracle *o, uint32_t i, uint64_t now)
{
    const struct oracle_attempt over = o->running[i];
    struct oracle_attempt *first = NULL;
    o->running[i] = o->running[--o->running_count];
    for (uint32_t k = 0; over.queue == 0 && k < o->running_count; k++) {
        struct oracle_attempt *r = &o->running[k];
        if (r->executor != over.executor || r->queue == 0) continue;
        if (first == NULL || r->queue < first->queue) first = r;
    }
    if (first != NULL) {
        first->queue = 0;
        first->start = now;
    }
    return over;
}

static void new_action(struct sim *s)
{
    struct oracle *o = s->oracle;
    const struct action_run *a = s->driver->action_run;
    if (a == NULL || a->number == o->action) {
        oracle_reachability_begin(s);
        return;
    }
    o->action = a->number;
    s->counts.actions++;
    memset(o->failures_in_row, 0, sizeof o->failures_in_row);
    memset(o->has_lost_outputs, 0, sizeof o->has_lost_outputs);
    o->running_count = 0; /* attempts of the previous action may still run; they do not count */
    o->process_died = o->scheduled = false;
    memset(o->excluded, 0, sizeof o->excluded);
    oracle_reachability_begin(s);
}

/* ---- Nodes */

static bool usable(const struct sim *s, uint32_t node)
{
    for (uint32_t i = 0; i < s->executor_count; i++) {
        const struct sim_executor *e = s->executors[i];
        if (e->node == node && e->connected && !e->drain_known) return true;
    }
    return false;
}

static bool is_bad(const struct sim *s, uint32_t node)
{
    for (uint32_t i = 0; i < s->executor_count; i++)
        if (s->executors[i]->node == node && s->executors[i]->connected && s->oracle->excluded[i])
            return true;
    return s->oracle->failures_in_row[node] >= SCHED_NODE_FAILURES_MAX;
}

/* Whether the node may get tasks: it is not excluded, or all usable nodes are. */
static bool node_accepts_tasks(const struct sim *s, uint32_t node)
{
    if (!usable(s, node)) return false;
    if (!is_bad(s, node)) return true;
    for (uint32_t n = 0; n < s->node_count; n++)
        if (usable(s, n) && !is_bad(s, n)) return false;
    return true;
}

static bool failed_there(const struct oracle_task_state *t, uint32_t node)
{
    for (uint32_t i = 0; i < t->failures && i < TASK_ATTEMPTS_MAX; i++)
        if (t->failed_on[i] == node) return true;
    return false;
}

/* ---- Messages from the driver */

static void check_node(struct sim *s, const struct sim_executor *e, const struct message *m,
                       const struct oracle_task_state *t)
{
    if (!node_accepts_tasks(s, e->node)) sim_fail(s, "excluded node %u got a task", e->node);
    bool other = false;
    for (uint32_t n = 0; n < s->node_count && t->failures > 0; n++)
        other = other || (node_accepts_tasks(s, n) && !failed_there(t, n));
    if (other && failed_there(t, e->node))
        sim_fail(s, "task %u of stage %u was sent again to a node where it failed", m->task,
                 m->stage);
}

/* The executor must have the current locations of all map outputs that the stage reads. */
static void check_inputs(struct sim *s, const struct sim_executor *e, const struct message *m)
{
    const struct action_run *a = s->driver->action_run;
    const struct stage_run *stage = &a->stages[m->stage - a->first_stage];
    for (uint32_t i = 0; i < stage->parent_count; i++) {
        const struct stage_run *parent = &a->stages[stage->parents[i]];
        uint32_t id = parent->shuffle->id;
        const struct oracle_shuffle *sh = shuffle_of(s, id, parent->tasks);
        for (uint32_t map = 0; map < sh->maps; map++)
            if (!sh->available[map])
                sim_fail(s, "stage %u started without map output %u of shuffle %u", m->stage, map,
                         id);
        if (*sent_version(s, e, id) != sh->version + 1)
            sim_fail(s, "executor %u has outdated locations of shuffle %u", e->number, id);
    }
}

static void sent_task(struct sim *s, const struct sim_executor *e, const struct message *m)
{
    struct oracle *o = s->oracle;
    struct oracle_task_state *t = oracle_task(s, m->stage, m->task);
    if (!e->connected || e->drain_known || e->suspect)
        sim_fail(s, "executor %u got a task while %s", e->number,
                 !e->connected ? "lost"
                 : e->suspect  ? "suspect"
                               : "draining");
    uint32_t slots = s->nodes[e->node].slots;
    bool queued = running_on(o, e->number, false) >= slots;
    if (queued && (o->process_died || running_on(o, e->number, true) >= PREFETCH * slots))
        sim_fail(s, "executor %u got a task beyond its slots and prefetch limit", e->number);
    s->counts.queued += queued;
    if (t->done || s->driver->action_run->over)
        sim_fail(s, "task %u of stage %u was sent after it finished", m->task, m->stage);
    if (m->attempt < t->next_attempt)
        sim_fail(s, "attempt number %u of task %u was used twice", m->attempt, m->task);
    t->next_attempt = m->attempt + 1;
    uint32_t speculative_copies = 0;
    for (uint32_t i = 0; i < o->running_count; i++) {
        const struct oracle_attempt *r = &o->running[i];
        if (r->superseded || r->stage != m->stage || r->task != m->task) continue;
        speculative_copies++;
        if (s->executors[r->executor]->node == e->node)
            sim_fail(s, "a speculative copy on the same node");
    }
    s->counts.speculative_copies += speculative_copies;
    if (speculative_copies > (s->cluster.speculate ? 1 : 0))
        sim_fail(s, "task %u of stage %u has too many attempts", m->task, m->stage);
    check_node(s, e, m, t);
    check_inputs(s, e, m);
    if (o->running_count == o->running_capacity) {
        o->running_capacity = o->running_capacity * 2 + 16;
        o->running = realloc(o->running, sizeof *o->running * o->running_capacity);
        if (o->running == NULL) abort();
    }
    o->running[o->running_count++] = (struct oracle_attempt){m->stage,
                                                             m->task,
                                                             m->attempt,
                                                             e->number,
                                                             o->stages[m->stage].stage_attempt,
                                                             false,
                                                             queued ? ++o->last_queue : 0,
                                                             s->now};
}

/* MAP_OUTPUTS must contain available outputs only, with their correct locations. */
static void sent_outputs(struct sim *s, const struct sim_executor *e, const struct message *m)
{
    struct map_output_location *locations = NULL;
    struct glint_error error = {.code = GLINT_OK};
    uint32_t count = 0;
    if (map_outputs_decode((struct glint_slice){m->body.data, m->body.size}, &locations, &count,
                           &error))
        abort();
    const struct oracle_shuffle *sh = shuffle_of(s, (uint32_t)m->id, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct map_output_location *p = &locations[i], *right = &sh->locations[i];
        if (!sh->available[i] || p->executor != right->executor || p->attempt != right->attempt)
            sim_fail(s, "wrong location of map output %u of shuffle %u: executor %u, attempt %u", i,
                     (unsigned)m->id, p->executor, p->attempt);
    }
    mem_free(locations);
    *sent_version(s, e, (uint32_t)m->id) = sh->version + 1;
}

/* KILL must name an attempt that runs or is queued on the executor. */
static void sent_kill(struct sim *s, const struct sim_executor *e, const struct message *m)
{
    const struct oracle *o = s->oracle;
    bool found = false;
    for (uint32_t i = 0; i < o->running_count; i++) {
        const struct oracle_attempt *r = &o->running[i];
        found = found || (r->executor == e->number && r->stage == m->stage && r->task == m->task &&
                          r->number == m->attempt && (m->id == KILL_ALWAYS || r->queue != 0));
    }
    *(m->id == KILL_ALWAYS ? &s->counts.kills : &s->counts.revoked) += 1;
    if (!found)
        sim_fail(s, "KILL for attempt %u of task %u, which is not running", m->attempt, m->task);
}

void oracle_sent(struct sim *s, const struct sim_executor *e, const struct message *m)
{
    new_action(s);
    if (m->type == MSG_TASK) sent_task(s, e, m);
    if (m->type == MSG_MAP_OUTPUTS) sent_outputs(s, e, m);
    if (m->type == MSG_KILL) sent_kill(s, e, m);
}

/* ---- Messages from executors */

static void supersede_others(struct oracle *o, uint32_t stage, uint32_t task)
{
    for (uint32_t i = 0; i < o->running_count; i++)
        if (o->running[i].stage == stage && o->running[i].task == task)
            o->running[i].superseded = true;
}

static void remember(struct sim *s, char **names, uint32_t *count, const char *text, size_t size)
{
    for (uint32_t i = 0; i < *count; i++)
        if (strlen(names[i]) == size && memcmp(names[i], text, size) == 0)
            sim_fail(s, "%.*s was accepted twice", (int)size, text);
    if (*count == NAMES_MAX) abort();
    names[*count] = strndup(text, size);
    if (names[(*count)++] == NULL) abort();
}

static void on_task_done(struct sim *s, const struct sim_executor *e, const struct message *m)
{
    struct oracle *o = s->oracle;
    const struct action_run *a = s->driver->action_run;
    const struct stage_run *stage = &a->stages[m->stage - a->first_stage];
    oracle_task(s, m->stage, m->task)->done = true;
    supersede_others(o, m->stage, m->task);
    o->stages[m->stage].stage_attempts_failed = 0;
    o->failures_in_row[e->node] = 0;
    if (a->over) return;
    if (stage->shuffle != NULL) {
        struct oracle_shuffle *sh = shuffle_of(s, stage->shuffle->id, stage->tasks);
        if (sh->available[m->task]) sim_fail(s, "map output %u was already available", m->task);
        sh->locations[m->task] = (struct map_output_location){e->number, m->attempt};
        sh->available[m->task] = true;
        sh->version++;
        s->counts.outputs++;
    } else if (a->commit_count > 0) {
        const char *begin = (const char *)m->body.data;
        char name[256];
        snprintf(name, sizeof name, "%u/%.*s", a->number, (int)m->body.size, begin);
        remember(s, o->accepted, &o->accepted_count, name, strlen(name));
    }
}

static void count_failure(struct sim *s, const struct oracle_attempt *r, enum glint_code code)
{
    const struct action_run *a = s->driver->action_run;
    if (a == NULL || a->over) return; /* the action has ended: failures do not count */
    struct oracle_task_state *t = oracle_task(s, r->stage, r->task);
    s->counts.own_failures++;
    if (t->failures < TASK_ATTEMPTS_MAX)
        t->failed_on[t->failures] = s->executors[r->executor]->node;
    if (++t->failures == TASK_ATTEMPTS_MAX) {
        s->seen.exhausted = code;
        supersede_others(s->oracle, r->stage, r->task);
    }
}

static void on_task_failed(struct sim *s, const struct sim_executor *e, const struct message *m,
                           const struct oracle_attempt *r)
{
    struct oracle *o = s->oracle;
    struct oracle_stage *stage = &o->stages[m->stage];
    enum glint_code code = m->error->code;
    if (code == GLINT_E_INTERRUPTED) return;
    if (code == GLINT_E_FETCH_FAILED) {
        oracle_fetch_failed(s, m, r);
        if (r->stage_attempt != stage->stage_attempt) return;
        stage->stage_attempt++;
        if (++stage->stage_attempts_failed >= STAGE_ATTEMPTS_MAX)
            s->seen.stage_attempts_exhausted = true;
    } else if (error_is_retryable(code)) {
        if (++o->failures_in_row[e->node] == SCHED_NODE_FAILURES_MAX)
            s->counts.excluded_for_failures++;
        count_failure(s, r, code);
    } else {
        s->seen.fatal = code;
    }
}

void oracle_received(struct sim *s, const struct sim_executor *e, const struct message *m)
{
    struct oracle *o = s->oracle;
    const struct action_run *a = s->driver->action_run;
    new_action(s);
    if (a == NULL || m->stage - a->first_stage >= a->stage_count) return; /* of an earlier action */
    for (uint32_t i = 0; i < o->running_count; i++) {
        const struct oracle_attempt r = o->running[i];
        if (r.stage != m->stage || r.task != m->task || r.number != m->attempt ||
            r.executor != e->number)
            continue;
        remove_attempt(o, i, s->now);
        if (r.superseded) return;
        if (m->type == MSG_DONE)
            on_task_done(s, e, m);
        else
            on_task_failed(s, e, m, &r);
        return;
    }
}

void oracle_lost(struct sim *s, const struct sim_executor *e, enum executor_loss_reason loss)
{
    struct oracle *o = s->oracle;
    new_action(s);
    const struct action_run *a = s->driver->action_run;
    s->seen.losses += loss != LOSS_DRAINED;
    if (s->seen.losses > EXECUTOR_FAILURES_MAX && a != NULL && !a->over)
        s->seen.too_many_losses = true;
    bool exit_caused_by_task = loss == LOSS_SIGNALED && running_on(o, e->number, false) > 0;
    o->process_died = o->process_died || loss == LOSS_SIGNALED;
    if (exit_caused_by_task && ++o->failures_in_row[e->node] == SCHED_NODE_FAILURES_MAX)
        s->counts.excluded_for_failures++;
    for (uint32_t i = o->running_count; i-- > 0;) {
        const struct oracle_attempt r = o->running[i];
        if (r.executor != e->number) continue;
        o->running[i] = o->running[--o->running_count];
        if (r.superseded || !exit_caused_by_task || r.queue != 0) continue;
        s->counts.blamed++;
        count_failure(s, &r, GLINT_E_EXECUTOR_LOST);
    }
    for (uint32_t id = 0; id < SHUFFLES_MAX; id++)
        for (uint32_t map = 0; map < o->shuffles[id].maps; map++)
            if (o->shuffles[id].available[map] &&
                o->shuffles[id].locations[map].executor == e->number)
                oracle_output_lost(s, id, map);
    oracle_reachability_lost(s, e);
}

void oracle_committed(struct sim *s, int dir, const char *from, const char *to)
{
    struct oracle *o = s->oracle;
    const struct action_run *a = s->driver->action_run;
    const char *name = strrchr(from, '/');
    if (name == NULL || strstr(name, COMMIT_ATTEMPT_MARK) == NULL) return;
    char full[256], part[2 * PATH_MAX];
    bool known = false;
    snprintf(full, sizeof full, "%u/%s", a->number, name + 1);
    for (uint32_t i = 0; i < o->accepted_count; i++)
        known = known || strcmp(o->accepted[i], full) == 0;
    if (!known) sim_fail(s, "%s was committed, but is not the first attempt", full);
    const struct commit *c = NULL;
    for (uint32_t i = 0; i < a->commit_count; i++)
        if (a->commits[i]->lock.dir == dir) c = a->commits[i];
    if (c == NULL) sim_fail(s, "%s was committed to an output of another action", to);
    snprintf(part, sizeof part, "%s/%s", c != NULL ? c->hidden : "", to);
    remember(s, o->parts, &o->part_count, part, strlen(part));
}

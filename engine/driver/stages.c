/* The stages of the running action: every shuffle above it, those that are complete too, because an
 * executor that is lost takes its map outputs along; then the action itself. */
#include "engine/driver/internal.h"
#include "engine/driver/journal.h"
#include "engine/net/cluster.h"

#include <assert.h>

uint32_t active_partition(const struct active *a, uint32_t stage, uint32_t task)
{
    assert(stage < a->stage_count && task < a->stages[stage].tasks);
    bool chosen = a->stages[stage].wide == NULL && a->action->partitions != NULL;
    return chosen ? a->action->partitions[task] : task;
}

static struct glint_rdd *stage_top(const struct active *a, uint32_t number)
{
    struct glint_rdd *wide = a->stages[number].wide;
    return wide != NULL ? wide->parents[0] : a->action->rdd;
}

static int add_parent(void *arg, struct glint_rdd *wide)
{
    struct active *a = ((void **)arg)[0];
    struct active_stage *stage = ((void **)arg)[1];
    for (uint32_t i = 0; i + 1 < a->stage_count; i++)
        if (a->stages[i].wide == wide) stage->parents[stage->parent_count++] = i;
    return 0;
}

/* A shuffle's stage: its table of outputs, without those on executors that are lost. */
static int fill_shuffle(struct driver *d, struct active_stage *stage, struct glint_rdd *wide)
{
    stage->wide = wide;
    stage->number = plan_stage_number(d, wide);
    stage->tasks = wide->parents[0]->partitions;
    stage->outputs = outputs_of(&d->outputs, wide->id, stage->tasks, wide->partitions);
    if (stage->outputs == NULL) return error_no_memory(driver_error(d));
    for (uint32_t t = 0; t < stage->tasks; t++) stage->todo += !stage->outputs->there[t];
    stage->counts = !wide->shuffled;
    return 0;
}

static int fill_last(struct driver *d, struct active_stage *stage)
{
    struct active *a = d->active;
    uint32_t all = a->action->rdd->partitions;
    stage->tasks = stage->todo = a->action->partitions != NULL ? a->action->partition_count : all;
    stage->number = plan_stage_number(d, NULL);
    stage->counts = true;
    a->results = mem_zalloc(sizeof *a->results * stage->tasks);
    return a->results != NULL ? 0 : error_no_memory(driver_error(d));
}

static int find_parents(struct driver *d, uint32_t number)
{
    struct active *a = d->active;
    struct active_stage *stage = &a->stages[number];
    stage->parents = mem_alloc(sizeof *stage->parents * a->stage_count);
    if (stage->parents == NULL) return error_no_memory(driver_error(d));
    void *arg[] = {a, stage};
    return stage_shuffles(stage_top(a, number), add_parent, arg);
}

int stages_build(struct driver *d)
{
    struct active *a = d->active;
    struct glint_rdd **wides = NULL;
    uint32_t count = 0;
    int r = plan_shuffles(a->action->rdd, true, &wides, &count);
    if (r == 0) a->stages = mem_zalloc(sizeof *a->stages * (count + 1));
    if (r == 0 && a->stages == NULL) r = error_no_memory(driver_error(d));
    if (r == 0) a->stage_count = count + 1;
    for (uint32_t i = 0; i < count && r == 0; i++) r = fill_shuffle(d, &a->stages[i], wides[i]);
    mem_free(wides);
    if (r == 0) r = fill_last(d, &a->stages[count]);
    for (uint32_t i = 0; i <= count && r == 0; i++) r = find_parents(d, i);
    if (r != 0) return r;
    assert(a->stages[count].wide == NULL); /* the action's own stage is the last */
    a->first_stage = d->next_stage;
    d->next_stage += a->stage_count;
    return 0;
}

void stages_fini(struct active *a)
{
    for (uint32_t i = 0; i < a->stage_count; i++) {
        mem_free(a->stages[i].parents);
        buffer_fini(&a->stages[i].plan);
    }
    for (uint32_t i = 0; a->results != NULL && i < a->stages[a->stage_count - 1].tasks; i++) {
        buffer_fini(&a->results[i].body);
        buffer_fini(&a->results[i].counters);
    }
    mem_free(a->results);
    mem_free(a->stages);
}

/* Encoded once; executors that need it are sent copies of the bytes. */
static int plan_encode(struct driver *d, uint32_t number)
{
    struct active *a = d->active;
    struct active_stage *stage = &a->stages[number];
    struct stage_plan plan;
    int r = stage_from_plan(&plan, stage->wide != NULL ? NULL : a->action, stage->wide);
    for (uint32_t i = 0; i < a->commit_count && stage->wide == NULL && r == 0; i++)
        r = stage_add_output(&plan, a->commits[i]->attempts, driver_error(d));
    if (r == 0) {
        plan_stage_name(&plan, stage->name, sizeof stage->name);
        plan_stage_functions(&plan, stage->functions, sizeof stage->functions);
        r = stage_encode(&plan, &stage->plan, driver_error(d));
    }
    stage_fini(&plan);
    return r;
}

static bool add_members(struct driver *d)
{
    for (uint32_t e = 0; e < d->member_count; e++) {
        const struct member *m = &d->members[e];
        if (!sched_add_executor(d->active->sched, m->node, m->slots, sched_ahead(m->slots)))
            return false;
        if (m->lost) sched_on_executor_lost(d->active->sched, e, false, false);
        if (!m->lost && m->draining) sched_on_draining(d->active->sched, e);
        if (!m->lost && m->silent) sched_on_silent(d->active->sched, e, true);
    }
    return members_begin(d, d->active->stage_count);
}

/* Stages that have nothing to do, and whose outputs one reads that has. */
static void find_skipped(struct driver *d)
{
    struct active *a = d->active;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        const struct active_stage *stage = &a->stages[i];
        for (uint32_t p = 0; stage->todo > 0 && p < stage->parent_count; p++) {
            struct active_stage *parent = &a->stages[stage->parents[p]];
            if (parent->counts || parent->todo > 0 || !sched_stage_needed(a->sched, i)) continue;
            d->tally.stages_skipped += !parent->skipped;
            parent->skipped = true;
        }
    }
}

int stages_schedule(struct driver *d)
{
    struct active *a = d->active;
    int r = 0;
    const struct cluster *cluster = d->g->config.cluster;
    for (uint32_t i = 0; i < a->stage_count && r == 0; i++) r = plan_encode(d, i);
    if (r != 0) return r;
    a->sched = sched_create(cluster != NULL && cluster->speculate);
    bool ok = a->sched != NULL && add_members(d);
    for (uint32_t i = 0; ok && i < a->stage_count; i++) {
        struct active_stage *stage = &a->stages[i];
        ok = sched_add_stage(a->sched, stage->tasks, stage->parents, stage->parent_count);
        for (uint32_t t = 0; ok && stage->outputs != NULL && t < stage->tasks; t++) {
            struct output_place place = stage->outputs->places[t];
            if (stage->outputs->there[t])
                sched_set_done(a->sched, i, t, place.executor, place.attempt);
        }
        stage->ended = ok && !stage->counts && stage->todo == 0 && stage->wide != NULL;
    }
    if (!ok) return error_no_memory(driver_error(d));
    find_skipped(d);
    return fetch_faults_begin(d);
}

/* Tasks of stages that read one shuffle, partition by partition, like to be where most of it is. */
static int prefer(struct driver *d, uint32_t parent)
{
    struct active *a = d->active;
    const struct outputs *o = a->stages[parent].outputs;
    uint64_t *scratch = mem_zalloc(sizeof *scratch * d->member_count);
    if (scratch == NULL) return error_no_memory(driver_error(d));
    for (uint32_t i = parent + 1; i < a->stage_count; i++) {
        struct active_stage *stage = &a->stages[i];
        if (stage->parent_count != 1 || stage->parents[0] != parent) continue;
        for (uint32_t t = 0; t < stage->tasks; t++) {
            uint32_t partition = active_partition(a, i, t), by, attempt;
            if (partition >= o->partitions || sched_output(a->sched, i, t, &by, &attempt)) continue;
            uint32_t best = outputs_preferred(o, partition, d->member_count, scratch);
            if (best != UINT32_MAX) sched_prefer(a->sched, i, t, best);
        }
    }
    mem_free(scratch);
    return 0;
}

int stage_begin(struct driver *d, uint32_t place)
{
    struct active_stage *stage = &d->active->stages[place];
    assert(!stage->begun); /* it may have ended: what it had made was lost since */
    stage->begun = true;
    stage->begun_ns = d->env->now_ns(d->env);
    stage->bytes_before = (uint64_t)tally_value(&d->tally, "bytes read");
    journal_stage(d, place);
    if (!stage->counts || tally_stage(&d->tally, stage->number, stage->name, stage->tasks))
        return 0;
    return error_no_memory(driver_error(d));
}

static int stage_end(struct driver *d, uint32_t number)
{
    struct active *a = d->active;
    struct active_stage *stage = &a->stages[number];
    assert(!stage->ended && sched_stage_done(a->sched, number));
    int r = !stage->begun && stage->counts ? stage_begin(d, number) : 0; /* without tasks */
    if (r != 0) return r;
    stage->ended = true;
    journal_stage_end(d, number);
    if (stage->counts)
        tally_stage_end(&d->tally, stage->number, d->env->now_ns(d->env) - stage->begun_ns);
    if (stage->wide == NULL) return 0;
    stage->wide->shuffled = true;
    return d->member_count > 1 ? prefer(d, number) : 0;
}

void stages_close(struct driver *d)
{
    const struct active *a = d->active;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        const struct active_stage *stage = &a->stages[i];
        if (!stage->begun || stage->ended || !stage->counts) continue;
        tally_stage_end(&d->tally, stage->number, d->env->now_ns(d->env) - stage->begun_ns);
    }
}

int stages_end(struct driver *d)
{
    struct active *a = d->active;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        if (a->stages[i].ended || !sched_stage_done(a->sched, i)) continue;
        int r = stage_end(d, i);
        if (r != 0) return r;
        results_report_progress(d, i);
    }
    return 0;
}

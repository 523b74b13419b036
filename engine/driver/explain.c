/* `glint explain`: each action shows its stages, numbered and named as in a run. Except on side
 * files it is not run, and the job gets an empty result. What the job then does may differ from a
 * real run, so the plan shows which stages depend on an empty result. */
#include "engine/base/path.h"
#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"
#include "engine/input/input.h"
#include "engine/plan/stage_plan.h"

#include <assert.h>

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
static bool set_step_reads(struct stage_plan *s, const struct stage_node *n,
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
               set_step_reads(s, n, plan_find_rdd(g, n->rdd), root, &steps[i]);
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

/* `glint explain`: actions show their stages as a run would number and name them, and are not run.
 * What the job does after an empty result may differ from a run: the plan says where. */
#include "engine/base/text.h"
#include "engine/driver/internal.h"

#include <stdio.h>

static const struct glint_rdd *find_rdd(const struct glint *g, uint32_t id)
{
    const struct glint_rdd *rdd = g->rdds;
    while (rdd != NULL && rdd->id != id) rdd = rdd->next;
    return rdd;
}

/* A line of a plan; what does not fit is cut. */
struct line {
    char text[1024];
    size_t used;
};

static void line_add(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line_add(struct line *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(l->text + l->used, sizeof l->text - l->used, format, args);
    va_end(args);
    if (n > 0) l->used += (size_t)n;
    if (l->used >= sizeof l->text) l->used = sizeof l->text - 1;
}

static void add_unrun(struct line *l, const char *what, const struct unrun *u)
{
    line_add(l, "%s the result of %s (stage %u)", what, u->by->name, u->stage);
}

static void explain_node(struct glint *g, const struct stage_node *n, bool root)
{
    const struct glint_rdd *rdd = find_rdd(g, n->rdd); /* NULL: an action's node */
    struct line l = {.used = 0};
    const bool wide = n->op->kind == OP_WIDE;
    line_add(&l, "  %s%s", n->op->name, !wide ? "" : root ? " (write)" : " (read)");
    if (rdd != NULL && rdd->header) line_add(&l, " (without headers)");
    if (rdd != NULL && rdd->estimated)
        line_add(&l, " (an estimate of its tasks: lines are not counted)");
    if (n->fn != NULL) line_add(&l, " %s", n->fn->name);
    if (wide && !root && rdd->stage > 0) line_add(&l, " from stage %u", rdd->stage - 1);
    if (wide && root)
        line_add(&l, " into %u partition%s", n->partitions, n->partitions == 1 ? "" : "s");
    if (rdd != NULL && rdd->prepared.by != NULL && root == wide)
        add_unrun(&l, wide ? "; its bounds depend on" : "; depends on", &rdd->prepared);
    glint_note(g, "%s", l.text);
}

/* The stage that makes the outputs of `wide`, or, NULL, the action's own. */
static int explain_stage(const struct action *action, struct glint_rdd *wide, uint32_t number)
{
    struct glint *g = action->rdd->g;
    const struct glint_rdd *top = wide != NULL ? wide->parents[0] : action->rdd;
    const bool chosen = wide == NULL && action->partitions != NULL;
    const uint32_t tasks = chosen ? action->partition_count : top->partitions;
    char bytes[TEXT_NUMBER_MAX], name[NAME_BYTES_MAX];
    struct stage_plan s;
    int r = stage_from_plan(&s, wide != NULL ? NULL : action, wide, NULL);
    if (r == 0) {
        struct line l = {.used = 0};
        text_bytes(bytes, top->input_bytes);
        plan_stage_name(&s, name, sizeof name);
        line_add(&l, "stage %u %s: %u", number, name, tasks);
        if (tasks != top->partitions) line_add(&l, " of %u", top->partitions);
        glint_note(g, "%s task%s, input %s", l.text, top->partitions == 1 ? "" : "s", bytes);
    }
    for (uint32_t i = 0; r == 0 && i < s.node_count; i++)
        explain_node(g, &s.nodes[i], i + 1 == s.node_count);
    stage_fini(&s);
    return r;
}

static void explain_heading(const struct action *action, bool unrun)
{
    struct glint *g = action->rdd->g;
    if (action->output != NULL)
        glint_note(g, "%s %s", action->op->name, action->output);
    else
        glint_note(g, "%s, %s", action->op->name,
                   !unrun             ? "of a side file, which is run"
                   : action->internal ? "not run"
                                      : "not run: its result is empty here");
    if (g->empty_results == 0) return;
    struct line l = {.used = 0};
    add_unrun(&l, "depends on", &g->empty);
    if (g->empty_results > 1)
        line_add(&l, " and of %u action%s before it", g->empty_results - 1,
                 g->empty_results == 2 ? "" : "s");
    glint_note(g, "%s", l.text);
}

int explain_begin(struct driver *d, const struct action *action)
{
    struct glint *g = d->g;
    driver_check_clock(d);
    if (context_failed(g)) return g->error.code;
    if (g->empty_results < EXPLAIN_ACTIONS_MAX || !rdd_unrun(action->rdd)) return 0;
    return glint_abort(g, GLINT_E_PLAN_LIMIT, NULL,
                       "%u actions had no result, it may wait for one in a loop",
                       EXPLAIN_ACTIONS_MAX);
}

int explain_action(struct driver *d, const struct action *action, bool unrun)
{
    struct glint *g = d->g;
    struct glint_rdd **wides;
    uint32_t count;
    int r = plan_shuffles(action->rdd, false, &wides, &count);
    if (r == 0) explain_heading(action, unrun);
    for (uint32_t i = 0; i < count && r == 0; i++) {
        r = explain_stage(action, wides[i], plan_stage_number(d, wides[i]));
        wides[i]->explained = true;
    }
    mem_free(wides);
    /* One that is run numbers its own stage again. */
    const uint32_t number = unrun ? plan_stage_number(d, NULL) : d->stages_numbered;
    if (r == 0) r = explain_stage(action, NULL, number);
    if (r != 0 || !unrun) return r;
    g->unrun = (struct unrun){action->op, number};
    if (action->output != NULL || action->internal) return 0;
    g->empty = g->unrun;
    g->empty_results++;
    return 0;
}

/* Errors that the job itself sets about its data. A wrong command line, a missing file or a plan
 * that the engine refuses do not follow from an empty result. */
static bool follows_from_empty(const struct glint *g)
{
    const int status = glint_code_exit_status(g->error.code);
    return g->aborted && g->error.code != GLINT_E_USAGE &&
           (status == 1 || status == 64 || status == 65 || status == 70);
}

void explain_end(struct driver *d)
{
    struct glint *g = d->g;
    struct glint_error *e = &g->error;
    const uint32_t n = g->empty_results;
    if (n == 0) return;
    if (e->code == GLINT_OK) {
        glint_note(g, "%u action%s not run: what the job does with %s may differ from this plan", n,
                   n == 1 ? " was" : "s were", n == 1 ? "its result" : "their results");
    } else if (follows_from_empty(g)) {
        glint_note(g,
                   "the plan ends here: the job does not go on without the result of %s (stage "
                   "%u): %s",
                   g->empty.by->name, g->empty.stage, e->cause);
        *e = (struct glint_error){.code = GLINT_OK};
    } else {
        text_format(e->effect, sizeof e->effect,
                    "the job had been given an empty result of %s (stage %u)", g->empty.by->name,
                    g->empty.stage);
    }
}

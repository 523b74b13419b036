/* See plan_steps.h. */
#include "engine/plan/plan_steps.h"

#include "engine/input/input.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

const struct glint_rdd *plan_find_rdd(const struct glint *g, uint32_t id)
{
    const struct glint_rdd *rdd = g->rdds;
    while (rdd != NULL && rdd->id != id) rdd = rdd->next;
    return rdd;
}

void plan_line_add(struct plan_line *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(l->text + l->used, sizeof l->text - l->used, format, args);
    va_end(args);
    if (n > 0) l->used += (size_t)n;
    if (l->used >= sizeof l->text) l->used = sizeof l->text - 1;
}

void plan_line_add_skipped(struct plan_line *l, const char *what, const struct skipped_action *u)
{
    plan_line_add(l, "%s the result of %s (stage %u)", what, u->by->name, u->stage);
}

/* The shuffle's number of partitions is computed from an input of unknown size. */
static bool is_guess(const struct glint_rdd *shuffle)
{
    return shuffle->unsized && shuffle->partitions_inherited == 0 &&
           shuffle->g->config.partitions == 0 && shuffle->partitioner_of == NULL;
}

/* A source that reads outputs of earlier actions, which explain did not run: their paths, and the
 * stages that would save them. */
static void add_unwritten(struct plan_line *l, const struct input_list *inputs)
{
    for (uint32_t i = 0; i < inputs->unwritten_count; i++)
        plan_line_add(l, "%s %s from stage %u", i > 0 ? "," : "", inputs->unwritten[i]->path,
                      inputs->unwritten[i]->stage);
    plan_line_add(l, " (task count estimated: not saved yet)");
}

void plan_step_format(const struct glint *g, const struct stage_node *n, bool root,
                      struct plan_line *l)
{
    const struct glint_rdd *rdd = plan_find_rdd(g, n->rdd); /* NULL: an action's node */
    const bool shuffle = stage_node_is_shuffle(n);
    assert(l->used == 0 && (!shuffle || rdd != NULL));
    plan_line_add(l, "%s", n->op->name);
    if (n->name != NULL) plan_line_add(l, " \"%s\"", n->name);
    if (shuffle) plan_line_add(l, " (%s)", root ? "write" : "read");
    if (n->op->kind == OP_WIDE && n->narrow) plan_line_add(l, " (no shuffle)");
    if (rdd != NULL && rdd->header) plan_line_add(l, " (without headers)");
    if (rdd != NULL && rdd->inputs != NULL && rdd->unsized) add_unwritten(l, rdd->inputs);
    if (rdd != NULL && rdd->estimated)
        plan_line_add(l, " (task count estimated: lines are not counted)");
    if (n->persist != 0 && rdd != NULL)
        plan_line_add(l, " (persisted: %s)", persist_level_name(n->persist));
    if (n->fn != NULL) plan_line_add(l, " %s", n->fn->name);
    if (n->op->describe != NULL) {
        char text[NAME_BYTES_MAX];
        n->op->describe(n->params, text, sizeof text);
        plan_line_add(l, " %s", text);
    }
    if (shuffle && !root && rdd->stage > 0) plan_line_add(l, " from stage %u", rdd->stage - 1);
    if (shuffle && root)
        plan_line_add(l, " into %u partition%s%s", n->partitions, n->partitions == 1 ? "" : "s",
                      is_guess(rdd) ? " (estimated from the input)" : "");
    if (n->dependency.partition_fn != NULL && root)
        plan_line_add(l, " by %s", n->dependency.partition_fn->name);
    if (rdd != NULL && rdd->prepared.by != NULL && root == shuffle)
        plan_line_add_skipped(l, shuffle ? "; its bounds depend on" : "; depends on",
                              &rdd->prepared);
}

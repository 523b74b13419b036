/* Names of operators and functions are the program's own, so they outlive tasks; all else here is
 * read by the thread that has it. */
#include "engine/executor/describe_task.h"

#include "engine/plan/stage.h"

const char *describe_function(struct glint_task *task)
{
    const struct glint_function *f = atomic_load_explicit(&task->function, memory_order_relaxed);
    return f != NULL ? f->name : NULL;
}

static void add_stage(struct crash_text *out, const struct stage_plan *stage)
{
    crash_add(out, " of stage ");
    crash_add(out, stage->nodes[0].op->name);
    if (stage->node_count == 1) return;
    crash_add(out, "..");
    crash_add(out, stage->nodes[stage->node_count - 1].op->name);
}

void describe_task(const struct glint_task *task, const struct message *m, struct crash_text *out)
{
    const struct glint_function *f = atomic_load_explicit(&task->function, memory_order_relaxed);
    const struct glint_origin *origin = task->origin;
    crash_add(out, "task ");
    crash_add_u64(out, m->partition);
    crash_add(out, " (attempt ");
    crash_add_u64(out, m->attempt);
    crash_add(out, ")");
    if (task->stage != NULL) add_stage(out, task->stage);
    crash_add(out, f != NULL ? ", in function " : ", in no function of the job");
    if (f != NULL) crash_add(out, f->name);
    if (origin == NULL || origin->path == NULL) return;
    crash_add(out, ", reading ");
    crash_add(out, origin->path);
    crash_add(out, " from byte ");
    crash_add_u64(out, origin->offset);
    if (origin->compressed) crash_add(out, ", decompressed");
}

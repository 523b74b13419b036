/* Names of operators and functions belong to the program, so they outlive tasks. Everything else
 * here is read by the thread that owns it. */
#include "engine/executor/describe_task.h"

#include "engine/batch.h"
#include "engine/plan/stage_plan.h"

const char *describe_task_function(struct glint_task *task)
{
    const struct glint_function *f = atomic_load_explicit(&task->function, memory_order_relaxed);
    return f != NULL ? f->name : NULL;
}

static void crash_add_stage(struct crash_text *out, const struct stage_plan *stage)
{
    crash_text_append(out, " of stage ");
    crash_text_append(out, stage->nodes[0].op->name);
    if (stage->node_count == 1) return;
    crash_text_append(out, "..");
    crash_text_append(out, stage->nodes[stage->node_count - 1].op->name);
}

void describe_task(const struct glint_task *task, const struct message *m, struct crash_text *out)
{
    const struct glint_function *f = atomic_load_explicit(&task->function, memory_order_relaxed);
    const struct glint_origin *origin = task->origin;
    crash_text_append(out, "task ");
    crash_text_append_u64(out, m->partition);
    crash_text_append(out, " (attempt ");
    crash_text_append_u64(out, m->attempt);
    crash_text_append(out, ")");
    if (task->stage != NULL) crash_add_stage(out, task->stage);
    crash_text_append(out, f != NULL ? ", in function " : ", in no function of the job");
    if (f != NULL) crash_text_append(out, f->name);
    if (origin == NULL || origin->path == NULL) return;
    crash_text_append(out, ", reading ");
    crash_text_append(out, origin->path);
    crash_text_append(out, " from byte ");
    crash_text_append_u64(out, origin->offset);
    if (origin->compression != 0) crash_text_append(out, ", decompressed");
}

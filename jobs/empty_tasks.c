/* empty-tasks: runs tasks that do nothing, to measure the cost of a task. */
#include "jobs/jobs.h"

static int emit_nothing(struct glint_task *task, void *state, const struct glint_record *in,
                        struct glint_emitter *out)
{
    (void)task, (void)state, (void)in, (void)out;
    return 0;
}

static const struct glint_function nothing = {.name = "empty.nothing",
                                              .kind = GLINT_KIND_FLAT_MAP,
                                              .in = {GLINT_ANY, GLINT_ANY},
                                              .out = {GLINT_SAME, GLINT_SAME},
                                              .each = emit_nothing};

static int empty_tasks_run(struct glint *g, const struct glint_job_args *args)
{
    uint32_t tasks = (uint32_t)glint_job_i64(g, args, "tasks", 1, 100000);
    struct glint_schema schema = {GLINT_NONE, GLINT_I64};
    glint_foreach(glint_parallelize(g, schema, NULL, 0, tasks), &nothing, NULL);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {{"tasks", "N", "10000", "number of tasks"},
                                                  {NULL, NULL, NULL, NULL}};

const struct glint_job empty_tasks_job = {.name = "empty-tasks",
                                          .summary = "run empty tasks, to measure their cost",
                                          .options = options,
                                          .functions = {&nothing},
                                          .run = empty_tasks_run};

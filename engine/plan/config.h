/* What a context tells whoever watches it. What it is made of: engine/glint_context.h. */
#ifndef GLINT_PLAN_CONFIG_H
#define GLINT_PLAN_CONFIG_H

#include "engine/base/env.h"
#include "engine/glint.h"

/* Progress of a stage, for display. Driver thread; must not block for long. */
struct progress {
    const char *name; /* of the stage: textFile..reduceByKey */
    uint32_t stage;   /* its number in the job, from 0 */
    uint32_t tasks_done, tasks;
    uint32_t tasks_running;                      /* of all stages */
    uint32_t job_stages, job_tasks, job_retries; /* as in struct glint_summary, so far */
    uint64_t bytes_read, elapsed_ns;             /* since the stage began */
    bool stage_ended;
    bool action_ended; /* its last report: the job's own code runs next. Nothing else counts then */
};

#endif

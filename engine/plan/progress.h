/* What a context tells whoever watches it. What it is made of: engine/glint_context.h. */
#ifndef GLINT_PLAN_PROGRESS_H
#define GLINT_PLAN_PROGRESS_H

#include "engine/base/env.h"
#include "engine/glint.h"

#define PLAN_NONE UINT32_MAX

/* An operator of a stage, for display. */
struct plan_step {
    const char *text;      /* "map words.split" */
    uint32_t parents[2];   /* steps of the same stage whose rows it gets; PLAN_NONE */
    const uint32_t *reads; /* the stages whose shuffle or saved output it reads */
    uint32_t read_count;
};

/* A stage as explain shows it. Texts live as long as the call that brings it. */
struct plan_stage {
    uint32_t number, tasks;
    const char *name;   /* textFile..reduceByKey */
    const char *input;  /* the bytes of all inputs that lead to it: "371 KiB", "not known" */
    const char *action; /* of an action's last stage: "saveAsTextFile out"; NULL */
    uint32_t after;     /* the stage whose result the job has waited for; PLAN_NONE */
    uint32_t step_count;
    const struct plan_step *steps; /* parents before children */
};

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

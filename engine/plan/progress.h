/* What a context reports while it runs: progress, and stages under explain. See struct
 * context_config. */
#ifndef GLINT_PLAN_PROGRESS_H
#define GLINT_PLAN_PROGRESS_H

#include "engine/base/env.h"
#include "engine/glint.h"

#define PLAN_NONE UINT32_MAX

/* An operator of a stage, for display. */
struct plan_step {
    const char *text;      /* "map words.split" */
    uint32_t parents[2];   /* input steps in the same stage; PLAN_NONE */
    const uint32_t *reads; /* numbers of the stages whose shuffle or saved output it reads */
    uint32_t read_count;
};

/* A stage as explain shows it. All but `reads` is valid as long as the context; `reads` and the
 * struct itself until the callback returns. */
struct plan_stage {
    uint32_t number, tasks;
    const char *name;   /* textFile..reduceByKey */
    const char *input;  /* size of all inputs that lead to it: "371 KiB", "unknown" */
    const char *action; /* for an action's last stage: "saveAsTextFile out"; else NULL */
    uint32_t after;     /* the stage whose result the job needed first; PLAN_NONE */
    uint32_t step_count;
    const struct plan_step *steps; /* parents before children */
};

/* Progress of a stage, for display. Reported on the driver thread; the callback must return
 * quickly. */
struct progress {
    const char *name; /* of the stage: textFile..reduceByKey */
    uint32_t stage;   /* its number in the job, from 0 */
    uint32_t tasks_done, tasks;
    uint32_t tasks_running;                      /* of all stages */
    uint32_t job_stages, job_tasks, job_retries; /* so far, as in struct glint_summary */
    uint64_t elapsed_ns;                         /* since the stage started */
    /* Of its finished tasks: input rows (0: it reads no files), and bytes of files or of the map
     * outputs that it reads. `bytes_total`: of all its tasks; 0: unknown. */
    uint64_t rows_read, bytes_read, bytes_total;
    /* Of all persisted RDDs that have been computed. */
    uint32_t cached_rdds, cached_blocks;
    uint64_t cached_memory_bytes, cached_disk_bytes;
    bool stage_ended;
    bool action_ended; /* last report of an action: all other fields are unset */
};

#endif

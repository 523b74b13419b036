/* What the driver's files share. */
#ifndef GLINT_DRIVER_INTERNAL_H
#define GLINT_DRIVER_INTERNAL_H

#include "engine/driver/commit.h"
#include "engine/driver/driver.h"
#include "engine/driver/sched.h"
#include "engine/driver/tally.h"
#include "engine/plan/stage.h"

#include <stdatomic.h>

/* One stage of the running action. */
struct active_stage {
    struct glint_rdd *wide; /* NULL: the action's own stage */
    uint32_t tasks;
    uint64_t begun_ns;
    bool ended;
    char name[NAME_BYTES_MAX];
};

/* What a task of the last stage has answered, until its turn comes. */
struct result {
    struct buffer body, counters;
    bool arrived;
};

/* The running action. */
struct active {
    const struct action *action;
    struct commit *commit; /* of an action that saves */
    struct sched *sched;
    struct active_stage *stages;       /* parents first, the action last */
    uint32_t stage_count, first_stage; /* wire ids are first_stage + number */
    struct result *results;            /* per task of the last stage */
    uint32_t next_result;
    uint64_t held_bytes;
    int64_t bad_rows_before;
    int answer; /* of on_result, if not 0 */
    bool over;  /* ended before its last task: what still comes in counts no more */
};

struct driver {
    struct runner runner; /* first: a runner is cast to its driver */
    struct glint *g;
    struct env *env;
    struct transport transport;
    uint32_t *executor_slots;
    uint32_t executor_count;
    uint32_t next_stage;
    uint64_t job_id, begun_ns, deadline_ns; /* deadline 0: none */
    struct active *active;
    struct commit **commits;
    uint32_t commit_count;
    const char **published;
    struct tally tally;
    struct progress progress;
    atomic_int interrupt; /* a code, from any thread */
};

static inline struct glint_error *driver_error(struct driver *d)
{
    return &d->g->error;
}

/* action.c */
int driver_run(struct runner *runner, const struct action *action);
/* Sets the error of an interrupt or of the deadline, if there is one. */
void driver_check_clock(struct driver *d);

/* announce.c: 0, or a code with the context's error set. */
int announce_broadcasts(struct driver *d);
int announce_stage(struct driver *d, uint32_t number);
int announce_outputs(struct driver *d, uint32_t number);
int announce_cancel(struct driver *d, bool cancel);
/* A stage that cannot be forgotten, for lack of memory, stays until the end. */
void announce_forget(struct driver *d, uint32_t stage);

/* results.c */
/* The partition that a task of a stage works on. */
uint32_t active_partition(const struct active *a, uint32_t stage, uint32_t task);
/* Ends stages whose last task is done, also those that never had one. */
int results_end_stages(struct driver *d);

/* plan_stages.c */
/* The wide RDDs whose map outputs an action still needs, parents first. The caller frees *out. */
int plan_missing_shuffles(struct glint_rdd *rdd, struct glint_rdd ***out, uint32_t *out_count);
/* "textFile..reduceByKey" */
void plan_stage_name(const struct stage_plan *s, char *out, size_t capacity);
/* Notes the plan of an action, stage by stage; runs nothing. */
int plan_explain(const struct action *action);

#endif

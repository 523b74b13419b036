/* What the driver's files share. */
#ifndef GLINT_DRIVER_INTERNAL_H
#define GLINT_DRIVER_INTERNAL_H

#include "engine/driver/commit.h"
#include "engine/driver/driver.h"
#include "engine/driver/outputs.h"
#include "engine/driver/reach.h"
#include "engine/driver/sched.h"
#include "engine/driver/tally.h"
#include "engine/plan/stage.h"

#include <stdatomic.h>

#define PROGRESS_TICK_NS 200000000u

/* One executor, dead or alive. Its number is its place in the driver's table. */
struct member {
    char name[NAME_BYTES_MAX], host[NAME_BYTES_MAX];
    uint32_t node; /* the first member of the same host */
    uint32_t slots;
    bool lost, draining, silent, set_aside;
    bool loses_outputs;  /* in the running action: one could not be fetched */
    bool excluded;       /* likewise: it does not reach others, or they do not reach it */
    bool excluded_told;  /* and a person knows */
    uint64_t value_told; /* broadcasts up to this id */
    bool has_done;
    uint32_t done_partition, done_attempt; /* has_done: the last task that it did */
    /* Of the running action, per stage: its plan is there; the epoch + 1 of its outputs that is. */
    bool *plan_told;
    uint32_t *outputs_told;
};

/* One stage of the running action. */
struct active_stage {
    struct glint_rdd *wide; /* NULL: the action's own stage */
    uint32_t number; /* in the job, for people: a shuffle's stage is the same in all actions */
    struct outputs *outputs;
    uint32_t tasks, todo;            /* all; those that were to be done when the action began */
    uint32_t *parents, parent_count; /* stages whose outputs it reads */
    uint64_t begun_ns;
    uint64_t bytes_before; /* read by the job when it began */
    bool begun, ended;
    bool counts;        /* for the tally: it was never complete before */
    bool skipped;       /* a stage reads what an earlier action has made of it */
    struct buffer plan; /* the body of STAGE; made when first needed */
    char name[NAME_BYTES_MAX], functions[NAME_BYTES_MAX];
};

/* What a task of the last stage has answered, until its turn comes. */
struct result {
    struct buffer body, counters;
    uint32_t executor;
    bool arrived;
};

/* The running action. */
struct active {
    const struct action *action;
    struct commit *commits[ACTION_OUTPUTS_MAX]; /* of an action that saves: its outputs */
    uint32_t commit_count;
    struct sched *sched;
    struct active_stage *stages;       /* parents first, the action last */
    uint32_t number;                   /* of actions in this job, from 0 */
    uint32_t stage_count, first_stage; /* wire ids are first_stage + place */
    struct result *results;            /* per task of the last stage */
    uint32_t next_result;
    uint64_t held_bytes;
    int64_t bad_rows_before;
    struct glint_error last_error; /* of the task that failed last */
    int answer;                    /* of on_result, if not 0 */
    bool over; /* ended before its last task: what still comes in counts no more */
};

struct driver {
    struct runner runner; /* first: a runner is cast to its driver */
    struct glint *g;
    struct env *env;
    struct transport transport;
    struct member *members;
    uint32_t member_count, losses;
    uint32_t next_stage, next_action; /* on the wire; in the event log */
    uint32_t stages_numbered;
    uint64_t begun_ns, deadline_ns; /* deadline 0: none */
    struct active *active;
    struct outputs *outputs; /* of all shuffles so far */
    struct reach reach;
    struct commit **commits;
    uint32_t commit_count, published_count;
    const char **published;
    struct tally tally;
    struct event_log *log;                     /* NULL: none */
    void (*note)(void *arg, const char *line); /* where notes go beside the log */
    void *note_arg;
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

/* drain.c */
/* Tells running tasks to end, and waits for them. 0, or a code: they were waited for until the job
 * was to end, or executors stay cancelled. */
int drain_tasks(struct driver *d);

/* commits.c: the outputs of the job. 0, or a code with the context's error set. */
int commits_open(struct driver *d, const char *path, struct commit **out);
/* For an action that will save to `path`. */
int commits_reserve(struct driver *d, const char *path);
/* Against the inputs of all RDDs that were made since. */
int commits_check_inputs(struct driver *d);
/* All that are complete, or none. */
int commits_publish(struct driver *d);
/* Removes them. Says what has become of the outputs. */
const char *commits_discard(struct driver *d);
void commits_fini(struct driver *d);

/* stages.c: the stages of the running action. 0, or a code with the context's error set. */
int stages_build(struct driver *d);
int stages_schedule(struct driver *d);
void stages_fini(struct active *a);
/* The partition that a task of a stage works on. */
uint32_t active_partition(const struct active *a, uint32_t stage, uint32_t task);
/* Its first task is about to go out. */
int stage_begin(struct driver *d, uint32_t place);
/* What began and did not end, when the action is over. */
void stages_close(struct driver *d);
/* Ends stages whose last task is done, also those that never had one. */
int stages_end(struct driver *d);

/* announce.c: what an executor must know before it can run a task. 0, or a code. */
int announce_for_task(struct driver *d, uint32_t executor, uint32_t stage);
/* Broadcasts up to VALUE_EARLY_BYTES_MAX, to all: they come while the action is made ready. */
int announce_values(struct driver *d);
int announce_kill(struct driver *d, const struct sched_run *run, enum kill which);
int announce_cancel(struct driver *d, bool cancel);
/* The running action's stages. One that cannot be forgotten, for lack of memory, stays to the end.
 */
void announce_forget(struct driver *d);

/* members.c */
void members_fini(struct driver *d);
/* Makes room for what each member is told during an action. False without memory. */
bool members_begin(struct driver *d, uint32_t stage_count);
void members_end(struct driver *d);
/* After a failure there, or a task that went well: says so when its node is set aside. */
void members_review(struct driver *d, uint32_t executor, const struct glint_error *why);
/* Ends attempts that read from the executor; they begin again when that was made again. 0, or a
 * code. */
int members_recall_readers(struct driver *d, uint32_t executor);
/* "on e1", or nothing where there is one executor only. */
void member_where(const struct driver *d, uint32_t executor, char *out, size_t capacity);

/* results.c */
void results_report_progress(struct driver *d, uint32_t stage);
/* The youngest stage that runs; where nothing comes in for long. */
void results_report_tick(struct driver *d);
/* The action is over: whatever shows its progress makes room for others. */
void results_report_end(struct driver *d);
/* Map outputs that are lost and that a stage now needs are made again: each is a retry, once. */
void results_retry_lost(struct driver *d, const struct glint_error *why);
/* The attempt ended otherwise than well; a retry, if its task now waits for another. */
void results_retry_task(struct driver *d, const struct sched_run *run,
                        const struct glint_error *why);
/* Ends the action with the scheduler's verdict, if it is one. */
int results_verdict(struct driver *d);

/* fetch_faults.c */
/* When an attempt began, as far as the scheduler knows; 0: it does not run. */
uint64_t fetch_faults_begun_ns(const struct driver *d, uint32_t executor, uint32_t stage,
                               const struct message *m);
/* A FAILED of an attempt that could not fetch a map output. 0, or a code. */
int fetch_faults_on_failed(struct driver *d, uint32_t executor, uint32_t stage,
                           const struct message *m, uint64_t begun_ns);
/* An action begins: what was found out not long ago still counts. 0, or a code. */
int fetch_faults_begin(struct driver *d);
/* The executor is lost. */
void fetch_faults_forget(struct driver *d, uint32_t executor);

/* plan_stages.c */
/* The wide RDDs whose map outputs an action still needs, or which explain has not shown yet,
 * parents first; with `all` also those above that have theirs, which may be lost. The caller frees
 * *out. */
int plan_shuffles(struct glint_rdd *rdd, bool all, struct glint_rdd ***out, uint32_t *out_count);
/* The number of the stage that makes the outputs of `wide`, given when first asked for; NULL: a new
 * one, of an action. */
uint32_t plan_stage_number(struct driver *d, struct glint_rdd *wide);
/* "textFile..reduceByKey" */
void plan_stage_name(const struct stage_plan *s, char *out, size_t capacity);
/* "words.split, words.add", in the order of the plan; as many as fit. */
void plan_stage_functions(const struct stage_plan *s, char *out, size_t capacity);

/* explain.c: `glint explain`. 0, or a code with the context's error set. */
/* An action is about to be prepared. */
int explain_begin(struct driver *d, const struct action *action);
/* Notes the plan of an action that is prepared, stage by stage. `unrun`: it will not be run. */
int explain_action(struct driver *d, const struct action *action, bool unrun);
/* The job has ended: notes what could not be shown. An error that follows from empty results is
 * cleared. */
void explain_end(struct driver *d);

#endif

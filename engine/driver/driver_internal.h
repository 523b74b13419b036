/* What the driver's files share. */
#ifndef GLINT_DRIVER_DRIVER_INTERNAL_H
#define GLINT_DRIVER_DRIVER_INTERNAL_H

#include "engine/driver/commit.h"
#include "engine/driver/driver.h"
#include "engine/driver/job_metrics.h"
#include "engine/driver/map_outputs.h"
#include "engine/driver/reachability.h"
#include "engine/driver/sched.h"
#include "engine/plan/stage_plan.h"

#include <stdatomic.h>

#define PROGRESS_TICK_NS 200000000u

/* One executor, dead or alive. Its number is its place in the driver's table. */
struct executor_state {
    char name[NAME_BYTES_MAX], host[NAME_BYTES_MAX];
    uint32_t node; /* the first member of the same host */
    uint32_t slots;
    bool lost, draining, suspect, excluded_for_failures;
    bool has_lost_outputs;        /* in the running action: one could not be fetched */
    bool excluded_unreachable;    /* likewise: it does not reach others, or they do not reach it */
    bool exclusion_reported;      /* and a person knows */
    uint64_t last_broadcast_sent; /* broadcasts up to this id */
    bool has_done;
    uint32_t done_partition, done_attempt; /* has_done: the last task that it did */
    /* Of the running action, per stage: its plan is there; the epoch + 1 of its outputs that is. */
    bool *plan_sent;
    uint32_t *map_outputs_epoch_sent;
};

/* One stage of the running action. */
struct stage_run {
    struct glint_rdd *shuffle; /* NULL: the action's own stage */
    uint32_t number; /* in the job, for people: a shuffle's stage is the same in all actions */
    struct map_outputs *map_outputs;
    uint32_t tasks, tasks_to_run;    /* all; those that were to be done when the action began */
    uint32_t *parents, parent_count; /* stages whose outputs it reads */
    uint64_t start_ns;
    uint64_t bytes_before; /* read by the job when it began */
    bool started, finished;
    bool is_first_run;  /* for the tally: it was never complete before */
    bool skipped;       /* a stage reads what an earlier action has made of it */
    struct buffer plan; /* the body of STAGE; made when first needed */
    char name[NAME_BYTES_MAX], functions[NAME_BYTES_MAX];
};

/* What a task of the last stage has answered, until its turn comes. */
struct task_result {
    struct buffer body, counters;
    uint32_t executor;
    bool arrived;
};

/* The running action. */
struct action_run {
    const struct action *action;
    struct commit *commits[ACTION_OUTPUTS_MAX]; /* of an action that saves: its outputs */
    uint32_t commit_count;
    struct sched *sched;
    struct stage_run *stages;          /* parents first, the action last */
    uint32_t number;                   /* of actions in this job, from 0 */
    uint32_t stage_count, first_stage; /* wire ids are first_stage + place */
    struct task_result *results;       /* per task of the last stage */
    uint32_t next_result;
    uint64_t buffered_bytes;
    int64_t bad_rows_before;
    struct glint_error last_error; /* of the task that failed last */
    int on_result_code;            /* of on_result, if not 0 */
    bool over; /* ended before its last task: what still comes in counts no more */
};

struct driver {
    struct runner runner; /* first: a runner is cast to its driver */
    struct glint *g;
    struct env *env;
    struct transport transport;
    struct executor_state *executors;
    uint32_t executor_count, losses;
    uint32_t next_stage, next_action; /* on the wire; in the event log */
    uint32_t stage_numbers_used;
    uint64_t start_ns, deadline_ns; /* deadline 0: none */
    struct action_run *action_run;
    struct map_outputs *map_outputs; /* of all shuffles so far */
    struct reachability reachability;
    struct commit **commits;
    uint32_t commit_count, published_count;
    const char **published;
    struct job_metrics metrics;
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
int driver_run_action(struct runner *runner, const struct action *action);
/* Sets the error of an interrupt or of the deadline, if there is one. */
void driver_check_interrupt_or_timeout(struct driver *d);

/* drain.c */
/* Tells running tasks to end, and waits for them. 0, or a code: they were waited for until the job
 * was to end, or executors stay cancelled. */
int drain_running_tasks(struct driver *d);

/* job_outputs.c: the outputs of the job. 0, or a code with the context's error set. */
int job_outputs_open(struct driver *d, const char *path, struct commit **out);
/* For an action that will save to `path`. */
int job_outputs_reserve(struct driver *d, const char *path);
/* Against the inputs of all RDDs that were made since. */
int job_outputs_check_inputs(struct driver *d);
/* All that are complete, or none. */
int commit_job(struct driver *d);
/* Removes them. Says what has become of the outputs. */
const char *abort_job(struct driver *d);
void job_outputs_fini(struct driver *d);

/* stage_runs.c: the stages of the running action. 0, or a code with the context's error set. */
int stage_runs_build(struct driver *d);
int stage_runs_schedule(struct driver *d);
void stage_runs_fini(struct action_run *a);
/* The partition that a task of a stage works on. */
uint32_t stage_run_partition(const struct action_run *a, uint32_t stage, uint32_t task);
/* Its first task is about to go out. */
int stage_run_start(struct driver *d, uint32_t number);
/* What began and did not end, when the action is over. */
void stage_runs_record_unfinished(struct driver *d);
/* Ends stages whose last task is done, also those that never had one. */
int stage_runs_finish_done_stages(struct driver *d);

/* executor_messages.c: what an executor must know before it can run a task. 0, or a code. */
int send_task_dependencies(struct driver *d, uint32_t executor, uint32_t stage);
/* Broadcasts up to BROADCAST_PREFETCH_BYTES_MAX, to all: they come while the action is made ready.
 */
int send_small_broadcasts(struct driver *d);
int send_kill(struct driver *d, const struct task_attempt *run, enum kill_mode which);
int send_cancel(struct driver *d, bool cancel);
/* The running action's stages. One that cannot be forgotten, for lack of memory, stays to the end.
 */
void send_stage_release(struct driver *d);

/* executors.c */
void executors_fini(struct driver *d);
/* Makes room for what each member is told during an action. False without memory. */
bool executors_start_action(struct driver *d, uint32_t stage_count);
void executors_finish_action(struct driver *d);
/* After a failure there, or a task that went well: says so when its node is set aside. */
void executors_update_excluded(struct driver *d, uint32_t executor, const struct glint_error *why);
/* Ends attempts that read from the executor; they begin again when that was made again. 0, or a
 * code. */
int kill_readers_of_executor(struct driver *d, uint32_t executor);
/* "on e1", or nothing where there is one executor only. */
void executor_describe(const struct driver *d, uint32_t executor, char *out, size_t capacity);

/* results.c */
void results_report_progress(struct driver *d, uint32_t stage);
/* The youngest stage that runs; where nothing comes in for long. */
void results_report_on_timer(struct driver *d);
/* The action is over: whatever shows its progress makes room for others. */
void results_report_action_finished(struct driver *d);
/* Map outputs that are lost and that a stage now needs are made again: each is a retry, once. */
void results_retry_lost_map_outputs(struct driver *d, const struct glint_error *why);
/* The attempt ended otherwise than well; a retry, if its task now waits for another. */
void results_retry_task(struct driver *d, const struct task_attempt *run,
                        const struct glint_error *why);
/* Ends the action with the scheduler's verdict, if it is one. */
int results_check_sched_status(struct driver *d);

/* fetch_failures.c */
/* When an attempt began, as far as the scheduler knows; 0: it does not run. */
uint64_t fetch_failures_attempt_start_ns(const struct driver *d, uint32_t executor, uint32_t stage,
                                         const struct message *m);
/* A FAILED of an attempt that could not fetch a map output. 0, or a code. */
int fetch_failures_on_task_failed(struct driver *d, uint32_t executor, uint32_t stage,
                                  const struct message *m, uint64_t start_ns);
/* An action begins: what was found out not long ago still counts. 0, or a code. */
int fetch_failures_on_action_start(struct driver *d);
/* The executor is lost. */
void fetch_failures_on_executor_lost(struct driver *d, uint32_t executor);

/* plan_stages.c */
/* The wide RDDs whose map outputs an action still needs, or which explain has not shown yet,
 * parents first; with `all` also those above that have theirs, which may be lost. The caller frees
 * *out. */
int plan_needed_shuffles(struct glint_rdd *rdd, bool all, struct glint_rdd ***out,
                         uint32_t *out_count);
/* The number of the stage that makes the outputs of `wide`, given when first asked for; NULL: a new
 * one, of an action. */
uint32_t plan_assign_stage_number(struct driver *d, struct glint_rdd *shuffle);
/* "textFile..reduceByKey" */
void plan_format_stage_name(const struct stage_plan *s, char *out, size_t capacity);
/* "words.split, words.add", in the order of the plan; as many as fit. */
void plan_format_stage_functions(const struct stage_plan *s, char *out, size_t capacity);

/* explain.c: `glint explain`. 0, or a code with the context's error set. */
/* An action is about to be prepared. */
int explain_start_action(struct driver *d, const struct action *action);
/* Notes the plan of an action that is prepared, stage by stage. `unrun`: it will not be run. */
int explain_action(struct driver *d, const struct action *action, bool unrun);
/* The job has ended: notes what could not be shown. An error that follows from empty results is
 * cleared. */
void explain_finish_job(struct driver *d);

#endif

/* Shared by the driver's files. Driver thread only, except driver.interrupt. */
#ifndef GLINT_DRIVER_DRIVER_INTERNAL_H
#define GLINT_DRIVER_DRIVER_INTERNAL_H

#include "engine/base/cancel.h"
#include "engine/driver/commit.h"
#include "engine/driver/transport.h"
#include "engine/events/counters.h"
#include "engine/events/event_log.h"
#include "engine/plan/context.h"
#include "engine/plan/stage_plan.h"
#include "engine/records/task.h"
#include "engine/sched/sched.h"
#include "engine/transfer/message.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- The accumulators of a job (glint_accumulator): merged from those of its tasks, of the first
 * successful attempt of each. The parts of an action's tasks are collected while it runs and merged
 * at its end, in the order of stages and tasks, so that sums of doubles do not depend on which task
 * ended first. Driver thread only. */

/* Zeros are none. */
struct accumulators {
    uint32_t count;
    uint64_t merges;           /* that changed a value */
    struct accumulator *items; /* [count], by time of creation */
    uint64_t capacity;
    /* The parts that are not merged yet. */
    struct accumulator_part *parts;
    uint64_t part_count, part_capacity;
    struct buffer bytes;
    struct glint_answer *list; /* [count], in order of names: of accumulators_list */
};
/* Adds the parts in a task's counters, of a stage of the running action. Returns 0, or a code with
 * the context's error set: PROTOCOL, PLAN_FUNCTION, PLAN_LIMIT, RESULT_LIMIT, NO_MEMORY. */
int accumulators_add_task(struct accumulators *a, struct glint *g, uint32_t stage, uint32_t task,
                          struct glint_slice counters);
/* The action has ended: merges the parts. Returns 0, or a code with the context's error set. */
int accumulators_merge(struct accumulators *a, struct glint *g);
/* Returns false if no task has added to it. Valid until the next merge. */
bool accumulators_find(const struct accumulators *a, const char *name, struct glint_cell *out);
/* It has no value from here on; no effect if there is none. */
void accumulators_clear(struct accumulators *a, const char *name);
/* Returns all of them in order of their names; NULL: none, or no memory. Valid until the next call,
 * or merge. */
const struct glint_answer *accumulators_list(struct accumulators *a);
void accumulators_fini(struct accumulators *a);

/* ---- Where the blocks of a job are: its map outputs, and its cached RDDs. Driver thread only. */

/* The map output tracker: the locations of all map outputs of a job, one table per shuffle. Tables
 * live until the shuffle's RDD is freed or the job ends, so later actions reuse the outputs.
 *
 * During an action the scheduler decides which map tasks run again. The tables are its initial
 * state, the contents of MAP_OUTPUTS messages, and the record of which tasks' counters have been
 * added. */

/* The map outputs of one shuffle. */
struct map_outputs {
    struct map_outputs *next;
    uint32_t shuffle;                      /* id of the RDD that reads them */
    uint32_t maps, partitions;             /* map tasks; reduce partitions */
    struct map_output_location *locations; /* [maps]; of a lost one: where it was */
    bool *available, *counted; /* [maps]; counted: the job metrics contain its task's counters */
    bool *lost;                /* [maps]: it was available, and no retry is recorded yet */
    uint32_t lost_count;
    uint8_t *sizes; /* [maps][partitions], size_code_encode; NULL: too many, or no memory */
};

/* Returns the table of a shuffle, created at the first call and owned by *list; NULL when out of
 * memory. `maps` and `partitions` must be the same in each call. */
struct map_outputs *map_outputs_get_or_create(struct map_outputs **list, uint32_t shuffle,
                                              uint32_t maps, uint32_t partitions);
void map_outputs_destroy(struct map_outputs *list);
/* Frees the table of a shuffle. Returns false if there is none; else *out_maps: its map tasks. */
bool map_outputs_remove_shuffle(struct map_outputs **list, uint32_t shuffle, uint32_t *out_maps);

/* Map task `map` is done. `sizes` is the body of its DONE message: the coded size of each
 * partition. A body of another length is accepted and counts as unknown sizes, which are only a
 * hint. */
void map_outputs_add(struct map_outputs *o, uint32_t map, struct map_output_location location,
                     struct glint_slice sizes);
/* Marks the output lost. Ignored unless it is available at this location: a newer attempt may have
 * replaced it. */
void map_outputs_remove(struct map_outputs *o, uint32_t map, struct map_output_location location);
/* Marks all outputs on a lost executor as lost, in all tables. */
void map_outputs_remove_executor(struct map_outputs *list, uint32_t executor);
/* Clears `lost`: its retry has been recorded, or it is available again. */
void map_outputs_clear_lost(struct map_outputs *o, uint32_t map);
bool map_outputs_is_complete(const struct map_outputs *o);
/* Returns the executor that has clearly more bytes of a reduce partition than the others;
 * UINT32_MAX: none, or sizes are unknown. `executors`: their number; `scratch`: that many zeros,
 * which are zeros again afterwards. */
uint32_t map_outputs_preferred_executor(const struct map_outputs *o, uint32_t partition,
                                        uint32_t executors, uint64_t *scratch);

/* Where the blocks of persisted RDDs are, as executors report them with the outcomes of tasks: a
 * hint for the scheduler. Tables live until the RDD is unpersisted. */

/* How many blocks are cached, and their bytes. */
struct cached_sums {
    uint32_t blocks;
    uint64_t memory_bytes, disk_bytes;
};

/* The blocks of one RDD. */
struct cached_rdd {
    uint32_t rdd, partitions;
    struct cached_sums sums; /* of `blocks` */
    struct cached_block_location {
        uint32_t executor; /* the last one that reported it; UINT32_MAX: none has it */
        uint64_t memory_bytes, disk_bytes;
    } blocks[];
};

/* The tables, by ascending number of their RDDs; all zero at first. */
struct cached_rdds {
    struct cached_rdd **list;
    uint64_t capacity;
    uint32_t count;
    struct cached_sums sums; /* of all */
};

/* Adds a table of the RDD unless it has one. False when out of memory. */
bool cached_rdds_add(struct cached_rdds *c, uint32_t rdd, uint32_t partitions);
/* False: it has no table. */
bool cached_rdds_remove(struct cached_rdds *c, uint32_t rdd);
void cached_rdds_fini(struct cached_rdds *c);
/* A change that an executor has reported. Ignored if the RDD has no table. */
void cached_rdds_update(struct cached_rdds *c, uint32_t executor,
                        const struct cached_block_state *block);
void cached_rdds_remove_executor(struct cached_rdds *c, uint32_t executor);
/* Whether executors have all blocks of the RDD. */
bool cached_rdds_is_complete(const struct cached_rdds *c, uint32_t rdd);
/* The executor is UINT32_MAX if none has the block. */
struct block_location cached_rdds_find_block(const struct cached_rdds *c, uint32_t rdd,
                                             uint32_t partition);
/* The executor that has the block of the persisted RDD nearest to `rdd` from which a task computes
 * this partition of it; UINT32_MAX: none. */
uint32_t cached_rdds_preferred_executor(const struct cached_rdds *c, const struct glint_rdd *rdd,
                                        uint32_t partition);

/* ---- Writes the driver's events to the event log (event_log.h, docs/event-log.md), if the context
 * has one.
 *
 * The driver calls these functions where the events happen. The end of an attempt is logged before
 * the scheduler is told, since the scheduler then forgets the attempt. Nothing here changes what
 * the driver does. Without a log each function returns at once. Driver thread only. */

#define EVENT_OPERATORS_MAX 100u /* of a stage, that are logged */

enum event_executor_state {
    EXECUTOR_STATE_JOINED,
    EXECUTOR_STATE_LOST,
    EXECUTOR_STATE_DRAINING,
    EXECUTOR_STATE_EXCLUDED, /* it or its node keeps failing tasks, or fetches with it fail */
};

/* Opens the log of the context's event_log option, if set, and logs the start of the job. From now
 * on the context's notes are logged, too. Returns 0, or a code with the context's error set. */
int event_log_listener_open(struct driver *d);
/* Logs published outputs and the end of the job. Call once, after commit_job or abort_job. */
void event_log_listener_on_job_end(struct driver *d);
/* Closes the log; notes are no longer logged. */
void event_log_listener_close(struct driver *d);

/* `why`: of LOST or EXCLUDED; may be NULL. */
void event_log_listener_on_executor_state(struct driver *d, uint32_t executor,
                                          enum event_executor_state state,
                                          const struct glint_error *why);
/* Writes buffered lines, and tells the sink what runs. Call regularly. */
void event_log_listener_on_timer(struct driver *d);
/* Of the running action, once its stages are built. */
void event_log_listener_on_action_start(struct driver *d);
void event_log_listener_on_action_end(struct driver *d); /* before d->action_run is freed */
void event_log_listener_on_stage_start(struct driver *d, uint32_t stage);
void event_log_listener_on_stage_end(struct driver *d, uint32_t stage);
/* An executor sent DONE or FAILED (`m`). Call before sched_on_*. */
void event_log_listener_on_attempt_end(struct driver *d, uint32_t executor, uint32_t stage,
                                       const struct message *m);
/* Logs all attempts that ran on the executor as lost. Call before the scheduler removes it. */
void event_log_listener_on_executor_lost(struct driver *d, uint32_t executor,
                                         const struct glint_error *why);
/* A task will run again: its attempt failed, or the attempt's map output is lost. */
void event_log_listener_on_retry(struct driver *d, uint32_t stage, uint32_t task, uint32_t attempt,
                                 uint32_t executor, const struct glint_error *why);

/* Decides which executors are unreachable, from the pairs of executors between which fetches fail.
 *
 * A fetch without a response does not show which side's network is broken. So failures are recorded
 * per pair of executors. An executor in failed pairs with two or more others is at fault, which
 * explains all its pairs. If a pair is not explained that way, one of the two is at fault only
 * after the pair failed again: its holder, the executor that has the map output.
 *
 * Pure: no clock, and executors are only numbers. Driver thread only. */

/* Two executors between which a fetch failed, in either direction. */
struct unreachable_pair {
    uint32_t one, other;
    uint32_t holder; /* if `again`: the one at fault if no other pair explains this one */
    uint64_t first_ns;
    bool again;     /* also failed in an attempt that started after the first failure */
    bool explained; /* one of the two is at fault */
};

#define UNREACHABLE_PAIRS_MAX 256u /* enough to find the executors at fault */

struct reachability_executor {
    uint32_t unexplained; /* its pairs that are not explained */
    bool at_fault;
};

struct reachability {
    struct unreachable_pair pairs[UNREACHABLE_PAIRS_MAX];
    uint32_t count;
    struct reachability_executor *executors; /* [executor_capacity] */
    uint64_t executor_capacity;
};

/* A zero-initialized struct is valid and empty. */
void reachability_fini(struct reachability *r);

/* What reachability_record_failure knows of the pair. */
enum reachability_update {
    REACHABILITY_FIRST_FAILURE,
    REACHABILITY_REPEATED_FAILURE, /* an attempt that started later failed too */
    REACHABILITY_FULL              /* not recorded: too many pairs, or out of memory */
};
/* An attempt on `reader` that started at `start_ns` could not fetch from `holder`, another
 * executor. `executors`: their number; both are below it. */
enum reachability_update reachability_record_failure(struct reachability *r, uint32_t executors,
                                                     uint32_t reader, uint32_t holder,
                                                     uint64_t start_ns, uint64_t now_ns);
/* The executor is lost: removes its pairs. */
void reachability_remove_executor(struct reachability *r, uint32_t executor);
/* Removes pairs that first failed before `ns`, since a network can recover. */
void reachability_expire_before(struct reachability *r, uint64_t ns);
bool reachability_is_at_fault(const struct reachability *r, uint32_t executor);

/* When attempts ran, on the driver's clock. The clocks of two hosts start anywhere, and differ a
 * little in speed: how far apart they are is learned from the attempts, each of which started after
 * it was sent and ended before its message was received. */

struct executor_clock {
    uint64_t offset_ns; /* the driver's clock minus the executor's, modulo 2^64 */
    uint64_t *ends_ns;  /* per slot: when its last attempt ended, on the driver's clock */
    uint32_t slots;
    bool known;
};

bool executor_clock_init(struct executor_clock *c, uint32_t slots); /* false: out of memory */
void executor_clock_fini(struct executor_clock *c);

struct attempt_times {
    uint64_t start_ns, end_ns;
};
/* `m`: the DONE or FAILED of an attempt sent at `sent_ns`, received at `now_ns`. The times are
 * between these two, and those of two attempts of one slot do not overlap. */
struct attempt_times executor_clock_convert(struct executor_clock *c, const struct message *m,
                                            uint64_t sent_ns, uint64_t now_ns);

#define PROGRESS_TICK_NS 200000000u /* progress is reported at least this often */

/* One executor, also after it is lost. Its number is its index in driver.executors, and the number
 * that the scheduler and the transport use. */
struct executor_state {
    char name[NAME_BYTES_MAX], host[NAME_BYTES_MAX];
    uint32_t node; /* the first executor with the same name and host: an earlier process of it */
    uint32_t slots;
    /* excluded_for_failures: of the node's first executor only: its exclusion was reported. */
    bool lost, draining, suspect, excluded_for_failures;
    bool cannot_write;            /* the outputs of the running action */
    bool has_lost_outputs;        /* in the running action a map output could not be fetched */
    bool excluded_unreachable;    /* in the running action: at fault, see struct reachability */
    bool exclusion_reported;      /* excluded_unreachable was noted once; kept for the whole job */
    uint64_t last_broadcast_sent; /* broadcasts up to this id */
    bool has_done;
    uint32_t done_partition, done_attempt; /* if has_done: the last task that it finished */
    /* Per stage of the running action, NULL between actions: the STAGE message was sent; the epoch
     * + 1 of the map outputs that were sent, 0 for none. */
    bool *plan_sent;
    uint32_t *map_outputs_epoch_sent;
    struct executor_clock clock;
};

/* One stage of the running action. */
struct stage_run {
    struct glint_rdd *shuffle; /* the RDD that reads its map outputs; NULL: the action's stage */
    uint32_t number; /* in the job, for users: a shuffle's stage has the same one in all actions */
    struct map_outputs *map_outputs; /* from driver.map_outputs; NULL: the action's stage */
    uint32_t tasks, tasks_to_run;    /* all; those without an output when the action started */
    uint32_t *parents, parent_count; /* stages whose map outputs it reads */
    uint64_t start_ns;
    /* Input of the finished tasks, and of all tasks, for the progress display; total 0: unknown. */
    uint64_t rows_read, bytes_read, bytes_total;
    bool started, finished;
    bool is_first_run;  /* for the job metrics: no earlier action has completed it */
    bool skipped;       /* it has nothing to run, and another stage reads its outputs */
    bool reads_blocks;  /* its first plan does (stage_node_reads_blocks) */
    bool replanned;     /* a block was lost: `plan` has all operators now, and another id */
    struct buffer plan; /* the body of its STAGE message */
    /* Of the first run, with an event log: each operator's text and a NUL, at most
     * EVENT_OPERATORS_MAX of operator_count. */
    struct buffer operators;
    uint32_t operator_count;
    char name[NAME_BYTES_MAX], functions[NAME_BYTES_MAX];
};

/* The result of a task of the last stage. Results are consumed in order of the partitions, so one
 * that arrives early is buffered here. */
struct buffered_result {
    struct buffer body, counters;
    uint32_t executor;
    bool arrived;
};

/* The running action. */
struct action_run {
    const struct action *action;
    struct commit *commits[ACTION_OUTPUTS_MAX]; /* the outputs that it saves to; owned by driver */
    uint32_t commit_count;
    struct sched *sched;
    struct stage_run *stages;          /* parents first, the action's stage last */
    uint32_t number;                   /* among the job's actions, from 0 */
    uint32_t stage_count, first_stage; /* of the ids in messages: see stage_message_id */
    struct buffered_result *results;   /* per task of the last stage */
    uint32_t next_result;              /* the first one that is not consumed */
    uint64_t buffered_bytes;           /* of the results that are not consumed */
    int64_t bad_rows_before;           /* the job's count when the action started */
    struct glint_error last_error;     /* of the last failed task or lost executor */
    int on_result_code;                /* non-zero: on_result returned it, which ends the action */
    bool blocks_lost;                  /* that its plans read: they were made again without them */
    bool over; /* ended before its last task was done: outcomes that still arrive do not count */
};

/* For the summary of the job and its progress. */
struct job_metrics {
    struct counters counters;
    struct glint_stage_time *stages; /* in order of their numbers; names are owned */
    uint32_t stage_count;            /* of those kept, at most STAGES_KEPT_MAX */
    uint32_t stages_started;
    uint64_t stage_capacity;
    uint32_t tasks, stages_skipped, retries; /* tasks: of all stages that have started */
};

struct driver {
    struct glint *g;
    struct env *env;
    struct transport transport;
    struct executor_state *executors;
    uint32_t executor_count, losses;  /* losses in the whole job, drains excepted */
    uint32_t next_stage, next_action; /* next id in messages; next number in the event log */
    uint32_t stage_numbers_used;      /* of the numbers that users see */
    uint64_t start_ns, deadline_ns;   /* deadline 0: none */
    struct action_run *action_run;    /* NULL between actions */
    struct map_outputs *map_outputs;  /* of all shuffles so far */
    struct cached_rdds cached;        /* blocks of persisted RDDs */
    uint64_t cached_changes;          /* counts changes of `cached` */
    struct reachability reachability;
    struct commit **commits; /* all outputs of the job */
    uint32_t commit_count, published_count;
    uint32_t kept_count; /* of commits: checkpoints, which stay if the job fails */
    uint64_t commit_capacity, executor_capacity;
    const char **published; /* paths of the published outputs, for the summary */
    struct job_metrics metrics;
    struct accumulators accumulators;
    struct event_log *log; /* NULL: none */
    /* What the log and its sink know: values of cached_changes and of accumulators.merges. */
    uint64_t cached_logged, cached_shown, merges_logged;
    uint64_t status_logged_ns;
    uint32_t reports_logged;
    void (*note)(void *arg, const char *line); /* the caller's own; notes also go to the log */
    void *note_arg;
    atomic_int interrupt; /* 0, or the glint_code that ends the job; set by any thread */
    struct cancel cancel; /* opened when it is first asked for: */
    atomic_bool cancel_opened;
};

static inline struct glint_error *driver_error(struct driver *d)
{
    return &d->g->error;
}

/* Sets the context's error if the job was interrupted or its deadline has passed. */
void driver_check_interrupt_or_timeout(struct driver *d);

/* The RDD whose partitions the tasks of a stage compute. */
static inline struct glint_rdd *stage_top_rdd(const struct action_run *a, uint32_t stage)
{
    struct glint_rdd *shuffle = a->stages[stage].shuffle;
    return shuffle != NULL ? shuffle->parents[0] : a->action->rdd;
}

/* The id of a stage in messages that are sent now. Its first plan has another one, so that attempts
 * of both can run and finish. */
static inline uint32_t stage_message_id(const struct action_run *a, uint32_t stage)
{
    return a->first_stage + stage + (a->stages[stage].replanned ? a->stage_count : 0);
}

/* The output as the user named it: "-" for the one that is copied to standard output. */
const char *driver_output_name(const struct driver *d, const char *path);

/* commit.c: the output directories of the job. 0, or a code with the context's error set. */
/* Opens the output at `path`, or returns the one reserved for it. The driver owns *out. */
int job_outputs_open(struct driver *d, const char *path, struct commit **out);
/* Marks the outputs of an action that failed; the other function removes what is marked. */
void job_outputs_fail(struct action_run *a);
void job_outputs_remove_failed(struct driver *d);
/* Opens the output now, so that a bad path fails early, for a later action that saves to it. */
int job_outputs_reserve(struct driver *d, const char *path);
/* Checks that no output overlaps an input of the RDDs created since the last call. */
int job_outputs_check_inputs(struct driver *d);
/* Publishes one output now, for good: a later error of the job leaves it. */
int job_outputs_publish(struct driver *d, struct commit *c);
/* Publishes all complete outputs, or none of them. */
int commit_job(struct driver *d);
/* Removes the outputs that are not published. Returns a static text: what happened to them. */
const char *abort_job(struct driver *d);
void job_outputs_fini(struct driver *d);

/* stage_runs.c: the stages of the running action. 0, or a code with the context's error set. */
/* Fills a->stages: all shuffles that the action descends from, and its own stage. */
int stage_runs_build(struct driver *d);
/* Encodes the stage plans, and creates a->sched with the executors, stages and known outputs. */
int stage_runs_schedule(struct driver *d);
void stage_runs_fini(struct action_run *a);
/* Of a lineage with many stages, so that actions of a loop do not visit the stages of all
 * iterations before. After the action, if map outputs cannot be lost. */
void stage_runs_cut_lineage(struct action_run *a);
/* The partition that a task of a stage computes. */
uint32_t stage_run_partition(const struct action_run *a, uint32_t stage, uint32_t task);
/* A task did not find a block that its plan reads: makes the plans again that read blocks, with all
 * operators, for the attempts that start from now on. */
int stage_runs_replan(struct driver *d);
/* Called before the stage's first task is sent. */
int stage_run_start(struct driver *d, uint32_t number);
/* At the end of the action: records the time of stages that started and did not finish. */
void stage_runs_record_unfinished(struct driver *d);
/* Finishes each stage whose tasks are all done, also a stage without tasks. */
int stage_runs_finish_done_stages(struct driver *d);

/* driver.c: messages from the driver to executors. 0, or a code. */
/* Sends the plan of the stage that writes the action's outputs to executors that do not have it:
 * they try to write. */
int send_output_stage(struct driver *d);
int send_kill_task(struct driver *d, const struct task_attempt *run, enum kill_mode which);

/* executors.c */
void executors_fini(struct driver *d);
/* Allocates plan_sent and map_outputs_epoch_sent of each executor. False when out of memory. */
bool executor_states_start_action(struct driver *d, uint32_t stage_count);
void executor_states_finish_action(struct driver *d);
/* Call it after a task failed or succeeded on the executor: reports when its node becomes excluded
 * for failures. `why`: the last failure. */
void executors_update_excluded(struct driver *d, uint32_t executor, const struct glint_error *why);
/* Kills attempts that read map outputs of the lost or unreachable executor. They count as killed,
 * and run again once those outputs are available. Returns 0, or a code. */
int kill_readers_of_executor(struct driver *d, uint32_t executor);
/* " on e1 (host)", or an empty text without a cluster. */
void executor_describe(const struct driver *d, uint32_t executor, char *out, size_t capacity);

/* stage_runs.c */
/* A task's result counts for the first time. Call it before the counters are moved or added. */
void stage_progress_add_task(struct driver *d, uint32_t stage, const struct message *done);
void stage_progress_report(struct driver *d, uint32_t stage);
/* Reports all running stages; every PROGRESS_TICK_NS or more often while tasks run. */
void stage_progress_report_all(struct driver *d);
/* The action has ended: the display can clear its lines, since the job's code runs next. */
void stage_progress_report_action_end(struct driver *d);

/* results.c */
/* Records a retry for each lost map output that a needed stage will make again; each only once. */
void results_retry_lost_map_outputs(struct driver *d, const struct glint_error *why);
/* Records a retry if the task of the failed or lost attempt is waiting for another attempt. */
void results_retry_task(struct driver *d, const struct task_attempt *run,
                        const struct glint_error *why);
/* Sets the context's error from the scheduler's status and the last error. Returns its code; 0: the
 * action continues. */
int results_set_error_of_failed_sched(struct driver *d);

/* Excludes executors that were at fault in a previous action not long ago. 0, or a code. */
int fetch_failures_on_action_start(struct driver *d);
/* Drops the lost executor's failed fetches, which may clear the exclusion of others. */
void fetch_failures_on_executor_lost(struct driver *d, uint32_t executor);

/* stage_runs.c */
/* The shuffles that `rdd` descends from, parents first: those without map outputs that explain has
 * not shown yet, or with `all` every one, since outputs can get lost. The caller frees *out with
 * mem_free, also on error. Returns 0, or NO_MEMORY. */
int plan_needed_shuffles(struct glint_rdd *rdd, bool all, struct glint_rdd ***out,
                         uint32_t *out_count);

/* stage_runs.c: `glint explain`. 0, or a code with the context's error set. */
/* Called before an action is prepared: fails after EXPLAIN_ACTIONS_MAX actions without a result. */
int explain_start_action(struct driver *d, const struct action *action);
/* Shows the plan of a prepared action, stage by stage. `skipped`: the action will not be run. */
int explain_action(struct driver *d, const struct action *action, bool skipped);
/* At the end of the job: notes what the plan could not show. Clears an error that is a consequence
 * of the empty results that explain gave to the job. */
void explain_finish_job(struct driver *d);

#endif

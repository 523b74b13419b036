/* Deterministic simulation of a cluster in one thread: the real driver, scheduler, commit, tasks,
 * stores and liveness checks, over a simulated clock, network and disks. The seed determines
 * everything, so a failed run can be replayed.
 *
 *   sim_core.c             clock, event queue, random numbers, files that fail
 *   network.c              links between driver and executors: FIFO, latency, cuts, duplicates
 *   executors.c            executor processes on nodes: slots, tasks, fetches, crashes, restarts
 *   transport.c            the driver's side: a struct transport whose `wait` runs the events
 *   faults.c               which faults are injected, and when
 *   workloads.c            the jobs, and their expected results from local mode
 *   oracle.c               checks every message of the driver against its own model
 *   oracle_reachability.c  its model of executors that cannot reach each other
 *   outcome_check.c        whether the faults justify how the job ended
 *   daemons.c              several drivers that wait for executors of the same daemons
 *   main.c                 runs seeds and checks invariants at the end */
#ifndef GLINT_TESTS_SIM_H
#define GLINT_TESTS_SIM_H

#include "engine/driver/driver.h"
#include "engine/executor/executor.h"
#include "engine/net/cluster.h"
#include "engine/net/deadline.h"
#include "engine/plan/context_config.h"
#include "tests/support/jobs.h"

#include <limits.h>

#define SECOND UINT64_C(1000000000)
#define MILLI  UINT64_C(1000000)
/* Simulated time after the last fault within which every job must end. */
#define END_NS_MAX (1500 * SECOND)

enum {
    NODES_MAX = 12,
    EXECUTORS_SIM_MAX = 768,
    FILES_MAX = 1024,
    WORKLOADS_MAX = 3,
    OUTPUTS_MAX = 2
};

enum sim_event_kind {
    SIM_MESSAGE_TO_EXECUTOR,
    SIM_MESSAGE_TO_DRIVER,
    SIM_PING_TO_EXECUTOR,
    SIM_PING_TO_DRIVER,
    SIM_DRAIN_TO_DRIVER,
    SIM_TASK_FINISH,
    SIM_LIVENESS_TIMER,     /* both sides of a connection check their liveness */
    SIM_CLOSED_AT_DRIVER,   /* the driver sees the connection closed */
    SIM_CLOSED_AT_EXECUTOR, /* the executor sees the connection closed */
    SIM_DRAIN_TIMEOUT,      /* a draining executor exits */
    SIM_JOIN,               /* a node's new executor has registered */
    SIM_NO_EXECUTORS_TIMER, /* start_ms have passed since the last executor was lost */
    SIM_INTERRUPT,          /* the user interrupts the job */
    SIM_FAULT,              /* the next fault */
    SIM_NOTHING,            /* a message that was lost by a reset */
};

/* Kinds of temporary faults, injected until end_of_faults. */
enum {
    FAULT_DUPLICATE = 1 << 0,
    FAULT_CRASH = 1 << 1,
    FAULT_STOP = 1 << 2,
    FAULT_CUT = 1 << 3,
    FAULT_PEER_CUT = 1 << 4,
    FAULT_DROP = 1 << 5,
    FAULT_FLIP = 1 << 6,
    FAULT_FULL = 1 << 7,
    FAULT_SLOW = 1 << 8,
    FAULT_JUMP = 1 << 9,
    FAULT_KILL_EXECUTOR = 1 << 10,
    FAULT_DRAIN = 1 << 11,
    FAULT_SLOW_DISK = 1 << 12,
    FAULT_KINDS = 13,
};

struct sim_event {
    uint64_t at, order;
    enum sim_event_kind kind;
    uint32_t executor, node; /* node: JOIN only */
    struct buffer bytes;     /* a message */
    struct sim_task *task;
    uint64_t timer_start; /* NO_EXECUTORS_TIMER: no_executors_since when it was armed */
};

struct sim;

/* The env of one process. Its local disk can be full. */
struct sim_env {
    struct env env; /* first: callbacks cast it back */
    struct sim *sim;
    bool full, driver;    /* driver: it is the driver's env */
    uint32_t refused;     /* writes that failed with ENOSPC */
    int64_t clock_off_ns; /* offset of the wall clock */
};

struct sim_task {
    struct sim_task *next;
    struct message *message;
    bool killed, started;
};

struct sim_executor {
    uint32_t number, node;
    bool alive;     /* the process runs */
    bool connected; /* as the driver sees it */
    bool draining, signalled;
    bool drain_known, suspect; /* as the driver sees it */
    struct store *store;
    struct executor_config config;
    struct sim_env env;
    char work_dir[PATH_MAX];
    struct sim_task *tasks; /* received and not finished, oldest first */
    uint32_t busy;          /* slots in use */
    bool cancel;            /* tasks end at once: from CANCEL with id 1 to CANCEL with id 0 */
    uint64_t attempts;
    atomic_bool cancel_flag;
    atomic_uint_fast64_t run_memory;           /* for map outputs in memory; 0: in files */
    uint64_t last_to_driver, last_to_executor; /* last delivery times: links are FIFO */
    struct liveness seen_by_driver, seen_by_executor;
};

struct sim_node {
    uint32_t slots;
    uint64_t paused_until;               /* SIGSTOP until then */
    uint64_t cut_to_driver, cut_to_node; /* messages are delayed until then */
    uint64_t cut_peer[NODES_MAX];        /* fetches to that node fail until then */
    uint64_t slow;                       /* factor of the duration of tasks */
    uint64_t slow_disk;                  /* maximum delay that is added to each task */
    bool disk_full;
    /* Permanent: all tasks fail; all map outputs are corrupt; a lost executor is not replaced. */
    bool bad, corrupts_outputs, leaves;
    bool starting; /* a JOIN event is queued */
};

struct sim_options {
    bool trace, quiet; /* quiet: without faults */
};

/* Counts of what happened, over all seeds. With a thousand seeds each must be above 0, else it was
 * not tested. */
#define SIM_COUNTS(X)                                                                              \
    X(actions, "actions")                                                                          \
    X(tasks, "tasks")                                                                              \
    X(speculative_copies, "speculative copies")                                                    \
    X(outputs, "map outputs")                                                                      \
    X(fetch_failures, "failed fetches")                                                            \
    X(unreachable, "failed fetches from unreachable executors")                                    \
    X(own_failures, "task failures")                                                               \
    X(blamed, "task failures by death of the process")                                             \
    X(kills, "kills")                                                                              \
    X(queued, "queued")                                                                            \
    X(revoked, "revoked")                                                                          \
    X(excluded_for_failures, "nodes excluded for failures")                                        \
    X(excluded, "executors excluded as unreachable")                                               \
    X(joins, "joins")                                                                              \
    X(losses, "losses")                                                                            \
    X(suspects, "suspects")                                                                        \
    X(crashes, "crashes")                                                                          \
    X(killed_processes, "executor processes killed")                                               \
    X(drains, "drains")                                                                            \
    X(stops, "process pauses")                                                                     \
    X(cuts, "network cuts")                                                                        \
    X(peer_cuts, "cuts between executors")                                                         \
    X(drops, "resets")                                                                             \
    X(lost_messages, "lost messages")                                                              \
    X(duplicates, "duplicates")                                                                    \
    X(wrong_senders, "results from a wrong executor")                                              \
    X(flips, "flipped bytes")                                                                      \
    X(full_disks, "full disks")                                                                    \
    X(slow_disks, "slow disks")                                                                    \
    X(slow_nodes, "slow nodes")                                                                    \
    X(jumps, "clock jumps")                                                                        \
    X(program_fetches, "programs fetched by daemons")                                              \
    X(ordered, "times that waiting drivers followed the order of executors")                       \
    X(released, "executors and requests released")

struct sim_counts {
#define SIM_COUNT(name, text) uint32_t name;
    SIM_COUNTS(SIM_COUNT)
#undef SIM_COUNT
};

/* Permanent faults, and faults of the job instead of a node. A seed has at most one. */
enum lasting {
    LASTING_NOTHING,
    LASTING_POISON,          /* a task kills its executor, in its first poison_left attempts */
    LASTING_BAD_NODES,       /* every task on these nodes fails */
    LASTING_SEVERED,         /* no node reaches any other, or one node reaches no other */
    LASTING_CORRUPT_OUTPUTS, /* all map outputs of these nodes are corrupt */
    LASTING_LEAVING,         /* a lost executor is not replaced */
    LASTING_INTERRUPT,       /* the user interrupts the job */
    LASTING_TIMEOUT,         /* the job has a timeout */
    LASTING_OUTPUT_FULL,     /* the disk of the outputs is full for a while */
    LASTING_BAD_ROW,         /* a row that fails every attempt */
    LASTING_KINDS,
};

/* Reasons to end the job that the oracle has seen. */
struct sim_seen {
    enum glint_code exhausted;     /* all attempts of a task failed; the error of the last one */
    enum glint_code fatal;         /* an error that is not retryable */
    bool stage_attempts_exhausted; /* by failed fetches */
    bool too_many_losses;          /* while an action was running */
    uint32_t losses;
};

/* One part of the seed's program: a job of jobs/, or a plan of workloads.c. */
struct sim_workload {
    uint32_t kind, step; /* step: its index in the seed's program */
    bool bad_row;
};

struct sim {
    struct sim_options options;
    uint64_t seed, random;
    uint64_t now, order, end_of_faults, spinning; /* spinning: waits in a row without progress */
    struct sim_event *events;                     /* a heap by (at, order) */
    uint32_t event_count, event_capacity;
    uint32_t node_count;
    struct sim_node nodes[NODES_MAX];
    struct sim_executor *executors[EXECUTORS_SIM_MAX];
    uint32_t executor_count;
    struct sim_env driver_env;
    bool shared_disk[FILES_MAX];
    struct context_config config;
    struct cluster cluster;
    struct driver *driver;
    struct glint *g;
    bool driver_event; /* an event has reached the driver: `wait` returns */
    uint64_t no_executors_since;
    uint32_t connected_count;
    unsigned faults;    /* FAULT_* bits of this seed */
    uint64_t fault_gap; /* maximum time between two faults */
    enum lasting lasting;
    bool severed[NODES_MAX]; /* reaches no other node */
    uint32_t poison_stage, poison_partition, poison_left, poison_done;
    uint64_t output_full_from, output_full_until;
    uint32_t output_refused;         /* writes and syncs that failed */
    bool commit_refused;             /* the driver's sync of _SUCCESS failed */
    uint64_t interrupted_at;         /* 0: not interrupted */
    bool no_executors, failed, over; /* failed: a check failed; over: the job has ended */
    uint32_t workload_count;
    struct sim_workload workloads[WORKLOADS_MAX];
    uint64_t digests[WORKLOADS_MAX]; /* hash of the results returned to the driver */
    struct oracle *oracle;
    struct sim_seen seen;
    char dir[PATH_MAX];
    struct sim_counts counts;
};

/* main.c */
/* A check failed: prints the message with the seed and the time, and marks the seed as failed. */
void sim_fail(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* sim_core.c */
/* A number in [0, below). */
uint64_t sim_random(struct sim *s, uint64_t below);
/* True with probability 1 / one_in. */
bool sim_chance(struct sim *s, uint32_t one_in);
void sim_env_init(struct sim_env *env, struct sim *s);
void sim_push(struct sim *s, struct sim_event event);
/* Postpones a popped event to event.at. It keeps its order among events of the same time. */
void sim_push_again(struct sim *s, struct sim_event event);
/* Advances the clock to the next event; false if there is none until `until`. */
bool sim_pop(struct sim *s, uint64_t until, struct sim_event *out);
void sim_drop_events(struct sim *s);
void sim_trace(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* network.c */
/* These two take ownership of the message. */
void net_to_executor(struct sim *s, struct sim_executor *e, struct message *m);
void net_to_driver(struct sim *s, struct sim_executor *e, struct message *m);
void net_signal(struct sim *s, struct sim_executor *e, enum sim_event_kind kind);
/* Closes the connection. Each side sees it when the network delivers it. */
void net_close(struct sim *s, struct sim_executor *e);
/* The same, and the last messages in flight are lost. */
void net_reset(struct sim *s, struct sim_executor *e);
/* Whether executors on the two nodes can connect now. */
bool net_peer_open(struct sim *s, uint32_t from, uint32_t to);

/* executors.c */
void executor_join(struct sim *s, uint32_t node);
void executor_receives(struct sim *s, struct sim_executor *e, struct message *m);
void executor_task_ends(struct sim *s, struct sim_executor *e, struct sim_task *t);
/* SIGTERM: sends DRAIN to the driver, and exits after a timeout. */
void executor_drains(struct sim *s, struct sim_executor *e);
/* The process exits; its node starts another one after a while, unless it leaves. */
void executor_dies(struct sim *s, struct sim_executor *e, const char *why);
/* Whether it runs no task and its store has no stage. */
bool executor_is_idle(const struct sim_executor *e, uint32_t stages_end);
void executors_destroy(struct sim *s);

/* transport.c */
int transport_start(struct sim *s, struct glint *g);
/* Runs events for another `ns` after the job has ended. */
void transport_settle(struct sim *s, uint64_t ns);

/* daemons.c */
/* Checks that several drivers get their executors; leaves the seed's random numbers as they are. */
void daemons_meet(struct sim *s);

/* faults.c */
/* Chooses the seed's kinds of faults; before workloads_choose. */
void faults_choose(struct sim *s);
/* Starts the faults; after workloads_choose. */
void faults_begin(struct sim *s);
/* Injects the next fault, or ends them. */
void faults_happen(struct sim *s);

/* workloads.c */
void workloads_choose(struct sim *s);
void workloads_run(struct sim *s);
/* Compares outputs, results and counters with those of local mode. */
void workloads_check(struct sim *s, enum glint_code code, const struct glint_summary *summary);
/* Changes the expected bytes, so that every check of outputs fails (the canary). */
void workloads_spoil(void);
void workloads_fini(void);
const char *workloads_name(const struct sim_workload *workload);

/* oracle.c: sees every message between the driver and executors before it is handled. */
void oracle_create(struct sim *s);
void oracle_destroy(struct sim *s);
void oracle_sent(struct sim *s, const struct sim_executor *e, const struct message *m);
void oracle_received(struct sim *s, const struct sim_executor *e, const struct message *m);
void oracle_lost(struct sim *s, const struct sim_executor *e, enum executor_loss_reason loss);
/* The driver renames an attempt file to a part; both paths are relative to `dir`. */
void oracle_committed(struct sim *s, int dir, const char *from, const char *to);

/* outcome_check.c */
/* Checks that the faults justify how the job ended. */
void check_outcome(struct sim *s, const struct glint_error *error,
                   const struct glint_summary *summary);

#endif

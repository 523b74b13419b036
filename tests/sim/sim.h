/* A whole cluster in one thread: the real driver, scheduler, commit, tasks, stores and signs of
 * life, over a simulated clock, network and disks. One seed decides everything, so a run that fails
 * can be replayed.
 *
 *   sim_core.c      clock, events, random numbers, files that fail
 *   network.c    links between the driver and executors: FIFO each, with latency, cuts, duplicates
 *   executors.c  processes on nodes: slots, tasks, fetching from one another, dying, coming back
 *   transport.c  the driver's side: a struct transport whose `wait` lets the events happen
 *   faults.c     what goes wrong, and when
 *   workloads.c      what the driver is to do, and what one process makes of it
 *   oracle.c     what the driver may say, by books of its own
 *   oracle_reachability.c  one of them: who does not reach whom
 *   outcome_check.c      which end of a job is justified
 *   main.c       seeds, and what must hold at the end */
#ifndef GLINT_TESTS_SIM_H
#define GLINT_TESTS_SIM_H

#include "engine/driver/driver.h"
#include "engine/executor/attempt.h"
#include "engine/net/cluster.h"
#include "engine/net/liveness.h"
#include "tests/support/jobs.h"

#include <limits.h>

#define SECOND UINT64_C(1000000000)
#define MILLI  UINT64_C(1000000)
/* Of simulated time, after the last fault: no seed needs more, whatever it is. */
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
    SIM_LIVENESS_TIMER,     /* both sides of a connection look at their liveness */
    SIM_CLOSED_AT_DRIVER,   /* the driver notices that a connection has ended */
    SIM_CLOSED_AT_EXECUTOR, /* the executor notices it */
    SIM_DRAIN_TIMEOUT,      /* it has drained for long enough */
    SIM_JOIN,               /* a node's new process is ready */
    SIM_NO_EXECUTORS_TIMER, /* nobody is there, for so long now? */
    SIM_INTERRUPT,          /* a person ends the job */
    SIM_FAULT,
    SIM_NOTHING, /* it was lost on its way */
};

/* Kinds of faults that come and go, until faults end. */
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
    FAULT_CHILD = 1 << 10,
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
    uint64_t timer_start; /* DESERTED: of which time alone */
};

struct sim;

/* Files of one process, on a disk that can be full. */
struct sim_env {
    struct env env; /* first */
    struct sim *sim;
    bool full, driver;
    uint32_t refused;     /* writes */
    int64_t clock_off_ns; /* of the wall clock */
};

struct sim_task {
    struct sim_task *next;
    struct message *message;
    bool killed, started;
};

struct sim_executor {
    uint32_t number, node;
    bool alive;     /* the process */
    bool connected; /* as the driver sees it */
    bool draining, signalled;
    bool drain_known, suspect; /* as the driver sees it */
    struct store *store;
    struct executor_config config;
    struct sim_env env;
    char work_dir[PATH_MAX];
    struct sim_task *tasks; /* received and not ended, oldest first */
    uint32_t busy;
    bool cancel;
    uint64_t attempts;
    atomic_bool cancel_flag;
    atomic_uint_fast64_t run_memory;
    uint64_t last_to_driver, last_to_executor; /* delivery times: links are FIFO */
    struct liveness seen_by_driver, seen_by_executor;
};

struct sim_node {
    uint32_t slots;
    uint64_t paused_until;               /* SIGSTOP */
    uint64_t cut_to_driver, cut_to_node; /* until then nothing gets through */
    uint64_t cut_peer[NODES_MAX];        /* from this node to that one */
    uint64_t slow;                       /* tasks take so many times longer */
    uint64_t slow_disk;                  /* each task waits for it, at most so long */
    bool disk_full;
    bool bad, rotten, leaves; /* for good: tasks fail; outputs are damaged; it never comes back */
    bool starting;            /* a process is on its way */
};

struct sim_options {
    bool trace, quiet; /* quiet: nothing goes wrong */
};

/* What has happened: all of it does in a thousand seeds, or nothing was tested. */
#define SIM_COUNTS(X)                                                                              \
    X(actions, "actions")                                                                          \
    X(tasks, "tasks")                                                                              \
    X(speculative_copies, "speculative copies")                                                    \
    X(outputs, "map outputs")                                                                      \
    X(fetch_failures, "failed fetches")                                                            \
    X(unreachable, "of unreachable executors")                                                     \
    X(own_failures, "failures of tasks")                                                           \
    X(blamed, "by the death of their process")                                                     \
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
    X(stops, "stops")                                                                              \
    X(cuts, "cuts")                                                                                \
    X(peer_cuts, "cuts between executors")                                                         \
    X(drops, "resets")                                                                             \
    X(lost_messages, "lost messages")                                                              \
    X(duplicates, "duplicates")                                                                    \
    X(lies, "lies")                                                                                \
    X(flips, "flipped bytes")                                                                      \
    X(full_disks, "full disks")                                                                    \
    X(slow_disks, "slow disks")                                                                    \
    X(slow_nodes, "slow nodes")                                                                    \
    X(jumps, "clock jumps")

struct sim_counts {
#define SIM_COUNT(name, text) uint32_t name;
    SIM_COUNTS(SIM_COUNT)
#undef SIM_COUNT
};

/* What is wrong for the whole run, or befalls the job and not a node. At most one of a seed. */
enum lasting {
    LASTING_NOTHING,
    LASTING_POISON,      /* a task kills its process, the first so many times */
    LASTING_BAD_NODES,   /* where every task fails by its own doing */
    LASTING_SEVERED,     /* no executor reaches another, or one reaches no other */
    LASTING_ROTTEN,      /* all that these nodes make is damaged */
    LASTING_LEAVING,     /* no node comes back */
    LASTING_INTERRUPT,   /* by a person */
    LASTING_TIMEOUT,     /* the job's own */
    LASTING_OUTPUT_FULL, /* where outputs go, for a while */
    LASTING_BAD_ROW,     /* which no attempt can read */
    LASTING_KINDS,
};

/* What may end the job, as the oracle has seen it. */
struct sim_seen {
    enum glint_code exhausted;     /* all attempts of a task failed, the last one so */
    enum glint_code fatal;         /* no other attempt could end otherwise */
    bool stage_attempts_exhausted; /* of fetching */
    bool too_many_losses;          /* while there was something to do */
    uint32_t losses;
};

/* A piece of the job: one of the program's jobs, or a plan of workloads.c. */
struct sim_workload {
    uint32_t kind, step; /* step: its place among the seed's works */
    bool bad_row;
};

struct sim {
    struct sim_options options;
    uint64_t seed, random;
    uint64_t now, order, end_of_faults, spinning;
    struct sim_event *events; /* a heap */
    uint32_t event_count, event_capacity;
    uint32_t node_count;
    struct sim_node nodes[NODES_MAX];
    struct sim_executor *executors[EXECUTORS_SIM_MAX];
    uint32_t executor_count;
    struct sim_env driver_env;
    bool shared_disk[FILES_MAX];
    struct glint_config config;
    struct cluster cluster;
    struct driver *driver;
    struct glint *g;
    bool driver_event; /* something has reached the driver */
    uint64_t no_executors_since;
    uint32_t connected_count;
    unsigned faults;    /* bits: which kinds this seed has */
    uint64_t fault_gap; /* between two of them, at most */
    enum lasting lasting;
    bool severed[NODES_MAX]; /* reach no other node */
    uint32_t poison_stage, poison_partition, poison_left, poison_done;
    uint64_t output_full_from, output_full_until;
    uint32_t output_refused;
    bool commit_refused;             /* by the driver's own sync of _SUCCESS */
    uint64_t interrupted_at;         /* 0: not yet */
    bool no_executors, failed, over; /* over: the job has ended */
    uint32_t workload_count;
    struct sim_workload workloads[WORKLOADS_MAX];
    uint64_t digests[WORKLOADS_MAX]; /* of what came back to the driver */
    struct oracle *oracle;
    struct sim_seen seen;
    char dir[PATH_MAX];
    struct sim_counts counts;
};

/* main.c */
/* Something does not hold: said, with the command that shows it again. */
void sim_fail(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* sim_core.c */
uint64_t sim_random(struct sim *s, uint64_t below);
bool sim_chance(struct sim *s, uint32_t one_in);
void sim_env_init(struct sim_env *env, struct sim *s);
void sim_push(struct sim *s, struct sim_event event);
/* Later than before; among those of one moment it keeps its place. */
void sim_push_again(struct sim *s, struct sim_event event);
bool sim_pop(struct sim *s, uint64_t until, struct sim_event *out);
void sim_drop_events(struct sim *s);
void sim_trace(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* network.c */
/* Takes the message. */
void net_to_executor(struct sim *s, struct sim_executor *e, struct message *m);
void net_to_driver(struct sim *s, struct sim_executor *e, struct message *m);
void net_signal(struct sim *s, struct sim_executor *e, enum sim_event_kind kind);
/* The connection ends: each side notices when the network lets it. */
void net_close(struct sim *s, struct sim_executor *e);
/* The same, and some of what was on its way never arrives. */
void net_reset(struct sim *s, struct sim_executor *e);
bool net_peer_open(struct sim *s, uint32_t from, uint32_t to);

/* executors.c */
void executor_join(struct sim *s, uint32_t node);
void executor_receives(struct sim *s, struct sim_executor *e, struct message *m);
void executor_task_ends(struct sim *s, struct sim_executor *e, struct sim_task *t);
/* SIGTERM: the driver is told, and the process goes when its time is over. */
void executor_drains(struct sim *s, struct sim_executor *e);
/* The process ends; its node starts another one after a while, if it can. */
void executor_dies(struct sim *s, struct sim_executor *e, const char *why);
/* Nothing runs there, and no stage is known any more. */
bool executor_is_idle(const struct sim_executor *e, uint32_t stages_end);
void executors_destroy(struct sim *s);

/* transport.c */
int transport_start(struct sim *s, struct glint *g);
/* Lets events happen for so long, when the job has ended. */
void transport_settle(struct sim *s, uint64_t ns);

/* faults.c */
/* Before workloads_choose, and after it. */
void faults_choose(struct sim *s);
void faults_begin(struct sim *s);
void faults_happen(struct sim *s);

/* workloads.c */
void workloads_choose(struct sim *s);
void workloads_run(struct sim *s);
/* Against what one process makes of the same. */
void workloads_check(struct sim *s, enum glint_code code, const struct glint_summary *summary);
/* So that every check of outputs fails. */
void workloads_spoil(void);
void workloads_fini(void);
const char *workloads_name(const struct sim_workload *workload);
/* The program's, and those of the plans. */
const struct glint_module *const *workloads_modules(void);

/* oracle.c: told of all that passes between the driver and executors, before either acts on it. */
void oracle_create(struct sim *s);
void oracle_destroy(struct sim *s);
void oracle_sent(struct sim *s, const struct sim_executor *e, const struct message *m);
void oracle_received(struct sim *s, const struct sim_executor *e, const struct message *m);
void oracle_lost(struct sim *s, const struct sim_executor *e, enum executor_loss_reason loss);
/* An attempt's file becomes a part; both paths are relative to `dir`. */
void oracle_committed(struct sim *s, int dir, const char *from, const char *to);

/* outcome_check.c */
/* How the job ended: is that what its faults lead to? */
void check_outcome(struct sim *s, const struct glint_error *error,
                   const struct glint_summary *summary);

#endif

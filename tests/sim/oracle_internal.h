/* The oracle's model of the driver's state, shared by its files.
 *
 *   oracle.c               updates and checks it with every message of the driver
 *   oracle_reachability.c  failed fetches, and which executor is at fault */
#ifndef GLINT_TESTS_SIM_ORACLE_INTERNAL_H
#define GLINT_TESTS_SIM_ORACLE_INTERNAL_H

#include "engine/driver/driver_internal.h"
#include "tests/sim/sim.h"

enum {
    SHUFFLES_MAX = 256,
    STAGES_MAX = 1024,
    NAMES_MAX = 512,
    CUTS_MAX = 1024,
    PREFETCH = 4, /* queued tasks per slot */
};

struct oracle_task_state {
    uint32_t next_attempt, failures;
    uint32_t failed_on[TASK_ATTEMPTS_MAX];
    bool done;
};

struct oracle_stage {
    struct oracle_task_state *tasks; /* NULL: no task of it was sent */
    uint32_t count, stage_attempt, stage_attempts_failed;
};

struct oracle_attempt {
    uint32_t stage, task, number, executor, stage_attempt;
    bool superseded; /* its task is done, or has failed permanently */
    uint64_t queue;  /* 0: running; else queued on the executor, in order of these numbers */
    uint64_t start;  /* when it was sent, or left the queue */
};

struct oracle_shuffle {
    struct map_output_location *locations;
    bool *available;
    uint32_t maps, version;
};

/* Two executors of which one could not fetch from the other. */
struct oracle_cut {
    uint32_t one, other, blamed; /* blamed: the source, if the pair failed again */
    uint64_t first;              /* time of the first failure */
    /* again: failed a second time, in an attempt that started after `first`. covered: explained by
     * an executor that is at fault. */
    bool again, covered;
};

struct oracle_cuts {
    struct oracle_cut list[CUTS_MAX];
    uint32_t count;
    bool at_fault[EXECUTORS_SIM_MAX]; /* after update_cuts_at_fault */
};

struct oracle {
    struct oracle_stage stages[STAGES_MAX];
    struct oracle_attempt *running;
    uint32_t running_count, running_capacity;
    uint64_t last_queue;
    bool process_died; /* by a signal, in this action: no task is queued from then on */
    struct oracle_shuffle shuffles[SHUFFLES_MAX];
    uint32_t sent_version[EXECUTORS_SIM_MAX][SHUFFLES_MAX]; /* version + 1; 0: none was sent */
    bool has_lost_outputs[EXECUTORS_SIM_MAX];               /* in this action */
    struct oracle_cuts cuts;
    bool excluded[EXECUTORS_SIM_MAX]; /* in this action */
    bool scheduled;                   /* the stages of this action are known */
    uint32_t action, failures_in_row[NODES_MAX];
    char *accepted[NAMES_MAX], *parts[NAMES_MAX]; /* files of the first attempts; committed parts */
    uint32_t accepted_count, part_count;
};

/* oracle.c */
struct oracle_task_state *oracle_task(struct sim *s, uint32_t stage, uint32_t task);

/* oracle_reachability.c */
/* Called with every message; acts once the stages of the running action are known. */
void oracle_reachability_begin(struct sim *s);
void oracle_reachability_lost(struct sim *s, const struct sim_executor *e);
void oracle_output_lost(struct sim *s, uint32_t shuffle, uint32_t map);
/* A fetch failed. Marks map outputs as lost: the one of the message; or all of the shuffle on that
 * executor if it was unreachable, or has lost outputs before; or none if the executor at fault is
 * known, or a third executor can help to find it. */
void oracle_fetch_failed(struct sim *s, const struct message *m, const struct oracle_attempt *r);

#endif

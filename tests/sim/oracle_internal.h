/* What the oracle's files share: its books.
 *
 *   oracle.c        what the driver says and hears, one message at a time
 *   oracle_reachability.c  what could not be fetched, and who is at fault */
#ifndef GLINT_TESTS_SIM_ORACLE_INTERNAL_H
#define GLINT_TESTS_SIM_ORACLE_INTERNAL_H

#include "engine/driver/driver_internal.h"
#include "tests/sim/sim.h"

enum {
    SHUFFLES_MAX = 256,
    STAGES_MAX = 1024,
    NAMES_MAX = 512,
    CUTS_MAX = 1024,
    PREFETCH = 4, /* of each slot */
};

struct oracle_task_state {
    uint32_t next_attempt, failures;
    uint32_t failed_on[TASK_ATTEMPTS_MAX];
    bool done;
};

struct oracle_stage {
    struct oracle_task_state *tasks; /* NULL: nothing of it has been sent */
    uint32_t count, stage_attempt, stage_attempts_failed;
};

struct oracle_attempt {
    uint32_t stage, task, number, executor, stage_attempt;
    bool superseded; /* its task is done, or has failed for good */
    uint64_t queue;  /* 0: it runs; else it waits there, behind those with a smaller number */
    uint64_t start;  /* when it was sent, or began to run behind another */
};

struct oracle_shuffle {
    struct map_output_location *locations;
    bool *available;
    uint32_t maps, version;
};

/* Executors that did not answer each other. */
struct oracle_cut {
    uint32_t one, other, blamed;
    uint64_t first;
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
    bool process_died; /* in this action */
    struct oracle_shuffle shuffles[SHUFFLES_MAX];
    uint32_t sent_version[EXECUTORS_SIM_MAX][SHUFFLES_MAX]; /* version + 1 */
    bool has_lost_outputs[EXECUTORS_SIM_MAX];               /* in this action */
    struct oracle_cuts cuts;
    bool excluded[EXECUTORS_SIM_MAX]; /* in this action */
    bool scheduled;                   /* it is known of which stages this action is */
    uint32_t action, failures_in_row[NODES_MAX];
    char *accepted[NAMES_MAX], *parts[NAMES_MAX]; /* files of attempts that were first; parts */
    uint32_t accepted_count, part_count;
};

/* oracle.c */
struct oracle_task_state *oracle_task(struct sim *s, uint32_t stage, uint32_t task);

/* oracle_reachability.c */
/* The action's stages are known. */
void oracle_reachability_begin(struct sim *s);
void oracle_reachability_lost(struct sim *s, const struct sim_executor *e);
void oracle_output_lost(struct sim *s, uint32_t shuffle, uint32_t map);
/* One output, or all that the shuffle has there, where nobody answers, or not for the first time;
 * none, where a third executor can tell who is at fault, or it is known. */
void oracle_fetch_failed(struct sim *s, const struct message *m, const struct oracle_attempt *r);

#endif

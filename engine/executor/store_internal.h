/* Shared by the store's files: its entries, all guarded by its lock. */
#ifndef GLINT_EXECUTOR_STORE_INTERNAL_H
#define GLINT_EXECUTOR_STORE_INTERNAL_H

#include "engine/executor/store.h"

#include <pthread.h>

struct stored_stage {
    struct stage_plan plan; /* first: released through its plan */
    struct stored_stage *next;
    uint32_t id;
    struct message *message; /* the plan points into its body */
    uint32_t refs;
    bool removed;             /* not in the list: freed with the last ref */
    struct glint_error error; /* why the plan cannot be decoded; it then has no plan or message */
};

struct stored_broadcast {
    struct stored_broadcast *next;
    struct message *message;
    uint32_t refs;
    bool removed; /* not in the list: freed with the last ref */
};

struct stored_map_output {
    struct run run;                 /* first: released through its run */
    struct stored_map_output *next; /* in the bucket */
    uint64_t shuffle;
    uint32_t map, attempt;
    uint32_t refs;
    bool removed; /* not in a bucket: freed with the last ref */
};

struct stored_result {
    struct stored_result *next;
    uint64_t id;
    struct buffer bytes;
    uint32_t refs;
    bool removed;
};

/* The locations of one shuffle's map outputs, as in the last MAP_OUTPUTS. */
struct shuffle_locations {
    struct shuffle_locations *next;
    uint64_t id;
    struct map_output_location *locations;
    uint32_t maps;
};

#define OUTPUT_BUCKETS 4096u

struct store {
    pthread_mutex_t lock;
    struct stored_stage *stages;
    struct stored_broadcast *broadcasts;
    struct shuffle_locations *shuffles;
    struct stored_map_output *outputs[OUTPUT_BUCKETS];
    struct stored_result *results;
    uint64_t last_result;
};

/* store_values.c */
/* Takes ownership of the message, a BROADCAST. Returns 0, or NO_MEMORY with *m unchanged. */
int store_add_broadcast(struct store *s, struct message *m, struct glint_error *error);
/* Frees all broadcasts and results. */
void store_values_fini(struct store *s);

#endif
